//! How a text table is written: what separates its fields, and whether its first rows are numbers.

use super::number::number;
use super::rows::Rows;
use crate::arguments::{Delimiter, TableArguments};

/// Lines that begin with it are passed over.
pub(super) const COMMENT: u8 = b'#';

#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) delimiter: Delimiter,
    pub(super) decimal_comma: bool,
    /// Rows before the first one of numbers: one of names, perhaps one of units.
    pub(super) heads: usize,
}

impl Layout {
    /// `extension`: that of the file's name, in lower case.
    pub(super) fn of(bytes: &[u8], extension: &str, asked: &TableArguments) -> Layout {
        let decimal_comma = asked.decimal_comma;
        let found = || separator(first_line(bytes), extension, decimal_comma);
        let delimiter = asked.delimiter.unwrap_or_else(found);
        let mut layout = Layout { delimiter, decimal_comma, heads: 0 };
        layout.heads = layout.count_heads(bytes);
        layout
    }

    /// A first row that is not all numbers has the names, unless the second one has words in the same
    /// columns, as a table of named samples. Of a second row without any number the words are units.
    fn count_heads(&self, bytes: &[u8]) -> usize {
        let mut rows = Rows::new(bytes, *self);
        let mut kinds = || -> Option<Vec<bool>> {
            rows.next().ok()??;
            let word = |field: &[u8]| number(field, self.decimal_comma).is_none();
            Some((0..rows.fields()).map(|column| word(rows.field(column))).collect())
        };
        let Some(first) = kinds() else { return 0 };
        let (second, third) = (kinds(), kinds());
        let words = |row: &[bool]| row.iter().filter(|&&word| word).count();
        if words(&first) == 0 {
            return 0;
        }
        match second {
            Some(second)
                if third.is_some()
                    && words(&second) == second.len()
                    && words(&first) == first.len() =>
            {
                2
            }
            Some(second) if second == first && words(&first) < first.len() => 0,
            _ => 1,
        }
    }
}

/// The first line that is neither blank nor a comment.
fn first_line(bytes: &[u8]) -> &[u8] {
    let mut lines = bytes.split(|&byte| byte == b'\n' || byte == b'\r');
    let holds = |line: &&[u8]| !line.trim_ascii().is_empty() && line.first() != Some(&COMMENT);
    lines.find(holds).unwrap_or_default()
}

fn separator(line: &[u8], extension: &str, decimal_comma: bool) -> Delimiter {
    let has = |byte: u8| {
        let mut quoted = false;
        line.iter().any(|&b| {
            quoted ^= b == b'"';
            !quoted && b == byte
        })
    };
    match extension {
        "tsv" | "tab" => Delimiter::Tab,
        _ if has(b';') => Delimiter::Semicolon,
        _ if has(b'\t') => Delimiter::Tab,
        _ if has(b',') && !decimal_comma => Delimiter::Comma,
        _ if line.trim_ascii().contains(&b' ') => Delimiter::Space,
        _ => Delimiter::Comma,
    }
}

/// The names in the last comment before the first row, as NumPy's `savetxt` writes them, if it has
/// `count` words and none is a number.
pub(super) fn names_in_comment(bytes: &[u8], layout: &Layout, count: usize) -> Option<Vec<String>> {
    let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let before = lines.take_while(|line| line.is_empty() || line.first() == Some(&COMMENT));
    let comment = before.filter(|line| !line.is_empty()).last()?;
    let text = comment.iter().position(|&byte| byte != COMMENT && byte != b' ')?;
    let mut rows = Rows::new(comment.get(text..)?, Layout { heads: 0, ..*layout });
    rows.next().ok()??;
    let names: Vec<String> = (0..rows.fields()).map(|column| rows.name(column)).collect();
    let is_name = |name: &String| number(name.as_bytes(), layout.decimal_comma).is_none();
    (names.len() == count && names.iter().all(is_name)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, extension: &str) -> Delimiter {
        separator(first_line(text.as_bytes()), extension, false)
    }

    #[test]
    fn delimiters_are_found_in_the_first_line() {
        assert_eq!(found("# a comment, with words\n\na,b\n", "csv"), Delimiter::Comma);
        assert_eq!(found("a;b\n1,5;2\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("\"a;b\",c\n", "csv"), Delimiter::Comma);
        assert_eq!(found("time, s\tsignal, V\n", "txt"), Delimiter::Tab);
        assert_eq!(found("  1.0   2.0\n", "dat"), Delimiter::Space);
        assert_eq!(found("a b\n", "tsv"), Delimiter::Tab);
    }
}
