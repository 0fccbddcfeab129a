//! Numbers in text tables: kinds of fields, detection of the number format of a column, and conversion to values.

use super::options::{CsvOptions, Thousands};
use super::short::short;
use crate::csv::quotes::{decoded, unquoted};
use crate::format::cell::is_missing;
use std::borrow::Cow;

/// Kind of a field before its number format is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Missing,
    /// A number in some format.
    Number,
    /// A text that begins like a number but is not one: a date, a number with its unit.
    Value,
    Word,
}

impl FieldKind {
    pub(super) fn of(field: &str) -> FieldKind {
        let text = unquoted(field);
        if Marks::of(text).is_some() {
            FieldKind::Number
        } else if is_missing(text) {
            FieldKind::Missing
        } else if text.parse::<f64>().is_ok() {
            FieldKind::Number
        } else if unsigned(text).trim_start_matches(['.', ',']).starts_with(digit) {
            FieldKind::Value
        } else {
            FieldKind::Word
        }
    }
}

/// Classification of a number by its commas and points, which determine the possible number formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    None,
    /// `1.5`: the point cannot separate thousands.
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
    /// Classifies a number, which may have a sign and an exponent. `None` if no format can read the text.
    pub(super) fn of(text: &str) -> Option<Marks> {
        // A text without a digit, such as infinity, is not a number; nor is a text that ends with a comma.
        if !text.contains(digit) || text.ends_with(',') {
            return None;
        }
        // Fast path for numbers in the syntax of Rust, which can have only three of the marks.
        if text.parse::<f64>().is_ok() {
            let may_be_groups = || grouped(unsigned(text), Thousands::Point.signs());
            return Some(match text.contains('.') {
                false => Marks::None,
                true if may_be_groups() => Marks::EitherPoint,
                true => Marks::DecimalPoint,
            });
        }
        let reads =
            |decimal_comma, thousands| Style { decimal_comma, thousands }.number(text).is_some();
        let points = [None, Some(Thousands::Comma)].map(|thousands| reads(false, thousands));
        let commas = [None, Some(Thousands::Point)].map(|thousands| reads(true, thousands));
        match (points, commas) {
            ([true, true], [true, true]) => Some(Marks::None),
            ([true, true], [false, false]) => Some(Marks::DecimalPoint),
            ([false, false], [true, true]) => Some(Marks::DecimalComma),
            ([false, true], [false, false]) => Some(Marks::CommaGroups),
            ([false, false], [false, true]) => Some(Marks::PointGroups),
            ([true, true], [false, true]) => Some(Marks::EitherPoint),
            ([false, true], [true, true]) => Some(Marks::EitherComma),
            _ => None,
        }
    }
}

/// Number format of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) decimal_comma: bool,
    pub(super) thousands: Option<Thousands>,
}

impl Style {
    /// Numbers as in Rust or C.
    pub(super) const PLAIN: Style = Style { decimal_comma: false, thousands: None };

    /// Parses the bytes of a field like [`number`](Style::number).
    pub(super) fn number_of(self, field: &[u8]) -> Option<f64> {
        match short(field, self.decimal()) {
            Some((value, [])) => Some(value),
            _ => self.number(&decoded(field)),
        }
    }

    /// Returns the decimal separator.
    pub(super) fn decimal(self) -> u8 {
        if self.decimal_comma { b',' } else { b'.' }
    }

    /// Parses a number; NaN for a missing value, `None` for other texts.
    pub(super) fn number(self, field: &str) -> Option<f64> {
        let text = unquoted(field);
        let decimal = if self.decimal_comma { ',' } else { '.' };
        let (whole, rest) = match text.split_once(decimal) {
            Some((whole, rest)) => (whole, Some(rest)),
            None => (text, None),
        };
        let mut digits = Cow::Borrowed(text);
        if let Some(signs) = self.thousands.map(Thousands::signs)
            && whole.contains(signs)
        {
            if !grouped(unsigned(whole), signs) {
                return None;
            }
            let mut without = whole.replace(signs, "");
            without.extend(rest.map(|rest| format!("{decimal}{rest}")));
            digits = Cow::Owned(without);
        }
        match self.decimal_comma {
            true if digits.contains('.') => is_missing(text).then_some(f64::NAN),
            true => plain(&digits.replacen(',', ".", 1)),
            false => plain(&digits),
        }
    }
}

