//! A fit's parameters as a table for other programs: text, CSV, Markdown, HTML.

use super::Fit;
use crate::error::quote::{significant, trimmed};
use std::borrow::Cow;
use std::fmt;

/// Table of parameters with their errors: the result of [`Fit::table`], [`JointFit::table`] and
/// [`BatchFit::table`]. `Display` prints it as aligned text.
///
/// In [`csv`](ParameterTable::csv) numbers have all digits. In the other formats an error has two significant digits,
/// and its value ends at the same decimal place.
///
/// [`JointFit::table`]: crate::JointFit::table
/// [`BatchFit::table`]: crate::BatchFit::table
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterTable {
    heads: Vec<String>,
    rows: Vec<Vec<TableCell>>,
}

/// Contents of a cell; they determine the number of digits shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableCell {
    /// An empty cell.
    Empty,
    Text(String),
    /// A constant text of this crate.
    Words(&'static str),
    Count(usize),
    /// A value and its standard error.
    Value(f64, f64),
    Error(f64),
    /// A relative error: a fraction in CSV, a percentage in the other formats.
    Relative(f64),
    /// A number without an error.
    Plain(f64),
}

/// Number of significant digits of a value without a usable error.
const DIGITS: usize = 8;
/// Maximum number of significant digits of a value, even if its error is smaller.
const MOST_DIGITS: i32 = 17;

impl ParameterTable {
    /// Creates a table. Each row must have as many cells as there are heads.
    pub(crate) fn new(heads: Vec<String>, rows: Vec<Vec<TableCell>>) -> ParameterTable {
        ParameterTable { heads, rows }
    }

    /// Returns comma-separated values (RFC 4180) with a row of heads. Numbers have all digits, so that reading them
    /// restores the same bits. Relative errors are fractions, non-finite numbers `inf` or `NaN`.
    pub fn csv(&self) -> String {
        let quoted = |text: String| match text.contains(['"', ',', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text,
        };
        let line = |cells: &mut dyn Iterator<Item = String>| {
            cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
        };
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(TableCell::exact)));
        line(&mut self.heads.iter().cloned()) + &rows.collect::<String>()
    }

    /// Returns a Markdown table (GitHub syntax) with right-aligned numbers.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.heads.iter().map(|head| in_markdown(head)).collect());
        let side = |column: usize| if self.is_numeric(column) { "---:" } else { "---" };
        text += &line((0..self.heads.len()).map(|column| side(column).to_owned()).collect());
        for row in &self.rows {
            text += &line(row.iter().map(|cell| in_markdown(&cell.shown())).collect());
        }
        text
    }

    /// Returns an HTML `<table>`, which is well-formed XML, too. Cells with numbers have the class `number`.
    pub fn html(&self) -> String {
        let mut text = String::from("<table>\n<thead>\n<tr>");
        for head in &self.heads {
            text += &format!("<th>{}</th>", in_html(head));
        }
        text += "</tr>\n</thead>\n<tbody>\n";
        for row in &self.rows {
            text += "<tr>";
            for cell in row {
                let class = if cell.is_number() { " class=\"number\"" } else { "" };
                text += &format!("<td{class}>{}</td>", in_html(&cell.shown()));
            }
            text += "</tr>\n";
        }
        text + "</tbody>\n</table>\n"
    }

    /// Returns true if a column contains at least one number, and all its other cells are numbers or empty.
    fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().map(|row| &row[column]);
        let filled = |cell: &TableCell| *cell != TableCell::Empty;
        cells.clone().any(filled) && cells.all(|cell| !filled(cell) || cell.is_number())
    }
}

impl fmt::Display for ParameterTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = self.heads.iter().map(|head| on_a_line(head)).collect();
        let shown = |row: &Vec<TableCell>| row.iter().map(|c| on_a_line(&c.shown())).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(shown).collect();
        let right: Vec<bool> = (0..heads.len()).map(|column| self.is_numeric(column)).collect();
        let wide = |column: usize| {
            let cells = rows.iter().map(|row| &row[column]).chain([&heads[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heads.len()).map(wide).collect();
        for (i, row) in std::iter::once(&heads).chain(&rows).enumerate() {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let gap = " ".repeat(widths[column] - cell.chars().count());
                let (before, after) =
                    if right[column] { (gap.as_str(), "") } else { ("", gap.as_str()) };
                line += &format!("{}{before}{cell}{after}", if column == 0 { "" } else { "  " });
            }
            write!(f, "{}{}", if i == 0 { "" } else { "\n" }, line.trim_end())?;
        }
        Ok(())
    }
}

