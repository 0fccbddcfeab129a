//! ln(1 + x), log2 and log10, with the reduction and the series of `ln`.

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, two_product, two_sum};
use super::exp::{LN2_HI, LN2_LO};
use super::ln::{ln_1p_less_f, split, with_special_arguments};

const LOG2_E: f64 = std::f64::consts::LOG2_E;
const LOG2_E_LO: f64 = f64::from_bits(0x3c77_77d0_ffda_0d24);
const LOG10_E: f64 = std::f64::consts::LOG10_E;
const LOG10_E_LO: f64 = f64::from_bits(0x3c69_5355_baaa_fad3);
/// log10 2 rounded to 42 bits, so that its product with k is exact. `LOG10_2_LO` is the remainder.
const LOG10_2_HI: f64 = f64::from_bits(0x3fd3_4413_509f_7800);
const LOG10_2_LO: f64 = f64::from_bits(0x3d1f_ef31_1f12_b358);

/// Returns ln(1 + x). The maximum measured error is 0.85 ulp.
#[inline(always)]
pub(crate) fn ln_1p<L: Lane>(x: L) -> L {
    let (u, value) = ln_1p_of_sum(x, L::from(0.0), L::from(0.0));
    let value = with_special_arguments(u, value);
    x.abs().lt(1.110_223_024_625_156_5e-16).select(x, value) // 2^-53, and the sign of zero
}

/// Returns 1 + x and ln(1 + x + `x_lo`) + `doublings` ln 2. The logarithm is valid if 1 + x is positive and finite.
///
/// 1 + x = u + `u_lo` = 2^k (m + c): for k = 0 the series is evaluated at f = m - 1 + c = x itself; otherwise
/// the rounding error of f is included with the slope 1/(1 + f), approximated as 1 - f + f²/2.
#[inline(always)]
pub(super) fn ln_1p_of_sum<L: Lane>(x: L, x_lo: L, doublings: L) -> (L, L) {
    let (u, u_lo) = two_sum(1.0, x);
    let (m, k) = split(u);
    // u_lo matters for k < 54 only; m / u gives 2^-k.
    let c = k.lt(60.0).select((u_lo + x_lo) * (m / u), 0.0);
    let (f, f_lo) = fast_two_sum(m - 1.0, c);
    let (f, f_lo) = (k.eq(0.0).select(x, f), k.eq(0.0).select(x_lo, f_lo));
    let k = k + doublings;
    let (hi, lo) = fast_two_sum(k * LN2_HI, f);
    let slope = f.mul_add(f * 0.5 - 1.0, 1.0);
    let small = f_lo.mul_add(slope, k.mul_add(LN2_LO, lo)) + ln_1p_less_f(f);
    (u, hi + small)
}

/// Returns ln m as hi + lo, with an error of 2^-56 of hi.
#[inline(always)]
fn ln_mantissa<L: Lane>(m: L) -> (L, L) {
    let f = m - 1.0;
    fast_two_sum(f, ln_1p_less_f(f))
}

/// Returns log2 x, exact for powers of two. The maximum measured error is 0.83 ulp.
#[inline(always)]
pub(crate) fn log2<L: Lane>(x: L) -> L {
    let (m, k) = split(x);
    let (l, l_lo) = ln_mantissa(m);
    let (p, p_err) = two_product(l, LOG2_E);
    let p_lo = l_lo.mul_add(LOG2_E, l.mul_add(LOG2_E_LO, p_err));
    let (hi, lo) = fast_two_sum(k, p);
    with_special_arguments(x, hi + (lo + p_lo))
}

/// Returns log10 x, exact for powers of ten. The maximum measured error is 0.74 ulp.
#[inline(always)]
pub(crate) fn log10<L: Lane>(x: L) -> L {
    let (m, k) = split(x);
    let (l, l_lo) = ln_mantissa(m);
    let (p, p_err) = two_product(l, LOG10_E);
    let p_lo = l_lo.mul_add(LOG10_E, l.mul_add(LOG10_E_LO, p_err));
    let (hi, lo) = fast_two_sum(k * LOG10_2_HI, p);
    with_special_arguments(x, hi + (lo + k.mul_add(LOG10_2_LO, p_lo)))
}
