//! Points at which positions are drawn.

use crate::data::observations::Observations;
use crate::math::order::ascending;

/// Points at which positions are drawn, the more often the farther their response is from the median.
pub(super) struct Peaks {
    pub(super) seen: Observations,
    /// Running sums of the squared distances from the median, and the two points of the largest and least response.
    sums: Vec<f64>,
    extremes: [usize; 2],
}

impl Peaks {
    pub(super) fn of(seen: Observations) -> Peaks {
        let sorted = ascending(&seen.y);
        let at = |k: usize| sorted.get(k).copied().unwrap_or(0);
        let extremes = [at(sorted.len().saturating_sub(1)), at(0)];
        let median = seen.y.get(at(sorted.len() / 2)).copied().unwrap_or(0.0);
        let scale = seen.y.iter().fold(f64::MIN_POSITIVE, |most, y| most.max((y - median).abs()));
        let mut sum = 0.0;
        let sums = seen.y.iter().map(|y| {
            sum += ((y - median) / scale).powi(2);
            sum
        });
        Peaks { sums: sums.collect(), extremes, seen }
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
