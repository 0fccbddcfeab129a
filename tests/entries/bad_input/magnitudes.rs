//! Data of any magnitude: nothing in a fit may be compared with an absolute number.

use crate::support::standard::*;
use dualfit::{Data, Fit, Matrix, Sigma, Termination, Warning, curve_fit};

/// The decay fitted to y and start both times `scale`; a and c must come out times `scale`, b
/// unchanged, the errors likewise, all to the digits of the data at their usual size.
fn assert_scales(scale: f64, digits: f64) {
    let x = abscissa();
    let y: Vec<f64> = noisy().iter().map(|y| y * scale).collect();
    let back: Vec<f64> = y.iter().map(|y| y / scale).collect();
    let solution = solve_decay(&x, &back, None);
    let fit = decay().fit(Data::new(&x, &y).unwrap(), [2.0 * scale, 1.0, 0.3 * scale]).unwrap();
    assert!(fit.converged(), "{scale:e}: {}", fit.termination());
    let unscaled = |v: &[f64]| [v[0] / scale, v[1], v[2] / scale];
    assert_all_close(&unscaled(fit.params()), &solution.params, digits);
    assert_all_close(&unscaled(&fit.std_errors()), &solution.relative, 100.0 * digits);
    assert_eq!((fit.rank(), fit.warnings()), (3, &[][..]));
    let r2 = 1.0 - 2.0 * solution.cost / solve_line_scatter(&back);
    assert_close(fit.r_squared().unwrap(), r2, 1e-8);
}

fn solve_line_scatter(y: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    y.iter().map(|y| (y - mean).powi(2)).sum()
}

/// From a start of 1, 1, 1, far from the data's size, the fit may fail but not lie.
fn assert_honest_from_ones(scale: f64) -> Option<Fit> {
    let x = abscissa();
    let y: Vec<f64> = noisy().iter().map(|y| y * scale).collect();
    let fit = decay().fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 1.0]).ok()?;
    if fit.converged() {
        let truth = solve_decay(&x, &noisy(), None).params;
        let found = [fit.params()[0] / scale, fit.params()[1], fit.params()[2] / scale];
        assert_all_close(&found, &truth, 1e-6);
    }
    Some(fit)
}

#[test]
fn row_47_y_of_1e30() {
    assert_scales(1e30, 1e-8);
    assert_honest_from_ones(1e30).expect("a start that can be evaluated");
}

#[test]
fn row_47_linear_model_from_a_start_of_ones() {
    // A linear problem has no far starts: the step to its solution is always the same.
    let x = abscissa();
    for scale in [1e-100, 1e-30, 1e12, 1e30, 1e100] {
        let y: Vec<f64> = noisy().iter().map(|y| y * scale).collect();
        let fit = curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 1.0]).unwrap();
        assert!(fit.converged(), "{scale:e}: {}", fit.termination());
        let line = solve_line(&x, &y);
        assert_all_close(fit.params(), &line.params, 1e-10);
        assert_all_close(&fit.std_errors(), &line.relative, 1e-8);
    }
}

#[test]
fn row_48_y_of_1e200() {
    assert_scales(1e200, 1e-8);
    assert_scales(1e300, 1e-8);
    assert_honest_from_ones(1e200);
}

#[test]
fn row_49_y_of_1e_minus_30() {
    assert_scales(1e-30, 1e-8);
    let fit = assert_honest_from_ones(1e-30).expect("a start that can be evaluated");
    assert!(fit.evaluations() > 2, "the start itself is no solution");
}

#[test]
fn row_50_y_of_1e_minus_200() {
    assert_scales(1e-200, 1e-8);
    assert_scales(1e-300, 1e-8);
    assert_honest_from_ones(1e-200);
}

#[test]
fn row_48_sigma_of_the_same_extreme_size() {
    for scale in [1e-300, 1e-200, 1e-30, 1e30, 1e200, 1e300] {
        let (x, s) = (abscissa(), vec![0.02 * scale; N]);
        let y: Vec<f64> = noisy().iter().map(|y| y * scale).collect();
        let solution = solve_decay(&x, &noisy(), Some(&[0.02; N]));
        for sigma in [Sigma::Absolute(&s), Sigma::Constant(0.02 * scale)] {
            let data = Data::new(&x, &y).unwrap().sigma(sigma).unwrap();
            let fit = decay().fit(data, [2.0 * scale, 1.0, 0.3 * scale]).unwrap();
            assert!(fit.converged(), "{scale:e}: {}", fit.termination());
            // Chi-square has no unit: here the usual number comes out.
            assert_close(fit.cost(), solution.cost, 1e-8);
            let unscaled = |v: &[f64]| [v[0] / scale, v[1], v[2] / scale];
            assert_all_close(&unscaled(fit.params()), &solution.params, 1e-8);
            assert_all_close(&unscaled(&fit.std_errors()), &solution.absolute, 1e-6);
        }
    }
}

