//! Check that a fit belongs to a model and to data.

use super::CurveFit;
use crate::data::Data;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::Fit;

/// Relative tolerance between the cost of a fit and the cost computed from its model and data.
const SAME_COST: f64 = 1e-6;

/// # Errors
/// [`UncertaintyError::OtherFit`] if `fit` has other parameters than `curve`.
pub(super) fn check_same_parameters(curve: &CurveFit, fit: &Fit) -> Result<()> {
    if fit.names == curve.names {
        return Ok(());
    }
    let (found, expected) = (fit.names.join(", "), curve.names.join(", "));
    let what = "the list of parameters";
    Err(UncertaintyError::OtherFit { what, found, expected }.into())
}

/// # Errors
/// [`UncertaintyError::OtherFit`] if `fit` has other parameters, points or another cost than `curve` and `data`
/// make of it, and as a fit.
pub(super) fn check_same_fit(curve: &CurveFit, fit: &Fit, data: &Data<'_>) -> Result<()> {
    check_same_parameters(curve, fit)?;
    let mut fixed = curve.clone().changed();
    fixed.observer = None;
    // Tied ones follow.
    (0..fixed.names.len()).for_each(|k| fixed.fixed[k] = !fixed.is_tied(k));
    let same = fixed.fit(data, &fit.params)?;
    let tolerance = SAME_COST * same.cost.max(fit.cost);
    if same.points != fit.points || (same.cost - fit.cost).abs() > tolerance {
        let (what, found) = ("the cost", format!("{} of {} points", fit.cost(), fit.points));
        let expected = format!("{} of {} points", same.cost(), same.points);
        return Err(UncertaintyError::OtherFit { what, found, expected }.into());
    }
    Ok(())
}
