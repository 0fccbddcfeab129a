//! The place of an offence in a text.

use super::visible::is_unshowable;

/// The part of `text` around `column`, on one line, with a mark under that column. It is short
/// whatever the length of the text: a format width above 65535 would panic.
pub(super) fn excerpt(text: &str, column: usize) -> String {
    let first = column.saturating_sub(60).max(1);
    let shown: String = text.chars().skip(first - 1).take(80).collect();
    let shown = shown.replace(is_unshowable, " ");
    format!("  {}\n  {:>width$}", shown.trim_end(), "^", width = column - first + 1)
}