/// Parses a number whose decimal separator is a point.
fn plain(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    if is_missing(text) {
        return Some(f64::NAN);
    }
    // Exponents of double precision in Fortran: `1D-3`.
    let begins = text.starts_with(|c: char| digit(c) || "+-.".contains(c));
    begins.then(|| text.replacen(['d', 'D'], "e", 1).parse().ok())?
}

/// Returns true if `signs` divide digits into groups of three. The first group has one to three digits and does not
/// begin with 0.
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

fn digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// Returns the likely remedy for a field that is not a number in the format of its column, if there is one.
pub(super) fn remedy(field: &str, style: Style) -> Option<&'static str> {
    let text = unquoted(field);
    let is_number = Marks::of(text).is_some();
    let has = |signs: &[char]| text.contains(signs) && text.contains(digit);
    let apart = |signs: &[char]| has(signs) && Marks::of(&text.replace(signs, "")).is_some();
    if style.decimal_comma && has(&['.']) && is_number {
        Some(
            "its column has decimal commas: write all decimals alike, or say `thousands: Point` if the point is no decimal one",
        )
    } else if has(&[',']) && is_number {
        Some(
            "decimals are written with a point, or say `decimal_comma`; say `thousands: Comma` if the comma is no decimal one",
        )
    } else if apart(Thousands::Space.signs()) {
        Some("if spaces set the thousands apart, say `thousands: Space`")
    } else if apart(Thousands::Apostrophe.signs()) {
        Some("if apostrophes set the thousands apart, say `thousands: Apostrophe`")
    } else if text.starts_with(digit) && text.ends_with(|c: char| c.is_alphabetic() || c == '%') {
        Some("write the number alone; units belong in the header")
    } else {
        None
    }
}

/// The reason why the number format of a column is ambiguous or contradictory.
#[derive(Debug, PartialEq)]
pub(super) struct Doubt {
    pub(super) row: u64,
    pub(super) what: &'static str,
    /// A row that contradicts `row`.
    pub(super) other: Option<u64>,
    pub(super) remedy: &'static str,
}

/// First number of each column with each kind of [`Marks`]: the position, in bytes, near which the row of the number
/// begins.
pub(super) struct MarkSurvey {
    columns: Vec<[Option<u64>; 7]>,
    /// For each kind of [`Marks`], the row of the first number in any column, and the index of this column.
    all: [Option<(u64, usize)>; 7],
}

impl MarkSurvey {
    pub(super) fn new(columns: usize) -> MarkSurvey {
        MarkSurvey { columns: vec![[None; 7]; columns], all: [None; 7] }
    }

    /// Adds a field. `apart`: characters that can only separate thousands; they are ignored.
    pub(super) fn add(&mut self, column: usize, near: u64, field: &str, apart: Option<Thousands>) {
        let marks = match apart {
            None => Marks::of(unquoted(field)),
            Some(thousands) => Marks::of(&unquoted(field).replace(thousands.signs(), "")),
        };
        if let Some(marks) = marks {
            self.columns[column][marks as usize].get_or_insert(near);
            self.all[marks as usize].get_or_insert((near, column));
        }
    }

    /// Adds the survey of the rows that follow.
    pub(super) fn append(&mut self, next: MarkSurvey) {
        for (own, next) in self.columns.iter_mut().flatten().zip(next.columns.iter().flatten()) {
            *own = own.or(*next);
        }
        for (own, next) in self.all.iter_mut().zip(next.all) {
            *own = own.or(next);
        }
    }

