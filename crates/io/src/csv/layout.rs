//! The layout of a text table: its first row, the separator of fields, and the number of fields in a row.

use super::heads::{Beginning, Head, Line, tail, width};
use super::numbers::FieldKind;
use super::options::{CsvOptions, Delimiter};
use super::rows::Text;
use crate::csv::quotes::decoded;
use crate::format::file::DataFile;
use dualfit::error::SourceError;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Size in bytes of the sample from which the layout is detected.
const SAMPLE: usize = 128 << 10;
/// Maximum size of the sample if lines are long: it contains at least a few of the longest possible lines.
const LARGEST_SAMPLE: usize = SAMPLE << 9;
/// Number of leading bytes that are searched for a NUL byte, which shows that a file is not a text.
const HEAD: usize = 8 << 10;

pub(super) struct TextLayout {
    pub(super) text: Text,
    /// Position, in bytes, of the first row or of a comment or empty line before it.
    pub(super) start: u64,
    /// Number of rows above the numbers: one row of names, then rows of units and remarks.
    pub(super) heads: usize,
    /// Number of fields of a row. An additional empty field may follow.
    pub(super) fields: usize,
    /// Detected properties that should be reported.
    pub(super) notes: Vec<String>,
}

impl TextLayout {
    pub(super) fn of(file: DataFile, options: &CsvOptions) -> Result<TextLayout, SourceError> {
        let name = file.place();
        let extension = Path::new(&name).extension().unwrap_or_default().to_ascii_lowercase();
        let delimiter = options.delimiter.unwrap_or_default();
        let mut text = Text { file: Arc::new(file), delimiter, comment: options.comment };
        let beginning = sample(&text, 0)?;
        if let Some(what) = no_text(&beginning) {
            return Err(text.file.error(what));
        }
        let (start, said) = match options.skip_rows {
            Some(0) => (0, None),
            Some(lines) => (skipped(&text, &beginning, lines)?, None),
            None => declared(&beginning),
        };
        let bytes = if start == 0 { beginning } else { sample(&text, start)? };
        let file = Arc::new(DataFile::in_memory(name, bytes.into()));
        let sample = Text { file, ..text.clone() };
        text.delimiter = match options.delimiter.or(said) {
            Some(delimiter) => delimiter,
            None if extension == "tsv" || extension == "tab" => Delimiter::Tab,
            None => separator(&sample, options.decimal_comma == Some(true)),
        };
        let mut lines = Line::all(&Text { delimiter: text.delimiter, ..sample });
        lines.iter_mut().for_each(|line| line.near += start);
        let fields = match (options.header_rows, lines.first(), width(&lines)) {
            // If the names do not fit the width of the numbers, the row of names determines the number of columns.
            (Some(1..), Some(names), width) if !names.fits(width) => names.kinds.len(),
            (_, _, width) => width,
        };
        let (head, notes) = match options.header_rows {
            Some(heads) => (Head { first: 0, heads }, Vec::new()),
            None => Beginning { text: &text, lines: &lines, fields }.head()?,
        };
        let start = lines.get(head.first).map_or(start, |line| line.near);
        Ok(TextLayout { text, start, heads: head.heads, fields, notes })
    }

    /// Returns the names of the columns; `None` if they have no names.
    ///
    /// # Errors
    /// If the text has no row, or if its first row cannot be read.
    pub(super) fn names(&self) -> Result<Option<Vec<String>>, SourceError> {
        let mut first = self.text.part(self.start);
        if first.next()?.is_none() {
            return Err(self.text.file.error("it is empty; a table has at least one row"));
        }
        if self.heads == 0 {
            return Ok(self.names_in_comment());
        }
        Ok(Some((0..self.fields).map(|column| first.words(column)).collect()))
    }

    /// Returns the names in the last comment before the first row, as NumPy's `savetxt` writes them. The comment must
    /// have one word per field, and no word may be a number.
    fn names_in_comment(&self) -> Option<Vec<String>> {
        let comment = char::from(self.text.comment?);
        let beginning = sample(&self.text, 0).ok()?;
        let beginning = decoded(&beginning);
        let lines = beginning.trim_start_matches('\u{feff}').split(['\n', '\r']).map(str::trim);
        let before = lines.take_while(|line| line.is_empty() || line.starts_with(comment));
        let line = before.filter(|line| !line.is_empty()).last()?;
        let bytes = line.trim_start_matches([comment, ' ']).as_bytes().into();
        let file = Arc::new(DataFile::in_memory(String::new(), bytes));
        let mut rows = Text { file, ..self.text.clone() }.part(0);
        rows.next().ok()??;
        let names = rows.all_words();
        let is_name =
            |name: &String| matches!(FieldKind::of(name), FieldKind::Word | FieldKind::Value);
        (names.len() == self.fields && names.iter().all(is_name)).then_some(names)
    }
}

/// Reads a sample of complete lines that begins at byte `from`. Long lines enlarge the sample, so that it contains
/// more than a few lines.
fn sample(text: &Text, from: u64) -> Result<Vec<u8>, SourceError> {
    let mut most = SAMPLE;
    loop {
        let mut bytes = Vec::new();
        let read = text.bytes(from).take(most as u64).read_to_end(&mut bytes);
        read.map_err(|why| text.file.error(why.to_string()))?;
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let longest = bytes.split(is_end).map(<[u8]>::len).max().unwrap_or_default();
        if bytes.len() == most && longest > most / 4 && most < LARGEST_SAMPLE {
            most *= 4;
            continue;
        }
        if bytes.len() == most
            && let Some(end) = bytes.iter().rposition(is_end)
        {
            bytes.truncate(end + 1);
        }
        return Ok(bytes);
    }
}

