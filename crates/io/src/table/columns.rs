//! The table of a file: its columns by name, with numbers, times or words.

use super::input;
use super::keys::ColumnKeys;
use super::reader::{Columns, Result};
use super::times::Times;
#[cfg(feature = "csv")]
use crate::csv::CsvOptions;
use crate::error::{TableError, without_unit};
use crate::format::cell::Cell;
use crate::format::roles::{ColumnKey, Key};
use crate::moment::Moment;
use crate::side_by_side::lock;
use dualfit::error::SourceError;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A table: columns with names, from a text (CSV, TSV, other), a NumPy, a Parquet or an Arrow file.
///
/// The format is detected from the first bytes of the file, and the layout of text from its contents: delimiter,
/// preamble, units, decimal commas ([`CsvOptions::detected`](crate::CsvOptions::detected)). Text needs the feature
/// `csv`; Parquet and Arrow need the features of the same names. A column is read when it is used, so that unused
/// columns cost nothing; the file must not change until then. Clones share the file.
///
/// ```
/// # #[cfg(feature = "csv")] {
/// use dualfit::CurveFit;
/// use dualfit_io::Table;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("decay.csv");
/// # std::fs::write(&path, "t,y,s\n0,3.5,0.1\n1,2.0,0.1\n2,1.2,0.1\n3,0.9,0.1\n4,0.6,0.1\n")?;
/// let set = Table::read(&path)?.data("t", "y")?.sigma_column("s")?;
/// let fit = CurveFit::new(|t, [a, rate]| a * (-rate * t).exp()).fit(set.data()?, [1.0, 1.0])?;
/// assert!(fit.converged());
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Table {
    file: Arc<TableFile>,
}

struct TableFile {
    place: String,
    names: Vec<String>,
    has_names: bool,
    /// The reader that is cloned for each use.
    columns: Mutex<Box<dyn Columns>>,
}

impl Table {
    /// Opens the table of a file, or of a pipe that contains text.
    ///
    /// # Errors
    /// [`TableError::Source`](crate::TableError::Source) if the file cannot be read, is damaged, is ambiguous, or has
    /// fewer than two columns; [`TableError::FeatureOff`] if the crate was built without the feature for its format.
    pub fn read(path: impl AsRef<Path>) -> Result<Table> {
        #[cfg(feature = "csv")]
        let options = CsvOptions::detected();
        #[cfg(not(feature = "csv"))]
        let options = ();
        Ok(Table::new(path.as_ref().display().to_string(), input::open(path.as_ref(), options)?))
    }

    /// Opens the table of a file. `options`: the known properties of its layout if the file is text.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[cfg(feature = "csv")]
    pub fn read_with(path: impl AsRef<Path>, options: CsvOptions) -> Result<Table> {
        Ok(Table::new(path.as_ref().display().to_string(), input::open(path.as_ref(), options)?))
    }

    /// Reads the table of a text from another source, for example standard input or bytes in memory, up to 1 GiB.
    /// `name`: the name in error messages.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[cfg(feature = "csv")]
    pub fn from_reader(name: &str, text: impl std::io::Read, options: CsvOptions) -> Result<Table> {
        Ok(Table::new(name.into(), input::text_of(name, text, options)?))
    }

    fn new(place: String, columns: Box<dyn Columns>) -> Table {
        let on_a_line = |name: &String| name.split_whitespace().collect::<Vec<_>>().join(" ");
        let names = columns.names().iter().map(on_a_line).collect();
        let has_names = columns.has_names();
        Table {
            file: Arc::new(TableFile { place, names, has_names, columns: Mutex::new(columns) }),
        }
    }

    /// Returns the names of the columns, in the order of the file. Columns without names have their numbers, from 0.
    pub fn names(&self) -> &[String] {
        &self.file.names
    }

    /// Returns true if the columns have names.
    pub fn has_names(&self) -> bool {
        self.file.has_names
    }

