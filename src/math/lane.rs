//! All functions for one number, always inlined. The loops of `block` and the scalar functions of `math` use them.

/// List of all functions: file, name and arguments. The imports of this file, the loops of `block` and the scalar
/// functions of `scalar` are generated from it. If rare arguments (huge angles, …) need a slow path, the fast function,
/// the slow function and the test for rare arguments follow.
macro_rules! for_each_method {
    ($callback:ident) => {
        $callback! {
            asin::acos(x);
            asin::asin(x);
            atan::atan(x);
            atan::atan2(y, x);
            bessel::j0(x);
            bessel::j1(x);
            bessel::y0(x);
            bessel::y1(x);
            digamma::digamma(x) = digamma_fast, digamma_negative where is_negative;
            erf::erf(x);
            erf::erfc(x);
            erfcx::erfcx(x);
            exp::exp(x);
            exp::exp2(x);
            exponential_integral::e1(x);
            faddeeva::faddeeva_im(x, y);
            faddeeva::faddeeva_re(x, y);
            faddeeva::faddeeva_slope_im(x, y);
            faddeeva::faddeeva_slope_re(x, y);
            gamma::gamma(x) = gamma_fast, gamma_negative where is_negative;
            hyperbolic::cosh(x);
            hyperbolic::exp_m1(x);
            hyperbolic::sinh(x);
            hyperbolic::tanh(x);
            inverse_hyperbolic::acosh(x);
            inverse_hyperbolic::asinh(x);
            inverse_hyperbolic::atanh(x);
            ln::ln(x);
            ln_gamma::ln_gamma(x) = ln_gamma_fast, ln_gamma_negative where is_negative;
            ln_variants::ln_1p(x);
            ln_variants::log10(x);
            ln_variants::log2(x);
            modified_bessel::i0(x);
            modified_bessel::i0e(x);
            modified_bessel::i1(x);
            modified_bessel::i1e(x);
            modified_bessel::k0(x);
            modified_bessel::k0e(x);
            modified_bessel::k1(x);
            modified_bessel::k1e(x);
            pow::pow(x, y);
            roots::cbrt(x);
            roots::hypot(x, y);
            trig::cos(x) = cos_fast, cos_huge where is_huge;
            trig::sin(x) = sin_fast, sin_huge where is_huge;
            trig::tan(x) = tan_fast, tan_huge where is_huge;
            wright_omega::wright_omega(x);
        }
    };
}
pub(super) use for_each_method;

macro_rules! from_files {
    ($($file:ident::$name:ident $arguments:tt $(= $fast:ident, $slow:ident where $rare:ident)?;)*) => {
        $(pub(crate) use super::$file::$name;)*
    };
}
for_each_method!(from_files);

pub(crate) use super::polygamma::polygamma;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
pub(crate) use super::trig::{cos_fast, is_huge, sin_fast, tan_fast};
pub(crate) use crate::math::scalar::{abs, ceil, floor, fmod, round, signum, sqrt};
