//! The rows of a text, and where in it a field stands.

use super::Delimiter;

use crate::data::source::format::file::{DataFile, Digest, FileReader};
use crate::error::source::SourceError;
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::borrow::Cow;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

/// Bytes read at a time.
const BUFFER: usize = 256 << 10;

/// A longer row is taken for damage, such as a quote that is never closed: it would be kept whole.
const LONGEST_ROW: u64 = 16 << 20;

/// What the bytes of Windows' Latin letters mean where Latin-1 has no letters; the rest is as there.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// What holds the bytes.
#[derive(Clone)]
pub(super) enum Contents {
    File(Arc<DataFile>),
    /// `name`: how errors call them.
    Memory {
        name: String,
        bytes: Arc<[u8]>,
    },
}

impl Contents {
    pub(super) fn name(&self) -> String {
        match self {
            Contents::File(file) => file.place(),
            Contents::Memory { name, .. } => name.clone(),
        }
    }

    /// The bytes from a place on.
    pub(super) fn bytes(&self, from: u64) -> Box<dyn Read + Send + Sync> {
        match self {
            Contents::File(file) => Box::new(FileReader::new(file.clone(), from)),
            Contents::Memory { bytes, .. } => {
                let mut bytes = Cursor::new(bytes.clone());
                bytes.set_position(from);
                Box::new(bytes)
            }
        }
    }

    pub(super) fn fingerprint(&self) -> Result<String, SourceError> {
        match self {
            Contents::File(file) => file.fingerprint(),
            Contents::Memory { bytes, .. } => {
                let mut digest = Digest::new();
                digest.bytes(bytes);
                Ok(format!("{} bytes {}", bytes.len(), digest.text()))
            }
        }
    }
}

/// A text, and what its rows are made of.
#[derive(Clone)]
pub(super) struct Text {
    pub(super) contents: Contents,
    pub(super) delimiter: Delimiter,
    pub(super) comment: Option<u8>,
}

