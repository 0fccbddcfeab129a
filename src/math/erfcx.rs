//! erfcx x = e^(x²) erfc x: what is left of erfc when its exponential is taken away.
//!
//! With a = |x|: for a < 0.75 the product, e^(x²) with the rounding error of x²; to 28 the quotient
//! G(t)/(1 + 2a) that erfc multiplies by the exponential (`erf.rs`); beyond, the asymptotic series in
//! 1/a² (DLMF 7.12.1) to seven terms, of which the next is below 1e-17. For x <= -0.75 it is
//! 2e^(x²) - erfcx a, which is infinite from x = -26.65 on.

use super::bits::{fast_two_sum, polynomial, select, two_product};
use super::erf::{ERFC_SMALL, LARGE, erfc_scaled, erfc_small};
use super::exp::exp_parts;

/// erfcx a for a >= 28.
#[inline(always)]
fn far(a: f64) -> f64 {
    const INVERSE_SQRT_PI: f64 = 0.5 * std::f64::consts::FRAC_2_SQRT_PI;
    let inverse = 1.0 / a;
    let u = inverse * inverse;
    let tail = polynomial!(u; -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875);
    let leading = INVERSE_SQRT_PI / a;
    leading.mul_add(u * tail, leading)
}

/// erfcx x; max error measured 0.9 ulp.
#[inline(always)]
pub(crate) fn erfcx(x: f64) -> f64 {
    let a = x.abs();
    let (square, square_lo) = two_product(a, a);
    let (e, e_lo, scale) = exp_parts(square, square_lo);
    let small = erfc_small(x);
    let small = scale.apply(e.mul_add(small, e_lo * small));
    let (q, q_lo) = erfc_scaled(a);
    let right = select(a < LARGE, q + q_lo, far(a));
    let (sum, lost) = fast_two_sum(2.0 * e, 2.0 * e_lo);
    let left = scale.apply(sum + lost) - right;
    let large = select(x < 0.0, left, right);
    select(a < ERFC_SMALL, small, large)
}
