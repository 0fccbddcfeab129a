//! Scalar forms of all functions. If the processor supports AVX2 and FMA, they call a clone of the `lane` code that is
//! compiled for these instructions, so that `mul_add` is not a library call. The bits are the same.

use super::lane::{self, for_each_method};
pub(crate) use super::polygamma::polygamma;

macro_rules! dispatched {
    ($(
        $file:ident::$name:ident($($x:ident),+) $(= $fast:ident, $slow:ident where $rare:ident)?;
    )*) => {
        /// The functions for processors without FMA.
        pub(crate) mod plain {
            use super::lane;
            $(
                pub(crate) fn $name($($x: f64),+) -> f64 {
                    lane::$name($($x),+)
                }
            )*
        }
        $(pub(crate) fn $name($($x: f64),+) -> f64 {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn with_fma($($x: f64),+) -> f64 {
                    lane::$name($($x),+)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has both features.
                    return unsafe { with_fma($($x),+) };
                }
            }
            plain::$name($($x),+)
        })*
    };
}
for_each_method!(dispatched);

// Functions that are single instructions on most processors, with the same signatures as the other functions.

/// Returns |x|.
#[inline(always)]
pub(crate) fn abs(x: f64) -> f64 {
    x.abs()
}

/// Returns the largest integer not above x.
#[inline(always)]
pub(crate) fn floor(x: f64) -> f64 {
    x.floor()
}

/// Returns the least integer not below x.
#[inline(always)]
pub(crate) fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// Returns the integer nearest to x. Halves are rounded away from zero.
#[inline(always)]
pub(crate) fn round(x: f64) -> f64 {
    x.round()
}

/// Returns 1 with the sign of x, also for zeros; NaN for NaN.
#[inline(always)]
pub(crate) fn signum(x: f64) -> f64 {
    x.signum()
}

/// Returns the exact remainder of x divided by y, with the quotient truncated towards 0.
#[inline(always)]
pub(crate) fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

/// Returns √x, correctly rounded.
#[inline(always)]
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
