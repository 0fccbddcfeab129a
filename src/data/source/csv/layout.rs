//! How a text table is written: where it begins, what separates its fields, how many a row has.

use super::heads::{Beginning, Head, Line};
use super::numbers::Kind;
use super::rows::{Contents, Text, decoded};
use super::{CsvOptions, Delimiter};
use crate::error::source::SourceError;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

/// Bytes in which the layout is found out.
const SAMPLE: usize = 128 << 10;
/// Bytes in which a text that is none is recognised.
const HEAD: usize = 8 << 10;

#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The byte with which the first row begins, or a line before it that is no row.
    pub(super) start: u64,
    /// Rows before the first one of numbers: one of names, others of units and remarks.
    pub(super) heads: usize,
    /// Fields of a row; one more may follow if it is empty.
    pub(super) fields: usize,
}

impl Layout {
    /// `extension`: that of the file's name, in lower case. Also what was found out and should be told.
    pub(super) fn of(
        contents: Contents,
        extension: &str,
        options: &CsvOptions,
    ) -> Result<(Text, Layout, Vec<String>), SourceError> {
        let delimiter = options.delimiter.unwrap_or_default();
        let mut text = Text { contents, delimiter, comment: options.comment };
        let beginning = sample(&text, 0)?;
        if let Some(what) = no_text(&beginning) {
            return Err(text.error(what));
        }
        let (start, said) = match options.skip_rows {
            Some(0) => (0, None),
            Some(lines) => (skipped(&text, &beginning, lines)?, None),
            None => declared(&beginning),
        };
        let bytes = if start == 0 { beginning } else { sample(&text, start)? };
        let name = text.contents.name();
        let mut sample = text.clone();
        sample.contents = Contents::Memory { name, bytes: bytes.into() };
        text.delimiter = options
            .delimiter
            .or(said)
            .unwrap_or_else(|| separator(&sample, extension, options.decimal_comma == Some(true)));
        sample.delimiter = text.delimiter;
        let mut lines = Line::all(&sample);
        lines.iter_mut().for_each(|line| line.near += start);
        let fields = match (options.header_rows, lines.first(), width(&lines)) {
            // The row of names says how many columns there are.
            (Some(1..), Some(names), width) if !names.fits(width) => names.kinds.len(),
            (_, _, width) => width,
        };
        let (head, notes) = match options.header_rows {
            Some(heads) => (Head { first: 0, heads }, Vec::new()),
            None => Beginning { text: &text, lines: &lines, fields }.head()?,
        };
        let start = lines.get(head.first).map_or(start, |line| line.near);
        Ok((text, Layout { start, heads: head.heads, fields }, notes))
    }
}

/// Whole lines from a byte on.
fn sample(text: &Text, from: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    let read = text.contents.bytes(from).take(SAMPLE as u64).read_to_end(&mut bytes);
    read.map_err(|why| text.error(why.to_string()))?;
    if bytes.len() == SAMPLE
        && let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n' || byte == b'\r')
    {
        bytes.truncate(end + 1);
    }
    Ok(bytes)
}

/// Why bytes are no text, and what to do, if they are none.
pub fn no_text(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [b'P', b'K', 3, 4, ..] => {
            Some("is a spreadsheet or an archive; export the sheet as CSV, or unpack it")
        }
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("is compressed; unpack it first"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("is text in UTF-16; save it as UTF-8"),
        _ if bytes.iter().take(HEAD).any(|&byte| byte == 0) => {
            Some("is no text; tables are CSV, TSV, other text, NPY, Parquet or Arrow")
        }
        _ => None,
    }
}

/// The byte behind so many lines.
fn skipped(text: &Text, beginning: &[u8], lines: usize) -> Result<u64, SourceError> {
    let end = if beginning.contains(&b'\n') { b'\n' } else { b'\r' };
    let mut bytes = BufReader::new(text.contents.bytes(0));
    let (mut at, mut count) = (0, 0);
    while count < lines {
        match bytes.skip_until(end).map_err(|why| text.error(why.to_string()))? {
            0 => break,
            line => (at, count) = (at + line as u64, count + 1),
        }
    }
    if count == lines && bytes.fill_buf().is_ok_and(|rest| !rest.is_empty()) {
        return Ok(at);
    }
    let what = format!("is the last line, so `skip_rows: {lines}` leaves no table");
    Err(SourceError::new(format!("{}:{count}", text.contents.name()), what))
}

/// What a first line `sep=;` says, which spreadsheets write.
fn declared(beginning: &[u8]) -> (u64, Option<Delimiter>) {
    let line = beginning.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let letters = decoded(line);
    let letters = letters.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
    let delimiter = match letters.strip_prefix("sep=") {
        Some(",") => Delimiter::Comma,
        Some(";") => Delimiter::Semicolon,
        Some("\t") => Delimiter::Tab,
        _ => return (0, None),
    };
    (line.len() as u64, Some(delimiter))
}

/// The half of the lines that comes last, in which the numbers stand.
pub(super) fn tail<T>(lines: &[T]) -> &[T] {
    lines.get(lines.len() / 2..).unwrap_or_default()
}

