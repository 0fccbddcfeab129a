//! Starts and bounds, and models that have no value at the start or on the way.

use crate::support::standard::*;
use dualfit::error::Named;
use dualfit::result::Side;
use dualfit::{CurveFit, Data, Error, Fit, Termination, Warning, curve_fit};

fn from(fitter: &CurveFit, start: impl Into<dualfit::Start>) -> Result<Fit, Error> {
    fitter.fit(Data::new(&abscissa(), &noisy()).unwrap(), start)
}

/// A Gaussian peak of height a.
fn peak() -> CurveFit {
    CurveFit::new(|x, [a, m, s]| a * (-(x - m).powi(2) / (2.0 * s * s)).exp())
        .names(["a", "m", "s"])
}

/// The error that the start is to be found in, at this point.
#[track_caller]
fn assert_bad_start(error: &Error, at: usize, bad: f64, params: &[(&str, f64)]) {
    let Error::ModelNonFiniteAtStart { index, point, value, params: found } = error else {
        panic!("{error}");
    };
    assert_eq!(*index, at);
    assert!(value.to_bits() == bad.to_bits() || (value.is_nan() && bad.is_nan()), "{value}");
    let named = |&(n, value): &(&str, f64)| Named { name: n.to_owned(), value };
    assert_eq!(found.0, params.iter().map(named).collect::<Vec<_>>());
    let x = &point.0[0];
    assert_eq!((x.name.as_str(), point.0.len()), ("x", 1));
    let mut words = vec![format!("point {at}"), format!("x = {}", x.value), bad.to_string()];
    words.extend(params.iter().map(|(name, value)| format!("{name} = {value}")));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_says(error, &words);
    assert_says(error, &["choose a start"]);
}

#[test]
fn row_07_nan_in_the_start() {
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let mut start = START;
        start[i] = f64::NAN;
        let error = from(&decay(), start).unwrap_err();
        let Error::NonFiniteParameter { what: "start", name: found, value } = &error else {
            panic!("{error}");
        };
        assert!(found == name && value.is_nan());
        assert_says(&error, &["start", &format!("`{name}`"), "NaN", "finite number"]);
        // Neither bounds nor clamping nor fixing make it a number.
        let bounded = decay().bound(name, 0.0..=5.0).clamp_start(true);
        assert_eq!(from(&bounded, start).unwrap_err().to_string(), error.to_string());
        assert!(from(&decay().fix(name), start).is_err());
    }
}

#[test]
fn row_08_infinity_in_the_start() {
    for (value, text) in [(f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let error = from(&decay(), [2.0, value, 0.3]).unwrap_err();
        assert!(matches!(&error, Error::NonFiniteParameter { name, .. } if name == "b"), "{error}");
        assert_says(&error, &["start", "`b`", text]);
    }
}

#[test]
fn row_09_empty_start() {
    // In `curve_fit` the start has the model's length by its type.
    let none: [f64; 0] = [];
    let dynamic = CurveFit::dynamic(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]);
    let error = from(&dynamic, none).unwrap_err();
    assert!(matches!(error, Error::ParameterCount { expected: 3, got: 0, .. }), "{error}");
    assert_says(&error, &["3 parameter", "p0, p1, p2", "0 value"]);
}

#[test]
fn row_10_start_too_short() {
    let error = from(&decay(), [1.0, 1.0]).unwrap_err();
    let Error::ParameterCount { expected: 3, got: 2, names } = &error else { panic!("{error}") };
    assert_eq!(names, &["a", "b", "c"]);
    assert_says(&error, &["3 parameter", "a, b, c", "2 value"]);
}

#[test]
fn row_11_start_too_long() {
    let error = from(&decay(), vec![1.0; 4]).unwrap_err();
    assert!(matches!(error, Error::ParameterCount { expected: 3, got: 4, .. }), "{error}");
    assert_says(&error, &["a, b, c", "4 value"]);
}

