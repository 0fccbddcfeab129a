//! Models that cannot be traced: ordinary functions of numbers, called point by point.

use super::program::Program;
use std::fmt;
use std::sync::Arc;

/// The value at one point: independent variables, then parameters.
type Value = dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync;
/// The partial derivatives at one point, one per parameter, into the slice.
type Jacobian = dyn Fn(&[f64], &[f64], &mut [f64]) + Send + Sync;

/// A function of one point and the parameters, with its own partial derivatives or numerical ones.
#[derive(Clone)]
pub(crate) struct Native {
    pub(crate) value: Arc<Value>,
    pub(crate) jacobian: Option<Arc<Jacobian>>,
    pub(crate) columns: usize,
    pub(crate) params: usize,
    /// A typical size of each parameter, NaN for one that is not known.
    pub(crate) scales: Vec<f64>,
    /// Whether the function itself is gone, because it stands for one that could not be saved.
    pub(crate) lost: bool,
}

/// What a fit evaluates.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Traced(Arc<Program>),
    Native(Native),
}

/// The relative step of a central difference: the cube root of the precision balances truncation,
/// h², against rounding, ε/h (Dennis and Schnabel, Numerical Methods, section 5.4).
const STEP: f64 = 6.055_454_452_393_343e-6;
/// The part of its start that a parameter's size is at least. A step relative to the parameter alone
/// vanishes with it, and the difference drowns in rounding. With a part c of a start as large as the
/// model's own scale, rounding leaves ε^⅔/c = 4e-8 of a partial; with a start 1/c times too large,
/// truncation takes only ε^⅔, as at a parameter of the right size. A thousandth serves both.
const PART_OF_START: f64 = 1e-3;

/// Within what limits differences are taken; one value per parameter.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'a> {
    pub(crate) bounds: &'a [(f64, f64)],
    /// The least size of each parameter.
    pub(crate) least: &'a [f64],
}

impl Native {
    /// The least size of each parameter that steps of differences are relative to: from its scale or, if
    /// that is not known, from where the fit starts; a start of 0 counts as 1.
    pub(crate) fn least_sizes(&self, start: &[f64]) -> impl Iterator<Item = f64> {
        let size = |(&p, &scale): (&f64, &f64)| match (scale.is_nan(), p == 0.0) {
            (false, _) => scale,
            (true, true) => 1.0,
            (true, false) => p.abs(),
        };
        start.iter().zip(&self.scales).map(move |pair| PART_OF_START * size(pair))
    }

    /// What stands for a function that could not be saved: it has no value anywhere.
    #[cfg(feature = "serde")]
    pub(crate) fn lost(columns: usize, params: usize) -> Native {
        let scales = vec![f64::NAN; params];
        let value = Arc::new(|_: &[f64], _: &[f64]| f64::NAN);
        Native { value, jacobian: None, columns, params, scales, lost: true }
    }

    /// The partials by the parameters `free` at one point, into `out`, from central differences over
    /// steps relative to the size of each parameter, held within its bounds. `work` has room for all
    /// parameters.
    pub(crate) fn differences(
        &self,
        x: &[f64],
        p: &[f64],
        free: &[usize],
        steps: Steps<'_>,
        work: &mut [f64],
        out: &mut [f64],
    ) {
        work.copy_from_slice(p);
        for (&k, partial) in free.iter().zip(out) {
            let (lower, upper) = steps.bounds[k];
            // A parameter of 0 has no size at all, and one that began there none to be compared with.
            let size = if p[k] == 0.0 { steps.least[k] / PART_OF_START } else { p[k].abs() };
            let step = STEP * size.max(steps.least[k]);
            let (above, below) = ((p[k] + step).min(upper), (p[k] - step).max(lower));
            work[k] = above;
            let higher = (self.value)(x, work);
            work[k] = below;
            let lower = (self.value)(x, work);
            work[k] = p[k];
            *partial = (higher - lower) / (above - below);
        }
    }
}

impl Model {
    /// Number of independent variables.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Model::Traced(program) => program.columns.len(),
            Model::Native(native) => native.columns,
        }
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partials = if self.jacobian.is_some() { "given" } else { "numerical" };
        write!(
            f,
            "Native({} columns, {} parameters, partials {partials})",
            self.columns, self.params
        )
    }
}
