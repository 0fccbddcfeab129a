//! Quotes of names, numbers and texts in messages: shortened, with invisible characters escaped, and with the nearest
//! known name.

use std::borrow::Cow;
use std::fmt;

/// The name and the value of a parameter or variable in an error.
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

/// Formats a number in plain notation from 10⁻⁴ to below 10⁹, otherwise with an exponent.
pub(crate) fn short(value: &f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        magnitude if (1e-4..1e9).contains(&magnitude) => value.to_string(),
        _ if !value.is_finite() => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// Formats an end of a range. The smallest positive normal number is printed as "above 0".
pub(crate) fn end(value: &f64) -> String {
    if *value == f64::MIN_POSITIVE { "above 0".into() } else { short(value) }
}

/// Maximum number of names or values in a list.
pub(super) const MOST_LISTED: usize = 60;

/// Lists the first `most` elements and the number of further elements.
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

/// Returns a hint for the message about an unknown parameter `name` if this name is a constant in formulas; otherwise
/// an empty text.
pub(crate) fn taken_name(name: &str) -> &'static str {
    match name {
        "e" => "; in a text `e` is the number 2.718…: rename the parameter",
        "pi" => "; in a text `pi` is the number 3.141…: rename the parameter",
        _ => "",
    }
}

/// Returns the part of `text` around `column`, on one line, with a mark under this column. Its length is limited:
/// a format width above 65535 would panic.
pub(super) fn excerpt(text: &str, column: usize) -> String {
    let first = column.saturating_sub(60).max(1);
    let shown: String = text.chars().skip(first - 1).take(80).collect();
    let shown = shown.replace(is_unshowable, " ");
    format!("  {}\n  {:>width$}", shown.trim_end(), "^", width = column - first + 1)
}

/// Returns the beginning of a message about a device that was requested by its number.
pub(super) fn asked(ordinal: Option<usize>) -> String {
    ordinal.map_or_else(String::new, |ordinal| format!("device {ordinal} was asked for but "))
}

/// Returns the reason why there are no points.
pub(super) fn emptied(given: usize, omitted: usize) -> String {
    match given {
        0 => "x and y are empty".into(),
        _ => format!("{omitted} of {given} points were masked or omitted"),
    }
}

/// Returns the name among `known` with the smallest edit distance from `asked`, or `None` if all distances are large.
/// The edit distance is the number of inserted, deleted or replaced letters and of exchanged adjacent letters, without
/// regard to case.
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Maximum number of letters that are compared.
    const LONGEST: usize = 40;
    let small = |name: &str| name.to_lowercase().chars().take(LONGEST).collect::<String>();
    let asked = small(asked);
    let letters = asked.chars().count();
    let most = if letters < 2 { 0 } else { 1 + letters / 4 };
    let near = known.into_iter().map(|name| (strsim::osa_distance(&asked, &small(name)), name));
    near.filter(|(letters, _)| *letters <= most).min_by_key(|(letters, _)| *letters).map(|n| n.1)
}

/// Returns true if a character must be escaped for display: it ends a line, changes the text direction, is
/// invisible or is not allowed in XML.
pub(crate) fn is_unshowable(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let hidden =
        matches!(c, '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}');
    let none = matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffc}' | '\u{fffe}' | '\u{ffff}');
    c.is_control() || turns || hidden || none
}

/// Returns the text with unshowable characters written as `\n` or `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unshowable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_unshowable(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Formats `value` with `digits` significant digits: in plain notation from 10⁻⁴ to below 10⁷, else with an
/// exponent.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    // The exponent of the rounded text: 9.9999 with three digits is 10.
    let exponent: i32 = scientific.split('e').nth(1).and_then(|e| e.parse().ok()).unwrap_or(0);
    match exponent {
        -4..=6 => {
            let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
            format!("{value:.decimals$}")
        }
        _ => scientific,
    }
}

/// Formats `value` with at most six significant digits, without trailing zeros.
pub(crate) fn trimmed(value: f64) -> String {
    let text = significant(value, 6);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn names_that_are_nearly_right_are_found() {
        assert_eq!(nearest("kitten", ["sitten"]), Some("sitten"));
        assert_eq!(nearest("kitten", ["sitting"]), None, "three letters of six");
        assert_eq!(nearest("", ["abc"]), None);
        assert_eq!(nearest("fti", ["batch", "fit"]), Some("fit"));
        assert_eq!(nearest("tim", ["signal", "time", "sigma"]), Some("time"));
        assert_eq!(nearest("Signal", ["signal", "time"]), Some("signal"));
        assert_eq!(nearest("A", ["a", "b"]), Some("a"));
        assert_eq!(nearest("c", ["a", "b"]), None);
        assert_eq!(nearest("zebra", ["signal", "time"]), None);
        assert_eq!(nearest("kitten", ["sitting"]), None, "three letters differ");
        assert_eq!(nearest("kitten", ["sittin"]), Some("sittin"), "two do");
    }
}

#[cfg(test)]
mod visible_tests {
    use super::visible;

    #[test]
    fn what_cannot_be_shown_is_written_out() {
        for plain in ["", "a b", "T₂ / ms", "µ", "señal", "温度", "a\\b", "e\u{301}"] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(
            visible("a\nb\u{1}\u{202e}c\u{7f}\u{85}"),
            "a\\nb\\u{1}\\u{202e}c\\u{7f}\\u{85}"
        );
    }
}

#[cfg(test)]
mod significant_tests {
    use super::significant;

    #[test]
    fn numbers_keep_their_significant_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1.00"),
            (-1234.5, "-1234"),
            (0.000_123_456, "0.000123"),
            (0.000_012_345, "1.23e-5"),
            (9.9999, "10.0"),
            (1e200, "1.00e200"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value, 3), text);
        }
    }
}
