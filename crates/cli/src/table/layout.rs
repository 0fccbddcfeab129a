//! How a text table is written: where it begins, what separates its fields, how many a row has.

use super::heads::{Head, Line};
use super::number::Kind;
use super::rows::{COMMENT, Rows};
use crate::arguments::{Delimiter, TableArguments};
use crate::refusal::{Outcome, Refusal};
use crate::words::counted;

/// Bytes in which the layout is found out.
const SAMPLE: usize = 128 << 10;

#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) delimiter: Delimiter,
    /// The byte with which the first row begins, or a line before it that is no row.
    pub(super) start: usize,
    /// Rows before the first one of numbers: one of names, others of units and remarks.
    pub(super) heads: usize,
    /// Fields of a row; one more may follow if it is empty.
    pub(super) fields: usize,
}

impl Layout {
    /// `name`: the file as errors name it. `extension`: that of the file's name, in lower case.
    pub(super) fn of(
        name: &str,
        text: &str,
        extension: &str,
        asked: &TableArguments,
    ) -> Outcome<Layout> {
        let (start, said) = match asked.skip_rows {
            Some(lines) => (skipped(name, text, lines)?, None),
            None => declared(text),
        };
        let sample = sample(&text[start..]);
        let found = || separator(sample, extension, asked.decimal_comma);
        let delimiter = asked.delimiter.or(said).unwrap_or_else(found);
        let lines = Line::all(sample, delimiter);
        let fields = width(&lines);
        let head = match asked.header_rows {
            Some(heads) => Head { first: 0, heads },
            None => Head::find(name, text, start, &lines, fields, delimiter)?,
        };
        let start = start + lines.get(head.first).map_or(0, |line| line.near);
        Ok(Layout { delimiter, start, heads: head.heads, fields })
    }
}

/// The byte behind so many lines.
fn skipped(name: &str, text: &str, lines: usize) -> Outcome<usize> {
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let ends = text.split_inclusive(end).map(str::len);
    let (mut at, mut count) = (0, 0);
    for length in ends.take(lines) {
        (at, count) = (at + length, count + 1);
    }
    match count == lines && (lines == 0 || at < text.len()) {
        true => Ok(at),
        false => Err(Refusal::usage(format!(
            "--skip-rows {lines}: {name} has {}, and none is left",
            counted(count, "line")
        ))),
    }
}

/// What a first line `sep=;` says, which spreadsheets write.
fn declared(text: &str) -> (usize, Option<Delimiter>) {
    let line = text.split_inclusive('\n').next().unwrap_or_default();
    let delimiter = match line.trim_end_matches(['\r', '\n']).strip_prefix("sep=") {
        Some(",") => Delimiter::Comma,
        Some(";") => Delimiter::Semicolon,
        Some("\t") => Delimiter::Tab,
        _ => return (0, None),
    };
    (line.len(), Some(delimiter))
}

/// Whole lines from the beginning of a text.
fn sample(text: &str) -> &str {
    match text.as_bytes().get(..SAMPLE) {
        None => text,
        Some(bytes) => {
            let end = bytes.iter().rposition(|&byte| byte == b'\n' || byte == b'\r');
            text.get(..end.map_or(0, |end| end + 1))
                .filter(|lines| !lines.is_empty())
                .unwrap_or(text)
        }
    }
}

/// The half of the lines that comes last, in which the numbers stand.
pub(super) fn tail<T>(lines: &[T]) -> &[T] {
    lines.get(lines.len() / 2..).unwrap_or_default()
}

/// What separates fields: semicolons or tabs if numbers stand between them; else whichever of commas
/// and spaces leaves the most numbers and the fewest other things.
fn separator(sample: &str, extension: &str, decimal_comma: bool) -> Delimiter {
    if matches!(extension, "tsv" | "tab") {
        return Delimiter::Tab;
    }
    let score = |delimiter: Delimiter| -> i64 {
        let lines = Line::all(sample, delimiter);
        let fields = width(&lines);
        let fitting = tail(&lines).iter().filter(|line| line.fits(fields));
        // Commas and spaces may be parts of numbers that other signs separate.
        let is_clear = matches!(delimiter, Delimiter::Semicolon | Delimiter::Tab);
        let worth = |kind: &Kind| match kind {
            Kind::Number => 2,
            Kind::Missing => 0,
            Kind::Value if is_clear => 1,
            Kind::Value | Kind::Word => -1,
        };
        let worths: i64 = fitting.flat_map(|line| &line.kinds).map(worth).sum();
        if fields > 1 || delimiter == Delimiter::Space { worths } else { 0 }
    };
    let best = |those: &[Delimiter]| {
        let scored = those.iter().rev().map(|&delimiter| (score(delimiter), delimiter));
        scored.max_by_key(|(score, _)| *score).filter(|(score, _)| *score > 0).map(|best| best.1)
    };
    best(&[Delimiter::Semicolon, Delimiter::Tab])
        .or_else(|| match decimal_comma {
            true => best(&[Delimiter::Space]),
            false => best(&[Delimiter::Comma, Delimiter::Space]),
        })
        .unwrap_or_else(|| in_line(first_line(sample), decimal_comma))
}

