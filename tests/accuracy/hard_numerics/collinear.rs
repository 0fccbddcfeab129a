//! Parameters that the data hardly tell apart, and columns of very different or very similar size.

use crate::support::standard::*;
use dualfit::{CurveFit, Data, Fit, Sigma, Termination, Var, Warning, curve_fit};

/// a·exp(−b x) + c·exp(−d x)
fn two_exponentials(x: Var, [a, b, c, d]: [Var; 4]) -> Var {
    a * (-b * x).exp() + c * (-d * x).exp()
}

/// The residual sum of squares of the best single exponential, a model nested in two of them.
fn cost_of_one_exponential(x: &[f64], y: &[f64]) -> f64 {
    let model = |x: f64, p: &[f64]| {
        let e = (-p[1] * x).exp();
        (p[0] * e, vec![e, -p[0] * x * e])
    };
    solve(x, y, None, &[2.0, 1.0], model).cost
}

/// Returns true if the error of some parameter is as large as its value.
fn has_huge_error(fit: &Fit) -> bool {
    fit.params().iter().zip(fit.std_errors()).any(|(p, e)| e.is_nan() || e >= p.abs())
}

#[test]
fn two_exponentials_of_nearly_one_rate() {
    // Rates 1.00 and 1.05 with noise of 1e-3 are one exponential as far as anyone can tell.
    let x = abscissa();
    let y = |i: usize, x: f64| (-x).exp() + (-1.05 * x).exp() + scatter(i) / 30.0;
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| y(i, x)).collect();
    for start in [[1.0, 1.0, 1.0, 1.05], [1.0, 0.5, 1.0, 2.0], [2.0, 1.0, 0.1, 5.0]] {
        let fit = curve_fit(two_exponentials, &x, &y, start).unwrap();
        assert!(fit.cost() <= cost_of_one_exponential(&x, &y) * (1.0 + 1e-6), "{start:?}: {fit}");
        assert!(fit.params().iter().all(|p| p.is_finite()));
        assert!(!fit.converged() || has_huge_error(&fit), "{start:?}: {fit}");
        let doubt = warns_of_weakness(&fit) || !fit.converged();
        assert!(doubt || has_huge_error(&fit), "{start:?}: {:?}", fit.warnings());
        if fit.rank() < 4 {
            assert!(!fit.undetermined().is_empty());
        }
    }
}

#[test]
fn one_exponential_fitted_by_two() {
    let x = abscissa();
    let exact: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp()).collect();
    let noisy: Vec<f64> = exact.iter().enumerate().map(|(i, y)| y + scatter(i) / 30.0).collect();
    for (y, start) in [
        (&exact, [1.0, 1.0, 1.0, 2.0]),
        (&exact, [2.0, 1.0, 0.5, 1.5]),
        (&noisy, [1.0, 1.0, 1.0, 2.0]),
    ] {
        let fit = curve_fit(two_exponentials, &x, y, start).unwrap();
        // At least as good as one exponential, of which it is a generalisation.
        let one = cost_of_one_exponential(&x, y);
        let rounding = 1e-13f64.powi(2) * y.iter().map(|y| y * y).sum::<f64>();
        assert!(fit.cost() <= one * (1.0 + 1e-6) + rounding, "{start:?}: {fit}");
        assert!(fit.predict(&x).unwrap().iter().zip(&exact).all(|(f, y)| (f - y).abs() < 2e-3));
        assert!(has_huge_error(&fit) || warns_of_weakness(&fit), "{start:?}: {fit}");
    }
    // If the second amplitude is 0, its rate is not determined.
    let fit = curve_fit(two_exponentials, &x, &exact, [2.5, 1.3, 0.0, 2.0]).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    assert_eq!((fit.rank(), fit.undetermined()), (3, vec!["p3"]));
}

#[test]
fn two_columns_that_differ_by_1e_minus_9() {
    // a x + b (x + 1e-9): the second column is the first and 1e-9 of a constant, so that b is the
    // intercept over 1e-9. Condition 1e9 is within reach of f64 when J is not squared.
    let (x, y) = (abscissa(), noisy());
    let model = CurveFit::new(|x, [a, b]| a * x + b * (x + 1e-9)).names(["a", "b"]);
    let fit = model.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    let line = solve_line(&x, &y);
    assert_close(fit.cost(), line.cost, 1e-6);
    match fit.rank() {
        1 => assert_eq!(fit.undetermined(), ["a", "b"]),
        _ => {
            assert!(warns(
                &fit,
                |w| matches!(w, Warning::IllConditioned { condition, .. } if *condition > 1e8)
            ));
            assert_close(fit.std_errors()[1], line.relative[1] / 1e-9, 1e-2);
            assert_close(fit.params()[1], line.params[1] / 1e-9, 1e-3);
        }
    }
}

