//! Whether a loss still pulls on the points from where the model is.
//!
//! Cauchy's, arctan's and Tukey's losses redescend: the farther a point is, the less it pulls. Where
//! nearly all points are far, as they are from a bad start, such a loss is flat or has a minimum at
//! every few points that the model can pass through. Cauchy's pulls the longest, and its value says how
//! far the points are: the mean of ln(1 + (r/C)²) is the logarithm of a mean that a few outliers hardly
//! move.

use super::loss::Loss;
use crate::constants::FAR;

impl Loss {
    /// Whether a point pulls the less the farther it is.
    pub(crate) fn redescends(self) -> bool {
        matches!(self, Loss::Cauchy { .. } | Loss::Arctan { .. } | Loss::Tukey { .. })
    }

    /// The loss whose minimum is the start for this one, if it is not the caller's: that of the same
    /// scale which leaves no point out.
    pub(crate) fn first(self) -> Option<Loss> {
        match self {
            Loss::Arctan { scale } | Loss::Tukey { scale } => Some(Loss::Cauchy { scale }),
            _ => None,
        }
    }

    /// The scale, if the value of this loss says how far the points are.
    pub(crate) fn gauge(self) -> Option<f64> {
        match self {
            Loss::Cauchy { scale } => Some(scale),
            _ => None,
        }
    }
}

/// How many scales the points are away: √(exp(mean of ln(1 + z)) − 1). `cost`: under Cauchy's loss of
/// this `scale`, in its units.
pub(crate) fn distance(cost: f64, scale: f64, points: usize) -> f64 {
    let mean = 2.0 * (cost / scale / scale) / points as f64;
    mean.exp_m1().sqrt()
}

/// Whether the points are so far away that a fit with this loss must not begin there. `cost`: under it,
/// in units in which its scale is multiplied by `unit`.
pub(crate) fn is_far(loss: Loss, cost: f64, unit: f64, points: usize) -> bool {
    loss.gauge().is_some_and(|scale| distance(cost, scale * unit, points) > FAR)
}

#[cfg(test)]
mod tests {
    use super::{FAR, distance, is_far};
    use crate::data::loss::Loss;

    #[test]
    fn a_few_outliers_do_not_make_a_start_far() {
        let scale = 0.5;
        let cost = |residuals: &[f64]| -> f64 {
            let each = residuals.iter().map(|r| (r / scale).powi(2).ln_1p());
            0.5 * scale * scale * each.sum::<f64>()
        };
        let mut residuals = vec![7.0 * scale; 100];
        assert!((distance(cost(&residuals), scale, 100) - 7.0).abs() < 1e-12);
        residuals[..5].fill(1e8 * scale);
        let loss = Loss::Cauchy { scale };
        assert!(!is_far(loss, cost(&residuals), 1.0, 100));
        residuals.fill(1.001 * FAR * scale);
        assert!(is_far(loss, cost(&residuals), 1.0, 100));
        assert!(is_far(loss, 16.0 * cost(&residuals), 4.0, 100));
        assert!(!is_far(Loss::Huber { scale }, cost(&residuals), 1.0, 100));
    }
}
