//! Bias of a fit with errors in x if the curve bends within these errors.
//!
//! Errors along a bent curve shift points to its outer side. Therefore the distances d of measured points from the true
//! curve do not average 0: for small errors their mean is κ/2, where κ is the curvature in units of the errors. A fit
//! makes Jᵀd = 0, so its parameters have a bias of about −(JᵀJ)⁻¹⟨Jᵀd⟩, where ⟨⟩ is the expectation over points that
//! scatter about the curve. More points do not change the bias, but reduce the standard errors
//! (W. A. Fuller, Measurement Error Models, 1987, chapter 3).

use super::Fit;
use super::warning::Warning;
use crate::normal::{Arrow, Normal};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::Fault;
use std::sync::Arc;

/// Minimum reported bias as a fraction of the standard error. Below it, 95 % intervals cover 93 % or more.
const LEAST: f64 = 0.4;

/// Returns a warning for each parameter whose estimated bias is a large fraction of its standard error. `params`: the
/// parameters of the model; `free`: positions of the free parameters; `shape`: their blocks. If a pass fails, the bias
/// is unknown and there is no warning.
pub(super) fn warnings(
    fit: &Fit,
    evaluator: &mut dyn Evaluator,
    (params, free): (&[f64], &[usize]),
    shape: &Arc<Arrow>,
) -> Vec<Warning> {
    let Ok(bias) = bias(fit, evaluator, (params, free), shape) else { return Vec::new() };
    let doubtful = |(k, &bias): (usize, &f64)| {
        let ratio = bias / fit.covariance.errors[k];
        (ratio.abs() >= LEAST && ratio.is_finite()).then(|| Warning::Biased {
            name: fit.names[k].clone(),
            bias,
            ratio,
        })
    };
    bias.iter().enumerate().filter_map(doubtful).collect()
}

/// Estimates the bias of every parameter, in its unit.
fn bias(
    fit: &Fit,
    evaluator: &mut dyn Evaluator,
    (params, free): (&[f64], &[usize]),
    shape: &Arc<Arrow>,
) -> Result<Vec<f64>, Fault> {
    // Variance in units of the given errors: relative errors are known up to this factor.
    let variance = if fit.scaled { fit.reduced_chi_square().unwrap_or(0.0) } else { 1.0 };
    let units = &fit.covariance.units;
    let unit = |&k: &usize| if units[k] > 0.0 { units[k] } else { 1.0 };
    let columns: Vec<f64> = free.iter().map(unit).collect();
    let mut normal = Normal::shaped(shape);
    evaluator.expected_normal((params, variance), &columns, &mut normal)?;
    let mut slopes = vec![0.0; fit.names.len()];
    for (j, (&k, column)) in free.iter().zip(&columns).enumerate() {
        slopes[k] = -normal.jtr(j) / column;
    }
    let half = &fit.covariance.unscaled;
    Ok(half.apply(&half.along(&slopes)))
}