    /// Returns the number of the column with this name, from 0. If no name is equal, a name that differs only in
    /// capital letters or in a unit is accepted, such as `Time (s)` for `time`, unless several columns match.
    ///
    /// # Errors
    /// [`TableError::UnknownColumn`], [`TableError::ColumnNumber`] or [`TableError::SameName`].
    pub fn find(&self, key: impl ColumnKey) -> Result<usize> {
        self.number_of(key.key())
    }

    fn number_of(&self, key: Key<'_>) -> Result<usize, TableError> {
        let TableFile { place, names, .. } = &*self.file;
        let place = place.clone();
        let asked = match key {
            Key::Number(number) if number < names.len() => return Ok(number),
            Key::Number(number) => {
                return Err(TableError::ColumnNumber { place, number, count: names.len() });
            }
            Key::Name(asked) => asked,
        };
        let tests: [&dyn Fn(&str) -> bool; 4] = [
            &|name| name == asked,
            &|name| without_unit(name) == asked,
            &|name| name.eq_ignore_ascii_case(asked),
            &|name| without_unit(name).eq_ignore_ascii_case(asked),
        ];
        for test in tests {
            let mut found = (0..names.len()).filter(|&column| test(&names[column]));
            match (found.next(), found.next()) {
                (Some(only), None) => return Ok(only),
                (Some(first), Some(second)) => {
                    return Err(TableError::SameName { place, name: asked.into(), first, second });
                }
                _ => {}
            }
        }
        Err(TableError::UnknownColumn { place, name: asked.into(), known: names.clone() })
    }

    pub(super) fn numbers_of(&self, keys: impl ColumnKeys) -> Result<Vec<usize>> {
        keys.keys().into_iter().map(|key| self.number_of(key)).collect()
    }

    /// Reads the values of columns, one per row. Missing numbers are NaN. Dates and times are converted to seconds
    /// since the first value of the column, which [`origin`](Table::origin) returns.
    ///
    /// Dates and times in text have the form of ISO 8601, one kind per column: `2026-02-01`, `18:30:00`,
    /// `2026-02-01 18:30:00`, `2026-02-01T18:30:00+01:00`. Dates may also be in the order of `CsvOptions::date_order`,
    /// or contain the English name of the month: `13.02.2026`, `13-Feb-2026`. Times with an offset from UTC are
    /// instants, so that daylight saving time does not affect the differences. Times without an offset are assumed to
    /// come from a clock that is never adjusted.
    ///
    /// # Errors
    /// The errors of [`find`](Table::find); [`TableError::Source`](crate::TableError::Source) with the position of a
    /// value that is not a number, or if the file has no row or cannot be read;
    /// [`TableError::Changed`](crate::TableError::Changed) if the file changed; [`TableError::Time`] for a text that is
    /// not a date or time, is ambiguous, or is of another kind than the first, and for times of day without dates that
    /// decrease, as at midnight.
    pub fn columns(&self, columns: impl ColumnKeys) -> Result<Vec<Vec<f64>>> {
        self.values(&self.numbers_of(columns)?)
    }

    pub(super) fn values(&self, columns: &[usize]) -> Result<Vec<Vec<f64>>> {
        let mut reader = self.reader();
        let other = reader.has_no_numbers(columns)?;
        let pairs = || columns.iter().zip(&other);
        let plain: Vec<usize> = pairs().filter(|(_, other)| !**other).map(|(c, _)| *c).collect();
        let mut plain = reader.numbers(&plain)?.into_iter();
        let values = pairs().map(|(&column, other)| match other {
            true => Ok(self.times(&mut *reader, column, |_| true)?.seconds),
            false => Ok(plain.next().unwrap_or_default()),
        });
        let values: Vec<Vec<f64>> = values.collect::<Result<_>>()?;
        match values.first().is_some_and(Vec::is_empty) {
            true => {
                let what = "has a row of names and no numbers below it; give at least one row";
                Err(SourceError::new(&self.file.place, what).into())
            }
            false => Ok(values),
        }
    }

