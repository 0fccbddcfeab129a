//! Γ(x).
//!
//! - x < 7.5: Γ(2 + v) = 1 + v H(v) for |v| <= 1/2, H of degree 20 (weighted Remez, `coefficients.py
//!   gamma`; error 2^-58.7); the recurrence Γ(x + 1) = x Γ(x) reduces x to this range (DLMF 5.5.1);
//! - x >= 7.5: e to the power (x - 1/2)(ln x - 1) + ln(2π)/2 - 1/2 + S(1/x²)/x, Stirling's series as in
//!   `ln_gamma` (DLMF 5.11.1), with ln x to 2^-68 because the exponent reaches 709;
//! - x < 0: Γ(x) Γ(-x) = -π / (x sin πx) (DLMF 5.5.3).
//!
//! Factors and exponents are pairs of doubles, so that the error is only slightly larger than the last rounding error.

use super::arithmetic::Lane;
use super::bits::{fast_two_sum, polynomial_in_halves, two_product, two_sum};
use super::exp::exp_parts;
use super::ln::ln_in_two;
use super::ln_gamma::stirling;
use super::trig::sin_pi_in_parts;
use crate::math::bits::{Pair, add, divide, multiply};

const PI: Pair = (std::f64::consts::PI, 1.2246467991473532e-16);
/// ln(2π)/2 - 1/2.
const STIRLING_CONSTANT: Pair = (0.4189385332046727, 1.6728209650585413e-17);
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Smallest x for which Stirling's series is used.
const FAR: f64 = 7.5;
/// Limit of |x| below which Γ(x) rounds to 1/x.
const TINY: f64 = 1e-17;
/// Limit of x beyond which Γ has overflowed (from 171.63 on), and its reciprocal has underflowed.
const BOUND: f64 = 200.0;

/// Returns Γ(x) for 0 < x < 7.5.
#[inline(always)]
fn near(x: f64) -> Pair {
    /// 1 - Euler's constant.
    const H0: f64 = 0.42278433509846713;
    const H0_LO: f64 = 4.942915152430645e-18;
    // With y = 2 + v in [1.5, 2.5): Γ(x) = (x - 1)(x - 2) ... y Γ(y) for x >= 2.5 (the factors are `product`),
    // Γ(y)/x with y = x + 1 for 0.5 <= x < 1.5, and Γ(y)/(x(x + 1)) with y = x + 2 for x < 0.5.
    let mut product = (1.0, 0.0);
    let mut v = x - 2.0;
    if x >= 2.5 {
        let mut y = x;
        while y >= 2.5 {
            y -= 1.0;
            product = multiply(product, (y, 0.0));
        }
        v = y - 2.0;
    } else if x < 0.5 {
        v = x;
    } else if x < 1.5 {
        v = x - 1.0;
    }
    let q = v
        * polynomial_in_halves!(v; 0.4118403304264397, 0.08157691924708854, 0.07424901075351484,
            -0.0002669820689435452, 0.011154045718050103, -0.0028526458131981633,
            0.002103933343889011, -0.0009195740141416416, 0.0004903883817190053,
            -0.00024093911216056024, 0.00012167470376560015, -6.081223031411521e-05,
            3.044628203185758e-05, -1.5132932714671157e-05, 7.658793456592827e-06,
            -4.144477140295638e-06, 1.7924571710137151e-06, -3.361564562823396e-07,
            6.673081739078437e-07, -7.620417311567776e-07);
    let (h, h_lo) = fast_two_sum(H0, q);
    let (rise, rise_lo) = multiply((v, 0.0), (h, h_lo + H0_LO));
    let (sum, lost) = fast_two_sum(1.0, rise);
    let value = (sum, lost + rise_lo);
    if x >= 2.5 {
        multiply(value, product)
    } else if x < 0.5 {
        let (square, square_lo) = two_product(x, x);
        divide(value, add((x, 0.0), (square, square_lo)))
    } else if x < 1.5 {
        divide(value, (x, 0.0))
    } else {
        value
    }
}

/// Returns ln Γ(x) for 7.5 <= x < 2^52.
#[inline(always)]
fn exponent(x: f64) -> Pair {
    let (l, l_lo) = ln_in_two(x);
    let (less, less_lo) = two_sum(l, -1.0);
    let main = multiply((x - 0.5, 0.0), (less, less_lo + l_lo));
    let inverse = 1.0 / x;
    let series = stirling(inverse * inverse) * inverse;
    add(main, add(STIRLING_CONSTANT, (series, 0.0)))
}

/// Returns Γ(x) for x > 0, ±0, infinity and NaN.
#[inline(always)]
pub(super) fn gamma_fast(x: f64) -> f64 {
    if x.abs() < TINY {
        1.0 / x
    } else if x < 0.0 {
        f64::NAN // a placeholder: callers compute these x with `gamma_negative`
    } else if x < FAR {
        let (hi, lo) = near(x);
        hi + lo
    } else if x < BOUND {
        let (hi, lo) = exponent(x);
        let (e, _, power) = exp_parts(hi, lo);
        e.scaled(power)
    } else {
        x + f64::INFINITY
    }
}

/// Returns true if x needs `gamma_negative`.
#[inline(always)]
pub(super) fn is_negative(x: f64) -> bool {
    x <= -TINY
}

/// Returns Γ(x) for x <= -1e-17; NaN at the poles and at -infinity.
#[cold]
#[inline(never)]
pub(super) fn gamma_negative(x: f64) -> f64 {
    let a = -x;
    let whole = if a < TWO_52 { (a + TWO_52) - TWO_52 } else { a };
    let fraction = a - whole;
    if fraction == 0.0 || a == f64::INFINITY {
        return f64::NAN;
    }
    // -1 if sin πa and sin π(a - whole) have the same sign
    let sign = if 0.5 * whole == (0.5 * whole).floor() { -1.0 } else { 1.0 };
    if a > BOUND {
        return if fraction > 0.0 { sign * 0.0 } else { -sign * 0.0 };
    }
    let sine = sin_pi_in_parts(fraction);
    let reflected = divide(PI, multiply((a, 0.0), sine));
    if a < FAR {
        let (hi, lo) = divide(reflected, near(a));
        return sign * (hi + lo);
    }
    let (hi, lo) = exponent(a);
    let (e, e_lo, power) = exp_parts(-hi, -lo);
    let (value, _) = multiply(reflected, (e, e_lo));
    sign * value.scaled(power)
}

/// Returns Γ(x), ±infinity at ±0, NaN at the other poles. The maximum measured error is 0.60 ulp for x > 0, 0.75 below.
#[inline(always)]
pub(crate) fn gamma(x: f64) -> f64 {
    if is_negative(x) { gamma_negative(x) } else { gamma_fast(x) }
}
