//! Wright's ω of a real number: ω + ln ω = x. ω(x) is Lambert's W(eˣ) without the overflow.
//!
//! The initial approximation is accurate to a few hundredths: x - ln x · x/(x + 1) for x >= 1 and a rational function
//! of eˣ for x < 1. Two fourth-order steps of Fritsch, Shafer and Crowley (Comm. ACM 16, 1973) follow, as in Lawrence,
//! Corless and Jeffrey (ACM TOMS 38, 2012, Algorithm 917). For large negative x the difference x - ln ω cancels: the
//! rounding error of the residual x - ω - ln ω is about |x| ε and becomes the relative error of ω. Therefore, a Newton
//! step on ω e^ω = eˣ follows for x < 1. For x < -50, ω is eˣ.

use super::bits::select;
use super::exp::exp;
use super::ln::ln;

/// Limit of x below which ω(x) rounds to eˣ.
const EXPONENTIAL: f64 = -50.0;

/// Limit between the two initial approximations.
const MIDDLE: f64 = 1.0;

/// Computes one step towards ω + ln ω = x. It reduces an error d to about d⁴.
#[inline(always)]
fn step(x: f64, omega: f64) -> f64 {
    let residual = (x - omega) - ln(omega);
    let next = 1.0 + omega;
    let bottom = next.mul_add((2.0f64 / 3.0).mul_add(residual, next), -residual);
    let change = residual / next * (1.0 + 0.5 * residual / bottom);
    omega.mul_add(change, omega)
}

/// Returns ω(x). The maximum measured error is 1.9 ulp.
#[inline(always)]
pub(crate) fn wright_omega(x: f64) -> f64 {
    let low = x < MIDDLE;
    let small = select(low, x, 0.0);
    let small = select(small < EXPONENTIAL, EXPONENTIAL, small);
    let large = select(low, MIDDLE, x);
    let e = exp(small);
    let top = e * e.mul_add(e.mul_add(17.0 / 60.0, 19.0 / 10.0), 1.0);
    let bottom = e.mul_add(e.mul_add(101.0 / 60.0, 29.0 / 10.0), 1.0);
    let start_low = top / bottom;
    let start_large = (-ln(large)).mul_add(large / (large + 1.0), large);
    let start = select(low, start_low, start_large);
    let x_inside = select(low, small, large);
    let omega = step(x_inside, step(x_inside, start));
    let ratio = e * exp(-omega) / omega;
    let refined = omega.mul_add((ratio - 1.0) / (1.0 + omega), omega);
    let value = select(low, refined, omega);
    let value = select(x < EXPONENTIAL, exp(x), value);
    select(x < f64::INFINITY, value, x)
}
