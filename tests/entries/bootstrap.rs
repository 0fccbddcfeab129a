//! Bootstraps: what may not change them, what they refuse, how they are watched and stopped.

use crate::multi_start::standard::with_threads;
use dualfit::error::UncertaintyError;
use dualfit::result::{Replicates, Resample};
use dualfit::{
    Bootstrap, CancelToken, CurveFit, Data, Error, Estimator, Event, Fit, Loss, Matrix, Sigma,
};
use std::ops::ControlFlow;
use std::sync::Mutex;

const KINDS: [Resample; 3] = [Resample::Residuals, Resample::Parametric, Resample::Pairs];

fn x() -> Vec<f64> {
    (0..24).map(|i| 0.15 * f64::from(i)).collect()
}

fn y() -> Vec<f64> {
    x().iter().map(|x| 2.0 * (-x).exp() + 0.5 + 0.05 * (23.0 * x * x).sin()).collect()
}

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap().derive("life", "1/b")
}

fn fitted(curve: &CurveFit, data: &Data<'_>) -> Fit {
    curve.fit(data.clone(), [("b", 1.0)]).unwrap()
}

fn made(curve: &CurveFit, data: &Data<'_>, how: &Bootstrap) -> Result<Replicates, Error> {
    curve.bootstrap(&fitted(curve, data), data.clone(), how)
}

fn why(error: &Error) -> &UncertaintyError {
    match error {
        Error::Uncertainty(error) => error,
        other => panic!("{other}"),
    }
}

/// Batches, fits one by one (a prior), a mask, a robust loss in two stages, a tie and a fixed parameter.
#[test]
fn threads_memory_and_count_change_no_replicate() {
    let (x, y) = (x(), y());
    let mask: Vec<bool> = (0..24).map(|i| i % 5 != 2).collect();
    let plain = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.05)).unwrap();
    let masked = plain.clone().mask(&mask).unwrap();
    for (curve, data) in [
        (decay(), &plain),
        (decay().prior("c", 0.4, 0.05), &masked),
        (decay().loss(Loss::Tukey { scale: 3.0 }), &masked),
        (decay().tie("c", "a/4"), &plain),
        (decay().fix("b"), &masked),
    ] {
        for kind in KINDS {
            let how = Bootstrap::new(300).resample(kind).seed(9);
            let one = with_threads(1, || made(&curve, data, &how)).unwrap();
            let four = with_threads(4, || made(&curve, data, &how.clone().memory(1))).unwrap();
            assert_eq!(one.params(), four.params(), "{kind:?}");
            assert_eq!(one.to_string(), four.to_string());
            let few = Bootstrap::new(100).resample(kind).seed(9);
            let few = made(&curve, data, &few).unwrap();
            assert!(few.len() >= 95, "{few}");
            assert_eq!(few.params(), &one.params()[..few.params().len()], "{kind:?}");
            let other = made(&curve, data, &how.seed(10)).unwrap();
            assert_ne!(one.params(), other.params());
        }
    }
}

#[test]
fn ties_hold_and_fixed_parameters_stay_in_every_replicate() {
    let (x, y) = (x(), y());
    let data = Data::new(&x, &y).unwrap();
    let tied = made(&decay().tie("c", "a/4"), &data, &Bootstrap::new(250)).unwrap();
    assert!(tied.params().chunks(3).all(|p| p[2] == p[0] / 4.0));
    let fixed = decay().fix("b");
    let fit = fixed.fit(data.clone(), [("a", 1.0), ("b", 1.1), ("c", 0.0)]).unwrap();
    let held = fixed.bootstrap(&fit, data, &Bootstrap::new(250)).unwrap();
    assert!(held.params().chunks(3).all(|p| p[1] == 1.1));
    let interval = held.quantity("b").unwrap().bca_interval(0.9).unwrap();
    assert!(interval.lower == 1.1 && interval.upper == 1.1 && interval.lower_error == 0.0);
}

