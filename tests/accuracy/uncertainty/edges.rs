//! The edges: huge and tiny data, undetermined and held parameters, levels, wrong requests.

use dualfit::error::UncertaintyError;
use dualfit::result::{ContourOptions, NewPoint, ProfileEnd};
use dualfit::{
    CurveFit, Data, Error, Estimator, Fit, Loss, Matrix, Options, Sigma, akaike_weights,
    compare_nested,
};

fn xs() -> Vec<f64> {
    (0..30).map(|i| 0.2 * f64::from(i)).collect()
}

/// A decay with a fixed, uneven error of about 0.05.
fn ys(unit: f64) -> Vec<f64> {
    let noise = |i: usize| ((37 * i + 11) % 23) as f64 / 23.0 - 0.5;
    let value = |(i, x): (usize, f64)| unit * (3.0 * (-0.7 * x).exp() + 0.5 + 0.15 * noise(i));
    xs().into_iter().enumerate().map(value).collect()
}

fn decay() -> CurveFit {
    CurveFit::parse("a * exp(-k * x) + c", ["x"]).unwrap()
}

fn fitted(curve: &CurveFit, unit: f64) -> Fit {
    let (x, y) = (xs(), ys(unit));
    let fit = curve.fit(Data::new(&x, &y).unwrap(), [2.0 * unit, 1.0, unit]).unwrap();
    assert!(fit.converged(), "{fit}");
    fit
}

fn same(a: f64, b: f64, tolerance: f64) {
    assert!((a / b - 1.0).abs() < tolerance || a == b, "{a:e} {b:e}");
}

#[test]
fn scale_changes_nothing() {
    let curve = decay();
    let (x, y) = (xs(), ys(1.0));
    let one = fitted(&curve, 1.0);
    let at = [0.0, 3.0, 12.0];
    let band = one.confidence_band(&at, 0.95).unwrap();
    let new = one.prediction_band(&at, 0.95, NewPoint::Fitted).unwrap();
    let judged = one.diagnostics(Data::new(&x, &y).unwrap()).unwrap();
    let interval = curve.profile(&one, Data::new(&x, &y).unwrap(), "a").unwrap();
    let interval = interval.interval(0.95).unwrap();
    for unit in [1e-200, 1e200] {
        let fit = fitted(&curve, unit);
        let other = ys(unit);
        let data = Data::new(&x, &other).unwrap();
        let scaled = fit.confidence_band(&at, 0.95).unwrap();
        let wide = fit.prediction_band(&at, 0.95, NewPoint::Fitted).unwrap();
        for i in 0..3 {
            same(scaled.std_errors[i] / unit, band.std_errors[i], 1e-6);
            same(scaled.upper[i] / unit, band.upper[i], 1e-6);
            same(wide.std_errors[i] / unit, new.std_errors[i], 1e-6);
        }
        let found = fit.diagnostics(&data).unwrap();
        for i in 0..x.len() {
            same(found.studentized[i], judged.studentized[i], 1e-5);
            same(found.leverage[i], judged.leverage[i], 1e-5);
            same(found.residuals[i] / unit, judged.residuals[i], 1e-5);
        }
        same(found.durbin_watson, judged.durbin_watson, 1e-6);
        let profile = curve.profile(&fit, data.clone(), "a").unwrap();
        let ends = profile.interval(0.95).unwrap();
        same(ends.lower / unit, interval.lower, 1e-6);
        same(ends.upper / unit, interval.upper, 1e-6);
        let line =
            CurveFit::parse("a + k * x", ["x"]).unwrap().fit(data, [unit, -0.1 * unit]).unwrap();
        let test = compare_nested(&line, &fit).unwrap();
        assert!(test.statistic.is_finite() && test.p_value < 1e-6, "{test:?}");
        same(fit.propagate("a / c").unwrap().value, one.propagate("a / c").unwrap().value, 1e-6);
    }
}