#[test]
fn row_20_bounds_reversed() {
    for fitter in [
        decay().bounds([(0.0, 9.0), (2.0, 1.0), (0.0, 9.0)]),
        decay().bounds(vec![(0.0, 9.0), (2.0, 1.0), (0.0, 9.0)]).clamp_start(true),
    ] {
        let error = from(&fitter, START).unwrap_err();
        assert_eq!(error, Error::BoundsOrder { name: "b".into(), lower: 2.0, upper: 1.0 });
        assert_says(&error, &["`b`", "lower 2", "upper 1", "exchange"]);
    }
}

#[test]
fn row_21_bounds_equal() {
    let fit = from(&decay().bound("b", 1.25..=1.25), [2.0, 1.25, 0.3]).unwrap();
    assert!(fit.converged());
    assert_eq!((fit.param("b"), fit.std_error("b")), (Some(1.25), Some(0.0)));
    assert!(fit.warnings().contains(&Warning::FixedByBounds { name: "b".into() }));
    assert_eq!((fit.estimated(), fit.degrees_of_freedom()), (2, 48));
    let linear = |x: f64, p: &[f64]| {
        let e = (-1.25 * x).exp();
        (p[0] * e + p[1], vec![e, 1.0])
    };
    let solution = solve(&abscissa(), &noisy(), None, &[2.5, 0.5], linear);
    assert_all_close(&[fit.params()[0], fit.params()[2]], &solution.params, 1e-9);
    let errors = fit.std_errors();
    assert_all_close(&[errors[0], errors[2]], &solution.relative, 1e-7);
    let elsewhere = from(&decay().bound("b", 1.25..=1.25), START);
    assert!(matches!(elsewhere, Err(Error::StartOutOfBounds { .. })));
}

