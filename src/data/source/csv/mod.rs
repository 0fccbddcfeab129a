//! Text tables as a source: comma-, tab- or otherwise separated values.

mod heads;
mod layout;
mod numbers;
mod rows;
mod sheet;

pub use layout::no_text;

use super::format::file::DataFile;
use super::format::roles::{Roles, Target, choosing_columns, expect_chunk};
use super::{Chunk, Shape, Source, Width};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use layout::{Layout, names_in_comment};
use numbers::Style;
use rows::{Contents, Rows, decoded};
use sheet::Sheet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What separates the fields of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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

impl Delimiter {
    fn byte(self) -> u8 {
        match self {
            Delimiter::Comma => b',',
            Delimiter::Semicolon => b';',
            Delimiter::Tab => b'\t',
            Delimiter::Whitespace => b' ',
            Delimiter::Byte(byte) => byte,
        }
    }
}

/// What sets the thousands apart in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thousands {
    /// `1,234.5`
    Comma,
    /// `1.234,5`
    Point,
    /// `1 234.5`, also with a space that does not break, or is thin.
    Space,
    /// `1'234.5`
    Apostrophe,
}

impl Thousands {
    /// The characters that stand for it.
    fn signs(self) -> &'static [char] {
        match self {
            Thousands::Comma => &[','],
            Thousands::Point => &['.'],
            Thousands::Space => &[' ', '\u{a0}', '\u{2009}', '\u{202f}'],
            Thousands::Apostrophe => &['\'', '\u{2019}'],
        }
    }
}

/// How a text table is written. What is `None` is found out, from the beginning of the text or, of numbers,
/// from all of it, which is read once for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// What separates fields. A comma by default.
    pub delimiter: Option<Delimiter>,
    /// Rows above the numbers: the first has the names of the columns, others units and remarks. One by
    /// default; 0 where there is none.
    pub header_rows: Option<usize>,
    /// Lines passed over before the table. None by default.
    pub skip_rows: Option<usize>,
    /// Lines that begin with this byte are passed over. `#` by default; `None` where there are none.
    pub comment: Option<u8>,
    /// Whether decimals are written with a comma. By default they are not.
    pub decimal_comma: Option<bool>,
    /// What sets the thousands apart. By default nothing does; with decimal commas, or where those are found
    /// out, `None` means that this is found out, too.
    pub thousands: Option<Thousands>,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            delimiter: Some(Delimiter::Comma),
            header_rows: Some(1),
            skip_rows: Some(0),
            comment: Some(b'#'),
            decimal_comma: Some(false),
            thousands: None,
        }
    }
}

impl CsvOptions {
    /// All is found out, as instruments and spreadsheets write it: the delimiter, a preamble, rows of names
    /// and units, decimal commas, thousands. What can be read in two ways is refused with the option that
    /// decides; what was taken for granted is in [`CsvSource::notes`].
    pub fn detected() -> CsvOptions {
        CsvOptions {
            delimiter: None,
            header_rows: None,
            skip_rows: None,
            decimal_comma: None,
            ..CsvOptions::default()
        }
    }
}

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
/// let tabs = CsvOptions { delimiter: Some(Delimiter::Tab), ..Default::default() };
/// let source = CsvSource::open_with("run8.txt", tabs)?.x([0, 1])?.y(4)?;
/// let source = CsvSource::open_with("spectrum.txt", CsvOptions::detected())?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
pub struct CsvSource {
    sheet: Arc<Sheet>,
    roles: Roles,
    rows: Rows,
    /// Rows of names and units that have not been passed over.
    heads: usize,
    /// Rows of numbers that have been read.
    row: u64,
    /// How the columns of the roles are written.
    styles: Vec<Style>,
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
    /// As [`open`](CsvSource::open), and if what was to be found out has two answers.
    pub fn open_with(
        path: impl AsRef<Path>,
        options: CsvOptions,
    ) -> Result<CsvSource, SourceError> {
        let path = path.as_ref();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let contents = Contents::File(Arc::new(DataFile::open(path)?));
        CsvSource::new(contents, &extension.to_lowercase(), options)
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
        let contents = Contents::Memory { name: name.into(), bytes: bytes.into() };
        CsvSource::new(contents, "", options)
    }

