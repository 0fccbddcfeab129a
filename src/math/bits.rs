//! Building blocks of the functions: selects, error-free sums and products, rounding to an integer, powers of two from
//! their bits, and polynomials.
//!
//! All code compiles to plain vector instructions. There are no casts between `f64` and integers
//! and no arithmetic 64-bit shifts, which AVX2 lacks; integers are stored in the low mantissa
//! bits of a double instead.

use super::arithmetic::{Lane, Truth};
pub(super) use super::arithmetic::{nearest, power_of_two};

/// Selects `yes` or `no`, both already computed, with a blend.
#[inline(always)]
pub(super) fn select(condition: bool, yes: f64, no: f64) -> f64 {
    condition.select(yes, no)
}

/// Returns `sum` and `error` with `sum + error = a + b` exactly (Knuth).
#[inline(always)]
pub(super) fn two_sum<L: Lane>(a: impl Into<L>, b: L) -> (L, L) {
    let a = a.into();
    let sum = a + b;
    let t = sum - a;
    (sum, (a - (sum - t)) + (b - t))
}

/// Returns `sum` and `error` with `sum + error = a + b` exactly if |a| >= |b| or a = 0 (Dekker).
#[inline(always)]
pub(super) fn fast_two_sum<L: Lane>(a: impl Into<L>, b: L) -> (L, L) {
    let a = a.into();
    let sum = a + b;
    (sum, b - (sum - a))
}

/// Returns `product` and `error` with `product + error = a · b` exactly, unless the error underflows.
#[inline(always)]
pub(super) fn two_product<L: Lane>(a: L, b: impl Into<L>) -> (L, L) {
    let b = b.into();
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Converts a constant to the type of another number.
#[inline(always)]
pub(super) fn constant<L: Lane>(_like: L, value: f64) -> L {
    L::from(value)
}

/// Evaluates c0 + z (c1 + z (c2 + ...)) with fused multiply-adds (Horner's rule).
macro_rules! polynomial {
    ($z:expr; $last:expr $(,)?) => { $crate::math::bits::constant($z, $last) };
    ($z:expr; $first:expr, $($rest:expr),+ $(,)?) => {
        $crate::math::arithmetic::Lane::mul_add(polynomial!($z; $($rest),+), $z, $first)
    };
}
pub(super) use polynomial;

/// Evaluates the same polynomial as E(z²) + z O(z²), two chains of half the length. This is faster in long functions,
/// whose latency is not hidden by the next iterations (erfc on AVX2: 6.3 ns instead of 7.0 ns with Horner's rule).
macro_rules! polynomial_in_halves {
    (@horner $z:expr; $last:expr) => { $crate::math::bits::constant($z, $last) };
    (@horner $z:expr; $first:expr, $($rest:expr),+) => {
        $crate::math::arithmetic::Lane::mul_add(polynomial_in_halves!(@horner $z; $($rest),+), $z, $first)
    };
    ($z:expr; $($c:expr),+ $(,)?) => {{
        let (z, z2) = ($z, $z * $z);
        polynomial_in_halves!(@deal z, z2; []; []; $($c),+)
    }};
    (@deal $z:expr, $z2:expr; [$($even:expr),*]; [$($odd:expr),*]; $e:expr, $o:expr, $($rest:expr),+) => {
        polynomial_in_halves!(@deal $z, $z2; [$($even,)* $e]; [$($odd,)* $o]; $($rest),+)
    };
    (@deal $z:expr, $z2:expr; [$($even:expr),*]; [$($odd:expr),*]; $e:expr, $o:expr) => {
        $crate::math::arithmetic::Lane::mul_add(polynomial_in_halves!(@horner $z2; $($odd,)* $o), $z, polynomial_in_halves!(@horner $z2; $($even,)* $e))
    };
    (@deal $z:expr, $z2:expr; [$($even:expr),*]; [$($odd:expr),*]; $e:expr) => {
        $crate::math::arithmetic::Lane::mul_add(polynomial_in_halves!(@horner $z2; $($odd),*), $z, polynomial_in_halves!(@horner $z2; $($even,)* $e))
    };
}
pub(super) use polynomial_in_halves;

/// Returns the positions of the values in ascending order of the values (argsort). Equal values keep their order.
pub(crate) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

// Sums, products and quotients of numbers stored as two doubles, hi + lo, accurate to about 2^-104 of the result.

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