#[test]
fn row_51_x_of_1e_minus_12() {
    for scale in [1e-12, 1e-100, 1e12, 1e100] {
        let x: Vec<f64> = abscissa().iter().map(|x| x * scale).collect();
        let solution = solve_decay(&abscissa(), &noisy(), None);
        let fit = decay().fit(Data::new(&x, &noisy()).unwrap(), [2.0, 1.0 / scale, 0.3]).unwrap();
        assert!(fit.converged(), "{scale:e}: {}", fit.termination());
        let unscaled = |v: &[f64]| [v[0], v[1] * scale, v[2]];
        assert_all_close(&unscaled(fit.params()), &solution.params, 1e-8);
        assert_all_close(&unscaled(&fit.std_errors()), &solution.relative, 1e-6);
    }
}

#[test]
fn row_52_x_of_1e_minus_12_and_a_start_of_1() {
    let x: Vec<f64> = abscissa().iter().map(|x| x * 1e-12).collect();
    let fit = decay().fit(Data::new(&x, &noisy()).unwrap(), [1.0, 1.0, 1.0]).unwrap();
    // It cannot always be saved; but if it is not, nobody may think that it was.
    let names_b = |w: &Warning| matches!(w, Warning::PoorScaling { name, ratio } if name == "b" && *ratio < 1e-10);
    assert!(warns(&fit, names_b), "{:?}", fit.warnings());
    let text = fit.warnings().iter().find(|w| names_b(w)).unwrap().to_string();
    assert!(text.contains("`b`") && text.contains("start"), "{text}");
    let truth = solve_decay(&abscissa(), &noisy(), None).params;
    let saved = (fit.params()[1] * 1e-12 - truth[1]).abs() < 1e-6;
    let warned = warns_of_weakness(&fit) || warns(&fit, |w| matches!(w, Warning::PoorFit { .. }));
    assert!(saved || !fit.converged() || warned, "{fit}");
}

#[test]
fn row_55_subnormal_y() {
    // At 1e-310 a subnormal number has some 13 digits.
    assert_scales(1e-310, 1e-9);
    // At 1e-318 it has five: the fit is as good as they are. Whether it calls that converged, with
    // residuals that come in units of the last place, is its own business.
    let x = abscissa();
    let y: Vec<f64> = exact().iter().map(|y| y * 1e-318).collect();
    let fit = decay().fit(Data::new(&x, &y).unwrap(), [2e-318, 1.0, 3e-319]).unwrap();
    assert!(fit.converged() || fit.termination() == Termination::NoProgress, "{fit}");
    assert_close(fit.params()[1], 1.3, 1e-4);
}

/// Exponents of sigmas whose squares leave the range of f64.
const EXTREME: [i32; 6] = [-1000, -830, -600, 600, 830, 1000];

#[test]
fn sigma_of_any_size_beside_ordinary_y() {
    // Powers of two change no digit of the data and therefore no digit of the result beyond rounding.
    let (x, y) = (abscissa(), noisy());
    let s: Vec<f64> = (0..N).map(|i| 0.02 + 0.001 * (i % 7) as f64).collect();
    let unit = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&s)).unwrap();
    let usual = decay().fit(unit, START).unwrap();
    let solution = solve_decay(&x, &y, Some(&s));
    assert_all_close(usual.params(), &solution.params, 1e-8);
    for k in EXTREME {
        let scale = 2f64.powi(k);
        let scaled: Vec<f64> = s.iter().map(|s| s * scale).collect();
        for (sigma, factor) in
            [(Sigma::Absolute(&scaled[..]), scale), (Sigma::Relative(&scaled), 1.0)]
        {
            let fit = decay().fit(Data::new(&x, &y).unwrap().sigma(sigma).unwrap(), START).unwrap();
            assert!(fit.converged(), "2^{k}: {}", fit.termination());
            assert_all_close(fit.params(), usual.params(), 1e-12);
            let expected = if factor == 1.0 { &solution.relative } else { &solution.absolute };
            let errors: Vec<f64> = fit.std_errors().iter().map(|e| e / factor).collect();
            assert_all_close(&errors, expected, 1e-6);
            assert_close(fit.r_squared().unwrap(), usual.r_squared().unwrap(), 1e-12);
        }
    }
}

