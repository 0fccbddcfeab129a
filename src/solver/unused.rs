//! Parameters that do not occur in a native model.
//!
//! Their columns of the Jacobian are 0, like the columns of parameters that have lost their effect, such as the
//! parameters of a peak far from all points. The cost distinguishes the two cases: if an unused parameter changes, the
//! cost stays the same to the last bit. Traced models do not need this test, since their program shows which parameters
//! occur.

use super::minimise::OnHost;
use super::outcome::Failure;

impl OnHost<'_> {
    /// Finds free parameters that do not occur in the model, marks them as unused, and returns true if there are any.
    /// Candidates are the parameters without effect at the current point. If a candidate, or all candidates together,
    /// have an effect at other values, no candidate is marked, because the change of one parameter may give an effect
    /// to the others.
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

    /// Returns true if the cost changes when these parameters are moved together. The trial values are far apart, of
    /// both signs, and not round numbers. Thus they probably lie on both sides of a threshold at which the model
    /// switches between two formulas.
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
