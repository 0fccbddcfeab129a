//! The number that a field of a text table is, in the style in which its column is written.

use crate::arguments::Thousands;

/// What stands where a value is missing, in lower case.
const MISSING: [&str; 13] =
    ["", "na", "n/a", "#n/a", "null", "none", "nil", "-", "--", "---", "?", "missing", "."];

/// What a field looks like before its style is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Missing,
    /// A number in some style.
    Number,
    /// No number, though it begins as one: a date, a number with its unit.
    Value,
    Word,
}

impl Kind {
    pub(super) fn of(field: &str) -> Kind {
        let text = unquoted(field);
        if Marks::of(text).is_some() {
            Kind::Number
        } else if is_missing(text) {
            Kind::Missing
        } else if text.parse::<f64>().is_ok() {
            Kind::Number
        } else if unsigned(text).trim_start_matches(['.', ',']).starts_with(digit) {
            Kind::Value
        } else {
            Kind::Word
        }
    }
}

/// What the commas and points in a number say of the style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    None,
    /// `1.5`: no group of thousands.
    DecimalPoint,
    /// `1,5`
    DecimalComma,
    /// `1,234,567` or `1,234.5`
    CommaGroups,
    /// `1.234.567` or `1.234,5`
    PointGroups,
    /// `1.234`, which may be 1234.
    EitherPoint,
    /// `1,234`, which may be 1.234.
    EitherComma,
}

impl Marks {
    /// Of a text of digits, commas and points, with a sign and an exponent if there are any.
    pub(super) fn of(text: &str) -> Option<Marks> {
        let (mut commas, mut points, mut digits, mut end) = (0, 0, 0, None);
        let number = unsigned(text);
        for (at, byte) in number.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => digits += 1,
                b',' => commas += 1,
                b'.' => points += 1,
                b'e' | b'E' | b'd' | b'D' => {
                    end = Some(at);
                    break;
                }
                _ => return None,
            }
        }
        if digits == 0 {
            return None;
        }
        let mantissa = end.map_or(number, |end| &number[..end]);
        let exponent = end.map(|end| unsigned(&number[end + 1..]));
        if exponent.is_some_and(|e| e.is_empty() || !e.chars().all(digit)) {
            return None;
        }
        if commas == 0 && points == 0 {
            return Some(Marks::None);
        }
        let group = exponent.is_none() && grouped(mantissa, &[if commas > 0 { ',' } else { '.' }]);
        match (commas, points) {
            (0, 1) if group => Some(Marks::EitherPoint),
            (1, 0) if group => Some(Marks::EitherComma),
            (0, 1) => Some(Marks::DecimalPoint),
            (1, 0) => (!mantissa.ends_with(',')).then_some(Marks::DecimalComma),
            (0, _) => group.then_some(Marks::PointGroups),
            (_, 0) => group.then_some(Marks::CommaGroups),
            _ if mantissa.rfind('.') > mantissa.rfind(',') => {
                let (whole, _) = halves(mantissa, ['.']);
                (points == 1 && grouped(whole, &[','])).then_some(Marks::CommaGroups)
            }
            _ => {
                let (whole, rest) = halves(mantissa, [',']);
                let is_one = commas == 1 && rest.is_some_and(|rest| !rest.is_empty());
                (is_one && grouped(whole, &['.'])).then_some(Marks::PointGroups)
            }
        }
    }
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) decimal_comma: bool,
    pub(super) thousands: Option<Thousands>,
}

impl Style {
    #[cfg(test)]
    const PLAIN: Style = Style { decimal_comma: false, thousands: None };

    /// The number, NaN for a missing one; `None` for what is neither.
    pub(super) fn number(self, field: &str) -> Option<f64> {
        let text = unquoted(field);
        let decimal = if self.decimal_comma { ',' } else { '.' };
        if self.thousands.is_none() && !self.decimal_comma {
            return plain(text);
        }
        let mut digits = text.to_owned();
        if let Some(thousands) = self.thousands {
            let signs = thousands.signs();
            let (whole, rest) = halves(text, [decimal]);
            if whole.contains(signs) {
                if !grouped(unsigned(whole), signs) {
                    return None;
                }
                digits = whole.replace(signs, "");
                digits.extend(rest.map(|rest| format!("{decimal}{rest}")));
            }
        }
        match self.decimal_comma {
            true if digits.contains('.') => is_missing(text).then_some(f64::NAN),
            true => plain(&digits.replacen(',', ".", 1)),
            false => plain(&digits),
        }
    }
}

/// A number with a decimal point, if it has one.
fn plain(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    if is_missing(text) {
        return Some(f64::NAN);
    }
    // Fortran's exponents of double precision.
    let begins = text.starts_with(|c: char| digit(c) || "+-.".contains(c));
    begins.then(|| text.replacen(['d', 'D'], "e", 1).parse().ok())?
}

fn is_missing(text: &str) -> bool {
    if text.len() > 8 {
        return false;
    }
    let lower = text.to_lowercase();
    MISSING.contains(&lower.as_str()) || lower.trim_start_matches(['+', '-']) == "nan"
}

/// Whether digits stand in groups of three, the first of one to three that do not begin with 0.
fn grouped(whole: &str, signs: &[char]) -> bool {
    let mut groups = whole.split(signs);
    let first = groups.next().unwrap_or_default();
    let all_digits = |group: &str| group.chars().all(digit);
    let mut others = groups.peekable();
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && all_digits(first)
        && others.peek().is_some()
        && others.all(|group| group.len() == 3 && all_digits(group))
}

