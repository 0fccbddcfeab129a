//! Arrays of numbers as a caller holds them.

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

macro_rules! borrow {
    ($number:ty, $variant:ident) => {
        impl<'a> From<&'a [$number]> for Values<'a> {
            fn from(values: &'a [$number]) -> Self {
                Values::$variant(values)
            }
        }
        impl<'a> From<&'a Vec<$number>> for Values<'a> {
            fn from(values: &'a Vec<$number>) -> Self {
                Values::$variant(values)
            }
        }
        impl<'a, const N: usize> From<&'a [$number; N]> for Values<'a> {
            fn from(values: &'a [$number; N]) -> Self {
                Values::$variant(values)
            }
        }
    };
}
borrow!(f64, F64);
borrow!(f32, F32);