#[test]
fn row_22_bounds_of_another_length() {
    let error = from(&decay().bounds([(0.0, 1.0), (0.0, 1.0)]), START).unwrap_err();
    let Error::LengthMismatch { what, expected: 3, got: 2, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(what, "bounds");
    assert_says(&error, &["`bounds`", "2", "3", "pair", "per parameter"]);
    let error = from(&decay().bound("d", 0.0..), START).unwrap_err();
    assert_says(&error, &["`d`", "a, b, c"]);
}

#[test]
fn row_23_start_outside_its_bounds() {
    let fitter = decay().bound("b", 1.2..=4.0);
    let error = from(&fitter, START).unwrap_err();
    let expected = Error::StartOutOfBounds { name: "b".into(), value: 1.0, lower: 1.2, upper: 4.0 };
    assert_eq!(error, expected);
    assert_says(&error, &["`b`", "1,", "[1.2, 4]", "clamp_start(true)"]);
    let fit = from(&fitter.clamp_start(true), START).unwrap();
    assert_solved(&fit, &solve_decay(&abscissa(), &noisy(), None));
    assert_eq!(fit.start(), [2.0, 1.2, 0.3]);
}

#[test]
fn row_24_start_on_a_bound() {
    let solution = solve_decay(&abscissa(), &noisy(), None);
    for fitter in [
        decay().bound("b", 1.0..=4.0),
        decay().bound("b", ..=1.0 + 0.5).bound("a", 2.0..),
        decay().bounds([(2.0, 9.0), (1.0, 9.0), (0.3, 9.0)]),
        decay().bounds([(-9.0, 9.0), (0.0, 9.0), (-9.0, 9.0)]),
    ] {
        assert_solved(&from(&fitter, START).unwrap(), &solution);
    }
    // Every parameter in a corner of the box.
    let corner = decay().bounds([(1.0, 9.0), (1.0, 9.0), (0.0, 9.0)]);
    assert_solved(&from(&corner, [9.0, 9.0, 9.0]).unwrap(), &solution);
    assert_solved(&from(&corner, [1.0, 1.0, 0.0]).unwrap(), &solution);
}

#[test]
fn row_25_nan_in_bounds() {
    for (fitter, what) in [
        (decay().bound("b", f64::NAN..), "lower bound"),
        (decay().bound("b", ..=f64::NAN), "upper bound"),
    ] {
        let error = from(&fitter.clone().clamp_start(true), START).unwrap_err();
        let Error::NonFiniteParameter { what: found, name, value } = &error else {
            panic!("{error}");
        };
        assert!((*found, name.as_str()) == (what, "b") && value.is_nan());
        assert_says(&error, &[what, "`b`", "NaN"]);
        assert!(from(&fitter, START).is_err());
    }
    // A parameter cannot be above infinity, nor be moved there.
    for range in [(f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY)] {
        let fitter = decay().bounds([(0.0, 9.0), range, (0.0, 9.0)]);
        assert_says(&from(&fitter, START).unwrap_err(), &["`b`", "inf"]);
        let error = from(&fitter.clamp_start(true), START).unwrap_err();
        assert!(!matches!(error, Error::ModelNonFiniteAtStart { .. }), "{error}");
        assert_says(&error, &["`b`", "inf"]);
    }
}

#[test]
fn row_26_solution_on_a_bound() {
    // The data want b = 1.3. With b held at 1 the problem is linear in a and c.
    let fit = from(&decay().bound("b", ..=1.0), [2.0, 0.5, 0.3]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    assert_eq!(fit.param("b"), Some(1.0));
    assert_eq!(fit.at_bound(), [("b", Side::Upper)]);
    assert!(fit.warnings().contains(&Warning::AtBound { name: "b".into(), side: Side::Upper }));
    let linear = |x: f64, p: &[f64]| (p[0] * (-x).exp() + p[1], vec![(-x).exp(), 1.0]);
    let solution = solve(&abscissa(), &noisy(), None, &[2.5, 0.5], linear);
    assert_all_close(&[fit.params()[0], fit.params()[2]], &solution.params, 1e-8);
    assert_close(fit.cost(), solution.cost, 1e-9);
    let errors = fit.std_errors();
    assert_all_close(&[errors[0], errors[2]], &solution.relative, 1e-7);
    assert!(errors[1].is_nan());
    let covariance = fit.covariance();
    for k in 0..3 {
        assert!(covariance[(1, k)].is_nan() && covariance[(k, 1)].is_nan());
    }
    assert_close(covariance[(0, 0)], solution.relative[0].powi(2), 1e-6);
    assert_eq!((fit.rank(), fit.degrees_of_freedom()), (2, 48));
}

#[test]
fn row_34_model_nan_at_the_start() {
    // ln(1 − x) has no value from x = 1.04, point 13, on.
    let model = CurveFit::new(|x, [a, b]| a * (b - x).ln()).names(["a", "b"]);
    let error = from(&model, [2.0, 1.0]).unwrap_err();
    assert_bad_start(&error, 13, f64::NAN, &[("a", 2.0), ("b", 1.0)]);
    // Also far behind the first block of points, in the last and incomplete one.
    let x: Vec<f64> = (0..100_003).map(|i| f64::from(i) * 1e-5).collect();
    let error = model.fit(Data::new(&x, &x).unwrap(), [2.0, x[100_001]]).unwrap_err();
    let Error::ModelNonFiniteAtStart { index, value, .. } = error else { panic!("{error}") };
    assert!(index == 100_001 && value == f64::NEG_INFINITY);
    // And in a model that is not traced.
    let native = CurveFit::native(2, |x, p| p[0] * (p[1] - x).ln()).names(["a", "b"]);
    let error = from(&native, [2.0, 1.0]).unwrap_err();
    assert_bad_start(&error, 13, f64::NAN, &[("a", 2.0), ("b", 1.0)]);
}

#[test]
fn row_34_partial_nan_at_the_start() {
    // exp(−1/(x − b)²) is 0 at x = b, but the formula of its slope is 0·∞ there.
    let model = CurveFit::new(|x, [a, b]| a * (-(x - b).powi(-2)).exp()).names(["a", "b"]);
    let error = from(&model, [2.0, 0.0]).unwrap_err();
    let Error::PartialNonFiniteAtStart { name, index: 0, .. } = &error else { panic!("{error}") };
    assert_eq!(name, "b");
    assert_says(&error, &["`b`", "point 0", "x = 0", "a = 2", "b = 0", "choose a start"]);
}

#[test]
fn row_35_model_infinite_at_the_start() {
    let x = abscissa();
    let pole = CurveFit::new(|x, [a, b]| a / (x - b)).names(["a", "b"]);
    let error = from(&pole, [2.0, x[7]]).unwrap_err();
    assert_bad_start(&error, 7, f64::INFINITY, &[("a", 2.0), ("b", x[7])]);
    let error = from(&pole, [-2.0, x[7]]).unwrap_err();
    assert_bad_start(&error, 7, f64::NEG_INFINITY, &[("a", -2.0), ("b", x[7])]);
}

#[test]
fn row_36_model_nan_away_from_the_start() {
    // √(b − x) ends at x = b; the data have b = 4 and reach to 3.92, so that long steps fall off.
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (4.0 - x).sqrt()).collect();
    for start in [[1.0, 20.0], [0.1, 100.0], [5.0, 4.5], [1.0, 1000.0]] {
        let fit = curve_fit(|x, [a, b]| a * (b - x).sqrt(), &x, &y, start).unwrap();
        assert!(fit.converged(), "{start:?}: {}", fit.termination());
        assert_all_close(fit.params(), &[2.0, 4.0], 1e-7);
    }
}

#[test]
fn row_36_model_finite_at_the_start_only() {
    let (x, y) = (abscissa(), noisy());
    let only = |x, [b]: [dualfit::Var; 1]| b.eq(1.0).select(b * x, f64::NAN);
    let fit = curve_fit(only, &x, &y, [1.0]).unwrap();
    assert_eq!(fit.termination(), Termination::ModelNonFinite);
    assert!(!fit.converged());
    assert_eq!(fit.params(), [1.0]);
    assert!(fit.cost().is_finite());
    // Shortened at most 30 times, in the first run and in the second.
    assert!(fit.evaluations() <= 2 * (1 + 31), "{} evaluations", fit.evaluations());
    assert!(fit.termination().to_string().contains("not finite"));
}

#[test]
fn row_45_exponential_overflows_at_the_start() {
    let growth = CurveFit::new(|x, [a, b]| a * (b * x).exp()).names(["a", "b"]);
    // exp(1000 x) is infinite from x = 0.72, point 9, on.
    let error = from(&growth, [1.0, 1000.0]).unwrap_err();
    assert_bad_start(&error, 9, f64::INFINITY, &[("a", 1.0), ("b", 1000.0)]);
    // Up to exp(588) the model has values, but their squares have none.
    let error = from(&growth, [1.0, 150.0]).unwrap_err();
    assert!(matches!(error, Error::OverflowAtStart { .. }), "{error}");
    assert_says(&error, &["a = 1, b = 150", "too large", "choose a start"]);
}

#[test]
fn row_46_exponential_overflows_on_the_way() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (0.1 * x).exp()).collect();
    let mut reached = 0;
    for start in [[1.0, 0.0], [1.0, -1.0], [1e-3, 1.0], [100.0, -0.2], [0.1, 3.0], [1.0, 0.5]] {
        let fit = curve_fit(|x, [a, b]| a * (b * x).exp(), &x, &y, start).unwrap();
        assert!(fit.params().iter().all(|p| p.is_finite()), "{start:?}: {:?}", fit.params());
        // Only the truth is a converged result.
        if fit.converged() {
            assert_all_close(fit.params(), &[2.0, 0.1], 1e-7);
            reached += 1;
        }
    }
    assert!(reached >= 4, "only {reached} of 6 starts");
}

