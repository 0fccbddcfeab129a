//! The rows of a text, and the positions of fields in it.

use super::lines::{Lines, PlainRow};
use super::options::Delimiter;
use super::quotes::{QuoteCheck, QuoteFault};
use crate::csv::quotes::{decoded, unquoted};
use crate::format::file::DataFile;
use csv::{ByteRecord, Reader, ReaderBuilder};
use dualfit::error::SourceError;
use std::io::{self, BufReader, ErrorKind, Read};
use std::iter::Peekable;
use std::sync::Arc;

/// Number of bytes per read.
const BUFFER: usize = 256 << 10;

/// Maximum length of a row, in bytes, because a row is kept in memory. A longer row is treated as damage, for example a
/// quote that is never closed.
const LONGEST_ROW: u64 = 16 << 20;

/// A text with its separator of fields and its comment character.
#[derive(Clone)]
pub(super) struct Text {
    pub(super) file: Arc<DataFile>,
    pub(super) delimiter: Delimiter,
    pub(super) comment: Option<u8>,
}

impl Text {
    /// Returns the bytes from a position on.
    pub(super) fn bytes(&self, from: u64) -> TextBytes {
        TextBytes { file: self.file.clone(), at: from, left: u64::MAX, quotes: None, fault: None }
    }

    /// Returns the rows from a byte on. An unclosed quote is an error.
    pub(super) fn rows(&self, from: u64) -> TableRows<'static> {
        let quotes = match self.delimiter {
            Delimiter::Whitespace => None,
            delimiter => Some(QuoteCheck::new(delimiter.byte(), self.comment)),
        };
        self.rows_of(from, TextBytes { quotes, ..self.bytes(from) })
    }

    /// Returns the rows from a byte on, without the check of quotes: the text may be cut off anywhere.
    pub(super) fn part(&self, from: u64) -> TableRows<'static> {
        self.rows_of(from, self.bytes(from))
    }

    /// Returns the rows of a piece, in which all quotes are closed.
    pub(super) fn rows_of_piece<'t>(&self, piece: Piece<'t>) -> TableRows<'t> {
        let Piece { from, bytes } = piece;
        if let Some(lines) = Lines::of(bytes, self.delimiter, self.comment) {
            return TableRows { text: self.clone(), from, cutter: Cutter::Plain(lines) };
        }
        let file = Arc::new(DataFile::in_memory(String::new(), bytes.into()));
        let bytes = TextBytes { file, ..self.bytes(0) };
        self.rows_of(from, bytes)
    }

    fn rows_of(&self, from: u64, bytes: TextBytes) -> TableRows<'static> {
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).comment(self.comment).buffer_capacity(BUFFER);
        match self.delimiter {
            // The record is the whole line: its delimiter NUL does not occur in texts.
            Delimiter::Whitespace => builder.delimiter(0).quoting(false),
            delimiter => builder.delimiter(delimiter.byte()),
        };
        let reader = builder.from_reader(bytes);
        let (line, record) = (ByteRecord::new(), ByteRecord::new());
        let quoted = Quoted { reader, line, record };
        TableRows { text: self.clone(), from, cutter: Cutter::Quoted(Box::new(quoted)) }
    }

    /// Returns an error with the line of the row that begins at or after the byte `near`.
    pub(super) fn error_at(&self, near: u64, message: impl Into<String>) -> SourceError {
        SourceError::new(format!("{}:{}", self.file.place(), self.line(near)), message)
    }

    /// Returns the line, from 1, of the row that begins at or after the byte `near`.
    pub(super) fn line(&self, near: u64) -> u64 {
        self.row_near(near).line
    }

    /// Returns the position of a field in the row that begins at or after the byte `near`: `data.csv:17:3`, with line
    /// and character from 1, as editors count them.
    pub(super) fn place(&self, near: u64, column: usize) -> String {
        let mut walk = self.row_near(near);
        let spaced = self.delimiter == Delimiter::Whitespace;
        let blank = |byte: u8| byte == b' ' || (spaced && byte == b'\t');
        let ends = |byte: u8| if spaced { blank(byte) } else { byte == self.delimiter.byte() };
        for _ in 0..column {
            if spaced {
                walk.pass(blank);
            }
            let mut quoted = false;
            while let Some(&byte) = walk.bytes.peek().filter(|&&byte| quoted || !ends(byte)) {
                quoted ^= byte == b'"' && !spaced;
                walk.step();
            }
            walk.step();
        }
        walk.pass(blank);
        format!("{}:{}:{}", self.file.place(), walk.line, walk.letter)
    }

    /// Moves to the byte `near`, then past empty lines and comments to the start of a row.
    fn row_near(&self, near: u64) -> PlacedBytes {
        let bytes = BufReader::new(self.bytes(0)).bytes().map_while(Result::ok);
        let bytes: Box<dyn Iterator<Item = u8>> = Box::new(bytes);
        let mut walk = PlacedBytes { bytes: bytes.peekable(), line: 1, letter: 1, last: 0 };
        for _ in 0..near {
            walk.step();
        }
        while let Some(&byte) = walk.bytes.peek() {
            match byte {
                b'\n' | b'\r' => walk.step(),
                _ if Some(byte) == self.comment => walk.pass(|byte| byte != b'\n'),
                _ => break,
            }
        }
        walk
    }
}

