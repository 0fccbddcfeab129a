//! Fits of points in files, and distributed fits.

use crate::chunks::ChunkSource;
use crate::failure::{Raised, misfit, raised, unreadable};
use crate::fit::Fit;
use crate::model::Model;
use crate::points::{Points, missing};
use crate::settings::{Begin, Settings, start};
use crate::watch::{Thread, watched};
use dualfit::parts::{Part, Parts, merge};
use dualfit::source::{ChainSource, Source};
use dualfit::{Sigma, Stream};
use dualfit_io::{ColumnKey, CsvOptions, CsvSource, NpySource};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;
use std::path::{Path, PathBuf};

/// Columns of a file, by name or by number from 0.
#[derive(FromPyObject)]
enum Keys {
    Numbers(Vec<usize>),
    Names(Vec<String>),
}

/// Files of points, and options for reading. Missing keys mean the defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Files {
    #[pyo3(default)]
    paths: Vec<PathBuf>,
    /// A function that begins a pass. It returns an iterator of chunks, each the columns of x, y and sigma.
    #[pyo3(default)]
    chunks: Option<Py<PyAny>>,
    /// Number of columns of x in such chunks.
    variables: usize,
    /// Columns of x, then y, then sigma if `has_sigma` is true; by default the first columns of the file.
    #[pyo3(default)]
    columns: Option<Keys>,
    #[pyo3(default)]
    has_sigma: bool,
    #[pyo3(default)]
    sigma: Option<f64>,
    #[pyo3(default)]
    absolute: bool,
    #[pyo3(default)]
    omit: bool,
    #[pyo3(default)]
    memory_limit: Option<usize>,
    #[pyo3(default)]
    chunk_points: Option<usize>,
    #[pyo3(default)]
    checkpoint: Option<PathBuf>,
}

