//! What processors have an instruction for, in the forms of the other functions.

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

/// 1 with the sign of x, that of a zero too; NaN stays.
#[inline(always)]
pub(crate) fn signum(x: f64) -> f64 {
    x.signum()
}

/// What is left of x after division by y to a whole number towards 0; exact.
#[inline(always)]
pub(crate) fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

/// √x, correctly rounded.
#[inline(always)]
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
