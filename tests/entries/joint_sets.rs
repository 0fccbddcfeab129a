//! A set's view of a joint fit: what it says is what the fit of all points by one model, with ties written
//! in, says of that set; and it comes back when it is saved.

use approx::assert_relative_eq;
use dualfit::error::NameError;
use dualfit::result::{Diagnostics, NewPoint};
use dualfit::{CurveFit, Data, Error, Fit, GlobalFit, JointFit, Sigma, Warning};

const LENGTHS: [usize; 3] = [30, 41, 22];
const AMPLITUDES: [f64; 3] = [2.0, 5.0, 1.0];

fn xs(set: usize) -> Vec<f64> {
    (0..LENGTHS[set]).map(|i| 0.13 * i as f64 + 0.01 * set as f64).collect()
}

/// Decays of one rate on a level of half their amplitude, scattered by about 0.05.
fn ys(set: usize) -> Vec<f64> {
    let noise = |i: usize| 0.1 * (((37 * i + 11 + 7 * set) % 23) as f64 / 23.0 - 0.5);
    let level = |x: f64| AMPLITUDES[set] * ((-0.8 * x).exp() + 0.5);
    xs(set).into_iter().enumerate().map(|(i, x)| level(x) + noise(i)).collect()
}

fn sigmas(set: usize) -> Vec<f64> {
    (0..LENGTHS[set]).map(|i| 0.03 + 0.01 * (i % 4) as f64).collect()
}

struct Points {
    x: [Vec<f64>; 3],
    y: [Vec<f64>; 3],
    sigma: [Vec<f64>; 3],
}

fn points() -> Points {
    Points { x: [0, 1, 2].map(xs), y: [0, 1, 2].map(ys), sigma: [0, 1, 2].map(sigmas) }
}

impl Points {
    fn data(&self, set: usize, absolute: bool) -> Data<'_> {
        let data = Data::new(&self.x[set], &self.y[set]).unwrap();
        match absolute {
            true => data.sigma(Sigma::Absolute(&self.sigma[set])).unwrap(),
            false => data,
        }
    }
}

/// `c` follows from `a`.
fn tied() -> CurveFit {
    CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap().tie("c", "0.5*a")
}

/// All sets in one model, the tie written in.
fn by_hand(points: &Points, absolute: bool) -> Fit {
    let text = "if(set < 1.5, a_1, if(set < 2.5, a_2, a_3))*(exp(-k*x) + 0.5)";
    let column: Vec<f64> = (0..3).flat_map(|s| vec![s as f64 + 1.0; LENGTHS[s]]).collect();
    let (x, y, sigma) = (points.x.concat(), points.y.concat(), points.sigma.concat());
    let mut data = Data::new([&column, &x], &y).unwrap();
    if absolute {
        data = data.sigma(Sigma::Absolute(&sigma)).unwrap();
    }
    let curve = CurveFit::parse(text, ["set", "x"]).unwrap();
    let start = [("k", 1.0), ("a_1", 1.0), ("a_2", 1.0), ("a_3", 1.0)];
    curve.fit(data, start).unwrap()
}

fn joint(curve: &CurveFit, points: &Points, absolute: bool) -> JointFit {
    let data = (0..3).map(|set| points.data(set, absolute));
    let fit = GlobalFit::new(curve).share(["k"]).fit(data, [("k", 1.0), ("a", 1.0)]).unwrap();
    assert!(fit.converged());
    fit
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1e-9), "{what}: {a} {b}");
    }
}

#[test]
fn views_of_tied_models_are_those_of_the_substituted_one() {
    let points = points();
    for absolute in [false, true] {
        let (hand, joint) = (by_hand(&points, absolute), joint(&tied(), &points, absolute));
        let native =
            CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]).names(["a", "k", "c"]);
        let native = self::joint(&native.tie("c", "0.5*a"), &points, absolute);
        for (joint, tolerance) in [(joint, 1e-8), (native, 1e-4)] {
            agree(&points, &joint, &hand, absolute, tolerance);
        }
    }
}