/// Iterator over the bytes of a text, with the line and the character, from 1, of the next byte.
struct PlacedBytes {
    bytes: Peekable<Box<dyn Iterator<Item = u8>>>,
    line: u64,
    letter: u64,
    last: u8,
}

impl PlacedBytes {
    fn step(&mut self) {
        let Some(byte) = self.bytes.next() else { return };
        match byte {
            b'\n' if self.last == b'\r' => {}
            b'\n' | b'\r' => (self.line, self.letter) = (self.line + 1, 1),
            // Continuation bytes of a character, and the first byte of a byte order mark.
            0x80..=0xbf => {}
            0xef if self.last == 0 => {}
            _ => self.letter += 1,
        }
        self.last = byte;
    }

    fn pass(&mut self, passes: impl Fn(u8) -> bool) {
        while self.bytes.peek().is_some_and(|&byte| passes(byte)) {
            self.step();
        }
    }
}

/// Complete rows of a text, with the position of their first byte.
pub(super) struct Piece<'t> {
    pub(super) from: u64,
    pub(super) bytes: &'t [u8],
}

/// Iterator over the rows of a text. Rows with only empty fields are skipped.
pub(super) struct TableRows<'t> {
    text: Text,
    from: u64,
    cutter: Cutter<'t>,
}

/// The parser that cuts rows into fields.
enum Cutter<'t> {
    /// For pieces without quotes.
    Plain(Lines<'t>),
    Quoted(Box<Quoted>),
}

/// Parser of the crate `csv`.
struct Quoted {
    reader: Reader<TextBytes>,
    /// The whole line if white space separates fields, because `csv` cannot divide it.
    line: ByteRecord,
    record: ByteRecord,
}

impl Quoted {
    fn next(&mut self, spaced: bool) -> Result<bool, csv::Error> {
        self.reader.get_mut().left = LONGEST_ROW;
        let record = if spaced { &mut self.line } else { &mut self.record };
        let found = self.reader.read_byte_record(record)?;
        if spaced {
            let words = self.line.as_slice().split(u8::is_ascii_whitespace);
            self.record.clear();
            words.filter(|word| !word.is_empty()).for_each(|word| self.record.push_field(word));
        }
        Ok(found)
    }
}

impl TableRows<'_> {
    /// Advances to the next row. Returns the byte near which the row begins; `None` after the last row.
    pub(super) fn next(&mut self) -> Result<Option<u64>, SourceError> {
        let spaced = self.text.delimiter == Delimiter::Whitespace;
        loop {
            let near = self.near();
            let found = match &mut self.cutter {
                Cutter::Plain(lines) => lines.next(),
                Cutter::Quoted(quoted) => match quoted.next(spaced) {
                    Ok(found) => found,
                    Err(why) => return Err(self.explained(&why, near)),
                },
            };
            if !found {
                return Ok(None);
            }
            let mut fields = (0..self.fields()).map(|column| self.field(column));
            if !fields.all(|field| field.iter().all(u8::is_ascii_whitespace)) {
                return Ok(Some(near));
            }
        }
    }

    /// Advances to the next row and reads its numbers if the row has the form `row`. Otherwise returns false, and the
    /// position is unchanged.
    pub(super) fn next_numbers(&mut self, row: &PlainRow, numbers: &mut [f64]) -> bool {
        match &mut self.cutter {
            Cutter::Plain(lines) => lines.next_numbers(row, numbers),
            Cutter::Quoted(_) => false,
        }
    }

    /// Returns a byte at or before the start of the next row; only empty lines and comments are between.
    pub(super) fn near(&self) -> u64 {
        self.from
            + match &self.cutter {
                Cutter::Plain(lines) => lines.at as u64,
                Cutter::Quoted(quoted) => quoted.reader.position().byte(),
            }
    }

    /// Returns the number of fields of the row.
    pub(super) fn fields(&self) -> usize {
        match &self.cutter {
            Cutter::Plain(lines) => lines.fields(),
            Cutter::Quoted(quoted) => quoted.record.len(),
        }
    }

    /// Returns a field of the row; empty if there is no such field.
    pub(super) fn field(&self, column: usize) -> &[u8] {
        match &self.cutter {
            Cutter::Plain(lines) => lines.field(column),
            Cutter::Quoted(quoted) => quoted.record.get(column).unwrap_or_default(),
        }
    }

    /// Returns a field as text, without surrounding spaces and quotes.
    pub(super) fn words(&self, column: usize) -> String {
        unquoted(&decoded(self.field(column))).to_owned()
    }

    /// Returns all fields as text, without surrounding spaces and quotes.
    pub(super) fn all_words(&self) -> Vec<String> {
        (0..self.fields()).map(|column| self.words(column)).collect()
    }

    /// Returns true if the bytes of all fields, one after another, are UTF-8.
    pub(super) fn is_utf8(&self) -> bool {
        let all = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        match &self.cutter {
            Cutter::Plain(lines) => lines.is_utf8(),
            Cutter::Quoted(quoted) => all(quoted.record.as_slice()),
        }
    }

    fn explained(&self, why: &csv::Error, near: u64) -> SourceError {
        let fault = match &self.cutter {
            Cutter::Plain(_) => None,
            Cutter::Quoted(quoted) => quoted.reader.get_ref().fault,
        };
        if let Some(fault) = fault {
            return SourceError::new(self.text.place(fault.opened(), 0), fault.message());
        }
        match why.kind() {
            csv::ErrorKind::Io(why) if why.kind() == ErrorKind::FileTooLarge => {
                let most = LONGEST_ROW >> 20;
                let what = format!("a row that begins here is longer than {most} MiB");
                let remedy = "is a quote not closed, or is it no text?";
                self.text.error_at(near, format!("{what}; {remedy}"))
            }
            csv::ErrorKind::Io(why) => self.text.file.error(why.to_string()),
            _ => self.text.error_at(near, why.to_string()),
        }
    }
}

