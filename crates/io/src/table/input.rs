//! Input of a table: a file, a pipe or a device, read up to the maximum size of a table.

use super::reader::{Columns, Result};
#[cfg(feature = "csv")]
use crate::csv::{CsvOptions, CsvSource, no_text};
use crate::error::TableError;
use crate::npy::NpySource;
use dualfit::error::SourceError;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Maximum number of bytes of an input of unknown length, such as a pipe or a device.
#[cfg(feature = "csv")]
const MOST: u64 = 1 << 30;
/// Maximum length of a line, in bytes. A longer line indicates that the input is damaged or endless.
#[cfg(feature = "csv")]
const LONGEST_LINE: usize = 16 << 20;
/// Number of leading bytes that are tested. A NUL byte among them shows that the input is not a text.
#[cfg(feature = "csv")]
const HEAD: usize = 8 << 10;
/// Bytes read at a time.
#[cfg(feature = "csv")]
const AT_A_TIME: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Npy,
    Parquet,
    Arrow,
    Text,
}

impl FileFormat {
    /// Detects the format from the first bytes.
    fn of(head: &[u8]) -> FileFormat {
        match head {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => FileFormat::Npy,
            [b'P', b'A', b'R', b'1', ..] => FileFormat::Parquet,
            // An Arrow file; or an Arrow stream, whose first bytes do not occur in texts.
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => {
                FileFormat::Arrow
            }
            _ => FileFormat::Text,
        }
    }
}

/// Options for the layout of a text; empty without the feature `csv`.
#[cfg(feature = "csv")]
pub(super) type TextOptions = CsvOptions;
#[cfg(not(feature = "csv"))]
pub(super) type TextOptions = ();

/// Opens a file of any format, or a text from a pipe or a device.
pub(super) fn open(path: &Path, options: TextOptions) -> Result<Box<dyn Columns>> {
    let place = path.display().to_string();
    let failed = |why: io::Error| SourceError::new(place.clone(), unopened(&why));
    // A pipe is opened only once, because its data can be read only once.
    let mut file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_dir() {
        return Err(SourceError::new(place, "is a folder; give a file in it").into());
    }
    if !about.is_file() {
        return text_of(&place, file, options);
    }
    let mut head = Vec::new();
    file.by_ref().take(8).read_to_end(&mut head).map_err(failed)?;
    match FileFormat::of(&head) {
        FileFormat::Npy => Ok(Box::new(NpySource::open(path)?.reader)),
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => Ok(Box::new(crate::parquet::ParquetSource::open(path)?.reader)),
        #[cfg(feature = "arrow")]
        FileFormat::Arrow => Ok(Box::new(crate::arrow::ArrowSource::open(path)?.reader)),
        #[cfg(feature = "csv")]
        FileFormat::Text => Ok(Box::new(CsvSource::open_with(path, options)?.reader)),
        #[allow(unreachable_patterns)]
        other => Err(off(place, other)),
    }
}

fn off(place: String, format: FileFormat) -> TableError {
    let (format, feature) = match format {
        FileFormat::Parquet => ("a Parquet file", "parquet"),
        FileFormat::Arrow => ("an Arrow file", "arrow"),
        FileFormat::Npy | FileFormat::Text => ("a text table", "csv"),
    };
    TableError::FeatureOff { place, format, feature }
}

#[cfg(not(feature = "csv"))]
fn text_of(place: &str, _: impl Read, (): TextOptions) -> Result<Box<dyn Columns>> {
    Err(off(place.into(), FileFormat::Text))
}

/// Reads a text into memory and opens it as a table. `place`: the name in error messages.
#[cfg(feature = "csv")]
pub(super) fn text_of(
    place: &str,
    mut from: impl Read,
    options: TextOptions,
) -> Result<Box<dyn Columns>> {
    let bytes = bytes(&mut from, MOST).map_err(|what| SourceError::new(place, what))?;
    Ok(Box::new(CsvSource::from_bytes(place, bytes, options)?.reader))
}

/// Reads all bytes of a text. More than `most` bytes are an error.
#[cfg(feature = "csv")]
fn bytes(from: &mut impl Read, most: u64) -> Result<Vec<u8>, String> {
    let (mut bytes, mut line) = (Vec::new(), 0);
    loop {
        let before = bytes.len();
        match from.by_ref().take(AT_A_TIME).read_to_end(&mut bytes) {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(unopened(&why)),
        }
        if FileFormat::of(&bytes) != FileFormat::Text {
            return Err(
                "holds an array, Parquet or Arrow; only text can come this way, so give the file's name"
                    .into(),
            );
        }
        if before < HEAD
            && let Some(what) = no_text(&bytes)
        {
            return Err(what.into());
        }
        let ends = bytes.iter().skip(before).rposition(|&byte| byte == b'\n' || byte == b'\r');
        line = ends.map_or(line, |end| before + end);
        if bytes.len() - line > LONGEST_LINE {
            let most = LONGEST_LINE >> 20;
            let what = format!("a line is longer than {most} MiB");
            return Err(format!("{what}; is it a table with a row in each line?"));
        }
        if bytes.len() as u64 > most {
            let what = format!("more than {} MiB came and there is no end", most >> 20);
            return Err(format!("{what}; end it, or write it to a file and give that"));
        }
    }
}

fn unopened(why: &io::Error) -> String {
    match why.kind() {
        ErrorKind::NotFound => "there is no such file; check its name and folder".into(),
        ErrorKind::PermissionDenied => "it may not be read; check its permissions".into(),
        _ => format!("cannot be read: {why}"),
    }
}

#[cfg(all(test, feature = "csv"))]
mod tests {
    use super::*;

    /// An endless text.
    struct Rows;

    impl Read for Rows {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len() / 4 * 4;
            buffer[..length].chunks_exact_mut(4).for_each(|row| row.copy_from_slice(b"1,2\n"));
            Ok(length)
        }
    }

    #[test]
    fn what_has_no_end_ends() {
        assert_eq!(
            bytes(&mut Rows, 8 << 20).unwrap_err(),
            "more than 8 MiB came and there is no end; end it, or write it to a file and give that"
        );
        assert_eq!(
            bytes(&mut io::repeat(b'1'), MOST).unwrap_err(),
            "a line is longer than 16 MiB; is it a table with a row in each line?"
        );
        assert!(bytes(&mut io::repeat(0), MOST).unwrap_err().contains("is no text"));
    }
}