fn agree(points: &Points, joint: &JointFit, hand: &Fit, absolute: bool, tolerance: f64) {
    let close = |a: &[f64], b: &[f64], what: &str| close(a, b, tolerance, what);
    let at = [0.0, 1.7, 9.0];
    let new = if absolute { NewPoint::Constant(0.05) } else { NewPoint::Fitted };
    for set in 0..3 {
        let (view, column) = (joint.set(set).unwrap(), [set as f64 + 1.0; 3]);
        let a = format!("a_{}", set + 1);
        assert_eq!((view.tie("c"), view.rank(), view.estimated()), (Some("0.5*a"), 2, 2));
        // The joint fit and its views give the same results.
        for (fit, x) in [(&view, vec![&at]), (joint.fit(), vec![&column, &at])] {
            let found = fit.confidence_band(columns(&x), 0.95).unwrap();
            let expected = hand.confidence_band([&column, &at], 0.95).unwrap();
            close(&found.center, &expected.center, "curve");
            close(&found.std_errors, &expected.std_errors, "band");
            close(&found.upper, &expected.upper, "upper end of the band");
            let found = fit.prediction_band(columns(&x), 0.9, new).unwrap();
            let expected = hand.prediction_band([&column, &at], 0.9, new).unwrap();
            close(&found.std_errors, &expected.std_errors, "prediction band");
            assert_eq!(fit.degrees_of_freedom(), hand.degrees_of_freedom());
            close(&[fit.aic(), fit.aicc()], &[hand.aic(), hand.aicc()], "criteria");
        }
        for (own, all) in [("a", a.clone()), ("k", "k".into()), ("c*k", format!("0.5*{a}*k"))] {
            let (found, expected) = (view.propagate(own).unwrap(), hand.propagate(&all).unwrap());
            close(&[found.value, found.std_error], &[expected.value, expected.std_error], own);
        }
        let found = view.diagnostics(points.data(set, absolute)).unwrap();
        let expected = diagnostics(points, hand, absolute);
        let range = LENGTHS[..set].iter().sum::<usize>()..LENGTHS[..=set].iter().sum::<usize>();
        close(&found.residuals, &expected.residuals[range.clone()], "residuals");
        close(&found.leverage, &expected.leverage[range.clone()], "leverage");
        close(&found.studentized, &expected.studentized[range.clone()], "studentized");
        close(&found.cooks_distance, &expected.cooks_distance[range], "Cook's distance");
        // Two directions of this set, where the joint fit has four.
        let one = view.confidence_band(&at, 0.95).unwrap();
        let all = view.simultaneous_band(&at, 0.95).unwrap();
        let factor = (all.upper[0] - all.center[0]) / (one.upper[0] - one.center[0]);
        let wide = hand.simultaneous_band([&column, &at], 0.95).unwrap();
        let widest = (wide.upper[0] - wide.center[0]) / (one.upper[0] - one.center[0]);
        assert!(factor > 1.2 && factor < 0.85 * widest, "{factor} {widest}");
    }
    assert_eq!(joint.fit().tie("c_2"), Some("0.5*a_2"));
}

fn columns<'a>(x: &[&'a [f64; 3]]) -> Vec<&'a [f64]> {
    x.iter().map(|column| column.as_slice()).collect()
}

fn diagnostics(points: &Points, hand: &Fit, absolute: bool) -> Diagnostics {
    let column: Vec<f64> = (0..3).flat_map(|s| vec![s as f64 + 1.0; LENGTHS[s]]).collect();
    let (x, y, sigma) = (points.x.concat(), points.y.concat(), points.sigma.concat());
    let data = Data::new([&column, &x], &y).unwrap();
    let data = if absolute { data.sigma(Sigma::Absolute(&sigma)).unwrap() } else { data };
    hand.diagnostics(&data).unwrap()
}

#[test]
fn a_parameter_that_only_ties_use_is_used() {
    let points = points();
    let curve = CurveFit::new(|x, [a, m, _k]| a * (-m * x).exp() + 0.5 * a);
    let curve = curve.names(["a", "m", "k"]).tie("m", "2*k");
    let fit = joint(&curve, &points, false);
    assert!(fit.fit().warnings().is_empty(), "{}", fit.fit());
    let hand = by_hand(&points, false);
    let k = fit.fit().param("k").unwrap();
    assert_relative_eq!(2.0 * k, hand.param("k").unwrap(), max_relative = 1e-8);
    // Alone free, too.
    let joint = GlobalFit::new(&curve).share(["k"]).fix("a_1").fix("a_2");
    let data = (0..2).map(|set| points.data(set, false));
    let fit = joint.fit(data, [("a_1", 2.0), ("a_2", 5.0), ("k", 0.5)]).unwrap();
    assert!(fit.converged() && fit.fit().estimated() == 1, "{}", fit.fit());
}

