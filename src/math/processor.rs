//! What processors have an instruction for, in the forms of the other functions.

use super::bits::select;

/// |x|
#[inline(always)]
pub(crate) fn abs(x: f64) -> f64 {
    x.abs()
}

/// The largest integer not above x.
#[inline(always)]
pub(crate) fn floor(x: f64) -> f64 {
    x.floor()
}

/// The least integer not below x.
#[inline(always)]
pub(crate) fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// The nearest integer to x, halves away from zero.
#[inline(always)]
pub(crate) fn round(x: f64) -> f64 {
    x.round()
}

/// -1, 0 or 1 as x is negative, ±0 or positive; NaN stays.
#[inline(always)]
pub(crate) fn signum(x: f64) -> f64 {
    let magnitude = select(x == 0.0, 0.0, x);
    select(x > 0.0, 1.0, select(x < 0.0, -1.0, magnitude))
}

/// √x, correctly rounded.
#[inline(always)]
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
