//! A text table in memory: every field that is a number, and where each row stands in the text.

use super::layout::{Layout, names_in_comment};
use super::number::{number, remedy};
use super::rows::{Rows, place};
use crate::arguments::TableArguments;
use crate::output::note;
use crate::refusal::{FILE, Outcome, Refusal};
use crate::words::counted;

pub(super) struct Text {
    name: String,
    bytes: Vec<u8>,
    layout: Layout,
    pub(super) names: Vec<String>,
    columns: Vec<Column>,
    /// The byte near which each row begins.
    rows: Vec<usize>,
}

#[derive(Clone, Default)]
struct Column {
    /// NaN where a value is missing or no number.
    values: Vec<f64>,
    /// The first row without a number, with what stands there, and how many there are.
    wrong: Option<(usize, String)>,
    wrongs: usize,
}

impl Text {
    /// `name`: the file as errors name it.
    pub(super) fn read(
        name: &str,
        bytes: Vec<u8>,
        extension: &str,
        asked: &TableArguments,
    ) -> Outcome<Text> {
        let layout = Layout::of(&bytes, extension, asked);
        let (mut columns, mut starts) = (Vec::new(), Vec::new());
        let mut rows = Rows::new(&bytes, layout);
        let mut names = None;
        let mut first = None;
        let damaged = |why: csv::Error| Refusal::file(format!("{name}: {why}"));
        for nth in 0.. {
            let Some(near) = rows.next().map_err(damaged)? else { break };
            let fields = rows.fields();
            let &mut (first, expected) = first.get_or_insert((near, fields));
            if fields != expected {
                let at = |near| place(&bytes, near, &layout, 0).0;
                return Err(Refusal::usage(format!(
                    "{name}:{}: the row has {} where line {} has {expected}; {}",
                    at(near),
                    counted(fields, "field"),
                    at(first),
                    uneven(&layout, nth),
                )));
            }
            if nth == 0 && layout.heads > 0 {
                names = Some((0..fields).map(|column| rows.name(column)).collect());
            }
            if nth < layout.heads {
                if nth == 1 {
                    note(format!("{name}:{}: taken for units", place(&bytes, near, &layout, 0).0));
                }
                continue;
            }
            columns.resize(expected, Column::default());
            for (i, column) in columns.iter_mut().enumerate() {
                column.push(rows.field(i), starts.len(), layout.decimal_comma);
            }
            starts.push(near);
        }
        let Some((_, count)) = first else {
            return Err(Refusal::file(format!("{name}: is empty; a table has rows of numbers")));
        };
        if starts.is_empty() {
            let message = "has a row of names and no numbers below it; give at least one row";
            return Err(Refusal { message: format!("{name}: {message}"), code: FILE });
        }
        let numbers = || (1..=count).map(|column| column.to_string()).collect();
        let names = names.or_else(|| names_in_comment(&bytes, &layout, count));
        let names = names.unwrap_or_else(numbers);
        Ok(Text { name: name.to_owned(), layout, names, columns, rows: starts, bytes })
    }

    /// The values of a column.
    pub(super) fn column(&self, index: usize) -> Outcome<Vec<f64>> {
        let Some(column) = self.columns.get(index) else { return Ok(Vec::new()) };
        let Some((row, text)) = &column.wrong else { return Ok(column.values.clone()) };
        let (place, called) = (self.place(*row, index), &self.names[index]);
        let shown: String = text.chars().take(40).collect();
        Err(Refusal::usage(match column.wrongs == column.values.len() && column.wrongs > 1 {
            true => format!(
                "{place}: column \"{called}\" holds words, as \"{shown}\"; choose columns of numbers with --x and --y"
            ),
            false => {
                let remedy = remedy(text);
                format!("{place}: \"{shown}\" in column \"{called}\" is no number; {remedy}")
            }
        }))
    }

    /// `data.csv:17:3`, as editors open it.
    pub(super) fn place(&self, row: usize, column: usize) -> String {
        let near = self.rows.get(row).copied().unwrap_or(self.bytes.len());
        let (line, column) = place(&self.bytes, near, &self.layout, column);
        format!("{}:{line}:{column}", self.name)
    }
}

impl Column {
    fn push(&mut self, field: &[u8], row: usize, decimal_comma: bool) {
        let value = number(field, decimal_comma);
        if value.is_none() {
            self.wrongs += 1;
            let text = || String::from_utf8_lossy(field.trim_ascii()).into_owned();
            self.wrong.get_or_insert_with(|| (row, text()));
        }
        self.values.push(value.unwrap_or(f64::NAN));
    }
}

/// What to do about the row `nth`, which has another number of fields than the first.
fn uneven(layout: &Layout, nth: usize) -> &'static str {
    use crate::arguments::Delimiter::{Comma, Space};
    match layout.delimiter {
        Space if nth == 1 => "names with spaces in them need another --delimiter, or underscores",
        Comma => "is there a decimal comma, or a quote that is not closed?",
        _ => "put NA where a value is missing, or say the --delimiter",
    }
}
