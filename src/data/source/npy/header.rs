//! The header of an array file: a Python dictionary that says of what numbers and of what shape the
//! array is, as `numpy.lib.format` describes it.

use crate::data::source::format::file::DataFile;
use crate::data::source::format::number::{Encoding, NumberType};
use crate::error::source::SourceError;

/// An array that lies within its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) rows: u64,
    pub(super) columns: usize,
    /// Whether the values of a column follow each other, not those of a row.
    pub(super) columns_together: bool,
    /// Byte of the first value.
    pub(super) start: u64,
}

/// A longer header has thousands of columns of different types, or is damaged.
const LONGEST: usize = 1 << 20;

/// More columns in one array are taken for points that lie the wrong way round.
const MOST_COLUMNS: u64 = 1 << 16;

impl Header {
    pub(super) fn read(file: &DataFile) -> Result<Header, SourceError> {
        let no_array = || file.error("it is no array file of NumPy, or damaged");
        let mut magic = [0; 12];
        let magic_bytes = magic.len().min(file.length() as usize);
        let head = magic.get_mut(..magic_bytes).unwrap_or_default();
        file.read_exact(0, head).map_err(|(_, error)| error)?;
        let [m @ .., major, _minor, l0, l1, l2, l3] = magic;
        if m != *b"\x93NUMPY" {
            return Err(no_array());
        }
        let (start, length) = match major {
            1 => (10, usize::from(u16::from_le_bytes([l0, l1]))),
            2 | 3 => (12, u32::from_le_bytes([l0, l1, l2, l3]) as usize),
            _ => {
                return Err(
                    file.error(format!("its format is version {major}; 1 to 3 can be read"))
                );
            }
        };
        if length > LONGEST || start + length as u64 > file.length() {
            return Err(no_array());
        }
        let mut text = vec![0; length];
        file.read_exact(start, &mut text).map_err(|(_, error)| error)?;
        let text = String::from_utf8_lossy(&text);
        let Some(Fields { descr, fortran, shape }) = Fields::parse(&text) else {
            return Err(file.error(format!(
                "its header cannot be understood: {}",
                text.chars().take(200).collect::<String>().trim_end()
            )));
        };

        let Some(encoding) = encoding(&descr) else {
            let message = format!(
                "it holds `{descr}`; f4, f8 and integers can be read: convert it with astype"
            );
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
        let start = start + length as u64;
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
        let columns_together = fortran || columns == 1;
        Ok(Header { encoding, rows, columns: columns as usize, columns_together, start })
    }
}

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

/// The entries of the dictionary.
struct Fields {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl Fields {
    fn parse(text: &str) -> Option<Fields> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut rest = Rest(text);
        rest.take("{")?;
        while rest.take("}").is_none() {
            let key = rest.quoted()?;
            rest.take(":")?;
            match key {
                "descr" => descr = Some(rest.quoted().or_else(|| rest.list())?.to_string()),
                "fortran_order" => fortran = Some(rest.boolean()?),
                "shape" => shape = Some(rest.tuple()?),
                _ => return None,
            }
            if rest.take(",").is_none() {
                rest.take("}")?;
                break;
            }
        }
        let ends = rest.0.trim().is_empty();
        ends.then_some(Fields { descr: descr?, fortran: fortran?, shape: shape? })
    }
}

/// What is still to be parsed.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, token: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn quoted(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let (text, rest) = rest.get(1..)?.split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    /// The fields of a structured array, which are shown in the error that refuses them.
    fn list(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start();
        let end = rest.starts_with('[').then(|| rest.rfind(']')).flatten()? + 1;
        let list = rest.get(..end)?;
        self.0 = rest.get(end..)?;
        Some(list)
    }

    fn boolean(&mut self) -> Option<bool> {
        let yes = self.take("True").is_some();
        if yes { Some(true) } else { self.take("False").map(|()| false) }
    }

    fn tuple(&mut self) -> Option<Vec<u64>> {
        self.take("(")?;
        let mut numbers = Vec::new();
        while self.take(")").is_none() {
            let rest = self.0.trim_start();
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, rest) = rest.split_at_checked(digits)?;
            numbers.push(number.parse().ok()?);
            self.0 = rest;
            if self.take(",").is_none() {
                self.take(")")?;
                break;
            }
        }
        Some(numbers)
    }
}
