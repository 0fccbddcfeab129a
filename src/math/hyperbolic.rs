//! e^x - 1, sinh, cosh and tanh, computed from e^x - 1 = 2^k (1 + p) - 1 with p = e^r - 1 as two doubles.
//!
//! `exp_m1_parts` returns 2^-j (e^x - 1) as hi + lo. The sum 2^k p + (2^k - 1) is error-free, so that nothing cancels
//! for any x. j = 1 or 2 keeps 2^k finite wherever the result (e^x - 1, or sinh x = e^x / 2) is finite. r and
//! `e^r - 1 - r` are the same as in `exp`.

use super::arithmetic::{Lane, LaneBits, Truth};
use super::bits::{fast_two_sum, nearest, power_of_two, two_sum};
use super::exp::{LN2_HI, LN2_LO, LOG2_E, remainder};

/// Limit of |x| below which all odd functions here round to x. It preserves subnormals and the sign of zero.
const LINEAR_LIMIT: f64 = 1.862_645_149_230_957e-9; // 2^-29

/// Returns p, `p_lo` and the bits of k, where x = k ln 2 + r and p + `p_lo` = e^r - 1.
#[inline(always)]
fn reduced_exp_m1<L: Lane>(x: L) -> (L, L, L::Bits) {
    let (k, k_bits) = nearest(x * LOG2_E);
    let r_hi = k.mul_add(-LN2_HI, x);
    let (r, r_lo) = fast_two_sum(r_hi, k * -LN2_LO);
    let small = (r * r).mul_add(remainder(r), r_lo.mul_add(r, r_lo));
    let (p, p_lo) = fast_two_sum(r, small);
    (p, p_lo, k_bits)
}

/// Returns 2^-j (e^x - 1) as hi + lo, for -50 <= x and x <= 709.9 (j = 1) or 710.5 (j = 2).
#[inline(always)]
fn exp_m1_parts<L: Lane>(x: L, j: u64) -> (L, L) {
    let (p, p_lo, k_bits) = reduced_exp_m1(x);
    let scale = power_of_two(k_bits.less(j));
    let unit = L::from(power_of_two(0u64.wrapping_sub(j)));
    let (shifted, shifted_lo) = two_sum(scale, -unit);
    let (hi, lo) = two_sum(shifted, scale * p);
    fast_two_sum(hi, scale.mul_add(p_lo, lo + shifted_lo))
}

/// Returns e^x - 1. The maximum measured error is 0.89 ulp.
#[inline(always)]
pub(crate) fn exp_m1<L: Lane>(x: L) -> L {
    let bounded = x.gt(709.9).select(709.9, x);
    let bounded = bounded.lt(-50.0).select(-50.0, bounded);
    let (hi, _) = exp_m1_parts(bounded, 1);
    x.abs().lt(1.110_223_024_625_156_5e-16).select(x, hi * 2.0) // 2^-53
}

/// Returns sinh x = (t + t / (t + 1)) / 2 with t = e^|x| - 1. The maximum measured error is 0.95 ulp.
#[inline(always)]
pub(crate) fn sinh<L: Lane>(x: L) -> L {
    let a = x.abs();
    let bounded = a.gt(710.5).select(710.5, a);
    let (quarter, quarter_lo) = exp_m1_parts(bounded, 2);
    // u = t / (t + 1), d = t + 1, so that sinh x = 2 (t/4 + u/4).
    let d = quarter * 4.0 + 1.0;
    let d = d.lt(f64::MAX).select(d, f64::MAX); // u is then far below an ulp anyway
    let u = quarter / d;
    // Rounding error of the quotient: (t - u d) / d, where d_lo is the rounding error of t + 1.
    let bounded_quarter = quarter.lt(1e300).select(quarter, 1e300);
    let (_, d_lo) = two_sum(bounded_quarter * 4.0, L::from(1.0));
    let u_lo = ((-u).mul_add(d, quarter) - u * d_lo) / d;
    let (hi, lo) = fast_two_sum(quarter, u);
    let value = (hi + (lo + (u_lo + quarter_lo))) * 2.0;
    a.lt(LINEAR_LIMIT).select(x, value.copysign(x))
}

/// Returns cosh x = (e + 1/e) / 2 with e = e^|x|. The maximum measured error is 0.86 ulp.
#[inline(always)]
pub(crate) fn cosh<L: Lane>(x: L) -> L {
    let a = x.abs();
    let bounded = a.gt(710.5).select(710.5, a);
    let (p, p_lo, k_bits) = reduced_exp_m1(bounded);
    let scale = power_of_two(k_bits.less(2));
    let (e, e_lo) = fast_two_sum(1.0, p);
    let (e, e_lo) = (scale * e, scale * (e_lo + p_lo));
    // cosh x = 2 (e/4 + 1 / (16 e/4)).
    let (hi, lo) = fast_two_sum(e, L::from(0.0625) / e);
    (hi + (lo + e_lo)) * 2.0
}

/// Returns tanh x = -t / (t + 2) with t = e^(-2|x|) - 1 in (-1, 0]. The maximum measured error is 0.68 ulp.
#[inline(always)]
pub(crate) fn tanh<L: Lane>(x: L) -> L {
    let a = x.abs();
    let bounded = a.gt(25.0).select(25.0, a);
    let (t, t_lo) = exp_m1_parts(bounded * -2.0, 0);
    let (d, d_err) = fast_two_sum(2.0, t);
    let d_lo = d_err + t_lo;
    let inverse = L::from(1.0) / d;
    let q = t * inverse;
    let rest = (-q).mul_add(d, t) + (-q).mul_add(d_lo, t_lo);
    let value = rest.mul_add(inverse, q).abs();
    a.lt(LINEAR_LIMIT).select(x, value.copysign(x))
}
