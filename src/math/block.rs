//! All functions for slices of equal length. LLVM vectorises their loops after it inlines them into a function with a
//! suitable `#[target_feature]`. The results have the same bits as `lane`.
//!
//! A function with a rare slow path (huge angles, ...) first runs its branch-free core for all elements. If elements
//! need the slow path, a second loop recomputes them.

use super::lane::{self, for_each_method};

macro_rules! block {
    ($file:ident $name:ident ($x:ident)) => {
        #[inline(always)]
        pub(crate) fn $name(a: &[f64], out: &mut [f64]) {
            for (o, &x) in out.iter_mut().zip(a) {
                *o = lane::$name(x);
            }
        }
    };
    ($file:ident $name:ident ($x:ident, $y:ident)) => {
        #[inline(always)]
        pub(crate) fn $name(a: &[f64], b: &[f64], out: &mut [f64]) {
            for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                *o = lane::$name(x, y);
            }
        }
    };
    ($file:ident $name:ident ($x:ident) $fast:ident $slow:ident $rare:ident) => {
        #[inline(always)]
        pub(crate) fn $name(a: &[f64], out: &mut [f64]) {
            use super::$file::{$fast, $rare, $slow};
            let mut any = false;
            for (o, &x) in out.iter_mut().zip(a) {
                *o = $fast(x);
                any |= $rare(x);
            }
            if any {
                for (o, &x) in out.iter_mut().zip(a) {
                    if $rare(x) {
                        *o = $slow(x);
                    }
                }
            }
        }
    };
}

macro_rules! blocks {
    ($($file:ident::$name:ident $arguments:tt $(= $fast:ident, $slow:ident where $rare:ident)?;)*) => {
        $(block!($file $name $arguments $($fast $slow $rare)?);)*
    };
}
for_each_method!(blocks);

block!(processor abs (x));
block!(processor ceil (x));
block!(processor floor (x));
block!(processor round (x));
block!(processor signum (x));
block!(processor fmod (x, y));
block!(processor sqrt (x));

/// Computes ψ⁽ⁿ⁾ of each element with a scalar call.
pub(crate) fn polygamma(n: u32, a: &[f64], out: &mut [f64]) {
    for (o, &x) in out.iter_mut().zip(a) {
        *o = lane::polygamma(n, x);
    }
}

/// The functions for x86-64 processors without FMA, where each `mul_add` is a library call, so that loops are not vectorised:
/// loops of calls of the scalar functions, which need less code.
#[cfg(target_arch = "x86_64")]
pub(crate) mod plain {
    use super::for_each_method;
    pub(crate) use super::{abs, ceil, floor, fmod, polygamma, round, signum, sqrt};
    use crate::math::scalar::plain as lane;

    macro_rules! blocks {
        ($($file:ident::$name:ident $arguments:tt $(= $fast:ident, $slow:ident where $rare:ident)?;)*) => {
            $(block!($file $name $arguments);)*
        };
    }
    for_each_method!(blocks);
}
