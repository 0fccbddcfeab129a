//! asinh, acosh, atanh: ln(1 + t) with t as two doubles, so that nothing cancels near 0 (or 1).
//!
//! - asinh a: t = a + a²/(1 + √(1 + a²));
//! - acosh x: t = (x - 1) + √((x - 1)(x + 1));
//! - atanh a: half of ln(1 + t), with t = 2a/(1 - a).
//!
//! (DLMF 4.37.16, 4.37.19 and 4.37.24.) Above 2^60 asinh and acosh are ln x + ln 2.

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, two_product, two_sum};
use super::ln_variants::ln_1p_of_sum;
use crate::math::bits::root;

/// Limit of |x| below which asinh and atanh round to x. It preserves subnormals and the sign of zero.
const LINEAR_LIMIT: f64 = 1.862_645_149_230_957e-9; // 2^-29
const HUGE: f64 = 1_152_921_504_606_846_976.0; // 2^60

/// Returns asinh x. The maximum measured error is 0.72 ulp.
#[inline(always)]
pub(crate) fn asinh<L: Lane>(x: L) -> L {
    let a = x.abs();
    let huge = a.gt(HUGE);
    let b = huge.select(1.0, a);
    let (square, square_lo) = two_product(b, b);
    let (sum, sum_lo) = two_sum(1.0, square);
    let (r, r_lo) = root((sum, sum_lo + square_lo));
    let (d, d_lo) = two_sum(1.0, r);
    let q = square / d;
    let q_lo = ((-q).mul_add(d, square) + (-q).mul_add(d_lo + r_lo, square_lo)) / d;
    let (t, t_lo) = fast_two_sum(b, q);
    let (t, t_lo) = (huge.select(a, t), huge.select(0.0, t_lo + q_lo));
    let (_, value) = ln_1p_of_sum(t, t_lo, huge.select(1.0, 0.0));
    // NaN and infinity map to themselves.
    let value = a.lt(f64::INFINITY).select(value, a);
    a.lt(LINEAR_LIMIT).select(x, value.copysign(x))
}

/// Returns acosh x, NaN for x < 1. The maximum measured error is 0.86 ulp.
#[inline(always)]
pub(crate) fn acosh<L: Lane>(x: L) -> L {
    let huge = x.gt(HUGE);
    let t = huge.select(1.0, x) - 1.0; // exact up to 2^53; beyond, the error is negligible
    let (square, square_lo) = two_product(t, t);
    let (sum, sum_lo) = two_sum(t + t, square);
    let (r, r_lo) = root((sum, sum_lo + square_lo));
    let (t, t_lo) = two_sum(t, r);
    let (t, t_lo) = (huge.select(x, t), huge.select(0.0, t_lo + r_lo));
    let (_, value) = ln_1p_of_sum(t, t_lo, huge.select(1.0, 0.0));
    let value = x.lt(f64::INFINITY).select(value, x);
    x.gt(1.0).select(value, x.eq(1.0).select(0.0, f64::NAN))
}

/// Returns atanh x, ±infinity at ±1, NaN beyond. The maximum measured error is 0.72 ulp.
#[inline(always)]
pub(crate) fn atanh<L: Lane>(x: L) -> L {
    let a = x.abs();
    let (d, d_lo) = fast_two_sum(1.0, -a);
    let t = (a + a) / d;
    let t_lo = ((-t).mul_add(d, a + a) - t * d_lo) / d;
    let (_, value) = ln_1p_of_sum(t, t_lo, L::from(0.0));
    let value = a.lt(1.0).select(value * 0.5, a.eq(1.0).select(f64::INFINITY, f64::NAN));
    a.lt(LINEAR_LIMIT).select(x, value.copysign(x))
}
