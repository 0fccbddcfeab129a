//! Parameters that do not occur in a model which is a function that cannot be inspected.
//!
//! Their column of the Jacobian is 0, like the column of a parameter that has lost its effect, such as the parameters of a peak far from
//! all points. The cost separates the two: for unused parameters it is the same to the last bit for all values. A traced model shows
//! its parameters.

use super::minimise::OnHost;
use super::outcome::Failure;

impl OnHost<'_> {
    /// Marks free parameters that do not occur in the model as unused: those without effect, unless one of them gets an effect
    /// elsewhere, which may then give the others theirs. Returns true if there are any.
    pub(super) fn finds_unused(&mut self) -> Result<bool, Failure> {
        let state = &self.search.state;
        let is_open = |&j: &usize| state.model.norms[j] == 0.0 && !state.unused[j];
        let open: Vec<usize> = (0..state.q.len()).filter(is_open).collect();
        if open.is_empty() || !self.search.task.problem.opaque {
            return Ok(false);
        }
        for &j in &open {
            if self.have_effect(&[j])? {
                return Ok(false);
            }
        }
        if open.len() > 1 && self.have_effect(&open)? {
            return Ok(false);
        }
        open.iter().for_each(|&j| self.search.state.unused[j] = true);
        Ok(true)
    }

    /// Returns true if other values of these parameters, moved together, change the cost. They are far apart, on both sides,
    /// and no round numbers, so that one at which the model switches shows.
    fn have_effect(&mut self, parameters: &[usize]) -> Result<bool, Failure> {
        let mut costs = None;
        for (factor, shift) in
            [(1.0, 0.0), (2.1, 1.1), (-3.3, -1.7), (97.0, 110.3), (-89.0, -103.9)]
        {
            let state = &self.search.state;
            let moved = |&j: &usize| {
                let (low, high) = state.limits[j];
                (j, (factor * state.q[j] + shift).clamp(low, high))
            };
            let moves: Vec<(usize, f64)> = parameters.iter().map(moved).collect();
            self.evaluator.expect_below(f64::NEG_INFINITY);
            if self.gradient_at(&moves, &[])?.is_none() {
                return Ok(true);
            }
            let cost = self.search.state.trial.normal.cost;
            if *costs.get_or_insert(cost) != cost {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
