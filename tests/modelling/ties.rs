//! A model with tied parameters is the same model with their formulas written in: in every kind of fit,
//! with every form of a model.

use crate::support::suite_ties::{CASES, agree};
use dualfit::error::TieError;
use dualfit::models::Model;
use dualfit::source::SliceSource;
use dualfit::{
    BatchData, CurveFit, Data, Error, Event, GlobalFit, Loss, MultiStart, Start, Stream,
};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

#[test]
fn ties_equal_the_substituted_model() {
    for case in &CASES {
        let (x, y) = case.points(300);
        let data = Data::new(&x, &y).unwrap();
        for loss in [Loss::Linear, Loss::Huber { scale: 0.01 }] {
            let tied = case.tied().loss(loss).fit(data.clone(), case.start).unwrap();
            let by_hand = case.substituted().loss(loss).fit(data.clone(), case.start).unwrap();
            agree(case, &tied, &by_hand, 1e-10);
            let report = tied.to_string();
            for (name, formula) in case.ties {
                assert_eq!(tied.tie(name), Some(*formula));
                assert!(report.contains(&format!("== {formula}")), "{report}");
            }
        }
    }
}

#[test]
fn many_starts_and_streams_keep_ties() {
    for case in &CASES {
        let (x, y) = case.points(300);
        let (tied, data) = (case.tied(), Data::new(&x, &y).unwrap());
        let begin = tied.start(data.clone(), case.start).unwrap();
        let by_hand = case.substituted().fit(data.clone(), case.start).unwrap();
        let again = MultiStart::new(0).also_from(&begin);
        let optima = tied.multi_start(data, &begin, &again).unwrap();
        agree(case, optima.best(), &by_hand, 1e-10);
        assert_eq!(optima.distinct()[0].params(), optima.best().params());
        let source = SliceSource::new(&x, &y).unwrap();
        agree(case, &tied.fit_stream(Stream::new(source), &begin).unwrap(), &by_hand, 1e-8);
    }
}

#[test]
fn batches_keep_ties() {
    for case in &CASES {
        let (x, mut y) = case.points(120);
        for i in 0..120 {
            y.push(y[i] + 0.01 * (3.0 * i as f64).sin());
        }
        let tied = case.tied();
        let data = Data::new(&x, &y[..120]).unwrap();
        let begin = tied.start(data, case.start).unwrap();
        let batch = tied.fit_batch(BatchData::shared(&x, &y).unwrap(), begin.clone()).unwrap();
        for i in 0..2 {
            let data = Data::new(&x, &y[i * 120..][..120]).unwrap();
            let alone = tied.fit(data, begin.clone()).unwrap();
            let view = batch.fit(i);
            for k in 0..begin.len() {
                let (a, b) = (view.params()[k], alone.params()[k]);
                assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{}: {a} {b}", case.name);
                let (a, b) = (view.std_errors()[k], alone.std_errors()[k]);
                assert!((a - b).abs() <= 1e-7 * b.abs(), "{}: error {a} {b}", case.name);
            }
        }
    }
}

/// A function with its own partials, one with differences, and the traced one.
#[test]
fn native_models_keep_ties() {
    let value = |x: f64, p: &[f64]| p[0] * (-p[1] * x).exp() + p[2] * p[3];
    let partials = |x: f64, p: &[f64], out: &mut [f64]| {
        let e = (-p[1] * x).exp();
        out.copy_from_slice(&[e, -p[0] * x * e, p[3], p[2]]);
    };
    let case = &CASES[2];
    let (x, y) = case.points(200);
    let data = Data::new(&x, &y).unwrap();
    let names = ["a", "k", "c", "g"];
    let tied = |model: CurveFit| model.names(names).tie("k", case.ties[0].1);
    let by_hand = case.substituted().fit(data.clone(), case.start).unwrap();
    let native = || CurveFit::native(4, value);
    let exact = tied(native().jacobian(partials)).fit(data.clone(), case.start).unwrap();
    agree(case, &exact, &by_hand, 1e-9);
    agree(case, &tied(native()).fit(data, case.start).unwrap(), &by_hand, 1e-6);
}

