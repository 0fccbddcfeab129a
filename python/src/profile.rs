//! The profile of a parameter.

use crate::arrays::rows;
use crate::failure::raised;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The best fits with one parameter held at values on both sides of its best one.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct Profile {
    pub(crate) profile: dualfit::Profile,
}

#[pymethods]
impl Profile {
    /// The parameter.
    #[getter]
    fn name(&self) -> &str {
        self.profile.name()
    }

    /// The best value.
    #[getter]
    fn value(&self) -> f64 {
        self.profile.value()
    }

    /// Where the parameter was held, ascending.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.profile.values())
    }

    /// The signed roots of the excess of the cost there, which an error bar takes for a straight line.
    #[getter]
    fn taus<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.profile.taus())
    }

    /// All parameters there, one row per value.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let params = self.profile.params();
        let width = params.first().map_or(0, |row| row.len());
        rows(py, &params.concat(), width)
    }

    /// The parameters, by name, of a fit with a lower cost than the one that was profiled, if a refit came upon one.
    #[getter]
    fn better<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(fit) = self.profile.better() else { return Ok(None) };
        let params = PyDict::new(py);
        for (name, value) in fit.names().iter().zip(fit.params()) {
            params.set_item(name, value)?;
        }
        Ok(Some(params))
    }

    /// The lower and the upper end of the interval of a level: infinite where nothing limits it, NaN where refits failed.
    #[pyo3(signature = (level=0.95))]
    fn interval(&self, level: f64) -> PyResult<(f64, f64)> {
        let interval = self.profile.interval(level).map_err(raised)?;
        Ok((interval.lower, interval.upper))
    }
}
