//! Columns of binary files: numbers at fixed byte distances.
//!
//! Files are read, not mapped into memory. If the disk limits the speed, reading is as fast. A file that is truncated
//! meanwhile causes an error instead of a signal that ends the process, and its data do not count as memory of the
//! process.

use super::file::DataFile;
use super::roles::{Roles, Target};
use super::source::{FileSource, Format};
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Width};
use std::sync::Arc;

/// Number of bytes per read. The bytes and the decoded values fit into the cache of a core.
const BLOCK: usize = 256 << 10;

/// A type of numbers in binary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberType {
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits; beyond 2⁵³ rounded to the nearest f64.
    I64,
    /// Unsigned, 64 bits; beyond 2⁵³ rounded to the nearest f64.
    U64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl NumberType {
    /// Size of a number in bytes.
    pub fn bytes(self) -> usize {
        match self {
            NumberType::I8 | NumberType::U8 => 1,
            NumberType::I16 | NumberType::U16 => 2,
            NumberType::I32 | NumberType::U32 | NumberType::F32 => 4,
            NumberType::I64 | NumberType::U64 | NumberType::F64 => 8,
        }
    }

    /// Type in which a column of such numbers is stored: f32 if it represents them exactly.
    pub(crate) fn width(self) -> Width {
        if self.bytes() <= 2 || self == NumberType::F32 { Width::F32 } else { Width::F64 }
    }
}

/// Binary format of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) number: NumberType,
    pub(crate) big_endian: bool,
}

/// Rows of `stride` bytes with a number at `offset`.
struct StridedNumbers<'a> {
    bytes: &'a [u8],
    stride: usize,
    offset: usize,
}

impl Encoding {
    fn append(self, rows: &StridedNumbers<'_>, out: Target<'_>) {
        match out {
            Target::F64(out) => self.decode(rows, out, |value| value),
            // Exact: `width` selects single precision only for types that f32 represents exactly.
            Target::F32(out) => self.decode(rows, out, |value| value as f32),
        }
    }

    fn decode<V>(self, rows: &StridedNumbers<'_>, out: &mut Vec<V>, keep: impl Fn(f64) -> V) {
        match self.number {
            NumberType::I8 => self.each(rows, out, |b| keep(i8::from_le_bytes(b).into())),
            NumberType::U8 => self.each(rows, out, |b| keep(u8::from_le_bytes(b).into())),
            NumberType::I16 => self.each(rows, out, |b| keep(i16::from_le_bytes(b).into())),
            NumberType::U16 => self.each(rows, out, |b| keep(u16::from_le_bytes(b).into())),
            NumberType::I32 => self.each(rows, out, |b| keep(i32::from_le_bytes(b).into())),
            NumberType::U32 => self.each(rows, out, |b| keep(u32::from_le_bytes(b).into())),
            NumberType::I64 => self.each(rows, out, |b| keep(i64::from_le_bytes(b) as f64)),
            NumberType::U64 => self.each(rows, out, |b| keep(u64::from_le_bytes(b) as f64)),
            NumberType::F32 => self.each(rows, out, |b| keep(f32::from_le_bytes(b).into())),
            NumberType::F64 => self.each(rows, out, |b| keep(f64::from_le_bytes(b))),
        }
    }

    /// Appends one number per row. `convert` receives the bytes of a number in little-endian order.
    fn each<V, const N: usize>(
        self,
        rows: &StridedNumbers<'_>,
        out: &mut Vec<V>,
        convert: impl Fn([u8; N]) -> V,
    ) {
        let value = |mut bytes: [u8; N]| {
            if self.big_endian {
                bytes.reverse();
            }
            convert(bytes)
        };
        if rows.stride == N {
            out.extend(rows.bytes.as_chunks().0.iter().map(|&bytes| value(bytes)));
        } else {
            let at = |row: &[u8]| row.get(rows.offset..).and_then(|row| row.first_chunk()).copied();
            let each = rows.bytes.chunks_exact(rows.stride);
            out.extend(each.map(|row| value(at(row).unwrap_or([0; N]))));
        }
    }
}

/// Position of a column in a file: row `i` begins at byte `start + i * stride`, and its number is at byte `offset` of
/// the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) start: u64,
    pub(crate) stride: usize,
    pub(crate) offset: usize,
    pub(crate) encoding: Encoding,
}

/// A file with its number of rows and its columns.
pub(crate) struct Table {
    pub(crate) file: DataFile,
    pub(crate) rows: u64,
    pub(crate) fields: Vec<Field>,
}

/// Files with the same number of rows, read as one table.
#[derive(Clone)]
pub(crate) struct Binary {
    /// Description of the format. The fingerprint of the source begins with it.
    layout: String,
    files: Arc<[DataFile]>,
    /// Columns of all files, each with the index of its file.
    fields: Vec<(usize, Field)>,
    points: u64,
    buffer: Vec<u8>,
}

