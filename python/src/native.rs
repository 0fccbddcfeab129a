//! Native models: a Python function of all points at once, for models that cannot be recorded.

use crate::failure::Raised;
use dualfit::{CancelToken, CurveFit};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The function, its partials, and their first exception. Only one fit at a time uses them; therefore an exception
/// belongs to the current fit.
pub(crate) struct Calls {
    value: Py<PyAny>,
    jacobian: Option<Py<PyAny>>,
    raised: Raised,
    /// Cancels the fit in progress, for example after an exception.
    token: Mutex<CancelToken>,
}

impl Calls {
    /// Sets the token of a new fit.
    pub(crate) fn begin(&self, token: CancelToken) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    fn token(&self) -> CancelToken {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores the first exception, and cancels the fit.
    fn raise(&self, error: PyErr) {
        self.raised.keep(error);
        self.token().cancel();
    }

    /// Returns `outcome`, unless an exception ended the fit.
    ///
    /// # Errors
    /// Returns the exception that ended the fit, or the error of `outcome`.
    pub(crate) fn checked<T>(&self, outcome: PyResult<T>) -> PyResult<T> {
        // Resets the token: later calls, for example for a band of the fit, are not cancelled.
        self.begin(CancelToken::new());
        self.raised.checked(outcome)
    }

    /// Calls `work`, unless an exception has ended the fit. Returns true if there is a result.
    fn call(&self, work: impl FnOnce(Python<'_>) -> PyResult<()>) -> bool {
        if self.token().is_cancelled() {
            return false;
        }
        let called = Python::attach(|py| py.check_signals().and_then(|()| work(py)));
        called.map_err(|error| self.raise(error)).is_ok()
    }

    fn values(&self, key: f64, p: &[f64], out: &mut [f64]) {
        let called = self.call(|py| {
            let made = self.value.call1(py, (key as usize, PyArray1::from_slice(py, p)))?;
            let made: PyReadonlyArray1<'_, f64> = made.extract(py)?;
            let made = made.as_slice()?;
            if made.len() != out.len() {
                return Err(PyValueError::new_err(format!(
                    "the model gave {} values for {} points",
                    made.len(),
                    out.len()
                )));
            }
            out.copy_from_slice(made);
            Ok(())
        });
        if !called {
            out.fill(f64::NAN);
        }
    }

    fn partials(&self, function: &Py<PyAny>, key: f64, p: &[f64], out: &mut [&mut [f64]]) {
        let points = out.first().map_or(0, |column| column.len());
        let called = self.call(|py| {
            let made = function.call1(py, (key as usize, PyArray1::from_slice(py, p)))?;
            let made: PyReadonlyArray2<'_, f64> = made.extract(py)?;
            let made = made.as_array();
            if made.dim() != (points, out.len()) {
                return Err(PyValueError::new_err(format!(
                    "jac gave an array of shape {:?}, not (points, parameters) = ({points}, {})",
                    made.dim(),
                    out.len()
                )));
            }
            for (k, column) in out.iter_mut().enumerate() {
                column.iter_mut().zip(made.column(k)).for_each(|(to, from)| *to = *from);
            }
            Ok(())
        });
        if !called {
            out.iter_mut().for_each(|column| column.fill(f64::NAN));
        }
    }
}

/// Creates a model with `params` parameters. Its only column has the same value at every point: the key under which
/// Python finds x. `value(key, p)` returns one value per point, `jacobian(key, p)` one row per point.
pub(crate) fn curve(
    params: usize,
    value: Py<PyAny>,
    jacobian: Option<Py<PyAny>>,
) -> (CurveFit, Arc<Calls>) {
    let calls =
        Arc::new(Calls { value, jacobian, raised: Raised::default(), token: Mutex::default() });
    let asked = calls.clone();
    let key = |column: &[f64]| column.first().copied().unwrap_or(0.0);
    let mut curve = CurveFit::native_arrays(params, move |x, p, out| asked.values(key(x), p, out))
        .calls_in_turn();
    if calls.jacobian.is_some() {
        let asked = calls.clone();
        curve = curve.jacobian_arrays(move |x, p, out| {
            if let (Some(function), Some(x)) = (&asked.jacobian, x.first()) {
                asked.partials(function, key(x), p, out);
            }
        });
    }
    (curve, calls)
}
