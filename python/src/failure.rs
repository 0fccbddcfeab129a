//! Exceptions for invalid requests.

use dualfit::Error;
use dualfit::error::{GlobalError, Named, NamedValues, SourceError};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::{Py, PyAny, PyErr, PyResult, Python};
use std::io;
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

create_exception!(
    dualfit,
    PartialError,
    FitError,
    "The model has a value at the start and a partial has none, as that of (k/x)**n by n at x = 0."
);

/// Terms of the crate's messages and the corresponding terms of Python, in the order of replacement: a term precedes
/// shorter terms with which it begins.
const WORDS: &[(&str, &str)] = &[
    (", or a function that finds one, by CurveFit::guess", ""),
    (
        "give it back by Fit::with_model, or fit a traced model to save it whole",
        "fit a function that can be recorded to save it whole",
    ),
    (
        "give Sigma::Absolute or Sigma::Relative, or make the fits one by one with Data",
        "give one value per point as sigma, or make the fits one by one with dualfit.fit",
    ),
    (
        "CurveFit::search(SearchOptions::default().when(SearchWhen::Rejected))",
        "search=\"rejected\"",
    ),
    ("allow_underdetermined(true)", "allow_underdetermined=True"),
    ("clamp_start(true)", "clamp_start=True"),
    ("Missing::Omit", "nan_policy=\"omit\""),
    ("Estimator::LeastSquares", "poisson=False"),
    ("Estimator::Poisson", "poisson=True"),
    ("the values with Sigma::Relative or Sigma::Absolute", "one value per point as sigma"),
    (
        "a fit with priors takes no Sigma::Unknown or Relative; a prior is weighed against the points: say their errors with Sigma::Constant or Sigma::Absolute",
        "priors need sigma in the units of y: give sigma and absolute_sigma=True",
    ),
    (
        "a fit with errors in x takes no Sigma::Unknown; errors of x are weighed against those of y: say what these are",
        "x_sigma needs sigma: errors of x are weighed against those of y; give the standard deviations of y",
    ),
    ("use Sigma::Constant or Sigma::Unknown", "give one number as sigma, or no sigma"),
    ("Sigma::AbsoluteColumn", "absolute_sigma=True"),
    ("Sigma::RelativeColumn", "absolute_sigma=False"),
    ("Sigma::Absolute", "absolute_sigma=True"),
    ("Sigma::Constant", "one number as sigma"),
    ("models::names()", "models.names()"),
    (
        "correct the name, or call `names` before bounds, ties and other parameter settings",
        "correct the name",
    ),
    ("correct the name in the start", "correct the name in p0"),
    ("but the start has", "but p0 has"),
    ("has a value in the start; leave that out", "has a value in p0 or fixed; leave it out"),
    ("fixed; free it, or leave the tie out", "fixed; leave it out of fixed or of ties"),
    ("free it, and fit again", "leave it out of fixed and ties, and fit again"),
    ("give absolute sigmas", "give sigma and absolute_sigma=True"),
    ("option `loss scale`", "option `loss_scale`"),
    ("`starts` has", "`p0` has"),
    ("make it with profile_to", "ask for the profile to that level"),
    ("fit again from its parameters", "fit again with p0=profile.better"),
    ("no Sigma::RelativeCovariance", "no covariance matrix as sigma"),
    ("no Sigma::Covariance", "no covariance matrix as sigma"),
    ("Sigma::Relative", "absolute_sigma=False"),
    ("add the parameter by CurveFit::parameter", "add it, as in parameters=[\"d\"]"),
    (
        "give those of the new ones, in the units of y: NewPoint::Each or NewPoint::Constant",
        "give those of the new ones as sigma, in the units of y",
    ),
    (
        "give those of the new ones: NewPoint::Relative, in the same measure",
        "give those of the new ones as sigma, in the same measure",
    ),
    ("without absolute sigma", "without sigma and absolute_sigma=True"),
    ("NewPoint::Constant or NewPoint::Each", "sigma"),
    ("NewPoint::Each or NewPoint::Constant", "sigma"),
    ("NewPoint::Each", "sigma"),
    ("NewPoint::Relative", "sigma"),
    (
        "or exclude them with GlobalFit::leave_out_bad_sets(true)",
        "or exclude them with leave_out_bad_sets=True",
    ),
    (
        "or exclude the set with GlobalFit::leave_out_bad_sets(true)",
        "or exclude the set with leave_out_bad_sets=True",
    ),
    ("correct the name in GlobalFit::share", "correct the name in shared"),
    (
        "correct the name in GlobalFit::bound or GlobalFit::fix",
        "correct the name in bounds or fixed",
    ),
    ("Resample::Parametric", "resample=\"parametric\""),
    ("Resample::Pairs", "resample=\"pairs\""),
    ("Sampling::Sobol", "sampling=\"sobol\""),
    ("Sampling::LatinHypercube", "sampling=\"latin_hypercube\""),
    (
        "which is the leader's: say it to Parts::checkpoint",
        "which is the leader's: give it to fit_parts",
    ),
    ("Backend::Cpu", "backend=\"cpu\""),
    ("Backend::Auto", "backend=\"auto\""),
    ("Devices::All", "backend=\"cuda\""),
];

