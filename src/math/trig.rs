//! sin, cos, tan.
//!
//! x = n π/2 + r by Cody and Waite's reduction, π/2 as three doubles (161 bits) and r as two:
//!
//! - n `P1` is a multiple of 2^-52, and so is x for |x| >= 1 (below, n <= 1 and Sterbenz applies);
//!   their difference is below 1, so one fused operation computes it exactly;
//! - n `P2` is computed exactly and added with `two_sum`; n `P3` is rounded. The omitted part of π/2 contributes
//!   n 2^-162 < 2^-131 for |x| <= 2^30. No double in that range is closer than 2^-62 to a multiple
//!   of π/2 other than 0 (Muller, Elementary Functions, ch. 11), so r has a relative error of 2^-69.
//!
//! Then, with z = r², sin r = r + r z S(z) and cos r = 1 - z/2 + z² C(z), with S and C of degree 5 (weighted Remez on
//! |r| <= π/4, `coefficients.py sin cos`; errors 2^-57.2 and 2^-59.9). |x| > 2^30 needs the slow reduction in
//! `reduce_huge`, which is not vectorised: blocks recompute these elements afterwards.

use super::arithmetic::{Lane, LaneBits, Truth};
use super::bits::{fast_two_sum, nearest, polynomial, two_product, two_sum};
use super::reduce_huge::{Reduced, reduce_huge};

const P1: f64 = std::f64::consts::FRAC_PI_2;
const P2: f64 = f64::from_bits(0x3c91_a626_3314_5c07);
const P3: f64 = f64::from_bits(0xb91f_1976_b7ed_8fbc);
const TWO_OVER_PI: f64 = std::f64::consts::FRAC_2_PI;

/// Largest |x| of the fast reduction.
const FAST_LIMIT: f64 = 1_073_741_824.0;

/// Limit of |x| below which sin x and tan x round to x. The selects with this limit preserve the sign of zero.
const LINEAR_LIMIT: f64 = 7.450_580_596_923_828e-9; // 2^-27

/// Returns true if x needs `reduce_huge`. Infinities do not need it, since the fast path returns NaN for them.
#[inline(always)]
pub(crate) fn is_huge<L: Lane>(x: L) -> L::Truth {
    x.abs().gt(FAST_LIMIT) & x.abs().lt(f64::INFINITY)
}

#[inline(always)]
fn reduce_fast<L: Lane>(x: L) -> Reduced<L> {
    let (n, bits) = nearest(x * TWO_OVER_PI);
    let first = n.mul_add(-P1, x);
    let (second, second_err) = two_product(n, P2);
    let (r, r_err) = two_sum(first, -second);
    let (hi, lo) = fast_two_sum(r, n.mul_add(-P3, r_err - second_err));
    Reduced { n: bits, hi, lo }
}

/// Reduces any finite x: x = n π/2 + hi + lo.
#[inline(always)]
pub(super) fn reduce(x: f64) -> Reduced<f64> {
    if is_huge(x) { reduce_huge(x) } else { reduce_fast(x) }
}

/// Returns tail with sin(hi + lo) = hi + tail.
#[inline(always)]
fn sin_tail<L: Lane>(r: Reduced<L>, z: L) -> L {
    let s = polynomial!(z; -0.16666666666666632, 0.008333333333322413, -0.00019841269829807686,
        2.7557313691882725e-06, -2.5050758110582497e-08, 1.589679541843256e-10);
    // d sin / dr = cos r = 1 - z/2 + ...
    (r.hi * z).mul_add(s, (z * 0.5).mul_add(-r.lo, r.lo))
}

/// Returns w and tail with cos(hi + lo) = w + tail.
#[inline(always)]
fn cos_parts<L: Lane>(r: Reduced<L>, z: L) -> (L, L) {
    let c = polynomial!(z; 0.0416666666666666, -0.0013888888888874125, 2.4801587289482215e-05,
        -2.755731435234158e-07, 2.087572327441495e-09, -1.135964786374259e-11);
    let half = z * 0.5;
    let (w, lost) = fast_two_sum(1.0, -half);
    let z_lo = r.hi.mul_add(r.hi, -z); // z/2 is large enough here that its rounding matters
    let tail = r.hi.mul_add(-r.lo, (-z_lo).mul_add(0.5, lost));
    (w, (z * z).mul_add(c, tail))
}

/// Returns sin(x + shift π/2) for a reduced x.
#[inline(always)]
fn sin_shifted<L: Lane>(r: Reduced<L>, shift: u64) -> L {
    let n = r.n.plus(shift);
    let z = r.hi * r.hi;
    let (w, tail) = cos_parts(r, z);
    let s = r.hi + sin_tail(r, z);
    let value = (n & 1.into()).is(0).select(s, w + tail);
    (value.to_bits() ^ ((n & 2.into()) << 62)).number()
}