    /// Returns the first value of a column of dates or times, from which [`columns`](Table::columns) counts the others;
    /// `None` for a column of numbers.
    ///
    /// # Errors
    /// The errors of [`columns`](Table::columns).
    pub fn origin(&self, column: impl ColumnKey) -> Result<Option<Moment>> {
        let column = self.find(column)?;
        let mut reader = self.reader();
        match reader.has_no_numbers(&[column])?.contains(&true) {
            true => Ok(self.times(&mut *reader, column, |times| times.first.is_none())?.first),
            false => Ok(None),
        }
    }

    /// Reads the times of a column until `wants` returns false.
    fn times(
        &self,
        reader: &mut dyn Columns,
        column: usize,
        wants: impl Fn(&Times) -> bool,
    ) -> Result<Times> {
        let mut times = Times::new(reader.date_order());
        let mut wrong = None;
        reader.cells(column, &mut |cell| {
            wrong = times.add(cell).err();
            wrong.is_none() && wants(&times)
        })?;
        let Some((text, fault)) = wrong else { return Ok(times) };
        let (row, column_name) = (times.seconds.len() as u64, self.names()[column].clone());
        if let Some(fault) = fault {
            let place = self.place(row, column);
            return Err(TableError::Time { place, column: column_name, text, fault });
        }
        let words = format!("holds words, as \"{text}\"; choose columns of numbers");
        Err(TableError::Source(match self.line(row, column) {
            Some(line) => SourceError::new(line, format!("column \"{column_name}\" {words}")),
            None => {
                SourceError::new(&self.file.place, format!("it {words}")).in_column(column_name)
            }
        }))
    }

    /// Returns the values of a column as text, without surrounding spaces: values of a text file as written; in other
    /// formats, numbers with the fewest digits and times in ISO 8601. Missing values are empty texts.
    ///
    /// # Errors
    /// The errors of [`columns`](Table::columns).
    pub fn words(&self, column: impl ColumnKey) -> Result<Vec<String>> {
        let column = self.find(column)?;
        let mut words = Vec::new();
        let mut reader = self.reader();
        let are_cells = reader.cells(column, &mut |cell| {
            words.push(match cell {
                Cell::Missing => String::new(),
                Cell::Text(text) => text.to_owned(),
                Cell::Time(moment) => moment.to_string(),
                Cell::Whole(number) => number.to_string(),
            });
            true
        })?;
        if !are_cells {
            let numbers = reader.numbers(&[column])?;
            let written = |v: &f64| if v.is_nan() { String::new() } else { v.to_string() };
            words = numbers.iter().flatten().map(written).collect();
        }
        Ok(words)
    }

    /// Returns the uncertain properties that were detected in a text and in the numbers of these columns, each with its
    /// position: `data.csv:2: taken for units`.
    ///
    /// # Errors
    /// The errors of [`columns`](Table::columns).
    pub fn notes(&self, columns: impl ColumnKeys) -> Result<Vec<String>> {
        Ok(self.reader().notes(&self.numbers_of(columns)?)?)
    }

    /// Returns the position of a value in a text: `data.csv:17:3`, with line and character as editors count them;
    /// `None` in other formats. `row` and `column` are counted from 0.
    pub fn line(&self, row: u64, column: usize) -> Option<String> {
        self.reader().line(row, column)
    }

    pub(super) fn place(&self, row: u64, column: usize) -> String {
        let elsewhere =
            || format!("{}, row {row}, column {}", self.file.place, self.names()[column]);
        self.line(row, column).unwrap_or_else(elsewhere)
    }

    fn reader(&self) -> Box<dyn Columns> {
        lock(&self.file.columns).again()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("file", &self.file.place)
            .field("names", &self.file.names)
            .finish()
    }
}
