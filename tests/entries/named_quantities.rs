//! Derived quantities by their names: every accessor of every entry takes them as it takes parameters.

use dualfit::error::{NameError, UncertaintyError};
use dualfit::{BatchData, BatchFit, CurveFit, Data, Error, Fit, GlobalFit, Loss, models};

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-k*x)", ["x"]).unwrap()
}

fn derived() -> CurveFit {
    // In an order in which the first needs those after it.
    decay()
        .derive("doubled", "2*half_life")
        .derive("half_life", "ln(2)/k")
        .derive("area", "a/k")
        .derive("share", "area/(area + half_life)")
}

fn points(amplitude: f64, rate: f64) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let noise = |i: usize| (i as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
    let value = |(i, x): (usize, &f64)| amplitude * (-rate * x).exp() + 0.2 * noise(i);
    let y = x.iter().enumerate().map(value).collect();
    (x, y)
}

/// ‖gᵀ C g‖½ of partials by a and k.
fn error(fit: &Fit, gradient: [f64; 2]) -> f64 {
    let c = fit.covariance();
    let term = |i: usize, j: usize| gradient[i] * c[(i, j)] * gradient[j];
    (term(0, 0) + 2.0 * term(0, 1) + term(1, 1)).sqrt()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found}, not {expected}");
}

#[test]
fn all_accessors_of_a_fit_take_them() {
    let (x, y) = points(3.0, 0.8);
    let fit = derived().fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    let [a, k] = [fit.params()[0], fit.params()[1]];
    let (area, half_life) = (a / k, 2f64.ln() / k);
    let by_sum = [half_life, -area].map(|s| s / (area + half_life).powi(2));
    let share = [by_sum[0] / k, by_sum[0] * -area / k + by_sum[1] * -half_life / k];
    for (name, value, gradient) in [
        ("half_life", half_life, [0.0, -half_life / k]),
        ("doubled", 2.0 * half_life, [0.0, -2.0 * half_life / k]),
        ("area", area, [1.0 / k, -area / k]),
        ("share", area / (area + half_life), share),
    ] {
        let found = fit.quantity(name).unwrap();
        close(found.value, value);
        close(found.std_error, error(&fit, gradient));
        assert_eq!(fit.param(name), Some(found.value));
        assert_eq!(fit.std_error(name), Some(found.std_error));
        assert_eq!(fit.propagate(name).unwrap(), found);
        close(fit.propagate(&format!("3*{name} + 1")).unwrap().std_error, 3.0 * found.std_error);
        let text = fit.param_text(name).unwrap();
        assert!(text.contains('(') && text.starts_with(&found.value.to_string()[..3]), "{text}");
    }
    assert_eq!(fit.quantity("k").unwrap().std_error, fit.std_errors()[1]);
    assert_eq!(fit.quantity("b"), None);
    let kept = Fit::from_json(&fit.to_json().unwrap()).unwrap();
    assert_eq!(kept.propagate("area*k").unwrap(), fit.propagate("area*k").unwrap());
}

