//! A value of a column as written in its file.

use crate::moment::Moment;

/// Texts for missing values, in lower case.
const MISSING: [&str; 13] =
    ["", "na", "n/a", "#n/a", "null", "none", "nil", "-", "--", "---", "?", "missing", "."];

/// A value that is not a number, or an integer that f64 may not represent exactly.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "parquet", feature = "arrow")),
    expect(dead_code, reason = "text has words only")
)]
pub(crate) enum Cell<'a> {
    Missing,
    /// A text without surrounding spaces; in text tables, a value of any kind.
    Text(&'a str),
    Time(Moment),
    Whole(i128),
}

/// Returns true if a text stands for a missing value.
pub(crate) fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|word| word.eq_ignore_ascii_case(text))
        || text.strip_prefix(['+', '-']).unwrap_or(text).eq_ignore_ascii_case("nan")
}
