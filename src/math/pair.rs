//! Sums, products and quotients of numbers stored as two doubles, hi + lo, accurate to about 2^-104 of the result.

use super::arithmetic::Lane;
use super::bits::{fast_two_sum, two_product, two_sum};

pub(super) type Pair = (f64, f64);

/// Returns a + b. If a and b cancel, the error is relative to the larger of them.
#[inline(always)]
pub(super) fn add(a: Pair, b: Pair) -> Pair {
    let (sum, err) = two_sum(a.0, b.0);
    fast_two_sum(sum, err + (a.1 + b.1))
}

/// Returns a b.
#[inline(always)]
pub(super) fn multiply(a: Pair, b: Pair) -> Pair {
    let (product, err) = two_product(a.0, b.0);
    fast_two_sum(product, a.0.mul_add(b.1, a.1.mul_add(b.0, err)))
}

/// Returns a / b.
#[inline(always)]
pub(super) fn divide(a: Pair, b: Pair) -> Pair {
    let q = a.0 / b.0;
    let rest = (-q).mul_add(b.0, a.0) + (-q).mul_add(b.1, a.1);
    fast_two_sum(q, rest / b.0)
}

/// Returns √a for a > 0.
#[inline(always)]
pub(super) fn root<L: Lane>(a: (L, L)) -> (L, L) {
    let r = a.0.sqrt();
    fast_two_sum(r, ((-r).mul_add(r, a.0) + a.1) / (r + r))
}
