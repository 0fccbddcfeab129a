//! Ends that second derivatives decide: columns of the Jacobian that vanish or coincide where the
//! residuals do not. Minima published by Moré, Garbow and Hillstrom (1981), and closed solutions.

use dualfit::{CurveFit, Data, Fit, Var, Warning, curve_fit};

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance
}

fn wave(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 0.1 * i as f64).collect();
    let noise = (0..n).map(|i| 0.01 * (3.3 * i as f64).sin()).collect();
    (x, noise)
}

fn has_no_slope(fit: &Fit, parameter: &str) -> bool {
    fit.warnings().iter().any(|w| matches!(w, Warning::NoSlope { name } if name == parameter))
}

#[test]
fn a_model_that_is_even_at_its_minimum_converges_there() {
    let (x, noise) = wave(20);
    let below: Vec<f64> = noise.iter().map(|e| 0.2 + e).collect();
    for start in [0.3, 3.0, 1e-3, -7.0] {
        // The data are below what the model can be.
        let fit = curve_fit(|_: Var, [s]| s * s + 0.2704, &x, &below, [start]).unwrap();
        assert!(fit.converged() && near(fit.params()[0], 0.0, 1e-8), "{start}: {fit}");
        assert!(has_no_slope(&fit, "p0"), "{fit}");

        let y: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| 2.25 * x - 0.1 + e).collect();
        let fit = curve_fit(|x, [a, b]| a * a * x + b * b, &x, &y, [start, 1.0]).unwrap();
        assert!(fit.converged() && near(fit.params()[1], 0.0, 1e-8), "{start}: {fit}");
        // A line through the origin.
        let slope = x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>()
            / x.iter().map(|x| x * x).sum::<f64>();
        assert!(near(fit.params()[0].powi(2), slope, 1e-9), "{start}: {fit}");
        assert!(has_no_slope(&fit, "p1"), "{fit}");
    }
    let y: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| 1.0 - 0.1 * x * x + e).collect();
    for start in [0.5, 1.5, 0.01] {
        let fit = curve_fit(|x: Var, [d]| (d * x).cosh(), &x, &y, [start]).unwrap();
        assert!(fit.converged() && near(fit.params()[0], 0.0, 1e-6), "{start}: {fit}");
    }
}

#[test]
fn minima_with_coinciding_columns_converge() {
    let x: Vec<f64> = (1..=10).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 + 2.0 * x).collect();
    let jennrich = |x: Var, [a, b]: [Var; 2]| (x * a).exp() + (x * b).exp();
    let fit = curve_fit(jennrich, &x, &y, [0.3, 0.4]).unwrap();
    assert!(fit.converged() && near(fit.chi_square(), 124.362_182_4, 1e-6), "{fit}");
    assert!(fit.params().iter().all(|&p| near(p, 0.257_825_2, 1e-7)), "{fit}");

    let freudenstein = |x: Var, [a, b]: [Var; 2]| {
        (a - 13.0 + ((5.0 - b) * b - 2.0) * b) * (1.0 - x)
            + (a - 29.0 + ((b + 1.0) * b - 14.0) * b) * x
    };
    let fit = curve_fit(freudenstein, &[0.0, 1.0], &[0.0, 0.0], [0.5, -2.0]).unwrap();
    assert!(fit.converged() && near(fit.chi_square(), 48.984_25, 1e-5), "{fit}");
    assert!(near(fit.params()[0], 11.412_779, 1e-6), "{fit}");
    assert!(near(fit.params()[1], -0.896_805_3, 1e-7), "{fit}");

    let order: Vec<f64> = (1..=8).map(f64::from).collect();
    let mean = |i: usize| if i.is_multiple_of(2) { -1.0 / ((i * i) as f64 - 1.0) } else { 0.0 };
    let means: Vec<f64> = (1..=8).map(mean).collect();
    let chebyquad = CurveFit::native(8, |x: f64, p: &[f64]| {
        let chebyshev = |t: f64| (x * (2.0 * t - 1.0).clamp(-1.0, 1.0).acos()).cos();
        p.iter().map(|&t| chebyshev(t)).sum::<f64>() / 8.0
    });
    let start: Vec<f64> = (1..=8).map(|j| f64::from(j) / 9.0).collect();
    let fit = chebyquad.fit(Data::new(&order, &means).unwrap(), start).unwrap();
    assert!(fit.converged() && near(fit.chi_square(), 3.516_87e-3, 1e-8), "{fit}");
}

/// If two terms are equal, they have the same slopes, and a linear model cannot separate them:
/// this is a saddle if the data have two terms.
#[test]
fn equal_terms_part() {
    let x: Vec<f64> = (0..30).map(|i| 0.2 * f64::from(i)).collect();
    let two = |(i, x): (usize, &f64)| {
        10.0 * (-0.4 * x).exp() + 8.0 * (-2.0 * x).exp() + 0.1 * (3.3 * i as f64).sin()
    };
    let y: Vec<f64> = x.iter().enumerate().map(two).collect();
    let decays = CurveFit::new(|x, [a, k, b, l]| a * (-k * x).exp() + b * (-l * x).exp())
        .names(["a", "k", "b", "l"]);
    let fit =
        |decays: &CurveFit, start: [f64; 4]| decays.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let best = fit(&decays, [9.0, 0.3, 9.0, 3.0]);
    assert!(best.converged(), "{best}");
    for (rate, least) in [(0.5, 0.0), (0.7, 0.0), (1.0, 1.0), (2.0, 0.1)] {
        // From 1 on the second rate begins on its bound.
        let bounded = decays.clone().bound("l", least..=100.0);
        let found = fit(&bounded, [5.0, rate, 5.0, rate]);
        assert!(found.converged(), "{rate}: {found}");
        assert!(near(found.chi_square() / best.chi_square(), 1.0, 1e-9), "{rate}: {found}");
    }
}

/// A column that others can replace has no slope on its bound: the bound holds nothing, and must not hide
/// that the data leave the difference open.
#[test]
fn a_bound_does_not_hide_that_columns_are_collinear() {
    let (x, noise) = wave(30);
    let y: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| 3.0 * x - 0.5 * x * x + e).collect();
    let sum = CurveFit::new(|x, [a, b, c]| a * x + b * (x * 2.0) + c * x * x)
        .names(["a", "b", "c"])
        .bound("a", 0.0..=1.0);
    let fit = sum.fit(Data::new(&x, &y).unwrap(), [0.0, 1.0, 1.0]).unwrap();
    assert!(fit.converged(), "{fit}");
    let is_open = |w: &Warning| matches!(w, Warning::RankDeficient { .. });
    assert!(fit.warnings().iter().any(is_open), "{fit}");
    assert!(fit.std_errors()[2].is_finite() && fit.std_errors()[0].is_infinite(), "{fit}");
}
