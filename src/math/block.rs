//! Every function for slices of equal length, as loops that LLVM vectorises once they are inlined
//! into a function with the right `#[target_feature]`. The bits are those of `lane`.
//!
//! A function with a rare slow path (huge angles, ...) runs its branch-free core over
//! everything, then, in a second loop entered only if some lane needs it, repairs those lanes.

use super::digamma as psi;
use super::ln_gamma as gamma;
use super::{lane, trig};

macro_rules! unary {
    ($($name:ident),* $(,)?) => {$(
        #[inline(always)]
        pub(crate) fn $name(a: &[f64], out: &mut [f64]) {
            for (o, &x) in out.iter_mut().zip(a) {
                *o = lane::$name(x);
            }
        }
    )*};
}

macro_rules! binary {
    ($($name:ident),* $(,)?) => {$(
        #[inline(always)]
        pub(crate) fn $name(a: &[f64], b: &[f64], out: &mut [f64]) {
            for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                *o = lane::$name(x, y);
            }
        }
    )*};
}

macro_rules! repaired {
    ($($name:ident = $fast:path, $slow:path where $needs_slow:path;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name(a: &[f64], out: &mut [f64]) {
            let mut any = false;
            for (o, &x) in out.iter_mut().zip(a) {
                *o = $fast(x);
                any |= $needs_slow(x);
            }
            if any {
                for (o, &x) in out.iter_mut().zip(a) {
                    if $needs_slow(x) {
                        *o = $slow(x);
                    }
                }
            }
        }
    )*};
}

unary!(exp, ln, tanh, atan, erf, erfc, exp_m1, ln_1p, log2, log10, sinh, cosh, asin, acos, cbrt);
unary!(erfcx, wright_omega);
binary!(pow, atan2, hypot, faddeeva_re, faddeeva_im, faddeeva_slope_re, faddeeva_slope_im);
repaired! {
    sin = trig::sin_fast, trig::sin_huge where trig::is_huge;
    cos = trig::cos_fast, trig::cos_huge where trig::is_huge;
    tan = trig::tan_fast, trig::tan_huge where trig::is_huge;
    ln_gamma = gamma::ln_gamma_fast, gamma::ln_gamma_negative where gamma::is_negative;
    digamma = psi::digamma_fast, psi::digamma_negative where psi::is_negative;
}

/// ψ⁽ⁿ⁾ of each element: a loop of scalar calls.
pub(crate) fn polygamma(n: u32, a: &[f64], out: &mut [f64]) {
    for (o, &x) in out.iter_mut().zip(a) {
        *o = lane::polygamma(n, x);
    }
}
