//! A file as a source. The roles of columns, the position of the next row and the errors are the same for all formats;
//! a [`Format`] implements only the decoding. Rows that the caller passes in memory are also a format.

use super::cell::Cell;
use super::file::DataFile;
use super::roles::Roles;
use crate::moment::DateOrder;
use dualfit::error::{SourceChange, SourceError};
use dualfit::source::{Chunk, Shape, Source, Width};
use std::fmt;

/// Interface of a file format: finds and decodes the rows of a file.
pub(crate) trait Format: Send {
    /// Returns a description of the layout; fingerprints begin with it.
    fn layout(&self) -> String;

    /// Returns the files that are read. Error messages contain the name of the first one.
    fn files(&self) -> Vec<&DataFile>;

    /// Fingerprint of the rows.
    ///
    /// # Errors
    /// If it cannot be determined.
    fn contents(&self, _roles: &Roles) -> Result<String, SourceError> {
        let files = self.files().into_iter().map(DataFile::fingerprint);
        Ok(files.collect::<Result<Vec<String>, SourceError>>()?.join("; "))
    }

    /// Type of the values of a column.
    fn width(&self, column: usize) -> Width;

    /// Number of rows; `None` if it is unknown.
    fn points(&self) -> Option<u64>;

    /// Returns to the first row; the selected columns may differ from before.
    ///
    /// # Errors
    /// If no row can be read.
    fn rewind(&mut self, roles: &Roles) -> Result<(), SourceError>;

    /// Appends at least one and at most `most` rows, starting at row `next`. Returns their number; 0 at the end.
    ///
    /// # Errors
    /// Errors in the rows. Some of their values may have been appended.
    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError>;

    /// Skips up to `count` rows, starting at row `next`. Returns the number of skipped rows.
    ///
    /// # Errors
    /// Errors in the rows.
    fn skip(&mut self, next: u64, count: u64) -> Result<u64, SourceError> {
        Ok(self.points().map_or(0, |points| count.min(points.saturating_sub(next))))
    }

    /// Returns true if the columns have names.
    fn has_names(&self) -> bool {
        true
    }

    /// Returns one value per column: true if the column contains values that are not numbers.
    ///
    /// # Errors
    /// Errors in the rows that were read.
    fn has_no_numbers(&mut self, columns: &[usize]) -> Result<Vec<bool>, SourceError> {
        Ok(vec![false; columns.len()])
    }

    /// Passes the values of a column of words, times or large integers to `each`, from the first row on, until `each`
    /// returns false. Returns false without a call of `each` if f64 represents all values of the column.
    ///
    /// # Errors
    /// Errors in the rows.
    fn cells(
        &mut self,
        _roles: &Roles,
        _column: usize,
        _each: &mut dyn FnMut(Cell<'_>) -> bool,
    ) -> Result<bool, SourceError> {
        Ok(false)
    }

    /// Returns true if rows must be decoded, which is slow.
    fn is_slow(&self) -> bool {
        true
    }

    /// Order of day and month in dates, if the caller has set it.
    fn date_order(&self) -> Option<DateOrder> {
        None
    }

    /// Detected properties that are uncertain.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Position of a value in a text file, for messages; `None` for other files.
    fn line(&self, _row: u64, _column: usize) -> Option<String> {
        None
    }
}

/// A file as a source, in any format.
pub(crate) struct FileSource<F> {
    pub(crate) format: F,
    pub(crate) roles: Roles,
    /// Number of rows that have been read or skipped.
    next: u64,
    /// The last error, which persists until the source is rewound.
    failed: Option<SourceError>,
}

impl<F: Format> FileSource<F> {
    pub(crate) fn new(format: F, roles: Roles) -> FileSource<F> {
        let mut source = FileSource { format, roles, next: 0, failed: None };
        source.restart();
        source
    }

    /// Returns to the first row.
    pub(crate) fn restart(&mut self) {
        self.next = 0;
        self.failed = self.format.rewind(&self.roles).err();
    }

