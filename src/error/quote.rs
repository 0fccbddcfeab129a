//! Quotes of names, numbers and texts in messages.

use super::visible::is_unshowable;
use std::fmt;

/// A name and the value it had, as errors quote parameters and variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Name of the parameter or variable.
    pub name: String,
    /// Its value when the error was found.
    pub value: f64,
}

/// A list of named values, printed as `a = 1, b = 2`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedValues(pub Vec<Named>);

/// A number as it is, or with an exponent where that is much shorter.
pub(crate) fn short(value: &f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        magnitude if (1e-4..1e9).contains(&magnitude) => value.to_string(),
        _ if !value.is_finite() => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// An end of a range; the least positive number stands for all that is above 0.
pub(crate) fn end(value: &f64) -> String {
    if *value == f64::MIN_POSITIVE { "above 0".into() } else { short(value) }
}

/// Names and values that are listed at most.
pub(super) const MOST_LISTED: usize = 60;

/// The first of many things, and how many more there are.
pub(super) fn listed(all: impl ExactSizeIterator<Item = impl fmt::Display>, most: usize) -> String {
    let more = all.len().saturating_sub(most);
    let shown: Vec<String> = all.take(most).map(|one| one.to_string()).collect();
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

impl NamedValues {
    pub(crate) fn new<S: AsRef<str>>(names: &[S], values: &[f64]) -> Self {
        let pairs = names.iter().zip(values);
        NamedValues(pairs.map(|(n, &value)| Named { name: n.as_ref().to_owned(), value }).collect())
    }
}

impl fmt::Display for NamedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = |Named { name, value }: &Named| format!("{name} = {}", short(value));
        f.write_str(&listed(self.0.iter().map(pair), MOST_LISTED))
    }
}

/// Addition to the message if `name` is not a parameter of the model: in a formula
/// it may be a constant.
pub(crate) fn taken_name(name: &str) -> &'static str {
    match name {
        "e" => "; in a text `e` is the number 2.718…: rename the parameter",
        "pi" => "; in a text `pi` is the number 3.141…: rename the parameter",
        _ => "",
    }
}

/// The part of `text` around `column`, on one line, with a mark under that column. It is short
/// for texts of any length: a format width above 65535 would panic.
pub(super) fn excerpt(text: &str, column: usize) -> String {
    let first = column.saturating_sub(60).max(1);
    let shown: String = text.chars().skip(first - 1).take(80).collect();
    let shown = shown.replace(is_unshowable, " ");
    format!("  {}\n  {:>width$}", shown.trim_end(), "^", width = column - first + 1)
}

/// The device that was requested by its number.
pub(super) fn asked(ordinal: Option<usize>) -> String {
    ordinal.map_or_else(String::new, |ordinal| format!("device {ordinal} was asked for but "))
}

/// Why there are no points.
pub(super) fn emptied(given: usize, omitted: usize) -> String {
    match given {
        0 => "x and y are empty".into(),
        _ => format!("{omitted} of {given} points were masked or omitted"),
    }
}
