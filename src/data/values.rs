//! Borrowed arrays of numbers of several types.

use crate::error::Error;
use std::ops::Range;

/// A borrowed array of numbers, one value per point: f64, f32, or the integers of cameras, digitisers and
/// counters. Values are converted to f64 when they are used; the array is not copied.
///
/// References to vectors, slices and arrays convert into it: `&Vec<f64>`, `&[u16]`, `&[f32; N]`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values<'a> {
    /// Double precision.
    F64(&'a [f64]),
    /// Single precision.
    F32(&'a [f32]),
    /// Unsigned values of 8 bits.
    U8(&'a [u8]),
    /// Unsigned values of 16 bits, the output of most cameras.
    U16(&'a [u16]),
    /// Signed values of 16 bits, the output of digitisers.
    I16(&'a [i16]),
    /// Unsigned values of 32 bits, the output of counters.
    U32(&'a [u32]),
    /// Signed values of 32 bits.
    I32(&'a [i32]),
}

/// Type of the numbers of an array in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Storage {
    F32,
    #[default]
    F64,
    U8,
    U16,
    I16,
    U32,
    I32,
}

impl Storage {
    /// Number of types.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    pub(crate) const COUNT: usize = 7;

    /// Returns the size of a number in bytes.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Storage::U8 => 1,
            Storage::U16 | Storage::I16 => 2,
            Storage::F32 | Storage::U32 | Storage::I32 => 4,
            Storage::F64 => 8,
        }
    }
}

impl Values<'_> {
    /// Returns the type of the numbers.
    pub(crate) fn storage(&self) -> Storage {
        match self {
            Values::F64(_) => Storage::F64,
            Values::F32(_) => Storage::F32,
            Values::U8(_) => Storage::U8,
            Values::U16(_) => Storage::U16,
            Values::I16(_) => Storage::I16,
            Values::U32(_) => Storage::U32,
            Values::I32(_) => Storage::I32,
        }
    }
}

/// Evaluates one expression for an array of any type: `each!(values, v => v.len())`.
macro_rules! each {
    ($values:expr, $v:ident => $what:expr) => {
        match $values {
            $crate::data::values::Values::F64($v) => $what,
            $crate::data::values::Values::F32($v) => $what,
            $crate::data::values::Values::U8($v) => $what,
            $crate::data::values::Values::U16($v) => $what,
            $crate::data::values::Values::I16($v) => $what,
            $crate::data::values::Values::U32($v) => $what,
            $crate::data::values::Values::I32($v) => $what,
        }
    };
}
pub(crate) use each;

/// Converts a number of any of these types to double precision.
#[inline(always)]
pub(crate) fn wide(value: impl Into<f64>) -> f64 {
    value.into()
}

impl<'a> Values<'a> {
    /// Returns the values of a range.
    pub(crate) fn part(&self, range: Range<usize>) -> Values<'a> {
        each!(self, v => Values::from(&v[range]))
    }

    /// Returns the values of a range in f64: borrowed if the array is in f64, else converted into `room`.
    pub(crate) fn widened<'v>(&self, range: Range<usize>, room: &'v mut Vec<f64>) -> Values<'v>
    where
        'a: 'v,
    {
        room.clear();
        match self {
            Values::F64(v) => return Values::F64(&v[range]),
            _ => each!(self, v => room.extend(v[range].iter().map(|&v| wide(v)))),
        }
        Values::F64(room)
    }
}

impl Values<'_> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size of one value, in bytes; 0 for an empty array.
    pub(crate) fn width(&self) -> usize {
        each!(self, v => v.first().map_or(0, size_of_val))
    }

    /// Returns the address of the first value.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    pub(crate) fn address(&self) -> *const u8 {
        each!(self, v => v.as_ptr().cast())
    }

    /// Returns all values in double precision.
    pub fn to_f64(&self) -> Vec<f64> {
        each!(self, v => v.iter().map(|&v| wide(v)).collect())
    }

    /// Returns the value at `index`, which must be less than the length.
    pub(crate) fn at(&self, index: usize) -> f64 {
        each!(self, v => wide(v[index]))
    }

    /// Calls `visit(k, value)` with the value at the k-th of these indices, in order.
    pub(crate) fn visit(
        &self,
        index: impl Iterator<Item = usize>,
        mut visit: impl FnMut(usize, f64),
    ) {
        each!(self, v => index.enumerate().for_each(|(k, i)| visit(k, wide(v[i]))));
    }

    /// Writes the values at the ascending indices `index` to `out`, which has the same length.
    pub(crate) fn pick(&self, index: &[usize], out: &mut [f64]) {
        const GROUP: usize = 8;
        let (groups, last) = index.as_chunks::<GROUP>();
        let (outs, last_out) = out.as_chunks_mut::<GROUP>();
        each!(self, v => {
            for (out, index) in outs.iter_mut().zip(groups) {
                let first = index[0];
                // Most indices are consecutive if a mask leaves out few points.
                if index[GROUP - 1] - first == GROUP - 1 {
                    let values = &v[first..first + GROUP];
                    out.iter_mut().zip(values).for_each(|(o, &v)| *o = wide(v));
                } else {
                    out.iter_mut().zip(index).for_each(|(o, &i)| *o = wide(v[i]));
                }
            }
            last_out.iter_mut().zip(last).for_each(|(o, &i)| *o = wide(v[i]));
        });
    }

    /// Returns the values at the ascending indices `index`.
    pub(crate) fn picked(&self, index: &[usize]) -> Vec<f64> {
        let mut picked = vec![0.0; index.len()];
        self.pick(index, &mut picked);
        picked
    }

    /// Returns true if all values are finite.
    pub(crate) fn is_finite(&self) -> bool {
        each!(self, v => v.iter().all(|&v| wide(v).is_finite()))
    }

    /// Writes the values `start..start + out.len()` to `out`.
    pub(crate) fn copy_to(&self, start: usize, out: &mut [f64]) {
        each!(self, v => {
            let values = &v[start..start + out.len()];
            out.iter_mut().zip(values).for_each(|(o, &v)| *o = wide(v));
        });
    }
}

/// Lets functions that accept fallible conversions into [`Values`] also accept conversions that cannot fail, whose
/// error type is `Infallible`.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Error {
        match never {}
    }
}

/// A number type of data.
///
/// The conversions into [`Values`] are generic over this trait. Separate implementations per number type would break
/// type inference for literals such as `[1.0, 2.0]`: the compiler needs the argument type of a model's closure before
/// it has chosen the number type of the literals.
pub trait Real: Copy + private::Sealed {
    /// Returns the slice as [`Values`].
    fn values(slice: &[Self]) -> Values<'_>;
}

mod private {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty => $kind:ident),*) => {$(
        impl private::Sealed for $number {}

        impl Real for $number {
            fn values(slice: &[$number]) -> Values<'_> {
                Values::$kind(slice)
            }
        }
    )*};
}

numbers!(f64 => F64, f32 => F32, u8 => U8, u16 => U16, i16 => I16, u32 => U32, i32 => I32);

impl<'a, T: Real> From<&'a [T]> for Values<'a> {
    fn from(values: &'a [T]) -> Self {
        T::values(values)
    }
}

impl<'a, T: Real> From<&'a Vec<T>> for Values<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        T::values(values)
    }
}

impl<'a, T: Real, const N: usize> From<&'a [T; N]> for Values<'a> {
    fn from(values: &'a [T; N]) -> Self {
        T::values(values)
    }
}
