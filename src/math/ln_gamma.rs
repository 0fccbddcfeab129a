//! ln |Γ(x)|.
//!
//! For x > 0, three forms share one logarithm, and the result is selected from them:
//!
//! - x in [1.5, 2.5): ln Γ(2 + v) = v G(v), G of degree 18 (weighted Remez, `coefficients.py
//!   ln_gamma`), so that the relative accuracy is kept near the zero at 2;
//! - x < 7.5: the recurrence Γ(x + 1) = x Γ(x) reduces x to this range. ln Γ = v G(v) ± ln(product), where the
//!   two terms never cancel by more than a factor of 3; at the zero x = 1 both vanish;
//! - x >= 7.5: Stirling, (x - 1/2)(ln x - 1) + ln(2π)/2 - 1/2 + S(1/x²)/x, S of degree 5
//!   (`coefficients.py stirling`; absolute error 2^-59.3).
//!
//! The terms are summed as pairs of doubles. For negative x the reflection
//! Γ(x) Γ(1 - x) = π / sin πx is used, in the slow path of blocks. There ln |Γ| has two zeros between any two
//! adjacent poles. Near these zeros the *absolute* error is below 2^-52 times the larger of 1 and |ln Γ(x)|, but the
//! relative accuracy is lost, as in most libraries.

use super::bits::{fast_two_sum, polynomial, select, two_product, two_sum};
use super::ln::ln_in_parts;
use super::trig::sin_pi;

const LN_PI: f64 = f64::from_bits(0x3ff2_50d0_48e7_a1bd);
const LN_PI_LO: f64 = f64::from_bits(0x3c67_abf2_ad8d_5088);
/// ln(2π)/2 - 1/2.
const STIRLING_CONSTANT: f64 = 0.418_938_533_204_672_7;
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Returns S(u) of Stirling's series, for u <= 1/7.5².
#[inline(always)]
pub(super) fn stirling(u: f64) -> f64 {
    polynomial!(u; 0.08333333333333326, -0.002777777777466866, 0.0007936505868505,
        -0.0005951875969122203, 0.0008361259103100224, -0.001621700270119115)
}

/// Returns ln Γ(x) as hi + lo, for x > 0. Relative error about 2^-53.
#[inline(always)]
fn positive(x: f64) -> (f64, f64) {
    const G0: f64 = 0.42278433509846713; // 1 - Euler's constant
    const G0_LO: f64 = 4.942915152430645e-18;
    let far = x >= 7.5;
    // Γ(x) = (x - 1) ... (y) Γ(y) with y in [1.5, 2.5)
    let mut y = x;
    let mut product = 1.0;
    // Each step tests x itself, because chained conditions would be compiled to branches.
    for steps in [1.0, 2.0, 3.0, 4.0, 5.0] {
        let step = x >= steps + 1.5;
        let lower = x - steps;
        product = select(step, product * lower, product);
        y = select(step, lower, y);
    }
    // or Γ(x) = Γ(x + 1) / x, or Γ(x + 2) / (x (x + 1)); v = x + 1 - 2, x + 2 - 2.
    let (once, twice) = (x < 1.5, x < 0.5);
    let v = select(twice, x, select(once, x - 1.0, y - 2.0));
    let rising = x.mul_add(x, x);
    let argument = select(twice, rising, select(once | far, x, product));
    let inverse = 1.0 / argument;
    let argument_lo = select(twice & (x > 1e-290), x.mul_add(x, x - rising), 0.0);
    let (l, l_lo) = ln_in_parts(argument);
    let l_lo = argument_lo.mul_add(select(twice & (x > 1e-290), inverse, 0.0), l_lo);

    let q = polynomial!(v; 0.32246703342411326, -0.06735230105319831, 0.020580808427780567,
        -0.007385551028649715, 0.0028905103310237546, -0.0011927539127580943,
        0.0005096695156760487, -0.00022315473517303132, 9.945767002995561e-05,
        -4.492653103257105e-05, 2.050561744934743e-05, -9.43723747100632e-06,
        4.384589397715842e-06, -2.049751151895795e-06, 9.20315689872666e-07,
        -4.2005027021278927e-07, 2.784933542879746e-07, -1.4328831810029386e-07);
    let (q, q_err) = two_product(v, q); // visible near the minimum at 1.46, where ln Γ is small
    let (g, g_lo) = fast_two_sum(G0, q);
    let (near, near_err) = two_product(v, g);
    let near_lo = v.mul_add(g_lo + (G0_LO + q_err), near_err);
    let sign = select(once, -1.0, 1.0);
    let (near, near_err) = two_sum(near, sign * l);
    let near_lo = near_err + sign.mul_add(l_lo, near_lo);

    let u = inverse * inverse;
    let s = stirling(u);
    let half_less = x - 0.5;
    let half_less_lo = (x - half_less) - 0.5;
    let (l, l_err) = fast_two_sum(l, -1.0);
    let l_lo = l_lo + l_err;
    let (main, main_err) = two_product(half_less, l);
    let main_lo = half_less.mul_add(l_lo, half_less_lo.mul_add(l, main_err));
    let rest = main_lo + s.mul_add(inverse, STIRLING_CONSTANT);
    let rest = select(main < f64::INFINITY, rest, 0.0);

    fast_two_sum(select(far, main, near), select(far, rest, near_lo))
}

/// Returns ln Γ(x) for x > 0, ±0, infinity and NaN.
#[inline(always)]
pub(super) fn ln_gamma_fast(x: f64) -> f64 {
    let (hi, lo) = positive(x);
    let value = select(hi < f64::INFINITY, hi + lo, hi);
    let value = select((x == 0.0) | (x == f64::INFINITY), f64::INFINITY, value);
    select(x.is_nan(), x, value)
}

/// Returns true if x needs `ln_gamma_negative`.
#[inline(always)]
pub(super) fn is_negative(x: f64) -> bool {
    x < 0.0
}

/// Returns ln |Γ(x)| for x < 0.
#[cold]
#[inline(never)]
pub(super) fn ln_gamma_negative(x: f64) -> f64 {
    let a = -x;
    if a >= TWO_52 {
        return f64::INFINITY; // integers: poles
    }
    if a < 0.5 {
        // Γ(x) = Γ(x + 1) / x: both logarithms have the same sign.
        let (sum, sum_lo) = fast_two_sum(1.0, x);
        let (hi, lo) = positive(sum);
        let (l, l_lo) = ln_in_parts(a);
        let (value, err) = two_sum(hi, -l);
        // ψ(1 + x) multiplies the rounding error of 1 + x; -0.577 is accurate enough for |x| < 1/2.
        return value + (err + (lo - l_lo + sum_lo * -0.577));
    }
    let nearest = (a + TWO_52) - TWO_52;
    let s = sin_pi(a - nearest).abs();
    if s == 0.0 {
        return f64::INFINITY;
    }
    let (product, product_err) = two_product(a, s);
    let (l, l_lo) = ln_in_parts(product);
    let (g, g_lo) = positive(a);
    let (sum, err) = two_sum(LN_PI, -l);
    let (value, value_err) = two_sum(sum, -g);
    value + (value_err + (err + (LN_PI_LO - l_lo - product_err / product - g_lo)))
}

/// Returns ln |Γ(x)|, infinity for integers x <= 0 and for infinities. The maximum measured error is 1.6 ulp for x > 0.
#[inline(always)]
pub(crate) fn ln_gamma(x: f64) -> f64 {
    if is_negative(x) { ln_gamma_negative(x) } else { ln_gamma_fast(x) }
}
