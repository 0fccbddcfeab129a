//! Custom losses: traced, like models, with exact derivatives.

use crate::error::{Error, Result};
use crate::model::program::Program;
use crate::model::saved::SavedProgram;
use crate::model::var::Var;
use crate::threads;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::sync::Mutex;

/// ρ as a function of u = r/C, the residual over the scale of the loss; created by
/// [`Loss::custom`](crate::Loss::custom). Equal formulas share one instance, which is kept until the process ends.
/// Therefore a [`Loss`](crate::Loss) can be copied.
#[derive(Clone, Copy)]
pub struct LossFormula(&'static TracedLoss);

struct TracedLoss {
    /// Program with the only column u that computes ρ, dρ/du and d²ρ/du².
    program: Program,
    redescends: bool,
}

static FORMULAS: Mutex<Vec<&'static TracedLoss>> = Mutex::new(Vec::new());

/// Values of |u| at which a formula is checked, on both sides of 0.
const LOOKED_AT: [f64; 12] = [1e-6, 1e-3, 0.1, 0.3, 0.7, 1.0, 1.5, 3.0, 10.0, 100.0, 1e4, 1e6];
/// Absolute tolerance of ρ = 0 and dρ/du = 0 at u = 0; ρ(1) is about 1.
const ZERO: f64 = 1e-12;
/// Tolerance of d²ρ/du² near 0, which must be 2 as for ρ = u².
const NEAR: f64 = 1e-3;

impl LossFormula {
    /// Traces and checks a formula.
    ///
    /// # Errors
    /// Errors of [`Loss::custom`](crate::Loss::custom).
    pub(super) fn trace(formula: impl FnOnce(Var) -> Var) -> Result<LossFormula> {
        LossFormula::new(&Program::trace(1, 0, |u, _| formula(u[0]))?)
    }

    fn new(value: &Program) -> Result<LossFormula> {
        let program = value.with_slopes(&[0])?;
        let mut known = threads::lock(&FORMULAS);
        if let Some(formula) = known.iter().find(|formula| formula.program == program) {
            return Ok(LossFormula(formula));
        }
        let redescends = checked(&program)?;
        let formula: &'static TracedLoss = Box::leak(Box::new(TracedLoss { program, redescends }));
        known.push(formula);
        Ok(LossFormula(formula))
    }

    /// Returns the program of ρ, dρ/du and d²ρ/du² with the only column u.
    pub(crate) fn program(&self) -> &'static Program {
        &self.0.program
    }

    /// Returns true if the pull |dρ/du| of a point decreases for large |u|.
    pub(crate) fn redescends(&self) -> bool {
        self.0.redescends
    }
}

/// Checks that `program` is a loss. Returns true if it is redescending.
///
/// # Errors
/// [`Error::BadOption`] if the function is not a loss.
fn checked(program: &Program) -> Result<bool> {
    let refuse = |name, value, requirement| Err(Error::BadOption { name, value, requirement });
    let at = |u: f64| {
        let outputs = program.outputs(&[u], &[]);
        [outputs[0], outputs[1], outputs[2]]
    };
    let [value, slope, _] = at(0.0);
    if value.is_nan() || value.abs() > ZERO {
        return refuse("loss at 0", value, "0");
    }
    if slope.is_nan() || slope.abs() > ZERO {
        return refuse("slope of the loss at 0", slope, "0");
    }
    let [below, above] = [-1.0, 1.0].map(|side| at(side * LOOKED_AT[0])[2]);
    let curvature = if below > above { below } else { above };
    if curvature.is_nan() || (curvature - 2.0).abs() > NEAR {
        let requirement = "2, as that of u², on one side of 0; divide by half of it";
        return refuse("second derivative of the loss at 0", curvature, requirement);
    }
    let mut redescends = false;
    for side in [-1.0, 1.0] {
        let mut most = 0.0;
        for u in LOOKED_AT {
            let [value, slope, curvature] = at(side * u);
            if ![value, slope, curvature].iter().all(|number| number.is_finite()) {
                return refuse(
                    "residual in scales",
                    side * u,
                    "one at which the loss has finite derivatives",
                );
            }
            let pull = side * slope;
            if value < 0.0 || pull < 0.0 {
                return refuse(
                    "residual in scales",
                    side * u,
                    "one at which the loss does not fall",
                );
            }
            most = f64::max(most, pull);
            redescends |= pull < 0.5 * most;
        }
    }
    Ok(redescends)
}

impl PartialEq for LossFormula {
    fn eq(&self, other: &LossFormula) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl fmt::Debug for LossFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LossFormula of {} operations", self.0.program.operations())
    }
}

/// Serialises the program of the formula.
impl Serialize for LossFormula {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        SavedProgram::from(self.0.program.value_only()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for LossFormula {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<LossFormula, D::Error> {
        let program = SavedProgram::deserialize(from)?;
        let program = Program::try_from(program).map_err(de::Error::custom)?;
        let expected = (program.columns.len(), program.params.len()) == (1, 0);
        let formula = expected.then(|| LossFormula::new(&program));
        formula
            .ok_or_else(|| de::Error::custom("a loss is a function of one variable"))?
            .map_err(de::Error::custom)
    }
}
