//! Saved batches, joint fits, profiles, optima and bootstraps: the same bits after reading, through JSON and a
//! binary format. A changed byte gives an error or a value, never a panic.

#![cfg(feature = "json")]

use dualfit::error::SavedError;
use dualfit::result::{Replicates, Resample};
use dualfit::{
    BatchData, BatchFit, Bootstrap, CurveFit, Data, DifferentialEvolution, Error, GlobalFit,
    JointFit, MultiStart, Optima, Profile,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

fn x() -> Vec<f64> {
    (0..12).map(|i| 0.3 * f64::from(i)).collect()
}

fn y(amplitude: f64, rate: f64) -> Vec<f64> {
    let noise = |x: f64| 0.02 * (17.0 * x).sin();
    x().into_iter().map(|x| amplitude * (-rate * x).exp() + noise(x)).collect()
}

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-b*x)", ["x"]).unwrap()
}

/// One of each kind of end: converged, held by a bound, too few points.
fn batch() -> BatchFit {
    let (x, mut stack) = (x(), Vec::new());
    for rate in [0.4, 0.9, 3.0] {
        stack.extend(y(2.0, rate));
    }
    stack[30] = f64::NAN;
    let curve = decay().bound("b", 0.5..).keep_covariance(true);
    curve.fit_batch(BatchData::shared(&x, &stack).unwrap(), [1.0, 1.0]).unwrap()
}

/// With a parameter in common, ties and derived quantities.
fn joint() -> JointFit {
    let (x, first, second) = (x(), y(2.0, 0.8), y(5.0, 0.8));
    let curve = CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap();
    let curve = curve.tie("c", "a/100").derive("life", "1/k").derive("area", "a/k");
    let sets = [&first, &second].map(|y| Data::new(&x, y).unwrap());
    GlobalFit::new(&curve).share(["k"]).fit(sets, [("k", 1.0), ("a", 1.0)]).unwrap()
}

fn native_joint() -> JointFit {
    let (x, first, second) = (x(), y(2.0, 0.8), y(5.0, 0.8));
    let curve = CurveFit::native(2, |x: f64, p: &[f64]| p[0] * (-p[1] * x).exp()).names(["a", "k"]);
    let sets = [&first, &second].map(|y| Data::new(&x, y).unwrap());
    GlobalFit::new(&curve).share(["k"]).fit(sets, [1.0, 1.0, 1.0]).unwrap()
}

fn profile() -> Profile {
    let (x, y) = (x(), y(2.0, 0.8));
    let data = Data::new(&x, &y).unwrap();
    let fit = decay().fit(data.clone(), [1.0, 1.0]).unwrap();
    decay().profile_to(&fit, data, "b", 0.9).unwrap()
}

/// Of a fit in a worse minimum, so that the profile comes upon a better one.
fn better() -> Profile {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() + 0.3 * (31.0 * x).cos()).collect();
    let wave = CurveFit::parse("a*sin(w*x) + c", ["x"]).unwrap();
    let data = Data::new(&x, &y).unwrap();
    let fit = wave.fit(data.clone(), [0.1, 4.0, 0.0]).unwrap();
    let profile = wave.profile(&fit, data, "w").unwrap();
    assert!(profile.better().is_some());
    profile
}

/// Some of the starts fail: the logarithm has no value there.
fn optima() -> Optima {
    let x: Vec<f64> = (0..20).map(|i| 0.2 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() + 0.1).collect();
    let wave = CurveFit::parse("sin(w*x) + c + 0*ln(w - 1)", ["x"]).unwrap();
    let wave = wave.bound("w", 0.5..=4.0).bound("c", -1.0..=1.0);
    let data = Data::new(&x, &y).unwrap();
    let optima = wave.multi_start(data, [1.9, 0.0], &MultiStart::new(6)).unwrap();
    assert!(optima.trials().iter().any(|trial| trial.error().is_some()));
    assert!(optima.converged() > 0);
    optima
}

/// Of populations, which took evaluations of their own.
fn evolved() -> Optima {
    let x: Vec<f64> = (0..20).map(|i| 0.2 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() + 0.1).collect();
    let wave = CurveFit::parse("sin(w*x) + c", ["x"]).unwrap();
    let wave = wave.bound("w", 0.5..=4.0).bound("c", -1.0..=1.0);
    let (data, search) = (Data::new(&x, &y).unwrap(), DifferentialEvolution::new());
    let optima = wave.differential_evolution(data, [1.9, 0.0], &search).unwrap();
    assert!(optima.trials()[0].searched() > 0);
    optima
}

/// With a derived quantity, and fits without some of the points.
fn replicates(how: Resample) -> Replicates {
    let (x, y) = (x(), y(2.0, 0.8));
    let (data, decay) = (Data::new(&x, &y).unwrap(), decay().derive("life", "1/b"));
    let fit = decay.fit(data.clone(), [1.0, 1.0]).unwrap();
    decay.bootstrap(&fit, data, &Bootstrap::new(24).resample(how)).unwrap()
}

