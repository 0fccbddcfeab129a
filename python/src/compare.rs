//! Comparison of fits of the same data.

use crate::failure::raised;
use crate::fit::Fit;
use pyo3::prelude::*;

/// Tests the model of `small` against the model of `large`. Returns the statistic, the degrees of freedom of its
/// numerator and denominator, and the p-value.
#[pyfunction]
pub(crate) fn compare_nested(
    small: &Fit,
    large: &Fit,
) -> PyResult<(f64, usize, Option<usize>, f64)> {
    let test = dualfit::compare_nested(&small.fit, &large.fit).map_err(raised)?;
    Ok((test.statistic, test.extra, test.residual, test.p_value))
}

/// Computes AIC, AICc and the weights from both, for each fit.
#[pyfunction]
pub(crate) fn akaike_weights(fits: Vec<PyRef<'_, Fit>>) -> PyResult<Vec<(f64, f64, f64, f64)>> {
    let fits: Vec<&dualfit::Fit> = fits.iter().map(|fit| &fit.fit).collect();
    let found = dualfit::akaike_weights(&fits).map_err(raised)?;
    Ok(found.iter().map(|f| (f.aic, f.aicc, f.weight, f.corrected_weight)).collect())
}