#[test]
fn what_is_undetermined_is_infinite_and_what_is_not_is_not() {
    // Only a + b is determined.
    let curve = CurveFit::parse("(a + b) * exp(-k * x) + 0 * x * b", ["x"]).unwrap();
    let (x, y) = (xs(), ys(1.0));
    let fit = curve.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.5]).unwrap();
    assert_eq!(fit.rank(), 2);
    let reference = CurveFit::parse("a * exp(-k * x)", ["x"]).unwrap();
    let reference = reference.fit(Data::new(&x, &y).unwrap(), [2.0, 0.5]).unwrap();
    let sum = fit.propagate("a + b").unwrap();
    same(sum.std_error, reference.std_error("a").unwrap(), 1e-6);
    assert_eq!(fit.propagate("a - b").unwrap().std_error, f64::INFINITY);
    let (band, other) = (
        fit.confidence_band(&[1.0], 0.9).unwrap(),
        reference.confidence_band(&[1.0], 0.9).unwrap(),
    );
    same(band.std_errors[0], other.std_errors[0], 1e-6);
    assert_eq!(fit.confidence_intervals(0.9).unwrap()[0], (f64::NEG_INFINITY, f64::INFINITY));
    let profile = curve.profile(&fit, Data::new(&x, &y).unwrap(), "a").unwrap();
    let found = profile.interval(0.95).unwrap();
    assert_eq!((found.lower_end, found.upper_end), (ProfileEnd::Open, ProfileEnd::Open));
    assert_eq!((found.lower, found.upper), (f64::NEG_INFINITY, f64::INFINITY));
    // Where the curve depends on what the data leave open: no point has x2 other than 0.
    let zero = vec![0.0; x.len()];
    let plane = CurveFit::multivariate(|[x, z], [a, b, c]| a + b * x + c * z);
    let fit = plane.fit(Data::new([&x, &zero], &y).unwrap(), [1.0, 1.0, 1.0]).unwrap();
    let band = fit.confidence_band([&[1.0, 1.0], &[0.0, 2.0]], 0.95).unwrap();
    assert!(band.upper[0].is_finite() && band.upper[1] == f64::INFINITY);
    assert_eq!(band.lower[1], f64::NEG_INFINITY);
}

#[test]
fn fixed_and_held_parameters_add_nothing() {
    let (x, y) = (xs(), ys(1.0));
    let data = || Data::new(&x, &y).unwrap();
    let fixed = decay().fix("c").fit(data(), [2.0, 1.0, 0.7]).unwrap();
    let held = decay().bound("c", 0.7..).fit(data(), [2.0, 1.0, 0.8]).unwrap();
    assert_eq!(held.at_bound().len(), 1);
    let (one, two) =
        (fixed.confidence_band(&x, 0.95).unwrap(), held.confidence_band(&x, 0.95).unwrap());
    for i in 0..x.len() {
        same(one.upper[i], two.upper[i], 1e-5);
    }
    assert_eq!(fixed.confidence_intervals(0.95).unwrap()[2], (0.7, 0.7));
    assert!(held.confidence_intervals(0.95).unwrap()[2].0.is_nan());
    // The profile of a held parameter has one side, and its bound as the other end.
    let curve = decay().bound("c", 0.7..);
    let found = curve.profile(&held, data(), "c").unwrap().interval(0.95).unwrap();
    assert_eq!((found.lower, found.lower_end), (0.7, ProfileEnd::Bound));
    assert!(found.upper > 0.7 && found.upper_end == ProfileEnd::Found);
    let error = decay().fix("c").profile(&fixed, data(), "c").unwrap_err();
    assert!(matches!(error, Error::Uncertainty(UncertaintyError::NoProfile { .. })), "{error}");
}

