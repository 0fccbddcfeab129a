//! A source of points in memory.

use super::{Chunk, Shape, Source, Width};
use crate::data::columns::Columns;
use crate::data::source::{Fingerprint, evenly_distributed};
use crate::data::values::Values;
use crate::error::source::SourceError;

const PLACE: &str = "slices";

/// Borrowed slices as a source of points. Values are copied only when they are read.
///
/// ```
/// use dualfit::source::{SliceSource, Source};
/// let (x, y) = (vec![0.0, 1.0, 2.0], vec![1.0_f32, 2.0, 4.0]);
/// let source = SliceSource::new(&x, &y)?;
/// assert_eq!(source.shape().points, Some(3));
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SliceSource<'a> {
    x: Vec<Values<'a>>,
    y: Values<'a>,
    sigma: Option<&'a [f64]>,
    next: usize,
}

impl<'a> SliceSource<'a> {
    /// Creates a source. `x`: one column per independent variable (`&x` or `[&x, &y]`), `y`: the response, all with one
    /// value per point, in f64 or f32.
    ///
    /// # Errors
    /// If the length of a column differs from the length of y.
    pub fn new(x: impl Columns<'a>, y: impl Into<Values<'a>>) -> Result<Self, SourceError> {
        let x = x.columns().map_err(|error| SourceError::new(PLACE, error.to_string()))?;
        let y = y.into();
        for (i, column) in x.iter().enumerate() {
            expect_length(&format!("x {i}"), column.len(), y.len())?;
        }
        Ok(SliceSource { x, y, sigma: None, next: 0 })
    }

    /// Sets the standard deviations of the response, one per point.
    ///
    /// # Errors
    /// If the number of standard deviations differs from the number of points.
    pub fn sigma(mut self, sigma: &'a [f64]) -> Result<Self, SourceError> {
        expect_length("sigma", sigma.len(), self.y.len())?;
        self.sigma = Some(sigma);
        Ok(self)
    }
}

fn expect_length(column: &str, found: usize, expected: usize) -> Result<(), SourceError> {
    if found == expected {
        return Ok(());
    }
    let message = format!("it has {found} values and y has {expected}; give one value per point");
    Err(SourceError::new(PLACE, message).in_column(column))
}

fn width(values: &Values<'_>) -> Width {
    match values {
        Values::F64(_) | Values::U32(_) | Values::I32(_) => Width::F64,
        Values::F32(_) | Values::U8(_) | Values::U16(_) | Values::I16(_) => Width::F32,
    }
}

impl Source for SliceSource<'_> {
    fn shape(&self) -> Shape {
        Shape {
            x: self.x.iter().map(width).collect(),
            y: width(&self.y),
            sigma: self.sigma.is_some(),
            points: Some(self.y.len() as u64),
        }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let count = most.min(self.y.len() - self.next);
        let range = self.next..self.next + count;
        for (column, values) in chunk.x.iter_mut().zip(&self.x) {
            column.extend(values.part(range.clone()));
        }
        chunk.y.extend(self.y.part(range.clone()));
        if let (Some(out), Some(sigma)) = (&mut chunk.sigma, self.sigma) {
            out.extend_from_slice(&sigma[range]);
        }
        self.next += count;
        Ok(count)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let left = self.y.len() - self.next;
        let skipped = usize::try_from(count).map_or(left, |count| count.min(left));
        self.next += skipped;
        Ok(skipped as u64)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        /// Maximum number of values of a column in the digest.
        const LOOKED_AT: u64 = 4096;
        let mut digest = Fingerprint::new();
        digest.number(self.y.len() as u64);
        for values in self.x.iter().chain([&self.y]).copied().chain(self.sigma.map(Values::F64)) {
            digest.number(width(&values).bytes() as u64);
            for place in evenly_distributed(values.len() as u64, LOOKED_AT) {
                digest.number(values.at(place as usize).to_bits());
            }
        }
        let (columns, points) = (self.x.len(), self.y.len());
        Ok(format!("slices, {columns} x, {points} points, {}", digest.text()))
    }
}
