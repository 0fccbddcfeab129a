//! Wrapper of the library's table with the conventions of the command line: columns are numbered from 1, and messages
//! name options as remedies.

mod choice;

use crate::arguments::TableArguments;
use crate::output::note;
use crate::refusal::{FILE, Outcome, Refusal, USAGE};
use crate::words::visible;
use dualfit_io::{Groups, TableError};
use std::io;
use std::path::Path;
use std::sync::Once;

/// Name of the table on standard input.
const STANDARD_INPUT: &str = "standard input";

pub(crate) struct Table {
    /// The file as errors and reports name it.
    pub(crate) name: String,
    /// Names of the columns; numbers from 1 for columns without names.
    pub(crate) names: Vec<String>,
    table: dualfit_io::Table,
    /// Guard that prints the notes about number formats and time origins only once, when columns are first read.
    told: Once,
}

impl Table {
    /// Opens a table; the path `-` means text on standard input.
    pub(crate) fn open(path: &Path, asked: &TableArguments) -> Outcome<Table> {
        let (name, table) = if path == Path::new("-") {
            let name = String::from(STANDARD_INPUT);
            let table = dualfit_io::Table::from_reader(&name, io::stdin().lock(), asked.text());
            (name, table)
        } else {
            let name = visible(&path.display().to_string()).into_owned();
            (name, dualfit_io::Table::read_with(path, asked.text()))
        };
        let table = table.map_err(|why| refused(&why, &name))?;
        let notes = table.notes([0; 0]).map_err(|why| refused(&why, &name))?;
        notes.iter().for_each(|text| note(as_options(text)));
        let called = |(i, name): (usize, &String)| match table.has_names() && !name.is_empty() {
            true => visible(name).into_owned(),
            false => (i + 1).to_string(),
        };
        let names = table.names().iter().enumerate().map(called).collect();
        Ok(Table { name, names, table, told: Once::new() })
    }

    /// Opens a further table of the same dialect. Options for the rows above the numbers apply to this table only.
    pub(crate) fn open_another(&self, path: &Path, asked: &TableArguments) -> Outcome<Table> {
        let is_read = self.name == STANDARD_INPUT;
        if is_read && path == Path::new("-") {
            return Err(Refusal::usage(
                "standard input is already the table of the points; give a file for the other table",
            ));
        }
        Table::open(path, &asked.of_another_table())
    }

    /// Returns the values of columns; NaN if a value is missing.
    pub(crate) fn columns(&self, wanted: &[usize]) -> Outcome<Vec<Vec<f64>>> {
        let columns = self.table.columns(wanted).map_err(|why| refused(&why, &self.name))?;
        self.told.call_once(|| {
            let told = self.table.notes([0; 0]).unwrap_or_default();
            let notes = self.table.notes(wanted).unwrap_or_default();
            let notes = notes.into_iter().filter(|text| !told.contains(text));
            notes.for_each(|text| note(as_options(&text)));
            for (&column, i) in wanted.iter().zip(0..) {
                if let Some(origin) = self.origin(column).filter(|_| !wanted[..i].contains(&column))
                {
                    note(format!("{} is in seconds since {origin}", self.called(column)));
                }
            }
        });
        Ok(columns)
    }

    /// Returns the first date or time of a column of dates or times. The values of the column are seconds since then.
    pub(crate) fn origin(&self, column: usize) -> Option<String> {
        Some(self.table.origin(column).ok()??.to_string())
    }

    /// Groups the rows with the same value in a column.
    pub(crate) fn groups(&self, column: usize) -> Outcome<Groups> {
        self.table.groups(column).map_err(|why| refused(&why, &self.name))
    }

    /// Returns the location of a value: `data.csv:17:3`, or `data.npy, row 17, column 3`, both from 1.
    pub(crate) fn place(&self, row: usize, column: usize) -> String {
        let name = self.names.get(column).map_or("?", String::as_str);
        let elsewhere = || format!("{}, row {}, column {name}", self.name, row + 1);
        self.table.line(row as u64, column).unwrap_or_else(elsewhere)
    }
}

/// Converts an error of the library about a table. An error with a location in the table, or with an option as its
/// remedy, can be corrected by the user (exit code 2). All others mean that the file is damaged or is not a table
/// (exit code 3).
fn refused(why: &TableError, name: &str) -> Refusal {
    let (said, is_usage) = match why {
        TableError::Source(why) => {
            let within = why.place.strip_prefix(name).is_some_and(|rest| !rest.is_empty());
            (why.to_string(), within || (why.column.is_some() && why.row.is_none()))
        }
        TableError::Data(_) | TableError::Changed(_) => (why.to_string(), false),
        _ => (why.to_string(), true),
    };
    let said = visible(&said).into_owned();
    let message = as_options(&said);
    let is_usage = is_usage || message != said;
    Refusal { message, code: if is_usage { USAGE } else { FILE } }
}

/// Translates options of the library's reader into options of the command line: `skip_rows: 3` becomes --skip-rows 3,
/// and `whitespace` becomes `space`.
fn as_options(text: &str) -> String {
    const OPTIONS: [&str; 6] =
        ["delimiter", "header_rows", "skip_rows", "decimal_comma", "thousands", "date_order"];
    let mut text = text.to_owned();
    for option in OPTIONS {
        while let Some((before, rest)) = text.split_once(&format!("`{option}"))
            && let Some((value, behind)) = rest.split_once('`')
        {
            let value = value.replace(':', "").to_lowercase().replace("whitespace", "space");
            text = format!("{before}--{}{value}{behind}", option.replace('_', "-"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::as_options;

    #[test]
    fn options_are_said_as_on_the_command_line() {
        assert_eq!(
            as_options("say `header_rows: 1` or `thousands: Comma`, or the `delimiter`; not `x`"),
            "say --header-rows 1 or --thousands comma, or the --delimiter; not `x`"
        );
    }
}
