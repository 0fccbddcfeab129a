//! ln x, and ln x in double-double for the functions that need it.
//!
//! x = 2^k m with m in [√½, √2) and f = m - 1 (exact). With s = f / (2 + f) and z = s²,
//!
//! ```text
//! ln(1 + f) = 2 atanh(s) = 2 s + s R,   R = z L(z),   2 s = f - f²/2 + s f²/2
//! ```
//!
//! so that ln x = k ln 2 + f - (f²/2 - s (f²/2 + R)), in which only small terms are rounded before
//! the last sum. L has degree 6 (weighted Remez, `coefficients.py ln`; error 2^-58.9 of ln(1 + f)).

use super::bits::{fast_two_sum, polynomial, polynomial_in_halves, select, two_product};
use super::exp::{LN2_HI, LN2_LO};

/// Bits of the least double not below √½.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE_EXPONENT: u64 = 1 << 52;
const TWO_52: u64 = 0x4330_0000_0000_0000;

/// x = 2^k m with m in [√½, √2), for finite x > 0, subnormal or not.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    let subnormal = x < f64::MIN_POSITIVE;
    let normal = select(subnormal, x * 18_014_398_509_481_984.0, x); // 2^54
    let offset = select(
        subnormal,
        4_503_599_627_370_496.0 + 1024.0 + 54.0,
        4_503_599_627_370_496.0 + 1024.0,
    );
    // (k + 1024) lands in the exponent field without a sign; a logical shift brings it down.
    let shifted = normal.to_bits().wrapping_sub(SQRT_HALF).wrapping_add(1024 * ONE_EXPONENT);
    let k = f64::from_bits((shifted >> 52) | TWO_52) - offset;
    let exponent = shifted & 0xfff0_0000_0000_0000;
    let m =
        f64::from_bits(normal.to_bits().wrapping_sub(exponent).wrapping_add(1024 * ONE_EXPONENT));
    (m, k)
}

/// R = (2 atanh(s) - 2 s) / s.
#[inline(always)]
fn series(z: f64) -> f64 {
    z * polynomial!(z; 0.6666666666666734, 0.39999999999414665, 0.28571428742390675,
        0.222221985729059, 0.18183564338602734, 0.1531405028103059, 0.14795951981108388)
}

/// ln(1 + f) - f for f in [√½ - 1, √2 - 1].
#[inline(always)]
pub(super) fn ln_1p_less_f(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let half_square = 0.5 * f * f;
    s.mul_add(half_square + series(s * s), -half_square)
}

/// What `value` becomes where x is not a positive finite number.
#[inline(always)]
pub(super) fn with_special_arguments(x: f64, value: f64) -> f64 {
    let special = select(x < 0.0, f64::NAN, x); // infinity and NaN are their own logarithms
    let special = select(x == 0.0, f64::NEG_INFINITY, special);
    select((x > 0.0) & (x < f64::INFINITY), value, special)
}

/// ln x; max error measured 0.75 ulp.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let (m, k) = split(x);
    let f = m - 1.0;
    let (hi, lo) = fast_two_sum(k * LN2_HI, f);
    let small = k.mul_add(LN2_LO, lo) + ln_1p_less_f(f);
    with_special_arguments(x, hi + small)
}

/// ln x as hi + lo with an error of 2^-58 of the larger of |ln x| and ln 2, relative to ln x near 1;
/// for finite x > 0. f²/2 is summed with its rounding error, so that only s (f²/2 + R) is rounded.
#[inline(always)]
pub(super) fn ln_in_parts(x: f64) -> (f64, f64) {
    let (m, k) = split(x);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let (half_square, half_square_err) = two_product(0.5 * f, f);
    let (sum, sum_err) = fast_two_sum(k * LN2_HI, f);
    let (hi, hi_err) = fast_two_sum(sum, -half_square);
    let small = s.mul_add(half_square + series(s * s), -half_square_err);
    fast_two_sum(hi, k.mul_add(LN2_LO, small) + (sum_err + hi_err))
}

/// ln x as hi + lo to about 2^-65 of its value, for finite x > 0.
///
/// 2 atanh(s) = 2 s + (2/3) s³ + s z² W(z) with s and s³ in double-double. z² W is at most 2^-11.5
/// of the whole, so W may be a double: degree 7, `coefficients.py pow`.
#[inline(always)]
pub(super) fn ln_in_two(x: f64) -> (f64, f64) {
    const TWO_THIRDS_HI: f64 = 2.0 / 3.0;
    const TWO_THIRDS_LO: f64 = f64::from_bits(0x3c85_5555_5555_5555);
    let (m, k) = split(x);
    let f = m - 1.0;
    let (d, d_lo) = fast_two_sum(1.0, m); // |m| > 1 only drops bits of weight below 2^-52: none
    let inverse = 1.0 / d;
    let s = f * inverse;
    let s_lo = (-s).mul_add(d_lo, (-s).mul_add(d, f)) * inverse;
    let (z, z_err) = two_product(s, s);
    let z_lo = (s + s).mul_add(s_lo, z_err);
    let (c, c_err) = two_product(z, s);
    let c_lo = z_lo.mul_add(s, z.mul_add(s_lo, c_err));
    let (t, t_err) = two_product(TWO_THIRDS_HI, c);
    let t_lo = TWO_THIRDS_HI.mul_add(c_lo, TWO_THIRDS_LO.mul_add(c, t_err));
    let w = polynomial_in_halves!(z; 0.3999999999999998, 0.285714285714451, 0.22222222217539409,
        0.18181818869953253, 0.15384556895652032, 0.13336316470853576, 0.11674837746202543,
        0.11988852997111563);
    let (a, a_lo) = fast_two_sum(s + s, t);
    let small = (c * z).mul_add(w, t_lo) + (s_lo + s_lo);
    let (hi, b_lo) = fast_two_sum(k * LN2_HI, a);
    let small = k.mul_add(LN2_LO, b_lo) + (a_lo + small);
    fast_two_sum(hi, small)
}
