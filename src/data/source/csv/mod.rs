//! Text tables as a source: comma-, tab- or otherwise separated values.

mod heads;
mod layout;
mod numbers;
mod options;
mod quotes;
mod rows;
mod sheet;

pub(crate) use layout::no_text;
pub use options::{CsvOptions, Delimiter, Thousands};

use super::format::cell::{Cell, is_missing};
use super::format::file::DataFile;
use super::format::roles::{Roles, Target};
use super::format::source::{FileSource, Format, file_source};
use super::{Chunk, Width};
use crate::data::moment::{DateOrder, looks_like_time};
use crate::error::source::SourceError;
use numbers::{FieldKind, Style};
use rows::{TableRows, decoded, unquoted};
use sheet::Sheet;
use std::path::Path;
use std::sync::Arc;

/// A text table as a source. x is the first column and y the second until something else is said.
///
/// Numbers are written as in Rust, C or Fortran: `1`, `-2.5`, `1e-3`, `1D-3`, `inf`. An empty field, `NaN`,
/// `NA`, `null`, `-` and the like are NaN, with which the fit does as [`Missing`](crate::Missing) says. Fields
/// may stand in double quotes and between spaces. Empty rows are passed over; so is a byte order mark, and an
/// empty field behind the last. Letters are UTF-8, or else Latin-1.
///
/// ```no_run
/// use dualfit::source::{CsvOptions, CsvSource, Delimiter};
/// let source = CsvSource::open("run7.csv")?.x(["t"])?.y("signal")?.sigma("error")?;
/// let tabs = CsvOptions::default().delimiter(Delimiter::Tab);
/// let source = CsvSource::open_with("run8.txt", tabs)?.x([0, 1])?.y(4)?;
/// let source = CsvSource::open_with("spectrum.txt", CsvOptions::detected())?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CsvSource {
    pub(crate) reader: FileSource<Csv>,
}

file_source!(CsvSource);

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
    /// As [`open`](CsvSource::open), and if what was to be found out has two answers.
    pub fn open_with(
        path: impl AsRef<Path>,
        options: CsvOptions,
    ) -> Result<CsvSource, SourceError> {
        CsvSource::new(DataFile::open(path.as_ref())?, options)
    }

    /// A table in memory. `name`: how errors call it.
    ///
    /// # Errors
    /// As [`open_with`](CsvSource::open_with).
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
        options: CsvOptions,
    ) -> Result<CsvSource, SourceError> {
        CsvSource::new(DataFile::in_memory(name.into(), bytes.into()), options)
    }

    fn new(file: DataFile, options: CsvOptions) -> Result<CsvSource, SourceError> {
        let sheet = Sheet::open(file, options)?;
        let numbers = || (0..sheet.columns()).map(|column| column.to_string()).collect();
        let names = sheet.names.clone().unwrap_or_else(numbers);
        let roles = Roles::new(names, &sheet.text().file.place())?;
        Ok(CsvSource { reader: FileSource::new(Csv::of(Arc::new(sheet)), roles) })
    }

    /// What was found out of the text, and of the numbers of the columns that were chosen, and may be
    /// otherwise, each with its place: `data.csv:2: taken for units`.
    pub fn notes(&self) -> Vec<String> {
        self.reader.format.notes()
    }

    /// Whether columns have names; they are called by their numbers from 0 if not.
    pub fn has_names(&self) -> bool {
        self.reader.format.has_names()
    }

    /// Where a value of a point, counted from 0, stands: `data.csv:17:3`, line and letter as editors open it.
    pub fn place_of(&self, point: u64, column: usize) -> String {
        self.reader.format.place(point, column)
    }
}

/// A text table whose rows are read.
pub(crate) struct Csv {
    sheet: Arc<Sheet>,
    rows: TableRows,
    /// How the columns of the roles are written.
    styles: Vec<Style>,
}

