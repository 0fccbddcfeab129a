//! Tied parameters of the fits of a batch: their values and errors, from each fit's covariance matrix.

use super::arrays::Arrays;
use crate::model::ties::Ties;
use crate::threads;

/// Number of fits that a thread processes at a time.
const PORTION: usize = 256;

impl Arrays {
    /// Computes values, errors and covariances of tied parameters from the other parameters. Requires covariance
    /// matrices.
    pub(crate) fn tie(&mut self, ties: &Ties) {
        if ties.is_empty() {
            return;
        }
        let width = self.width;
        let params = self.params.chunks_mut(width * PORTION);
        let errors = self.errors.chunks_mut(width * PORTION);
        let covariances = self.covariances.chunks_mut(width * width * PORTION);
        threads::map(params.zip(errors).zip(covariances), |((params, errors), covariances)| {
            let fits = params.chunks_mut(width).zip(errors.chunks_mut(width));
            for ((params, errors), covariance) in fits.zip(covariances.chunks_mut(width * width)) {
                if params.iter().enumerate().any(|(k, p)| p.is_nan() && ties.formula(k).is_none()) {
                    // The fit was not run.
                    continue;
                }
                ties.complete(params);
                for (t, row) in ties.partials(params) {
                    tie_one(t, &row, errors, covariance);
                }
            }
        });
    }
}

/// Returns the standard error of a quantity with the partials `row`. Parameters at a bound, whose error is NaN, are
/// left out if other parameters contribute.
pub(super) fn error_of(row: &[(usize, f64)], errors: &[f64], covariance: &[f64]) -> f64 {
    let width = errors.len();
    let entering = row.iter().copied().filter(|&(k, w)| w != 0.0 && errors[k] != 0.0);
    let entering: Vec<(usize, f64)> = entering.collect();
    let known: Vec<(usize, f64)> =
        entering.iter().copied().filter(|(k, _)| !errors[*k].is_nan()).collect();
    if known.iter().any(|(k, _)| errors[*k].is_infinite()) {
        f64::INFINITY
    } else if known.is_empty() && !entering.is_empty() {
        f64::NAN
    } else if let [(k, w)] = known[..] {
        w.abs() * errors[k]
    } else {
        let largest = known.iter().map(|&(k, w)| w * w * covariance[k * width + k]);
        let in_range = known.is_empty() || largest.fold(0.0, f64::max).is_normal();
        let with = |j: usize| covariance_with(&known, j, errors, covariance);
        let square = known.iter().map(|&(k, w)| w * with(k)).sum::<f64>();
        // If the variances leave the range of f64, the error is unknown.
        if in_range { square.max(0.0).sqrt() } else { f64::NAN }
    }
}

/// Returns the covariance of a quantity with the partials `row` and parameter `j`.
fn covariance_with(row: &[(usize, f64)], j: usize, errors: &[f64], covariance: &[f64]) -> f64 {
    let entering =
        row.iter().filter(|&&(k, w)| w != 0.0 && errors[k] != 0.0 && !errors[k].is_nan());
    entering.map(|&(k, w)| w * covariance[k * errors.len() + j]).sum()
}

/// Computes error and covariances of the tied parameter `t`. `row`: its partials with respect to the parameters that
/// are not tied, whose covariances are known.
fn tie_one(t: usize, row: &[(usize, f64)], errors: &mut [f64], covariance: &mut [f64]) {
    let width = errors.len();
    errors[t] = error_of(row, errors, covariance);
    for j in (0..width).filter(|&j| j != t) {
        let value = match (errors[t], errors[j]) {
            (a, b) if a == 0.0 || b == 0.0 => 0.0,
            (a, b) if !a.is_finite() || !b.is_finite() => f64::NAN,
            _ => covariance_with(row, j, errors, covariance),
        };
        covariance[t * width + j] = value;
        covariance[j * width + t] = value;
    }
    covariance[t * width + t] = errors[t] * errors[t];
}