#[test]
fn y_of_zeros_and_sigma_of_any_size() {
    // A line through zeros: the errors are σ times those of σ = 1.
    let (x, y) = (abscissa(), [0.0; N]);
    let line = dualfit::CurveFit::new(|x, [a, b]| a * x + b);
    let unit = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(1.0)).unwrap();
    let usual = line.fit(unit, [1.0, 1.0]).unwrap();
    for k in EXTREME {
        let sigma = 2f64.powi(k);
        let each = vec![sigma; N];
        for sigmas in [Sigma::Constant(sigma), Sigma::Absolute(&each)] {
            let data = Data::new(&x, &y).unwrap().sigma(sigmas).unwrap();
            let fit = line.fit(data, [1.0, 1.0]).unwrap();
            assert!(fit.converged(), "2^{k}: {}", fit.termination());
            assert!(fit.params().iter().all(|p| p.abs() < 1e-13), "2^{k}: {fit}");
            let errors: Vec<f64> = fit.std_errors().iter().map(|e| e / sigma).collect();
            assert_all_close(&errors, &usual.std_errors(), 1e-12);
        }
        // A zero among other values; with a sigma that leaves it no weight it changes nothing.
        let mut mixed = vec![1.0; N];
        mixed[3] = 1.0 / sigma.min(1.0 / sigma);
        let mut few: Vec<f64> = x.iter().map(|x| 2.0 * x - 1.0).collect();
        few[3] = 0.0;
        let data = Data::new(&x, &few).unwrap().sigma(Sigma::Absolute(&mixed)).unwrap();
        let fit = line.fit(data, [1.0, 1.0]).unwrap();
        assert_all_close(fit.params(), &[2.0, -1.0], 1e-9);
    }
}

#[test]
fn y_over_sigma_outside_the_range_of_numbers() {
    let x = abscissa();
    for (large, small) in [(400, -700), (-400, 700), (300, -900)] {
        let (scale, sigma) = (2f64.powi(large), 2f64.powi(small));
        let y: Vec<f64> = noisy().iter().map(|y| y * scale).collect();
        let solution = solve_decay(&x, &noisy(), None);
        for sigmas in [Sigma::Constant(sigma), Sigma::Absolute(&[sigma; N])] {
            let data = Data::new(&x, &y).unwrap().sigma(sigmas).unwrap();
            let fit = decay().fit(data, [2.0 * scale, 1.0, 0.3 * scale]).unwrap();
            assert!(fit.converged(), "2^{large}, 2^{small}: {}", fit.termination());
            let [a, b, c] = fit.params() else { panic!("{fit}") };
            assert_all_close(&[a / scale, *b, c / scale], &solution.params, 1e-8);
            // The error of b is σ over a number of y's size; it may itself leave the range.
            let (expected, found) = (solution.absolute[1] / scale * sigma, fit.std_errors()[1]);
            assert!(found == expected || (found / expected - 1.0).abs() <= 1e-6, "{fit}");
        }
    }
}

#[test]
fn covariance_matrices_of_any_size() {
    use nalgebra::DMatrix;
    let x = abscissa();
    let correlated =
        |scale: f64| Matrix::from_fn(N, N, |i, j| 4e-4 * scale * 0.5f64.powi(i.abs_diff(j) as i32));
    let matrix = correlated(1.0);
    let line = dualfit::CurveFit::new(|x, [a, b]| a * x + b);
    let fitted = |y: &[f64], matrix: &Matrix| {
        let data = Data::new(&x, y).unwrap().sigma(Sigma::Covariance(matrix)).unwrap();
        let fit = line.fit(data, [1.0, 1.0]).unwrap();
        assert!(fit.converged(), "{}", fit.termination());
        fit
    };
    let large = noisy().iter().map(|y| y * 2f64.powi(40)).collect();
    for y in [noisy(), vec![0.0; N], large] {
        let usual = fitted(&y, &matrix);
        // Generalised least squares by the normal equations.
        let design = DMatrix::from_fn(N, 2, |i, j| if j == 0 { x[i] } else { 1.0 });
        let inverse = DMatrix::from_row_slice(N, N, matrix.as_slice()).try_inverse().unwrap();
        let normal = (design.transpose() * &inverse * &design).try_inverse().unwrap();
        let errors: Vec<f64> = (0..2).map(|k| normal[(k, k)].sqrt()).collect();
        assert_all_close(&usual.std_errors(), &errors, 1e-9);
        for k in [-996, -900, -600, 600, 900, 996] {
            let fit = fitted(&y, &correlated(2f64.powi(k)));
            let close = |(f, u): (&f64, &f64)| (f - u).abs() <= 1e-12 * u.abs().max(0.1);
            assert!(fit.params().iter().zip(usual.params()).all(close), "2^{k}: {fit}");
            let root = 2f64.powi(k / 2);
            let scaled: Vec<f64> = fit.std_errors().iter().map(|e| e / root).collect();
            assert_all_close(&scaled, &errors, 1e-9);
            let (r, u) = (fit.r_squared(), usual.r_squared());
            assert!(r == u || (r.unwrap() - u.unwrap()).abs() < 1e-12, "2^{k}: {r:?}, {u:?}");
        }
    }
}