impl TableCell {
    fn is_number(&self) -> bool {
        !matches!(self, TableCell::Empty | TableCell::Text(_) | TableCell::Words(_))
    }

    /// Returns the text of the cell with all digits.
    fn exact(&self) -> String {
        match self {
            TableCell::Value(number, _)
            | TableCell::Error(number)
            | TableCell::Relative(number)
            | TableCell::Plain(number) => match number.abs() {
                0.0 => "0".into(),
                size if (1e-5..1e16).contains(&size) || !size.is_finite() => number.to_string(),
                _ => format!("{number:e}"),
            },
            other => other.shown().into_owned(),
        }
    }

    /// Returns the text of the cell with its significant digits; empty for an error that is 0 or unknown.
    fn shown(&self) -> Cow<'_, str> {
        Cow::Owned(match self {
            TableCell::Empty => String::new(),
            TableCell::Text(text) => return Cow::Borrowed(text),
            TableCell::Words(words) => return Cow::Borrowed(words),
            TableCell::Count(count) => count.to_string(),
            TableCell::Value(value, error) => significant(*value, digits_of(*value, *error)),
            TableCell::Error(error) if *error == 0.0 || error.is_nan() => String::new(),
            TableCell::Error(error) => significant(*error, 2),
            TableCell::Relative(part) => format!("{} %", significant(100.0 * part, 3)),
            TableCell::Plain(number) => trimmed(*number),
        })
    }
}

/// Returns the number of significant digits of a value that ends at the second digit of its error.
fn digits_of(value: f64, error: f64) -> usize {
    let place = |number: f64, digits: usize| -> Option<i32> {
        format!("{number:.*e}", digits - 1).split_once('e')?.1.parse().ok()
    };
    let usable = error > 0.0 && error.is_finite() && value != 0.0 && value.is_finite();
    match (usable, place(value.abs(), 2), place(error, 2)) {
        (true, Some(first), Some(last)) => (first - last + 2).clamp(1, MOST_DIGITS) as usize,
        _ => DIGITS,
    }
}

/// Replaces line breaks, because a cell of text or Markdown is one line.
fn on_a_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\r', '\n'], " ")
}

/// Escapes characters with a meaning in Markdown, or in HTML within Markdown.
fn in_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in on_a_line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '$' | '#' | '!' => {
                escaped.extend(['\\', c]);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

fn in_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

impl Fit {
    /// Returns a table with one row per parameter, followed by the derived quantities. The columns are name, value,
    /// standard error, relative error, start, and a note: `fixed`, `tied: 2*a`, `at lower bound`, `undetermined`,
    /// `error unknown`, `derived`.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 0.3 + 0.1 * (9.0 * x).sin()).collect();
    /// let fit = dualfit::CurveFit::parse("slope*x + offset", ["x"])?
    ///     .fit(dualfit::Data::new(&x, &y)?, [1.0, 0.0])?;
    /// assert_eq!(fit.table().markdown(), "\
    /// | parameter | value | std. error | relative | start | note |
    /// | --- | ---: | ---: | ---: | ---: | --- |
    /// | slope | 1.9953 | 0.0070 | 0.349 % | 1 |  |
    /// | offset | 0.312 | 0.020 | 6.35 % | 0 |  |
    /// ");
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn table(&self) -> ParameterTable {
        let heads = ["parameter", "value", "std. error", "relative", "start", "note"];
        let mut rows = Vec::with_capacity(self.names.len() + self.derived.len());
        for (i, name) in self.names.iter().enumerate() {
            let (value, error) = (self.params[i], self.covariance.errors[i]);
            let note = match (self.ties.formula(i), self.remark(i)) {
                (Some(formula), _) => TableCell::Text(format!("tied: {formula}")),
                (None, Some(remark)) => TableCell::Words(remark),
                (None, None) => TableCell::Empty,
            };
            rows.push(row(name, (value, error), TableCell::Plain(self.start[i]), note));
        }
        for derived in &self.derived {
            let found = (derived.value, derived.std_error);
            rows.push(row(&derived.name, found, TableCell::Empty, TableCell::Words("derived")));
        }
        ParameterTable::new(heads.map(str::to_owned).to_vec(), rows)
    }
}

fn row(
    name: &str,
    (value, error): (f64, f64),
    start: TableCell,
    note: TableCell,
) -> Vec<TableCell> {
    let part = error / value.abs();
    let relative = match part > 0.0 && part.is_finite() {
        true => TableCell::Relative(part),
        false => TableCell::Empty,
    };
    let name = TableCell::Text(name.to_owned());
    vec![name, TableCell::Value(value, error), TableCell::Error(error), relative, start, note]
}