    /// Returns the row and the column of the first number with the marks `marks[0]`; if there is no such number, of the
    /// first number with `marks[1]`.
    pub(super) fn place(&self, marks: [Marks; 2]) -> Option<(u64, usize)> {
        marks.into_iter().find_map(|marks| self.all[marks as usize])
    }

    /// Returns the number format of a column, determined by its own numbers or else by the numbers of all columns.
    pub(super) fn style(&self, column: usize, options: &CsvOptions) -> Result<Style, Doubt> {
        use Marks::{
            CommaGroups, DecimalComma, DecimalPoint, EitherComma, EitherPoint, PointGroups,
        };
        let own = |marks: Marks| self.columns[column][marks as usize];
        let thousands = options.thousands;
        let asked = match (options.decimal_comma, thousands) {
            (Some(true), _) | (_, Some(Thousands::Point)) => Some(true),
            (_, Some(Thousands::Comma)) => Some(false),
            (said, _) => said,
        };
        let (commas, points) = ([DecimalComma, PointGroups], [DecimalPoint, CommaGroups]);
        let first = |marks: [Marks; 2]| marks.into_iter().find_map(own);
        let decimal_comma = match (asked, first(commas), first(points)) {
            (Some(asked), ..) => asked,
            (None, Some(comma), Some(point)) => {
                let (row, what) = match comma < point {
                    true => (point, "has a decimal point"),
                    false => (comma, "has a decimal comma"),
                };
                let remedy = "write all decimals alike, or say `decimal_comma` or `thousands`";
                return Err(Doubt { row, what, other: Some(comma.min(point)), remedy });
            }
            (None, Some(_), None) => true,
            (None, None, Some(_)) => false,
            (None, None, None) => {
                let has_commas = self.place(commas).is_some();
                let has_points = self.place(points).is_some();
                // In a column with integers 1.234 may be 1234, unless another number certainly has a decimal separator.
                let doubtful = own(EitherPoint).zip(own(Marks::None));
                if let Some((row, whole)) = doubtful.filter(|_| !has_commas && !has_points) {
                    let what = "may have a decimal point or set thousands apart";
                    let remedy = "say `thousands: Point`, or `thousands: Comma` if the point is a decimal one";
                    return Err(Doubt { row, what, other: Some(whole), remedy });
                }
                // The column has only integers and numbers such as 1.234: the other columns decide.
                has_commas && !has_points
            }
        };
        let (groups, sign, either, what, remedy) = match decimal_comma {
            true => (
                PointGroups,
                Thousands::Point,
                EitherPoint,
                "may have a decimal point or set thousands apart, in a table of decimal commas",
                "say `thousands: Point`, or write all decimals alike",
            ),
            false => (
                CommaGroups,
                Thousands::Comma,
                EitherComma,
                "may have a decimal comma or set thousands apart",
                "say `decimal_comma` or `thousands: Comma`",
            ),
        };
        let has_groups = self.place([groups; 2]).is_some();
        let thousands = thousands.or(has_groups.then_some(sign));
        match own(either).filter(|_| thousands != Some(sign)) {
            None => Ok(Style { decimal_comma, thousands }),
            Some(row) => Err(Doubt { row, what, other: None, remedy }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let kinds = ["n/a", "1,5", "12:30", "ch1"].map(FieldKind::of);
        assert_eq!(
            kinds,
            [FieldKind::Missing, FieldKind::Number, FieldKind::Value, FieldKind::Word]
        );
    }

    #[test]
    fn each_kind_of_mistake_has_its_remedy() {
        let said = |text| remedy(text, Style::PLAIN).unwrap_or_default();
        assert!(said("12,5").contains("`decimal_comma`"));
        assert!(said("12 mV").contains("units"));
        assert!(said("1 234.5").contains("`thousands: Space`"));
        assert!(said("1'234").contains("`thousands: Apostrophe`"));
        assert_eq!(said("broken"), "");
        let comma = Style { decimal_comma: true, thousands: None };
        assert!(remedy("1.234", comma).is_some_and(|said| said.contains("`thousands: Point`")));
    }

    /// Returns the survey of a column of `numbers` and a column of `others`.
    fn surveyed(numbers: &[&str], others: &[&str]) -> MarkSurvey {
        let mut survey = MarkSurvey::new(2);
        for (column, numbers) in [numbers, others].into_iter().enumerate() {
            let rows = (0..).zip(numbers);
            rows.for_each(|(row, number)| survey.add(column, row, number, None));
        }
        survey
    }

    fn read_beside(numbers: &[&str], others: &[&str]) -> Option<Vec<f64>> {
        let style = surveyed(numbers, others).style(0, &CsvOptions::detected()).ok()?;
        numbers.iter().map(|number| style.number(number)).collect()
    }

    #[test]
    fn one_reading_is_read() {
        let nothing: [&str; 0] = [];
        assert_eq!(read_beside(&["1.000", "1.234"], &nothing), Some(vec![1.0, 1.234]));
        assert_eq!(read_beside(&["1", "1.234"], &["0.5"]), Some(vec![1.0, 1.234]));
        assert_eq!(read_beside(&["0,5", "1,234"], &nothing), Some(vec![0.5, 1.234]));
        assert_eq!(read_beside(&["1,234"], &["0,5"]), Some(vec![1.234]));
        assert_eq!(read_beside(&["1,234", "1,234.5"], &nothing), Some(vec![1234.0, 1234.5]));
        assert_eq!(read_beside(&["1,234"], &["2,345,678"]), Some(vec![1234.0]));
        assert_eq!(read_beside(&["1.234", "1.234,5"], &nothing), Some(vec![1234.0, 1234.5]));
        assert_eq!(read_beside(&["1.5"], &["0,5"]), Some(vec![1.5]));
    }

    #[test]
    fn two_readings_are_refused() {
        let nothing: [&str; 0] = [];
        assert_eq!(read_beside(&["1,234"], &nothing), None);
        assert_eq!(read_beside(&["999", "1.000", "12.500"], &nothing), None);
        assert_eq!(read_beside(&["1,234", "1.5"], &nothing), None);
        assert_eq!(read_beside(&["1,234"], &["1.5"]), None);
        assert_eq!(read_beside(&["1.234"], &["0,5"]), None);
        assert_eq!(read_beside(&["1.234", "0,5"], &nothing), None);
        assert_eq!(read_beside(&["1.5", "0,5"], &nothing), None);
        let said = |comma: bool, thousands| {
            let decimal_comma = Some(comma).filter(|comma| *comma);
            let options = CsvOptions { decimal_comma, thousands, ..CsvOptions::detected() };
            surveyed(&["1,234"], &[]).style(0, &options).unwrap().number("1,234")
        };
        assert_eq!(said(true, None), Some(1.234));
        assert_eq!(said(false, Some(Thousands::Comma)), Some(1234.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// The fast path of [`Marks::of`] returns the same marks as the general one.
        #[test]
        fn marks_of_plain_numbers_are_those_that_all_styles_find(
            text in "[+-]?[0-9]{0,4}(\\.[0-9]{0,4})?(e[+-]?[0-9]{0,2})?",
        ) {
            let reads =
                |decimal_comma, thousands| Style { decimal_comma, thousands }.number(&text).is_some();
            let all = [
                reads(false, None), reads(false, Some(Thousands::Comma)),
                reads(true, None), reads(true, Some(Thousands::Point)),
            ];
            let expected = match all {
                _ if text.parse::<f64>().is_err() => return Ok(()),
                [true, true, true, true] => Marks::None,
                [true, true, false, false] => Marks::DecimalPoint,
                [true, true, false, true] => Marks::EitherPoint,
                other => panic!("{text}: {other:?}"),
            };
            prop_assert_eq!(Marks::of(&text), Some(expected));
        }
    }
}
