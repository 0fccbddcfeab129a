//! Starts that are complete, partly given, guessed or solved for: all lead to the same minimum. Rejected
//! starts.

use dualfit::error::{SettingError, StartError};
use dualfit::{
    CurveFit, Data, Error, Estimator, Fit, Loss, Matrix, Options, SearchOptions, SearchWhen, Sigma,
    Start,
};

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap()
}

fn points() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..80).map(|i| 0.1 * f64::from(i)).collect();
    let y = x.iter().map(|x| 400.0 * (-0.7 * x).exp() + 30.0 + 0.5 * (17.0 * x).sin()).collect();
    (x, y)
}

fn same(found: &Fit, given: &Fit) {
    assert!(found.converged(), "{found}");
    for (p, q) in found.params().iter().zip(given.params()) {
        assert!((p - q).abs() <= 1e-7 * q.abs(), "{found}\n{given}");
    }
    for (p, q) in found.std_errors().iter().zip(given.std_errors()) {
        assert!((p - q).abs() <= 1e-6 * q.abs() || p.to_bits() == q.to_bits(), "{found}\n{given}");
    }
}

#[test]
fn starts_are_made_of_all_usual_forms() {
    let (x, y) = points();
    let fit = |start: Start| decay().fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let given = fit([300.0, 1.0, 0.0].into());
    let values = vec![300.0, 1.0, 0.0];
    let named = vec![("b".to_owned(), 1.0)];
    let pairs = [("b", 1.0)];
    let complete: [Start; 4] =
        [(&values).into(), values.as_slice().into(), (&[300.0, 1.0, 0.0]).into(), values.into()];
    for start in complete {
        assert_eq!(fit(start).params(), given.params());
    }
    let by_name: [Start; 5] = [
        named.into(),
        pairs.into(),
        (&pairs).into(),
        pairs.as_slice().into(),
        pairs.to_vec().into(),
    ];
    for start in by_name {
        same(&fit(start), &given);
    }
}

#[test]
fn the_solve_takes_weights_masks_losses_and_bounds_as_they_are() {
    let (x, mut y) = points();
    let mask: Vec<bool> = (0..80).map(|i| i % 9 != 4).collect();
    (0..80).filter(|&i| !mask[i]).for_each(|i| y[i] = f64::NAN);
    let sigma: Vec<f64> =
        (0..80).map(|i| if i == 7 { f64::INFINITY } else { 1.0 + 0.1 * f64::from(i) }).collect();
    let near = |start: Vec<f64>| {
        // At the right rate the solve alone is the fit, but for the sine.
        assert!((start[0] - 400.0).abs() < 3.0 && (start[2] - 30.0).abs() < 1.0, "{start:?}");
    };
    let data = Data::new(&x, &y).unwrap().mask(&mask).unwrap();
    let data = data.sigma(Sigma::Absolute(&sigma)).unwrap();
    near(decay().start(data.clone(), [("b", 0.7)]).unwrap());
    near(decay().loss(Loss::Cauchy { scale: 1.0 }).start(data.clone(), [("b", 0.7)]).unwrap());
    let bounded = decay().bound("c", 40.0..=50.0);
    let start = bounded.start(data.clone(), [("b", 0.7)]).unwrap();
    assert_eq!(start[2], 40.0);
    let fixed = decay().fix("c").start(data.clone(), [("b", 0.7), ("c", 40.0)]).unwrap();
    assert!((start[0] - fixed[0]).abs() < 1e-6 * fixed[0], "{start:?} {fixed:?}");
    for start in [Start::from([("b", 1.0)]), Start::from([("b", 1.0), ("a", 100.0)])] {
        let found = bounded.fit(data.clone(), start).unwrap();
        same(&found, &bounded.fit(data.clone(), [300.0, 1.0, 45.0]).unwrap());
    }

    let (x, y) = points();
    let single: (Vec<f32>, Vec<f32>) =
        (x.iter().map(|&v| v as f32).collect(), y.iter().map(|&v| v as f32).collect());
    near(decay().start(Data::new(&single.0, &single.1).unwrap(), [("b", 0.7)]).unwrap());
    let covariance = |i: usize, j: usize| 0.5f64.powi(i.abs_diff(j) as i32);
    let matrix = Matrix::from_fn(80, 80, covariance);
    let correlated = Data::new(&x, &y).unwrap().sigma(Sigma::Covariance(&matrix)).unwrap();
    near(decay().start(correlated, [("b", 0.7)]).unwrap());
    for scale in [1e-200, 1e200] {
        let y: Vec<f64> = y.iter().map(|v| scale * v).collect();
        let start = decay().start(Data::new(&x, &y).unwrap(), [("b", 0.7)]).unwrap();
        near(start.iter().map(|v| v / scale).collect());
    }
}

