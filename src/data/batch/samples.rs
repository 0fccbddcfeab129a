//! The responses of all fits of a batch, in the type that the caller holds them in.

use crate::data::values::Values;
use std::ops::Range;

/// The measured values of a batch, one fit after the other: a borrowed slice of `f64`, `f32`, `u16`,
/// `i16` or `u8`. They are widened where they are used; the whole is never copied.
///
/// Anything of this kind converts into it: slices, vectors and arrays by reference.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Samples<'a> {
    /// Double precision.
    F64(&'a [f64]),
    /// Single precision.
    F32(&'a [f32]),
    /// Counts, as most cameras give them.
    U16(&'a [u16]),
    /// Signed values, as digitisers give them.
    I16(&'a [i16]),
    /// Bytes.
    U8(&'a [u8]),
}

impl<'a> Samples<'a> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Samples::F64(v) => v.len(),
            Samples::F32(v) => v.len(),
            Samples::U16(v) => v.len(),
            Samples::I16(v) => v.len(),
            Samples::U8(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of a range as numbers to compute with: where they lie if they are in f64, else
    /// widened into `room`.
    pub(crate) fn values<'v>(&self, range: Range<usize>, room: &'v mut Vec<f64>) -> Values<'v>
    where
        'a: 'v,
    {
        room.clear();
        match self {
            Samples::F64(v) => return Values::F64(&v[range]),
            Samples::F32(v) => room.extend(v[range].iter().map(|&y| f64::from(y))),
            Samples::U16(v) => room.extend(v[range].iter().map(|&y| f64::from(y))),
            Samples::I16(v) => room.extend(v[range].iter().map(|&y| f64::from(y))),
            Samples::U8(v) => room.extend(v[range].iter().map(|&y| f64::from(y))),
        }
        Values::F64(room)
    }
}

macro_rules! from_slices_of {
    ($($number:ty => $kind:ident),*) => {$(
        impl<'a> From<&'a [$number]> for Samples<'a> {
            fn from(values: &'a [$number]) -> Self {
                Samples::$kind(values)
            }
        }

        impl<'a> From<&'a Vec<$number>> for Samples<'a> {
            fn from(values: &'a Vec<$number>) -> Self {
                Samples::$kind(values)
            }
        }

        impl<'a, const N: usize> From<&'a [$number; N]> for Samples<'a> {
            fn from(values: &'a [$number; N]) -> Self {
                Samples::$kind(values)
            }
        }
    )*};
}

from_slices_of!(f64 => F64, f32 => F32, u16 => U16, i16 => I16, u8 => U8);
