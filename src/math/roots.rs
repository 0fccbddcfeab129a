//! cbrt and hypot.

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, nearest, polynomial, power_of_two, two_product};
use super::ln::split;

/// Returns the cube root. The maximum measured error is 0.52 ulp.
///
/// |x| = 2^(3j) v with v in [0.353, 2.83]. y = v^(-1/3) is computed without division: a polynomial approximates y
/// (degree 4, weighted Remez, `coefficients.py cbrt`; error 0.007). One step with e = 1 - v y³ reduces the error to
/// 2^-30: `y (1 - e)^(-1/3) = y (1 + e/3 + 2e²/9 + 14e³/81 + 35e⁴/243 + ...)`. A Newton step then corrects the root
/// `c = v y²`. Its residual v - c³ is computed with twice the precision.
#[inline(always)]
pub(crate) fn cbrt<L: Lane>(x: L) -> L {
    let a = x.abs();
    let (m, k) = split(a);
    let (j, j_bits) = nearest(k * (1.0 / 3.0));
    // k - 3 j is -1, 0 or 1.
    let rest = k - j * 3.0;
    let v = m * rest.gt(0.5).select(2.0, rest.lt(-0.5).select(0.5, 1.0));
    let y = polynomial!(v; 1.891792395712357, -1.7632528904742533, 1.2274137505624176,
        -0.41546068112295, 0.05295254986213442);
    let e = (-v * y).mul_add(y * y, 1.0);
    let series = polynomial!(e; 1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0, 35.0 / 243.0);
    let y = (y * e).mul_add(series, y);
    let y2 = y * y;
    let c = v * y2;
    let (c2, c2_err) = two_product(c, c);
    let residual = (-c).mul_add(c2_err, (-c).mul_add(c2, v));
    let root = (residual * y2).mul_add(1.0 / 3.0, c);
    let value = (root * power_of_two(j_bits)).copysign(x);
    // 0, infinity and NaN map to themselves.
    (a.gt(0.0) & a.lt(f64::INFINITY)).select(value, x)
}

/// Returns √(x² + y²) without intermediate overflow or underflow. The maximum measured error is 0.501 ulp.
///
/// x and y are scaled by a power of two. Their squares are summed in double-double, and one step with the residual
/// corrects the root.
#[inline(always)]
pub(crate) fn hypot<L: Lane>(x: L, y: L) -> L {
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let (x, y) = (x.abs(), y.abs());
    let (a, b) = (x.gt(y).select(x, y), x.gt(y).select(y, x));
    let (large, small) = (a.gt(1e150), a.lt(1e-150));
    let scale = large.select(DOWN, small.select(UP, 1.0));
    let back = large.select(UP, small.select(DOWN, 1.0));
    let (a, b) = (a * scale, b * scale);
    let (a2, a2_err) = two_product(a, a);
    let (b2, b2_err) = two_product(b, b);
    let (sum, lost) = fast_two_sum(a2, b2);
    let root = sum.sqrt();
    let residual = (-root).mul_add(root, sum) + (lost + (a2_err + b2_err));
    let root = root + sum.gt(0.0).select(residual / (root + root), 0.0);
    let value = root * back;
    let value = (x.is_nan() | y.is_nan()).select(f64::NAN, value);
    (x.eq(f64::INFINITY) | y.eq(f64::INFINITY)).select(f64::INFINITY, value)
}
