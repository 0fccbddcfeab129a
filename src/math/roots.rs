//! cbrt and hypot.

use super::bits::{fast_two_sum, nearest, polynomial, power_of_two, select, two_product};
use super::ln::split;

/// The cube root; max error measured 0.52 ulp.
///
/// |x| = 2^(3j) v with v in [0.353, 2.83]. y = v^(-1/3) needs no division: it starts from a polynomial
/// (degree 4, weighted Remez, `coefficients.py cbrt`; error 0.007) and one step of
/// y (1 - e)^(-1/3) = y (1 + e/3 + 2e²/9 + 14e³/81 + 35e⁴/243 + ...), e = 1 - v y³, takes it to 2^-30.
/// The root v y² then takes a Newton step whose residual v - c³ is exact to twice the precision.
#[inline(always)]
pub(crate) fn cbrt(x: f64) -> f64 {
    let a = x.abs();
    let (m, k) = split(a);
    let (j, j_bits) = nearest(k * (1.0 / 3.0));
    // k - 3 j is -1, 0 or 1.
    let rest = k - 3.0 * j;
    let v = m * select(rest > 0.5, 2.0, select(rest < -0.5, 0.5, 1.0));
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
    // 0, infinity and NaN are their own roots.
    select((a > 0.0) & (a < f64::INFINITY), value, x)
}

/// √(x² + y²) without intermediate overflow or underflow; max error measured 0.501 ulp.
///
/// Both are scaled by a power of two; the squares are summed in double-double and the root takes
/// one correction by the residual.
#[inline(always)]
pub(crate) fn hypot(x: f64, y: f64) -> f64 {
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let (x, y) = (x.abs(), y.abs());
    let (a, b) = (select(x > y, x, y), select(x > y, y, x));
    let (large, small) = (a > 1e150, a < 1e-150);
    let scale = select(large, DOWN, select(small, UP, 1.0));
    let back = select(large, UP, select(small, DOWN, 1.0));
    let (a, b) = (a * scale, b * scale);
    let (a2, a2_err) = two_product(a, a);
    let (b2, b2_err) = two_product(b, b);
    let (sum, lost) = fast_two_sum(a2, b2);
    let root = sum.sqrt();
    let residual = (-root).mul_add(root, sum) + (lost + (a2_err + b2_err));
    let root = root + select(sum > 0.0, residual / (root + root), 0.0);
    let value = root * back;
    let value = select(x.is_nan() | y.is_nan(), f64::NAN, value);
    select((x == f64::INFINITY) | (y == f64::INFINITY), f64::INFINITY, value)
}
