//! The numbers of binary files, and how a block of bytes becomes values of a column.

use super::file::DataFile;
use crate::data::source::chunk::Width;
use crate::error::source::SourceError;

/// A type of numbers in binary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            NumberType::I8 | NumberType::U8 => 1,
            NumberType::I16 | NumberType::U16 => 2,
            NumberType::I32 | NumberType::U32 | NumberType::F32 => 4,
            NumberType::I64 | NumberType::U64 | NumberType::F64 => 8,
        }
    }

    /// How a column of such numbers is kept: the narrower width where it holds them exactly.
    pub(crate) fn width(self) -> Width {
        if self.bytes() <= 2 || self == NumberType::F32 { Width::F32 } else { Width::F64 }
    }
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) number: NumberType,
    pub(crate) big_endian: bool,
}

/// Appends the numbers at `offset` of every `stride` bytes of `rows`.
macro_rules! decode {
    ($encoding:expr, $rows:expr, $stride:expr, $offset:expr, $out:expr, $to:ty) => {{
        macro_rules! each {
            ($from:ty) => {
                if $encoding.big_endian {
                    each($rows, $stride, $offset, $out, |b| <$from>::from_be_bytes(b) as $to)
                } else {
                    each($rows, $stride, $offset, $out, |b| <$from>::from_le_bytes(b) as $to)
                }
            };
        }
        match $encoding.number {
            NumberType::I8 => each!(i8),
            NumberType::U8 => each!(u8),
            NumberType::I16 => each!(i16),
            NumberType::U16 => each!(u16),
            NumberType::I32 => each!(i32),
            NumberType::U32 => each!(u32),
            NumberType::I64 => each!(i64),
            NumberType::U64 => each!(u64),
            NumberType::F32 => each!(f32),
            NumberType::F64 => each!(f64),
        }
    }};
}

impl Encoding {
    pub(crate) fn append_f64(self, rows: &[u8], stride: usize, offset: usize, out: &mut Vec<f64>) {
        decode!(self, rows, stride, offset, out, f64);
    }

    pub(crate) fn append_f32(self, rows: &[u8], stride: usize, offset: usize, out: &mut Vec<f32>) {
        decode!(self, rows, stride, offset, out, f32);
    }
}

fn each<T, const N: usize>(
    rows: &[u8],
    stride: usize,
    offset: usize,
    out: &mut Vec<T>,
    convert: impl Fn([u8; N]) -> T,
) {
    if stride == N {
        out.extend(rows.as_chunks::<N>().0.iter().map(|&bytes| convert(bytes)));
    } else {
        let value = |row: &[u8]| row.get(offset..).and_then(|row| row.first_chunk()).copied();
        out.extend(rows.chunks_exact(stride).map(|row| convert(value(row).unwrap_or([0; N]))));
    }
}

/// Appends `count` floating-point numbers that follow each other from `offset` of the file, which are
/// read to where they belong and put in order there.
///
/// # Errors
/// With the number of values before the one that could not be read. Some of `out` is then undefined.
pub(crate) fn read_floats<T: Float>(
    file: &DataFile,
    offset: u64,
    count: usize,
    big_endian: bool,
    out: &mut Vec<T>,
) -> Result<(), (usize, SourceError)> {
    let before = out.len();
    out.resize(before + count, T::zeroed());
    let new = out.get_mut(before..).unwrap_or_default();
    let read = file.read_exact(offset, bytemuck::cast_slice_mut(new));
    read.map_err(|(bytes, error)| (bytes / size_of::<T>(), error))?;
    if big_endian != cfg!(target_endian = "big") {
        new.iter_mut().for_each(|value| *value = value.swapped());
    }
    Ok(())
}

/// What is kept as it is in files.
pub(crate) trait Float: bytemuck::Pod {
    /// With the bytes in the other order.
    fn swapped(self) -> Self;
}

impl Float for f64 {
    fn swapped(self) -> f64 {
        f64::from_bits(self.to_bits().swap_bytes())
    }
}

impl Float for f32 {
    fn swapped(self) -> f32 {
        f32::from_bits(self.to_bits().swap_bytes())
    }
}