impl Files {
    /// Returns the points as a stream. `kept` stores an exception that Python raises while it supplies points.
    fn stream(&self, py: Python<'_>, kept: &Raised) -> PyResult<Stream<'static>> {
        let sources = self.paths.iter().map(|path| self.open(path));
        let mut sources = sources.collect::<PyResult<Vec<Box<dyn Source>>>>()?;
        if let Some(chunks) = &self.chunks {
            let begin = chunks.clone_ref(py);
            sources.push(Box::new(ChunkSource::new(
                begin,
                self.variables,
                self.has_sigma,
                kept.clone(),
            )));
        }
        let stream = match (sources.pop(), sources.is_empty()) {
            (None, _) => {
                return Err(PyValueError::new_err(
                    "no files and no chunks; give at least one file",
                ));
            }
            (Some(only), true) => Stream::new(only),
            (Some(last), false) => {
                sources.push(last);
                Stream::new(ChainSource::new(sources).map_err(unreadable)?)
            }
        };
        let sigma = match (self.has_sigma, self.absolute, self.sigma) {
            (true, true, _) => Sigma::AbsoluteColumn,
            (true, false, _) => Sigma::RelativeColumn,
            (false, true, Some(value)) => Sigma::Constant(value),
            (false, ..) => Sigma::Unknown,
        };
        let mut stream = stream.sigma(sigma).map_err(raised)?.missing(missing(self.omit));
        if let Some(bytes) = self.memory_limit {
            stream = stream.memory_limit(bytes);
        }
        if let Some(points) = self.chunk_points {
            stream = stream.chunk_points(points);
        }
        if let Some(path) = &self.checkpoint {
            stream = stream.checkpoint(path);
        }
        Ok(stream)
    }

    fn open(&self, path: &Path) -> PyResult<Box<dyn Source>> {
        /// Assigns the roles of the columns to a source.
        macro_rules! roles {
            ($source:expr) => {{
                let source = $source.map_err(unreadable)?;
                match &self.columns {
                    None => Box::new(source),
                    Some(Keys::Numbers(keys)) => roles!(source, keys),
                    Some(Keys::Names(keys)) => roles!(source, keys),
                }
            }};
            ($source:ident, $keys:ident) => {{
                let (x, y, sigma) = self.parted($keys)?;
                let source = $source.x(x).and_then(|source| source.y(y)).map_err(unreadable)?;
                match sigma {
                    Some(sigma) => Box::new(source.sigma(sigma).map_err(unreadable)?),
                    None => Box::new(source),
                }
            }};
        }
        let kind =
            path.extension().and_then(|kind| kind.to_str()).unwrap_or("").to_ascii_lowercase();
        Ok(match kind.as_str() {
            "npy" => roles!(NpySource::open(path)),
            "csv" | "tsv" | "txt" | "dat" => {
                roles!(CsvSource::open_with(path, CsvOptions::detected()))
            }
            _ => {
                return Err(PyValueError::new_err(format!(
                    "{} is no file that can be read as a stream; there are .csv, .tsv, .txt, .dat and .npy",
                    path.display()
                )));
            }
        })
    }

    /// Splits the columns into x, y and sigma.
    #[allow(clippy::type_complexity)]
    fn parted<K: ColumnKey + Clone>(&self, keys: &[K]) -> PyResult<(Vec<K>, K, Option<K>)> {
        let mut x = keys.to_vec();
        let sigma = if self.has_sigma { x.pop() } else { None };
        match x.pop() {
            Some(y) if !x.is_empty() => Ok((x, y, sigma)),
            _ => Err(PyValueError::new_err("name the columns of x and that of y")),
        }
    }
}

/// Fits points in files, which can be larger than memory.
#[pyfunction]
#[pyo3(signature = (model, files, begin, settings))]
pub(crate) fn fit_stream(
    py: Python<'_>,
    model: PyRef<'_, Model>,
    files: Files,
    begin: Option<Begin<'_>>,
    settings: Settings,
) -> PyResult<Fit> {
    let kept = Raised::default();
    let (curve, begin) = (model.told(&settings)?, start(begin.as_ref())?);
    let stream = files.stream(py, &kept)?;
    let outcome = watched(py, curve, Thread::Own, None, settings.callback, move |curve| {
        curve.fit_stream(stream, begin)
    });
    let fit = kept.checked(outcome)?;
    Ok(Fit { fit, calls: None })
}

/// Computes a distributed fit. `ask` receives a request and returns the merged replies of all parts.
#[pyfunction]
#[pyo3(signature = (model, ask, begin, settings, checkpoint=None))]
pub(crate) fn fit_parts(
    py: Python<'_>,
    model: PyRef<'_, Model>,
    ask: Py<PyAny>,
    begin: Option<Begin<'_>>,
    settings: Settings,
    checkpoint: Option<PathBuf>,
) -> PyResult<Fit> {
    let (curve, begin) = (model.told(&settings)?, start(begin.as_ref())?);
    let kept = Raised::default();
    let in_ask = kept.clone();
    // `ask` can call code that must run on this thread, for example MPI.
    let outcome = watched(py, curve, Thread::Callers, None, settings.callback, move |curve| {
        let ask = move |question: &[u8]| {
            Python::attach(|py| {
                let answer = ask.call1(py, (PyBytes::new(py, question),))?;
                answer.extract::<Vec<u8>>(py)
            })
            .map_err(|error: PyErr| io::Error::other(in_ask.keep(error)))
        };
        let mut parts = Parts::new(ask);
        if let Some(path) = checkpoint {
            parts = parts.checkpoint(path);
        }
        curve.fit_parts(parts, begin)
    });
    Ok(Fit { fit: kept.checked(outcome)?, calls: None })
}

/// Computes the reply of points to a request. `first`: number of the first point among all points.
#[pyfunction]
pub(crate) fn answer<'py>(
    py: Python<'py>,
    model: PyRef<'_, Model>,
    points: Points<'py>,
    first: u64,
    question: &[u8],
    settings: Settings,
) -> PyResult<Bound<'py, PyBytes>> {
    let curve = model.told(&settings)?;
    let answer = points.with_data(|data| {
        py.detach(|| Part::new(&curve, data, first).map(|mut part| part.answer(question)))
            .map_err(raised)
    })?;
    Ok(PyBytes::new(py, &answer.map_err(misfit)?))
}

/// Computes the reply of the points of files to a request.
#[pyfunction]
pub(crate) fn answer_stream<'py>(
    py: Python<'py>,
    model: PyRef<'_, Model>,
    files: Files,
    first: u64,
    question: &[u8],
    settings: Settings,
) -> PyResult<Bound<'py, PyBytes>> {
    let kept = Raised::default();
    let (curve, stream) = (model.told(&settings)?, files.stream(py, &kept)?);
    let answer = py
        .detach(|| Part::stream(&curve, stream, first).map(|mut part| part.answer(question)))
        .map_err(raised)
        .and_then(|answer| answer.map_err(misfit));
    Ok(PyBytes::new(py, &kept.checked(answer)?))
}

/// Merges the replies of two adjacent parts.
#[pyfunction]
#[pyo3(name = "merge")]
pub(crate) fn merged<'py>(
    py: Python<'py>,
    left: &[u8],
    right: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &merge(left, right).map_err(misfit)?))
}