#[test]
fn a_profile_that_flattens_out_is_open() {
    // A saturation that is over before the first point: any larger rate does as well.
    let x: Vec<f64> = (1..12).map(f64::from).collect();
    let noise = [0.1, -0.2, 0.05, 0.12, -0.08, 0.03, -0.11, 0.09, -0.04, 0.06, -0.05];
    let y: Vec<f64> =
        x.iter().zip(noise).map(|(x, e)| 2.0 * (1.0 - (-1.5 * x).exp()) + e).collect();
    let curve = CurveFit::parse("a * (1 - exp(-k * x))", ["x"]).unwrap();
    let data = || Data::new(&x, &y).unwrap();
    let fit = curve.fit(data(), [2.0, 1.5]).unwrap();
    let found = curve.profile(&fit, data(), "k").unwrap().interval(0.999).unwrap();
    assert!(found.lower > 0.0 && found.lower_end == ProfileEnd::Found, "{found:?}");
    assert_eq!((found.upper, found.upper_end), (f64::INFINITY, ProfileEnd::Open));
}

#[test]
fn a_better_minimum_is_reported() {
    // A sine with a wrong frequency; the profile over the frequency passes the right one.
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() + 0.3 * (31.0 * x).cos()).collect();
    let curve = CurveFit::new(|x, [a, w, c]| a * (w * x).sin() + c).names(["a", "w", "c"]);
    let data = || Data::new(&x, &y).unwrap();
    let fit = curve.fit(data(), [0.1, 4.0, 0.0]).unwrap();
    assert!(fit.r_squared().unwrap() < 0.5);
    let profile = curve.profile(&fit, data(), "w").unwrap();
    let better = profile.better().expect("a better minimum");
    assert!(better.cost() < fit.cost());
    let error = profile.interval(0.95).unwrap_err();
    assert!(matches!(error, Error::Uncertainty(UncertaintyError::BetterMinimum { .. })));
}