#[test]
fn two_columns_that_differ_by_rounding() {
    let (x, y) = (abscissa(), noisy());
    for apart in [1e-15, 1e-16, 0.0] {
        let model = CurveFit::new(move |x, [a, b]| a * x + b * (x * (1.0 + apart)));
        let fit = model.names(["a", "b"]).fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
        assert_eq!((fit.rank(), fit.std_errors()), (1, vec![f64::INFINITY; 2]));
        // Nothing explodes in the direction that is not determined.
        assert!(fit.params().iter().all(|p| p.abs() < 10.0), "{fit}");
        let square: f64 = x.iter().map(|x| x * x).sum();
        let slope = x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() / square;
        assert_close(fit.params()[0] + fit.params()[1], slope, 1e-8);
    }
}

#[test]
fn redundant_parameters_of_different_size() {
    // As a·b·x, with a and b of very different size: the null vector belongs to scaled columns.
    let (x, y) = (abscissa(), noisy());
    let model = CurveFit::new(|x, [a, b, c]| a * b * x + c).names(["a", "b", "c"]);
    let fit = model.fit(Data::new(&x, &y).unwrap(), [1e6, -1e-6, 1.0]).unwrap();
    let line = solve_line(&x, &y);
    assert!(fit.converged(), "{}", fit.termination());
    assert_close(fit.params()[0] * fit.params()[1], line.params[0], 1e-8);
    assert_close(fit.params()[2], line.params[1], 1e-8);
    assert_eq!((fit.rank(), fit.undetermined()), (2, vec!["a", "b"]));
    let combination = |w: &Warning| match w {
        Warning::RankDeficient { rank: 2, estimated: 3, combination } => combination.clone(),
        _ => String::new(),
    };
    let text: String = fit.warnings().iter().map(combination).collect();
    assert!(text == "a by 1 % with b by −1 %", "{text}");
    // Two directions are determined, so the scatter has n − 2 degrees of freedom, as of the line.
    assert_close(fit.std_errors()[2], line.relative[1], 1e-6);
}

#[test]
fn parameters_of_1e_minus_12_and_1e12() {
    // a u + b v with u of size 1e12 and v of 1e-12: linear, solved in units of order 1.
    let (x, y) = (abscissa(), noisy());
    let (u, v): (Vec<f64>, Vec<f64>) = x.iter().map(|x| (1e12 * x, 1e-12 * (x * x + 1.0))).unzip();
    let fit = curve_fit(|[u, v], [a, b]| a * u + b * v, [&u, &v], &y, [1e-12, 1e12]).unwrap();
    let model = |x: f64, p: &[f64]| (p[0] * x + p[1] * (x * x + 1.0), vec![x, x * x + 1.0]);
    let solution = solve(&x, &y, None, &[1.0, 1.0], model);
    assert!(fit.converged(), "{}", fit.termination());
    let scaled = |v: &[f64]| [v[0] * 1e12, v[1] * 1e-12];
    assert_all_close(&scaled(fit.params()), &solution.params, 1e-10);
    assert_all_close(&scaled(&fit.std_errors()), &solution.relative, 1e-9);
    assert_eq!(fit.rank(), 2);
    assert_close(fit.covariance()[(0, 0)], fit.std_errors()[0].powi(2), 1e-14);
}

#[test]
fn straight_line_on_epoch_seconds() {
    for spacing in [1.0, 0.0078125, 3600.0] {
        let x: Vec<f64> = (0..N).map(|i| 1.7e9 + spacing * i as f64).collect();
        let y: Vec<f64> =
            x.iter().enumerate().map(|(i, x)| 3.0 * (x - 1.7e9) + 5.0 + scatter(i)).collect();
        let line = solve_line(&x, &y);
        for start in [[1.0, 1.0], [0.0, 0.0], [-100.0, 1e9]] {
            let fit = curve_fit(|x, [a, b]| a * x + b, &x, &y, start).unwrap();
            assert!(fit.converged(), "{spacing}, {start:?}: {}", fit.termination());
            assert_eq!(fit.rank(), 2);
            assert_close(fit.params()[0], line.params[0], 1e-6);
            assert_close(fit.params()[1], line.params[1], 1e-6);
            assert_close(fit.cost(), line.cost, 1e-4);
            assert_all_close(&fit.std_errors(), &line.relative, 1e-4);
            // Condition 6·⟨x⟩/range, above 1e7 but for points hours apart.
            let ill = warns(&fit, |w| matches!(w, Warning::IllConditioned { .. }));
            assert_eq!(ill, spacing < 3600.0, "condition {}", fit.condition());
        }
    }
}

