//! Text tables as a source: comma-, tab- or otherwise separated values.

mod heads;
mod layout;
mod lines;
mod numbers;
mod options;
mod pieces;
mod quotes;
mod rows;
mod sheet;
mod short;

pub(crate) use layout::no_text;
pub use options::{CsvOptions, Delimiter, Thousands};

use crate::csv::quotes::{decoded, unquoted};
use crate::format::cell::{Cell, is_missing};
use crate::format::file::DataFile;
use crate::format::roles::{Roles, Target};
use crate::format::source::{FileSource, Format, file_source};
use crate::moment::{DateOrder, looks_like_time};
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Column, Width};
use lines::PlainRow;
use numbers::{FieldKind, Style};
use pieces::Pieces;
use rows::TableRows;
use sheet::Sheet;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// A text table as a source. By default x is the first column and y the second.
///
/// Numbers are written as in Rust, C or Fortran: `1`, `-2.5`, `1e-3`, `1D-3`, `inf`. An empty field, `NaN`,
/// `NA`, `null`, `-` and similar texts are read as NaN; [`Missing`](dualfit::Missing) selects their treatment. Fields
/// may be quoted with double quotes and surrounded by spaces. Empty rows, a byte order mark, and an empty field after
/// the last one are ignored. The encoding is UTF-8 or else Latin-1 with the additional characters of Windows-1252. Rows
/// are decoded on all cores.
///
/// ```no_run
/// use dualfit_io::{CsvOptions, CsvSource, Delimiter};
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
    /// Opens a file of comma-separated values below a row of names.
    ///
    /// # Errors
    /// If the file cannot be opened, is empty, or has fewer than two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<CsvSource, SourceError> {
        CsvSource::open_with(path, CsvOptions::default())
    }

    /// Opens a table with another layout.
    ///
    /// # Errors
    /// The errors of [`open`](CsvSource::open), and an error if a property to be detected is ambiguous.
    pub fn open_with(
        path: impl AsRef<Path>,
        options: CsvOptions,
    ) -> Result<CsvSource, SourceError> {
        CsvSource::new(DataFile::open(path.as_ref())?, options)
    }

    /// Opens a table in memory. `name`: the name in error messages.
    ///
    /// # Errors
    /// The errors of [`open_with`](CsvSource::open_with).
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

    /// Returns the uncertain properties that were detected in the text and in the numbers of the selected columns, each
    /// with its position: `data.csv:2: taken for units`.
    pub fn notes(&self) -> Vec<String> {
        self.reader.format.notes()
    }

    /// Returns true if columns have names; otherwise they are numbered from 0.
    pub fn has_names(&self) -> bool {
        self.reader.format.has_names()
    }

    /// Returns the position of a value in the text: `data.csv:17:3`, with line and character as editors count them.
    /// `point` and `column` are counted from 0.
    pub fn place_of(&self, point: u64, column: usize) -> String {
        self.reader.format.place(point, column)
    }
}

/// Format of a text table, with the state of its reader.
pub(crate) struct Csv {
    sheet: Arc<Sheet>,
    /// Number formats of the selected columns, in the order of [`Roles::all`].
    styles: Vec<Style>,
    /// Decoded points. The first `given` points of the first chunk have already been returned.
    ahead: VecDeque<Chunk>,
    given: usize,
    /// Readers of the following rows: `pieces` decodes pieces in parallel; `rows` reads row by row if there are none.
    pieces: Pieces,
    rows: Option<TableRows<'static>>,
    /// True if there are no more pieces.
    row_by_row: bool,
    /// Known beginnings of pieces: number of the first row, and position in bytes.
    marks: Vec<(u64, u64)>,
}

impl Csv {
    fn of(sheet: Arc<Sheet>) -> Csv {
        Csv {
            pieces: Pieces::new(sheet.text()),
            rows: None,
            row_by_row: false,
            sheet,
            styles: Vec::new(),
            ahead: VecDeque::new(),
            given: 0,
            marks: Vec::new(),
        }
    }

