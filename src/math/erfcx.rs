//! The scaled complementary error function, erfcx x = e^(x²) erfc x.
//!
//! With a = |x|:
//!
//! - a < 0.75: the product of erfc x and e^(x²), including the rounding error of x²;
//! - 0.75 <= a < 28: the quotient G(t)/(1 + 2a), which erfc multiplies by the exponential (`erf.rs`);
//! - a >= 28: the asymptotic series in 1/a² (DLMF 7.12.1) to seven terms; the next term is below 1e-17.
//!
//! For x <= -0.75, erfcx x is 2e^(x²) - erfcx a, which is infinite for x <= -26.65.

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, polynomial, two_product};
use super::erf::{ERFC_SMALL, LARGE, erfc_scaled, erfc_small};
use super::exp::exp_parts;

/// Returns erfcx a for a >= 28.
#[inline(always)]
fn far<L: Lane>(a: L) -> L {
    const INVERSE_SQRT_PI: f64 = 0.5 * std::f64::consts::FRAC_2_SQRT_PI;
    let inverse = L::from(1.0) / a;
    let u = inverse * inverse;
    let tail = polynomial!(u; -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875);
    let leading = L::from(INVERSE_SQRT_PI) / a;
    leading.mul_add(u * tail, leading)
}

/// Returns erfcx x. The maximum measured error is 0.9 ulp.
#[inline(always)]
pub(crate) fn erfcx<L: Lane>(x: L) -> L {
    let a = x.abs();
    let (square, square_lo) = two_product(a, a);
    let (e, e_lo, power) = exp_parts(square, square_lo);
    let small = erfc_small(x);
    let small = e.mul_add(small, e_lo * small).scaled(power);
    let (q, q_lo) = erfc_scaled(a);
    let right = a.lt(LARGE).select(q + q_lo, far(a));
    let (sum, lost) = fast_two_sum(e * 2.0, e_lo * 2.0);
    let left = (sum + lost).scaled(power) - right;
    let large = x.lt(0.0).select(left, right);
    a.lt(ERFC_SMALL).select(small, large)
}
