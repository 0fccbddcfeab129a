//! Functions that are single instructions on most processors, with the same signatures as the other functions.

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

/// Returns the integer nearest to x. Halves are rounded away from zero.
#[inline(always)]
pub(crate) fn round(x: f64) -> f64 {
    x.round()
}

/// Returns 1 with the sign of x, also for zeros; NaN for NaN.
#[inline(always)]
pub(crate) fn signum(x: f64) -> f64 {
    x.signum()
}

/// Returns the exact remainder of x divided by y, with the quotient truncated towards 0.
#[inline(always)]
pub(crate) fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

/// Returns √x, correctly rounded.
#[inline(always)]
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
