//! Source of points from a Python iterator of chunks.

use crate::arrays::Samples;
use crate::failure::Raised;
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Shape, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A Python function that begins a pass over the points, and the iterator of the pass in progress.
pub(crate) struct ChunkSource {
    begin: Py<PyAny>,
    columns: usize,
    sigma: bool,
    pass: Option<Py<PyAny>>,
    /// Current chunk: the columns of x, y and sigma, and the number of points that have been read from them.
    rest: (Vec<Vec<f64>>, usize),
    raised: Raised,
}

impl ChunkSource {
    pub(crate) fn new(
        begin: Py<PyAny>,
        columns: usize,
        sigma: bool,
        raised: Raised,
    ) -> ChunkSource {
        ChunkSource { begin, columns, sigma, pass: None, rest: (Vec::new(), 0), raised }
    }

    /// Returns the columns of the next chunk; `None` after the last chunk.
    fn next(&mut self) -> PyResult<Option<Vec<Vec<f64>>>> {
        Python::attach(|py| {
            let pass = match &self.pass {
                Some(pass) => pass.bind(py).clone(),
                None => self.begin.bind(py).call0()?.try_iter()?.into_any(),
            };
            self.pass = Some(pass.clone().unbind());
            let Some(chunk) = pass.try_iter()?.next() else { return Ok(None) };
            let columns: Vec<Samples<'_>> = chunk?.extract()?;
            let wide = columns.iter().map(|column| Ok(column.values()?.to_f64()));
            let wide = wide.collect::<PyResult<Vec<Vec<f64>>>>()?;
            let expected = self.columns + 1 + usize::from(self.sigma);
            let points = wide.first().map_or(0, Vec::len);
            if wide.len() != expected {
                let hint = match wide.len() == expected + 1 && !self.sigma {
                    true => format!("; if the last one is sigma, say sigma={expected}"),
                    false => String::new(),
                };
                return Err(PyValueError::new_err(format!(
                    "a chunk has {} column(s), but {expected} are expected: {} of x, then y{}{hint}",
                    wide.len(),
                    self.columns,
                    if self.sigma { ", then sigma" } else { "" }
                )));
            }
            if wide.iter().any(|column| column.len() != points) {
                let lengths: Vec<usize> = wide.iter().map(Vec::len).collect();
                return Err(PyValueError::new_err(format!(
                    "a chunk has columns of the lengths {lengths:?}; give all of one length"
                )));
            }
            Ok(Some(wide))
        })
    }
}

impl Source for ChunkSource {
    fn shape(&self) -> Shape {
        Shape { sigma: self.sigma, ..Shape::new(self.columns) }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        (self.pass, self.rest) = (None, (Vec::new(), 0));
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let left =
            |(columns, read): &(Vec<Vec<f64>>, usize)| columns.first().map_or(0, Vec::len) - read;
        while left(&self.rest) == 0 {
            match self
                .next()
                .map_err(|error| SourceError::new("the chunks", self.raised.keep(error)))?
            {
                Some(columns) => self.rest = (columns, 0),
                None => return Ok(0),
            }
        }
        let count = left(&self.rest).min(most);
        let (columns, read) = &mut self.rest;
        let part = *read..*read + count;
        let mut columns = columns.iter();
        let into = chunk.x.iter_mut().chain([&mut chunk.y]);
        into.zip(columns.by_ref()).for_each(|(to, from)| to.extend(&from[part.clone()]));
        if let (Some(to), Some(from)) = (&mut chunk.sigma, columns.next()) {
            to.extend_from_slice(&from[part]);
        }
        *read += count;
        Ok(count)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        Ok(format!("chunks of {} x", self.columns))
    }

    fn is_slow(&self) -> bool {
        true
    }
}
