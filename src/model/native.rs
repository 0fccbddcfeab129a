//! Models that cannot be traced: ordinary functions of numbers, called once per point or once for all points.

use super::program::Program;
use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Function that returns the value at one point. Arguments: independent variables, parameters.
pub(crate) type Value = dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync;
/// Function that writes the partial derivatives at one point into the slice, one per parameter.
type Jacobian = dyn Fn(&[f64], &[f64], &mut [f64]) + Send + Sync;

/// Function that writes the values at all points. Arguments: independent variables, each with one number per point;
/// parameters; values.
type ArrayValue = dyn Fn(&[&[f64]], &[f64], &mut [f64]) + Send + Sync;
/// Function that writes the partial derivatives at all points, one row per parameter.
pub(crate) type ArrayJacobian = dyn Fn(&[&[f64]], &[f64], &mut [&mut [f64]]) + Send + Sync;

/// Calling convention of the function: points per call.
#[derive(Clone)]
pub(crate) enum Calls {
    /// One call for each point.
    Points(PointCalls),
    /// One call for all points.
    Arrays(ArrayCalls),
}

/// A function of one point, with a function for its partials, or `None` for numerical partials.
#[derive(Clone)]
pub(crate) struct PointCalls {
    pub(crate) value: Arc<Value>,
    pub(crate) jacobian: Option<Arc<Jacobian>>,
}

/// A function of all points, with a function for its partials, or `None` for numerical partials.
#[derive(Clone)]
pub(crate) struct ArrayCalls {
    pub(crate) value: Arc<ArrayValue>,
    pub(crate) jacobian: Option<Arc<ArrayJacobian>>,
    /// If true, differences with respect to several parameters may be computed at the same time.
    pub(crate) parallel: bool,
}

/// A native function of points and parameters, with the data that a fit needs.
#[derive(Clone)]
pub(crate) struct Native {
    pub(crate) calls: Calls,
    pub(crate) columns: usize,
    pub(crate) params: usize,
    /// A typical size of each parameter, NaN if unknown.
    pub(crate) scales: Vec<f64>,
    /// True if this is a placeholder for a function that could not be saved.
    pub(crate) lost: bool,
}

/// The model that a fit evaluates.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Traced(Arc<Program>),
    Native(Native),
}

/// Minimum size of a parameter for step sizes, as a fraction c of its start. A step relative to the parameter alone
/// vanishes as the parameter approaches 0, and rounding dominates the difference. If the start equals the scale of
/// the model, rounding leaves a relative error of up to ε^⅔/c = 4e-8 in a partial. If the start is 1/c times too
/// large, the truncation error is only ε^⅔, as for a parameter of the right size. c = 1/1000 suits both cases.
const PART_OF_START: f64 = 1e-3;

/// The relative step of a central difference: the cube root of the precision balances truncation,
/// h², against rounding, ε/h (Dennis and Schnabel, Numerical Methods, section 5.4).
const CENTRAL_STEP: f64 = 6.055_454_452_393_343e-6;
/// The relative step of a forward difference: the square root of the precision balances h against ε/h.
const FORWARD_STEP: f64 = 1.490_116_119_384_765_6e-8;

/// Relative steps of finite differences with respect to one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision {
    pub(crate) central: f64,
    pub(crate) forward: f64,
}

impl Precision {
    /// Steps for functions that compute in f64.
    pub(crate) const DOUBLE: Precision = Precision { central: CENTRAL_STEP, forward: FORWARD_STEP };
}

/// Bounds and scales for differences; one value per parameter.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'a> {
    pub(crate) bounds: &'a [(f64, f64)],
    /// Minimum size of each parameter.
    pub(crate) least: &'a [f64],
    /// Relative steps; empty if the function computes in f64.
    pub(crate) precisions: &'a [Precision],
}

impl Native {
    /// Returns true if the function is called once for all points.
    pub(crate) fn takes_arrays(&self) -> bool {
        matches!(self.calls, Calls::Arrays(_))
    }

    /// Returns the minimum size of each parameter for the steps of differences. It is a fraction of the scale or, if
    /// the scale is unknown, of the starting value; a start of 0 counts as 1.
    pub(crate) fn least_sizes(&self, start: &[f64]) -> impl Iterator<Item = f64> {
        let size = |(&p, &scale): (&f64, &f64)| match (scale.is_nan(), p == 0.0) {
            (false, _) => scale,
            (true, true) => 1.0,
            (true, false) => p.abs(),
        };
        start.iter().zip(&self.scales).map(move |pair| PART_OF_START * size(pair))
    }