/// Reader of the bytes of a text.
pub(super) struct TextBytes {
    file: Arc<DataFile>,
    at: u64,
    /// Number of bytes that may be read before the row is too long.
    left: u64,
    quotes: Option<QuoteCheck>,
    /// The quote fault that ended the reading; `None` if there was no such fault.
    fault: Option<QuoteFault>,
}

impl Read for TextBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let read = self.file.read_some(self.at, buffer);
        let read = read.map_err(|error| io::Error::other(error.message))? as u64;
        if let Some(quotes) = &mut self.quotes {
            let passed = match read {
                0 => quotes.end(),
                _ => quotes.pass(&buffer[..read as usize], self.at).map(drop),
            };
            if let Err(fault) = passed {
                self.fault = Some(fault);
                return Err(ErrorKind::InvalidData.into());
            }
        }
        (self.at, self.left) = (self.at + read, self.left.saturating_sub(read));
        Ok(read as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: &[u8], delimiter: Delimiter) -> Text {
        let file = Arc::new(DataFile::in_memory("t".into(), bytes.into()));
        Text { file, delimiter, comment: Some(b'#') }
    }

    #[test]
    fn places_are_those_that_an_editor_shows() {
        let table = text(b"a,b\n\n# comment\n1, \"2\n,x\",3\n", Delimiter::Comma);
        assert_eq!(table.place(0, 1), "t:1:3");
        assert_eq!(table.place(4, 0), "t:4:1");
        assert_eq!(table.place(4, 1), "t:4:4");
        assert_eq!(table.place(4, 2), "t:5:5");
        assert_eq!(table.line(4), 4);
        let spaced = text("  µm   12 x\r\n".as_bytes(), Delimiter::Whitespace);
        assert_eq!(spaced.place(0, 2), "t:1:11");
        assert_eq!(text(b"1;2\r3;4", Delimiter::Semicolon).place(4, 1), "t:2:3");
        assert_eq!(text(b"1", Delimiter::Comma).place(90, 7), "t:1:2");
        assert_eq!(text("\u{feff}1,2".as_bytes(), Delimiter::Comma).place(0, 1), "t:1:3");
    }

    /// Returns the fields of all rows.
    fn all(mut rows: TableRows<'_>) -> Vec<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        while rows.next().unwrap().is_some() {
            all.push((0..rows.fields()).map(|column| rows.field(column).to_vec()).collect());
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn lines_are_cut_as_csv_cuts_them(
            bytes in prop::collection::vec(prop::sample::select(b"12.-#; ,\t\n\n\r\x80".to_vec()), 0..60),
            delimiter in prop::sample::select(vec![
                Delimiter::Comma, Delimiter::Semicolon, Delimiter::Tab, Delimiter::Whitespace,
                Delimiter::Byte(b'#'), Delimiter::Byte(b'1'),
            ]),
            comment in prop::sample::select(vec![None, Some(b'#'), Some(b'2')]),
        ) {
            let file = Arc::new(DataFile::in_memory("t".into(), bytes.as_slice().into()));
            let text = Text { file, delimiter, comment };
            let piece = Piece { from: 0, bytes: &bytes };
            prop_assert_eq!(all(text.rows_of_piece(piece)), all(text.part(0)));
        }
    }
}
