//! What is known of the parameters of a fit before the rest of its start is looked for.

use super::ties::Ties;

/// One entry per parameter, in the model's order.
pub(crate) struct Known {
    /// Values from which parameters begin and may move.
    pub(crate) starts: Vec<Option<f64>>,
    /// Where parameters may be: at one value, if they cannot move.
    pub(crate) limits: Vec<(f64, f64)>,
    /// Parameters that follow from others.
    pub(crate) ties: Ties,
}

impl Known {
    /// Nothing but where the parameters may be.
    pub(crate) fn within(limits: Vec<(f64, f64)>) -> Known {
        Known { starts: vec![None; limits.len()], limits, ties: Ties::default() }
    }

    /// Where a parameter begins or may be.
    pub(crate) fn range(&self, i: usize) -> (f64, f64) {
        let start = self.starts.get(i).copied().flatten().map(|value| (value, value));
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        start.unwrap_or_else(|| self.limits.get(i).copied().unwrap_or(free))
    }

    /// The parameters within their limits, those that follow from others by these.
    pub(crate) fn allowed(&self, params: &[f64]) -> Vec<f64> {
        self.within_ranges(params, |i| self.limits[i])
    }

    /// The same, from where they begin.
    pub(crate) fn begun(&self, params: &[f64]) -> Vec<f64> {
        self.within_ranges(params, |i| self.range(i))
    }

    fn within_ranges(&self, params: &[f64], range: impl Fn(usize) -> (f64, f64)) -> Vec<f64> {
        let inside = |(i, &value): (usize, &f64)| nearest(value, range(i));
        let mut inside: Vec<f64> = params.iter().enumerate().map(inside).collect();
        self.ties.complete(&mut inside);
        inside
    }
}

/// The value of a range that is nearest to `value`; NaN for what is not known, unless the range is one value.
pub(crate) fn nearest(value: f64, (low, high): (f64, f64)) -> f64 {
    if low == high || value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}
