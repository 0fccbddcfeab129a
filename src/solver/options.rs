//! Stopping rules, limits and initial trust region of the solver.

use crate::error::{Error, Result};
use crate::setters::setters;
use std::time::Duration;

/// Stopping rules and limits of a fit. The defaults are right for nearly all problems.
///
/// ```
/// use dualfit::Options;
/// let options = Options::default().ftol(1e-8).max_evaluations(200);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Relative change of the cost below which a fit has converged. Default 1e-10: with it, Moré's algorithm with exact
    /// derivatives reproduces the certified values of all NIST problems. 0 switches the test off.
    pub ftol: f64,
    /// A fit has converged if a full step changes each parameter by at most this fraction of the parameter's size. The
    /// size is the larger of the parameter's absolute value and the standard error that it would have as the only free
    /// parameter; the second matters for parameters near 0. Default 1e-10; 0 switches the test off.
    pub xtol: f64,
    /// Largest cosine between the residuals and a column of partials at which a fit has converged.
    /// Default 1e-12, so that the other tests usually decide; 0 switches the test off.
    pub gtol: f64,
    /// Length of the full step, in standard errors, at which a fit has converged. The fit takes this step without an
    /// evaluation at its end, and does not compute further digits. The length of a step d is √(dᵀC⁻¹d), where C is the
    /// covariance of the parameters. Thus no parameter, and no linear combination of parameters, moves by more than
    /// `etol` times its standard error. Two conditions keep the remaining distance to the minimum smaller than this
    /// step. First, the previous step must show that steps shrink. Second, the signal, √Σ(y − mean)², must be at least
    /// 10 times the standard deviation of a point, and more if parameters are correlated; fits of weaker signals
    /// continue. In a test with 0.01, all of 300,000 fits of small images ended closer to the minimum than 0.01
    /// standard errors, and needed two thirds of the evaluations (`docs/benchmarks.md`). Useful for batches. Default 0,
    /// which switches the test off: fits continue to the last digits.
    pub etol: f64,
    /// Maximum number of evaluations of model and partials, in all runs and stages together;
    /// `None` stands for 500 · (free parameters + 1).
    pub max_evaluations: Option<usize>,
    /// Time after which a fit stops. It is checked between evaluations, in passes of native models also between points,
    /// and in passes of streams also between chunks. If the time ends before the cost at the starting point is known,
    /// the fit returns [`Error::StoppedInFirstPass`]. For points in memory, the standard errors are still computed,
    /// which may need a pass. Default: no limit.
    pub max_time: Option<Duration>,
    /// Radius of the first trust region, relative to the scaled starting point. Default 1. With a larger radius, first
    /// steps are longer and some hard problems are not solved (MINPACK uses 100). A fit that does not converge is
    /// repeated with 100 times this radius.
    pub initial_radius: f64,
}

setters!(Options {
    ftol: f64,
    xtol: f64,
    gtol: f64,
    etol: f64,
    max_evaluations: Option<usize>,
    max_time: Option<Duration>,
    initial_radius: f64,
});

impl Default for Options {
    fn default() -> Self {
        Options {
            ftol: 1e-10,
            xtol: 1e-10,
            gtol: 1e-12,
            etol: 0.0,
            max_evaluations: None,
            max_time: None,
            initial_radius: 1.0,
        }
    }
}

impl Options {
    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a tolerance that is not in [0, 1), a limit of 0 evaluations, or a radius that is not
    /// positive and finite.
    pub(crate) fn validate(&self) -> Result<()> {
        let Options { ftol, xtol, gtol, etol, .. } = *self;
        for (name, value) in [("ftol", ftol), ("xtol", xtol), ("gtol", gtol), ("etol", etol)] {
            if !(0.0..1.0).contains(&value) {
                return Err(Error::BadOption {
                    name,
                    value,
                    requirement: "at least 0 and below 1",
                });
            }
        }
        if self.max_evaluations == Some(0) {
            let requirement = "at least 1";
            return Err(Error::BadOption { name: "max_evaluations", value: 0.0, requirement });
        }
        let value = self.initial_radius;
        if !(value > 0.0 && value.is_finite()) {
            let requirement = "positive and finite";
            return Err(Error::BadOption { name: "initial_radius", value, requirement });
        }
        Ok(())
    }

    /// Returns true if the caller set a limit. The fit then omits attempts of unpredictable duration.
    pub(crate) fn is_limited(&self) -> bool {
        self.max_evaluations.is_some() || self.max_time.is_some()
    }

    pub(crate) fn evaluations(&self, free: usize) -> usize {
        self.max_evaluations.unwrap_or(500 * (free + 1))
    }
}
