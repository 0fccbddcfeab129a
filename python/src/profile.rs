//! Profile of a parameter.

use crate::arrays::rows;
use crate::failure::raised;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Fits with one parameter fixed at values on both sides of its estimate.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct Profile {
    pub(crate) profile: dualfit::Profile,
}

#[pymethods]
impl Profile {
    /// Name of the parameter.
    #[getter]
    fn name(&self) -> &str {
        self.profile.name()
    }

    /// Estimate of the parameter.
    #[getter]
    fn value(&self) -> f64 {
        self.profile.value()
    }

    /// Fixed values of the parameter, ascending.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.profile.values())
    }

    /// Signed square roots of (S − S_min)/s² at `values`, where S is 2 × the cost. The standard error results from
    /// their approximation by a straight line.
    #[getter]
    fn taus<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.profile.taus())
    }

    /// All parameters at `values`, one row per value.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let params = self.profile.params();
        let width = params.first().map_or(0, |row| row.len());
        rows(py, &params.concat(), width)
    }

    /// Parameters, by name, of a refit with a lower cost than the profiled fit; `None` without such a refit.
    #[getter]
    fn better<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(fit) = self.profile.better() else { return Ok(None) };
        let params = PyDict::new(py);
        for (name, value) in fit.names().iter().zip(fit.params()) {
            params.set_item(name, value)?;
        }
        Ok(Some(params))
    }

    /// Returns lower and upper limit of the confidence interval. A limit is infinite if the profile never reaches the
    /// level, and NaN if refits failed.
    #[pyo3(signature = (level=0.95))]
    fn interval(&self, level: f64) -> PyResult<(f64, f64)> {
        let interval = self.profile.interval(level).map_err(raised)?;
        Ok((interval.lower, interval.upper))
    }
}