#[test]
fn quantities_are_those_of_every_replicate() {
    let (x, y) = (x(), y());
    let replicates = made(&decay(), &Data::new(&x, &y).unwrap(), &Bootstrap::new(400)).unwrap();
    let b = replicates.quantity("b").unwrap();
    let life = replicates.quantity("life").unwrap();
    let said = replicates.quantity("1/b").unwrap();
    let traced = replicates.quantity_fn(|p| 1.0 / p[1]).unwrap();
    assert_eq!(life.values(), said.values());
    assert_eq!(life.values(), traced.values());
    assert!(life.values().iter().zip(b.values()).all(|(life, b)| *life == 1.0 / b));
    assert_eq!(replicates.derived().unwrap(), std::slice::from_ref(&life));
    // A percentile interval is that of the inverse, turned round, but for the line between neighbours.
    let (p, q) = (b.percentile_interval(0.9).unwrap(), life.percentile_interval(0.9).unwrap());
    assert!((p.lower * q.upper - 1.0).abs() < 1e-3 && (p.upper * q.lower - 1.0).abs() < 1e-3);
    assert_eq!(replicates.std_errors()[1], b.std_error());
    assert_eq!(replicates.bias()[1], b.bias());
    assert!(matches!(replicates.quantity("1/k"), Err(Error::UnknownParameter { .. })));
    assert!(matches!(replicates.quantity("1/("), Err(Error::Parse { .. })));
    let error = replicates.quantity("ln(b - 1)").unwrap_err();
    assert!(matches!(why(&error), UncertaintyError::UndefinedQuantity { .. }), "{error}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (x, y) = (x(), y());
    let data = Data::new(&x, &y).unwrap();
    for n in [0, 1, usize::MAX] {
        let error = made(&decay(), &data, &Bootstrap::new(n)).unwrap_err();
        assert!(matches!(error, Error::BadOption { name: "replicates", .. }), "{error}");
    }
    let no = |curve: &CurveFit, data: &Data<'_>, kind, says: &str| {
        let error = made(curve, data, &Bootstrap::new(200).resample(kind)).unwrap_err();
        assert!(matches!(why(&error), UncertaintyError::NoBootstrap { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    };
    let robust = decay().loss(Loss::Huber { scale: 0.05 });
    no(&robust, &data, Resample::Parametric, "robust loss");
    let covariance = Matrix::from_fn(24, 24, |i, j| 0.01 * 0.5_f64.powi(i.abs_diff(j) as i32));
    let correlated = data.clone().sigma(Sigma::Covariance(&covariance)).unwrap();
    no(&decay(), &correlated, Resample::Pairs, "correlated");
    let residuals = made(&decay(), &correlated, &Bootstrap::new(250)).unwrap();
    let error = residuals.bca_intervals(0.9).unwrap_err();
    assert!(matches!(why(&error), UncertaintyError::NoBca { .. }), "{error}");
    assert!(residuals.percentile_intervals(0.9).is_ok());
    let inexact = data.clone().sigma(Sigma::Constant(0.1)).unwrap().x_sigma(&[0.1]).unwrap();
    no(&decay(), &inexact, Resample::Residuals, "distance");
    let counts: Vec<f64> = x.iter().map(|x| (50.0 * (-x).exp() + 10.0).round()).collect();
    let counted = decay().estimator(Estimator::Poisson).bound("c", 0.0..).bound("a", 0.0..);
    no(&counted, &Data::new(&x, &counts).unwrap(), Resample::Residuals, "counts");
    let three = Data::new(&x[..3], &y[..3]).unwrap();
    for kind in KINDS {
        no(&decay(), &three, kind, "measure");
    }
    // Of another fit, and of one that has not converged.
    let fit = fitted(&decay(), &data);
    let twice: Vec<f64> = y.iter().map(|y| 2.0 * y).collect();
    let other = Data::new(&x, &twice).unwrap();
    let error = decay().bootstrap(&fit, other, &Bootstrap::new(200)).unwrap_err();
    assert!(matches!(why(&error), UncertaintyError::OtherFit { .. }), "{error}");
    let hasty = decay().options(dualfit::Options::default().max_evaluations(2_usize));
    no(&hasty, &data, Resample::Pairs, "converge");
}

#[test]
fn few_replicates_say_so() {
    let (x, y) = (x(), y());
    let data = Data::new(&x, &y).unwrap();
    let replicates = made(&decay(), &data, &Bootstrap::new(199)).unwrap();
    assert!(replicates.percentile_intervals(0.9).is_ok());
    for found in [replicates.percentile_intervals(0.95), replicates.bca_intervals(0.95)] {
        let error = found.unwrap_err();
        let UncertaintyError::TooFewReplicates { replicates, needed, .. } = *why(&error) else {
            panic!("{error}")
        };
        assert_eq!((replicates, needed), (199, 200));
    }
    assert!(matches!(replicates.bca_intervals(1.0), Err(Error::BadOption { name: "level", .. })));
    // Four points for three parameters: many draws determine less, and are counted.
    let [x, y] = [&x, &y].map(|all| [0, 4, 10, 20].map(|i| all[i]));
    let few = Data::new(&x, &y).unwrap();
    let how = Bootstrap::new(500).resample(Resample::Pairs);
    let replicates = made(&decay(), &few, &how).unwrap();
    assert_eq!(replicates.len() + replicates.failed(), 500);
    let error = replicates.percentile_intervals(0.9).unwrap_err();
    let failed = replicates.failed();
    assert_eq!(*why(&error), UncertaintyError::ReplicatesFailed { failed, made: 500 });
}

#[test]
fn an_observer_hears_of_all_refits_as_of_one_batch_and_ends_them() {
    static HEARD: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
    let (x, y) = (x(), y());
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.05)).unwrap();
    for curve in [decay(), decay().prior("c", 0.4, 0.05)] {
        HEARD.lock().unwrap().clear();
        let fit = fitted(&curve, &data);
        let watched = curve.clone().observe(|event| {
            if let Event::Batch(now) = event {
                HEARD.lock().unwrap().push((now.finished, now.n_fits));
            }
            ControlFlow::Continue(())
        });
        // Draws of 24 points take 1 or 2 · 8 · 24 bytes: several batches.
        let how = Bootstrap::new(250).memory(20_000);
        let whole = watched.bootstrap(&fit, data.clone(), &how).unwrap();
        let heard = HEARD.lock().unwrap().clone();
        // 250 replicates and 24 fits without a point.
        assert!(heard.iter().all(|&(_, all)| all == 274) && heard.len() > 5);
        assert!(heard.windows(2).all(|w| w[0].0 < w[1].0) && heard.last().unwrap().0 == 274);

        let ended = curve.clone().observe(|event| match event {
            Event::Batch(now) if now.finished >= 50 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let part = with_threads(1, || ended.bootstrap(&fit, data.clone(), &how)).unwrap();
        assert!(part.len() >= 50 && part.not_run() > 0 && part.len() + part.not_run() == 250);
        assert_eq!(part.params()[..150], whole.params()[..150]);
        assert!(part.to_string().contains("stopped by the caller"), "{part}");
        let error = part.quantity("b").unwrap().bca_interval(0.5).unwrap_err();
        assert!(matches!(why(&error), UncertaintyError::NoBca { .. }), "{error}");

        let panics = curve.clone().observe(|event| match event {
            Event::Batch(_) => panic!("heard"),
            _ => ControlFlow::Continue(()),
        });
        let error = panics.bootstrap(&fit, data.clone(), &how).unwrap_err();
        assert!(matches!(error, Error::ObserverPanicked { .. }), "{error}");

        let token = CancelToken::new();
        let cancelled = curve.clone().cancel_token(token.clone()).observe(move |event| {
            if matches!(event, Event::Batch(_)) {
                token.cancel();
            }
            ControlFlow::Continue(())
        });
        let part = cancelled.bootstrap(&fit, data.clone(), &how).unwrap();
        assert!(part.not_run() > 0 && part.failed() == 0, "{part}");
    }
}

/// Native models, and x at infinity, where a batch is refused.
#[test]
fn models_and_data_that_are_no_usual_ones_are_drawn_too() {
    let mut x: Vec<f64> = x().iter().map(|x| 0.2 + x).collect();
    x.push(f64::INFINITY);
    let y: Vec<f64> = x
        .iter()
        .zip(0..)
        .map(|(x, i)| 2.0 * (-1.0 / x).exp() + 0.5 + 0.05 * f64::from(i * i).sin())
        .collect();
    let growth = CurveFit::parse("a*exp(-b/x) + c", ["x"]).unwrap();
    let data = Data::new(&x, &y).unwrap().allow_infinite_x(true);
    let native = CurveFit::native(3, |x: f64, p: &[f64]| p[0] * (-p[1] / x).exp() + p[2]);
    let native = native.names(["a", "b", "c"]);
    for kind in KINDS {
        let how = Bootstrap::new(250).resample(kind).seed(2);
        let traced = made(&growth, &data, &how).unwrap();
        let native = native
            .fit(data.clone(), [1.0, 1.0, 0.0])
            .and_then(|fit| native.bootstrap(&fit, data.clone(), &how))
            .unwrap();
        assert_eq!((traced.len(), native.len()), (250, 250));
        for (a, b) in traced.params().iter().zip(native.params()) {
            assert!((a - b).abs() < 1e-4 * a.abs(), "{kind:?} {a} {b}");
        }
    }
}

/// A bound that holds the estimate holds replicates, too: their distribution has a step there, and no bias-corrected quantile.
#[test]
fn no_bca_interval_of_an_estimate_on_a_bound() {
    let (x, y) = (x(), y());
    let data = Data::new(&x, &y).unwrap();
    let curve = decay().bound("c", 0.53..);
    let fit = fitted(&curve, &data);
    assert_eq!(fit.param("c"), Some(0.53));
    let made = curve.bootstrap(&fit, data, &Bootstrap::new(400)).unwrap();
    for quantity in ["c", "2*c"] {
        let error = made.quantity(quantity).unwrap().bca_interval(0.9).unwrap_err();
        assert!(error.to_string().contains("on a bound"), "{error}");
        assert!(matches!(why(&error), UncertaintyError::NoBca { .. }), "{error}");
    }
    assert!(made.quantity("b").unwrap().bca_interval(0.9).is_ok());
}