#[test]
fn row_46_parameter_loses_its_effect() {
    // From where exp(−b x) is nothing at every point, or at all but one, the rise of these data is
    // hardly to be reached; then nobody may say that it was.
    let x: Vec<f64> = (1..=50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (0.1 * x).exp()).collect();
    let decay = CurveFit::new(|x, [a, b]| a * (-b * x).exp()).names(["a", "b"]);
    for b in [100.0, 700.0, 800.0, 1e5] {
        let fit = decay.fit(Data::new(&x, &y).unwrap(), [1.0, b]).unwrap();
        if fit.converged() {
            assert_all_close(fit.params(), &[2.0, -0.1], 1e-7);
        } else {
            assert!(fit.std_errors().iter().any(|e| *e > 1e3), "b = {b}: {fit}");
        }
        if b > 745.0 {
            assert_eq!(fit.termination(), Termination::ZeroGradientAtStart);
        }
    }
}

#[test]
fn row_67_start_of_zeros() {
    let fit = from(&decay(), [0.0; 3]).unwrap();
    assert_solved(&fit, &solve_decay(&abscissa(), &noisy(), None));
}

#[test]
fn row_68_peak_of_zero_width() {
    // 0/0 at the centre if a point lies there; else every value is 0 and the partials are not.
    let error = from(&peak(), [1.0, abscissa()[20], 0.0]).unwrap_err();
    assert_says(&error, &["s = 0", "NaN", "choose a start"]);
    let error = from(&peak(), [1.0, 1.7, 0.0]).unwrap_err();
    assert_says(&error, &["s = 0", "NaN", "point 0", "x = 0"]);
}

