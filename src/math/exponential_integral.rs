//! E₁(x), the exponential integral ∫ e^-t/t dt from x to infinity.
//!
//! - x <= 5/4: -γ - ln x + x - x²/4 + x³ N(x), N of degree 11 (weighted Remez, `coefficients.py e1_near`;
//!   error 2^-55.1; DLMF 6.6.2), with pairs of doubles because the terms cancel;
//! - x > 5/4: e^-x / (x + T(1/x)), T a quotient of degree 10 over 10 (`coefficients.py e1_far`; error
//!   2^-55.3): the form of the continued fraction DLMF 6.9.1. e^-x is a pair whose power of two is applied last,
//!   so that the result underflows gradually.

use super::arithmetic::Lane;
use super::bits::{fast_two_sum, polynomial, two_product};
use super::exp::exp_parts;
use super::ln::ln_in_parts;
use crate::math::bits::{add, divide};

/// Returns E₁(x), infinite at ±0 and NaN for x < 0. The maximum measured error is 1.22 ulp.
#[inline(always)]
pub(crate) fn e1(x: f64) -> f64 {
    /// Limit between the two forms.
    const NEAR: f64 = 1.25;
    const MINUS_EULER: (f64, f64) = (-0.5772156649015329, 4.942915152430645e-18);
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x <= NEAR && x > 0.0 {
        let n = polynomial!(x; 0.05555555555555535, -0.010416666666661807, 0.001666666666617679,
            -0.00023148148119970122, 2.8344670162020714e-05, -3.100195799581471e-06,
            3.061878199716569e-07, -2.7551510521183184e-08, 2.2722640748728464e-09,
            -1.707175251901064e-10, 1.0982322067155086e-11, -4.591473721867568e-13);
        let (l, l_lo) = ln_in_parts(x);
        let (quarter, quarter_lo) = two_product(0.25 * x, x);
        let (main, main_lo) = add(MINUS_EULER, (-l, -l_lo));
        let (rise, rise_lo) = fast_two_sum(x, -quarter);
        let (sum, sum_lo) = add((main, main_lo), (rise, rise_lo - quarter_lo));
        return sum + (x * x * x).mul_add(n, sum_lo);
    }
    if x <= 800.0 && x > NEAR {
        let u = 1.0 / x;
        let top = polynomial!(u; 1.0, 49.64014918410069, 961.7224886010413, 9405.134726459008,
            50259.98222261688, 148957.39487858073, 238690.52791721048, 193835.10821969688,
            70661.04430048795, 9129.37065675744, 230.5503738758329);
        let bottom = polynomial!(u; 1.0, 50.64014918410069, 1009.3626377851423, 10275.576916691522,
            58094.79316548847, 186212.720965782, 332434.7337261054, 313150.40639359655,
            140251.48777665026, 24430.15707302615, 1023.8519339850128);
        let (e, e_lo, power) = exp_parts(-x, 0.0);
        let (value, _) = divide((e, e_lo), fast_two_sum(x, top / bottom));
        return value.scaled(power);
    }
    if x > 800.0 { 0.0 } else { f64::NAN }
}
