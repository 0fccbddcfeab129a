//! The result of a fit.

use crate::agreement::agree;
use crate::arrays::{Samples, columns, slice, to_numpy};
use crate::failure::{in_python, raised};
use crate::model::Model;
use crate::native::Calls;
use crate::points::Points;
use dualfit::Warning;
use dualfit::result::{Band, NewPoint, Side};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Result of a fit: parameters, standard errors, termination.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct Fit {
    pub(crate) fit: dualfit::Fit,
    pub(crate) calls: Option<Arc<Calls>>,
}

impl Fit {
    /// Returns the outcome, or the exception that the model raised in Python.
    fn outcome<T>(&self, outcome: dualfit::Result<T>) -> PyResult<T> {
        let outcome = outcome.map_err(raised);
        match &self.calls {
            Some(calls) => calls.checked(outcome),
            None => outcome,
        }
    }

    /// Converts a band to a dictionary of arrays.
    fn band<'py>(py: Python<'py>, band: Band) -> PyResult<Bound<'py, PyDict>> {
        let arrays = [
            ("center", band.center),
            ("std_errors", band.std_errors),
            ("lower", band.lower),
            ("upper", band.upper),
        ];
        let dict = PyDict::new(py);
        for (name, values) in arrays {
            dict.set_item(name, PyArray1::from_vec(py, values))?;
        }
        Ok(dict)
    }
}

/// Standard deviations of new observations.
#[derive(FromPyObject)]
enum GivenNewPoint<'py> {
    Each(PyReadonlyArray1<'py, f64>),
    Constant(f64),
}

