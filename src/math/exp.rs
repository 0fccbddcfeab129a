//! e^x, 2^x, and e^(hi + lo) for functions whose exponent needs more than double precision.
//!
//! x = k ln 2 + r with |r| <= ln(2)/2, and e^r = 1 + r + r²/2 + r³ Q(r) with Q of degree 9 (weighted
//! Remez, `coefficients.py exp`; error 2^-58.9 of e^r - 1). ln 2 is split so that k · `LN2_HI` is
//! exact (|k| < 2^11 and `LN2_HI` has 42 bits); x - k · `LN2_HI` is then exact as well. The factor
//! 2^k is applied in two halves. The last multiplication then produces overflow, and rounds once to a subnormal,
//! without special cases.

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, nearest, polynomial_in_halves, two_product};

pub(super) const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fefa_3800);
pub(super) const LN2_LO: f64 = f64::from_bits(0x3d2e_f357_93c7_6730);
pub(super) const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// Limit of |x| beyond which e^x is always infinite or 0. It keeps k within the range of `Lane::scaled`.
const EXPONENT_BOUND: f64 = 800.0;

/// Limit of |x| beyond which 2^x is always infinite or 0.
const EXP2_BOUND: f64 = 1100.0;

/// Returns (e^r - 1 - r) / r².
#[inline(always)]
pub(super) fn remainder<L: Lane>(r: L) -> L {
    let q = polynomial_in_halves!(r; 0.16666666666666669, 0.04166666666666618, 0.008333333333329475,
        0.001388888888929379, 0.0001984126986505112, 2.480158627980565e-05, 2.755726537883622e-06,
        2.7558299845307925e-07, 2.5101906960630745e-08, 2.05722146481443e-09);
    q.mul_add(r, 0.5)
}

/// Limits `x` to ±`EXPONENT_BOUND`. NaN remains NaN.
#[inline(always)]
fn bounded<L: Lane>(x: L) -> L {
    let x = x.gt(EXPONENT_BOUND).select(EXPONENT_BOUND, x);
    x.lt(-EXPONENT_BOUND).select(-EXPONENT_BOUND, x)
}

/// Returns e^x. The maximum measured error is 0.74 ulp.
#[inline(always)]
pub(crate) fn exp<L: Lane>(x: L) -> L {
    let x = bounded(x);
    let power = nearest(x * LOG2_E);
    let k = power.0;
    let r = k.mul_add(-LN2_LO, k.mul_add(-LN2_HI, x));
    // 1 + r is rounded; its rounding error is added to the small terms.
    let (sum, lost) = fast_two_sum(1.0, r);
    let e = sum + (r * r).mul_add(remainder(r), lost);
    e.scaled(power)
}

/// Returns 2^x, exact if x is an integer. The maximum measured error is 0.70 ulp. The reduced argument is the
/// fraction of x, which is exact, times ln 2 in two doubles.
#[inline(always)]
pub(crate) fn exp2<L: Lane>(x: L) -> L {
    const LN2: f64 = std::f64::consts::LN_2;
    const LN2_REST: f64 = f64::from_bits(0x3c7a_bc9e_3b39_803f);
    let x = x.gt(EXP2_BOUND).select(EXP2_BOUND, x);
    let x = x.lt(-EXP2_BOUND).select(-EXP2_BOUND, x);
    let power = nearest(x);
    let fraction = x - power.0;
    let (r, r_err) = two_product(fraction, LN2);
    let r_lo = fraction.mul_add(LN2_REST, r_err);
    let (sum, lost) = fast_two_sum(1.0, r);
    let e = sum + (r * r).mul_add(remainder(r), r_lo.mul_add(sum, lost));
    e.scaled(power)
}

/// Returns hi, lo and k with e^(x + x_lo) = (hi + lo) 2^k to about 2^-60, for |x_lo| much smaller than 1. The caller
/// first computes its result from hi and lo, for example their product with another factor, and scales it by 2^k last.
#[inline(always)]
pub(super) fn exp_parts<L: Lane>(x: L, x_lo: L) -> (L, L, (L, L::Bits)) {
    // At the bound the result is already 0 or infinite, and x_lo may be NaN.
    let inside = x.abs().lt(EXPONENT_BOUND);
    let x = bounded(x);
    let x_lo = inside.select(x_lo, 0.0);
    let power = nearest(x * LOG2_E);
    let k = power.0;
    let r_hi = k.mul_add(-LN2_HI, x);
    let tail = k.mul_add(-LN2_LO, x_lo);
    let (r, r_lo) = fast_two_sum(r_hi, tail);
    let (sum, lost) = fast_two_sum(1.0, r);
    let small = (r * r).mul_add(remainder(r), r_lo.mul_add(sum, lost));
    let (hi, lo) = fast_two_sum(sum, small);
    (hi, lo, power)
}

/// Returns e^(x + x_lo), rounded once.
#[inline(always)]
pub(super) fn exp_of_sum<L: Lane>(x: L, x_lo: L) -> L {
    let (hi, _, power) = exp_parts(x, x_lo);
    hi.scaled(power)
}