#[test]
fn small_signal_on_a_large_baseline() {
    let x = abscissa();
    let y: Vec<f64> = noisy().iter().map(|y| y + 1e8).collect();
    // The same numbers without the baseline: the subtraction is exact.
    let small: Vec<f64> = y.iter().map(|y| y - 1e8).collect();
    let solution = solve_decay(&x, &small, None);
    let fit = decay().fit(Data::new(&x, &y).unwrap(), [2.0, 1.0, 1e8]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    let found = [fit.params()[0], fit.params()[1], fit.params()[2] - 1e8];
    assert_all_close(&found, &solution.params, 1e-6);
    assert_all_close(&fit.std_errors(), &solution.relative, 1e-5);
    let mean = small.iter().sum::<f64>() / 50.0;
    let scatter: f64 = small.iter().map(|y| (y - mean).powi(2)).sum();
    assert_close(fit.r_squared().unwrap(), 1.0 - 2.0 * solution.cost / scatter, 1e-7);
}

#[test]
fn four_parameter_logistic_with_one_plateau() {
    // The data end where the curve begins to rise: top, EC50 and slope trade off against each other.
    let x: Vec<f64> = (0..40).map(|i| 10f64.powf(-2.0 + 0.05 * f64::from(i))).collect();
    let curve = |x: f64| 1.0 + 9.0 / (1.0 + (x / 10.0).powf(-1.2));
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| curve(x) + scatter(i)).collect();
    let model = CurveFit::new(|x, [bottom, top, ec50, h]| {
        bottom + (top - bottom) / (1.0 + (x / ec50).powf(-h))
    });
    let model = model.names(["bottom", "top", "ec50", "h"]);
    for start in [[1.0, 8.0, 5.0, 1.0], [0.5, 20.0, 50.0, 1.5]] {
        let fit = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
        let residuals = x.iter().zip(&y).map(|(&x, y)| curve(x) - y);
        let truth = 0.5 * residuals.map(|r| r * r).sum::<f64>();
        assert!(fit.cost() <= truth, "{start:?}: {fit}");
        assert!(has_huge_error(&fit), "{start:?}: {fit}");
        assert!(fit.std_error("bottom").unwrap() < 0.1, "what is determined stays so: {fit}");
    }
}

