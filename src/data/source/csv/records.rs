//! The rows of a text file, with the lines on which they begin.

use super::{CsvOptions, Delimiter};
use crate::data::source::format::file::{DataFile, FileReader};
use crate::error::source::SourceError;
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Bytes read at a time.
const BUFFER: usize = 256 << 10;

/// A longer row is taken for damage, such as a quote that is never closed: it would be kept whole.
const LONGEST_ROW: u64 = 16 << 20;

/// A file's rows, one after another.
#[derive(Debug)]
pub(super) struct Records {
    file: Arc<DataFile>,
    options: CsvOptions,
    reader: Reader<Bytes>,
    record: ByteRecord,
    /// Places of the fields in the record's bytes, where fields are not those of the record.
    words: Vec<Range<usize>>,
}

impl Records {
    pub(super) fn new(file: Arc<DataFile>, options: CsvOptions) -> Records {
        let reader = reader(&file, &options);
        Records { file, options, reader, record: ByteRecord::new(), words: Vec::new() }
    }

    pub(super) fn file(&self) -> &DataFile {
        &self.file
    }

    pub(super) fn options(&self) -> &CsvOptions {
        &self.options
    }

    /// The names of the columns, of a file that has just been opened: those in the first row, or their
    /// numbers. `None` where there is no row.
    pub(super) fn names(&mut self) -> Result<Option<Vec<String>>, SourceError> {
        if !self.next()? {
            return Ok(None);
        }
        let name = |column: usize| match self.options.header {
            true => String::from_utf8_lossy(self.field(column).trim_ascii()).into_owned(),
            false => column.to_string(),
        };
        Ok(Some((0..self.fields()).map(name).collect()))
    }

    /// Before the first row of numbers.
    pub(super) fn restart(&mut self) -> Result<(), SourceError> {
        self.reader = reader(&self.file, &self.options);
        if self.options.header {
            self.next()?;
        }
        Ok(())
    }

    /// Goes to the next row, if there is one.
    pub(super) fn next(&mut self) -> Result<bool, SourceError> {
        loop {
            self.reader.get_mut().of_row = 0;
            let start = self.reader.position().clone();
            match self.reader.read_byte_record(&mut self.record) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
                Err(error) => return Err(self.explained(error, &start)),
            }
            if self.options.delimiter == Delimiter::Whitespace {
                self.find_words();
                if self.words.is_empty() {
                    continue;
                }
            }
            return Ok(true);
        }
    }

    /// Number of fields of the row.
    pub(super) fn fields(&self) -> usize {
        match self.options.delimiter {
            Delimiter::Whitespace => self.words.len(),
            _ => self.record.len(),
        }
    }

    /// A field of the row; empty if there is none.
    pub(super) fn field(&self, column: usize) -> &[u8] {
        match self.options.delimiter {
            Delimiter::Whitespace => {
                let word = self.words.get(column).cloned().unwrap_or_default();
                self.record.as_slice().get(word).unwrap_or_default()
            }
            _ => self.record.get(column).unwrap_or_default(),
        }
    }

    /// About the row.
    pub(super) fn error(&self, message: String) -> SourceError {
        let error = self.file.error(message);
        match self.record.position() {
            Some(position) => error.at_row(self.line(position)),
            None => error,
        }
    }

    /// The line of the row that follows a position, which is before the empty lines and comments that
    /// the row follows.
    fn line(&self, position: &csv::Position) -> u64 {
        let bytes = FileReader::new(self.file.clone(), position.byte());
        let (mut line, mut comment) = (position.line(), false);
        for byte in io::BufReader::new(bytes).bytes().map_while(Result::ok) {
            match byte {
                b'\n' => (line, comment) = (line + 1, false),
                b'\r' => {}
                _ if comment => {}
                _ if Some(byte) == self.options.comment => comment = true,
                _ => break,
            }
        }
        line
    }

    /// The record has one field, the line.
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

    fn explained(&mut self, error: csv::Error, start: &csv::Position) -> SourceError {
        if let Some(error) = self.reader.get_mut().file.error.take() {
            return error;
        }
        let message = match error.kind() {
            csv::ErrorKind::Io(_) => format!(
                "a row that begins here is longer than {} MiB; is a quote not closed, or is it no text?",
                LONGEST_ROW >> 20
            ),
            _ => error.to_string(),
        };
        self.file.error(message).at_row(self.line(start))
    }
}

fn reader(file: &Arc<DataFile>, options: &CsvOptions) -> Reader<Bytes> {
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).comment(options.comment).buffer_capacity(BUFFER);
    match options.delimiter {
        Delimiter::Comma => builder.delimiter(b','),
        Delimiter::Semicolon => builder.delimiter(b';'),
        Delimiter::Tab => builder.delimiter(b'\t'),
        // The record is the line. A byte that no text has separates nothing.
        Delimiter::Whitespace => builder.delimiter(0xff).quoting(false),
        Delimiter::Byte(byte) => builder.delimiter(byte),
    };
    builder.from_reader(Bytes { file: FileReader::new(file.clone(), 0), of_row: 0 })
}

/// The bytes of the file in order, of which a row can only take so many.
#[derive(Debug)]
struct Bytes {
    file: FileReader,
    of_row: u64,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.of_row > LONGEST_ROW {
            return Err(io::Error::other("too long a row"));
        }
        let read = self.file.read(buffer)?;
        self.of_row += read as u64;
        Ok(read)
    }
}