#[test]
fn diagnostics_of_sets_on_scales_far_apart_are_those_of_usual_ones() {
    let points = points();
    let scaled = |set: usize, scale: f64| {
        let by = |values: &[f64]| values.iter().map(|v| v * scale).collect::<Vec<f64>>();
        (by(&points.y[set]), by(&points.sigma[set]))
    };
    let (small, large) = (scaled(0, 1e-180), scaled(1, 1e180));
    fn data<'d>(x: &'d [f64], (y, sigma): &'d (Vec<f64>, Vec<f64>)) -> Data<'d> {
        Data::new(x, y).unwrap().sigma(Sigma::Absolute(sigma)).unwrap()
    }
    let global = GlobalFit::new(&tied()).share(["k"]);
    let start = |a: f64, b: f64| [("k", 1.0), ("a_1", a), ("a_2", b)];
    let (one, two) = (data(&points.x[0], &small), data(&points.x[1], &large));
    let far = global.fit([one.clone(), two], start(1e-180, 1e180)).unwrap();
    let usual = (0..2).map(|set| points.data(set, true));
    let usual = global.fit(usual, start(1.0, 1.0)).unwrap();
    let found = far.set(0).unwrap().diagnostics(&one).unwrap();
    let expected = usual.set(0).unwrap().diagnostics(points.data(0, true)).unwrap();
    close(&found.leverage, &expected.leverage, 1e-6, "leverage");
    close(&found.standardized, &expected.standardized, 1e-6, "standardized");
}

/// The condition by its definition: the Jacobian without the other parameters has the inverse of the
/// covariance as its square, and columns of one length.
fn condition(fit: &Fit, names: &[&str]) -> f64 {
    let at = |name: &&str| fit.names().iter().position(|n| n == name).unwrap();
    let rows: Vec<usize> = names.iter().map(at).collect();
    let all = fit.covariance();
    let own = nalgebra::DMatrix::from_fn(rows.len(), rows.len(), |i, j| all[(rows[i], rows[j])]);
    let square = own.try_inverse().unwrap();
    let scaled = nalgebra::DMatrix::from_fn(rows.len(), rows.len(), |i, j| {
        square[(i, j)] / (square[(i, i)] * square[(j, j)]).sqrt()
    });
    let values = scaled.symmetric_eigenvalues();
    (values.max() / values.min()).sqrt()
}

#[test]
fn rank_and_condition_are_those_of_the_set() {
    let points = points();
    let decay = CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap();
    let fit = joint(&decay, &points, false);
    assert_eq!(fit.fit().rank(), 7);
    for set in 0..3 {
        let view = fit.set(set).unwrap();
        assert_eq!((view.rank(), view.estimated(), view.degrees_of_freedom()), (3, 3, 93 - 7));
        let names = [format!("a_{}", set + 1), "k".into(), format!("c_{}", set + 1)];
        let expected = condition(fit.fit(), &names.each_ref().map(String::as_str));
        assert_relative_eq!(view.condition(), expected, max_relative = 1e-6);
        let report = view.to_string();
        assert!(report.contains(&format!("set {} of 3: points, chi-square", set + 1)), "{report}");
        assert!(view.latex_table().contains("(of all 3 sets)"));
    }
    let one = GlobalFit::new(&decay).share(["k"]).fit([points.data(0, false)], [1.0; 3]).unwrap();
    let (view, alone) = (one.set(0).unwrap(), decay.fit(points.data(0, false), [1.0; 3]).unwrap());
    assert_relative_eq!(view.condition(), alone.condition(), max_relative = 1e-9);
    assert_eq!((view.rank(), view.aic()), (alone.rank(), alone.aic()));
}

