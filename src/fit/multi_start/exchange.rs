//! Detection of parameters that can be exchanged without a change of the model, such as the parameters of two equal
//! terms.
//!
//! If the cost is the same before and after the exchange at several independent starts,
//! the exchange is a symmetry of the model. This works for every kind of model and loss.

use super::Trial;
use crate::fit::engine::Request;
use crate::fit::point_source::View;
use crate::normal::Normal;
use std::cell::RefCell;
use std::collections::HashMap;

/// Number of starts at which an exchange is tested.
const STARTS: usize = 6;
/// Maximum relative change of a cost by rounding, if terms of a sum are added in another order.
const ROUNDING: f64 = 1e-9;

/// Tested exchanges of free parameters.
pub(super) struct Exchange<'a> {
    request: &'a Request<'a>,
    free: &'a [usize],
    starts: Vec<&'a [f64]>,
    known: RefCell<HashMap<Vec<usize>, bool>>,
}

impl<'a> Exchange<'a> {
    /// Creates the tests. Only starts of converged `trials` are used, because the model and its partials are finite
    /// there.
    pub(super) fn new(request: &'a Request<'a>, free: &'a [usize], trials: &'a [Trial]) -> Self {
        let converged = trials.iter().filter(|trial| trial.converged());
        let starts = converged.map(Trial::start).collect();
        Exchange { request, free, starts, known: RefCell::default() }
    }

    /// Returns true if the model does not change when the i-th free parameter takes the value of the `order[i]`-th.
    pub(super) fn changes_nothing(&self, order: &[usize]) -> bool {
        if let Some(&known) = self.known.borrow().get(order) {
            return known;
        }
        let found = self.compare(order).unwrap_or(false);
        self.known.borrow_mut().insert(order.to_vec(), found);
        found
    }

    /// Compares the costs before and after an exchange; `None` if the model cannot be evaluated.
    fn compare(&self, order: &[usize]) -> Option<bool> {
        let request = self.request;
        let mut evaluator = request.evaluator(&View::of(request.spec.loss, &request.start)).ok()?;
        let mut normal = Normal::zero(self.free.len());
        let columns = vec![1.0; self.free.len()];
        let mut cost = |params: &[f64]| {
            evaluator.normal(params, &columns, &mut normal).ok().map(|()| normal.cost)
        };
        let mut tried = 0;
        for &start in &self.starts {
            let mut exchanged = start.to_vec();
            for (&to, &from) in self.free.iter().zip(order) {
                exchanged[to] = start[self.free[from]];
            }
            if exchanged == start {
                continue;
            }
            let (here, there) = (cost(start)?, cost(&exchanged)?);
            let apart = (here - there).abs();
            if apart.is_nan() || apart > ROUNDING * here.abs() {
                return Some(false);
            }
            tried += 1;
            if tried == STARTS {
                break;
            }
        }
        Some(tried > 0)
    }
}
