//! Functions that are single instructions on most processors, in the same form as the other functions.

/// Returns |x|.
#[inline(always)]
pub(crate) fn abs(x: f64) -> f64 {
    x.abs()
}

/// Returns the largest integer not above x.
#[inline(always)]
pub(crate) fn floor(x: f64) -> f64 {
    x.floor()
}

/// Returns the least integer not below x.
#[inline(always)]
pub(crate) fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// Returns the nearest integer to x, halves away from zero.
#[inline(always)]
pub(crate) fn round(x: f64) -> f64 {
    x.round()
}

/// Returns 1 with the sign of x, also for a zero; NaN stays.
#[inline(always)]
pub(crate) fn signum(x: f64) -> f64 {
    x.signum()
}

/// Returns the remainder of the division of x by y with the quotient truncated towards 0; exact.
#[inline(always)]
pub(crate) fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

/// Returns √x, correctly rounded.
#[inline(always)]
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