#[test]
fn counts_and_masks_are_understood() {
    let x: Vec<f64> = (0..40).map(f64::from).collect();
    let count =
        |i: usize| (30.0 * (-0.1 * i as f64).exp() + 2.0 + ((i * 13) % 5) as f64 - 2.0).round();
    let y: Vec<f64> = (0..40).map(count).collect();
    let mask: Vec<bool> = (0..40).map(|i| i != 7).collect();
    let curve = CurveFit::new(|x, [a, k, b]| a * (-k * x).exp() + b).estimator(Estimator::Poisson);
    let data = || Data::new(&x, &y).unwrap().mask(&mask).unwrap();
    let fit = curve.fit(data(), [25.0, 0.1, 1.0]).unwrap();
    let band = fit.confidence_band(&[0.0], 0.95).unwrap();
    // The normal distribution's quantile, not Student's.
    same((band.upper[0] - band.center[0]) / band.std_errors[0], 1.959_963_984_540_054, 1e-12);
    let new = fit.prediction_band(&[0.0], 0.95, NewPoint::Fitted).unwrap();
    same(new.std_errors[0], band.std_errors[0].hypot(band.center[0].sqrt()), 1e-12);
    let judged = fit.diagnostics(data()).unwrap();
    assert!(judged.leverage[7].is_nan() && judged.residuals[7].is_nan());
    let sum: f64 = judged.leverage.iter().filter(|h| !h.is_nan()).sum();
    same(sum, 3.0, 1e-6);
    assert_eq!(judged.order.len(), 39);
    let profile = curve.profile(&fit, data(), "p1").unwrap().interval(0.95).unwrap();
    // With the rate held the deviance is convex in the other two: Newton's steps, and bisection for the ends.
    let deviance = |rate: f64| {
        let (mut a, mut b) = (fit.params()[0], fit.params()[2]);
        let rows = || (0..40).filter(|&i| i != 7).map(|i| ((-rate * x[i]).exp(), y[i]));
        for _ in 0..60 {
            let mut sums = [0.0; 5];
            for (e, y) in rows() {
                let f = a * e + b;
                let (slope, curvature) = (1.0 - y / f, y / (f * f));
                let terms = [slope * e, slope, curvature * e * e, curvature * e, curvature];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
            let [g, h, aa, ab, bb] = sums;
            let determinant = aa * bb - ab * ab;
            a -= (bb * g - ab * h) / determinant;
            b -= (aa * h - ab * g) / determinant;
        }
        let term = |f: f64, y: f64| f - y + if y > 0.0 { y * (y / f).ln() } else { 0.0 };
        rows().map(|(e, y)| 2.0 * term(a * e + b, y)).sum::<f64>()
    };
    let (best, wanted) = (fit.params()[1], 1.959_963_984_540_054_f64.powi(2));
    let least = deviance(best);
    same(least, fit.chi_square(), 1e-10);
    for (end, far) in [(profile.lower, 0.5 * best), (profile.upper, 2.0 * best)] {
        let (mut inside, mut outside) = (best, far);
        for _ in 0..60 {
            let middle = 0.5 * (inside + outside);
            if deviance(middle) - least < wanted { inside = middle } else { outside = middle }
        }
        same(end - best, inside - best, 1e-6);
    }
}

#[test]
fn a_contour_of_a_linear_model_is_an_ellipse() {
    let (x, y) = (xs(), ys(1.0));
    let line = CurveFit::new(|x, [a, b, c]| a + b * x + c * x * x).names(["a", "b", "c"]);
    let data = || Data::new(&x, &y).unwrap();
    let fit = line.fit(data(), [1.0, 0.0, 0.0]).unwrap();
    let options = ContourOptions::default().levels([0.95]);
    let contour = line.contour(&fit, data(), ["a", "b"], &options).unwrap();
    let covariance = fit.covariance();
    let (va, vb, ab) = (covariance[(0, 0)], covariance[(1, 1)], covariance[(0, 1)]);
    let excess = |a: f64, b: f64| {
        let (a, b) = (a - fit.params()[0], b - fit.params()[1]);
        (a * a * vb - 2.0 * a * b * ab + b * b * va) / (va * vb - ab * ab)
    };
    for (j, &b) in contour.b.iter().enumerate() {
        for (i, &a) in contour.a.iter().enumerate() {
            let found = contour.excess[j * contour.a.len() + i];
            assert!((found - excess(a, b)).abs() < 1e-6 * (1.0 + found), "{a} {b}: {found}");
        }
    }
    let [path] = &contour.lines[0].paths[..] else { panic!("{:?}", contour.lines) };
    assert_eq!(path.first(), path.last());
    for &(a, b) in path {
        same(excess(a, b), contour.lines[0].excess, 0.02);
    }
    let same_twice = line.contour(&fit, data(), ["a", "a"], &options);
    assert!(matches!(same_twice, Err(Error::Uncertainty(UncertaintyError::NoProfile { .. }))));
}

#[test]
fn a_correlated_fit_has_the_leverages_of_its_independent_one() {
    let (x, y) = (xs(), ys(1.0));
    let sigma: Vec<f64> = x.iter().map(|x| 0.1 + 0.02 * x).collect();
    let matrix = Matrix::from_diagonal(&sigma.iter().map(|s| s * s).collect::<Vec<f64>>());
    let given = |sigma| Data::new(&x, &y).unwrap().sigma(sigma).unwrap();
    let one = decay().fit(given(Sigma::Absolute(&sigma)), [2.0, 1.0, 1.0]).unwrap();
    let two = decay().fit(given(Sigma::Covariance(&matrix)), [2.0, 1.0, 1.0]).unwrap();
    let (a, b) = (
        one.diagnostics(given(Sigma::Absolute(&sigma))).unwrap(),
        two.diagnostics(given(Sigma::Covariance(&matrix))).unwrap(),
    );
    for i in 0..30 {
        same(a.leverage[i], b.leverage[i], 1e-5);
        same(a.standardized[i], b.standardized[i], 1e-4);
    }
}

#[test]
fn native_models_have_the_same_bands() {
    let (x, y) = (xs(), ys(1.0));
    let native = CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]);
    let fit = native.fit(Data::new(&x, &y).unwrap(), [2.0, 1.0, 1.0]).unwrap();
    let traced = fitted(&decay(), 1.0);
    let (one, two) =
        (fit.confidence_band(&x, 0.95).unwrap(), traced.confidence_band(&x, 0.95).unwrap());
    for i in 0..x.len() {
        same(one.std_errors[i], two.std_errors[i], 1e-5);
    }
    assert_eq!(two.center, traced.predict(&x).unwrap());
}

