//! Chunks of points between a source and a fit: columns that are filled, used and filled again.

use crate::data::values::{Values, each, wide};
use crate::error::source::SourceError;
use std::ops::Range;

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Width {
    /// Double precision, 8 bytes per value.
    #[default]
    F64,
    /// Single precision, 4 bytes per value, converted to f64 for computations.
    F32,
}

impl Width {
    /// Returns the size of one value, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Width::F64 => 8,
            Width::F32 => 4,
        }
    }
}

/// Types of the columns of a source, and its number of points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Type of each independent variable.
    pub x: Vec<Width>,
    /// Type of the response.
    pub y: Width,
    /// True if each point has a standard deviation.
    pub sigma: bool,
    /// Number of points, if it is known before they are read.
    pub points: Option<u64>,
}

impl Shape {
    /// Creates the shape of points with `columns` independent variables in f64 and no standard deviations.
    pub fn new(columns: usize) -> Shape {
        Shape { x: vec![Width::F64; columns], y: Width::F64, sigma: false, points: None }
    }

    /// Adds the number of points of `part`, the shape of the next source. In errors, `place()` is the name of that
    /// source, and `first` the name of the source with this shape.
    ///
    /// # Errors
    /// If the columns differ ([`expect_columns`](Shape::expect_columns)), or the sum is 2⁶⁴ or more.
    pub fn append(
        &mut self,
        part: &Shape,
        place: impl Fn() -> String,
        first: &str,
    ) -> Result<(), SourceError> {
        self.expect_columns(part, &place, first)?;
        self.points = match (self.points, part.points) {
            (Some(before), Some(more)) => {
                let too_many =
                    || SourceError::new(place(), "there are more than 2^64 points with it");
                Some(before.checked_add(more).ok_or_else(too_many)?)
            }
            _ => None,
        };
        Ok(())
    }

    /// Checks that `part` has the same columns as this shape.
    ///
    /// # Errors
    /// If they differ: an error with both shapes. `place()` is the name of the source of `part`, and `first` the name
    /// of the source with this shape.
    pub fn expect_columns(
        &self,
        part: &Shape,
        place: impl Fn() -> String,
        first: &str,
    ) -> Result<(), SourceError> {
        let described = |shape: &Shape| {
            let sigma = if shape.sigma { "with" } else { "without" };
            format!("x {:?}, y {:?}, {sigma} sigma", shape.x, shape.y)
        };
        if (&self.x, self.y, self.sigma) == (&part.x, part.y, part.sigma) {
            return Ok(());
        }
        let message = format!(
            "its columns are {}, and those of {first} are {}; all must have the same",
            described(part),
            described(self)
        );
        Err(SourceError::new(place(), message))
    }

    /// Returns the size of one point, in bytes.
    pub fn bytes_per_point(&self) -> usize {
        let columns = self.x.iter().chain([&self.y]);
        columns.map(|w| w.bytes()).sum::<usize>() + if self.sigma { 8 } else { 0 }
    }
}

/// The values of one column of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Values in double precision.
    F64(Vec<f64>),
    /// Values in single precision.
    F32(Vec<f32>),
}

impl Column {
    fn new(width: Width, capacity: usize) -> Column {
        match width {
            Width::F64 => Column::F64(Vec::with_capacity(capacity)),
            Width::F32 => Column::F32(Vec::with_capacity(capacity)),
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a value, rounded to f32 in a column of single precision.
    pub fn push(&mut self, value: f64) {
        match self {
            Column::F64(v) => v.push(value),
            Column::F32(v) => v.push(value as f32),
        }
    }

    /// Appends values, converted to the type of the column.
    pub fn extend<'a>(&mut self, values: impl Into<Values<'a>>) {
        match (self, values.into()) {
            (Column::F64(v), Values::F64(new)) => v.extend_from_slice(new),
            (Column::F32(v), Values::F32(new)) => v.extend_from_slice(new),
            (Column::F64(v), new) => each!(new, n => v.extend(n.iter().map(|&n| wide(n)))),
            (Column::F32(v), new) => each!(new, n => v.extend(n.iter().map(|&n| wide(n) as f32))),
        }
    }

    /// Returns the values in their own type.
    pub fn values(&self) -> Values<'_> {
        match self {
            Column::F64(v) => Values::F64(v),
            Column::F32(v) => Values::F32(v),
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Column::F64(v) => v.truncate(len),
            Column::F32(v) => v.truncate(len),
        }
    }
}

/// Buffer to which a [`Source`](super::Source) appends points: one column per independent variable, the response and,
/// if present, the standard deviations, all of the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// One column per independent variable.
    pub x: Vec<Column>,
    /// The response.
    pub y: Column,
    /// Standard deviations of the response, if the source has them.
    pub sigma: Option<Vec<f64>>,
}

impl Chunk {
    /// Creates an empty chunk with memory for `capacity` points.
    pub fn new(shape: &Shape, capacity: usize) -> Chunk {
        Chunk {
            x: shape.x.iter().map(|&width| Column::new(width, capacity)).collect(),
            y: Column::new(shape.y, capacity),
            sigma: shape.sigma.then(|| Vec::with_capacity(capacity)),
        }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns true if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all points after the first `len`, and keeps the memory.
    pub fn truncate(&mut self, len: usize) {
        self.x.iter_mut().chain([&mut self.y]).for_each(|column| column.truncate(len));
        if let Some(sigma) = &mut self.sigma {
            sigma.truncate(len);
        }
    }

    /// Appends a point: `x` has one value per independent variable. `sigma` is ignored if the chunk has no standard
    /// deviations. If it has them and `sigma` is `None`, 0 is stored, which the fit rejects.
    pub fn push(&mut self, x: &[f64], y: f64, sigma: Option<f64>) {
        self.x.iter_mut().zip(x).for_each(|(column, &value)| column.push(value));
        self.y.push(y);
        if let Some(deviations) = &mut self.sigma {
            deviations.push(sigma.unwrap_or(0.0));
        }
    }

    /// Appends the points `points` of `other`, a chunk with the same columns.
    pub fn append(&mut self, other: &Chunk, points: Range<usize>) {
        let own = self.x.iter_mut().chain([&mut self.y]);
        for (own, other) in own.zip(other.x.iter().chain([&other.y])) {
            own.extend(other.values().part(points.clone()));
        }
        if let (Some(own), Some(other)) = (&mut self.sigma, &other.sigma) {
            own.extend_from_slice(&other[points]);
        }
    }

    /// Returns true if all columns have the same length.
    pub(crate) fn is_even(&self) -> bool {
        let len = self.len();
        self.x.iter().all(|column| column.len() == len)
            && self.sigma.as_ref().is_none_or(|sigma| sigma.len() == len)
    }
}