#[test]
fn joint_fits_keep_ties() {
    let case = &CASES[0];
    let (x, y) = case.points(200);
    let (x2, y2) = (x[..150].to_vec(), y[..150].to_vec());
    let data = || [Data::new(&x, &y).unwrap(), Data::new(&x2, &y2).unwrap()];
    let start: Vec<(&str, f64)> = case.start.to_vec();
    let joint = |model: CurveFit, shared: &[&str]| {
        GlobalFit::new(&model).share(shared).fit(data(), start.as_slice()).unwrap()
    };
    // The width and the parameter tied to it are shared; or each set has its own.
    for (shared, tied_too) in [(&["s"][..], &["s", "t"][..]), (&["m"], &["m"])] {
        let (by_hand, tied) = (joint(case.substituted(), shared), joint(case.tied(), tied_too));
        for name in by_hand.fit().names() {
            let (a, b) = (tied.fit().param(name).unwrap(), by_hand.fit().param(name).unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{name}: {a} {b}");
        }
        assert_eq!(tied.fit().estimated(), by_hand.fit().estimated());
        let set = tied.set(1).unwrap();
        assert_eq!(set.param("t").unwrap(), 2.0 * set.param("s").unwrap());
        let ratio = set.std_error("t").unwrap() / set.std_error("s").unwrap();
        assert!((ratio - 2.0).abs() < 1e-12, "{ratio}");
    }
    let error = GlobalFit::new(&case.tied()).share(["t"]).fit(data(), start.as_slice());
    assert!(matches!(error, Err(Error::Tie(TieError::DiffersBetweenSets { name })) if name == "t"));
}

#[test]
fn undetermined_and_held_parameters_hand_it_on() {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 1.0 + 0.1 * (9.0 * x).sin()).collect();
    let data = Data::new(&x, &y).unwrap();
    // Only the sum of a and b matters: a parameter tied to the sum is determined, one tied to a is not.
    let model = CurveFit::parse("(a + b)*x + c + 0*(s + d + h)", ["x"]).unwrap();
    let model = model.tie("s", "a + b").tie("d", "a + c").tie("h", "2*c");
    let fit = model.fit(data.clone(), [1.0, 1.0, 0.0, 9.0, 9.0, 9.0]).unwrap();
    assert_eq!(fit.undetermined(), ["a", "b", "d"]);
    let line = CurveFit::parse("s*x + c", ["x"]).unwrap().fit(data.clone(), Start::Guess).unwrap();
    for (name, other, factor) in [("s", "s", 1.0), ("h", "c", 2.0)] {
        let ratio = fit.std_error(name).unwrap() / line.std_error(other).unwrap() / factor;
        assert!((ratio - 1.0).abs() < 1e-10, "{name}: {ratio}");
    }
    // At a bound there is no error to give.
    let held = CurveFit::parse("a*x + c + 0*t", ["x"]).unwrap().bound("a", ..=1.5).tie("t", "a^2");
    let fit = held.fit(data.clone(), [("a", 1.0)]).unwrap();
    assert_eq!(fit.param("t"), Some(2.25));
    assert!(fit.std_error("t").unwrap().is_nan() && fit.std_error("a").unwrap().is_nan());
    // Of fixed ones it is exact.
    let fixed = CurveFit::parse("a*x + c + t", ["x"]).unwrap().fix("a").tie("t", "a/2");
    let fit = fixed.fit(data, [("a", 2.0)]).unwrap();
    assert_eq!((fit.param("t"), fit.std_error("t")), (Some(1.0), Some(0.0)));
    assert_eq!(fit.estimated(), 1);
}

#[test]
fn derived_quantities_have_their_errors() {
    let case = &CASES[0];
    let (x, y) = case.points(200);
    let data = || Data::new(&x, &y).unwrap();
    let fwhm = "2*sqrt(ln(2))*t";
    let model = case.tied().derive("fwhm", fwhm).derive("ratio", "a/b");
    let fit = model.fit(data(), case.start).unwrap();
    let [first, second] = fit.derived() else { panic!("{fit}") };
    assert_eq!((first.name.as_str(), second.name.as_str()), ("fwhm", "ratio"));
    // By hand: the factor is exact, and of the quotient the relative errors and their correlation.
    let factor = 2.0 * 2f64.ln().sqrt();
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b, "{a} {b}");
    close(first.value, factor * fit.param("t").unwrap());
    close(first.std_error, factor * fit.std_error("t").unwrap());
    let at = |name: &str| fit.names().iter().position(|n| n == name).unwrap();
    let (a, b, c) = (fit.param("a").unwrap(), fit.param("b").unwrap(), fit.covariance());
    let (i, j) = (at("a"), at("b"));
    let square = c[(i, i)] / a / a + c[(j, j)] / b / b - 2.0 * c[(i, j)] / a / b;
    close(second.value, a / b);
    assert!((second.std_error / (a / b * square.sqrt()) - 1.0).abs() < 1e-9);
    let report = fit.to_string();
    assert!(report.contains("derived") && report.contains("fwhm"), "{report}");
    let joint = GlobalFit::new(&model).share(["s", "t"]).fit([data(), data()], case.start);
    assert_eq!(joint.unwrap().set(1).unwrap().derived()[0].name, "fwhm");
    let error = model.derive("height", "a/sigma").fit(data(), case.start).unwrap_err();
    assert!(matches!(error, Error::UnknownParameter { name, .. } if name == "sigma"));
}