#[test]
fn wrong_requests_say_what_is_wrong() {
    let (x, y) = (xs(), ys(1.0));
    let data = || Data::new(&x, &y).unwrap();
    let curve = decay();
    let fit = fitted(&curve, 1.0);
    for level in [0.0, 1.0, -1.0, 95.0, f64::NAN] {
        for error in [
            fit.confidence_intervals(level).unwrap_err(),
            fit.confidence_band(&x, level).unwrap_err(),
            curve.profile_to(&fit, data(), "a", level).unwrap_err(),
        ] {
            assert!(matches!(error, Error::BadOption { name: "level", .. }), "{error}");
        }
    }
    assert!(matches!(fit.confidence_band([&x, &x], 0.9), Err(Error::ColumnCount { .. })));
    assert!(matches!(fit.propagate("a + nothing"), Err(Error::UnknownParameter { .. })));
    assert!(matches!(fit.propagate("a +"), Err(Error::Parse { .. })));
    assert!(matches!(curve.profile(&fit, data(), "z"), Err(Error::UnknownParameter { .. })));
    let profile = curve.profile_to(&fit, data(), "a", 0.9).unwrap();
    let beyond = profile.interval(0.95).unwrap_err();
    assert!(matches!(beyond, Error::Uncertainty(UncertaintyError::BeyondProfile { .. })));
    let other = ys(2.0);
    let wrong = curve.profile(&fit, Data::new(&x, &other).unwrap(), "a").unwrap_err();
    assert!(matches!(wrong, Error::Uncertainty(UncertaintyError::OtherFit { .. })), "{wrong}");
    let sigma = vec![0.1; 30];
    let own = decay().fit(data().sigma(Sigma::Absolute(&sigma)).unwrap(), [2.0, 1.0, 1.0]).unwrap();
    let unknown = own.prediction_band(&x, 0.9, NewPoint::Fitted).unwrap_err();
    assert!(matches!(unknown, Error::Uncertainty(UncertaintyError::NewPointUnknown { .. })));
    // What it advises works, and what would not is not advised.
    assert!(own.prediction_band(&x, 0.9, NewPoint::Constant(0.1)).is_ok());
    assert!(own.prediction_band(&x, 0.9, NewPoint::Each(&sigma)).is_ok());
    assert!(own.prediction_band(&x, 0.9, NewPoint::Relative(&sigma)).is_err());
    let unknown = unknown.to_string();
    assert!(unknown.contains("Each") && !unknown.contains("Relative"), "{unknown}");
    let shared = data().sigma(Sigma::Relative(&sigma)).unwrap();
    for (loss, advised) in [(Loss::Linear, "Relative"), (Loss::Huber { scale: 1.0 }, "Each")] {
        let fit = decay().loss(loss).fit(shared.clone(), [2.0, 1.0, 1.0]).unwrap();
        let unknown = fit.prediction_band(&x, 0.9, NewPoint::Fitted).unwrap_err().to_string();
        assert!(unknown.contains(advised), "{unknown}");
        let given =
            if advised == "Each" { NewPoint::Each(&sigma) } else { NewPoint::Relative(&sigma) };
        assert!(fit.prediction_band(&x, 0.9, given).is_ok());
        let other = unknown.contains("Relative") == (advised == "Relative");
        assert!(other, "{unknown}");
    }
    assert!(own.prediction_band(&x, 0.9, NewPoint::Constant(-0.1)).is_err());
    assert!(own.prediction_band(&x, 0.9, NewPoint::Each(&[0.1])).is_err());
    for pair in [[&fit, &own], [&own, &fit]] {
        let error = akaike_weights(&pair).unwrap_err();
        assert!(
            matches!(error, Error::Uncertainty(UncertaintyError::NotComparable { .. })),
            "{error}"
        );
    }
    assert!(akaike_weights(&[]).is_err());
    let robust = decay().loss(Loss::Huber { scale: 0.1 }).fit(data(), [2.0, 1.0, 1.0]).unwrap();
    assert!(compare_nested(&robust, &robust).is_err() && compare_nested(&fit, &robust).is_err());
    assert!(robust.prediction_band(&x, 0.9, NewPoint::Fitted).is_err());
    let judged = robust.diagnostics(data()).unwrap();
    assert!(judged.leverage[0].is_nan() && judged.standardized[0].is_finite());
}

