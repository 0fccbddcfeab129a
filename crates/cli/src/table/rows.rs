//! The rows of a text that is in memory, and where in it a field stands.

use super::number::unquoted;
use crate::arguments::Delimiter;
use crate::figures::visible;
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::ops::Range;

/// Lines that begin with it are passed over.
pub(super) const COMMENT: char = '#';

/// Rows one after another, those without any field passed over.
pub(super) struct Rows<'a> {
    delimiter: Delimiter,
    reader: Reader<&'a [u8]>,
    record: ByteRecord,
    /// Places of the fields in the record, which is the line, where spaces separate them.
    words: Vec<Range<usize>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(text: &'a str, delimiter: Delimiter) -> Rows<'a> {
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).comment(Some(COMMENT as u8));
        match delimiter {
            Delimiter::Comma => builder.delimiter(b','),
            Delimiter::Semicolon => builder.delimiter(b';'),
            Delimiter::Tab => builder.delimiter(b'\t'),
            // A byte that no text has separates nothing.
            Delimiter::Space => builder.delimiter(0xff).quoting(false),
        };
        let reader = builder.from_reader(text.as_bytes());
        Rows { delimiter, reader, record: ByteRecord::new(), words: Vec::new() }
    }

    /// Goes to the next row; the byte near which it begins, or `None` after the last one.
    pub(super) fn next(&mut self) -> csv::Result<Option<usize>> {
        while self.reader.read_byte_record(&mut self.record)? {
            if self.delimiter == Delimiter::Space {
                self.find_words();
            }
            if (0..self.fields()).any(|column| !self.field(column).trim().is_empty()) {
                return Ok(Some(self.record.position().map_or(0, |at| at.byte() as usize)));
            }
        }
        Ok(None)
    }

    pub(super) fn fields(&self) -> usize {
        match self.delimiter {
            Delimiter::Space => self.words.len(),
            _ => self.record.len(),
        }
    }

    /// A field of the row; empty if there is none.
    pub(super) fn field(&self, column: usize) -> &str {
        let bytes = match self.delimiter {
            Delimiter::Space => {
                let word = self.words.get(column).cloned().unwrap_or_default();
                self.record.as_slice().get(word).unwrap_or_default()
            }
            _ => self.record.get(column).unwrap_or_default(),
        };
        // A text is cut at letters of one byte.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// A field as a column's name: its number from 1 if it is empty.
    pub(super) fn name(&self, column: usize) -> String {
        let words: Vec<&str> = unquoted(self.field(column)).split_whitespace().collect();
        match words.is_empty() {
            true => (column + 1).to_string(),
            false => visible(&words.join(" ")).into_owned(),
        }
    }

    fn find_words(&mut self) {
        self.words.clear();
        let mut start = None;
        for (at, byte) in self.record.as_slice().iter().enumerate() {
            match (byte.is_ascii_whitespace(), start) {
                (false, None) => start = Some(at),
                (true, Some(word)) => {
                    self.words.push(word..at);
                    start = None;
                }
                _ => {}
            }
        }
        self.words.extend(start.map(|word| word..self.record.as_slice().len()));
    }
}

/// The byte with which a row begins that begins near the byte `near`: blank lines and comments may stand
/// before it.
fn beginning(text: &str, near: usize) -> usize {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied();
    let mut at = near;
    while let Some(b) = byte(at) {
        match b {
            b'\n' | b'\r' => at += 1,
            b if char::from(b) == COMMENT => {
                while byte(at).is_some_and(|b| b != b'\n') {
                    at += 1;
                }
            }
            _ => break,
        }
    }
    at
}

/// The line, from 1, on which the row stands that begins near a byte.
pub(super) fn line_of(text: &str, near: usize) -> usize {
    position(text, beginning(text, near)).0
}

/// Line and column, in characters from 1, of a byte.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let bytes = before.as_bytes();
    let feeds = bytes.iter().filter(|&&b| b == b'\n').count();
    let returns = bytes.windows(2).filter(|pair| pair[0] == b'\r' && pair[1] != b'\n').count();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    (feeds + returns + 1, line.chars().count() + 1)
}

/// Line and column, in characters from 1, of a field of the row that begins near the byte `near`.
pub(super) fn place(
    text: &str,
    near: usize,
    delimiter: Delimiter,
    column: usize,
) -> (usize, usize) {
    let byte = |at: usize| text.as_bytes().get(at).copied();
    let mut at = beginning(text, near);
    let blank = |at: usize| byte(at).is_some_and(|b| b == b' ' || b == b'\t');
    let spaced = delimiter == Delimiter::Space;
    let ends = |b: u8| match delimiter {
        Delimiter::Comma => b == b',',
        Delimiter::Semicolon => b == b';',
        Delimiter::Tab => b == b'\t',
        Delimiter::Space => b == b' ' || b == b'\t',
    };
    for _ in 0..column {
        let mut quoted = false;
        while spaced && blank(at) {
            at += 1;
        }
        while let Some(b) = byte(at).filter(|&b| quoted || !ends(b)) {
            quoted ^= b == b'"' && !spaced;
            at += 1;
        }
        at += 1;
    }
    while byte(at).is_some_and(|b| b == b' ') || (spaced && blank(at)) {
        at += 1;
    }
    position(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_that_an_editor_shows() {
        let text = "a,b\n\n# comment\n1, \"2\n,x\",3\n";
        let comma = Delimiter::Comma;
        assert_eq!(place(text, 0, comma, 1), (1, 3));
        assert_eq!(place(text, 4, comma, 0), (4, 1));
        assert_eq!(place(text, 4, comma, 1), (4, 4));
        assert_eq!(place(text, 4, comma, 2), (5, 5));
        assert_eq!(place("  µm   12 x\r\n", 0, Delimiter::Space, 2), (1, 11));
        assert_eq!(place("1;2\r3;4", 4, Delimiter::Semicolon, 1), (2, 3));
        assert_eq!(place("1", 90, comma, 7), (1, 2));
        assert_eq!(line_of(text, 4), 4);
    }
}