#[test]
fn profiles_keep_ties() {
    let case = &CASES[0];
    let (x, y) = case.points(150);
    let data = || Data::new(&x, &y).unwrap();
    let interval = |model: CurveFit| {
        let fit = model.fit(data(), case.start).unwrap();
        format!("{:.6?}", model.profile(&fit, data(), "s").unwrap().interval(0.95).unwrap())
    };
    assert_eq!(interval(case.tied()), interval(case.substituted()));
}

#[test]
fn observers_see_tied_values() {
    let case = &CASES[0];
    let (x, y) = case.points(100);
    let seen: Arc<Mutex<Vec<Vec<f64>>>> = Arc::default();
    let notes = seen.clone();
    let tied = case.tied().observe(move |event| {
        let Event::Step(progress) = event else { return ControlFlow::Continue(()) };
        notes.lock().unwrap().push(progress.params.to_vec());
        ControlFlow::Continue(())
    });
    let fit = tied.fit(Data::new(&x, &y).unwrap(), case.start).unwrap();
    let at = |name: &str| fit.names().iter().position(|n| n == name).unwrap();
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|p| p[at("t")] == 2.0 * p[at("s")]));
    assert_eq!(fit.start()[at("t")], 1.2);
}

#[test]
fn impossible_ties_are_refused() {
    let x = [1.0, 2.0, 3.0, 4.0];
    let data = Data::new(&x, &x).unwrap();
    let model = || CurveFit::new(|x, [a, b, c]| a * x + b + c * x * x).names(["a", "b", "c"]);
    let refused = |model: CurveFit| match model.fit(data.clone(), Start::Guess) {
        Err(Error::Tie(error)) => error,
        other => panic!("{other:?}"),
    };
    let own = |names: &[&str]| -> Vec<String> { names.iter().map(|&n| n.to_owned()).collect() };
    let cycle = |names: &[&str]| TieError::Cycle { names: own(names) };
    assert_eq!(refused(model().tie("a", "a + 1")), cycle(&["a"]));
    assert_eq!(refused(model().tie("a", "2*b").tie("b", "a/2")), cycle(&["a", "b"]));
    let error = refused(model().tie("a", "b").tie("b", "c").tie("c", "1 + b"));
    assert_eq!(error, cycle(&["b", "c"]));
    assert_eq!(
        error.to_string(),
        "ties run in a circle: `b` depends on `c` depends on `b`; leave one of them out"
    );
    let added = "correct the tie of `a`, or add the parameter by CurveFit::parameter";
    for (tied, formula, remedy) in [("a", "2*d", added), ("d", "2*a", "correct the tie of `d`")] {
        let error = model().tie(tied, formula).fit(data.clone(), Start::Guess).unwrap_err();
        let remedy = remedy.to_owned();
        let unknown =
            Error::UnknownParameter { name: "d".into(), known: own(&["a", "b", "c"]), remedy };
        assert_eq!(error, unknown);
    }
    let text = |model: CurveFit| refused(model).to_string();
    assert_eq!(
        text(model().tie("a", "b").tie("a", "c")),
        "`a` is tied to `b` and to `c`; leave one of these ties out"
    );
    // In any order.
    let fixed = "`a` is tied to `b` and fixed; free it, or leave the tie out";
    assert_eq!(text(model().tie("a", "b").fix("a")), fixed);
    assert_eq!(text(model().fix("a").tie("a", "b")), fixed);
    let bounded = "`a` is tied to `b` and has bounds, which a tie does not keep; bound the parameters in its formula instead";
    assert_eq!(text(model().bound("a", 0.0..).tie("a", "b")), bounded);
    let error = model().tie("a", "b").fit(data.clone(), [("a", 1.0)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a` is tied to `b` and has a value in the start; leave that out"
    );
    let error = model().tie("a", "2*").fit(data, Start::Guess).unwrap_err();
    assert!(matches!(error, Error::Parse { column: 3, .. }), "{error}");
}

/// lmfit's recipe for ordered parameters: a tie names a parameter that the model does not have, in every form of a model.
#[test]
fn ties_may_name_added_parameters() {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let value = |x: f64, p: &[f64]| p[0] * (-x / p[1]).exp() + p[2] * (-x / p[3]).exp();
    let noise = |i: usize| 0.01 * (17.0 * (i * i) as f64).sin();
    let y: Vec<f64> =
        x.iter().enumerate().map(|(i, &x)| value(x, &[3.0, 0.4, 2.0, 2.5]) + noise(i)).collect();
    let by_hand = CurveFit::parse("a1*exp(-x/t1) + a2*exp(-x/(t1 + d))", ["x"]).unwrap();
    let data = || Data::new(&x, &y).unwrap();
    let expected = by_hand.fit(data(), [("t1", 1.0), ("d", 1.0)]).unwrap();
    let partials = |x: f64, p: &[f64], out: &mut [f64]| {
        assert_eq!((p.len(), out.len()), (4, 4));
        for k in [0, 2] {
            out[k] = (-x / p[k + 1]).exp();
            out[k + 1] = p[k] * out[k] * x / (p[k + 1] * p[k + 1]);
        }
    };
    let names = ["a1", "t1", "a2", "t2"];
    let native = || CurveFit::native(4, move |x, p| value(x, p)).names(names);
    let arrays = move |x: &[f64], p: &[f64], out: &mut [f64]| {
        assert_eq!(p.len(), 4);
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = value(x, p));
    };
    let traced = CurveFit::parse("a1*exp(-x/t1) + a2*exp(-x/t2)", ["x"]).unwrap();
    for curve in [
        traced,
        native(),
        native().jacobian(partials),
        CurveFit::native_arrays(4, arrays).names(names),
    ] {
        let guess = |_: &dualfit::arrays::Observations| vec![3.0, 1.0, 2.0, f64::NAN];
        let curve = curve.guess(guess).parameter("d").bound("d", 0.0..).tie("t2", "t1 + d");
        assert_eq!(curve.parameters(), ["a1", "t1", "a2", "t2", "d"]);
        let fit = curve.fit(data(), [("d", 1.0)]).unwrap();
        for name in ["a1", "t1", "a2", "d"] {
            let (found, error) = (fit.param(name).unwrap(), fit.std_error(name).unwrap());
            let wanted = expected.std_error(name).unwrap();
            assert!((found - expected.param(name).unwrap()).abs() < 1e-3 * wanted, "{name} {fit}");
            assert!((error / wanted - 1.0).abs() < 1e-3, "{name}: {error} {wanted}");
        }
        assert_eq!(fit.param("t2").unwrap(), fit.param("t1").unwrap() + fit.param("d").unwrap());
        assert!(fit.warnings().is_empty() && fit.estimated() == 4, "{fit}");
        // A limit holds, and so does a fixed value.
        let held = curve.clone().bound("d", 0.0..=1.0).fit(data(), [("d", 0.5)]).unwrap();
        assert_eq!(held.param("d"), Some(1.0));
        let fixed = curve.clone().fix("d").fit(data(), [("d", 2.1)]).unwrap();
        assert_eq!((fixed.param("d"), fixed.estimated()), (Some(2.1), 3));
        // Batches and joint fits know it as well.
        let stack = [y.clone(), y.clone()].concat();
        let batch = curve
            .fit_batch(BatchData::shared(&x, &stack).unwrap(), [3.0, 1.0, 2.0, 0.0, 1.0])
            .unwrap();
        assert!((batch.params()[9] - expected.param("d").unwrap()).abs() < 1e-4);
        let joint = GlobalFit::new(&curve)
            .share(["d", "t1", "t2"])
            .fit([data(), data()], [3.0, 1.0, 2.0, 0.0, 1.0, 3.0, 2.0]);
        let joint = joint.unwrap();
        assert!(
            (joint.fit().param("d").unwrap() - expected.param("d").unwrap()).abs() < 1e-4,
            "{}",
            joint.fit()
        );
    }
    // A guess of the library has a value for the added parameter, too.
    let library = Model::expression("a1*exp(-x/t1) + a2*exp(-x/t2)", ["x"]).unwrap();
    let curve = library.curve().unwrap().parameter("d").bound("d", 0.0..).tie("t2", "t1 + d");
    let fit = curve.fit(data(), Start::Guess).unwrap();
    assert!((fit.param("d").unwrap() - expected.param("d").unwrap()).abs() < 1e-4, "{fit}");
    let taken = by_hand.clone().parameter("d").fit(data(), Start::Guess).unwrap_err();
    assert!(matches!(taken, Error::Name(_)), "{taken}");
    let unused = by_hand.parameter("q").fit(data(), [("t1", 1.0), ("d", 1.0), ("q", 1.0)]).unwrap();
    assert!(unused.to_string().contains("`q` does not change the model"), "{unused}");
}