#[test]
fn polynomials_that_normal_equations_lose() {
    // Wampler's problems 1 and 2 (NIST StRD): exact data, condition of JᵀJ 1e13.
    let x: Vec<f64> = (0..21).map(f64::from).collect();
    let polynomial =
        CurveFit::dynamic(6, |x, p| p.iter().rev().fold(Var::from(0.0), |sum, &c| sum * x + c));
    for ratio in [1.0, 0.1] {
        let truth: Vec<f64> = (0..6).map(|k| f64::powi(ratio, k)).collect();
        let y: Vec<f64> =
            x.iter().map(|x| (0..6).map(|k| truth[k] * x.powi(k as i32)).sum()).collect();
        let fit = polynomial.fit(Data::new(&x, &y).unwrap(), [0.0; 6]).unwrap();
        assert!(fit.converged(), "{}", fit.termination());
        assert_all_close(fit.params(), &truth, 1e-8);
    }
    // Degree 10 on [1, 2]: condition 1e11 with scaled columns, 1e22 if squared.
    let x: Vec<f64> = (0..81).map(|i| 1.0 + f64::from(i) / 80.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
    let polynomial =
        CurveFit::dynamic(11, |x, p| p.iter().rev().fold(Var::from(0.0), |sum, &c| sum * x + c));
    let fit = polynomial.fit(Data::new(&x, &y).unwrap(), [0.0; 11]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    // A Chebyshev interpolant of degree 10 would miss by less than 2·2^-22/11! = 1e-14.
    let found = fit.predict(&x).unwrap();
    let worst = found.iter().zip(&y).map(|(f, y)| (f - y).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-10, "{worst:e}");
    assert!(warns_of_weakness(&fit));
}

#[test]
fn relative_pivots() {
    // Columns of tiny length are not rank deficient, columns of any length that coincide are.
    let (x, y) = (abscissa(), noisy());
    for size in [1e-20, 1e-100, 1e20] {
        let good =
            curve_fit(|x, [a, b]| a * size * x + b * (size * size), &x, &y, [1.0; 2]).unwrap();
        let line = solve_line(&x, &y);
        assert_eq!(good.rank(), 2, "{size:e}: {good}");
        assert_close(good.params()[0] * size, line.params[0], 1e-8);
        assert_close(good.params()[1] * size * size, line.params[1], 1e-8);
        let bad = curve_fit(|x, [a, b]| a * size * x + b * x, &x, &y, [1.0; 2]).unwrap();
        assert_eq!((bad.rank(), bad.std_errors()), (1, vec![f64::INFINITY; 2]));
    }
}

#[test]
fn parameter_at_a_bound_of_a_peak() {
    // The width is held above its truth: the covariance is that of the others alone.
    let x = abscissa();
    let shape = |x: f64, m: f64, s: f64| (-(x - m).powi(2) / (2.0 * s * s)).exp();
    let y: Vec<f64> =
        x.iter().enumerate().map(|(i, &x)| 3.0 * shape(x, 2.0, 0.4) + scatter(i)).collect();
    let model = CurveFit::new(|x, [a, m, s]| a * (-(x - m).powi(2) / (2.0 * s * s)).exp());
    let model = model.names(["a", "m", "s"]).bound("s", 0.5..=2.0);
    let sigma = [0.02; N];
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let fit = model.fit(data, [2.0, 1.8, 0.7]).unwrap();
    let held = |x: f64, p: &[f64]| {
        let e = shape(x, p[1], 0.5);
        (p[0] * e, vec![e, p[0] * e * (x - p[1]) / 0.25])
    };
    let solution = solve(&x, &y, Some(&sigma), &[3.0, 2.0], held);
    assert!(fit.converged(), "{}", fit.termination());
    assert_all_close(&fit.params()[..2], &solution.params, 1e-7);
    assert_all_close(&fit.std_errors()[..2], &solution.absolute, 1e-6);
    assert!(fit.std_error("s").unwrap().is_nan());
    assert_eq!(fit.at_bound(), [("s", dualfit::result::Side::Lower)]);
}

#[test]
fn information_criteria_count_what_the_data_determine() {
    // a·b·e^(−cx) + d has one parameter more than a·e^(−cx) + d and says nothing more.
    let (x, y) = (abscissa(), noisy());
    let plain = fit_decay(&x, &y).unwrap();
    let model = |x: Var, [a, b, c, d]: [Var; 4]| a * b * (-c * x).exp() + d;
    let redundant = curve_fit(model, &x, &y, [1.5, 1.2, 1.0, 0.3]).unwrap();
    assert_eq!((plain.rank(), redundant.rank(), redundant.estimated()), (3, 3, 4));
    assert_close(redundant.aic(), plain.aic(), 1e-9);
    assert_close(redundant.bic(), plain.bic(), 1e-9);
    // lmfit's formulas, with the number of varied parameters.
    let rss = 2.0 * solve_decay(&x, &y, None).cost;
    let deviance = N as f64 * (rss / N as f64).ln();
    assert_close(plain.aic(), deviance + 6.0, 1e-9);
    assert_close(plain.bic(), deviance + 3.0 * (N as f64).ln(), 1e-9);
}

#[test]
fn a_million_points_keep_their_rank() {
    // Columns u and u + δv of ±1 with u, v and the residuals w orthogonal: errors with σ = 1 are
    // 1/(δ√n) for the second, and the condition about 2/δ.
    let (n, delta) = (1 << 20, 2f64.powi(-36));
    let sign = |bit: u32| move |i: usize| if (i >> bit) & 1 == 0 { 1.0 } else { -1.0 };
    let (u, v, w) = (sign(0), sign(1), sign(2));
    let first: Vec<f64> = (0..n).map(u).collect();
    let second: Vec<f64> = (0..n).map(|i| u(i) + delta * v(i)).collect();
    let y: Vec<f64> = (0..n).map(|i| 3.0 * u(i) + w(i)).collect();
    let fitter = CurveFit::multivariate(|[s, t]: [Var; 2], [a, b]: [Var; 2]| a * s + b * t);
    let data = Data::new([&first, &second], &y).unwrap().sigma(Sigma::Constant(1.0)).unwrap();
    let fit = fitter.fit(data, [1.0, 1.0]).unwrap();
    assert_eq!(fit.rank(), 2, "{fit}");
    assert_close(fit.std_errors()[1], 1.0 / (delta * f64::from(n as u32).sqrt()), 1e-3);
    assert_close(fit.condition(), 2.0 / delta, 1e-3);
    assert_eq!(fit.degrees_of_freedom(), n - 2);
}
