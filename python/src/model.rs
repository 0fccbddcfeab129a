//! Models and their fits. A model is recorded in Python, is a Python function, or comes from text or the library.

use crate::agreement::agree;
use crate::arrays::{Samples, columns, slice};
use crate::failure::{raised, raised_at};
use crate::fit::Fit;
use crate::native::{self, Calls};
use crate::points::Points;
use crate::profile::Profile;
use crate::settings::{Begin, Settings, start};
use crate::tape::{Node, replay};
use crate::watch::{Thread, watched};
use dualfit::program::Program;
use dualfit::{CurveFit, Var};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

/// A model that is ready for fits. A recorded model can be used by several threads at the same time.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct Model {
    pub(crate) curve: CurveFit,
    pub(crate) calls: Option<Arc<Calls>>,
    /// The program, created at its first use.
    program: OnceLock<Program>,
}

impl Model {
    /// Prepares a model for fits.
    pub(crate) fn ready(curve: CurveFit) -> PyResult<Model> {
        curve.prepare().map_err(raised)?;
        Ok(Model { curve, calls: None, program: OnceLock::new() })
    }

    fn program(&self) -> dualfit::Result<&Program> {
        let made = match self.program.get() {
            Some(program) => return Ok(program),
            None => self.curve.program()?,
        };
        Ok(self.program.get_or_init(|| made))
    }

    /// Evaluates the model at the points of the columns.
    fn values(&self, columns: &[Samples<'_>], params: &[f64]) -> PyResult<Vec<f64>> {
        let program = self.program().map_err(raised)?;
        let columns = self::columns(columns)?;
        if columns.len() != program.columns().len() || params.len() != program.params().len() {
            return Err(PyValueError::new_err(format!(
                "the program has {} columns and {} parameters, not {} and {}",
                program.columns().len(),
                program.params().len(),
                columns.len(),
                params.len()
            )));
        }
        let wide: Vec<Vec<f64>> = columns.iter().map(|column| column.to_f64()).collect();
        let points = wide.iter().map(Vec::len).min().unwrap_or(1);
        let at = |i: usize| wide.iter().map(|column| column[i]).collect::<Vec<f64>>();
        Ok((0..points).map(|i| program.evaluate(&at(i), params)).collect())
    }

    /// Returns the model with the settings applied.
    pub(crate) fn told(&self, settings: &Settings) -> PyResult<CurveFit> {
        settings.applied(self.curve.clone())
    }
}

#[pymethods]
impl Model {
    /// Creates a model from recorded operations: name, indices of operands, number. The last operation is the value of
    /// the model.
    #[staticmethod]
    #[pyo3(signature = (columns, params, nodes, names=None))]
    fn traced(
        columns: usize,
        params: usize,
        nodes: Vec<Node>,
        names: Option<Vec<String>>,
    ) -> PyResult<Model> {
        let unknown = Cell::new(false);
        let mut curve = CurveFit::dynamic_multivariate(columns, params, |x, p| {
            replay(&nodes, x, p).unwrap_or_else(|| {
                unknown.set(true);
                Var::from(f64::NAN)
            })
        });
        if unknown.get() {
            return Err(PyValueError::new_err("an operation of the recording is not known"));
        }
        if let Some(names) = names {
            curve = curve.names(names);
        }
        Model::ready(curve)
    }

    /// Creates a model from a Python function of all points. `value(key, p)` returns one value per point, and
    /// `jacobian(key, p)` one row per point. The only column of the data contains the same number `key` at every point;
    /// Python finds x by this key. The model supports one fit at a time.
    #[staticmethod]
    #[pyo3(signature = (params, value, jacobian=None, names=None))]
    fn native(
        params: usize,
        value: Py<PyAny>,
        jacobian: Option<Py<PyAny>>,
        names: Option<Vec<String>>,
    ) -> Model {
        let (mut curve, calls) = native::curve(params, value, jacobian);
        if let Some(names) = names {
            curve = curve.names(names);
        }
        Model { curve, calls: Some(calls), program: OnceLock::new() }
    }

    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.curve.parameters().to_vec()
    }

    /// Evaluates a recorded model at the points of the columns.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Samples<'py>>,
        params: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.values(&columns, &params)?))
    }

    /// Returns true if `values`, computed by the Python function, agree with the values of
    /// [`evaluate`](Self::evaluate).
    fn agrees(
        &self,
        columns: Vec<Samples<'_>>,
        params: Vec<f64>,
        values: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<bool> {
        Ok(agree(slice(&values)?, &self.values(&columns, &params)?))
    }

    fn latex(&self) -> PyResult<String> {
        self.curve.latex().map_err(raised)
    }

    /// Fits the model to points. `at`: function that an error message needs for the values of x; see [`raised_at`].
    #[pyo3(signature = (points, begin, settings, at=None))]
    fn fit(
        &self,
        py: Python<'_>,
        points: Points<'_>,
        begin: Option<Begin<'_>>,
        settings: Settings,
        at: Option<Py<PyAny>>,
    ) -> PyResult<Fit> {
        let (curve, begin) = (self.told(&settings)?, start(begin.as_ref())?);
        let fit = points.with_data(|data| {
            let (n, calls) = (data.len(), self.calls.as_deref());
            watched(py, curve, Thread::of_fit(n, calls), calls, settings.callback, move |curve| {
                Ok(curve.fit(data, begin))
            })
        })?;
        let fit = fit.map_err(|error| raised_at(py, error, at.as_ref()))?;
        Ok(Fit { fit, calls: self.calls.clone() })
    }

    /// Computes the profile of a parameter by refits with this parameter fixed.
    fn profile(
        &self,
        py: Python<'_>,
        fit: &Fit,
        points: Points<'_>,
        settings: Settings,
        name: &str,
        level: f64,
    ) -> PyResult<Profile> {
        let curve = self.told(&settings)?;
        let profile = points.with_data(|data| {
            let (n, calls) = (data.len(), self.calls.as_deref());
            watched(py, curve, Thread::of_fit(n, calls), calls, settings.callback, move |curve| {
                curve.profile_to(&fit.fit, data, name, level)
            })
        })?;
        Ok(Profile { profile })
    }

    fn __repr__(&self) -> String {
        self.program().map_or_else(|error| error.to_string(), |program| program.to_string())
    }
}