#[test]
fn what_one_set_leaves_open_is_said_of_that_set() {
    // The second set has a single x: it cannot separate amplitude and level.
    let (points, decay) = (points(), CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap());
    let (x, y) = ([1.0; 4], [2.0, 2.1, 1.9, 2.05]);
    let data = [points.data(0, false), Data::new(&x, &y).unwrap()];
    let fit = GlobalFit::new(&decay).share(["k"]).fit(data, [1.0; 5]).unwrap();
    assert_eq!((fit.fit().rank(), fit.fit().undetermined()), (4, vec!["a_2", "c_2"]));
    let deficient = |fit: &Fit| -> Vec<Warning> {
        let deficient = |w: &&Warning| matches!(w, Warning::RankDeficient { .. });
        fit.warnings().iter().filter(deficient).cloned().collect()
    };
    let (first, second) = (fit.set(0).unwrap(), fit.set(1).unwrap());
    assert_eq!((first.rank(), first.undetermined(), deficient(&first)), (3, vec![], vec![]));
    assert!(first.condition() < 100.0 && first.confidence_band(&x, 0.9).unwrap().upper[0] < 3.0);
    assert_eq!((second.rank(), second.undetermined()), (2, vec!["a", "c"]));
    assert_eq!(second.condition(), f64::INFINITY);
    let [Warning::RankDeficient { rank: 2, estimated: 3, combination }] = &deficient(&second)[..]
    else {
        panic!("{second}")
    };
    assert!(
        combination.starts_with("a by ") && combination.contains(" with c by "),
        "{combination}"
    );
    assert!(second.confidence_band(&x, 0.9).unwrap().upper[0] < 3.0);
    assert_eq!(second.confidence_band(&[2.0], 0.9).unwrap().upper[0], f64::INFINITY);
}

#[test]
fn warnings_of_a_set_have_its_names_and_are_about_it() {
    let (points, decay) = (points(), CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap());
    let global = GlobalFit::new(&decay).share(["k"]).bound("c_2", 3.0..);
    let fit = global.fit((0..2).map(|set| points.data(set, false)), [2.0, 1.0, 1.0, 5.0, 4.0]);
    let fit = fit.unwrap();
    assert_eq!(fit.fit().at_bound()[0].0, "c_2");
    let (first, second) = (fit.set(0).unwrap(), fit.set(1).unwrap());
    assert!(first.warnings().is_empty(), "{first}");
    // The bound keeps the second curve away from its data.
    let [Warning::AtBound { name, .. }, Warning::CorrelatedResiduals { set: Some(1), .. }] =
        second.warnings()
    else {
        panic!("{second}")
    };
    assert_eq!((name.as_str(), second.rank(), second.estimated()), ("c", 2, 2));
}

#[test]
fn the_spread_of_new_points_is_that_of_the_set() {
    let points = points();
    let data =
        |set: usize, sigma: f64| points.data(set, false).sigma(Sigma::Constant(sigma)).unwrap();
    let fit = GlobalFit::new(&tied()).share(["k"]);
    let fit = fit.fit([data(0, 0.1), data(1, 0.3)], [("k", 1.0), ("a", 1.0)]).unwrap();
    for (set, sigma) in [(0, 0.1), (1, 0.3)] {
        let view = fit.set(set).unwrap();
        let (new, band) = (
            view.prediction_band(&[1.0], 0.9, NewPoint::Fitted).unwrap(),
            view.confidence_band(&[1.0], 0.9).unwrap(),
        );
        let expected = band.std_errors[0].hypot(sigma);
        assert_relative_eq!(new.std_errors[0], expected, max_relative = 1e-12);
    }
    assert!(fit.fit().prediction_band([&[1.0], &[1.0]], 0.9, NewPoint::Fitted).is_err());
}

#[cfg(feature = "json")]
#[test]
fn views_and_joint_fits_come_back_when_they_are_saved() {
    let points = points();
    let decay = CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap();
    let (x, y) = ([1.0; 4], [2.0, 2.1, 1.9, 2.05]);
    let open = [points.data(0, false), Data::new(&x, &y).unwrap()];
    let joints = [
        joint(&tied().derive("area", "a/k"), &points, false),
        joint(&tied(), &points, true),
        joint(&decay.clone().bound("c", 1.0..), &points, false),
        GlobalFit::new(&decay).share(["k"]).fit(open, [1.0; 5]).unwrap(),
    ];
    let at = [0.5, 1.0, 3.0];
    for joint in &joints {
        let views = (0..joint.sets()).map(|set| joint.set(set).unwrap());
        for fit in views.chain([joint.fit().clone()]) {
            let text = fit.to_json().unwrap();
            let again = Fit::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{fit}"));
            assert_eq!(again.to_string(), fit.to_string());
            assert_eq!(again.to_json().unwrap(), text);
            assert_eq!((again.rank(), again.aic()), (fit.rank(), fit.aic()));
            assert_eq!(again.degrees_of_freedom(), fit.degrees_of_freedom());
            for name in fit.names() {
                assert_eq!(again.tie(name), fit.tie(name));
            }
            if fit.names().len() == 3 {
                let band = |fit: &Fit| format!("{:?}", fit.confidence_band(&at, 0.9).unwrap());
                assert_eq!(band(&again), band(&fit));
                let expected = fit.diagnostics(points.data(0, false)).is_ok();
                assert_eq!(again.diagnostics(points.data(0, false)).is_ok(), expected);
            }
        }
    }
}

