//! Derived quantities of the fits of a batch, computed on request from their parameters and covariance matrices.

use super::BatchFit;
use super::tied::error_of;
use crate::fit::propagated::{Formula, Propagated};

impl BatchFit {
    /// Computes the value and the error of a parameter or derived quantity in fit number `fit`.
    pub(super) fn found(&self, of: Quantity<'_>, fit: usize) -> Propagated {
        let width = self.n_params();
        let own = fit * width..(fit + 1) * width;
        let (params, errors) = (&self.params()[own.clone()], &self.std_errors()[own]);
        let formula = match of {
            Quantity::Parameter(k) => {
                return Propagated { value: params[k], std_error: errors[k] };
            }
            Quantity::Derived(formula) => formula,
        };
        let (value, gradient) = formula.linear(params);
        if !value.is_finite() || gradient.iter().any(|partial| !partial.is_finite()) {
            return Propagated { value, std_error: f64::NAN };
        }
        // Parameters at a bound contribute nothing, as in a single fit.
        let partials = formula.places.iter().copied().zip(gradient);
        let row = partials.filter(|&(k, partial)| partial != 0.0 && self.side(fit, k).is_none());
        let row: Vec<(usize, f64)> = row.collect();
        let std_error = match (self.covariance(fit), &row[..]) {
            (Some(covariance), _) => error_of(&row, errors, covariance),
            (None, []) => 0.0,
            (None, &[(k, partial)]) => partial.abs() * errors[k],
            (None, _) => f64::NAN,
        };
        Propagated { value, std_error }
    }

    /// Finds the parameter or the derived quantity `name`.
    pub(super) fn named(&self, name: &str) -> Option<Quantity<'_>> {
        if let Some(k) = self.names.iter().position(|known| known == name) {
            return Some(Quantity::Parameter(k));
        }
        let (_, formula) = self.derived.iter().find(|(known, _)| known == name)?;
        Some(Quantity::Derived(formula))
    }
}

/// A parameter or a derived quantity.
#[derive(Clone, Copy)]
pub(super) enum Quantity<'a> {
    /// Position of the parameter.
    Parameter(usize),
    Derived(&'a Formula),
}