    fn new(
        contents: Contents,
        extension: &str,
        options: CsvOptions,
    ) -> Result<CsvSource, SourceError> {
        let (text, layout, notes) = Layout::of(contents, extension, &options)?;
        if options.decimal_comma == Some(true) && options.thousands == Some(Thousands::Comma) {
            let what = "a comma cannot mark decimals and thousands";
            return Err(text.error(format!("`decimal_comma` and `thousands: Comma`: {what}")));
        }
        let mut first = text.rows(layout.start);
        if first.next()?.is_none() {
            return Err(text.error("it is empty; a table has at least one row"));
        }
        let count = layout.fields;
        let names = match layout.heads {
            0 => names_in_comment(&text, &layout),
            _ => Some((0..count).map(|column| first.words(column)).collect()),
        };
        let has_names = names.is_some();
        let numbers = || (0..count).map(|column| column.to_string()).collect();
        let roles = Roles::new(names.unwrap_or_else(numbers), &text.contents.name())?;
        let sheet = Sheet { text, options, layout, has_names, notes, survey: None };
        Ok(CsvSource::of(Arc::new(sheet.looked_through()?), roles))
    }

    /// Before the first row of numbers.
    fn of(sheet: Arc<Sheet>, roles: Roles) -> CsvSource {
        let styles = roles.all().map(|(_, column)| sheet.style(column)).collect();
        let (styles, failed) = match styles {
            Ok(styles) => (styles, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let (rows, heads) = (sheet.text.rows(sheet.layout.start), sheet.layout.heads);
        CsvSource { sheet, roles, rows, heads, row: 0, styles, failed }
    }

    /// What was found out of the text, and of the numbers of the columns that were chosen, and may be
    /// otherwise, each with its place: `data.csv:2: taken for units`.
    pub fn notes(&self) -> Vec<String> {
        let of_numbers = self.sheet.notes_of(&self.styles);
        self.sheet.notes.iter().cloned().chain(of_numbers).collect()
    }

    /// Whether columns have names; they are called by their numbers from 0 if not.
    pub fn has_names(&self) -> bool {
        self.sheet.has_names
    }

    /// Where a value of a point, counted from 0, stands: `data.csv:17:3`, line and letter as editors open it.
    pub fn place_of(&self, point: u64, column: usize) -> String {
        let mut source = self.clone();
        source.failed = None;
        for _ in 0..point {
            // What cannot be read has no place.
            let Ok(Some(_)) = source.next_row() else { break };
        }
        match source.next_row() {
            Ok(Some(near)) => self.sheet.text.place(near, column),
            _ => self.place(),
        }
    }

    fn place(&self) -> String {
        self.sheet.text.contents.name()
    }

    fn restart(&mut self) -> Result<(), SourceError> {
        *self = CsvSource::of(self.sheet.clone(), self.roles.clone());
        Ok(())
    }

    /// The next row, which has a field for each column: the byte near which it begins.
    fn next_row(&mut self) -> Result<Option<u64>, SourceError> {
        loop {
            let Some(near) = self.sheet.next_row(&mut self.rows)? else { return Ok(None) };
            if self.heads == 0 {
                self.row += 1;
                return Ok(Some(near));
            }
            self.heads -= 1;
        }
    }

    /// Appends the next point, or nothing.
    fn append(&mut self, chunk: &mut Chunk) -> Result<bool, SourceError> {
        let Some(near) = self.next_row()? else { return Ok(false) };
        let before = chunk.len();
        for ((role, column), style) in self.roles.all().zip(&self.styles) {
            let Some(value) = style.number(&decoded(self.rows.field(column))) else {
                chunk.truncate(before);
                let name = self.roles.name(column);
                return Err(self.sheet.no_number((near, self.row), (column, name), *style));
            };
            match Target::of(chunk, role) {
                Some(Target::F64(out)) => out.push(value),
                Some(Target::F32(out)) => out.push(value as f32),
                None => {}
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

impl Clone for CsvSource {
    /// Before the first row.
    fn clone(&self) -> CsvSource {
        CsvSource::of(self.sheet.clone(), self.roles.clone())
    }
}

impl fmt::Debug for CsvSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("CsvSource");
        parts.field("place", &self.place()).field("roles", &self.roles).finish_non_exhaustive()
    }
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
        let skipped = self.repeat(count, |source| source.next_row().map(|row| row.is_some()))?;
        match &self.failed {
            Some(error) if skipped < count => Err(error.clone()),
            _ => Ok(skipped),
        }
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        match &self.sheet.text.contents {
            Contents::File(file) => file.unchanged(),
            Contents::Memory { .. } => Ok(()),
        }
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let Sheet { options, text, .. } = &*self.sheet;
        Ok(format!("csv {options:?} {}; {}", self.roles.text(), text.contents.fingerprint()?))
    }
}
