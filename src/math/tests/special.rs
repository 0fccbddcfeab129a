//! Tests of the special values of IEEE 754 and C99 Annex F.

use super::{super as math, same};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const TINY: f64 = 5e-324;

fn check(name: &str, f: fn(f64) -> f64, cases: &[(f64, f64)]) {
    for &(x, expected) in cases {
        let got = f(x);
        assert!(same(got, expected), "{name}({x:e}) = {got:e}, expected {expected:e}");
    }
    assert!(f(NAN).is_nan(), "{name}(NaN)");
}

#[test]
#[rustfmt::skip] // tables of cases
fn one_argument() {
    let odd = [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    for (name, f) in [
        ("sin", math::sin as fn(f64) -> f64),
        ("tan", math::tan),
        ("tanh", math::tanh),
        ("atan", math::atan),
        ("exp_m1", math::exp_m1),
        ("ln_1p", math::ln_1p),
        ("sinh", math::sinh),
        ("asin", math::asin),
        ("asinh", math::asinh),
        ("atanh", math::atanh),
    ] {
        check(name, f, &odd);
    }
    check(
        "exp",
        math::exp,
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, INF),
            (-INF, 0.0),
            (710.0, INF),
            (-746.0, 0.0),
            (-745.0, TINY),
        ],
    );
    check(
        "ln",
        math::ln,
        &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    );
    check(
        "log2",
        math::log2,
        &[(1.0, 0.0), (0.0, -INF), (INF, INF), (-1.0, NAN), (TINY, -1074.0), (1024.0, 10.0)],
    );
    check(
        "log10",
        math::log10,
        &[(1.0, 0.0), (-0.0, -INF), (INF, INF), (-1.0, NAN), (1e22, 22.0), (1000.0, 3.0)],
    );
    check("ln_1p", math::ln_1p, &[(-1.0, -INF), (INF, INF), (-2.0, NAN), (-INF, NAN)]);
    check("exp_m1", math::exp_m1, &[(INF, INF), (-INF, -1.0), (710.0, INF), (-1e300, -1.0)]);
    check("sin", math::sin, &[(INF, NAN), (-INF, NAN)]);
    check("cos", math::cos, &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (TINY, 1.0)]);
    check("tan", math::tan, &[(INF, NAN), (-INF, NAN)]);
    check("tanh", math::tanh, &[(INF, 1.0), (-INF, -1.0)]);
    check("sinh", math::sinh, &[(INF, INF), (-INF, -INF), (711.0, INF)]);
    check("cosh", math::cosh, &[(0.0, 1.0), (INF, INF), (-INF, INF), (-711.0, INF)]);
    check("atan", math::atan, &[(INF, FRAC_PI_2), (-INF, -FRAC_PI_2)]);
    check("asin", math::asin, &[(1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2), (1.1, NAN), (INF, NAN)]);
    check("acos", math::acos, &[(1.0, 0.0), (-1.0, PI), (0.0, FRAC_PI_2), (-1.1, NAN), (INF, NAN)]);
    check(
        "cbrt",
        math::cbrt,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (27.0, 3.0), (-1e-300, -1e-100)],
    );
    check("erf", math::erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)]);
    check("erfc", math::erfc, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (28.0, 0.0)]);
    check(
        "ln_gamma",
        math::ln_gamma,
        &[
            (1.0, 0.0),
            (2.0, 0.0),
            (0.0, INF),
            (-0.0, INF),
            (-3.0, INF),
            (INF, INF),
            (-INF, INF),
            (-1e300, INF),
            (2.6e305, INF),
        ],
    );
    check(
        "digamma",
        math::digamma,
        &[(0.0, -INF), (-0.0, INF), (-3.0, NAN), (INF, INF), (-INF, NAN), (TINY, -INF)],
    );
}

#[test]
#[rustfmt::skip] // tables of cases
fn polygamma_at_its_poles_and_at_infinity() {
    check(
        "trigamma",
        |x| math::polygamma(1, x),
        &[(0.0, INF), (-0.0, INF), (-2.0, INF), (INF, 0.0), (-INF, NAN), (1e-200, INF)],
    );
    check(
        "tetragamma",
        |x| math::polygamma(2, x),
        &[(0.0, -INF), (-0.0, INF), (-2.0, NAN), (INF, -0.0), (-INF, NAN)],
    );
    check("order 0", |x| math::polygamma(0, x), &[(1.0, math::digamma(1.0))]);
}

