//! Known starting values, bounds and ties of the parameters, before the remaining starting values are searched.

use super::ties::Ties;

/// Known facts about the parameters: one entry per parameter, in the model's order.
pub(crate) struct Known {
    /// Starting values; the parameters may move away from them.
    pub(crate) starts: Vec<Option<f64>>,
    /// Bounds of the parameters; both are equal for a fixed parameter.
    pub(crate) limits: Vec<(f64, f64)>,
    /// Formulas of tied parameters.
    pub(crate) ties: Ties,
}

impl Known {
    /// Creates the facts for parameters with these bounds, without starting values and ties.
    pub(crate) fn within(limits: Vec<(f64, f64)>) -> Known {
        Known { starts: vec![None; limits.len()], limits, ties: Ties::default() }
    }

    /// Returns the range of the starting value: one value if it is known, else the bounds.
    pub(crate) fn range(&self, i: usize) -> (f64, f64) {
        let start = self.starts.get(i).copied().flatten().map(|value| (value, value));
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        start.unwrap_or_else(|| self.limits.get(i).copied().unwrap_or(free))
    }

    /// Returns the parameters moved into their bounds; tied parameters are computed from the others.
    pub(crate) fn allowed(&self, params: &[f64]) -> Vec<f64> {
        self.within_ranges(params, |i| self.limits[i])
    }

    /// Returns the parameters moved into the ranges of their starting values; tied parameters are computed from the
    /// others.
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

/// Returns the value of the range that is nearest to `value`. A NaN stays NaN unless the range is one value.
pub(crate) fn nearest(value: f64, (low, high): (f64, f64)) -> f64 {
    if low == high || value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}
