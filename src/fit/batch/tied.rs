//! Tied parameters of the fits of a batch: their values and errors, from each fit's covariance matrix.

use super::arrays::Arrays;
use crate::model::ties::Ties;
use crate::threads;

/// Fits that a thread takes at a time.
const PORTION: usize = 256;

impl Arrays {
    /// Gives tied parameters what follows from the others, for which the covariances must be there.
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
                    // Not run.
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

/// The standard error of a quantity with these partials by parameters whose errors and covariances are there. Those at bounds add
/// nothing beside others.
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
        // Where variances leave the range of f64 nothing is known.
        if in_range { square.max(0.0).sqrt() } else { f64::NAN }
    }
}

/// The covariance of such a quantity with parameter `j`.
fn covariance_with(row: &[(usize, f64)], j: usize, errors: &[f64], covariance: &[f64]) -> f64 {
    let entering =
        row.iter().filter(|&&(k, w)| w != 0.0 && errors[k] != 0.0 && !errors[k].is_nan());
    entering.map(|&(k, w)| w * covariance[k * errors.len() + j]).sum()
}

/// One tied parameter `t` with these partials by those that are not tied, whose covariances are there.
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