/// A background that is 0 would be estimated a little below it, and the expectation with it.
#[test]
fn counts_have_positive_expectations_at_the_start() {
    let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (50.0 * (-0.9 * x).exp()).round()).collect();
    let counted = decay().estimator(Estimator::Poisson).bound("c", 0.0..);
    let data = Data::new(&x, &y).unwrap();
    let found = counted.fit(data.clone(), [("b", 0.3)]).unwrap();
    let given = counted.fit(data.clone(), [40.0, 1.0, 0.1]).unwrap();
    assert!((found.params()[1] / given.params()[1] - 1.0).abs() < 1e-6, "{found}\n{given}");
    let free = decay().estimator(Estimator::Poisson);
    let start = free.start(data, [("b", 0.3)]).unwrap();
    assert!(x.iter().all(|x| start[0] * (-start[1] * x).exp() + start[2] >= 0.0), "{start:?}");
}

#[test]
fn a_guess_is_taken_where_nothing_else_is_known() {
    let (x, y) = points();
    let data = Data::new(&x, &y).unwrap();
    let rate = |rate: f64| decay().guess(move |_| vec![f64::NAN, rate, f64::NAN]);
    let given = decay().fit(data.clone(), [300.0, 1.0, 0.0]).unwrap();
    same(&rate(1.0).fit(data.clone(), Start::Guess).unwrap(), &given);
    same(&rate(1.0).fit(data.clone(), [("c", 5.0)]).unwrap(), &given);
    // The guess receives the points and is moved into the bounds; given values replace it.
    let seen = decay().guess(|seen| vec![seen.y[0], 1.0 / seen.x()[79], -7.0]).bound("b", 1.0..);
    assert_eq!(seen.start(data.clone(), Start::Guess).unwrap()[1], 1.0);
    let fixed = seen.clone().fix("c").start(data.clone(), [("b", 2.0)]).unwrap();
    assert_eq!((fixed[1], fixed[2]), (2.0, -7.0));
    // The linear ones are solved for also where they are guessed.
    assert!((rate(0.7).start(data.clone(), Start::Guess).unwrap()[0] - 400.0).abs() < 1.0);
    // Of two that exclude each other it is the one without a guess.
    let product = CurveFit::parse("a*b*x", ["x"]).unwrap();
    let guessed = product.clone().guess(|_| vec![2.0, f64::NAN]);
    assert_eq!(guessed.start(data.clone(), Start::Guess).unwrap()[0], 2.0);
    // Equal bounds say where a parameter is.
    let kept = decay().bound("b", 0.7..=0.7).fit(data, Start::Guess).unwrap();
    assert_eq!(kept.params()[1], 0.7);
}