    /// Returns a placeholder for a function that could not be saved: its value is NaN everywhere.
    #[cfg(feature = "json")]
    pub(crate) fn lost(columns: usize, params: usize) -> Native {
        let scales = vec![f64::NAN; params];
        let value = Arc::new(|_: &[f64], _: &[f64]| f64::NAN);
        let calls = Calls::Points(PointCalls { value, jacobian: None });
        Native { calls, columns, params, scales, lost: true }
    }
}

impl Steps<'_> {
    /// Returns parameter `k` of `p` one step above and one step below, within its bounds.
    pub(crate) fn around(&self, p: &[f64], k: usize) -> (f64, f64) {
        let (lower, upper) = self.bounds[k];
        let step = self.precision(k).central * self.size(p, k);
        ((p[k] + step).min(upper), (p[k] - step).max(lower))
    }

    /// Returns true if no bound cuts the step above or below.
    pub(crate) fn is_whole(&self, p: &[f64], k: usize) -> bool {
        let (above, below) = self.around(p, k);
        (above - p[k]).min(p[k] - below) > 0.25 * (above - below)
    }

    fn precision(&self, k: usize) -> Precision {
        self.precisions.get(k).copied().unwrap_or(Precision::DOUBLE)
    }

    /// Returns parameter `k` of `p` moved by the step of a forward difference: up, or down at the upper bound.
    pub(crate) fn beside(&self, p: &[f64], k: usize) -> f64 {
        let (lower, upper) = self.bounds[k];
        let step = self.precision(k).forward * self.size(p, k);
        if p[k] + step <= upper { p[k] + step } else { (p[k] - step).max(lower) }
    }

    /// Returns the size of parameter `k`: its magnitude (if 0, its scale or start), at least its minimum size.
    pub(super) fn size(&self, p: &[f64], k: usize) -> f64 {
        let size = if p[k] == 0.0 { self.least[k] / PART_OF_START } else { p[k].abs() };
        size.max(self.least[k])
    }

    /// Writes into `out` the partials of a model with respect to the parameters `free`, from central differences. `x`:
    /// the point; `here`: the value there. `work`: scratch for all parameters. `see` receives the index of a free
    /// parameter, the values of the model one step below, at, and one step above it, and true if no bound cuts a step.
    pub(crate) fn differences(
        &self,
        (value, x, here): (&Value, &[f64], f64),
        (p, free): (&[f64], &[usize]),
        work: &mut [f64],
        out: &mut [f64],
        mut see: impl FnMut(usize, [f64; 3], bool),
    ) {
        work.copy_from_slice(p);
        for (j, (&k, partial)) in free.iter().zip(out).enumerate() {
            let (above, below) = self.around(p, k);
            work[k] = above;
            let higher = value(x, work);
            work[k] = below;
            let lower = value(x, work);
            work[k] = p[k];
            see(j, [lower, here, higher], self.is_whole(p, k));
            *partial = (higher - lower) / (above - below);
        }
    }
}

impl Model {
    /// Returns the values at `n` points. A native model that takes arrays is called once, other models once per point.
    pub(crate) fn values(&self, columns: &[Vec<f64>], n: usize, p: &[f64]) -> Vec<f64> {
        let at = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
        match self {
            Model::Traced(program) => program.values(columns, n, p),
            Model::Native(native) => match &native.calls {
                Calls::Points(calls) => (0..n).map(|i| (calls.value)(&at(i), p)).collect(),
                Calls::Arrays(calls) => {
                    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
                    let mut out = vec![f64::NAN; n];
                    (calls.value)(&columns, p, &mut out);
                    out
                }
            },
        }
    }

    /// Returns the number of independent variables.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Model::Traced(program) => program.columns.len(),
            Model::Native(native) => native.columns,
        }
    }

    /// Checks the number of independent variables.
    ///
    /// # Errors
    /// Returns [`Error::ColumnCount`] if `got` is not the model's number of independent variables.
    pub(crate) fn expect_columns(&self, got: usize) -> Result<()> {
        let expected = self.columns();
        if got == expected { Ok(()) } else { Err(Error::ColumnCount { expected, got }) }
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per, given) = match &self.calls {
            Calls::Points(calls) => ("point", calls.jacobian.is_some()),
            Calls::Arrays(calls) => ("data set", calls.jacobian.is_some()),
        };
        let (columns, params) = (self.columns, self.params);
        let partials = if given { "given" } else { "numerical" };
        write!(
            f,
            "Native({columns} columns, {params} parameters, a call per {per}, partials {partials})"
        )
    }
}