#[inline(always)]
fn tan_reduced<L: Lane>(r: Reduced<L>) -> L {
    let z = r.hi * r.hi;
    let (w, tail) = cos_parts(r, z);
    let (c, c_lo) = fast_two_sum(w, tail);
    let (s, s_lo) = fast_two_sum(r.hi, sin_tail(r, z));
    // tan = s / c in even quadrants, -c / s in odd ones.
    let even = (r.n & 1.into()).is(0);
    let (top, top_lo) = (even.select(s, -c), even.select(s_lo, -c_lo));
    let (bottom, bottom_lo) = (even.select(c, s), even.select(c_lo, s_lo));
    let inverse = L::from(1.0) / bottom;
    let q = top * inverse;
    let rest = (-q).mul_add(bottom, top) + (-q).mul_add(bottom_lo, top_lo);
    rest.mul_add(inverse, q)
}

/// Returns π r as a reduced argument, for |r| <= 1/2.
#[inline(always)]
fn times_pi(r: f64) -> Reduced<f64> {
    let (n, fraction) = if r > 0.25 {
        (1, r - 0.5)
    } else if r < -0.25 {
        (3, r + 0.5)
    } else {
        (0, r)
    };
    let (hi, err) = two_product(2.0 * P1, fraction);
    Reduced { n, hi, lo: fraction.mul_add(2.0 * P2, err) }
}

/// Returns sin πr for |r| <= 1/2.
pub(super) fn sin_pi(r: f64) -> f64 {
    sin_shifted(times_pi(r), 0)
}

/// Returns sin(x + shift π/2) for a reduced x as two doubles, to about 2^-56.
#[inline(always)]
pub(super) fn sin_shifted_in_parts(r: Reduced<f64>, shift: u64) -> (f64, f64) {
    let n = r.n.wrapping_add(shift);
    let z = r.hi * r.hi;
    let (w, tail) = if n & 1 == 0 { (r.hi, sin_tail(r, z)) } else { cos_parts(r, z) };
    let (hi, lo) = fast_two_sum(w, tail);
    if n & 2 == 0 { (hi, lo) } else { (-hi, -lo) }
}

/// Returns sin πr as two doubles, for |r| <= 1/2.
pub(super) fn sin_pi_in_parts(r: f64) -> (f64, f64) {
    sin_shifted_in_parts(times_pi(r), 0)
}

/// Returns cot πr for 0 < |r| <= 1/2: -tan of the angle plus one quadrant.
pub(super) fn cot_pi(r: f64) -> f64 {
    let turned = times_pi(r);
    -tan_reduced(Reduced { n: turned.n.wrapping_add(1), ..turned })
}

/// Returns sin x for |x| <= 2^30, NaN for infinities.
#[inline(always)]
pub(crate) fn sin_fast<L: Lane>(x: L) -> L {
    x.abs().lt(LINEAR_LIMIT).select(x, sin_shifted(reduce_fast(x), 0))
}

/// Returns cos x for |x| <= 2^30, NaN for infinities.
#[inline(always)]
pub(crate) fn cos_fast<L: Lane>(x: L) -> L {
    sin_shifted(reduce_fast(x), 1)
}

/// Returns tan x for |x| <= 2^30, NaN for infinities.
#[inline(always)]
pub(crate) fn tan_fast<L: Lane>(x: L) -> L {
    x.abs().lt(LINEAR_LIMIT).select(x, tan_reduced(reduce_fast(x)))
}

#[cold]
#[inline(never)]
pub(super) fn sin_huge(x: f64) -> f64 {
    sin_shifted(reduce_huge(x), 0)
}

#[cold]
#[inline(never)]
pub(super) fn cos_huge(x: f64) -> f64 {
    sin_shifted(reduce_huge(x), 1)
}

#[cold]
#[inline(never)]
pub(super) fn tan_huge(x: f64) -> f64 {
    tan_reduced(reduce_huge(x))
}

/// Returns sin x. The maximum measured error is 0.72 ulp.
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    if is_huge(x) { sin_huge(x) } else { sin_fast(x) }
}

/// Returns cos x. The maximum measured error is 0.72 ulp.
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    if is_huge(x) { cos_huge(x) } else { cos_fast(x) }
}

/// Returns tan x. The maximum measured error is 0.83 ulp.
#[inline(always)]
pub(crate) fn tan(x: f64) -> f64 {
    if is_huge(x) { tan_huge(x) } else { tan_fast(x) }
}
