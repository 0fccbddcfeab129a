//! erf and erfc, both to about an ulp, erfc down to its underflow at 26.5.
//!
//! - a = |x| < 0.75: erf x = x (2/√π) + x z E(z), z = x², E of degree 9 (weighted Remez,
//!   `coefficients.py erf`; error 2^-55.9), erfc = 1 - erf with the double-double sum;
//! - else erfc a = e^(-a²) G(t) / (1 + 2 a) with t = (a - 3) / (a + 3), the transformation of
//!   Shepherd and Laframboise (Math. Comp. 36, 1981), which turns the half line into an interval on
//!   which G varies between 1.1 and 1.26. G has degree 20 (`coefficients.py erfc`; error 2^-56.6
//!   with its constant term in two doubles). a² is taken with its rounding error, which times the
//!   value would be lost in the tail;
//! - erf a = 1 - erfc a needs erfc a to an absolute error only: e^(-a²) H(t) in plain doubles, H of
//!   degree 12 (`coefficients.py erf_far`; error 2^-56.4).

use super::bits::{fast_two_sum, polynomial, select, two_product};
use super::exp::{exp, exp_parts};

const TWO_OVER_SQRT_PI_HI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
const TWO_OVER_SQRT_PI_LO: f64 = f64::from_bits(0x3c71_ae3a_914f_ed80);

/// Where the two forms meet.
const SMALL: f64 = 0.75;

/// erfc is 0 and erf ±1 well before this.
const LARGE: f64 = 28.0;

/// erf x as hi + lo for |x| <= 0.75.
#[inline(always)]
fn erf_small(x: f64) -> (f64, f64) {
    let z = x * x;
    let e = polynomial!(z; -0.3761263890318373, 0.11283791670953086, -0.026866170644518177,
        0.005223977616314027, -0.0008548326241934765, 0.00012055291542857567,
        -1.4924242499454744e-05, 1.6431344996654425e-06, -1.5945348147436687e-07,
        1.1490563378733559e-08);
    let (main, err) = two_product(x, TWO_OVER_SQRT_PI_HI);
    fast_two_sum(main, (x * z).mul_add(e, x.mul_add(TWO_OVER_SQRT_PI_LO, err)))
}

/// erfc a for a >= 0.75.
#[inline(always)]
fn erfc_large(a: f64) -> f64 {
    const C0: f64 = 1.2530080582697296;
    const C0_LO: f64 = 4.5276203702746546e-17; // G(0) = 7 e^9 erfc 3
    let a = select(a > LARGE, LARGE, a);
    let (d, d_lo) = fast_two_sum(2.0 * a, 1.0);
    let inverse = 1.0 / (d * (a + 3.0)); // one division for both quotients
    let t = (a - 3.0) * (inverse * d);
    let d_inverse = inverse * (a + 3.0);
    let g = t * polynomial!(t; -0.13562110612458153, -0.04756229435345105, 0.12964515870281573,
        -0.11927366341529791, 0.06830802734153575, -0.023770514918222373, 0.0025293918656565982,
        0.0018886903356781291, -0.0007798328203462802, -0.0001051593943741938,
        0.0001251029159517101, 4.945971546038221e-06, -2.011445922095963e-05,
        -7.143184994003502e-07, 3.503684813091696e-06, 3.0828441182251083e-07,
        -6.514076778525188e-07, -6.64159823691695e-08, 1.088520948580635e-07,
        -1.1479743799347265e-08);
    let (g, g_err) = fast_two_sum(C0, g);
    let q = g * d_inverse;
    let rest = (-q).mul_add(d, g) + (-q).mul_add(d_lo, g_err + C0_LO);
    let q_lo = rest * d_inverse;
    let (square, square_err) = two_product(a, a);
    let (e, e_lo, scale) = exp_parts(-square, -square_err);
    let (value, value_err) = two_product(e, q);
    scale.apply(value + e.mul_add(q_lo, e_lo.mul_add(q, value_err)))
}

/// 1 - erf a for a >= 0.75 with an absolute error of 2^-55, all that erf a needs.
#[inline(always)]
fn one_minus_erf(a: f64) -> f64 {
    let a = select(a > 6.0, 6.0, a); // erf 6 = 1 - 2^-55 rounds to 1
    let t = (a - 3.0) / (a + 3.0);
    let h = polynomial!(t; 0.1790011511813549, -0.32623356004491, 0.24560380169447363,
        -0.15011593612712035, 0.07166584753795568, -0.024392387411686377, 0.004269847161879253,
        0.0007106889098622886, -0.000588826840000675, 6.085739232903765e-05, 8.33631104053425e-05,
        1.0760015996734104e-06, -4.452363471400638e-06);
    exp(-a * a) * h
}

/// erf x; max error 0.8 ulp.
#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    let a = x.abs();
    let (small, _) = erf_small(x);
    let large = (1.0 - one_minus_erf(a)).copysign(x);
    let value = select(a < SMALL, small, large);
    select(x == 0.0, x, value)
}

/// erfc x = 1 - erf x; max error 0.8 ulp.
#[inline(always)]
pub(crate) fn erfc(x: f64) -> f64 {
    let a = x.abs();
    let (erf_hi, erf_lo) = erf_small(x);
    let (sum, lost) = fast_two_sum(1.0, -erf_hi);
    let small = sum + (lost - erf_lo);
    let large = erfc_large(a);
    let large = select(x < 0.0, 2.0 - large, large);
    select(a < SMALL, small, large)
}
