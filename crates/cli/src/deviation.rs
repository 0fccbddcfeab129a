//! Standard deviations of a variable: a column of the table, or one number for all points.
//!
//! A text with only digits is the number of a column, as in all options for columns. Any other number is a constant:
//! `--sigma 3` is column 3, and `--sigma 3.0` is the standard deviation 3.

use crate::refusal::{Outcome, Refusal};
use crate::table::Table;
use crate::words::significant;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Deviation {
    /// Index of the column.
    Column(usize),
    Constant(f64),
}

impl Deviation {
    /// Resolves the value of an option. `may_be_zero`: true if 0 is valid, for an
    /// exact variable.
    pub(crate) fn read(
        table: &Table,
        option: &str,
        asked: &str,
        may_be_zero: bool,
    ) -> Outcome<Deviation> {
        let asked = asked.trim();
        // No column has the number 0: `--x-sigma 0` means an exact variable.
        if is_number_of_column(asked) && asked != "0" {
            let hint = format!("; a constant is written with a decimal point: {option} {asked}.0");
            return table.find(asked).map(Deviation::Column).map_err(|refusal| Refusal {
                message: format!("{}{hint}", refusal.message),
                ..refusal
            });
        }
        let named = table.names.iter().position(|name| name == asked);
        match (asked.parse::<f64>().ok(), named) {
            (Some(value), Some(column)) if value.is_finite() => Err(Refusal::usage(format!(
                "{option} {asked}: it is a number and the name of column {}; write {option} {} for the column, or {option} {value:e} for the number",
                column + 1,
                column + 1
            ))),
            (Some(value), None) => {
                let (valid, which) = match may_be_zero {
                    true => (value >= 0.0, "0 or positive"),
                    false => (value > 0.0, "positive"),
                };
                match valid && value.is_finite() {
                    true => Ok(Deviation::Constant(value)),
                    false => Err(Refusal::usage(format!(
                        "{option} {asked}: a standard deviation is {which} and finite; give such a number, or a column"
                    ))),
                }
            }
            _ => table.find(asked).map(Deviation::Column),
        }
    }

    pub(crate) fn column(self) -> Option<usize> {
        match self {
            Deviation::Column(column) => Some(column),
            Deviation::Constant(_) => None,
        }
    }

    /// Formats the deviation for reports: `from error` or `of 0.1`.
    pub(crate) fn said(self, table: &Table) -> String {
        match self {
            Deviation::Column(column) => format!("from {}", table.called(column)),
            Deviation::Constant(value) => format!("of {}", significant(value, 6)),
        }
    }

    /// Returns the name of the column, or the number.
    pub(crate) fn json(self, table: &Table) -> Value {
        match self {
            Deviation::Column(column) => json!(table.called(column)),
            Deviation::Constant(value) => json!(value),
        }
    }
}

/// Returns true if a text means a column by its number.
pub(crate) fn is_number_of_column(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}
