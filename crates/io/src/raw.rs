//! Binary files of bare numbers: one file per column, or rows of several numbers.

use crate::format::binary::{Binary, Encoding, Field, NumberType, Table};
use crate::format::file::DataFile;
use crate::format::source::{FileSource, file_source};
use dualfit::error::SourceError;
use std::path::PathBuf;

/// The layout of a binary file: after a header, contiguous rows of numbers up to the end of the file. By default
/// the numbers are little-endian and there is no header.
#[derive(Clone, Debug)]
pub struct RawFile {
    path: PathBuf,
    numbers: Vec<NumberType>,
    header: u64,
    big_endian: bool,
}

impl RawFile {
    /// Creates a layout. `numbers`: types of the numbers in a row; one type for a file with a single column.
    pub fn new(path: impl Into<PathBuf>, numbers: impl IntoIterator<Item = NumberType>) -> RawFile {
        let numbers = numbers.into_iter().collect();
        RawFile { path: path.into(), numbers, header: 0, big_endian: false }
    }

    /// Sets the length of the header before the first row, in bytes.
    #[must_use]
    pub fn header(mut self, bytes: u64) -> RawFile {
        self.header = bytes;
        self
    }

    /// Declares that the numbers are big-endian.
    #[must_use]
    pub fn big_endian(mut self) -> RawFile {
        self.big_endian = true;
        self
    }

    fn open(&self) -> Result<Table, SourceError> {
        let file = DataFile::open(&self.path)?;
        let stride: usize = self.numbers.iter().map(|number| number.bytes()).sum();
        let Some(bytes) = file.length().checked_sub(self.header) else {
            let (length, header) = (file.length(), self.header);
            return Err(
                file.error(format!("it has {length} bytes, fewer than its header's {header}"))
            );
        };
        if stride == 0 {
            return Err(file.error("its rows have no numbers; say which there are"));
        }
        let (rows, rest) = (bytes / stride as u64, bytes % stride as u64);
        if rest != 0 {
            let message = format!(
                "{bytes} bytes of data are no whole number of rows of {stride} bytes; it is cut short, or the rows or the header are other ones"
            );
            return Err(file.error(message).at_row(rows));
        }
        let mut end = 0;
        let field = |&number: &NumberType| {
            let (start, offset) = (self.header, end);
            end += number.bytes();
            Field {
                start,
                stride,
                offset,
                encoding: Encoding { number, big_endian: self.big_endian },
            }
        };
        let fields = self.numbers.iter().map(field).collect();
        Ok(Table { file, rows, fields })
    }
}

/// Binary files of numbers as a source. Columns are numbered from 0, continuously through all files. By default x is
/// column 0 and y is column 1.
///
/// A column is stored in memory in single precision if this represents all numbers of its type exactly.
///
/// ```no_run
/// use dualfit_io::{NumberType::F32, NumberType::F64, RawFile, RawSource};
/// // A file per column:
/// let source = RawSource::open([RawFile::new("t.bin", [F64]), RawFile::new("signal.bin", [F32])])?;
/// // One file of rows t, flag, signal, error behind a header of 128 bytes:
/// let rows = RawFile::new("run7.dat", [F64, F32, F64, F64]).header(128).big_endian();
/// let source = RawSource::open([rows])?.x([0])?.y(2)?.sigma(3)?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RawSource {
    reader: FileSource<Binary>,
}

file_source!(RawSource);

impl RawSource {
    /// Opens files with the same number of rows.
    ///
    /// # Errors
    /// If a file cannot be opened, does not contain an integer number of rows, or has another number of rows than the
    /// first; if there are fewer than two columns.
    pub fn open(files: impl IntoIterator<Item = RawFile>) -> Result<RawSource, SourceError> {
        let files: Vec<RawFile> = files.into_iter().collect();
        let layout =
            |raw: &RawFile| format!("{:?} {} {}; ", raw.numbers, raw.header, raw.big_endian);
        let layout = files.iter().map(layout).collect::<String>();
        let tables = files.iter().map(RawFile::open);
        Ok(RawSource { reader: Binary::new(format!("raw {layout}"), "rows", tables)? })
    }
}
