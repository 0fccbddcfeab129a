//! Modified Bessel functions of orders 0 and 1, unscaled and exponentially scaled.
//!
//! For Iν with a = |x| and z = a²/4:
//!
//! - a < 12: the power series (DLMF 10.25.2) as 1 + z G(z), G of degree 18 (weighted Remez,
//!   `coefficients.py i0_near i1_near`; errors 2^-56.2 and 2^-54.6), corrected for the rounding of z, which
//!   is amplified by x/2 Iν'/Iν;
//! - a >= 12: (1 + G(24/a - 1)/a) / √(2πa) times e^a, G of degree 16 (`i0_far i1_far`; errors 2^-58.2 and
//!   2^-57.6), in place of Hankel's asymptotic series (DLMF 10.40.1).
//!
//! For Kν:
//!
//! - x <= 1: K0 = L I0 + z G(z) and K1 = 1/x - L I1 - x/4 G(z) with L = -ln(x/2) - γ (DLMF 10.31.1 and
//!   10.31.2), G of degree 7 and 8 (`k0_near k1_near`; errors 2^-58.1 and 2^-62.3), in pairs of doubles. In
//!   K0 all terms are positive;
//! - x > 1: (1 + R(1/x)/x) √(π/(2x)) times e^-x, R a quotient of degree 9 over 9 (`k0_far k1_far`; errors
//!   2^-57.6 and 2^-58.1; DLMF 10.40.2).
//!
//! The power of two of the exponential is applied last, so that no intermediate result overflows or underflows.

use super::arithmetic::Lane;
use super::bits::{fast_two_sum, polynomial, polynomial_in_halves, two_product, two_sum};
use super::exp::exp_parts;
use super::ln::ln_in_parts;
use crate::math::bits::{Pair, add, divide, multiply, root};

/// Smallest argument for which the form of Iν for large arguments is used.
const I_FAR: f64 = 12.0;
/// Limit above which the form of Kν for large arguments is used.
const K_FAR: f64 = 1.0;
/// Limit of x beyond which e^x overflows and e^-x underflows, for any factor used here.
const BOUND: f64 = 800.0;
/// Limit of |x| below which I1(x) rounds to x/2 and K1(x) to 1/x.
const LINEAR_LIMIT: f64 = 1e-10;

/// Returns Iν(a) (2/a)^ν for 0 <= a < 12.
#[inline(always)]
fn i_series(order: u32, a: f64) -> Pair {
    let (z, z_lo) = two_product(0.5 * a, 0.5 * a);
    let g = if order == 0 {
        polynomial_in_halves!(z; 1.0, 0.25, 0.027777777777777794, 0.0017361111111110915,
            6.944444444445866e-05, 1.9290123456724453e-06, 3.936759889345886e-08,
            6.151187322258066e-10, 7.5940585009181e-12, 7.59405755543198e-14, 6.276089257232298e-16,
            4.35833512208611e-18, 2.5792181225786208e-20, 1.31461439205129e-22,
            5.8833359978311895e-25, 2.2048419883424053e-27, 9.173348823315261e-30,
            1.0947380743023191e-32, 1.4910366816406e-34)
    } else {
        polynomial_in_halves!(z; 0.5, 0.08333333333333333, 0.006944444444444446,
            0.00034722222222222034, 1.1574074074075308e-05, 2.7557319223933314e-07,
            4.920949861579015e-09, 6.834652582142323e-11, 7.594058476412941e-13,
            6.903688929022869e-15, 5.2300725683061475e-17, 3.352575793556747e-19,
            1.842254078842262e-21, 8.765547063827738e-24, 3.6735897896004757e-26,
            1.3030007299993937e-28, 5.025722732048422e-31, 6.26230966142313e-34,
            7.292773743719286e-36)
    };
    let (rise, rise_lo) = two_product(z, g);
    let (sum, lost) = two_sum(1.0, rise);
    // The logarithmic derivative with respect to z, (2/a) I(ν+1)/Iν, accurate to a few percent.
    let nu = f64::from(order);
    let slope = 2.0 / (nu + 0.5 + a.mul_add(a, (nu + 1.5) * (nu + 1.5)).sqrt());
    fast_two_sum(sum, (sum * z_lo).mul_add(slope, lost + rise_lo))
}

