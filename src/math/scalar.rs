//! The functions as ordinary calls: the `lane` code in a clone compiled for AVX2 and FMA where the
//! processor has them, so that `mul_add` is an instruction and not a library call. Same bits.

use super::lane;

#[allow(unused_imports, reason = "the scalar form of every function is here, used or not")]
pub(crate) use super::polygamma::polygamma;

macro_rules! dispatched {
    ($($name:ident($($argument:ident: $kind:ty),+);)*) => {$(
        pub(crate) fn $name($($argument: $kind),+) -> f64 {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn with_fma($($argument: $kind),+) -> f64 {
                    lane::$name($($argument),+)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has both features.
                    return unsafe { with_fma($($argument),+) };
                }
            }
            lane::$name($($argument),+)
        }
    )*};
}

dispatched! {
    exp(x: f64);
    ln(x: f64);
    sin(x: f64);
    cos(x: f64);
    tan(x: f64);
    tanh(x: f64);
    atan(x: f64);
    erf(x: f64);
    erfc(x: f64);
    exp_m1(x: f64);
    ln_1p(x: f64);
    log2(x: f64);
    log10(x: f64);
    sinh(x: f64);
    cosh(x: f64);
    asin(x: f64);
    acos(x: f64);
    cbrt(x: f64);
    ln_gamma(x: f64);
    digamma(x: f64);
    pow(x: f64, y: f64);
    atan2(y: f64, x: f64);
    hypot(x: f64, y: f64);
    erfcx(x: f64);
    wright_omega(x: f64);
    faddeeva_re(x: f64, y: f64);
    faddeeva_im(x: f64, y: f64);
    faddeeva_slope_re(x: f64, y: f64);
    faddeeva_slope_im(x: f64, y: f64);
}