impl Csv {
    fn of(sheet: Arc<Sheet>) -> Csv {
        Csv { rows: sheet.text().rows(0), sheet, styles: Vec::new() }
    }

    fn place(&self, row: u64, column: usize) -> String {
        let sheet = &self.sheet;
        let near = || {
            let mut rows = sheet.rows().ok()?;
            (0..row).try_for_each(|_| sheet.next_row(&mut rows).ok()?.map(drop))?;
            sheet.next_row(&mut rows).ok()?
        };
        // What cannot be read has no place.
        near().map_or_else(|| sheet.text().file.place(), |near| sheet.text().place(near, column))
    }
}

impl Clone for Csv {
    fn clone(&self) -> Csv {
        Csv::of(self.sheet.clone())
    }
}

impl Format for Csv {
    fn layout(&self) -> String {
        format!("csv {:?}", self.sheet.options)
    }

    fn files(&self) -> Vec<&DataFile> {
        vec![&self.sheet.text().file]
    }

    fn width(&self, _: usize) -> Width {
        Width::F64
    }

    fn points(&self) -> Option<u64> {
        None
    }

    fn rewind(&mut self, roles: &Roles) -> Result<(), SourceError> {
        let styles = roles.all().map(|(_, column)| self.sheet.style(column));
        self.styles = styles.collect::<Result<_, _>>()?;
        self.rows = self.sheet.rows()?;
        Ok(())
    }

    /// Reads one row.
    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        _most: usize,
    ) -> Result<usize, SourceError> {
        let Some(near) = self.sheet.next_row(&mut self.rows)? else { return Ok(0) };
        for ((role, column), style) in roles.all().zip(&self.styles) {
            let Some(value) = style.number(&decoded(self.rows.field(column))) else {
                let (row, named) = ((near, next == 0), (column, roles.name(column)));
                return Err(self.sheet.no_number(row, named, *style));
            };
            match Target::of(chunk, role) {
                Some(Target::F64(out)) => out.push(value),
                Some(Target::F32(out)) => out.push(value as f32),
                None => {}
            }
        }
        Ok(1)
    }

    /// Rows are counted, and their fields; they may be no numbers.
    fn skip(&mut self, _next: u64, _count: u64) -> Result<u64, SourceError> {
        Ok(self.sheet.next_row(&mut self.rows)?.map_or(0, |_| 1))
    }

    fn has_names(&self) -> bool {
        self.sheet.names.is_some()
    }

    /// Times, as the first value of a column shows. A column of words is found out where it is read as numbers.
    fn has_no_numbers(&mut self, columns: &[usize]) -> Result<Vec<bool>, SourceError> {
        let mut open: Vec<usize> = (0..columns.len()).collect();
        let mut found = vec![false; columns.len()];
        let mut rows = self.sheet.rows()?;
        while !open.is_empty() && self.sheet.next_row(&mut rows)?.is_some() {
            open.retain(|&i| {
                let field = decoded(rows.field(columns[i]));
                let text = unquoted(&field);
                found[i] = looks_like_time(text) && FieldKind::of(text) != FieldKind::Number;
                is_missing(text)
            });
        }
        Ok(found)
    }

    fn cells(
        &mut self,
        _roles: &Roles,
        column: usize,
        each: &mut dyn FnMut(Cell<'_>) -> bool,
    ) -> Result<bool, SourceError> {
        let mut rows = self.sheet.rows()?;
        while self.sheet.next_row(&mut rows)?.is_some()
            && each(Cell::Text(unquoted(&decoded(rows.field(column)))))
        {}
        Ok(true)
    }

    fn date_order(&self) -> Option<DateOrder> {
        self.sheet.options.date_order
    }

    fn notes(&self) -> Vec<String> {
        self.sheet.notes(&self.styles)
    }

    fn line(&self, row: u64, column: usize) -> Option<String> {
        Some(self.place(row, column))
    }
}