/// Returns e^-a Iν(a) for finite a >= 12.
#[inline(always)]
fn i_far(order: u32, a: f64) -> Pair {
    const INVERSE_SQRT_2_PI: Pair = (0.3989422804014327, -2.49232720227773e-17);
    let u = 1.0 / a;
    let t = u.mul_add(24.0, -1.0);
    let g = if order == 0 {
        polynomial_in_halves!(t; 0.12806572399030747, 0.00321150257516798, 0.00015649293199280988,
            1.1814544460015137e-05, 1.2496312724834822e-06, 1.7544273405096683e-07,
            3.1711196638041605e-08, 7.278930388237861e-09, 2.119273684058307e-09,
            7.527090528783397e-10, 3.7453544332576174e-10, 3.4373774237701444e-10,
            1.773204230972841e-10, -1.3191665297893434e-10, -1.5280939993866208e-10,
            7.892128744252015e-12, 3.063735214620808e-11)
    } else {
        polynomial_in_halves!(t; -0.3800721963663855, -0.005273990377436329,
            -0.00021537836787527946, -1.4907658559699529e-05, -1.4967925564473743e-06,
            -2.0292376871338005e-07, -3.576064815343551e-08, -8.049339282103857e-09,
            -2.307125801391129e-09, -8.091641763842062e-10, -3.9559778447000275e-10,
            -3.609505279325555e-10, -1.902176051221855e-10, 1.344479603187814e-10,
            1.6029355625713587e-10, -7.233885485850055e-12, -3.190465361870913e-11)
    };
    multiply(divide(INVERSE_SQRT_2_PI, root((a, 0.0))), fast_two_sum(1.0, u * g))
}

/// Returns Iν(a), or e^-a Iν(a), for a >= 0.
#[inline(always)]
fn i(order: u32, a: f64, scaled: bool) -> f64 {
    if a < I_FAR {
        let series = i_series(order, a);
        let value = if order == 0 { series } else { multiply((0.5 * a, 0.0), series) };
        if !scaled {
            return value.0;
        }
        let (e, e_lo, power) = exp_parts(-a, 0.0);
        return multiply(value, (e, e_lo)).0.scaled(power);
    }
    if scaled {
        return if a < f64::INFINITY { i_far(order, a).0 } else { 1.0 / a };
    }
    if a < BOUND {
        let (e, e_lo, power) = exp_parts(a, 0.0);
        return multiply(i_far(order, a), (e, e_lo)).0.scaled(power);
    }
    a + f64::INFINITY
}

/// Returns Kν(x) for 0 < x <= 1.
#[inline(always)]
fn k_near(order: u32, x: f64) -> Pair {
    const LN_2_LESS_EULER: Pair = (0.11593151565841245, 3.7780767526472776e-19);
    let (l, l_lo) = ln_in_parts(x);
    let log = add(LN_2_LESS_EULER, (-l, -l_lo));
    let z = 0.25 * x * x;
    let main = multiply(log, i_series(order, x));
    if order == 0 {
        let g = polynomial!(z; 1.0, 0.37500000000000006, 0.05092592592592433, 0.0036168981481824675,
            0.00015856481440815922, 4.726083054105427e-06, 1.0206332465782625e-07,
            1.6959529795789179e-09);
        add(main, (z * g, 0.0))
    } else {
        let g = polynomial!(z; 1.0, 1.25, 0.2777777777777778, 0.027199074074073414,
            0.0015162037037151589, 5.478395050070472e-05, 1.3896769577863006e-06,
            2.6131139768685558e-08, 3.8433270083542356e-10);
        let (half, half_lo) = multiply((0.5 * x, 0.0), add(main, (0.5 * g, 0.0)));
        add(divide((1.0, 0.0), (x, 0.0)), (-half, -half_lo))
    }
}