#[test]
fn what_cannot_be_found_is_refused_by_name() {
    let (x, y) = points();
    let data = Data::new(&x, &y).unwrap();
    let never = SearchOptions::default().when(SearchWhen::Never);
    let refused = |model: CurveFit, start: Start| match model.search(never).fit(data.clone(), start)
    {
        Err(Error::Start(error)) => error,
        other => panic!("{other:?}"),
    };
    let unknown = |names: &[&str]| StartError::Unknown {
        names: names.iter().map(|&n| n.to_owned()).collect(),
    };
    assert_eq!(refused(decay(), Start::Guess), unknown(&["b"]));
    let logistic = CurveFit::parse("a/(1 + exp(-(x - m)/w))", ["x"]).unwrap();
    assert_eq!(refused(logistic, [("a", 1.0)].into()), unknown(&["m", "w"]));
    let native = CurveFit::native(1, |x: f64, p: &[f64]| p[0] * x);
    assert_eq!(refused(native, Start::Guess), unknown(&["p0"]));
    let name = || "c".to_owned();
    let fixed = refused(decay().fix("c"), [("b", 1.0)].into());
    assert_eq!(fixed, StartError::FixedWithoutValue { name: name() });
    let twice = refused(decay(), [("b", 1.0), ("c", 1.0), ("c", 2.0)].into());
    assert_eq!(twice, StartError::GivenTwice { name: name() });
    let error = decay().fit(data.clone(), [("rate", 1.0)]).unwrap_err();
    assert!(matches!(&error, Error::UnknownParameter { known, .. } if known.len() == 3));
    let error = decay().guess(|_| vec![1.0]).fit(data.clone(), Start::Guess).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { expected: 3, got: 1, .. }), "{error}");
    let error = decay().guess(|_| panic!("no idea")).fit(data.clone(), Start::Guess).unwrap_err();
    assert!(
        matches!(&error, Error::ModelPanicked { message, place } if message == "no idea" && place.contains("guess")),
        "{error}"
    );
    let error = decay().fit(data.clone(), [("b", f64::NAN)]).unwrap_err();
    assert!(matches!(error, Error::NonFiniteParameter { what: "start", .. }));
    let error = decay().bound("b", 2.0..).fit(data.clone(), [("b", 1.0)]).unwrap_err();
    assert!(matches!(error, Error::StartOutOfBounds { .. }));
    let error = decay().fit(data, [1.0, 2.0]).unwrap_err();
    assert!(matches!(error, Error::ParameterCount { expected: 3, got: 2, .. }));
}

/// Two columns that are one, and one that is zero at the start: finite values, and a fit that says so.
#[test]
fn starts_are_finite_where_the_data_do_not_determine_them() {
    let (x, y) = points();
    let data = Data::new(&x, &y).unwrap();
    let twice = CurveFit::parse("a*x + b*x + c", ["x"]).unwrap();
    let fit = twice.fit(data.clone(), Start::Guess).unwrap();
    assert!(fit.params().iter().all(|p| p.is_finite() && p.abs() < 1e3), "{fit}");
    assert_eq!(fit.undetermined(), ["a", "b"]);
    let peak = CurveFit::parse("a*exp(-((x - m)/w)^2)", ["x"]).unwrap();
    let start = peak.start(data.clone(), [("m", -1e6), ("w", 0.1)]).unwrap();
    assert_eq!(start, [1.0, -1e6, 0.1]);
    let unused = CurveFit::new(|x, [a, _b]| a * x).names(["a", "b"]);
    let fit = unused.fit(data, Start::Guess).unwrap();
    assert_eq!(fit.undetermined(), ["b"]);
}

/// If a parameter of a native model starts at 0 and becomes 1e-9, steps relative to 1 do not resolve it.
#[test]
fn scales_are_sizes_of_steps() {
    let x: Vec<f64> = (0..50).map(|i| 1e-10 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (-((x - 2e-9) / 1e-9).powi(2)).exp()).collect();
    let data = Data::new(&x, &y).unwrap();
    let value = |x: f64, p: &[f64]| p[0] * (-((x - p[1]) / 1e-9).powi(2)).exp();
    let peak = || CurveFit::native(2, value).names(["height", "center"]);
    let fit = peak().scale("center", 1e-9).fit(data.clone(), [0.5, 0.0]).unwrap();
    assert!(fit.converged() && (fit.params()[1] / 2e-9 - 1.0).abs() < 1e-6, "{fit}");
    // Without it the first attempts do not see the center, and a later one finds it by chance, if at all.
    let blind = peak().fit(data.clone(), [0.5, 0.0]).unwrap();
    assert!(blind.evaluations() > 3 * fit.evaluations(), "{blind}");
    let short = Options::default().max_evaluations(3 * fit.evaluations());
    assert!(!peak().options(short).fit(data.clone(), [0.5, 0.0]).unwrap().converged());
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = peak().scale("center", wrong).fit(data.clone(), [0.5, 0.0]).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingError { what: "scale", .. })));
    }
    let error = peak().scale("centre", 1.0).fit(data, [0.5, 0.0]).unwrap_err();
    assert!(matches!(error, Error::UnknownParameter { .. }));
}

