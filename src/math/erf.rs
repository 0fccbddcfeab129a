//! erf and erfc, both accurate to about 1 ulp, erfc down to its underflow at 26.5.
//!
//! With a = |x| and z = x²:
//!
//! - erf x = x (2/√π) + x z E(z) as hi + lo, with E of degree 10 (weighted Remez on a <= 1, `coefficients.py erf`;
//!   error 2^-56.6). Used by erf for a < 1, and by erfc = 1 - erf for a < 0.75;
//! - erfc a = e^(-a²) G(t) / (1 + 2 a) with t = (a - 3) / (a + 3) for larger a, the transformation of
//!   Shepherd and Laframboise (Math. Comp. 36, 1981), which maps the half line to an interval on
//!   which G varies between 1.1 and 1.26. G has degree 20 (`coefficients.py erfc`; error 2^-56.6
//!   with its constant term in two doubles). The rounding error of a² is taken into account, since the tail would
//!   otherwise have a relative error of that size;
//! - erf a = 1 - erfc a needs only a small absolute error of erfc a: e^(-a²) H(t) in plain doubles, with H of degree 11
//!   (`coefficients.py erf_far`; error 2^-56.3).

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, polynomial_in_halves, two_product};
use super::exp::{exp, exp_parts};

const TWO_OVER_SQRT_PI_HI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
const TWO_OVER_SQRT_PI_LO: f64 = f64::from_bits(0x3c71_ae3a_914f_ed80);

/// Limit between the two forms of erfc. Beyond it, 1 - erf cancels.
pub(super) const ERFC_SMALL: f64 = 0.75;

/// Limit between the two forms of erf.
const ERF_SMALL: f64 = 1.0;

/// Upper end of the polynomial's range. Well below it, erfc reaches 0 and erf ±1.
pub(super) const LARGE: f64 = 28.0;

/// Returns erf x as hi + lo for |x| <= 1.
#[inline(always)]
fn erf_small<L: Lane>(x: L) -> (L, L) {
    let z = x * x;
    let e = polynomial_in_halves!(z; -0.37612638903183615, 0.1128379167094708, -0.026866170643499766,
        0.005223977608933596, -0.0008548326051787031, 0.00012055296956183187,
        -1.4924772865046377e-05, 1.6447834354570552e-06, -1.621140693199784e-07,
        1.3731930175768451e-08, -7.816805844391743e-10);
    let (main, err) = two_product(x, TWO_OVER_SQRT_PI_HI);
    fast_two_sum(main, (x * z).mul_add(e, x.mul_add(TWO_OVER_SQRT_PI_LO, err)))
}

/// Returns e^(a²) erfc a for a >= 0.75. Returns the value at 28 for a > 28.
#[inline(always)]
pub(super) fn erfc_scaled<L: Lane>(a: L) -> (L, L) {
    const C0: f64 = 1.2530080582697296;
    const C0_LO: f64 = 4.5276203702746546e-17; // G(0) = 7 e^9 erfc 3
    let a = a.gt(LARGE).select(LARGE, a);
    let (d, d_lo) = fast_two_sum(a * 2.0, L::from(1.0));
    let inverse = L::from(1.0) / (d * (a + 3.0)); // one division for both quotients
    let t = (a - 3.0) * (inverse * d);
    let d_inverse = inverse * (a + 3.0);
    let g = t
        * polynomial_in_halves!(t; -0.13562110612458153, -0.04756229435345105, 0.12964515870281573,
        -0.11927366341529791, 0.06830802734153575, -0.023770514918222373, 0.0025293918656565982,
        0.0018886903356781291, -0.0007798328203462802, -0.0001051593943741938,
        0.0001251029159517101, 4.945971546038221e-06, -2.011445922095963e-05,
        -7.143184994003502e-07, 3.503684813091696e-06, 3.0828441182251083e-07,
        -6.514076778525188e-07, -6.64159823691695e-08, 1.088520948580635e-07,
        -1.1479743799347265e-08);
    let (g, g_err) = fast_two_sum(C0, g);
    let q = g * d_inverse;
    let rest = (-q).mul_add(d, g) + (-q).mul_add(d_lo, g_err + C0_LO);
    (q, rest * d_inverse)
}

/// Returns erfc a for a >= 0.75.
#[inline(always)]
fn erfc_large<L: Lane>(a: L) -> L {
    let (q, q_lo) = erfc_scaled(a);
    let a = a.gt(LARGE).select(LARGE, a);
    let (square, square_err) = two_product(a, a);
    let (e, e_lo, power) = exp_parts(-square, -square_err);
    let (value, value_err) = two_product(e, q);
    (value + e.mul_add(q_lo, e_lo.mul_add(q, value_err))).scaled(power)
}

/// Returns 1 - erf a for a >= 1 with an absolute error of 2^-55, which is sufficient for erf a.
#[inline(always)]
fn one_minus_erf<L: Lane>(a: L) -> L {
    let a = a.gt(6.0).select(6.0, a); // erf 6 = 1 - 2^-55 rounds to 1
    let t = (a - 3.0) / (a + 3.0);
    let h = polynomial_in_halves!(t; 0.17900115118135396, -0.326233560045899, 0.24560380166422463,
        -0.15011593634629514, 0.0716658500976796, -0.024392328114465917, 0.004270352708876235,
        0.0007131719778639168, -0.0005810987983915778, 7.638567814621766e-05,
        0.00010294577074330215, 1.5201364014127942e-05);
    exp(-a * a) * h
}

/// Returns erf x. The maximum measured error is 1.4 ulp.
#[inline(always)]
pub(crate) fn erf<L: Lane>(x: L) -> L {
    let a = x.abs();
    let (small, _) = erf_small(x);
    let large = (L::from(1.0) - one_minus_erf(a)).copysign(x);
    let value = a.lt(ERF_SMALL).select(small, large);
    x.eq(0.0).select(x, value)
}

/// Returns erfc x for |x| <= 1.
#[inline(always)]
pub(super) fn erfc_small<L: Lane>(x: L) -> L {
    let (erf_hi, erf_lo) = erf_small(x);
    let (sum, lost) = fast_two_sum(1.0, -erf_hi);
    sum + (lost - erf_lo)
}

/// Returns erfc x = 1 - erf x. The maximum measured error is 1.4 ulp.
#[inline(always)]
pub(crate) fn erfc<L: Lane>(x: L) -> L {
    let a = x.abs();
    let small = erfc_small(x);
    let large = erfc_large(a);
    let large = x.lt(0.0).select(L::from(2.0) - large, large);
    a.lt(ERFC_SMALL).select(small, large)
}