/// What separates fields: semicolons or tabs if numbers stand between them; else whichever of commas
/// and spaces leaves the most numbers and the fewest other things.
fn separator(sample: &Text, extension: &str, decimal_comma: bool) -> Delimiter {
    if matches!(extension, "tsv" | "tab") {
        return Delimiter::Tab;
    }
    let score = |delimiter: Delimiter| -> i64 {
        let lines = Line::all(&Text { delimiter, ..sample.clone() });
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
        if fields > 1 || delimiter == Delimiter::Whitespace { worths } else { 0 }
    };
    let best = |those: &[Delimiter]| {
        let scored = those.iter().rev().map(|&delimiter| (score(delimiter), delimiter));
        scored.max_by_key(|(score, _)| *score).filter(|(score, _)| *score > 0).map(|best| best.1)
    };
    let others = [Delimiter::Comma, Delimiter::Whitespace];
    best(&[Delimiter::Semicolon, Delimiter::Tab])
        .or_else(|| best(if decimal_comma { &others[1..] } else { &others }))
        .unwrap_or_else(|| in_first_line(sample, decimal_comma))
}

/// What seems to separate words in the first line that is neither blank nor a comment.
fn in_first_line(sample: &Text, decimal_comma: bool) -> Delimiter {
    let mut rows = Text { delimiter: Delimiter::Whitespace, ..sample.clone() }.rows(0);
    let Ok(Some(_)) = rows.next() else { return Delimiter::Comma };
    let line = rows.letters();
    let has = |sign: char| line.split('"').step_by(2).any(|unquoted| unquoted.contains(sign));
    match () {
        () if has(';') => Delimiter::Semicolon,
        () if has('\t') => Delimiter::Tab,
        () if has(',') && !decimal_comma => Delimiter::Comma,
        () if line.trim().contains(' ') => Delimiter::Whitespace,
        () => Delimiter::Comma,
    }
}

/// The number of fields that most of the last lines have, without a last one that is always empty.
fn width(lines: &[Line]) -> usize {
    let mut often = BTreeMap::new();
    for line in tail(lines) {
        *often.entry(line.kinds.len()).or_insert(0) += 1;
    }
    let most = often.into_iter().max_by_key(|&(fields, lines)| (lines, fields));
    let Some((fields, _)) = most else { return 0 };
    let used = lines.iter().any(|line| line.kinds.len() == fields && !line.last_empty);
    if used || fields < 2 { fields } else { fields - 1 }
}

/// The names in the last comment before the first row, as NumPy's `savetxt` writes them, if it has as many
/// words as a row has fields and none is a number.
pub(super) fn names_in_comment(text: &Text, layout: &Layout) -> Option<Vec<String>> {
    let comment = char::from(text.comment?);
    let beginning = sample(text, 0).ok()?;
    let beginning = decoded(&beginning);
    let lines = beginning.trim_start_matches('\u{feff}').split(['\n', '\r']).map(str::trim);
    let before = lines.take_while(|line| line.is_empty() || line.starts_with(comment));
    let line = before.filter(|line| !line.is_empty()).last()?;
    let bytes = line.trim_start_matches([comment, ' ']).as_bytes().into();
    let contents = Contents::Memory { name: text.contents.name(), bytes };
    let mut rows = Text { contents, ..text.clone() }.rows(0);
    rows.next().ok()??;
    let names: Vec<String> = (0..rows.fields()).map(|column| rows.words(column)).collect();
    let is_name = |name: &String| matches!(Kind::of(name), Kind::Word | Kind::Value);
    (names.len() == layout.fields && names.iter().all(is_name)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        let contents = Contents::Memory { name: "t".into(), bytes: text.as_bytes().into() };
        Text { contents, delimiter: Delimiter::Comma, comment: Some(b'#') }
    }

    #[test]
    fn delimiters_are_found_where_the_numbers_are() {
        let found = |table: &str, extension: &str| separator(&text(table), extension, false);
        assert_eq!(found("# a comment; with words\n\na,b\n1,2\n", "csv"), Delimiter::Comma);
        assert_eq!(found("a;b\n1,5;2\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("\"a;b\",c\n1,2\n", "csv"), Delimiter::Comma);
        assert_eq!(found("time, s\tsignal, V\n1\t2\n", "txt"), Delimiter::Tab);
        assert_eq!(found("  1.0   2.0\n", "dat"), Delimiter::Whitespace);
        assert_eq!(found("a b\n", "tsv"), Delimiter::Tab);
        assert_eq!(found("t, v\n1, 2\n", "csv"), Delimiter::Comma);
        assert_eq!(found("t v\n0,5 1,25\n1,5 2,5\n", "txt"), Delimiter::Whitespace);
        assert_eq!(found("Made on Monday, at noon\nt;v\n1,5;2,5\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("when,t\n2024-01-02 12:00:00,5.1\n", "csv"), Delimiter::Comma);
        assert_eq!(found("0,1.5,ok; fine\n1,2.5,ok; fine\n", "csv"), Delimiter::Comma);
        assert_eq!(found("1 000;2 345,25\n2 000;3 456,25\n", "csv"), Delimiter::Semicolon);
        assert_eq!(found("a,b\n", "csv"), Delimiter::Comma);
        assert_eq!(declared(b"sep=;\r\nt;v\n"), (7, Some(Delimiter::Semicolon)));
    }

    #[test]
    fn rows_have_as_many_fields_as_most() {
        let width = |table: &str| width(&Line::all(&text(table)));
        assert_eq!(width("t,v\n1,2\n3,4\n"), 2);
        assert_eq!(width("t,v\n1,2,\n3,4,\n"), 2);
        assert_eq!(width("t,v,\n1,2,\n3,4,\n"), 2);
        assert_eq!(width("t,v,w\n1,2,\n3,4,\n"), 3);
        assert_eq!(width("a,b,c,d\ne,f\n1,2\n3,4\n3,\n"), 2);
    }
}
