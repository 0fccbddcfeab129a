//! Errors of reading the points of a source.

use std::fmt;

/// Cause and location of a failed read of points: `data.csv, row 18, column y: "abc" is not a number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// The file, or the name of another source.
    pub place: String,
    /// The row, as the file's tools count them: lines of a text file from 1, points of a binary file
    /// from 0.
    pub row: Option<u64>,
    /// The column, by its name or number.
    pub column: Option<String>,
    /// The cause and the remedy.
    pub message: String,
}

impl SourceError {
    /// Makes an error about `place` as a whole.
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
