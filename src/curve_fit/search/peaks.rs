//! Points at which positions are drawn.

use crate::math::order::ascending;

/// Points at which positions are drawn, the more often the farther their value is from the median.
#[derive(Clone)]
pub(super) struct Peaks {
    /// Running sums of the squared distances from the median, and the two points of the largest and the least value.
    sums: Vec<f64>,
    extremes: [usize; 2],
}

impl Peaks {
    /// Of the responses, or of what a curve leaves of them.
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

    /// The point at the part `u` of the distribution, for draw number `i`: the first ones are the extremes.
    pub(super) fn at(&self, u: f64, i: usize) -> usize {
        if let Some(&extreme) = self.extremes.get(i) {
            return extreme;
        }
        let total = self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|sum| *sum < u * total).min(self.sums.len().saturating_sub(1))
    }
}
