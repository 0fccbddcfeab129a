//! `voigt(x, sigma, gamma)` and `lambert_w(x)` in text, values and partials, against
//! `tests/data/voigt.csv`, recorded from the convolution that defines the profile, and at their borders.

use crate::support::listing;
use dualfit::CurveFit;
use dualfit::program::Program;
use std::f64::consts::PI;

const TABLE: &str = include_str!("../data/voigt.csv");

fn program(text: &str) -> Program {
    CurveFit::parse(text, ["t"]).and_then(|model| model.program()).expect("a model")
}

/// The value and its partials.
fn outputs(program: &Program, p: &[f64]) -> Vec<f64> {
    listing::run(program, &[0.0], p).into_iter().map(|(_, v)| v).collect()
}

#[test]
fn the_profile_is_the_convolution() {
    let program = program("voigt(x, sigma, gamma)");
    assert_eq!(program.params(), ["x", "sigma", "gamma"]);
    let mut worst = [[0.0f64; 4]; 2];
    let mut rows = 0;
    for line in TABLE.lines() {
        let numbers: Vec<f64> = line
            .split(',')
            .map(|hex| f64::from_bits(u64::from_str_radix(hex, 16).expect("hexadecimal bits")))
            .collect();
        let &[x, sigma, gamma, ref expected @ ..] = numbers.as_slice() else { panic!("{line}") };
        let far = x / sigma > 60.0;
        for sign in [1.0, -1.0] {
            let found = outputs(&program, &[x, sign * sigma, gamma]);
            for k in 0..4 {
                let expected = if k == 2 { sign * expected[k] } else { expected[k] };
                // ∂V/∂σ is a difference of terms V/σ; in the wings it falls below their last digit.
                let unit = if k == 2 && far { found[0] / sigma } else { expected.abs() };
                // A derivative has zeros: not below what moves the profile by itself.
                let floor = if far { 0.0 } else { 0.1 * found[0] / (sigma + gamma) };
                let unit = if k == 0 { expected } else { unit.max(floor) };
                let error = (found[k] - expected).abs() / unit;
                assert!(
                    error < 1e-11,
                    "output {k} at {x:e}, {sigma:e}, {gamma:e}: {:e}, not {expected:e}",
                    found[k]
                );
                worst[usize::from(far)][k] = worst[usize::from(far)][k].max(error);
            }
        }
        rows += 1;
    }
    println!("near {:?}, far {:?}", worst[0], worst[1]);
    assert!(rows > 80, "the table is incomplete");
    assert!(worst.iter().all(|w| w[0] < 1e-13), "{worst:?}");
}

#[test]
fn without_one_width_it_is_the_other_profile() {
    let program = program("voigt(x, sigma, gamma)");
    for x in [0.0, 0.3, -2.0, 7.0f64] {
        let (width, half) = (0.8f64, 0.5);
        let gaussian = (-x * x / (2.0 * width * width)).exp() / (width * (2.0 * PI).sqrt());
        let lorentzian = half / (PI * (x * x + half * half));
        let by_x = -2.0 * x * lorentzian / (x * x + half * half);
        let by_gamma = (x * x - half * half) / (PI * (x * x + half * half).powi(2));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 + 1e-13 * b.abs();
        let pure = outputs(&program, &[x, width, 0.0]);
        assert!(near(pure[0], gaussian) && pure.iter().all(|v| v.is_finite()), "{pure:?}");
        assert!(near(pure[1], -x / (width * width) * gaussian), "{pure:?}");
        let pure = outputs(&program, &[x, 0.0, half]);
        let expected = [lorentzian, by_x, 0.0, by_gamma];
        assert!(pure.iter().zip(expected).all(|(&a, b)| near(a, b)), "{pure:?}, not {expected:?}");
        // Near σ = 0 nothing changes, and near γ = 0 the profile is linear.
        let close = outputs(&program, &[x, 1e-7, half]);
        assert!(near(close[0], lorentzian), "{close:?}");
        let [left, middle, right] =
            [-1e-6, 0.0, 1e-6].map(|gamma| outputs(&program, &[x, width, gamma]));
        assert!((left[0] + right[0] - 2.0 * middle[0]).abs() < 1e-11, "{left:?} {right:?}");
        assert!(((right[0] - left[0]) / 2e-6 - middle[3]).abs() < 1e-8, "{left:?} {right:?}");
    }
}

/// W(x)·exp(W(x)) = x, with W(1) = Ω (OEIS A030178) and the derivative W/(x(1 + W)).
#[test]
fn lambert_w_inverts_its_equation() {
    let program = program("lambert_w(a)");
    for x in [1e-300f64, 1e-9, 0.01, 0.5, 1.0, 2.0, std::f64::consts::E, 10.0, 1e5, 1e300] {
        let found = outputs(&program, &[x]);
        let residual = found[0] + found[0].ln() - x.ln();
        assert!(residual.abs() <= 1e-15 * (2.0 + 3.0 * x.ln().abs()), "W({x}) = {found:?}");
        let slope = found[0] / (x * (1.0 + found[0]));
        assert!((found[1] - slope).abs() <= 1e-14 * slope, "W'({x}) = {found:?}");
    }
    assert!((outputs(&program, &[1.0])[0] - 0.567_143_290_409_783_8).abs() < 3e-16);
    assert!(outputs(&program, &[-0.1])[0].is_nan());
}
