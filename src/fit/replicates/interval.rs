//! Quantiles of replicates, and their standard errors.

use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;

/// An interval from a bootstrap. The standard error of each end is the scatter of the end between different seeds. It
/// decreases with the root of the number of replicates, and does not describe the error of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapInterval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The standard error of the lower end.
    pub lower_error: f64,
    /// The standard error of the upper end.
    pub upper_error: f64,
}

/// Quantile at one end of the interval.
pub(super) struct Tail {
    /// Fraction of the values below the quantile.
    pub(super) p: f64,
    /// Variance of this fraction.
    pub(super) variance: f64,
}

/// Checks that at least `beyond` replicates are expected beyond an end of the interval. `values`: number of replicates;
/// `tail`: the fraction of replicates that is expected beyond this end.
///
/// # Errors
/// [`UncertaintyError::TooFewReplicates`] if fewer are expected.
pub(super) fn expect_beyond(beyond: f64, tail: f64, values: usize, level: f64) -> Result<()> {
    let needed = (beyond / tail).ceil();
    match (values as f64) < needed {
        false => Ok(()),
        true => {
            let (replicates, needed) = (values, needed as usize);
            Err(UncertaintyError::TooFewReplicates { level, replicates, needed }.into())
        }
    }
}

pub(super) fn interval(values: &[f64], [lower, upper]: [Tail; 2]) -> BootstrapInterval {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // If p changes by one standard deviation, the quantile changes by half the distance between the quantiles at
    // p + step and p − step.
    let error = |tail: &Tail| {
        let step = tail.variance.sqrt();
        0.5 * (quantile(&sorted, tail.p + step) - quantile(&sorted, tail.p - step))
    };
    BootstrapInterval {
        lower: quantile(&sorted, lower.p),
        upper: quantile(&sorted, upper.p),
        lower_error: error(&lower),
        upper_error: error(&upper),
    }
}

/// Returns the value at position (n + 1)p of the sorted values, where the first value has position 1. Between two
/// positions the value is interpolated linearly (Davison and Hinkley, 1997, section 2.4).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let last = sorted.len() - 1;
    let at = ((sorted.len() + 1) as f64 * p - 1.0).clamp(0.0, last as f64);
    let (below, part) = (at as usize, at.fract());
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    a + part * (b - a)
}
