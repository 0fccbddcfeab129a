//! Parser of lines without quotes. It returns the same fields as the crate `csv` in a third of the time.

use super::numbers::Style;
use super::options::Delimiter;
use super::short::short;
use memchr::{memchr, memchr3};

/// Lines of a text in memory, read one after another.
pub(super) struct Lines<'t> {
    bytes: &'t [u8],
    delimiter: Delimiter,
    comment: Option<u8>,
    /// Position of the first byte of the next line.
    pub(super) at: usize,
    /// Begin and end of each field of the current line.
    fields: Vec<(usize, usize)>,
}

/// Form of a row whose selected columns contain numbers of few digits.
pub(super) struct PlainRow {
    delimiter: u8,
    /// For each column: the index of its number among the selected columns and its decimal separator; `None` if the
    /// column is not selected.
    columns: Vec<Option<(usize, u8)>>,
}

impl PlainRow {
    /// Creates the form of a row. `wanted`: the selected columns, each with the style of its numbers. `columns`: number
    /// of all columns. `None` if white space separates the fields, if a selected column does not exist or occurs twice,
    /// or if its decimal separator is the delimiter.
    pub(super) fn of(
        wanted: &[(usize, Style)],
        columns: usize,
        delimiter: Delimiter,
    ) -> Option<PlainRow> {
        if delimiter == Delimiter::Whitespace {
            return None;
        }
        let mut row = PlainRow { delimiter: delimiter.byte(), columns: vec![None; columns] };
        for (place, &(column, style)) in wanted.iter().enumerate() {
            let own = row.columns.get_mut(column).filter(|own| own.is_none())?;
            *own = Some((place, style.decimal()));
        }
        let is_clear =
            |column: &Option<(usize, u8)>| column.is_none_or(|(_, d)| d != row.delimiter);
        row.columns.iter().all(is_clear).then_some(row)
    }
}

impl<'t> Lines<'t> {
    /// Returns the lines of `bytes`; `None` if they contain a quote. If white space separates the fields, quotes have
    /// no meaning, and a NUL byte is the reason for `None`.
    pub(super) fn of(
        bytes: &'t [u8],
        delimiter: Delimiter,
        comment: Option<u8>,
    ) -> Option<Lines<'t>> {
        let odd = if delimiter == Delimiter::Whitespace { 0 } else { b'"' };
        let lines = Lines { bytes, delimiter, comment, at: 0, fields: Vec::new() };
        memchr(odd, bytes).is_none().then_some(lines)
    }

    /// Advances to the next line that is neither empty nor a comment. Returns false at the end.
    pub(super) fn next(&mut self) -> bool {
        let ends_field = match self.delimiter {
            Delimiter::Whitespace => b'\n',
            delimiter => delimiter.byte(),
        };
        while let Some(&first) = self.bytes.get(self.at) {
            let begin = self.at;
            let is_comment = Some(first) == self.comment && !matches!(first, b'\n' | b'\r');
            self.fields.clear();
            let (mut field, mut seen) = (begin, begin);
            let end = loop {
                let found = memchr3(ends_field, b'\n', b'\r', &self.bytes[seen..]);
                let Some(end) = found.map(|found| seen + found) else { break self.bytes.len() };
                seen = end + 1;
                match self.bytes[end] {
                    b'\n' => break end,
                    // A carriage return does not end a comment.
                    b'\r' if is_comment => {}
                    b'\r' => break end,
                    _ => {
                        self.fields.push((field, end));
                        field = end + 1;
                    }
                }
            };
            self.at = self.bytes.len().min(end + 1);
            if is_comment || end == begin {
                continue;
            }
            self.fields.push((field, end));
            if self.delimiter == Delimiter::Whitespace {
                self.cut_words(begin, end);
            }
            return true;
        }
        false
    }

    /// Reads the numbers of the next line that is not empty, if the line has the form `row`. Otherwise returns false,
    /// and the position is unchanged.
    pub(super) fn next_numbers(&mut self, row: &PlainRow, numbers: &mut [f64]) -> bool {
        let mut rest = &self.bytes[self.at..];
        while let [b'\n' | b'\r', behind @ ..] = rest {
            rest = behind;
        }
        if rest.first().copied() == self.comment {
            return false;
        }
        let last = row.columns.len() - 1;
        for (i, column) in row.columns.iter().enumerate() {
            match column {
                Some((place, decimal)) => {
                    let Some((number, behind)) = short(rest, *decimal) else { return false };
                    (numbers[*place], rest) = (number, behind);
                }
                None => match memchr3(row.delimiter, b'\n', b'\r', rest) {
                    Some(end) => rest = &rest[end..],
                    None => return false,
                },
            }
            match rest {
                [b'\n' | b'\r', ..] if i == last => {}
                [byte, behind @ ..] if i < last && *byte == row.delimiter => rest = behind,
                _ => return false,
            }
        }
        self.at = self.bytes.len() - rest.len();
        true
    }

    /// Divides a line into fields separated by white space.
    fn cut_words(&mut self, begin: usize, end: usize) {
        self.fields.clear();
        let mut field = begin;
        for word in self.bytes[begin..end].split(u8::is_ascii_whitespace) {
            if !word.is_empty() {
                self.fields.push((field, field + word.len()));
            }
            field += word.len() + 1;
        }
    }

    pub(super) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Returns a field of the current line; empty if there is no such field.
    pub(super) fn field(&self, column: usize) -> &'t [u8] {
        self.fields.get(column).map_or(&[], |&(begin, end)| &self.bytes[begin..end])
    }

    /// Returns true if the bytes of all fields, one after another, are UTF-8.
    pub(super) fn is_utf8(&self) -> bool {
        let all = || (0..self.fields()).map(|column| self.field(column));
        all().all(<[u8]>::is_ascii)
            || std::str::from_utf8(&all().collect::<Vec<_>>().concat()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// Tests that `next_numbers` yields the same numbers, bit for bit, as `next` followed by parsing of the fields.
        #[test]
        fn plain_rows_are_those_of_their_fields(
            rows in prop::collection::vec("(-?[0-9]{0,20}(\\.[0-9]{0,20})?|#|x| )(,|;)?(-?[0-9]{1,9}([.,][0-9]{0,9})?)?,?", 0..6),
            ends in prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n"]),
            decimal_comma in any::<bool>(),
        ) {
            let text = rows.iter().map(|row| format!("{row}{ends}")).collect::<String>();
            let style = Style { decimal_comma, thousands: None };
            let delimiter = if decimal_comma { Delimiter::Semicolon } else { Delimiter::Comma };
            let of = || Lines::of(text.as_bytes(), delimiter, Some(b'#')).unwrap();
            let plain = PlainRow::of(&[(1, style), (0, style)], 2, delimiter).unwrap();
            let (mut lines, mut same, mut numbers) = (of(), of(), [0.0; 2]);
            loop {
                let taken = lines.next_numbers(&plain, &mut numbers);
                if !taken && !lines.next() {
                    break;
                }
                prop_assert!(same.next());
                if taken {
                    prop_assert_eq!(same.fields(), 2);
                    let expected = [1, 0].map(|column| {
                        let field = std::str::from_utf8(same.field(column)).unwrap();
                        style.number(field).map(f64::to_bits)
                    });
                    prop_assert_eq!(expected, numbers.map(|number| Some(number.to_bits())));
                }
            }
            prop_assert!(!same.next());
        }
    }
}
