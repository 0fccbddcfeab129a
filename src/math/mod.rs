//! Elementary, gamma and error functions of f64 that vectorise, in three forms.
//!
//! - `lane::exp(x)`: one number, always inlined;
//! - `block::exp(a, out)`: slices of equal length, for inlining into a `#[target_feature]` function, and
//!   `block::plain::exp(a, out)` for x86-64 processors without FMA;
//! - `math::exp(x)`: an ordinary function for scalar use.
//!
//! The three forms return the same bits on every instruction set: the code is branch-free arithmetic in which each
//! fused multiply-add is written out and nothing else is fused. (Only the payload of a NaN is unspecified.) Special
//! values follow C99 Annex F, and subnormal arguments and results are supported, because an overflow or NaN that a
//! model produces must not be hidden from the fit.
//!
//! Coefficients come from `coefficients.py` in this directory. Each file states its method and its error as measured by
//! the tests.

pub(crate) mod arithmetic;
mod asin;
mod atan;
mod bessel;
pub(crate) mod bits;
pub(crate) mod block;
mod digamma;
mod erf;
mod erfcx;
mod exp;
mod exponential_integral;
mod faddeeva;
mod gamma;
mod hyperbolic;
mod inverse_hyperbolic;
pub(crate) mod lane;
pub(crate) mod ln;
mod ln_gamma;
mod ln_variants;
mod modified_bessel;
pub(crate) mod order;
mod polygamma;
mod pow;
mod reduce_huge;
mod roots;
mod scalar;
#[cfg(test)]
mod tests;
mod trig;
mod wright_omega;

pub(crate) use scalar::*;
