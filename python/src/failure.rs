//! Exceptions for what is wrong with a request.

use dualfit::Error;
use dualfit::error::SourceError;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::{PyErr, PyResult};
use std::sync::{Arc, Mutex, PoisonError};

create_exception!(
    dualfit,
    FitError,
    PyValueError,
    "What makes a request senseless; the message names the place, the number and the remedy."
);
create_exception!(
    dualfit,
    CudaError,
    FitError,
    "A CUDA device was asked for, and cannot be used; the message says why."
);

/// The exception for an error of the crate.
pub(crate) fn raised(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::CudaUnavailable { .. } => CudaError::new_err(message),
        _ => FitError::new_err(message),
    }
}

/// The exception for a file that cannot be read.
pub(crate) fn unreadable(error: SourceError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// The first exception that Python raised inside a fit, which then ends; it comes through instead of what the fit says of it.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps an exception if it is the first, and returns its text.
    pub(crate) fn keep(&self, error: PyErr) -> String {
        let text = error.to_string();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        text
    }

    /// # Errors
    /// The exception that was kept, which is forgotten, or the outcome's own.
    pub(crate) fn checked<T>(&self, outcome: PyResult<T>) -> PyResult<T> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => outcome,
        }
    }
}