    /// Decodes the next pieces, which begin with row `next`, up to the first piece with an error.
    fn decode(&mut self, roles: &Roles, next: u64) {
        let sheet = &self.sheet;
        let columns = roles.all().map(|(_, column)| column).zip(self.styles.iter().copied());
        let columns: Vec<(usize, Style)> = columns.collect();
        let plain = PlainRow::of(&columns, sheet.columns(), sheet.text().delimiter);
        let decoded = self.pieces.each(|rows| {
            let mut values = vec![Vec::new(); columns.len()];
            let mut row = vec![0.0; columns.len()];
            loop {
                if plain.as_ref().is_some_and(|plain| rows.next_numbers(plain, &mut row)) {
                    values.iter_mut().zip(&row).for_each(|(out, &value)| out.push(value));
                    continue;
                }
                if sheet.next_row(rows).ok()?.is_none() {
                    break;
                }
                for (&(column, style), out) in columns.iter().zip(&mut values) {
                    out.push(style.number_of(rows.field(column))?);
                }
            }
            let sigma = if roles.sigma.is_some() { values.pop() } else { None };
            let y = Column::F64(values.pop()?);
            Some(Chunk { x: values.into_iter().map(Column::F64).collect(), y, sigma })
        });
        let mut row = next;
        for (at, chunk) in decoded {
            if self.marks.last().is_none_or(|&(last, _)| last < row) {
                self.marks.push((row, at));
            }
            row += chunk.len() as u64;
            if !chunk.is_empty() {
                self.ahead.push_back(chunk);
            }
        }
    }

    /// Moves to the first row that begins at or after the byte `near`.
    fn go_to(&mut self, near: u64) {
        self.pieces.go_to(near);
        self.ahead.clear();
        (self.given, self.rows, self.row_by_row) = (0, None, false);
    }

    /// Marks `count` decoded points as returned.
    fn pass(&mut self, count: usize) {
        self.given += count;
        if self.ahead.front().is_some_and(|decoded| decoded.len() == self.given) {
            (self.given, _) = (0, self.ahead.pop_front());
        }
    }

    fn place(&self, row: u64, column: usize) -> String {
        let sheet = &self.sheet;
        let near = || {
            let mut rows = sheet.rows().ok()?;
            (0..row).try_for_each(|_| sheet.next_row(&mut rows).ok()?.map(drop))?;
            sheet.next_row(&mut rows).ok()?
        };
        // If the row cannot be read, the position is the name of the file.
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
        let near = self.sheet.rows()?.near();
        self.go_to(near);
        Ok(())
    }

    /// Reads decoded rows of one piece, or decodes one row.
    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        if self.ahead.is_empty() && !self.row_by_row {
            if let Some(near) = self.rows.as_ref().map(TableRows::near) {
                self.go_to(near);
            }
            self.decode(roles, next);
            self.row_by_row = self.ahead.is_empty();
        }
        if let Some(decoded) = self.ahead.front() {
            let count = most.min(decoded.len() - self.given);
            chunk.append(decoded, self.given..self.given + count);
            self.pass(count);
            return Ok(count);
        }
        let rows = self.rows.get_or_insert_with(|| self.sheet.text().rows(self.pieces.at));
        let Some(near) = self.sheet.next_row(rows)? else { return Ok(0) };
        for ((role, column), style) in roles.all().zip(&self.styles) {
            let Some(value) = style.number_of(rows.field(column)) else {
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

    /// Skips rows without decoding their numbers; only the number of fields is checked. If one of the skipped rows is
    /// the known beginning of a piece, the reader moves there directly.
    fn skip(&mut self, next: u64, count: u64) -> Result<u64, SourceError> {
        let known = self.marks.partition_point(|&(row, _)| row <= next + count);
        if let Some(&(row, at)) =
            known.checked_sub(1).map(|i| &self.marks[i]).filter(|m| m.0 > next)
        {
            self.go_to(at);
            return Ok(row - next);
        }
        if let Some(decoded) = self.ahead.front() {
            let passed = count.min((decoded.len() - self.given) as u64);
            self.pass(passed as usize);
            return Ok(passed);
        }
        let rows = self.rows.get_or_insert_with(|| self.sheet.text().rows(self.pieces.at));
        Ok(self.sheet.next_row(rows)?.map_or(0, |_| 1))
    }

    fn has_names(&self) -> bool {
        self.sheet.names.is_some()
    }

    /// Detects columns of times from the first value that is not missing. Columns of words are detected later, when
    /// they are read as numbers.
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
