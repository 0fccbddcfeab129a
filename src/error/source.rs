//! Errors while the points of a source are read, and changes of the source during a fit.

use std::fmt;

/// Location and cause of a failed read of points, for example `data.csv, row 18, column y: "abc" is not a number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// The file, or the name of another source.
    pub place: String,
    /// The row: the line of a text file, counted from 1, or the point of a binary file, counted from 0.
    pub row: Option<u64>,
    /// The column, by its name or number.
    pub column: Option<String>,
    /// The cause and the remedy.
    pub message: String,
}

impl SourceError {
    /// Creates an error about `place` as a whole.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> SourceError {
        SourceError { place: place.into(), row: None, column: None, message: message.into() }
    }

    /// Sets the row.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> SourceError {
        self.row = Some(row);
        self
    }

    /// Sets the column.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> SourceError {
        self.column = Some(column.into());
        self
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for SourceError {}

/// Detected change of a source since an earlier read. No comparison of all points is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceChange {
    /// A pass returned a different number of points.
    #[error("it gave {got} points that count where it gave {expected} before")]
    Points {
        /// Number of points in the earlier pass.
        expected: u64,
        /// Number of points in the later pass.
        got: u64,
    },
    /// A file was modified, truncated, or replaced by another file since it was opened.
    #[error("{place}: its {what} was {before} when it was opened and is {after}")]
    File {
        /// The file.
        place: String,
        /// The property that changed: size, time of change or identity.
        what: &'static str,
        /// The value when the file was opened.
        before: String,
        /// The present value.
        after: String,
    },
    /// The points from which the fingerprint is computed have changed.
    #[error("its fingerprint was `{before}` and is `{after}`")]
    Contents {
        /// The fingerprint before the first pass.
        before: String,
        /// The fingerprint after a pass.
        after: String,
    },
}
