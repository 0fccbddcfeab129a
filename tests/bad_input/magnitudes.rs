//! Data of any magnitude: nothing in a fit may be compared with an absolute number.

use crate::standard::*;
use dualfit::{Data, Fit, Sigma, Termination, Warning, curve_fit};

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