#[pymethods]
impl Fit {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.fit.names().to_vec()
    }

    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.fit.params())
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.fit.start())
    }

    #[getter]
    fn std_errors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.fit.std_errors())
    }

    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        to_numpy(py, self.fit.covariance())
    }

    #[getter]
    fn correlation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        to_numpy(py, &self.fit.correlation())
    }

    #[getter]
    fn rank(&self) -> usize {
        self.fit.rank()
    }

    #[getter]
    fn undetermined(&self) -> Vec<String> {
        self.fit.undetermined().into_iter().map(str::to_owned).collect()
    }

    /// Parameters on a bound, with the side.
    #[getter]
    fn at_bound(&self) -> Vec<(String, &'static str)> {
        let side = |side| if side == Side::Lower { "lower" } else { "upper" };
        self.fit.at_bound().into_iter().map(|(name, at)| (name.to_owned(), side(at))).collect()
    }

    #[getter]
    fn converged(&self) -> bool {
        self.fit.converged()
    }

    /// Name of the termination: `Cost`, `Step`, `MaxEvaluations`, …
    #[getter]
    fn termination(&self) -> String {
        format!("{:?}", self.fit.termination())
    }

    /// Description of the termination.
    #[getter]
    fn message(&self) -> String {
        in_python(&self.fit.termination().to_string())
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        // The column of a native model has the same value at every point, therefore this warning does not apply.
        let is_native = self.fit.stats().operations.is_none();
        let says = |w: &&Warning| !(is_native && matches!(w, Warning::FewDistinctPoints { .. }));
        self.fit.warnings().iter().filter(says).map(|w| in_python(&w.to_string())).collect()
    }

    #[getter]
    fn evaluations(&self) -> usize {
        self.fit.evaluations()
    }

    /// Result of the search for the start; `None` if no search was made.
    #[getter]
    fn start_search<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(search) = self.fit.start_search() else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("screened", search.screened)?;
        dict.set_item("fits", search.fits)?;
        dict.set_item("reached", search.reached)?;
        dict.set_item("next_cost_ratio", search.next_cost_ratio)?;
        dict.set_item("points", search.points)?;
        dict.set_item("settled", search.settled)?;
        dict.set_item("stopped", search.stopped)?;
        Ok(Some(dict))
    }

    /// Statistics of the computation (backend, evaluations, times), by name.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.fit.stats();
        let dict = PyDict::new(py);
        dict.set_item("processor", stats.processor.to_string())?;
        dict.set_item("instruction_set", &stats.instruction_set)?;
        dict.set_item("device", &stats.device)?;
        dict.set_item("reason", in_python(&stats.reason))?;
        dict.set_item("threads", stats.threads)?;
        dict.set_item("evaluations", stats.evaluations)?;
        dict.set_item("passes", stats.passes)?;
        dict.set_item("iterations", stats.iterations)?;
        dict.set_item("retried", stats.retried)?;
        dict.set_item("operations", stats.operations)?;
        dict.set_item("prepare_seconds", stats.prepare_seconds)?;
        dict.set_item("validate_seconds", stats.validate_seconds)?;
        dict.set_item("start_seconds", stats.start_seconds)?;
        dict.set_item("subsample_points", stats.subsample_points)?;
        dict.set_item("start_search", self.start_search(py)?)?;
        dict.set_item("solve_seconds", stats.solve_seconds)?;
        dict.set_item("covariance_seconds", stats.covariance_seconds)?;
        Ok(dict)
    }

    /// The statistics of the fit, by name.
    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fit = &self.fit;
        let dict = PyDict::new(py);
        dict.set_item("points", fit.points())?;
        dict.set_item("effective_points", fit.effective_points())?;
        dict.set_item("omitted", fit.omitted())?;
        dict.set_item("estimated", fit.estimated())?;
        dict.set_item("degrees_of_freedom", fit.degrees_of_freedom())?;
        dict.set_item("cost", fit.cost())?;
        dict.set_item("chi_square", fit.chi_square())?;
        dict.set_item("reduced_chi_square", fit.reduced_chi_square())?;
        dict.set_item("chi_square_p_value", fit.chi_square_p_value())?;
        dict.set_item("r_squared", fit.r_squared())?;
        dict.set_item("adjusted_r_squared", fit.adjusted_r_squared())?;
        dict.set_item("rmse", fit.rmse())?;
        dict.set_item("aic", fit.aic())?;
        dict.set_item("bic", fit.bic())?;
        Ok(dict)
    }

    /// Returns one (lower, upper) per parameter.
    fn confidence_intervals(&self, level: f64) -> PyResult<Vec<(f64, f64)>> {
        self.fit.confidence_intervals(level).map_err(raised)
    }

    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Vec<Samples<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.outcome(self.fit.predict(columns(&x)?))?))
    }

    /// Returns true if the `values` of a function agree with the fitted curve.
    fn agrees(&self, x: Vec<Samples<'_>>, values: PyReadonlyArray1<'_, f64>) -> PyResult<bool> {
        Ok(agree(slice(&values)?, &self.outcome(self.fit.predict(columns(&x)?))?))
    }

    /// Returns the fit with the program of another model with the same parameters.
    fn replace_model(&self, model: &Model) -> PyResult<Fit> {
        let fit = self.fit.replace_model(&model.curve).map_err(raised)?;
        Ok(Fit { fit, calls: model.calls.clone() })
    }

    fn confidence_band<'py>(
        &self,
        py: Python<'py>,
        x: Vec<Samples<'py>>,
        level: f64,
        simultaneous: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let x = columns(&x)?;
        Fit::band(
            py,
            self.outcome(match simultaneous {
                true => self.fit.simultaneous_band(x, level),
                false => self.fit.confidence_band(x, level),
            })?,
        )
    }

    /// True if each point had its own standard deviation, known up to a common factor.
    #[getter]
    fn has_relative_sigma(&self) -> bool {
        self.fit.has_relative_sigma()
    }

    /// Computes the band of new observations. `relative`: sigma is known up to a factor, which the scatter determines.
    #[pyo3(signature = (x, level, sigma=None, relative=false))]
    fn prediction_band<'py>(
        &self,
        py: Python<'py>,
        x: Vec<Samples<'py>>,
        level: f64,
        sigma: Option<GivenNewPoint<'py>>,
        relative: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let new = match &sigma {
            None => NewPoint::Fitted,
            Some(GivenNewPoint::Each(each)) if relative => NewPoint::Relative(slice(each)?),
            Some(GivenNewPoint::Constant(value)) => NewPoint::Constant(*value),
            Some(GivenNewPoint::Each(each)) => NewPoint::Each(slice(each)?),
        };
        Fit::band(py, self.outcome(self.fit.prediction_band(columns(&x)?, level, new))?)
    }

    /// Returns the terms of a sum of library models: (name, values, standard errors).
    #[allow(clippy::type_complexity)]
    fn components<'py>(
        &self,
        py: Python<'py>,
        x: Vec<Samples<'py>>,
    ) -> PyResult<Vec<(String, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)>> {
        let parts = self.fit.components(columns(&x)?).map_err(raised)?;
        let array = |values| PyArray1::from_vec(py, values);
        Ok(parts.into_iter().map(|c| (c.name, array(c.values), array(c.std_errors))).collect())
    }

    /// Computes diagnostics of the residuals, by name.
    fn diagnostics<'py>(
        &self,
        py: Python<'py>,
        points: Points<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let found = points.with_data(|data| self.outcome(self.fit.diagnostics(data)))?;
        let arrays = [
            ("residuals", found.residuals),
            ("standardized", found.standardized),
            ("studentized", found.studentized),
            ("leverage", found.leverage),
            ("cooks_distance", found.cooks_distance),
        ];
        let dict = PyDict::new(py);
        for (name, values) in arrays {
            dict.set_item(name, PyArray1::from_vec(py, values))?;
        }
        dict.set_item("runs_p_value", found.runs.p_value)?;
        dict.set_item("durbin_watson", found.durbin_watson)?;
        dict.set_item("robust_scale", found.robust_scale)?;
        dict.set_item("skewness", found.skewness)?;
        dict.set_item("excess_kurtosis", found.excess_kurtosis)?;
        Ok(dict)
    }

    /// Returns the value and the standard error of the parameter or the derived quantity called `name`.
    fn quantity(&self, name: &str) -> Option<(f64, f64)> {
        self.fit.quantity(name).map(|found| (found.value, found.std_error))
    }

    /// Returns the value and the standard error of a formula of parameters and derived quantities.
    fn propagate(&self, formula: &str) -> PyResult<(f64, f64)> {
        let found = self.fit.propagate(formula).map_err(raised)?;
        Ok((found.value, found.std_error))
    }

    /// The derived quantities: (name, value, standard error).
    #[getter]
    fn derived(&self) -> Vec<(String, f64, f64)> {
        self.fit.derived().iter().map(|d| (d.name.clone(), d.value, d.std_error)).collect()
    }

    /// Returns the table of parameters as HTML.
    fn html(&self) -> String {
        self.fit.table().html()
    }

    fn latex_table(&self) -> String {
        self.fit.latex_table()
    }

    fn to_json(&self) -> PyResult<String> {
        self.fit.to_json().map_err(raised)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Fit> {
        Ok(Fit { fit: dualfit::Fit::from_json(text).map_err(raised)?, calls: None })
    }

    fn __str__(&self) -> String {
        in_python(&self.fit.to_string())
    }
}