#[test]
fn ties_are_those_of_the_substituted_model() {
    let (x, y) = (xs(), ys(1.0));
    let data = || Data::new(&x, &y).unwrap();
    let tied = decay().tie("c", "0.2 * a");
    let plain = CurveFit::parse("a * exp(-k * x) + 0.2 * a", ["x"]).unwrap();
    let (one, two) =
        (tied.fit(data(), [2.0, 1.0, 0.0]).unwrap(), plain.fit(data(), [2.0, 1.0]).unwrap());
    let (a, b) = (one.confidence_band(&x, 0.95).unwrap(), two.confidence_band(&x, 0.95).unwrap());
    for i in 0..x.len() {
        same(a.upper[i], b.upper[i], 1e-8);
    }
    let error = |fit: &Fit, text: &str| fit.propagate(text).unwrap().std_error;
    same(error(&one, "c * k + a"), error(&two, "0.2 * a * k + a"), 1e-6);
    let ends = |curve: &CurveFit, fit: &Fit| {
        curve.profile(fit, data(), "a").unwrap().interval(0.95).unwrap()
    };
    let (p, q) = (ends(&tied, &one), ends(&plain, &two));
    same(p.lower, q.lower, 1e-6);
    same(p.upper, q.upper, 1e-6);
    let refused = tied.profile(&one, data(), "c");
    assert!(matches!(refused, Err(Error::Uncertainty(UncertaintyError::NoProfile { .. }))));
    let judged = one.diagnostics(data()).unwrap();
    same(judged.leverage.iter().sum(), 2.0, 1e-6);
}

/// All functions return residuals as y − model: positive if the point lies above the curve.
#[test]
fn residuals_have_one_sign() {
    let (x, mut y) = (xs(), ys(1.0));
    (y[4], y[11]) = (y[4] + 0.4, y[11] - 0.4);
    let sigma = vec![0.05; x.len()];
    let matrix = Matrix::from_diagonal(&vec![0.05 * 0.05; x.len()]);
    let plain = || Data::new(&x, &y).unwrap();
    let given = |sigma| plain().sigma(sigma).unwrap();
    let robust = decay().loss(Loss::Cauchy { scale: 3.0 });
    let counts: Vec<f64> = y.iter().map(|y| (20.0 * y).round()).collect();
    let poisson = decay().estimator(Estimator::Poisson);
    for (curve, data) in [
        (decay(), plain()),
        (decay(), given(Sigma::Absolute(&sigma))),
        (decay(), given(Sigma::Covariance(&matrix))),
        (robust, given(Sigma::Absolute(&sigma))),
        (poisson, Data::new(&x, &counts).unwrap()),
    ] {
        let unit = data.clone();
        let fit = curve.fit(data, [2.0, 1.0, 1.0]).unwrap();
        let (model, residuals) = (fit.predict(&x).unwrap(), fit.residuals(&unit).unwrap());
        let judged = fit.diagnostics(&unit).unwrap();
        let observed = if fit.param("a").unwrap() > 10.0 { &counts } else { &y };
        for i in 0..x.len() {
            assert_eq!(residuals[i], observed[i] - model[i]);
            assert_eq!(judged.residuals[i], residuals[i]);
            assert_eq!(judged.standardized[i] > 0.0, residuals[i] > 0.0, "{i}");
        }
        assert!(residuals[4] > 0.2 && residuals[11] < -0.2);
        assert!(judged.standardized[4] > 1.0 && judged.standardized[11] < -1.0);
        assert_eq!(judged.runs.positive, residuals.iter().filter(|r| **r > 0.0).count());
    }
}

