//! Fits from many starts, drawn evenly or by differential evolution.

use crate::failure::{in_python, raised_at};
use crate::fit::Fit;
use crate::model::Model;
use crate::points::Points;
use crate::settings::{Begin, Settings, start};
use crate::watch::{Thread, watched};
use dualfit::{CurveFit, Data, DifferentialEvolution, MultiStart, Optima, Result, Sampling, Start};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::RangeInclusive;

/// Ranges of drawn starts: name, lower and upper end, and whether values are drawn evenly in the logarithm.
type Ranges = Vec<(String, f64, f64, bool)>;

/// Options of [`multi_start`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Drawn {
    starts: usize,
    seed: u64,
    /// `sobol` or `latin_hypercube`.
    sampling: String,
    ranges: Ranges,
    /// Further starts, one value per parameter each.
    given: Vec<Vec<f64>>,
}

/// Options of [`differential_evolution`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Evolution {
    populations: usize,
    members: usize,
    generations: usize,
    tolerance: f64,
    seed: u64,
    ranges: Ranges,
}

/// The best fit, and a dictionary with the starts and the optima.
type Found<'py> = (Fit, Bound<'py, PyDict>);

/// Fits a model from many starts.
#[pyfunction]
#[pyo3(signature = (model, points, begin, settings, at, drawn))]
pub(crate) fn multi_start<'py>(
    py: Python<'py>,
    model: PyRef<'py, Model>,
    points: Points<'py>,
    begin: Option<Begin<'py>>,
    settings: Settings,
    at: Option<Py<PyAny>>,
    drawn: Drawn,
) -> PyResult<Found<'py>> {
    let sampling = match drawn.sampling.as_str() {
        "sobol" => Sampling::Sobol,
        "latin_hypercube" => Sampling::LatinHypercube,
        other => {
            return Err(PyValueError::new_err(format!(
                "sampling is {other:?}; there are \"sobol\" and \"latin_hypercube\""
            )));
        }
    };
    let starts = MultiStart::new(drawn.starts).seed(drawn.seed).sampling(sampling);
    let starts = in_ranges(starts, &drawn.ranges, [MultiStart::range, MultiStart::log_range]);
    let starts = drawn.given.iter().fold(starts, MultiStart::also_from);
    searched(py, &model, &points, (begin, settings, at), |curve, data, start| {
        curve.multi_start(data, start, &starts)
    })
}

/// Searches by differential evolution and fits the best members.
#[pyfunction]
#[pyo3(signature = (model, points, begin, settings, at, evolution))]
pub(crate) fn differential_evolution<'py>(
    py: Python<'py>,
    model: PyRef<'py, Model>,
    points: Points<'py>,
    begin: Option<Begin<'py>>,
    settings: Settings,
    at: Option<Py<PyAny>>,
    evolution: Evolution,
) -> PyResult<Found<'py>> {
    let search = DifferentialEvolution::new()
        .populations(evolution.populations)
        .members_per_parameter(evolution.members)
        .generations(evolution.generations)
        .tolerance(evolution.tolerance)
        .seed(evolution.seed);
    let kinds = [DifferentialEvolution::range, DifferentialEvolution::log_range];
    let search = in_ranges(search, &evolution.ranges, kinds);
    searched(py, &model, &points, (begin, settings, at), |curve, data, start| {
        curve.differential_evolution(data, start, &search)
    })
}

/// Method that sets a range of a search.
type SetRange<S> = fn(S, &str, RangeInclusive<f64>) -> S;

/// Returns a search with these ranges, set by the methods for even and for logarithmic ranges.
fn in_ranges<S>(
    search: S,
    ranges: &[(String, f64, f64, bool)],
    [even, logarithmic]: [SetRange<S>; 2],
) -> S {
    ranges.iter().fold(search, |search, (name, lower, upper, is_logarithmic)| {
        let set = if *is_logarithmic { logarithmic } else { even };
        set(search, name, *lower..=*upper)
    })
}

/// Runs a search, and returns its best fit and its optima. The last item of `request` is the function that an error
/// message needs for the values of x; see [`raised_at`].
fn searched<'py>(
    py: Python<'py>,
    model: &Model,
    points: &Points<'py>,
    (begin, settings, at): (Option<Begin<'py>>, Settings, Option<Py<PyAny>>),
    search: impl FnOnce(CurveFit, Data<'_>, Start) -> Result<Optima> + Send,
) -> PyResult<Found<'py>> {
    let (curve, begin) = (model.told(&settings)?, start(begin.as_ref())?);
    let found = points.with_data(|data| {
        let calls = model.calls.as_deref();
        watched(py, curve, Thread::Own, calls, settings.callback, move |curve| {
            Ok(search(curve, data, begin))
        })
    })?;
    let optima = found.map_err(|error| raised_at(py, error, at.as_ref()))?;
    let described = described(py, &optima)?;
    Ok((Fit { fit: optima.into_best(), calls: model.calls.clone() }, described))
}

/// Converts the starts and the optima to a dictionary.
fn described<'py>(py: Python<'py>, optima: &Optima) -> PyResult<Bound<'py, PyDict>> {
    let distinct = optima.distinct().iter().map(|optimum| {
        (PyArray1::from_slice(py, optimum.params()), optimum.cost(), optimum.hits())
    });
    let dict = PyDict::new(py);
    dict.set_item("starts", optima.trials().len())?;
    dict.set_item("converged", optima.converged())?;
    dict.set_item("distinct", distinct.collect::<Vec<_>>())?;
    dict.set_item("chance_of_unseen", optima.chance_of_unseen())?;
    dict.set_item("text", in_python(&optima.to_string()))?;
    Ok(dict)
}
