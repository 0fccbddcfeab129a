//! Every function for one number, always inlined: what the loops of `block` and the scalar functions
//! of `math` are made of.

pub(crate) use super::asin::{acos, asin};
pub(crate) use super::atan::{atan, atan2};
pub(crate) use super::digamma::digamma;
pub(crate) use super::erf::{erf, erfc};
pub(crate) use super::erfcx::erfcx;
pub(crate) use super::exp::exp;
pub(crate) use super::faddeeva::{faddeeva_im, faddeeva_re, faddeeva_slope_im, faddeeva_slope_re};
pub(crate) use super::hyperbolic::{cosh, exp_m1, sinh, tanh};
pub(crate) use super::ln::ln;
pub(crate) use super::ln_gamma::ln_gamma;
pub(crate) use super::ln_variants::{ln_1p, log2, log10};
pub(crate) use super::polygamma::polygamma;
pub(crate) use super::pow::pow;
pub(crate) use super::roots::{cbrt, hypot};
pub(crate) use super::trig::{cos, sin, tan};
pub(crate) use super::wright_omega::wright_omega;