/// Against SciPy's `chi2.sf(7.5, 3)`.
#[test]
fn the_probability_of_a_chi_square() {
    let (x, c) = ([0.0, 1.0, 2.0, 3.0], 1.875f64.sqrt());
    let y = [5.0 + c, 5.0 - c, 5.0 + c, 5.0 - c];
    let constant = CurveFit::new(|_, [a]| a);
    let data = Data::new(&x, &y).unwrap();
    let known = data.clone().sigma(Sigma::Constant(1.0)).unwrap();
    let p = constant.fit(&known, [1.0]).unwrap().chi_square_p_value().unwrap();
    assert!((p - 0.057_558_451_972_636_4).abs() < 1e-12, "{p}");
    assert_eq!(constant.fit(data, [1.0]).unwrap().chi_square_p_value(), None);
    let robust = constant.loss(Loss::Huber { scale: 1.0 });
    assert_eq!(robust.fit(known, [1.0]).unwrap().chi_square_p_value(), None);
}

#[test]
fn fits_that_did_not_converge_are_not_compared() {
    let x: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 1.0 + 0.01 * (40.0 * x).sin()).collect();
    let data = || Data::new(&x, &y).unwrap();
    let cut = |curve: CurveFit| curve.options(dualfit::Options::default().max_evaluations(2));
    let small = || CurveFit::new(|x, [a, b]| a * (-b * x).exp());
    let large = || CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let (start, other) = ([9.0, 5.0], [9.0, 5.0, 0.0]);
    let (whole, part) =
        (small().fit(data(), start).unwrap(), cut(small()).fit(data(), start).unwrap());
    let (larger, less) =
        (large().fit(data(), other).unwrap(), cut(large()).fit(data(), other).unwrap());
    assert!(compare_nested(&whole, &larger).unwrap().p_value < 1e-6);
    for (a, b) in [(&whole, &less), (&part, &larger), (&part, &less)] {
        for error in [compare_nested(a, b).map(|_| ()), akaike_weights(&[a, b]).map(|_| ())] {
            let error = error.unwrap_err();
            assert!(matches!(error, Error::Uncertainty(UncertaintyError::NotComparable { .. })));
            assert!(error.to_string().contains("not converged (MaxEvaluations)"), "{error}");
        }
    }
}

/// A refit that a limit ends is not a minimum: it continues, or its side of the profile fails. The oracle is the profile
/// without a limit.
#[test]
fn no_end_comes_from_a_refit_that_a_limit_ended() {
    let (x, y) = (xs(), ys(1.0));
    let data = || Data::new(&x, &y).unwrap();
    let best = fitted(&decay(), 1.0);
    let mut found = 0;
    for name in ["a", "k", "c"] {
        let whole = decay().profile(&best, data(), name).unwrap().interval(0.95).unwrap();
        for most in [2, 3, 4, 6, 9] {
            let curve = decay().options(Options::default().max_evaluations(most));
            let fit = curve.fit(data(), best.params()).unwrap();
            let Ok(profile) = curve.profile(&fit, data(), name) else { continue };
            let ends = profile.interval(0.95).unwrap();
            let pairs = [(ends.lower, whole.lower), (ends.upper, whole.upper)];
            for (end, exact) in pairs.into_iter().filter(|(end, _)| !end.is_nan()) {
                assert!((end / exact - 1.0).abs() < 1e-3, "{name}, {most}: {end} for {exact}");
                found += 1;
            }
        }
    }
    println!("{found} ends");
    assert!(found >= 10, "{found}");
}