/// Returns e^x Kν(x) for finite x > 1.
#[inline(always)]
fn k_far(order: u32, x: f64) -> Pair {
    const SQRT_HALF_PI: Pair = (1.2533141373155003, -9.164289990229583e-17);
    let u = 1.0 / x;
    let (top, bottom) = if order == 0 {
        (
            polynomial!(u; -0.125, -2.712196650946402, -22.539228556239998, -92.19307715784208,
                -198.80948666482604, -225.13823883067397, -125.92617675925399, -30.185626836184593,
                -2.2209795015556884, -0.00866816382144478),
            polynomial!(u; 1.0, 22.260073207571217, 192.2491821291788, 833.538987362208,
                1964.850816125134, 2554.558424985652, 1779.77288827362, 615.6866429644626,
                90.39767995796268, 3.877818157349318),
        )
    } else {
        (
            polynomial!(u; 0.375, 7.971999734988173, 64.85401959650291, 259.67433612820855,
                548.9736380062017, 612.1541587735605, 340.650243978704, 83.29984272190683,
                6.778651100305927, 0.07716377160720615),
            polynomial!(u; 1.0, 21.57116595996846, 179.41160411983122, 743.0171784215304,
                1654.6190820028617, 2001.1355963858846, 1267.829154155861, 384.782090892447,
                46.51566618252322, 1.4310239392334139),
        )
    };
    multiply(divide(SQRT_HALF_PI, root((x, 0.0))), fast_two_sum(1.0, u * (top / bottom)))
}

/// Returns Kν(x), or e^x Kν(x).
#[inline(always)]
fn k(order: u32, x: f64, scaled: bool) -> f64 {
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x > 0.0 && x <= K_FAR {
        if order == 1 && x < LINEAR_LIMIT {
            return if scaled { 1.0 / x + 1.0 } else { 1.0 / x };
        }
        let value = k_near(order, x);
        if !scaled {
            return value.0;
        }
        let (e, e_lo, power) = exp_parts(x, 0.0);
        return multiply(value, (e, e_lo)).0.scaled(power);
    }
    if x > K_FAR {
        if scaled {
            return if x < f64::INFINITY { k_far(order, x).0 } else { 0.0 };
        }
        if x < BOUND {
            let (e, e_lo, power) = exp_parts(-x, 0.0);
            return multiply(k_far(order, x), (e, e_lo)).0.scaled(power);
        }
        return 0.0;
    }
    f64::NAN
}

/// Returns I0(x). The maximum measured error is 2.7 ulp.
#[inline(always)]
pub(crate) fn i0(x: f64) -> f64 {
    i(0, x.abs(), false)
}

/// Returns e^-|x| I0(x). The maximum measured error is 3.3 ulp.
#[inline(always)]
pub(crate) fn i0e(x: f64) -> f64 {
    i(0, x.abs(), true)
}

/// Returns I1(x). The maximum measured error is 2.7 ulp.
#[inline(always)]
pub(crate) fn i1(x: f64) -> f64 {
    let a = x.abs();
    if a < LINEAR_LIMIT { 0.5 * x } else { i(1, a, false).copysign(x) }
}

/// Returns e^-|x| I1(x). The maximum measured error is 2.9 ulp.
#[inline(always)]
pub(crate) fn i1e(x: f64) -> f64 {
    let a = x.abs();
    if a < LINEAR_LIMIT { 0.5 * x * (1.0 - a) } else { i(1, a, true).copysign(x) }
}

/// Returns K0(x), infinite at ±0 and NaN for x < 0. The maximum measured error is 1.4 ulp.
#[inline(always)]
pub(crate) fn k0(x: f64) -> f64 {
    k(0, x, false)
}

/// Returns e^x K0(x), infinite at ±0 and NaN for x < 0. The maximum measured error is 1.1 ulp.
#[inline(always)]
pub(crate) fn k0e(x: f64) -> f64 {
    k(0, x, true)
}

/// Returns K1(x), infinite at ±0 and NaN for x < 0. The maximum measured error is 1.6 ulp.
#[inline(always)]
pub(crate) fn k1(x: f64) -> f64 {
    k(1, x, false)
}

/// Returns e^x K1(x), infinite at ±0 and NaN for x < 0. The maximum measured error is 1.6 ulp.
#[inline(always)]
pub(crate) fn k1e(x: f64) -> f64 {
    k(1, x, true)
}