/// What stands before the first of the signs and what stands behind it.
fn halves<const N: usize>(text: &str, signs: [char; N]) -> (&str, Option<&str>) {
    text.split_once(signs).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// Without the spaces around it, and the quotes that stand behind such spaces.
pub(super) fn unquoted(field: &str) -> &str {
    let text = field.trim();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.map_or(text, str::trim)
}

/// What to do about a field that is no number in its column's style, if that can be guessed.
pub(super) fn remedy(field: &str, style: Style) -> Option<&'static str> {
    let text = unquoted(field);
    let is_number = Marks::of(text).is_some();
    let has = |signs: &[char]| text.contains(signs) && text.contains(digit);
    let apart = |signs: &[char]| has(signs) && Marks::of(&text.replace(signs, "")).is_some();
    if style.decimal_comma && has(&['.']) && is_number {
        Some(
            "its column has decimal commas: write all decimals alike, or say --thousands point if the point is no decimal one",
        )
    } else if has(&[',']) && is_number {
        Some(
            "decimals are written with a point, or say --decimal-comma; say --thousands comma if the comma is no decimal one",
        )
    } else if apart(Thousands::Space.signs()) {
        Some("if spaces set the thousands apart, say --thousands space")
    } else if apart(Thousands::Apostrophe.signs()) {
        Some("if apostrophes set the thousands apart, say --thousands apostrophe")
    } else if text.starts_with(digit) && text.ends_with(|c: char| c.is_alphabetic() || c == '%') {
        Some("write the number alone; units belong in the header")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_numbers_missing_or_neither() {
        let read = |text: &str| Style::PLAIN.number(text);
        assert_eq!(read(" -1.5e3 "), Some(-1500.0));
        assert_eq!(read("1.5D-03"), Some(0.0015));
        assert_eq!(read("inf"), Some(f64::INFINITY));
        for missing in ["", "NaN", "NA", "null", "#N/A", " - ", "n/a", "-nan"] {
            assert!(read(missing).is_some_and(f64::is_nan), "{missing}");
        }
        for wrong in ["12,5", "1 2", "abc", "Dd", "12 V", "1e", "0x10", "1,234"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(" \"1.5\""), Some(1.5));
    }

    #[test]
    fn styles_read_their_own_numbers_and_no_others() {
        let style = |decimal_comma, thousands| Style { decimal_comma, thousands };
        let comma = style(true, None);
        assert_eq!(comma.number("12,5"), Some(12.5));
        assert_eq!(comma.number("-,5e-1"), Some(-0.05));
        assert!(comma.number(".").is_some_and(f64::is_nan));
        for wrong in ["1.5", "1.234,5", "1,2,3"] {
            assert_eq!(comma.number(wrong), None, "{wrong}");
        }
        let german = style(true, Some(Thousands::Point));
        assert_eq!(german.number("-1.234.567,5"), Some(-1_234_567.5));
        assert_eq!(german.number("1.234"), Some(1234.0));
        let american = style(false, Some(Thousands::Comma));
        assert_eq!(american.number("1,234.5"), Some(1234.5));
        assert_eq!(american.number("0.25"), Some(0.25));
        for wrong in ["1,23", "12,34.5", "1,2345", "1234,567", "0,123", ",123"] {
            assert_eq!(american.number(wrong), None, "{wrong}");
        }
        assert_eq!(style(false, Some(Thousands::Apostrophe)).number("1'234.5"), Some(1234.5));
        for text in ["1 234 567,5", "1\u{a0}234\u{202f}567,5"] {
            assert_eq!(style(true, Some(Thousands::Space)).number(text), Some(1_234_567.5));
        }
    }

    #[test]
    fn marks_say_what_a_number_can_mean() {
        for (text, marks) in [
            ("12", Marks::None),
            ("1.5", Marks::DecimalPoint),
            ("0.125", Marks::DecimalPoint),
            ("1.234e5", Marks::DecimalPoint),
            ("1234.567", Marks::DecimalPoint),
            ("1,5", Marks::DecimalComma),
            ("-0,125", Marks::DecimalComma),
            (",5", Marks::DecimalComma),
            ("1.234", Marks::EitherPoint),
            ("1,234", Marks::EitherComma),
            ("1,234,567", Marks::CommaGroups),
            ("+1,234.5E3", Marks::CommaGroups),
            ("1.234.567,8", Marks::PointGroups),
        ] {
            assert_eq!(Marks::of(text), Some(marks), "{text}");
        }
        for none in
            ["", ".", "1,2,3", "1.2,3.4", "1e", "2024-01-02", "01.02.2024", "1,", "1.234,", "5 V"]
        {
            assert_eq!(Marks::of(none), None, "{none}");
        }
        let kinds = ["n/a", "1,5", "12:30", "ch1"].map(Kind::of);
        assert_eq!(kinds, [Kind::Missing, Kind::Number, Kind::Value, Kind::Word]);
    }

    #[test]
    fn each_kind_of_mistake_has_its_remedy() {
        let said = |text| remedy(text, Style::PLAIN).unwrap_or_default();
        assert!(said("12,5").contains("--decimal-comma"));
        assert!(said("12 mV").contains("units"));
        assert!(said("1 234.5").contains("--thousands space"));
        assert!(said("1'234").contains("--thousands apostrophe"));
        assert_eq!(said("broken"), "");
        let comma = Style { decimal_comma: true, thousands: None };
        assert!(remedy("1.234", comma).is_some_and(|said| said.contains("--thousands point")));
    }
}
