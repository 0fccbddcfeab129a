//! Parameters that do not occur in a model which is a function that cannot be inspected.
//!
//! Their column of the Jacobian is 0, as that of a parameter that has lost its effect on the way. The cost tells them apart: it
//! is the same to the last bit whatever value such a parameter has.

use super::minimise::OnHost;
use super::outcome::Failure;

impl OnHost<'_> {
    /// Looks for free parameters without effect that do not occur in the model. Returns whether there are any.
    pub(super) fn finds_unused(&mut self) -> Result<bool, Failure> {
        if !self.search.task.problem.opaque {
            return Ok(false);
        }
        let state = &self.search.state;
        let is_open = |&j: &usize| state.model.norms[j] == 0.0 && !state.unused[j];
        let open: Vec<usize> = (0..state.q.len()).filter(is_open).collect();
        let mut found = false;
        for j in open {
            if !self.has_effect(j)? {
                self.search.state.unused[j] = true;
                found = true;
            }
        }
        Ok(found)
    }

    /// Whether other values of parameter j change the cost. They are far apart, on both sides, and no round numbers, so that
    /// one at which the model switches shows.
    fn has_effect(&mut self, j: usize) -> Result<bool, Failure> {
        let (q, (low, high)) = (self.search.state.q[j], self.search.state.limits[j]);
        let mut costs = None;
        for to in [q, 2.1 * q + 1.1, -3.3 * q - 1.7, 97.0 * q + 110.3, -89.0 * q - 103.9] {
            self.evaluator.expect_below(f64::NEG_INFINITY);
            if self.gradient_at(&[(j, to.clamp(low, high))], &[])?.is_none() {
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
