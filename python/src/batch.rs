//! Batches: many fits of one model.

use crate::arrays::{Samples, columns, rows, slice};
use crate::failure::{in_python, raised};
use crate::model::Model;
use crate::points::{GivenSigma, missing};
use crate::settings::{Begin, Settings, start};
use crate::watch::{Thread, watched};
use dualfit::{BatchData, Sigma, Starts};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::cell::OnceCell;

/// The data of a batch. Missing keys mean the defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Stack<'py> {
    columns: Vec<Samples<'py>>,
    /// The observations of all fits, fit after fit.
    stack: Samples<'py>,
    /// Points per fit if each fit has its own columns; `None` if all fits share the columns.
    #[pyo3(default)]
    points_per_fit: Option<usize>,
    #[pyo3(default)]
    sigma: Option<GivenSigma<'py>>,
    #[pyo3(default)]
    absolute: bool,
    #[pyo3(default)]
    mask: Option<PyReadonlyArray1<'py, bool>>,
    #[pyo3(default)]
    omit: bool,
}

/// One value and one standard error per fit.
type ValuesAndErrors<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The results of a batch; one row or one number per fit.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct BatchFit {
    batch: dualfit::BatchFit,
}

/// Fits a batch.
#[pyfunction]
#[pyo3(signature = (model, stack, begin, settings, keep_covariance))]
pub(crate) fn fit_batch(
    py: Python<'_>,
    model: PyRef<'_, Model>,
    stack: Stack<'_>,
    begin: Option<Begin<'_>>,
    settings: Settings,
    keep_covariance: bool,
) -> PyResult<BatchFit> {
    let curve = model.told(&settings)?.keep_covariance(keep_covariance);
    let x = columns(&stack.columns)?;
    let mut data = match stack.points_per_fit {
        None => BatchData::shared(x, stack.stack.values()?).map_err(raised)?,
        Some(n) => BatchData::own(x, stack.stack.values()?)
            .and_then(|data| data.points_per_fit(n))
            .map_err(raised)?,
    };
    let matrix = OnceCell::new();
    let sigma = stack.sigma.as_ref().map(|sigma| sigma.sigma(stack.absolute, &matrix));
    let sigma = sigma.transpose()?.unwrap_or(Sigma::Unknown);
    data = data.sigma(sigma).map_err(raised)?.missing(missing(stack.omit));
    if let Some(mask) = &stack.mask {
        data = data.mask(slice(mask)?).map_err(raised)?;
    }
    let starts = match &begin {
        Some(Begin::Values(values)) => Starts::from(slice(values)?),
        begin => start(begin.as_ref())?.into(),
    };
    let calls = model.calls.as_deref();
    let batch = watched(py, curve, Thread::Own, calls, settings.callback, move |curve| {
        curve.fit_batch(data, starts)
    })?;
    Ok(BatchFit { batch })
}

#[pymethods]
impl BatchFit {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch.names().to_vec()
    }

    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows(py, self.batch.params(), self.batch.n_params())
    }

    /// Returns the parameters of one fit.
    fn params_of<'py>(&self, py: Python<'py>, fit: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let n = self.batch.n_params();
        let params = self.batch.params().chunks_exact(n.max(1)).nth(fit);
        let params =
            params.ok_or_else(|| PyIndexError::new_err(format!("there is no fit {fit}")))?;
        Ok(PyArray1::from_slice(py, params))
    }

    #[getter]
    fn std_errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows(py, self.batch.std_errors(), self.batch.n_params())
    }

    /// Covariances, fits × parameters × parameters; `None` if they were not kept.
    #[getter]
    fn covariances<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<f64>>>> {
        let (fits, n) = (self.batch.n_fits(), self.batch.n_params());
        let each: Option<Vec<&[f64]>> = (0..fits).map(|fit| self.batch.covariance(fit)).collect();
        each.filter(|each| !each.is_empty())
            .map(|each| PyArray1::from_vec(py, each.concat()).reshape([fits, n, n]))
            .transpose()
    }

    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.batch.costs())
    }

    #[getter]
    fn iterations<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.batch.iterations())
    }

    /// True for each fit that found a minimum.
    #[getter]
    fn converged<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let converged = self.batch.statuses().iter().map(|status| status.converged());
        PyArray1::from_iter(py, converged)
    }

    /// True for each converged fit that the data reject.
    #[getter]
    fn rejected<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.batch.rejected())
    }

    /// Names of the derived quantities.
    #[getter]
    fn derived(&self) -> Vec<&str> {
        self.batch.derived_names().collect()
    }

    /// Returns values and standard errors of the parameter or the derived quantity called `name`, one per fit.
    fn quantity<'py>(&self, py: Python<'py>, name: &str) -> Option<ValuesAndErrors<'py>> {
        let found = self.batch.quantity(name)?.map(|found| (found.value, found.std_error));
        let (values, std_errors): (Vec<f64>, Vec<f64>) = found.unzip();
        Some((PyArray1::from_vec(py, values), PyArray1::from_vec(py, std_errors)))
    }

    /// Returns the status of a fit as a sentence.
    fn status(&self, fit: usize) -> Option<String> {
        self.batch.get(fit).map(|fit| in_python(&fit.status_text()))
    }

    /// Number of fits per status.
    #[getter]
    fn counts(&self) -> Vec<(&'static str, usize)> {
        self.batch.counts()
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.batch.seconds()
    }

    /// Backend of the fits, and the reason for this choice.
    #[getter]
    fn reason(&self) -> String {
        in_python(self.batch.reason())
    }

    fn html(&self) -> String {
        self.batch.table().html()
    }

    fn to_json(&self) -> PyResult<String> {
        self.batch.to_json().map_err(raised)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<BatchFit> {
        Ok(BatchFit { batch: dualfit::BatchFit::from_json(text).map_err(raised)? })
    }

    fn __len__(&self) -> usize {
        self.batch.n_fits()
    }

    fn __str__(&self) -> String {
        in_python(&self.batch.to_string())
    }
}
