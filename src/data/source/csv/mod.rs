//! Text tables as a source: comma-, tab- or otherwise separated values.

mod records;

use super::format::file::DataFile;
use super::format::roles::{Role, Roles, choosing_columns, expect_chunk};
use super::{Chunk, Shape, Source, Width};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use records::Records;
use std::path::Path;
use std::sync::Arc;

/// What separates the fields of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delimiter {
    /// `,`
    #[default]
    Comma,
    /// `;`
    Semicolon,
    /// A tabulator.
    Tab,
    /// Any number of spaces and tabulators; those around a row are nothing. No field is empty.
    Whitespace,
    /// Another character, given by its byte.
    Byte(u8),
}

/// How a text table is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// What separates fields. A comma by default.
    pub delimiter: Delimiter,
    /// Whether the first row has the names of the columns. By default it has.
    pub header: bool,
    /// Lines that begin with this byte are passed over. `#` by default; `None` where there are none.
    pub comment: Option<u8>,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions { delimiter: Delimiter::Comma, header: true, comment: Some(b'#') }
    }
}

/// A text table as a source. x is the first column and y the second until something else is said.
///
/// Numbers are written as in Rust or C: `1`, `-2.5`, `1e-3`, `inf`. An empty field, `NaN`, `nan`, `NA`
/// or `null` is NaN, with which the fit does as [`Missing`](crate::Missing) says. Fields may stand in
/// double quotes and between spaces. Empty lines are passed over; so is a byte order mark.
///
/// ```no_run
/// use dualfit::{CsvOptions, CsvSource, Delimiter};
/// let source = CsvSource::open("run7.csv")?.x(["t"])?.y("signal")?.sigma("error")?;
/// let options = CsvOptions { delimiter: Delimiter::Tab, header: false, ..Default::default() };
/// let source = CsvSource::open_with("run8.txt", options)?.x([0, 1])?.y(4)?;
/// # Ok::<(), dualfit::SourceError>(())
/// ```
#[derive(Debug)]
pub struct CsvSource {
    records: Records,
    roles: Roles,
    /// What was wrong with a row; it stays wrong until the source is rewound.
    failed: Option<SourceError>,
}

choosing_columns!(CsvSource);

impl CsvSource {
    /// Comma-separated values under a row of names.
    ///
    /// # Errors
    /// If the file cannot be opened, is empty, or has not two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<CsvSource, SourceError> {
        CsvSource::open_with(path, CsvOptions::default())
    }

    /// A table that is written otherwise.
    ///
    /// # Errors
    /// As [`open`](CsvSource::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        options: CsvOptions,
    ) -> Result<CsvSource, SourceError> {
        let mut records = Records::new(Arc::new(DataFile::open(path.as_ref())?), options);
        let place = records.file().place();
        let Some(names) = records.names()? else {
            return Err(records.file().error("it is empty; a table has at least one row"));
        };
        let roles = Roles::new(names, &place)?;
        let mut source = CsvSource { records, roles, failed: None };
        source.restart()?;
        Ok(source)
    }

    fn place(&self) -> String {
        self.records.file().place()
    }

    fn restart(&mut self) -> Result<(), SourceError> {
        self.failed = None;
        self.records.restart()
    }

    /// The next row, which has a field for each column.
    fn next_row(&mut self) -> Result<bool, SourceError> {
        if !self.records.next()? {
            return Ok(false);
        }
        let (found, expected) = (self.records.fields(), self.roles.count());
        if found == expected {
            return Ok(true);
        }
        let message = format!("it has {found} fields where the first row has {expected}");
        Err(self.records.error(message))
    }

    /// Appends the next point, or nothing.
    fn append(&mut self, chunk: &mut Chunk) -> Result<bool, SourceError> {
        if !self.next_row()? {
            return Ok(false);
        }
        let before = chunk.len();
        for (role, column) in self.roles.all() {
            let field = self.records.field(column);
            let Some(value) = number(field) else {
                chunk.truncate(before);
                let shown: String = String::from_utf8_lossy(field).chars().take(60).collect();
                let error = self.records.error(format!("`{shown}` is not a number"));
                return Err(error.in_column(self.roles.name(column)));
            };
            match role {
                Role::X(i) => {
                    if let Some(column) = chunk.x.get_mut(i) {
                        column.push(value);
                    }
                }
                Role::Y => chunk.y.push(value),
                Role::Sigma => {
                    if let Some(sigma) = &mut chunk.sigma {
                        sigma.push(value);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Repeats `step` until it says that there are no more rows. An error waits until the rows before
    /// it were given.
    fn repeat(
        &mut self,
        count: u64,
        mut step: impl FnMut(&mut Self) -> Result<bool, SourceError>,
    ) -> Result<u64, SourceError> {
        let mut done = 0;
        while done < count {
            match self.failed.clone().map_or_else(|| step(self), Err) {
                Ok(true) => done += 1,
                Ok(false) => break,
                Err(error) => {
                    self.failed = Some(error.clone());
                    return if done > 0 { Ok(done) } else { Err(error) };
                }
            }
        }
        Ok(done)
    }
}

/// The number that a field is.
fn number(field: &[u8]) -> Option<f64> {
    let field = field.trim_ascii();
    if matches!(field, b"" | b"NA" | b"null") {
        return Some(f64::NAN);
    }
    std::str::from_utf8(field).ok()?.parse().ok()
}

impl Source for CsvSource {
    fn shape(&self) -> Shape {
        self.roles.shape(|_| Width::F64, None)
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.restart()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        expect_chunk(chunk, &self.roles, &self.place())?;
        self.repeat(most as u64, |source| source.append(chunk)).map(|read| read as usize)
    }

    /// Rows are counted, and their fields; they may be no numbers.
    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let skipped = self.repeat(count, CsvSource::next_row)?;
        match &self.failed {
            Some(error) if skipped < count => Err(error.clone()),
            _ => Ok(skipped),
        }
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.records.file().unchanged()
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let (options, roles) = (self.records.options(), self.roles.text());
        Ok(format!("csv {options:?} {roles}; {}", self.records.file().fingerprint()?))
    }
}