/// The first line that is neither blank nor a comment.
fn first_line(text: &str) -> &str {
    let holds = |line: &&str| !line.trim().is_empty() && !line.starts_with(COMMENT);
    text.split(['\n', '\r']).find(holds).unwrap_or_default()
}

/// What seems to separate words.
fn in_line(line: &str, decimal_comma: bool) -> Delimiter {
    let has = |sign: char| {
        let mut quoted = false;
        line.chars().any(|c| {
            quoted ^= c == '"';
            !quoted && c == sign
        })
    };
    match () {
        () if has(';') => Delimiter::Semicolon,
        () if has('\t') => Delimiter::Tab,
        () if has(',') && !decimal_comma => Delimiter::Comma,
        () if line.trim().contains(' ') => Delimiter::Space,
        () => Delimiter::Comma,
    }
}

/// The number of fields that most of the last lines have, without a last one that is always empty.
fn width(lines: &[Line]) -> usize {
    let counts = || tail(lines).iter().map(|line| line.kinds.len());
    let often = |count: usize| counts().filter(|&other| other == count).count();
    let Some(fields) = counts().max_by_key(|&count| (often(count), count)) else { return 0 };
    let used = lines.iter().any(|line| line.kinds.len() == fields && !line.last_empty);
    if used || fields < 2 { fields } else { fields - 1 }
}

/// The names in the last comment before the first row, as NumPy's `savetxt` writes them, if it has
/// `count` words and none is a number.
pub(super) fn names_in_comment(text: &str, layout: &Layout) -> Option<Vec<String>> {
    let lines = text.split(['\n', '\r']).map(str::trim);
    let before = lines.take_while(|line| line.is_empty() || line.starts_with(COMMENT));
    let comment = before.filter(|line| !line.is_empty()).last()?;
    let words = comment.trim_start_matches([COMMENT, ' ']);
    let mut rows = Rows::new(words, layout.delimiter);
    rows.next().ok()??;
    let names: Vec<String> = (0..rows.fields()).map(|column| rows.name(column)).collect();
    let is_name = |name: &String| matches!(Kind::of(name), Kind::Word | Kind::Value);
    (names.len() == layout.fields && names.iter().all(is_name)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_found_where_the_numbers_are() {
        let found = |text: &str, extension: &str| separator(text, extension, false);
        assert_eq!(found("# a comment; with words\n\na,b\n1,2\n", "csv"), Delimiter::Comma);
        assert_eq!(found("a;b\n1,5;2\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("\"a;b\",c\n1,2\n", "csv"), Delimiter::Comma);
        assert_eq!(found("time, s\tsignal, V\n1\t2\n", "txt"), Delimiter::Tab);
        assert_eq!(found("  1.0   2.0\n", "dat"), Delimiter::Space);
        assert_eq!(found("a b\n", "tsv"), Delimiter::Tab);
        assert_eq!(found("t, v\n1, 2\n", "csv"), Delimiter::Comma);
        assert_eq!(found("t v\n0,5 1,25\n1,5 2,5\n", "txt"), Delimiter::Space);
        assert_eq!(found("Made on Monday, at noon\nt;v\n1,5;2,5\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("when,t\n2024-01-02 12:00:00,5.1\n", "csv"), Delimiter::Comma);
        assert_eq!(found("0,1.5,ok; fine\n1,2.5,ok; fine\n", "csv"), Delimiter::Comma);
        assert_eq!(found("1 000;2 345,25\n2 000;3 456,25\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("a,b\n", "csv"), Delimiter::Comma);
        assert_eq!(declared("sep=;\r\nt;v\n"), (7, Some(Delimiter::Semicolon)));
    }

    #[test]
    fn rows_have_as_many_fields_as_most() {
        let width = |text: &str| width(&Line::all(text, Delimiter::Comma));
        assert_eq!(width("t,v\n1,2\n3,4\n"), 2);
        assert_eq!(width("t,v\n1,2,\n3,4,\n"), 2);
        assert_eq!(width("t,v,\n1,2,\n3,4,\n"), 2);
        assert_eq!(width("t,v,w\n1,2,\n3,4,\n"), 3);
        assert_eq!(width("a,b,c,d\ne,f\n1,2\n3,4\n3,\n"), 2);
    }
}
