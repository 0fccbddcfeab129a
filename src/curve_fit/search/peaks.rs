//! Random choice of points at which positions are drawn.

use crate::math::order::ascending;

/// Distribution over points. The probability of a point is proportional to its squared distance from the median.
#[derive(Clone)]
pub(super) struct Peaks {
    /// Running sums of the squared distances from the median, one per point. `extremes`: the points of the largest and
    /// the least value.
    sums: Vec<f64>,
    extremes: [usize; 2],
}

impl Peaks {
    /// Builds the distribution from responses or residuals, one value per point.
    pub(super) fn of(values: &[f64]) -> Peaks {
        let sorted = ascending(values);
        let at = |k: usize| sorted.get(k).copied().unwrap_or(0);
        let extremes = [at(sorted.len().saturating_sub(1)), at(0)];
        let median = values.get(at(sorted.len() / 2)).copied().unwrap_or(0.0);
        let scale = values.iter().fold(f64::MIN_POSITIVE, |most, y| most.max((y - median).abs()));
        let mut sum = 0.0;
        let sums = values.iter().map(|y| {
            sum += ((y - median) / scale).powi(2);
            sum
        });
        Peaks { sums: sums.collect(), extremes }
    }

    /// Returns the point at the quantile `u` of the distribution, for draw number `i`. Draws 0 and 1 are the extremes.
    pub(super) fn at(&self, u: f64, i: usize) -> usize {
        if let Some(&extreme) = self.extremes.get(i) {
            return extreme;
        }
        let total = self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|sum| *sum < u * total).min(self.sums.len().saturating_sub(1))
    }
}
