//! ln x, and ln x in double-double for the functions that need it.
//!
//! x = 2^k m with m in [√½, √2) and f = m - 1 (exact). With s = f / (2 + f) and z = s²,
//!
//! ```text
//! ln(1 + f) = 2 atanh(s) = 2 s + s R,   R = z L(z),   2 s = f - f²/2 + s f²/2
//! ```
//!
//! and therefore ln x = k ln 2 + f - (f²/2 - s (f²/2 + R)). Only small terms are rounded before the last sum. L has
//! degree 6 (weighted Remez, `coefficients.py ln`; error 2^-58.9 of ln(1 + f)).

use super::arithmetic::{Lane, LaneBits, Truth};
use super::bits::{fast_two_sum, polynomial, two_product};
use super::exp::{LN2_HI, LN2_LO};

/// Bits of the smallest double not below √½.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE_EXPONENT: u64 = 1 << 52;
const TWO_52: u64 = 0x4330_0000_0000_0000;
/// 2^52 + 1024.
const OFFSET: f64 = 4_503_599_627_370_496.0 + 1024.0;

/// Returns (m, k) with x = 2^k m and m in [√½, √2), for finite x > 0, including subnormals.
#[inline(always)]
pub(crate) fn split<L: Lane>(x: L) -> (L, L) {
    let subnormal = x.lt(f64::MIN_POSITIVE);
    let x = subnormal.select(x * 18_014_398_509_481_984.0, x); // 2^54
    let offset = subnormal.select(54.0 + OFFSET, OFFSET);
    // The exponent field contains k + 1024, which is not negative; a logical shift moves it to the low bits.
    let shifted = x.to_bits().less(SQRT_HALF).plus(1024 * ONE_EXPONENT);
    let k = ((shifted >> 52) | TWO_52.into()).number() - offset;
    let exponent = shifted & 0xfff0_0000_0000_0000.into();
    let m = x.to_bits().less(exponent).plus(1024 * ONE_EXPONENT).number();
    (m, k)
}

/// Returns R = (2 artanh(s) - 2 s) / s for z = s² < 0.03.
#[inline(always)]
pub(crate) fn artanh_series<L: Lane>(z: L) -> L {
    z * polynomial!(z; 0.6666666666666734, 0.39999999999414665, 0.28571428742390675,
        0.222221985729059, 0.18183564338602734, 0.1531405028103059, 0.14795951981108388)
}

/// Returns ln(1 + f) - f for f in [√½ - 1, √2 - 1].
#[inline(always)]
pub(super) fn ln_1p_less_f<L: Lane>(f: L) -> L {
    let s = f / (f + 2.0);
    let half_square = f * 0.5 * f;
    s.mul_add(half_square + artanh_series(s * s), -half_square)
}

/// Returns `value`, or the special value of the logarithm if x is not a positive finite number.
#[inline(always)]
pub(super) fn with_special_arguments<L: Lane>(x: L, value: L) -> L {
    let special = x.lt(0.0).select(f64::NAN, x); // infinity and NaN are their own logarithms
    let special = x.eq(0.0).select(f64::NEG_INFINITY, special);
    (x.gt(0.0) & x.lt(f64::INFINITY)).select(value, special)
}

/// Returns ln x. The maximum measured error is 0.84 ulp.
#[inline(always)]
pub(crate) fn ln<L: Lane>(x: L) -> L {
    let (m, k) = split(x);
    let f = m - 1.0;
    let (hi, lo) = fast_two_sum(k * LN2_HI, f);
    let small = k.mul_add(LN2_LO, lo) + ln_1p_less_f(f);
    with_special_arguments(x, hi + small)
}