/// Tests C99 F.9.4.4, line by line.
#[test]
#[rustfmt::skip] // tables of cases
fn pow() {
    let cases = [
        (0.0, -3.0, INF),
        (-0.0, -3.0, -INF),
        (0.0, -2.0, INF),
        (-0.0, -2.0, INF),
        (-0.0, -2.5, INF),
        (-0.0, -INF, INF),
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, 2.5, 0.0),
        (0.0, INF, 0.0),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (NAN, 0.0, 1.0),
        (INF, -0.0, 1.0),
        (-2.0, 0.5, NAN),
        (0.5, -INF, INF),
        (-0.5, -INF, INF),
        (2.0, -INF, 0.0),
        (0.5, INF, 0.0),
        (-2.0, INF, INF),
        (-INF, -3.0, -0.0),
        (-INF, -2.0, 0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.0, INF),
        (-INF, 0.5, INF),
        (INF, -0.5, 0.0),
        (INF, 0.5, INF),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-1.0, NAN, NAN),
        (-2.0, 3.0, -8.0),
        (-2.0, 2.0, 4.0),
        (-1.0, 9_007_199_254_740_991.0, -1.0),
        (-1.0, 9_007_199_254_740_992.0, 1.0),
        (-1.0, 4_503_599_627_370_495.5, NAN),
        (TINY, 1.0, TINY),
        (2.0, -1074.0, TINY),
        (2.0, 1024.0, INF),
        (f64::MAX, 1.0, f64::MAX),
        (1e308, 0.5, 1e154),
        (1.5, 1e308, INF),
        (1.5, -1e308, 0.0),
        (-1.5, 1e308, INF),
        (1.000_000_000_000_000_2, 1e300, INF),
    ];
    for (x, y, expected) in cases {
        let got = math::pow(x, y);
        assert!(same(got, expected), "pow({x:e}, {y:e}) = {got:e}, expected {expected:e}");
    }
}

/// Tests C99 F.9.1.4 and F.9.4.3.
#[test]
#[rustfmt::skip] // tables of cases
fn atan2_and_hypot() {
    for (y, x, expected) in [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (1.0, 0.0, FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (1.0, -INF, PI),
        (-1.0, INF, -0.0),
        (INF, 3.0, FRAC_PI_2),
        (-INF, -3.0, -FRAC_PI_2),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (-INF, INF, -FRAC_PI_4),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (TINY, 1.0, TINY),
        (TINY, -1.0, PI),
        (1.0, 1.0, FRAC_PI_4),
        (f64::MAX, f64::MAX, FRAC_PI_4),
        (TINY, TINY, FRAC_PI_4),
        (TINY, f64::MAX, 0.0),
    ] {
        let got = math::atan2(y, x);
        assert!(same(got, expected), "atan2({y:e}, {x:e}) = {got:e}, expected {expected:e}");
    }
    for (x, y, expected) in [
        (3.0, -4.0, 5.0),
        (0.0, -0.0, 0.0),
        (INF, NAN, INF),
        (NAN, -INF, INF),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (f64::MAX, 0.0, f64::MAX),
        (f64::MAX, f64::MAX, INF),
        (TINY, 0.0, TINY),
        (3e-320, 4e-320, 5e-320),
        (3e307, 4e307, 5e307),
    ] {
        let got = math::hypot(x, y);
        assert!(same(got, expected), "hypot({x:e}, {y:e}) = {got:e}, expected {expected:e}");
    }
}

#[test]
#[rustfmt::skip] // tables of cases
fn erfcx_and_wright_omega() {
    check(
        "erfcx",
        math::erfcx,
        &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, INF), (-27.0, INF), (1e308, 0.564_189_583_547_756_3 / 1e308)],
    );
    check(
        "wright_omega",
        math::wright_omega,
        &[(1.0, 1.0), (-INF, 0.0), (INF, INF), (-746.0, 0.0), (f64::MAX, f64::MAX), (-745.0, TINY)],
    );
}

