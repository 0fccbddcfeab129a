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

/// √x, correctly rounded.
#[inline(always)]
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