#[test]
fn names_that_would_be_of_two_things_are_refused() {
    let x: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * (-0.8 * x).exp()).collect();
    let z: Vec<f64> = x.iter().map(|x| 5.0 * (-0.8 * x).exp()).collect();
    let data = || [Data::new(&x, &y).unwrap(), Data::new(&x, &z).unwrap()];
    let refused = |global: GlobalFit| match global.fit(data(), [1.0; 3]) {
        Err(Error::Name(NameError::Taken { name, first, second, .. })) => {
            assert_eq!(
                global.parameters(2).err().map(|e| e.to_string().contains(&name)),
                Some(true)
            );
            (name, first, second)
        }
        other => panic!("{other:?}"),
    };
    let say = |name: &str, first: &str, second: &str| {
        (name.to_owned(), first.to_owned(), second.to_owned())
    };
    let decay = CurveFit::parse("a*exp(-a_1*x)", ["x"]).unwrap();
    let expected = say("a_1", "`a` of set 1", "the model's parameter `a_1`");
    assert_eq!(refused(GlobalFit::new(&decay).share(["a_1"])), expected);
    // A start by that name would be of both.
    assert_eq!(refused(GlobalFit::new(&decay)), expected);
    let error = GlobalFit::new(&decay).parameters(2).unwrap_err().to_string();
    assert_eq!(
        error,
        "the name `a_1` belongs to both `a` of set 1 and the model's parameter `a_1`; rename one of them"
    );
    // Shared both, or with one set that has no such name, there is nothing to confuse.
    let both = GlobalFit::new(&decay).share(["a", "a_1"]);
    assert_eq!(both.parameters(2).unwrap(), ["a", "a_1"]);
    let other = CurveFit::parse("a*exp(-a_3*x)", ["x"]).unwrap();
    assert_eq!(GlobalFit::new(&other).parameters(2).unwrap(), ["a_1", "a_3_1", "a_2", "a_3_2"]);

    // Derived quantities are called after sets, too.
    let decay = CurveFit::parse("a*exp(-k*x)", ["x"]).unwrap();
    let model = decay.clone().derive("area", "a/k").derive("area_1", "1/k");
    let (name, first, second) = refused(GlobalFit::new(&model).share(["k"]));
    assert_eq!(name, "area_1");
    assert!(first.contains("derived") && second.contains("derived"), "{first}, {second}");
    let model = decay.derive("b", "a/k");
    let twin = CurveFit::parse("a*exp(-k*x) + 0*b", ["x"]).unwrap();
    let (name, first, _) = refused(GlobalFit::of([&model, &twin]).bound("a", 0.0..));
    assert_eq!((name.as_str(), first.as_str()), ("b", "the parameter `b`"));
}

#[test]
fn a_variable_called_set_has_its_own_name() {
    let x: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * (-0.8 * x).exp() + 0.01 * (9.0 * x).sin()).collect();
    let decay = CurveFit::parse("a*exp(-k*set)", ["set"]).unwrap();
    let data = || Data::new(&x, &y).unwrap();
    let fit = GlobalFit::new(&decay).share(["k"]).fit([data(), data()], [1.0; 3]).unwrap();
    let pole = CurveFit::parse("a/(set - 0.5*b)", ["set"]).unwrap();
    let error = GlobalFit::new(&pole).fit([data(), data()], [1.0, -1.0, 1.0, 0.2]).unwrap_err();
    assert!(error.to_string().contains("(set_ = 2, set = 0.1)"), "{error}");
    assert!(fit.converged());
}
