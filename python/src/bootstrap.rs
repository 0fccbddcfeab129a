//! Bootstrap of a fit.

use crate::arrays::rows;
use crate::failure::{in_python, raised};
use crate::fit::Fit;
use crate::model::Model;
use crate::points::Points;
use crate::settings::Settings;
use crate::watch::{Thread, watched};
use dualfit::Bootstrap;
use dualfit::result::Resample;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The refits of a bootstrap.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct Replicates {
    made: dualfit::result::Replicates,
}

/// Repeats a fit with data that are drawn at random.
#[pyfunction]
#[pyo3(signature = (model, fit, points, settings, replicates, resample, seed, memory=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn bootstrap(
    py: Python<'_>,
    model: PyRef<'_, Model>,
    fit: PyRef<'_, Fit>,
    points: Points<'_>,
    settings: Settings,
    replicates: usize,
    resample: &str,
    seed: u64,
    memory: Option<usize>,
) -> PyResult<Replicates> {
    let resample = match resample {
        "residuals" => Resample::Residuals,
        "parametric" => Resample::Parametric,
        "pairs" => Resample::Pairs,
        other => {
            return Err(PyValueError::new_err(format!(
                "resample is {other:?}; there are \"residuals\", \"parametric\" and \"pairs\""
            )));
        }
    };
    let mut how = Bootstrap::new(replicates).resample(resample).seed(seed);
    if let Some(bytes) = memory {
        how = how.memory(bytes);
    }
    let (curve, calls, fit) = (model.told(&settings)?, model.calls.as_deref(), &fit.fit);
    let made = points.with_data(|data| {
        watched(py, curve, Thread::Own, calls, settings.callback, move |curve| {
            curve.bootstrap(fit, data, &how)
        })
    })?;
    Ok(Replicates { made })
}

#[pymethods]
impl Replicates {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.made.names().to_vec()
    }

    /// Parameters of the converged refits, one row per refit.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows(py, self.made.params(), self.made.names().len())
    }

    #[getter]
    fn std_errors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.made.std_errors())
    }

    #[getter]
    fn bias<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.made.bias())
    }

    #[getter]
    fn failed(&self) -> usize {
        self.made.failed()
    }

    #[getter]
    fn not_run(&self) -> usize {
        self.made.not_run()
    }

    /// Returns the value of a parameter or formula for the fit, and its values for the refits.
    fn quantity<'py>(
        &self,
        py: Python<'py>,
        formula: &str,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let found = self.made.quantity(formula).map_err(raised)?;
        Ok((found.estimate(), PyArray1::from_slice(py, found.values())))
    }

    /// Returns the interval of a parameter or formula, and the standard errors of its ends: (lower, upper, error of
    /// lower, error of upper). `bca`: BCa interval instead of percentile interval.
    fn interval(&self, formula: &str, level: f64, bca: bool) -> PyResult<(f64, f64, f64, f64)> {
        let found = self.made.quantity(formula).map_err(raised)?;
        let interval = match bca {
            true => found.bca_interval(level),
            false => found.percentile_interval(level),
        };
        let ends = interval.map_err(raised)?;
        Ok((ends.lower, ends.upper, ends.lower_error, ends.upper_error))
    }

    fn to_json(&self) -> PyResult<String> {
        self.made.to_json().map_err(raised)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Replicates> {
        let made = dualfit::result::Replicates::from_json(text).map_err(raised)?;
        Ok(Replicates { made })
    }

    fn __len__(&self) -> usize {
        self.made.len()
    }

    fn __str__(&self) -> String {
        in_python(&self.made.to_string())
    }
}