impl Binary {
    /// Creates the source. `rows`: the word for rows in error messages, for example "points".
    ///
    /// # Errors
    /// If a table cannot be opened or its number of rows differs from the first, or if there are fewer than two columns.
    pub(crate) fn new(
        layout: String,
        rows: &str,
        tables: impl IntoIterator<Item = Result<Table, SourceError>>,
    ) -> Result<FileSource<Binary>, SourceError> {
        let (mut files, mut fields): (Vec<DataFile>, _) = (Vec::new(), Vec::new());
        let mut points = 0;
        for table in tables {
            let table = table?;
            if let Some(first) = files.first().filter(|_| table.rows != points) {
                let (found, first) = (table.rows, first.place());
                let message = format!(
                    "it has {found} {rows} and {first} has {points}; the files of a source have one number of {rows}"
                );
                return Err(table.file.error(message));
            }
            points = table.rows;
            fields.extend(table.fields.into_iter().map(|field| (files.len(), field)));
            files.push(table.file);
        }
        let place = files.first().map_or("a list of files".into(), |file| file.place());
        let roles = Roles::numbered(fields.len(), &place)?;
        let files = files.into();
        let binary = Binary { layout, files, fields, points, buffer: Vec::new() };
        Ok(FileSource::new(binary, roles))
    }

    fn read_block(
        &mut self,
        roles: &Roles,
        chunk: &mut Chunk,
        first: u64,
        rows: usize,
    ) -> Result<(), SourceError> {
        // File and position of the rows in the buffer.
        let mut held = None;
        for (role, column) in roles.all() {
            let field = self.fields.get(column).copied();
            let Some(((number, field), out)) = field.zip(Target::of(chunk, role)) else { continue };
            let Some(file) = self.files.get(number) else { continue };
            let Field { stride, offset, encoding, .. } = field;
            let start = field.start + first * stride as u64;
            let at = |done: usize, error: SourceError| {
                error.at_row(first + done as u64).in_column(roles.name(column))
            };
            match out {
                Target::F64(out) if field.is_plain(NumberType::F64) => {
                    read_plain(file, start, rows, out).map_err(|(done, error)| at(done, error))?;
                }
                Target::F32(out) if field.is_plain(NumberType::F32) => {
                    read_plain(file, start, rows, out).map_err(|(done, error)| at(done, error))?;
                }
                // A block contains one such long row, of which only the number itself is read.
                out if stride > BLOCK => {
                    let bytes = encoding.number.bytes();
                    self.buffer.resize(bytes, 0);
                    held = None;
                    let read = file.read_exact(start + offset as u64, &mut self.buffer);
                    read.map_err(|(_, error)| at(0, error))?;
                    encoding.append(
                        &StridedNumbers { bytes: &self.buffer, stride: bytes, offset: 0 },
                        out,
                    );
                }
                out => {
                    if held != Some((number, start)) {
                        self.buffer.resize(rows * stride, 0);
                        let read = file.read_exact(start, &mut self.buffer);
                        read.map_err(|(done, error)| at(done / stride, error))?;
                        held = Some((number, start));
                    }
                    encoding.append(&StridedNumbers { bytes: &self.buffer, stride, offset }, out);
                }
            }
        }
        Ok(())
    }
}

impl Field {
    /// Returns true if the numbers are contiguous in the file and have the native encoding of `number`.
    fn is_plain(&self, number: NumberType) -> bool {
        let native = Encoding { number, big_endian: cfg!(target_endian = "big") };
        self.encoding == native && self.stride == number.bytes()
    }
}

/// Reads `count` numbers from byte `start` directly into `out`, without conversion.
///
/// # Errors
/// If the file cannot be read, with the number of values read before. The appended values are then undefined.
fn read_plain<T: bytemuck::Pod>(
    file: &DataFile,
    start: u64,
    count: usize,
    out: &mut Vec<T>,
) -> Result<(), (usize, SourceError)> {
    let before = out.len();
    out.resize(before + count, T::zeroed());
    let new = out.get_mut(before..).unwrap_or_default();
    let read = file.read_exact(start, bytemuck::cast_slice_mut(new));
    read.map_err(|(bytes, error)| (bytes / size_of::<T>(), error))
}

impl Format for Binary {
    fn layout(&self) -> String {
        self.layout.clone()
    }

    fn files(&self) -> Vec<&DataFile> {
        self.files.iter().collect()
    }

    fn width(&self, column: usize) -> Width {
        let field = self.fields.get(column);
        field.map_or(Width::F64, |(_, field)| field.encoding.number.width())
    }

    /// Returns false: copying numbers is faster than evaluating the points.
    fn is_slow(&self) -> bool {
        false
    }

    fn points(&self) -> Option<u64> {
        Some(self.points)
    }

    fn rewind(&mut self, _: &Roles) -> Result<(), SourceError> {
        Ok(())
    }

    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        let longest = self.fields.iter().map(|(_, field)| field.stride).max().unwrap_or(1);
        let rows = most.min((BLOCK / longest.max(1)).max(1)) as u64;
        let rows = rows.min(self.points.saturating_sub(next)) as usize;
        if rows > 0 {
            self.read_block(roles, chunk, next, rows)?;
        }
        Ok(rows)
    }

    fn has_names(&self) -> bool {
        false
    }
}