/// Returns ln x as hi + lo, for finite x > 0. Near x = 1 the error is 2^-58 |ln x|, elsewhere 2^-58 times the larger of
/// |ln x| and ln 2. f²/2 is summed with its rounding error, so that only s (f²/2 + R) is rounded.
#[inline(always)]
pub(super) fn ln_in_parts<L: Lane>(x: L) -> (L, L) {
    let (m, k) = split(x);
    let f = m - 1.0;
    let s = f / (f + 2.0);
    let (half_square, half_square_err) = two_product(f * 0.5, f);
    let (sum, sum_err) = fast_two_sum(k * LN2_HI, f);
    let (hi, hi_err) = fast_two_sum(sum, -half_square);
    let small = s.mul_add(half_square + artanh_series(s * s), -half_square_err);
    fast_two_sum(hi, k.mul_add(LN2_LO, small) + (sum_err + hi_err))
}

/// Returns ln x as hi + lo to about 2^-68 of its value, for finite x > 0.
///
/// One of three centres c is close to m. Then ln(m/c) = 2 atanh(s) with s = (m - c)/(m + c), |s| < 0.06, and m - c is
/// exact. 2 atanh(s) = 2 s + (2/3) s³ + s z² W(z) with s and s³ in double-double. The last term is below 2^-18 of the
/// sum, so W can be a double: degree 4, `coefficients.py pow`; error 2^-72.2.
#[inline(always)]
pub(super) fn ln_in_two<L: Lane>(x: L) -> (L, L) {
    const TWO_THIRDS_HI: f64 = 2.0 / 3.0;
    const TWO_THIRDS_LO: f64 = f64::from_bits(0x3c85_5555_5555_5555);
    /// The centres 51/64 and 81/64. Each logarithm is the sum of a multiple of 2^-42 (`_HI`, as in `LN2_HI`) and a
    /// remainder (`_LO`).
    const LOW: f64 = 0.796875;
    const LN_LOW_HI: f64 = f64::from_bits(0xbfcd_1037_f265_6000);
    const LN_LOW_LO: f64 = f64::from_bits(0x3d08_4a7e_75b6_f6e4);
    const HIGH: f64 = 1.265625;
    const LN_HIGH_HI: f64 = f64::from_bits(0x3fce_2707_6e2b_0000);
    const LN_HIGH_LO: f64 = f64::from_bits(0xbd3a_342c_2af0_003c);
    let (m, k) = split(x);
    let (low, high) = (m.lt(0.89), m.gt(1.125));
    let centre = low.select(LOW, high.select(HIGH, 1.0));
    let ln_centre = low.select(LN_LOW_HI, high.select(LN_HIGH_HI, 0.0));
    let ln_centre_lo = low.select(LN_LOW_LO, high.select(LN_HIGH_LO, 0.0));

    let f = m - centre;
    let (d, d_lo) = fast_two_sum(centre, m); // exact even if m > centre, since d - centre fits into 53 bits
    let inverse = L::from(1.0) / d;
    let s = f * inverse;
    let s_lo = (-s).mul_add(d_lo, (-s).mul_add(d, f)) * inverse;
    let (z, z_err) = two_product(s, s);
    let z_lo = (s + s).mul_add(s_lo, z_err);
    let (cube, cube_err) = two_product(z, s);
    let cube_lo = z_lo.mul_add(s, z.mul_add(s_lo, cube_err));
    let (t, t_err) = two_product(cube, TWO_THIRDS_HI);
    let t_lo = cube_lo.mul_add(TWO_THIRDS_HI, cube.mul_add(TWO_THIRDS_LO, t_err));
    let w = polynomial!(z; 0.4000000000000052, 0.2857142856996956, 0.22222223711090647,
        0.18181113502650706, 0.15541813497542167);
    let (a, a_lo) = fast_two_sum(s + s, t);
    let small = (cube * z).mul_add(w, t_lo) + (s_lo + s_lo);
    let (hi, b_lo) = fast_two_sum(k.mul_add(LN2_HI, ln_centre), a);
    let small = k.mul_add(LN2_LO, b_lo) + (ln_centre_lo + (a_lo + small));
    fast_two_sum(hi, small)
}