/// Translates a message of the crate into the terms of Python.
pub(crate) fn in_python(message: &str) -> String {
    let message =
        WORDS.iter().fold(message.to_owned(), |text, (rust, python)| text.replace(rust, python));
    // Removes empty parentheses: the text of x is empty if the caller passed no columns.
    let message = message.replace(" ()", "");
    // A start by name: `[("a", 1.0), ("b", 1.0)]`.
    let Some((before, pairs, after)) = message.split_once("[(\"").and_then(|(before, rest)| {
        let (pairs, after) = rest.split_once(")]")?;
        Some((before, pairs, after))
    }) else {
        return message;
    };
    let pairs = pairs.replace("), (", ", ").replace("\", ", "\": ");
    format!("{before}{{\"{pairs}}}{after}")
}

/// Returns the exception for an error of the crate.
pub(crate) fn raised(mut error: Error) -> PyErr {
    if let Error::NonFinite { remedies, .. } = of_first_set(&mut error) {
        remedies.infinite_x = false;
    }
    let message = in_python(&error.to_string());
    match of_first_set(&mut error) {
        Error::CudaUnavailable { .. } => CudaError::new_err(message),
        Error::PartialNonFiniteAtStart { .. } => PartialError::new_err(message),
        _ => FitError::new_err(message),
    }
}

/// Returns the error of the first set of a joint fit, or another error unchanged.
fn of_first_set(error: &mut Error) -> &mut Error {
    match error {
        Error::Global(GlobalError::InSet { error, .. } | GlobalError::BadSets { error, .. }) => {
            of_first_set(error)
        }
        error => error,
    }
}

/// Returns the exception for an error of the crate at a point. `at`: function from the index of a point to names and
/// values of the caller's independent variables. They differ from the columns of a recorded function.
pub(crate) fn raised_at(py: Python<'_>, mut error: Error, at: Option<&Py<PyAny>>) -> PyErr {
    let Some(at) = at else { return raised(error) };
    match locate(&mut error, |index| at.call1(py, (index,))?.extract(py)) {
        Ok(()) => raised(error),
        Err(failed) => failed,
    }
}

/// Returns the exception for an error of a joint fit, like [`raised_at`]. `at`: function from the indices of a set and
/// of its point; it returns `None` if the crate knows the variables.
pub(crate) fn raised_in_sets(py: Python<'_>, mut error: Error, at: &Py<PyAny>) -> PyErr {
    let located = match &mut error {
        Error::Global(GlobalError::InSet { set, error }) => {
            locate(error, |index| at.call1(py, (*set - 1, index))?.extract(py))
        }
        Error::Global(GlobalError::BadSets { bad, error, .. }) => {
            locate(error, |index| at.call1(py, (bad[0] - 1, index))?.extract(py))
        }
        Error::ModelNonFiniteAtStart { point, .. }
        | Error::PartialNonFiniteAtStart { point, .. }
        | Error::ModelNotPositiveAtStart { point, .. } => {
            // The first variable of the joint model is the number of the set, from 1.
            let set = point.0.first().cloned();
            locate(&mut error, |index| match &set {
                Some(set) => {
                    let known = at.call1(py, (set.value as usize - 1, index))?;
                    let known: Option<Vec<(String, f64)>> = known.extract(py)?;
                    Ok(known.map(|known| [vec![(set.name.clone(), set.value)], known].concat()))
                }
                None => Ok(None),
            })
        }
        _ => Ok(()),
    };
    located.err().unwrap_or_else(|| raised(error))
}

/// Replaces the point of an error by names and values of the caller's independent variables, if `at` knows them.
fn locate(
    error: &mut Error,
    at: impl FnOnce(usize) -> PyResult<Option<Vec<(String, f64)>>>,
) -> PyResult<()> {
    match error {
        Error::ModelNonFiniteAtStart { index, point, .. }
        | Error::PartialNonFiniteAtStart { index, point, .. }
        | Error::ModelNotPositiveAtStart { index, point, .. } => {
            if let Some(known) = at(*index)? {
                let named = known.into_iter().map(|(name, value)| Named { name, value });
                *point = NamedValues(named.collect());
            }
        }
        Error::NonFinite { what, index, value, .. }
            if what == "x" || what.starts_with("x column") =>
        {
            let known = at(*index)?.unwrap_or_default();
            if let Some((name, bad)) = known.into_iter().find(|(_, value)| !value.is_finite()) {
                (*what, *value) = (name, bad);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns the exception for a file that cannot be read.
pub(crate) fn unreadable(error: SourceError) -> PyErr {
    PyOSError::new_err(in_python(&error.to_string()))
}

/// Returns the exception for bytes that are not a request or reply, and for replies that do not belong together.
pub(crate) fn misfit(error: io::Error) -> PyErr {
    FitError::new_err(error.to_string())
}

/// The first Python exception that was raised inside a fit. It ends the fit and replaces the error of the fit.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Stores an exception if it is the first one, and returns its text.
    pub(crate) fn keep(&self, error: PyErr) -> String {
        let text = error.to_string();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        text
    }

    /// Returns `outcome`, unless an exception was stored.
    ///
    /// # Errors
    /// Returns the stored exception, which is then removed, or the error of `outcome`.
    pub(crate) fn checked<T>(&self, outcome: PyResult<T>) -> PyResult<T> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => outcome,
        }
    }
}
