//! Fits without a start of data that carry no curve, of too few points, and of models with several equal minima.

use crate::collection::is_warned;
use dualfit::{CurveFit, Data, Error, Fit, SearchOptions, Start, Warning};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::PI;

/// Formulas of many kinds in x.
const FORMULAS: [&str; 12] = [
    "a*exp(-b*x) + c",
    "a*exp(-((x - m)/w)^2) + c",
    "a/(1 + ((x - m)/w)^2) + c",
    "a*sin(w*x + p) + c",
    "a*exp(-g*x)*cos(w*x + p)",
    "a/(1 + exp(-(x - m)/w)) + c",
    "v*x/(k + x)",
    "a*x^n",
    "a*exp(-x/s) + b*exp(-x/t)",
    "a*exp(-((x - m)/w)^2) + b*exp(-((x - n)/v)^2)",
    "a*erf((x - m)/w) + b*x + c",
    "a*ln(1 + b*x)",
];
const POINTS: usize = 80;

fn axis() -> Vec<f64> {
    (1..=POINTS).map(|i| 0.1 * i as f64).collect()
}

fn noise(seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..POINTS).map(|_| StandardNormal.sample(&mut random)).collect()
}

fn curve(text: &str) -> CurveFit {
    CurveFit::parse(text, ["x"]).unwrap()
}

fn fitted(curve: &CurveFit, x: &[f64], y: &[f64]) -> Result<Fit, Error> {
    curve.fit(Data::new(x, y)?, Start::Guess)
}

#[test]
fn curves_in_noise_are_doubtful() {
    const SEEDS: u64 = 8;
    let mut sure = 0;
    for text in FORMULAS {
        let curve = curve(text);
        for seed in 0..SEEDS {
            let fit = fitted(&curve, &axis(), &noise(seed)).unwrap();
            if !is_warned(&fit) {
                println!("{text} {seed}: {fit}");
                sure += 1;
            }
        }
    }
    let all = SEEDS as usize * FORMULAS.len();
    println!("{sure} of {all} fits of noise have no warning");
    assert!(20 * sure <= all, "{sure} of {all}");
}

#[test]
fn constant_data_leave_parameters_without_effect() {
    for level in [0.0, 3.0, -1e-12, 7e20] {
        let y = [level; POINTS];
        for text in FORMULAS {
            let fit = fitted(&curve(text), &axis(), &y).unwrap();
            assert!(is_warned(&fit), "{text}: {fit}");
            // Of the others a constant is a limit that no parameters reach.
            if text.ends_with("+ c") {
                assert!(fit.cost() <= 1e-18 * level * level, "{text}: {fit}");
            }
        }
    }
}

#[test]
fn too_few_points_are_an_error_or_leave_no_degree_of_freedom() {
    let y = [1.0, 2.5];
    for text in FORMULAS {
        let curve = curve(text);
        for points in [1, 2] {
            let found = fitted(&curve, &axis()[..points], &y[..points]);
            let parameters = curve.parameters().len();
            match found {
                Ok(fit) => {
                    assert_eq!(parameters, points, "{text}");
                    assert!(fit.warnings().contains(&Warning::NoDegreesOfFreedom), "{text}: {fit}");
                }
                Err(Error::TooFewPoints { points: had, parameters: of }) => {
                    assert_eq!((had, of), (points, parameters));
                    assert!(points < parameters);
                }
                Err(error) => panic!("{text}: {error}"),
            }
        }
    }
}

#[test]
fn a_curve_of_another_kind_is_rejected() {
    let x = axis();
    let y: Vec<f64> = x.iter().map(|x| (3.0 * x).sin() + (7.1 * x).sin()).collect();
    for text in FORMULAS {
        let fit = fitted(&curve(text), &x, &y).unwrap();
        let is_rejected = |w: &Warning| {
            matches!(w, Warning::CorrelatedResiduals { .. } | Warning::PoorFit { .. })
        };
        assert!(!fit.converged() || fit.warnings().iter().any(is_rejected), "{text}: {fit}");
    }
}

#[test]
fn parameters_without_effect_are_named() {
    let x = axis();
    let y: Vec<f64> = x.iter().zip(noise(1)).map(|(x, e)| 5.0 * (-x).exp() + 0.01 * e).collect();
    for (text, names) in [
        ("a*exp(-b*x) + c - c", &["c"][..]),
        ("a*k*exp(-b*x)", &["a", "k"]),
        ("a*exp(-(b + d)*x)", &["b", "d"]),
        ("a*exp(-b*x) + if(x > 100, d, 0)", &["d"]),
        ("a*exp(-b*x)*(1 + 0*g)", &["g"]),
    ] {
        let fit = fitted(&curve(text), &x, &y).unwrap();
        let b: f64 = ["b", "d"].iter().filter_map(|name| fit.param(name)).sum();
        let rate = if text.contains("b + d") { b } else { fit.param("b").unwrap() };
        assert!((rate - 1.0).abs() < 0.01, "{text}: {fit}");
        let texts: Vec<String> = fit.warnings().iter().map(ToString::to_string).collect();
        let said = texts.join("\n");
        assert!(names.iter().all(|name| said.contains(name)), "{text}: {fit}");
    }
}

/// Of several equal minima every search returns the same: signs positive, phases within half a turn, amplitudes of waves
/// positive, equal terms in ascending order of their first parameter.
#[test]
fn the_same_of_several_equal_minima_is_returned() {
    let x = axis();
    for (text, truth, expected) in [
        ("a*exp(-x/s) + b*exp(-x/t)", &[2.0, 4.0, 5.0, 0.5][..], &[5.0, 0.5, 2.0, 4.0][..]),
        (
            "a*exp(-((x - m)/w)^2) + b*exp(-((x - n)/v)^2)",
            &[2.0, 6.0, -0.5, 3.0, 2.0, 0.8],
            &[3.0, 2.0, 0.8, 2.0, 6.0, 0.5],
        ),
        ("a*exp(-((x - m)/w)^2) + c", &[-2.0, 5.0, -0.7, 1.0], &[-2.0, 5.0, 0.7, 1.0]),
        ("a*sin(w*x + p) + c", &[-2.0, 3.0, 7.0, 1.0], &[2.0, 3.0, 7.0 - 3.0 * PI, 1.0]),
        ("a*cos(w*x + p) + c", &[2.0, -4.0, 0.5, 1.0], &[2.0, 4.0, -0.5, 1.0]),
        (
            "a/(1 + (x - m)^2) + b/(1 + (x - n)^2) + c/(1 + (x - o)^2)",
            &[1.0, 7.0, 2.0, 1.0, 3.0, 4.0],
            &[2.0, 1.0, 3.0, 4.0, 1.0, 7.0],
        ),
    ] {
        let program = curve(text).program().unwrap();
        // In the order in which the formula names its parameters.
        let exact: Vec<f64> = x.iter().map(|x| program.evaluate(&[*x], truth)).collect();
        let y: Vec<f64> = exact.iter().zip(noise(2)).map(|(y, e)| y + 1e-4 * e).collect();
        for seed in 0..6_u64 {
            let curve = curve(text).search(SearchOptions::default().seed(seed));
            let fit = fitted(&curve, &x, &y).unwrap();
            assert!(fit.converged(), "{text}, {seed}: {fit}");
            for (found, expected) in fit.params().iter().zip(expected) {
                assert!((found - expected).abs() < 0.01, "{text}, {seed}: {fit}");
            }
        }
    }
}
