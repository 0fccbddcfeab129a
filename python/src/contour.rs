//! Profile likelihood of two parameters.

use crate::arrays::rows;
use crate::fit::Fit;
use crate::model::Model;
use crate::points::Points;
use crate::settings::Settings;
use crate::watch::{Thread, watched};
use dualfit::result::ContourOptions;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Options of [`contour`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Grid {
    levels: Vec<f64>,
    points: Option<[usize; 2]>,
    ranges: [Option<(f64, f64)>; 2],
}

/// Computes the profile likelihood of the parameters `first` and `second` on a grid, and the contour lines of their
/// joint confidence regions. Returns a dictionary.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn contour<'py>(
    py: Python<'py>,
    model: PyRef<'py, Model>,
    fit: PyRef<'py, Fit>,
    points: Points<'py>,
    settings: Settings,
    first: &str,
    second: &str,
    grid: Grid,
) -> PyResult<Bound<'py, PyDict>> {
    let options = ContourOptions::default();
    let options = options.levels(grid.levels).points(grid.points).ranges(grid.ranges);
    let (curve, calls, fit) = (model.told(&settings)?, model.calls.as_deref(), &fit.fit);
    let made = points.with_data(|data| {
        watched(py, curve, Thread::Own, calls, settings.callback, |curve| {
            curve.contour(fit, data, [first, second], &options)
        })
    })?;
    let path = |path: &Vec<(f64, f64)>| {
        let points: Vec<f64> = path.iter().flat_map(|&(a, b)| [a, b]).collect();
        rows(py, &points, 2)
    };
    let mut lines = Vec::with_capacity(made.lines.len());
    for line in &made.lines {
        let paths = line.paths.iter().map(path).collect::<PyResult<Vec<_>>>()?;
        lines.push((line.level, line.excess, paths));
    }
    let better = made.better.map(|fit| {
        fit.names().iter().cloned().zip(fit.params().iter().copied()).collect::<Vec<_>>()
    });
    let dict = PyDict::new(py);
    dict.set_item("excess", rows(py, &made.excess, made.a.len())?)?;
    dict.set_item("a", PyArray1::from_vec(py, made.a))?;
    dict.set_item("b", PyArray1::from_vec(py, made.b))?;
    dict.set_item("best", made.best)?;
    dict.set_item("lines", lines)?;
    dict.set_item("better", better)?;
    Ok(dict)
}
