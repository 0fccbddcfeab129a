//! Source for NumPy's array files of format versions 1 to 3.

use crate::format::binary::{Binary, Encoding, Field, NumberType, Table};
use crate::format::file::DataFile;
use crate::format::source::{FileSource, file_source};
use dualfit::error::SourceError;
use std::path::Path;

/// Maximum length of a header in bytes. A longer header has thousands of fields of different types, or is damaged.
const LONGEST: usize = 1 << 20;

/// Maximum number of columns of an array. An array with more is rejected, because its axes are probably swapped.
const MOST_COLUMNS: u64 = 1 << 16;

/// Source of points from files of `numpy.save`. An array of shape (n,) is one column of n points, an array of shape
/// (n, k) is k columns. The numbers are floating-point (f4, f8) or integers, in either byte order; the array is in C
/// order or in Fortran order.
///
/// Columns are numbered from 0, continuously through all files. By default x is column 0 and y is column 1. A column is
/// stored in memory in single precision if this represents all numbers of its type exactly.
///
/// ```no_run
/// use dualfit_io::NpySource;
/// let source = NpySource::open("run7.npy")?.x([0, 1])?.y(2)?.sigma(3)?;
/// let source = NpySource::open_all(["t.npy", "signal.npy"])?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NpySource {
    pub(crate) reader: FileSource<Binary>,
}

file_source!(NpySource);

impl NpySource {
    /// Opens one array of shape (n, k) with at least two columns.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, is damaged, is shorter than its header states, contains values
    /// other than numbers, or has fewer than two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<NpySource, SourceError> {
        NpySource::open_all([path])
    }

    /// Opens several arrays with equal numbers of points as one table: the columns of each array follow those of the
    /// previous array.
    ///
    /// # Errors
    /// The errors of [`open`](NpySource::open), and an error if the arrays differ in length.
    pub fn open_all<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
    ) -> Result<NpySource, SourceError> {
        let tables = paths.into_iter().map(|path| array(DataFile::open(path.as_ref())?));
        Ok(NpySource { reader: Binary::new("npy".into(), "points", tables)? })
    }
}

/// Returns the columns of an array, after a check that the file contains all its values.
fn array(file: DataFile) -> Result<Table, SourceError> {
    let (text, start) = header(&file)?;
    let Some(NpyHeader { descr, fortran, shape }) = NpyHeader::parse(&text) else {
        let shown: String = text.chars().take(200).collect();
        return Err(file.error(format!("its header cannot be understood: {}", shown.trim_end())));
    };
    let Some(encoding) = encoding(&descr) else {
        let message =
            format!("it holds `{descr}`; f4, f8 and integers can be read: convert it with astype");
        return Err(file.error(message));
    };
    let (rows, columns) = match shape.as_slice() {
        [rows] => (*rows, 1),
        [rows, columns] if *columns <= MOST_COLUMNS => (*rows, *columns),
        _ => {
            return Err(file.error(format!(
                "its shape is {shape:?}; arrays of shape (n,) or (n, k) can be read, one row per point"
            )));
        }
    };
    let size = encoding.number.bytes() as u64;
    let bytes = rows.checked_mul(columns).and_then(|values| values.checked_mul(size));
    let there = file.length() - start;
    if bytes.is_none_or(|bytes| bytes > there) {
        let whole = there / (columns * size).max(1);
        let message = format!(
            "it is cut short: its shape is {shape:?} but it has only {there} bytes of values"
        );
        return Err(file.error(message).at_row(whole));
    }
    let field = |column| match fortran {
        // In Fortran order the values of a column are contiguous.
        true => Field {
            start: start + column * rows * size,
            stride: size as usize,
            offset: 0,
            encoding,
        },
        false => {
            let (stride, offset) = ((columns * size) as usize, (column * size) as usize);
            Field { start, stride, offset, encoding }
        }
    };
    Ok(Table { rows, fields: (0..columns).map(field).collect(), file })
}

/// Returns the text of the header and the offset of the values, which follow it.
fn header(file: &DataFile) -> Result<(String, u64), SourceError> {
    let no_array = || file.error("it is no array file of NumPy, or damaged");
    let mut magic = [0; 12];
    let there = magic.len().min(file.length() as usize);
    let read = file.read_exact(0, magic.get_mut(..there).unwrap_or_default());
    read.map_err(|(_, error)| error)?;
    let [m @ .., major, _minor, l0, l1, l2, l3] = magic;
    if m != *b"\x93NUMPY" {
        return Err(no_array());
    }
    let (start, length) = match major {
        1 => (10, u32::from(u16::from_le_bytes([l0, l1]))),
        2 | 3 => (12, u32::from_le_bytes([l0, l1, l2, l3])),
        _ => {
            return Err(file.error(format!("its format is version {major}; 1 to 3 can be read")));
        }
    };
    let end = start + u64::from(length);
    if length as usize > LONGEST || end > file.length() {
        return Err(no_array());
    }
    let text = file.bytes(start, length as usize)?;
    Ok((String::from_utf8_lossy(&text).into_owned(), end))
}

/// Returns the encoding for a type name of NumPy: `<f8` is a float of eight bytes, little-endian.
fn encoding(descr: &str) -> Option<Encoding> {
    use NumberType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let (order, number) = descr.split_at_checked(1)?;
    let number = match number {
        "f8" => F64,
        "f4" => F32,
        "i1" => I8,
        "i2" => I16,
        "i4" => I32,
        "i8" => I64,
        "u1" => U8,
        "u2" => U16,
        "u4" => U32,
        "u8" => U64,
        _ => return None,
    };
    let big_endian = match order {
        "<" => false,
        ">" => true,
        "|" if number.bytes() == 1 => false,
        _ => return None,
    };
    Some(Encoding { number, big_endian })
}

/// A header: a dictionary in Python's notation, as documented in `numpy.lib.format`.
struct NpyHeader {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl NpyHeader {
    fn parse(text: &str) -> Option<NpyHeader> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        for entry in entries(text.trim().strip_prefix('{')?.strip_suffix('}')?) {
            let (key, value) = entry.split_once(':')?;
            let value = value.trim();
            match unquoted(key.trim())? {
                // For a structured array this is a list of its fields, not a string: it is kept for the error message.
                "descr" => descr = Some(unquoted(value).unwrap_or(value).to_string()),
                "fortran_order" => {
                    fortran = Some(match value {
                        "True" => true,
                        "False" => false,
                        _ => return None,
                    });
                }
                "shape" => {
                    let sizes = entries(value.strip_prefix('(')?.strip_suffix(')')?);
                    let sizes = sizes.into_iter().map(|size| size.parse().ok());
                    shape = Some(sizes.collect::<Option<Vec<u64>>>()?);
                }
                _ => return None,
            }
        }
        Some(NpyHeader { descr: descr?, fortran: fortran?, shape: shape? })
    }
}

/// Splits a text at the commas outside brackets. An empty entry after the last comma is dropped.
fn entries(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let separates = |c: char| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        c == ',' && depth == 0
    };
    let mut entries: Vec<&str> = text.split(separates).map(str::trim).collect();
    entries.pop_if(|last| last.is_empty());
    entries
}

fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text.strip_prefix(quote)?.strip_suffix(quote)
}