/// Returns the problem and the remedy if bytes are not a text in UTF-8 or Latin-1.
pub(crate) fn no_text(bytes: &[u8]) -> Option<&'static str> {
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

/// Returns the position after the first `lines` lines, in bytes.
fn skipped(text: &Text, beginning: &[u8], lines: usize) -> Result<u64, SourceError> {
    let end = if beginning.contains(&b'\n') { b'\n' } else { b'\r' };
    let mut bytes = BufReader::new(text.bytes(0));
    let (mut at, mut count) = (0, 0);
    while count < lines {
        match bytes.skip_until(end).map_err(|why| text.file.error(why.to_string()))? {
            0 => break,
            line => (at, count) = (at + line as u64, count + 1),
        }
    }
    if count == lines && bytes.fill_buf().is_ok_and(|rest| !rest.is_empty()) {
        return Ok(at);
    }
    let what = format!("is the last line, so `skip_rows: {lines}` leaves no table");
    Err(SourceError::new(format!("{}:{count}", text.file.place()), what))
}

/// Returns the length and the separator of a first line like `sep=;`, which spreadsheets write.
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

/// Detects the separator of fields: semicolons or tabs if numbers are between them; otherwise commas or spaces. The
/// score of a separator increases with the number of numeric fields and decreases with the number of other fields.
fn separator(sample: &Text, decimal_comma: bool) -> Delimiter {
    let lines = |delimiter| Line::all(&Text { delimiter, ..sample.clone() });
    let score = |delimiter: Delimiter| -> i64 {
        let lines = lines(delimiter);
        let fields = width(&lines);
        let fitting = tail(&lines).iter().filter(|line| line.fits(fields));
        // Unlike semicolons and tabs, commas and spaces can also be parts of numbers.
        let is_clear = matches!(delimiter, Delimiter::Semicolon | Delimiter::Tab);
        let worth = |kind: &FieldKind| match kind {
            FieldKind::Number => 2,
            FieldKind::Missing => 0,
            FieldKind::Value if is_clear => 1,
            FieldKind::Value | FieldKind::Word => -1,
        };
        let worths: i64 = fitting.flat_map(|line| &line.kinds).map(worth).sum();
        if fields > 1 || delimiter == Delimiter::Whitespace { worths } else { 0 }
    };
    let best = |those: &[Delimiter]| {
        let scored = those.iter().rev().map(|&delimiter| (score(delimiter), delimiter));
        scored.max_by_key(|(score, _)| *score).filter(|(score, _)| *score > 0).map(|best| best.1)
    };
    let clear = [Delimiter::Semicolon, Delimiter::Tab];
    let others = &[Delimiter::Comma, Delimiter::Whitespace][usize::from(decimal_comma)..];
    // Without numbers: the first separator that divides the first line.
    let cuts = |delimiter: &&Delimiter| lines(**delimiter).first().is_some_and(Line::is_cut);
    let in_words = || clear.iter().chain(others).find(cuts).copied();
    best(&clear).or_else(|| best(others)).or_else(in_words).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        let file = Arc::new(DataFile::in_memory("t".into(), text.as_bytes().into()));
        Text { file, delimiter: Delimiter::Comma, comment: Some(b'#') }
    }

    #[test]
    fn delimiters_are_found_where_the_numbers_are() {
        let found = |table: &str| separator(&text(table), false);
        assert_eq!(found("# a comment; with words\n\na,b\n1,2\n"), Delimiter::Comma);
        assert_eq!(found("a;b\n1,5;2\n"), Delimiter::Semicolon);
        assert_eq!(found("\"a;b\",c\n1,2\n"), Delimiter::Comma);
        assert_eq!(found("time, s\tsignal, V\n1\t2\n"), Delimiter::Tab);
        assert_eq!(found("  1.0   2.0\n"), Delimiter::Whitespace);
        assert_eq!(found("t, v\n1, 2\n"), Delimiter::Comma);
        assert_eq!(found("t v\n0,5 1,25\n1,5 2,5\n"), Delimiter::Whitespace);
        assert_eq!(found("Made on Monday, at noon\nt;v\n1,5;2,5\n"), Delimiter::Semicolon);
        assert_eq!(found("when,t\n2024-01-02 12:00:00,5.1\n"), Delimiter::Comma);
        assert_eq!(found("0,1.5,ok; fine\n1,2.5,ok; fine\n"), Delimiter::Comma);
        assert_eq!(found("1 000;2 345,25\n2 000;3 456,25\n"), Delimiter::Semicolon);
        assert_eq!(found("a,b\n"), Delimiter::Comma);
        assert_eq!(declared(b"sep=;\r\nt;v\n"), (7, Some(Delimiter::Semicolon)));
    }

    #[test]
    fn names_of_files_tell_tabs() {
        let file = DataFile::in_memory("t.TSV".into(), b"a b\n1 2\n".as_slice().into());
        let layout = TextLayout::of(file, &CsvOptions::detected()).ok();
        assert_eq!(layout.map(|layout| layout.text.delimiter), Some(Delimiter::Tab));
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