/// `to_json` and `from_json` of a kind.
trait Kept: Serialize + DeserializeOwned {
    const WHAT: &str;
    fn to_text(&self) -> String;
    fn of_text(text: &str) -> Result<Self, Error>;
    /// Calls all methods, so that a value read from damaged text has a chance to panic. The text contains all results
    /// except times and positions.
    fn ask(&self) -> String;
}

macro_rules! kept {
    ($type:ty, $what:literal, $ask:expr) => {
        impl Kept for $type {
            const WHAT: &str = $what;
            fn to_text(&self) -> String {
                self.to_json().unwrap()
            }
            fn of_text(text: &str) -> Result<Self, Error> {
                Self::from_json(text)
            }
            fn ask(&self) -> String {
                let ask: fn(&$type) -> String = $ask;
                ask(self)
            }
        }
    };
}

fn all(answers: &[&dyn Debug]) -> String {
    answers.iter().map(|answer| format!("{answer:?}\n")).collect()
}

kept!(BatchFit, "batch", |batch| {
    let views: Vec<_> = batch.iter().map(|fit| (fit.status(), fit.reduced_chi_square())).collect();
    let held: Vec<_> = batch.iter().map(|fit| fit.at_bound().collect::<Vec<_>>()).collect();
    let covariances: Vec<_> = batch.iter().map(|fit| fit.covariance()).collect();
    let table = batch.table();
    let text = (batch.to_string(), table.to_string(), table.markdown(), table.html());
    let arrays = (batch.params(), batch.std_errors(), batch.costs(), batch.effective_points());
    all(&[&views, &held, &covariances, &text, &arrays, &batch.iterations(), &batch.reason()])
});
kept!(JointFit, "joint fit", |joint| {
    let sets: Vec<_> = (0..joint.sets()).map(|set| joint.set(set)).collect();
    let told: Vec<_> = sets.iter().flatten().map(|fit| (fit.to_string(), fit.table())).collect();
    let asked: Vec<_> = sets
        .iter()
        .flatten()
        .map(|fit| (fit.predict(&[0.5, 1.0]), fit.confidence_band(&[1.0], 0.9)))
        .collect();
    let whole = joint.fit().predict([&[1.0, 2.0], &[0.5, 0.5]]);
    all(&[&joint.to_string(), &told, &asked, &whole, &joint.chi_squares()])
});
kept!(Profile, "profile", |profile| {
    let intervals = [0.5, 0.68, 0.9].map(|level| profile.interval(level));
    let better = profile.better().map(ToString::to_string);
    all(&[&intervals, &better, &profile.values(), &profile.taus(), &profile.params(), profile])
});
kept!(Optima, "set of optima", |optima| {
    let errors: Vec<_> = optima.trials().iter().map(|t| t.error().map(Error::to_string)).collect();
    let counts = (optima.converged(), optima.evaluations(), optima.chance_of_unseen());
    let best = (optima.best().to_string(), optima.best().predict(&[0.5]));
    all(&[&errors, &counts, &best, &optima.to_string(), &optima.distinct(), &optima.trials()])
});
kept!(Replicates, "bootstrap", |made| {
    let intervals = (made.percentile_intervals(0.5), made.bca_intervals(0.5));
    let asked = ["a", "life", "a/b"].map(|of| made.quantity(of).map(|q| q.bca_interval(0.5)));
    let counts = (made.resample(), made.len(), made.failed(), made.not_run());
    let errors = (made.std_errors(), made.bias(), made.derived());
    all(&[&intervals, &asked, &counts, &errors, &made.to_string(), &made.params(), &made.names()])
});

fn comes_back<K: Kept>(kept: &K) {
    let text = kept.to_text();
    let again = K::of_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.ask(), kept.ask(), "{}", K::WHAT);
    assert_eq!(again.to_text(), text);
    let bytes = postcard::to_stdvec(kept).unwrap();
    let third: K = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(third.to_text(), text);
    assert!(bytes.len() < text.len());
}

#[test]
fn all_kinds_come_back_to_the_last_bit() {
    comes_back(&batch());
    comes_back(&joint());
    comes_back(&profile());
    comes_back(&better());
    comes_back(&optima());
    comes_back(&evolved());
    comes_back(&replicates(Resample::Parametric));
    comes_back(&replicates(Resample::Pairs));
}

#[test]
fn joint_fits_of_native_models_are_saved_without_them() {
    let joint = native_joint();
    let again = JointFit::from_json(&joint.to_json().unwrap()).unwrap();
    assert_eq!(again.to_string(), joint.to_string());
    let (set, before) = (again.set(1).unwrap(), joint.set(1).unwrap());
    assert_eq!(set.covariance(), before.covariance());
    assert_eq!(set.predict(&[1.0]), Err(Error::Saved(SavedError::NoModel)));
    assert!(before.predict(&[1.0]).is_ok());
}

