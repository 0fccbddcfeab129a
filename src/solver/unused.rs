//! Parameters that have no effect on the model at any point: those that do not occur in a function that cannot be inspected, and
//! those of a term that no point sees.
//!
//! Their column of the Jacobian is 0, as that of a parameter that has lost its effect on the way. The cost tells them apart: it
//! is the same to the last bit whatever value such a parameter has.

use super::minimise::OnHost;
use super::outcome::Failure;

/// If so many parameters have columns of 0 and one of them has an effect, no further ones are tested: each takes five passes.
const MOST_ALONE: usize = 16;

impl OnHost<'_> {
    /// Marks free parameters without effect on the model as unused. Returns true if there are any.
    pub(super) fn finds_unused(&mut self) -> Result<bool, Failure> {
        let state = &self.search.state;
        let is_open = |&j: &usize| state.model.norms[j] == 0.0 && !state.unused[j];
        let open: Vec<usize> = (0..state.q.len()).filter(is_open).collect();
        if open.is_empty() || !self.looks_again {
            return Ok(false);
        }
        let mut unused = Vec::new();
        if !self.have_effect(&open)? {
            unused = open;
        } else if (2..=MOST_ALONE).contains(&open.len()) {
            for j in open {
                if !self.have_effect(&[j])? {
                    unused.push(j);
                }
            }
        }
        unused.iter().for_each(|&j| self.search.state.unused[j] = true);
        Ok(!unused.is_empty())
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
