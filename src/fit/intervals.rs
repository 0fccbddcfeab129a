//! Intervals of single parameters from their standard errors.

use super::Fit;
use super::bands::reach;
use super::distributions::{check_level, half_width};
use crate::error::Result;

impl Fit {
    /// One interval (lower, upper) per parameter that covers its true value with probability `level`:
    /// value ± t · standard error, with Student's t of the fit's degrees of freedom where the scatter was
    /// estimated, the normal distribution's where sigma is absolute or y are counts.
    ///
    /// That is right as far as the model is nearly linear in its parameters within their errors; where it
    /// is not, [`CurveFit::profile`](crate::CurveFit::profile) says more. A fixed parameter has the
    /// interval of its value alone, one that the data do not determine an infinite one. The ends are NaN
    /// where the standard error is: a parameter held by a bound has only a profile.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) unless 0 < `level` < 1.
    pub fn confidence_intervals(&self, level: f64) -> Result<Vec<(f64, f64)>> {
        check_level(level)?;
        let width = half_width(level, self.scatter_freedom());
        let interval = |(value, error): (&f64, &f64)| {
            let reach = reach(width, *error);
            (value - reach, value + reach)
        };
        Ok(self.params.iter().zip(&self.covariance.errors).map(interval).collect())
    }
}
