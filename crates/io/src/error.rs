//! Errors of tables.

use dualfit::error::{SourceChange, SourceError};
use dualfit::text::{nearest, visible};

/// Result of reading a table.
pub type Result<T, E = TableError> = std::result::Result<T, E>;

/// The reason why a table cannot be read, or does not have the requested columns, times or groups.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file cannot be read, or a number in it is invalid.
    #[error("cannot read the points: {0}")]
    Source(#[from] SourceError),
    /// The columns do not fit together, or a standard deviation is invalid.
    #[error(transparent)]
    Data(#[from] dualfit::Error),
    /// A file changed while it was read.
    #[error("the file changed while it was read: {0}; leave it alone, or read a copy")]
    Changed(#[from] SourceChange),
    /// The program was built without the reader of the file's format.
    #[error(
        "{place}: {format} is read with the feature `{feature}` of the crate dualfit-io: write dualfit-io = {{ version = \"…\", features = [\"{feature}\"] }} in Cargo.toml"
    )]
    FeatureOff {
        /// The file.
        place: String,
        /// The format of the file.
        format: &'static str,
        /// The feature that includes the reader.
        feature: &'static str,
    },
    /// No column has the requested name.
    #[error(
        "{place}: there is no column \"{}\"{}; the columns are {}",
        visible(name),
        meant(name, known),
        listed(known.iter().map(|name| visible(name)))
    )]
    UnknownColumn {
        /// The file.
        place: String,
        /// The requested name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// The table has too few columns for the requested number.
    #[error("{place}: there is no column {number}, only {count} numbered from 0")]
    ColumnNumber {
        /// The file.
        place: String,
        /// The requested number, from 0.
        number: usize,
        /// Number of columns in the table.
        count: usize,
    },
    /// Several columns have the requested name.
    #[error(
        "{place}: columns {first} and {second}, counted from 0, are both called \"{}\"; choose by number",
        visible(name)
    )]
    SameName {
        /// The file.
        place: String,
        /// The requested name.
        name: String,
        /// The first column with this name, from 0.
        first: usize,
        /// The second column with this name, from 0.
        second: usize,
    },
    /// A date or time is ambiguous, invalid, or inconsistent with the values above it.
    #[error("{place}: \"{}\" in column \"{}\" {fault}", visible(text), visible(column))]
    Time {
        /// Position of the text.
        place: String,
        /// The column.
        column: String,
        /// The text.
        text: String,
        /// The problem and the remedy.
        fault: &'static str,
    },
    /// A row has no value in the column of groups.
    #[error(
        "{place}: column \"{}\" has no value ({count} such row(s)), so that the row belongs to no group; write one there, or leave the row out",
        visible(column)
    )]
    NoGroup {
        /// Position of the first row without a value.
        place: String,
        /// The column.
        column: String,
        /// Number of rows without a value.
        count: usize,
    },
}

/// Returns ` (did you mean "time"?)`, or an empty text if no known name is similar.
fn meant(name: &str, known: &[String]) -> String {
    nearest(name, known.iter().map(|known| without_unit(known)))
        .map_or_else(String::new, |meant| format!(" (did you mean \"{}\"?)", visible(meant)))
}

/// Lists the first twenty names, and the number of the others.
pub(crate) fn listed<N: AsRef<str>>(names: impl ExactSizeIterator<Item = N>) -> String {
    const MOST: usize = 20;
    let more = names.len().saturating_sub(MOST);
    let shown = names.take(MOST).fold(String::new(), |shown, name| {
        let comma = if shown.is_empty() { "" } else { ", " };
        shown + comma + name.as_ref()
    });
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Removes the unit from a name: returns `Time` for `Time (s)`, `Time [s]` and `Time / s`.
pub fn without_unit(name: &str) -> &str {
    name.split(['(', '[', '/']).next().map(str::trim).filter(|n| !n.is_empty()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::without_unit;

    #[test]
    fn units_are_no_part_of_a_name() {
        for name in ["Time (s)", "Time [s]", "Time / s", "Time"] {
            assert_eq!(without_unit(name), "Time");
        }
        assert_eq!(without_unit("(s)"), "(s)");
    }
}
