//! One quantity over all refits of a bootstrap.

use super::interval::{BootstrapInterval, Tail, expect_beyond, interval};
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::distributions::{check_level, normal_lower, normal_quantile};

/// Maximum fraction of failed refits for which intervals are computed.
const MOST_FAILED: f64 = 0.1;
/// Minimum number of values expected beyond each end of an interval with the fraction (1 − level)/2 on each side.
/// `BEYOND_MOVED` is the minimum beyond the moved ends of a BCa interval. The standard error of each end shows its
/// uncertainty.
const BEYOND: f64 = 5.0;
const BEYOND_MOVED: f64 = 1.0;

/// Values of a parameter or derived quantity for every refit of a bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct Resampled {
    pub(super) name: String,
    pub(super) estimate: f64,
    pub(super) values: Vec<f64>,
    /// Values of the quantity for fits that leave out one group of points each.
    pub(super) jackknife: Jackknife,
    pub(super) failed: usize,
}

impl Resampled {
    /// Name or expression of the quantity.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Value of the quantity for the fit.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Values of the quantity for the converged refits, in the order of the draws.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Standard deviation of the values; NaN for fewer than two values.
    pub fn std_error(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|v| (v - mean).powi(2)).sum();
        (squares / (self.values.len() as f64 - 1.0)).sqrt()
    }

    /// Mean of the values minus the estimate.
    pub fn bias(&self) -> f64 {
        self.mean() - self.estimate
    }

    /// The percentile interval (Efron and Tibshirani, 1993, section 13.3). It leaves the fraction α = (1 − `level`)/2
    /// of the values on each side. The quantile α of n values has the position (n + 1)α in their ascending order, and
    /// is interpolated linearly. For a monotonic function of the quantity, the ends of the interval are the function
    /// at both ends. The [BCa interval](Resampled::bca_interval) contains the true value with a probability nearer to
    /// `level` if the estimate is biased or its error grows with the quantity; it requires enough points.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) unless 0 < `level` < 1;
    /// [`UncertaintyError::TooFewReplicates`] if fewer than 5 values are expected beyond an end: for a level of 95 %,
    /// if there are fewer than 200 values; and
    /// [`UncertaintyError::ReplicatesFailed`] if more than a tenth of the refits failed.
    pub fn percentile_interval(&self, level: f64) -> Result<BootstrapInterval> {
        self.check(level)?;
        let tail = |p: f64| Tail { p, variance: p * (1.0 - p) / self.values.len() as f64 };
        let outside = 0.5 * (1.0 - level);
        Ok(interval(&self.values, [tail(outside), tail(1.0 - outside)]))
    }

    /// The bias-corrected and accelerated interval BCa (B. Efron, J. Am. Stat. Assoc. 82 (1987) 171; Efron and
    /// Tibshirani, 1993, section 14.3). It is a percentile interval with the quantiles
    /// Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), where z = ∓ the normal quantile of the level. The bias z₀ is Φ⁻¹ of the
    /// fraction of the values below the estimate. The acceleration a is the growth of the standard error with the
    /// quantity. It is a sixth of the skewness of the errors: a = Σl³/(6(Σl²)^1.5). Each l is the mean of the values
    /// of the [fits without some points](crate::CurveFit::bootstrap) minus the value of one of these fits; a = 0 for
    /// normal errors. On each side the error of the level is of order 1/n for n points, and of order 1/√n for the
    /// percentile interval. But a is an estimate, too: if few points determine it, it is mostly chance, and the
    /// percentile interval contains the true value more often.
    ///
    /// # Errors
    /// The errors of [`percentile_interval`](Resampled::percentile_interval);
    /// [`UncertaintyError::TooFewReplicates`] if fewer than 1 value is expected beyond an end; and
    /// [`UncertaintyError::NoBca`] if the estimate is outside all values or on a bound, if residuals were drawn
    /// although the errors of y are correlated, if a fit without some of the points did not converge, or if the errors
    /// are too skew for the level.
    pub fn bca_interval(&self, level: f64) -> Result<BootstrapInterval> {
        self.check(level)?;
        let refuse = |reason, remedy| Err(UncertaintyError::NoBca { reason, remedy }.into());
        let n = self.values.len() as f64;
        let acceleration = match &self.jackknife {
            Jackknife::Symmetric => 0.0,
            Jackknife::LeftOut(values) => acceleration(values),
            Jackknife::Correlated => {
                let reason = "points with correlated errors cannot be left out one by one";
                return refuse(reason, "draw errors (Resample::Parametric)");
            }
            Jackknife::Failed => {
                let reason = "a fit without some of the points did not converge";
                return refuse(reason, "take percentile intervals");
            }
        };
        let count = |is: &dyn Fn(&f64) -> bool| self.values.iter().filter(|v| is(v)).count() as f64;
        let equal = count(&|v| *v == self.estimate);
        if equal == n {
            // For example a fixed parameter.
            let (lower, upper) = (self.estimate, self.estimate);
            return Ok(BootstrapInterval { lower, upper, lower_error: 0.0, upper_error: 0.0 });
        }
        let (lower, upper) = (count(&|v| *v < self.estimate), count(&|v| *v > self.estimate));
        if equal > 0.0 && (lower == 0.0 || upper == 0.0) {
            // Some values are equal to the estimate, and all others lie on the same side of it. Fits of different data
            // end at exactly the same value only at a bound.
            let reason = "the estimate is on a bound, where replicates pile up";
            return refuse(reason, "take percentile intervals, or a profile");
        }
        let below = (lower + 0.5 * equal) / n;
        if below == 0.0 || below == 1.0 {
            let reason = "the estimate lies outside all replicates";
            return refuse(reason, "look at the bias: refits may end in another minimum");
        }
        let bias = normal_quantile(below);
        // `slope`: derivative of p, the fraction of values below an end, with respect to `below`. It propagates the
        // uncertainty of `below`.
        let density = |z: f64| (-0.5 * z * z).exp();
        let tail = |z: f64| {
            let bend = 1.0 - acceleration * (bias + z);
            let moved = bias + (bias + z) / bend;
            let p = normal_lower(moved);
            let slope = density(moved) / density(bias) * (1.0 + 1.0 / (bend * bend));
            let spread = |p: f64, q: f64| p.min(q) - p * q;
            let variance = spread(p, p) + slope * slope * spread(below, below)
                - 2.0 * slope * spread(p, below);
            (bend > 0.0).then_some(Tail { p, variance: variance.max(0.0) / n })
        };
        let z = normal_quantile(0.5 * (1.0 + level));
        match (tail(-z), tail(z)) {
            (Some(lower), Some(upper)) => {
                let outside = lower.p.min(1.0 - upper.p);
                expect_beyond(BEYOND_MOVED, outside, self.values.len(), level)?;
                Ok(interval(&self.values, [lower, upper]))
            }
            _ => refuse("its errors are too skew for the level", "take percentile intervals"),
        }
    }

    /// Number of values that are not finite, including the value of the fit.
    pub(super) fn undefined(&self) -> usize {
        let left_out = match &self.jackknife {
            Jackknife::LeftOut(values) => &values[..],
            _ => &[],
        };
        let all = self.values.iter().chain(left_out).chain([&self.estimate]);
        all.filter(|value| !value.is_finite()).count()
    }

    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    fn check(&self, level: f64) -> Result<()> {
        check_level(level)?;
        let (failed, made) = (self.failed, self.failed.saturating_add(self.values.len()));
        match failed as f64 > MOST_FAILED * made as f64 {
            true => Err(UncertaintyError::ReplicatesFailed { failed, made }.into()),
            false => expect_beyond(BEYOND, 0.5 * (1.0 - level), self.values.len(), level),
        }
    }
}

/// Source of the skewness of the errors, which BCa intervals need: for one quantity, or for all parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Jackknife {
    /// The errors of y were drawn from a normal distribution. To first order the errors of the quantity are not skew.
    Symmetric,
    /// Values of the fits that leave out one group of points each. For all parameters: one row per fit.
    LeftOut(#[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))] Vec<f64>),
    /// The errors of y are correlated. Such points cannot be left out one by one.
    Correlated,
    /// A fit without some of the points did not converge, or was stopped.
    Failed,
}

/// Returns the acceleration of BCa: a sixth of the skewness of the influence of groups of points. `without`: values of
/// the fits without one group each. Returns 0 if no group has an influence.
pub(super) fn acceleration(without: &[f64]) -> f64 {
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let influence = || without.iter().map(|value| mean - value);
    let largest = influence().fold(0.0, |m: f64, l| m.max(l.abs()));
    let power = |k| influence().map(|l| (l / largest).powi(k)).sum::<f64>();
    match largest > 0.0 {
        true => power(3) / (6.0 * power(2).powf(1.5)),
        false => 0.0,
    }
}
