//! Errors of parameters that are tied to others.
//!
//! With T the partials of the tied parameters by the free ones, their covariance is T C Tᵀ, and with
//! the free ones T C. Where C = H Hᵀ is known by its half H, that of all parameters has the rows of H
//! and those of T H: nothing is squared, and what cancels does so exactly.

use super::covariance::{Covariance, norm};
use crate::model::ties::Ties;
use std::sync::OnceLock;

impl Covariance {
    /// Gives tied parameters their errors and correlations. `params`: all values at the solution.
    pub(crate) fn tie(&mut self, ties: &Ties, params: &[f64]) {
        if ties.is_empty() {
            return;
        }
        for (t, row) in ties.partials(params) {
            // Of a set that was left out.
            if row.iter().any(|(_, partial)| !partial.is_finite()) {
                (self.errors[t], self.units[t]) = (f64::NAN, 0.0);
                continue;
            }
            self.errors[t] = self.error_of_tied(&row);
            let scaled = row.iter().map(|&(k, g)| (k, g * self.units[k]));
            let scaled: Vec<(usize, f64)> = scaled.collect();
            let lengths: Vec<f64> = scaled.iter().map(|(_, g)| *g).collect();
            let unit = norm(&lengths);
            self.half.combine(t, &row);
            self.unscaled.combine(t, &row);
            if unit > 0.0 {
                let parts: Vec<(usize, f64)> = scaled.iter().map(|&(k, g)| (k, g / unit)).collect();
                self.null.combine(t, &parts);
            }
            self.units[t] = unit;
        }
        self.matrices = OnceLock::new();
    }

    /// The error of a tied parameter with these partials. One that depends on parameters at bounds, and on
    /// no other that was estimated, has no error to give, as they have none.
    fn error_of_tied(&self, row: &[(usize, f64)]) -> f64 {
        let entering = row.iter().filter(|(_, partial)| *partial != 0.0);
        let mut others = entering.map(|(k, _)| self.errors[*k]).peekable();
        let none = others.peek().is_some();
        if none && others.clone().all(|e| e.is_nan() || e == 0.0) {
            return if others.any(|e| e.is_nan()) { f64::NAN } else { 0.0 };
        }
        let (places, gradient): (Vec<usize>, Vec<f64>) = row.iter().copied().unzip();
        self.error_among(&places, &gradient)
    }
}
