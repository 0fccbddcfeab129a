//! Arrays of numbers as a caller holds them.

use std::ops::Range;

/// A borrowed array of `f64` or `f32`, one value per point. `f32` is widened where it is used;
/// nothing is copied.
///
/// Anything of this kind converts into it: `&Vec<f64>`, `&[f64]`, `&[f64; N]`, and the same of `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// Double precision.
    F64(&'a [f64]),
    /// Single precision, computed with in double.
    F32(&'a [f32]),
}

impl<'a> Values<'a> {
    /// The values of a range.
    pub(crate) fn part(&self, range: Range<usize>) -> Values<'a> {
        match self {
            Values::F64(v) => Values::F64(&v[range]),
            Values::F32(v) => Values::F32(&v[range]),
        }
    }
}

impl Values<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::F64(v) => v.len(),
            Values::F32(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `index`, which must be less than the length.
    pub(crate) fn at(&self, index: usize) -> f64 {
        match self {
            Values::F64(v) => v[index],
            Values::F32(v) => f64::from(v[index]),
        }
    }

    /// Writes the values at `index` to `out`, both of one length.
    pub(crate) fn pick(&self, index: &[usize], out: &mut [f64]) {
        match self {
            Values::F64(v) => out.iter_mut().zip(index).for_each(|(o, &i)| *o = v[i]),
            Values::F32(v) => out.iter_mut().zip(index).for_each(|(o, &i)| *o = f64::from(v[i])),
        }
    }

    /// Whether all are finite.
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Values::F64(v) => v.iter().all(|v| v.is_finite()),
            Values::F32(v) => v.iter().all(|v| v.is_finite()),
        }
    }

    /// Writes the values `start..start + out.len()` to `out`.
    pub(crate) fn copy_to(&self, start: usize, out: &mut [f64]) {
        match self {
            Values::F64(v) => out.copy_from_slice(&v[start..start + out.len()]),
            Values::F32(v) => {
                for (o, &value) in out.iter_mut().zip(&v[start..]) {
                    *o = f64::from(value);
                }
            }
        }
    }
}

/// A number type that data may have: `f64` or `f32`.
///
/// One implementation for all such arrays, not one for each type, lets the compiler see what a
/// closure receives before it knows the type of `[1.0, 2.0]`.
pub trait Real: Copy + private::Sealed {
    /// The slice as [`Values`].
    fn values(slice: &[Self]) -> Values<'_>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

impl Real for f64 {
    fn values(slice: &[f64]) -> Values<'_> {
        Values::F64(slice)
    }
}

impl Real for f32 {
    fn values(slice: &[f32]) -> Values<'_> {
        Values::F32(slice)
    }
}

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