#[test]
fn what_follows_from_itself_is_refused() {
    let (x, y) = points(3.0, 0.8);
    let circular = decay().derive("p", "2*q").derive("q", "r + 1").derive("r", "p/a");
    match circular.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]) {
        Err(Error::Name(NameError::Circular { name })) => assert_eq!(name, "r"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fits_of_a_batch_have_those_of_single_fits() {
    let all = [points(3.0, 0.8), points(1.0, 0.4), points(2.0, 1.5)];
    let stack: Vec<f64> = all.iter().flat_map(|(_, y)| y.clone()).collect();
    let x = &all[0].0;
    let curve = derived().derive("tied", "area*c");
    let tied = CurveFit::parse("a*exp(-k*x) + 0*c*x", ["x"]).unwrap().tie("c", "k/2");
    let tied = tied.derive("area", "a/k").derive("tied", "area*c");
    let bounded = derived().bound("a", 0.0..=1.5);
    assert!(matches!(
        curve.fit(Data::new(x, &all[0].1).unwrap(), [1.0; 2]),
        Err(Error::UnknownParameter { .. })
    ));
    for (curve, names) in [
        (derived(), vec!["half_life", "area", "share", "k"]),
        (tied, vec!["area", "tied", "c"]),
        (bounded, vec!["half_life", "area"]),
    ] {
        let start = vec![1.0; curve.parameters().len()];
        let batch = curve.fit_batch(BatchData::shared(x, &stack).unwrap(), &start[..]).unwrap();
        let kept = BatchFit::from_json(&batch.to_json().unwrap()).unwrap();
        for (i, (x, y)) in all.iter().enumerate() {
            let fit = curve.fit(Data::new(x, y).unwrap(), &start[..]).unwrap();
            for name in &names {
                let (found, expected) =
                    (batch.fit(i).quantity(name).unwrap(), fit.quantity(name).unwrap());
                assert!((found.value / expected.value - 1.0).abs() < 1e-7, "{name}");
                assert!(
                    (found.std_error / expected.std_error - 1.0).abs() < 1e-6,
                    "{name}: {found:?}, {expected:?}"
                );
                assert_eq!(batch.param(name).unwrap().nth(i), Some(found.value));
                assert_eq!(batch.std_error(name).unwrap().nth(i), Some(found.std_error));
                assert_eq!(kept.fit(i).quantity(name), Some(found));
            }
        }
        assert!(batch.quantity("b").is_none());
        assert!(batch.table().to_string().contains("area std. error"));
    }
}

#[test]
fn batches_of_library_models_need_covariances_for_some_errors() {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> =
        x.iter().map(|x| (-(x - 3.0).powi(2)).exp() + 0.01 * (9.0 * x).sin()).collect();
    let peak = models::gaussian("").curve().unwrap();
    let single = peak.fit(Data::new(&x, &y).unwrap(), dualfit::Start::Guess).unwrap();
    for keep in [false, true] {
        let curve = peak.clone().keep_covariance(keep);
        let batch =
            curve.fit_batch(BatchData::shared(&x, &y).unwrap(), dualfit::Start::Guess).unwrap();
        let (fwhm, height) =
            (batch.fit(0).quantity("fwhm").unwrap(), batch.fit(0).quantity("height").unwrap());
        assert!((fwhm.std_error / single.std_error("fwhm").unwrap() - 1.0).abs() < 1e-6);
        assert!((height.value / single.param("height").unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(height.std_error.is_nan(), !keep);
        assert_eq!(batch.covariance(0).is_some(), keep);
    }
}

#[test]
fn joint_fits_have_those_of_their_sets() {
    let [(x, first), (_, second)] = [points(3.0, 0.8), points(1.0, 0.8)];
    let (x, sets) = (&x, [&first, &second]);
    let data = || sets.map(|y| Data::new(x, y).unwrap());
    let curve = derived();
    let fit = GlobalFit::new(&curve).share(["k"]).fit(data(), [("k", 1.0)]).unwrap();
    for name in ["half_life", "area", "share", "a", "k"] {
        let found = fit.quantity(name).unwrap();
        for (set, found) in found.iter().enumerate() {
            let own = fit.set(set).unwrap().quantity(name).unwrap();
            close(found.value, own.value);
            assert!((found.std_error / own.std_error - 1.0).abs() < 1e-9, "{name}");
            assert_eq!(fit.param(name).unwrap()[set], found.value);
        }
    }
    assert_eq!(fit.quantity("half_life").unwrap()[0], fit.fit().propagate("ln(2)/k").unwrap());
    assert_eq!(fit.quantity("area").unwrap()[1], fit.fit().quantity("area_2").unwrap());
    assert!(fit.quantity("b").is_none());
}

#[test]
fn a_profile_is_that_of_the_model_written_in_the_quantity() {
    let (x, mut y) = points(3.0, 0.8);
    y[7] += 0.5;
    let data = Data::new(&x, &y).unwrap();
    for loss in [Loss::Linear, Loss::Huber { scale: 0.1 }] {
        let curve = derived().loss(loss);
        let native = CurveFit::native(2, |x, p| p[0] * (-p[1] * x).exp())
            .names(["a", "k"])
            .loss(loss)
            .derive("half_life", "ln(2)/k")
            .derive("area", "a/k");
        let rewritten = [
            ("half_life", "a*exp(-ln(2)/half_life*x)", ["half_life", "a"]),
            ("area", "area*k*exp(-k*x)", ["area", "k"]),
        ];
        for (name, formula, parameters) in rewritten {
            let other = CurveFit::parse(formula, ["x"]).unwrap().loss(loss);
            let start = other
                .parameters()
                .iter()
                .map(|p| (p.clone(), if p == parameters[0] { 2.0 } else { 1.0 }));
            let fit = other.fit(&data, start.collect::<Vec<_>>()).unwrap();
            let expected = other.profile(&fit, &data, name).unwrap().interval(0.95).unwrap();
            for curve in [&curve, &native] {
                let fit = curve.fit(&data, [1.0, 1.0]).unwrap();
                let profile = curve.profile(&fit, &data, name).unwrap();
                let found = profile.interval(0.95).unwrap();
                let width = expected.upper - expected.lower;
                assert!(
                    (found.lower - expected.lower).abs() < 1e-4 * width,
                    "{name}: {found:?}, {expected:?}"
                );
                assert!(
                    (found.upper - expected.upper).abs() < 1e-4 * width,
                    "{name}: {found:?}, {expected:?}"
                );
                assert_eq!((profile.name(), profile.params()[0].len()), (name, 2));
            }
        }
        let fit = curve.fit(&data, [1.0, 1.0]).unwrap();
        let unsolvable = curve.clone().derive("odd", "k + exp(k)");
        let refused = unsolvable.profile(&fit, &data, "odd").unwrap_err();
        assert!(
            matches!(refused, Error::Uncertainty(UncertaintyError::NoProfile { .. })),
            "{refused}"
        );
    }
}