#[test]
#[rustfmt::skip] // tables of cases
fn inverse_hyperbolic_and_exp2() {
    check("asinh", math::asinh, &[(INF, INF), (-INF, -INF)]);
    check("acosh", math::acosh, &[(1.0, 0.0), (0.99, NAN), (-1.0, NAN), (INF, INF), (-INF, NAN)]);
    check("atanh", math::atanh, &[(1.0, INF), (-1.0, -INF), (1.1, NAN), (-2.0, NAN), (INF, NAN)]);
    check(
        "exp2",
        math::exp2,
        &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1024.0, INF), (-1076.0, 0.0), (-1074.0, TINY), (10.0, 1024.0)],
    );
}

#[test]
#[rustfmt::skip] // tables of cases
fn gamma_and_exponential_integral() {
    check(
        "gamma",
        math::gamma,
        &[
            (0.0, INF), (-0.0, -INF), (1.0, 1.0), (2.0, 1.0), (5.0, 24.0), (23.0, 1_124_000_727_777_607_680_000.0),
            (-1.0, NAN), (-170.0, NAN), (-1e300, NAN), (INF, INF), (-INF, NAN), (171.7, INF), (1e300, INF),
            (TINY, INF), (-TINY, -INF), (1e-300, 1.0 / 1e-300), (-200.5, -0.0), (-201.5, 0.0),
            (1e-17, 1e17), (-1e-17, -1e17),
        ],
    );
    check("e1", math::e1, &[(0.0, INF), (-0.0, INF), (-TINY, NAN), (-INF, NAN), (INF, 0.0), (740.0, 0.0), (738.0, TINY)]);
}

#[test]
#[rustfmt::skip] // tables of cases
fn modified_bessel() {
    check("i0", math::i0, &[(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (INF, INF), (-INF, INF), (714.0, INF), (1e300, INF)]);
    check(
        "i1",
        math::i1,
        &[(0.0, 0.0), (-0.0, -0.0), (-2e-310, -1e-310), (INF, INF), (-INF, -INF), (-714.0, -INF), (1e300, INF)],
    );
    check("i0e", math::i0e, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)]);
    check("i1e", math::i1e, &[(0.0, 0.0), (-0.0, -0.0), (-2e-310, -1e-310), (INF, 0.0), (-INF, -0.0)]);
    for (name, f) in [
        ("k0", math::k0 as fn(f64) -> f64),
        ("k0e", math::k0e),
        ("k1", math::k1),
        ("k1e", math::k1e),
    ] {
        check(name, f, &[(0.0, INF), (-0.0, INF), (-TINY, NAN), (-1.0, NAN), (-INF, NAN), (INF, 0.0)]);
    }
    check("k0", math::k0, &[(745.0, 0.0), (1e300, 0.0)]);
    check("k1", math::k1, &[(745.0, 0.0), (TINY, INF), (1e-300, 1.0 / 1e-300)]);
    check("k1e", math::k1e, &[(TINY, INF), (1e-300, 1.0 / 1e-300)]);
}

#[test]
#[rustfmt::skip] // tables of cases
fn bessel() {
    check("j0", math::j0, &[(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (INF, 0.0), (-INF, 0.0)]);
    check("j1", math::j1, &[(0.0, 0.0), (-0.0, -0.0), (-2e-310, -1e-310), (INF, 0.0), (-INF, -0.0)]);
    check("y0", math::y0, &[(0.0, -INF), (-0.0, -INF), (-TINY, NAN), (-INF, NAN), (INF, 0.0)]);
    check("y1", math::y1, &[(0.0, -INF), (-0.0, -INF), (-TINY, NAN), (-INF, NAN), (INF, 0.0), (TINY, -INF)]);
}

#[test]
#[rustfmt::skip] // tables of cases
fn whole_numbers_and_signs() {
    check("ceil", math::ceil, &[(-0.5, -0.0), (0.0, 0.0), (-0.0, -0.0), (TINY, 1.0), (1e300, 1e300), (INF, INF)]);
    check(
        "round",
        math::round,
        &[(0.5, 1.0), (-2.5, -3.0), (0.49999999999999994, 0.0), (-0.3, -0.0), (4503599627370497.0, 4503599627370497.0)],
    );
    check("signum", math::signum, &[(0.0, 1.0), (-0.0, -1.0), (TINY, 1.0), (-3.0, -1.0), (INF, 1.0), (-INF, -1.0)]);
}
