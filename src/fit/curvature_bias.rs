//! The bias of a fit with errors in x whose curve bends within them.
//!
//! Errors of x along a bent curve lead to its outer side, so distances d of measured points from the true curve do not average 0: for
//! small errors their mean is κ/2, with the curvature κ of the curve in units of the errors. A fit makes Jᵀd = 0, so its parameters
//! are off by about −(JᵀJ)⁻¹⟨Jᵀd⟩, ⟨⟩ the expectation over points that scatter about the curve. More points do not change that, but the
//! standard errors become smaller (W. A. Fuller, Measurement Error Models, 1987, chapter 3).

use super::Fit;
use super::warning::Warning;
use crate::normal::{Arrow, Normal};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::Fault;
use std::sync::Arc;

/// A bias below this part of the standard error is not reported: 95 % intervals then cover 94 % or more.
const LEAST: f64 = 0.4;

/// A warning for each parameter whose estimated bias is a large part of its standard error. `params`: of the model, of which the
/// ones at the positions `free` are free and have this `shape`. A pass that fails leaves the bias unknown.
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

/// The estimated bias of every parameter, in its unit.
fn bias(
    fit: &Fit,
    evaluator: &mut dyn Evaluator,
    (params, free): (&[f64], &[usize]),
    shape: &Arc<Arrow>,
) -> Result<Vec<f64>, Fault> {
    // In units of the errors that were given; relative ones are known up to this factor.
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
