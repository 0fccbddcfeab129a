//! Scalar forms of all functions. If the processor supports AVX2 and FMA, they call a clone of the `lane` code that is
//! compiled for these instructions, so that `mul_add` is not a library call. The bits are the same.

use super::lane::{self, for_each_method};

pub(crate) use super::polygamma::polygamma;
pub(crate) use super::processor::{abs, ceil, floor, fmod, round, signum, sqrt};

macro_rules! dispatched {
    ($(
        $file:ident::$name:ident($($x:ident),+) $(= $fast:ident, $slow:ident where $rare:ident)?;
    )*) => {$(
        pub(crate) fn $name($($x: f64),+) -> f64 {
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
            lane::$name($($x),+)
        }
    )*};
}
for_each_method!(dispatched);