/// In a text `e` is a number as the base of a power, and an error elsewhere: no parameter can have this name.
#[test]
fn a_parameter_with_the_name_of_a_constant_is_explained() {
    let (x, y) = ([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]);
    let data = || Data::new(&x, &y).unwrap();
    let refused = CurveFit::parse("a*x + e", ["x"]).unwrap_err().to_string();
    assert!(refused.contains("`e` could be a parameter or Euler's number"), "{refused}");
    assert!(refused.contains("a*x + e\n        ^"), "{refused}");
    let line = || CurveFit::parse("a*x + e^0.5", ["x"]).unwrap();
    assert_eq!(line().parameters(), ["a"]);
    let says = |result: Result<Fit, Error>, words: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(words) && text.contains("rename the parameter"), "{text}");
    };
    let e = "in a text `e` is the number 2.718…";
    says(line().fit(data(), [("e", 1.0)]), e);
    says(line().bound("e", 0.0..).fit(data(), [1.0]), e);
    says(line().fix("e").fit(data(), [1.0]), e);
    says(line().tie("e", "2*a").fit(data(), [1.0]), e);
    says(line().fix("pi").fit(data(), [1.0]), "in a text `pi` is the number 3.141…");
    let joint = dualfit::GlobalFit::new(&line()).share(["e"]).fit([data(), data()], [1.0, 1.0]);
    says(joint.map(|joint| joint.fit().clone()), e);
    // A closure's parameters may be called so, and other names have nothing to do with it.
    let closure = CurveFit::new(|x, [a, b]| a * x + b).names(["a", "e"]);
    assert!(closure.fit(data(), [("e", 1.0)]).is_ok());
    let other = line().fix("f").fit(data(), [1.0]).unwrap_err().to_string();
    assert!(!other.contains("number"), "{other}");
}

#[test]
fn a_width_that_the_data_do_not_show_ends_at_zero() {
    let x: Vec<f64> = (0..300).map(|i| 0.1 * f64::from(i)).collect();
    let line = |x: f64| 50.0 / (1.0 + ((x - 12.0) / 1.1).powi(2)) + 20.0;
    let y: Vec<f64> =
        x.iter().enumerate().map(|(i, &x)| line(x) + 0.8 * ((i * i) as f64).sin()).collect();
    let fit = |model: dualfit::models::Model| {
        CurveFit::from(model).fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap()
    };
    use dualfit::models::{constant, lorentzian, voigt};
    let (mixed, pure) = (fit(voigt("") + constant("")), fit(lorentzian("") + constant("")));
    assert!(pure.converged() && mixed.converged(), "{mixed}");
    // Without the Gaussian's part both are one model, the Lorentzian's width under another name.
    assert_eq!(mixed.at_bound(), [("sigma", dualfit::result::Side::Lower)]);
    assert_eq!(mixed.param("sigma"), Some(0.0));
    for (name, same) in [("gamma", "sigma"), ("amplitude", "amplitude"), ("c", "c")] {
        let (p, q) = (mixed.param(name).unwrap(), pure.param(same).unwrap());
        let (s, t) = (mixed.std_error(name).unwrap(), pure.std_error(same).unwrap());
        assert!((p - q).abs() < 1e-6 * t && (s / t - 1.0).abs() < 1e-6, "{name}: {p} {q}");
    }
    assert!(mixed.cost() <= pure.cost() * (1.0 + 1e-9));
}

#[test]
fn a_width_that_starts_at_zero_and_should_grow_is_no_minimum() {
    let x: Vec<f64> = (0..300).map(|i| 0.1 * f64::from(i)).collect();
    let peak = |x: f64| 50.0 * (-((x - 12.0) / 1.5).powi(2)).exp();
    let y: Vec<f64> =
        x.iter().enumerate().map(|(i, &x)| peak(x) + 0.2 * ((i * i) as f64).sin()).collect();
    let curve = CurveFit::from(dualfit::models::voigt(""));
    let start = [("amplitude", 130.0), ("center", 12.0), ("sigma", 0.0), ("gamma", 1.0)];
    // No slope says so there, the second derivative does.
    let grown = curve.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let found = curve.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!(found.converged() && grown.converged(), "{grown}");
    assert!((grown.cost() / found.cost() - 1.0).abs() < 1e-9, "{grown}");
}