    /// Calls `step` until `count` rows are processed. `step` receives the number of remaining rows and returns the
    /// number of rows that it has processed. If rows precede an error, they are returned first, and the next call
    /// returns the error.
    fn repeat(
        &mut self,
        count: u64,
        mut step: impl FnMut(&mut Self, u64) -> Result<u64, SourceError>,
    ) -> Result<u64, SourceError> {
        let mut done = 0;
        while done < count && self.failed.is_none() {
            match step(self, count - done) {
                Ok(0) => break,
                Ok(rows) => (self.next, done) = (self.next + rows, done + rows),
                Err(error) => self.failed = Some(error),
            }
        }
        match &self.failed {
            Some(error) if done == 0 && count > 0 => Err(error.clone()),
            _ => Ok(done),
        }
    }
}

impl<F: Format> Source for FileSource<F> {
    fn shape(&self) -> Shape {
        self.roles.shape(|column| self.format.width(column), self.format.points())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.restart();
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        self.roles.suit(chunk)?;
        let read = self.repeat(most as u64, |source, most| {
            let before = chunk.len();
            let read = source.format.read(&source.roles, source.next, chunk, most as usize);
            read.map(|rows| rows as u64).inspect_err(|_| chunk.truncate(before))
        });
        read.map(|rows| rows as usize)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let skipped = self.repeat(count, |source, count| source.format.skip(source.next, count))?;
        match &self.failed {
            Some(error) if skipped < count => Err(error.clone()),
            _ => Ok(skipped),
        }
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.format.files().into_iter().try_for_each(DataFile::unchanged)
    }

    fn is_slow(&self) -> bool {
        self.format.is_slow()
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let contents = self.format.contents(&self.roles)?;
        Ok(format!("{} {}; {contents}", self.format.layout(), self.roles.text()))
    }
}

impl<F: Format> fmt::Debug for FileSource<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("FileSource");
        parts
            .field("files", &self.format.files())
            .field("roles", &self.roles)
            .finish_non_exhaustive()
    }
}

impl<F: Format + Clone> Clone for FileSource<F> {
    /// Creates a source at the first row.
    fn clone(&self) -> FileSource<F> {
        FileSource::new(self.format.clone(), self.roles.clone())
    }
}

/// Implements a source whose field `reader` is a [`FileSource`]: the methods that choose columns, and all methods of
/// [`Source`].
macro_rules! file_source {
    ($source:ty) => {
        const _: () = {
            use dualfit::error::{SourceChange, SourceError};
            use dualfit::source::{Chunk, Shape, Source};
            use $crate::ColumnKey;

            impl $source {
                /// Returns the names of all columns, in their order. Columns without names have their numbers, from 0.
                pub fn names(&self) -> &[String] {
                    self.reader.roles.names()
                }

                /// Selects the independent variables: columns by name or by number from 0, in the order of the model's
                /// variables. The default is the first column. The source returns to its first row.
                ///
                /// # Errors
                /// If there is no such column, or if its values are not numbers.
                pub fn x<K: ColumnKey>(
                    mut self,
                    columns: impl IntoIterator<Item = K>,
                ) -> Result<Self, SourceError> {
                    self.reader.roles.set_x(columns)?;
                    self.reader.restart();
                    Ok(self)
                }

                /// Selects the response. The default is the second column. The source returns to its first row.
                ///
                /// # Errors
                /// The errors of [`x`](Self::x).
                pub fn y(mut self, column: impl ColumnKey) -> Result<Self, SourceError> {
                    self.reader.roles.y = self.reader.roles.find(&column)?;
                    self.reader.restart();
                    Ok(self)
                }

                /// Selects the standard deviations of the response. By default there are none. The source returns to
                /// its first row.
                ///
                /// # Errors
                /// The errors of [`x`](Self::x).
                pub fn sigma(mut self, column: impl ColumnKey) -> Result<Self, SourceError> {
                    self.reader.roles.sigma = Some(self.reader.roles.find(&column)?);
                    self.reader.restart();
                    Ok(self)
                }
            }

            impl Source for $source {
                fn shape(&self) -> Shape {
                    self.reader.shape()
                }

                fn rewind(&mut self) -> Result<(), SourceError> {
                    self.reader.rewind()
                }

                fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
                    self.reader.read(chunk, most)
                }

                fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
                    self.reader.skip(count)
                }

                fn fingerprint(&self) -> Result<String, SourceError> {
                    self.reader.fingerprint()
                }

                fn unchanged(&self) -> Result<(), SourceChange> {
                    self.reader.unchanged()
                }

                fn is_slow(&self) -> bool {
                    self.reader.is_slow()
                }
            }
        };
    };
}
pub(crate) use file_source;