#[test]
fn row_69_peak_200_widths_away() {
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 2.0f64).powi(2) / 0.5).exp()).collect();
    let fit = peak().fit(Data::new(&x, &y).unwrap(), [1.0, 102.0, 0.5]).unwrap();
    assert_eq!(fit.termination(), Termination::ZeroGradientAtStart);
    assert!(!fit.converged());
    assert!(fit.termination().to_string().contains("start nearer to the data"));
    assert_eq!(fit.undetermined(), ["a", "m", "s"]);
    assert_eq!(fit.rank(), 0);
    assert_eq!(fit.params(), [1.0, 102.0, 0.5]);
    assert!(fit.require_convergence().is_err());
}

#[test]
fn row_69_peak_200_widths_away_on_a_baseline() {
    // The baseline has an effect and is found; of the peak nothing is known, and the fit says so.
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 2.0f64).powi(2) / 0.5).exp() + 1.0).collect();
    let model = CurveFit::new(|x, [a, m, s, c]| a * (-((x - m) / s).powi(2) / 2.0).exp() + c);
    let model = model.names(["a", "m", "s", "c"]);
    let fit = model.fit(Data::new(&x, &y).unwrap(), [1.0, 102.0, 0.5, 0.0]).unwrap();
    assert_close(fit.params()[3], y.iter().sum::<f64>() / 50.0, 1e-9);
    assert_eq!(fit.undetermined(), ["a", "m", "s"]);
    assert_eq!(fit.rank(), 1);
    assert!(warns(&fit, |w| matches!(w, Warning::RankDeficient { rank: 1, estimated: 4, .. })));
    assert!(!fit.converged(), "three parameters without effect: {}", fit.termination());
}

#[test]
fn row_71_power_of_zero() {
    let power = CurveFit::new(|x, [a, b]| a * x.powf(b)).names(["a", "b"]);
    let error = from(&power, [1.0, -1.0]).unwrap_err();
    assert_bad_start(&error, 0, f64::INFINITY, &[("a", 1.0), ("b", -1.0)]);
    // With a positive exponent both the value and the partial xᵇ ln x tend to 0 there.
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 1.7 * x.powf(0.6)).collect();
    let fit = power.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    assert!(fit.converged());
    assert_all_close(fit.params(), &[1.7, 0.6], 1e-9);
}