impl Text {
    /// The rows from a byte on.
    pub(super) fn rows(&self, from: u64) -> Rows {
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).comment(self.comment).buffer_capacity(BUFFER);
        match self.delimiter {
            // The record is the line. A byte that no text has separates nothing.
            Delimiter::Whitespace => builder.delimiter(0).quoting(false),
            delimiter => builder.delimiter(delimiter.byte()),
        };
        let reader = builder.from_reader(Limited { bytes: self.contents.bytes(from), of_row: 0 });
        Rows { text: self.clone(), from, reader, record: ByteRecord::new(), words: Vec::new() }
    }

    /// About the text as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> SourceError {
        SourceError::new(self.contents.name(), message)
    }

    /// About the row that begins near a byte.
    pub(super) fn error_at(&self, near: u64, message: impl Into<String>) -> SourceError {
        let line = self.line(near);
        SourceError::new(format!("{}:{line}", self.contents.name()), message)
    }

    /// The line, from 1, on which the row stands that begins near a byte.
    pub(super) fn line(&self, near: u64) -> u64 {
        self.row_near(near).line
    }

    /// A field of the row that begins near a byte: `data.csv:17:3`, line and letter from 1, as editors open
    /// it.
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
        format!("{}:{}:{}", self.contents.name(), walk.line, walk.letter)
    }

    /// At the row that begins near a byte: blank lines and comments may stand before it.
    fn row_near(&self, near: u64) -> Walk {
        let bytes = BufReader::new(self.contents.bytes(0)).bytes().map_while(Result::ok);
        let bytes: Box<dyn Iterator<Item = u8>> = Box::new(bytes);
        let mut walk = Walk { bytes: bytes.peekable(), line: 1, letter: 1, last: 0 };
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

/// The bytes of a text one after another, with the line and the letter, from 1, of the next.
struct Walk {
    bytes: Peekable<Box<dyn Iterator<Item = u8>>>,
    line: u64,
    letter: u64,
    last: u8,
}

impl Walk {
    fn step(&mut self) {
        let Some(byte) = self.bytes.next() else { return };
        match byte {
            b'\n' if self.last == b'\r' => {}
            b'\n' | b'\r' => (self.line, self.letter) = (self.line + 1, 1),
            // Further bytes of a letter, and the first of a mark that tells the order of bytes.
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

/// Rows one after another, those with nothing in their fields passed over.
pub(super) struct Rows {
    text: Text,
    from: u64,
    reader: Reader<Limited>,
    record: ByteRecord,
    /// Places of the fields in the record's bytes, where white space separates them.
    words: Vec<Range<usize>>,
}

impl Rows {
    /// Goes to the next row; the byte near which it begins, or `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<u64>, SourceError> {
        loop {
            self.reader.get_mut().of_row = 0;
            let near = self.from + self.reader.position().byte();
            match self.reader.read_byte_record(&mut self.record) {
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(why) => return Err(self.explained(&why, near)),
            }
            if self.text.delimiter == Delimiter::Whitespace {
                self.find_words();
            }
            let is_empty = |column| self.field(column).iter().all(u8::is_ascii_whitespace);
            if !(0..self.fields()).all(is_empty) {
                return Ok(Some(near));
            }
        }
    }

    /// Number of fields of the row.
    pub(super) fn fields(&self) -> usize {
        match self.text.delimiter {
            Delimiter::Whitespace => self.words.len(),
            _ => self.record.len(),
        }
    }

    /// A field of the row; empty if there is none.
    pub(super) fn field(&self, column: usize) -> &[u8] {
        match self.text.delimiter {
            Delimiter::Whitespace => {
                let word = self.words.get(column).cloned().unwrap_or_default();
                self.record.as_slice().get(word).unwrap_or_default()
            }
            _ => self.record.get(column).unwrap_or_default(),
        }
    }

    /// A field in letters, without what stands around it.
    pub(super) fn words(&self, column: usize) -> String {
        unquoted(&decoded(self.field(column))).to_owned()
    }

    /// The letters of all fields: those of the line, where white space separates them.
    pub(super) fn letters(&self) -> Cow<'_, str> {
        decoded(self.record.as_slice())
    }

    /// The record has one field, the line.
    fn find_words(&mut self) {
        let line = self.record.as_slice();
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let place = |word: &[u8]| word.as_ptr() as usize - line.as_ptr() as usize;
        self.words.clear();
        self.words.extend(words.map(|word| place(word)..place(word) + word.len()));
    }

    fn explained(&self, why: &csv::Error, near: u64) -> SourceError {
        match why.kind() {
            csv::ErrorKind::Io(why) if why.kind() == ErrorKind::FileTooLarge => {
                let most = LONGEST_ROW >> 20;
                let what = format!("a row that begins here is longer than {most} MiB");
                let remedy = "is a quote not closed, or is it no text?";
                self.text.error_at(near, format!("{what}; {remedy}"))
            }
            csv::ErrorKind::Io(why) => self.text.error(why.to_string()),
            _ => self.text.error_at(near, why.to_string()),
        }
    }
}

/// Bytes in order, of which a row can only take so many.
struct Limited {
    bytes: Box<dyn Read + Send + Sync>,
    of_row: u64,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.of_row > LONGEST_ROW {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let read = self.bytes.read(buffer)?;
        self.of_row += read as u64;
        Ok(read)
    }
}

/// Letters in UTF-8, or else in Windows' variant of Latin-1.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let letter = |&byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(letter).collect()),
    }
}

/// Without the spaces around it, and the quotes that stand behind such spaces.
pub(super) fn unquoted(field: &str) -> &str {
    let text = field.trim();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], delimiter: Delimiter) -> Text {
        let contents = Contents::Memory { name: "t".into(), bytes: bytes.into() };
        Text { contents, delimiter, comment: Some(b'#') }
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

    #[test]
    fn letters_of_windows_are_read() {
        assert_eq!(decoded(b"\xb5m,\xb0C,\x80"), "µm,°C,€");
        assert_eq!(decoded("µ".as_bytes()), "µ");
    }
}