/// Each byte in turn becomes another, or is left out, and the text ends there.
fn survives<K: Kept>(kept: &K) {
    let text = kept.to_text();
    let (mut read, mut refused) = (0, 0);
    for at in 0..text.len() {
        assert!(K::of_text(&text[..at]).is_err(), "{} cut at byte {at}", K::WHAT);
        for new in ["", "0", "9", "-", "e", "\"", "]", "null,"] {
            let damaged = format!("{}{new}{}", &text[..at], &text[at + 1..]);
            match K::of_text(&damaged) {
                Ok(kept) => read += usize::from(!kept.ask().is_empty()),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 100 && refused > 1000, "{}: {read} were read, {refused} refused", K::WHAT);
    for at in 0..200 {
        let mut bytes = postcard::to_stdvec(kept).unwrap();
        let at = at * bytes.len() / 200;
        bytes[at] ^= 0xff;
        let _ = postcard::from_bytes::<K>(&bytes).map(|kept| kept.ask());
    }
}

#[test]
fn no_byte_of_a_batch_panics() {
    survives(&batch());
}

#[test]
fn no_byte_of_a_joint_fit_panics() {
    survives(&joint());
}

#[test]
fn no_byte_of_a_profile_panics() {
    survives(&profile());
}

#[test]
fn no_byte_of_optima_panics() {
    survives(&optima());
}

#[test]
fn no_byte_of_a_bootstrap_panics() {
    survives(&replicates(Resample::Pairs));
}

fn changed<K: Kept>(kept: &K, pointer: &str, value: Value) -> Error {
    let mut whole: Value = serde_json::from_str(&kept.to_text()).unwrap();
    *whole.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
    let Err(error) = K::of_text(&whole.to_string()) else { panic!("{pointer} was taken") };
    error
}

#[test]
fn what_is_wrong_is_said() {
    let version = |what| Error::Saved(SavedError::Version { what, found: 9, known: 1 });
    assert_eq!(changed(&batch(), "/version", json!(9)), version("batch"));
    assert_eq!(changed(&joint(), "/version", json!(9)), version("joint fit"));
    assert_eq!(changed(&joint(), "/fit/version", json!(9)), version("fit"));
    assert_eq!(changed(&profile(), "/version", json!(9)), version("profile"));
    assert_eq!(changed(&optima(), "/version", json!(9)), version("set of optima"));
    let bootstrap = || replicates(Resample::Pairs);
    assert_eq!(changed(&bootstrap(), "/version", json!(9)), version("bootstrap"));

    let length =
        |of, what, expected, got| Error::Saved(SavedError::Length { what, of, expected, got });
    assert_eq!(changed(&batch(), "/params", json!([1.0])), length("batch", "params", 6, 1));
    assert_eq!(changed(&batch(), "/sides", json!([null])), length("batch", "sides", 6, 1));
    assert_eq!(
        changed(&batch(), "/covariances", json!([0])),
        length("batch", "covariances", 12, 1)
    );
    assert_eq!(changed(&joint(), "/sets", json!([])), length("joint fit", "sets", 2, 0));
    assert_eq!(
        changed(&joint(), "/sets/1/params", json!([0])),
        length("joint fit", "params of a set", 3, 1)
    );
    assert_eq!(
        changed(&profile(), "/nodes/0/params", json!([])),
        length("profile", "params of a node", 2, 0)
    );
    assert_eq!(
        changed(&bootstrap(), "/estimate", json!([1.0])),
        length("bootstrap", "parameters of the fit", 2, 1)
    );
    assert_eq!(changed(&bootstrap(), "/params", json!([1.0])), length("bootstrap", "params", 0, 1));
    assert_eq!(
        changed(&optima(), "/trials/0/start", json!([])),
        length("set of optima", "start of a trial", 2, 0)
    );

    let reference = |place: &str, what, index, count| {
        Error::Saved(SavedError::Reference { place: place.into(), what, index, count })
    };
    assert_eq!(
        changed(&batch(), "/statuses/0", json!({"BadStart": {"parameter": 2}})),
        reference("a status of the saved batch", "parameter", 2, 2)
    );
    assert_eq!(
        changed(&joint(), "/sets/0/params/0", json!(7)),
        reference("a set of the saved joint fit", "parameter", 7, 5)
    );
    assert_eq!(
        changed(&profile(), "/nodes", json!([])),
        reference("`best` of the saved profile", "node", profile_best(), 0)
    );
    assert_eq!(
        changed(&optima(), "/distinct/0/trials", json!([70])),
        reference("an optimum of the saved set", "trial", 70, 7)
    );
    for (pointer, value, words) in [
        ("/nodes/0/value", json!(1e9), "do not ascend"),
        ("/nodes/0/value", json!("nan"), "do not ascend"),
        ("/dof", json!(-1.0), "degrees of freedom"),
        ("/level", json!(1.0), "level"),
    ] {
        let said = changed(&profile(), pointer, value).to_string();
        assert!(said.contains(words), "{said}");
    }
    let twice = changed(&joint(), "/sets/0/params/0", json!(1)).to_string();
    assert!(twice.contains("two parameters of a set"), "{twice}");
    // One kind is not taken for another.
    assert!(matches!(
        Optima::from_json(&batch().to_json().unwrap()),
        Err(Error::Saved(SavedError::Malformed { what: "set of optima", .. }))
    ));
}

fn profile_best() -> usize {
    let whole: Value = serde_json::from_str(&profile().to_text()).unwrap();
    usize::try_from(whole["best"].as_u64().unwrap()).unwrap()
}
