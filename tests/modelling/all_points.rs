//! Models of all points at once: through every entry the fit equals the fit of the same curve point by point; it needs few
//! calls; and models without a value at a single point can be fitted.

use dualfit::{
    BatchData, CancelToken, CurveFit, Data, Error, Fit, FitStatus, GlobalFit, Loss, Missing,
    MultiStart, Options, Sigma, Termination, least_squares,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TRUTH: [f64; 3] = [2.5, 1.3, 0.5];
const START: [f64; 3] = [2.0, 1.0, 0.3];

fn decay_at(x: f64, p: &[f64]) -> f64 {
    p[0] * (-p[1] * x).exp() + p[2]
}

fn decays(x: &[f64], p: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(out, &x)| *out = decay_at(x, p));
}

fn traced() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

fn arrays() -> CurveFit {
    CurveFit::native_arrays(3, decays)
}

fn with_jacobian() -> CurveFit {
    arrays().jacobian_arrays(|x, p, out| {
        for (i, &x) in x[0].iter().enumerate() {
            let e = (-p[1] * x).exp();
            (out[0][i], out[1][i], out[2][i]) = (e, -p[0] * x * e, 1.0);
        }
    })
}

fn noise(i: usize) -> f64 {
    (i as f64 * 0.618_033_988_749_894_9).fract() - 0.5
}

fn data(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 4.0 * i as f64 / n as f64).collect();
    let y = (0..n).map(|i| decay_at(x[i], &TRUTH) + 0.1 * noise(i)).collect();
    (x, y)
}

/// Parameters within this part of their errors, errors within this part of themselves.
fn near(name: &str, found: &Fit, expected: &Fit, tolerance: f64) {
    assert!(found.converged(), "{name}: {}", found.termination());
    let (errors, others) = (expected.std_errors(), found.std_errors());
    for k in 0..expected.params().len() {
        let (a, b, e) = (found.params()[k], expected.params()[k], errors[k]);
        assert!((a - b).abs() <= tolerance * e, "{name}: parameter {k} is {a}, not {b} ± {e}");
        assert!((others[k] / e - 1.0).abs() <= tolerance, "{name}: error {}, not {e}", others[k]);
    }
}

#[test]
fn a_curve_fits_as_point_by_point() {
    let (x, mut y) = data(5000);
    y.iter_mut().step_by(97).for_each(|y| *y += 3.0);
    let sigma: Vec<f64> = x.iter().map(|x| 0.05 + 0.02 * x).collect();
    let mask: Vec<bool> = (0..5000).map(|i| i % 7 != 3).collect();
    let plain = Data::new(&x, &y).unwrap();
    let weighted = plain.clone().sigma(Sigma::Absolute(&sigma)).unwrap();
    let all = [
        ("plain", 0.4, plain.clone()),
        ("weighted", 4.0, weighted),
        ("masked", 0.4, plain.mask(&mask).unwrap()),
    ];
    for (kind, scale, data) in all {
        for loss in std::iter::once(Loss::Linear).chain(Loss::robust(scale)) {
            let expected = traced().loss(loss).fit(&data, START).unwrap();
            for (form, model) in [("numerical", arrays()), ("given", with_jacobian())] {
                let found = model.loss(loss).fit(&data, START).unwrap();
                near(&format!("{kind}, {form}, {loss:?}"), &found, &expected, 1e-5);
            }
        }
    }
}

#[test]
fn points_without_coordinates_are_not_shown_to_the_model() {
    let (mut x, mut y) = data(200);
    (x[17], y[40], x[199]) = (f64::NAN, f64::NAN, f64::INFINITY);
    let data = Data::new(&x, &y).unwrap().missing(Missing::Omit);
    let model = CurveFit::native_arrays(3, |x, p, out| {
        assert!(x.len() == 198 && x.iter().all(|x| x.is_finite()));
        decays(x, p, out);
    });
    let expected = traced().fit(&data, START).unwrap();
    let found = model.fit(&data, START).unwrap();
    near("gaps", &found, &expected, 1e-5);
    assert_eq!(found.omitted(), 3);
    assert_eq!(found.degrees_of_freedom(), 197 - 3);
}

#[test]
fn bounds_fixed_and_tied_parameters_hold() {
    let (x, y) = data(300);
    let data = Data::new(&x, &y).unwrap();
    let change: [fn(CurveFit) -> CurveFit; 4] = [
        |curve| curve.bound("p1", 0.0..=1.2),
        |curve| curve.bound("p0", 2.0..=2.0),
        |curve| curve.fix("p2"),
        |curve| curve.tie("p2", "p0/5"),
    ];
    for (i, change) in change.into_iter().enumerate() {
        let start = [2.0, 1.0, 0.4];
        let expected = change(traced()).fit(&data, start).unwrap();
        for model in [arrays(), with_jacobian()] {
            let found = change(model).fit(&data, start).unwrap();
            let errors = expected.std_errors();
            for k in 0..3 {
                let (a, b) = (found.params()[k], expected.params()[k]);
                assert!((a - b).abs() <= 1e-5 * errors[k].max(1e-9), "{i}: {a} {b}");
            }
        }
    }
}

#[test]
fn predictions_bands_and_diagnostics_are_those_of_the_curve() {
    let (x, y) = data(400);
    let data = Data::new(&x, &y).unwrap();
    let (expected, found) =
        (traced().fit(&data, START).unwrap(), arrays().fit(&data, START).unwrap());
    let at = [0.0, 1.7, 9.0];
    let (a, b) = (found.predict(&at).unwrap(), expected.predict(&at).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-7), "{a:?} {b:?}");
    let (a, b) =
        (found.confidence_band(&at, 0.95).unwrap(), expected.confidence_band(&at, 0.95).unwrap());
    for (a, b) in a.upper.iter().zip(&b.upper) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn fits_do_not_depend_on_threads_and_turns() {
    let (x, y) = data(20_000);
    let data = Data::new(&x, &y).unwrap();
    let bits = |fit: Fit| {
        let all = fit.params().to_vec().into_iter().chain(fit.std_errors());
        all.map(f64::to_bits).collect::<Vec<_>>()
    };
    let usual = bits(arrays().fit(&data, START).unwrap());
    assert_eq!(usual, bits(arrays().calls_in_turn().fit(&data, START).unwrap()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(usual, pool.install(|| bits(arrays().fit(&data, START).unwrap())));
}

/// One call at a rejected trial, one more for each free parameter elsewhere; for each set of a joint fit.
#[test]
fn rejected_trials_cost_one_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let model = CurveFit::native_arrays(3, move |x, p, out| {
        counted.fetch_add(1, Ordering::Relaxed);
        decays(x, p, out);
    });
    let (x, y) = data(500);
    // From here some steps are far too long.
    let start = [-300.0, 40.0, 1000.0];
    let part = |range: std::ops::Range<usize>| Data::new(&x[range.clone()], &y[range]).unwrap();
    let joint = |sets: Vec<Data<'_>>| {
        let shared = GlobalFit::new(&model).share(["p0", "p1", "p2"]);
        shared.fit(sets, start).unwrap().fit().clone()
    };
    for sets in 0..3 {
        calls.store(0, Ordering::Relaxed);
        let fit = match sets {
            0 => model.fit(part(0..500), start).unwrap(),
            1 => joint(vec![part(0..500)]),
            _ => joint(vec![part(0..250), part(250..500)]),
        };
        assert!(fit.converged(), "{}", fit.termination());
        let (evaluations, iterations) = (fit.evaluations(), fit.stats().iterations);
        let all = calls.load(Ordering::Relaxed);
        println!("{sets} sets: {all} calls, {evaluations} evaluations, {iterations} iterations");
        // Central differences, two calls each, at the start and for the last digits.
        let most = evaluations + 3 * iterations + 6 * 4;
        let most = most * sets.max(1);
        assert!(all <= most, "{all} calls, not {most} at most, for {evaluations} evaluations");
        assert!(iterations + 6 < evaluations, "{evaluations}: few trials were rejected");
    }
}

#[test]
fn batches_joint_fits_and_many_starts_take_it() {
    let (x, y) = data(60);
    let stack: Vec<f64> = (0..12)
        .flat_map(|fit| y.iter().map(move |y| y * (1.0 + 0.1 * f64::from(fit))).collect::<Vec<_>>())
        .collect();
    let data = BatchData::shared(&x, &stack).unwrap();
    let (expected, found) =
        (traced().fit_batch(&data, START).unwrap(), arrays().fit_batch(&data, START).unwrap());
    for (found, expected) in found.iter().zip(expected.iter()) {
        assert!(found.converged(), "{}", found.status());
        for k in 0..3 {
            let (a, b) = (found.params()[k], expected.params()[k]);
            assert!((a - b).abs() <= 1e-5 * expected.std_errors()[k], "{}: {a} {b}", found.index());
        }
    }

    let second: Vec<f64> = x.iter().map(|&x| decay_at(x, &[1.0, TRUTH[1], 0.2])).collect();
    let joint = |curve: CurveFit| {
        let sets = [Data::new(&x, &y).unwrap(), Data::new(&x, &second).unwrap()];
        GlobalFit::new(&curve).share(["p1"]).fit(sets, [2.0, 1.0, 0.3, 1.5, 0.1]).unwrap()
    };
    let (expected, found) = (joint(traced()), joint(arrays()));
    near("joint", found.fit(), expected.fit(), 1e-5);
    let (a, b) = (found.set(1).unwrap(), expected.set(1).unwrap());
    let (a, b) = (a.predict(&[0.5, 2.0]).unwrap(), b.predict(&[0.5, 2.0]).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-7), "{a:?} {b:?}");

    let bounded = |curve: CurveFit| {
        curve.bound("p0", 0.1..=10.0).bound("p1", 0.1..=10.0).bound("p2", -1.0..=1.0)
    };
    let data = Data::new(&x, &y).unwrap();
    let expected = bounded(traced()).fit(&data, START).unwrap();
    let found = bounded(arrays()).multi_start(data, START, &MultiStart::new(8)).unwrap();
    near("many starts", found.best(), &expected, 1e-5);
}

#[test]
fn what_the_model_leaves_out_or_breaks_is_said() {
    let (x, y) = data(50);
    let data = Data::new(&x, &y).unwrap();
    let short = CurveFit::native_arrays(1, |x, p, out| out[..10].fill(p[0] + x[0]));
    let error = short.fit(&data, [1.0]).unwrap_err();
    assert!(matches!(error, Error::ModelNonFiniteAtStart { index: 10, .. }), "{error}");
    let missing = arrays().jacobian_arrays(|_, _, out| out[0].fill(1.0));
    assert!(missing.fit(&data, START).unwrap_err().to_string().contains("p1"));

    let panics = || CurveFit::native_arrays(1, |_, _, _| panic!("no such table"));
    let error = panics().fit(&data, [1.0]).unwrap_err();
    assert!(
        matches!(&error, Error::ModelPanicked { message, place } if message == "no such table" && place.contains("all points")),
        "{error}"
    );
    let batch = panics().fit_batch(BatchData::shared(&x, &y).unwrap(), [1.0]).unwrap();
    assert_eq!(batch.statuses()[0], FitStatus::Panicked { point: None });
    let fit = arrays().fit(&data, START).unwrap();
    assert!(fit.predict(&[1.0]).is_ok());

    for (model, what) in [
        (arrays().jacobian(|_, _, _| ()), "jacobian"),
        (traced().jacobian(|_, _, _| ()), "jacobian"),
        (traced().jacobian_arrays(|_, _, _| ()), "jacobian_arrays"),
        (CurveFit::native(3, decay_at).calls_in_turn(), "calls_in_turn"),
    ] {
        let error = model.fit(&data, START).unwrap_err();
        assert!(
            matches!(&error, Error::ModelKind { what: found, .. } if *found == what),
            "{error}"
        );
    }
}

#[test]
fn a_call_may_be_the_last_one() {
    let (x, y) = data(50);
    let data = Data::new(&x, &y).unwrap();
    let token = CancelToken::new();
    let asked = token.clone();
    let stops = CurveFit::native_arrays(3, move |x, p, out| {
        asked.cancel();
        decays(x, p, out);
    });
    match stops.cancel_token(token).fit(&data, START) {
        Ok(fit) => assert_eq!(fit.termination(), Termination::Stopped),
        Err(error) => assert_eq!(error, Error::StoppedInFirstPass),
    }
    let slow = CurveFit::native_arrays(3, |x, p, out| {
        std::thread::sleep(Duration::from_millis(30));
        decays(x, p, out);
    });
    let limit = Options::default().max_time(Duration::from_millis(10));
    match slow.options(limit).fit(&data, START) {
        Ok(fit) => assert_eq!(fit.termination(), Termination::TimeLimit),
        Err(error) => assert_eq!(error, Error::StoppedInFirstPass),
    }
}

/// Predators and prey (Lotka, Volterra), by the classical method of Runge and Kutta: no value at a point alone.
#[test]
fn a_differential_equation_is_fitted() {
    fn prey(t: &[f64], p: &[f64], out: &mut [f64]) {
        let slope = |[u, v]: [f64; 2]| [p[0] * u - p[1] * u * v, p[1] * u * v - p[2] * v];
        let ahead = |[u, v]: [f64; 2], [du, dv]: [f64; 2], h: f64| [u + h * du, v + h * dv];
        let mut state = [10.0, 5.0];
        out[0] = state[0];
        for i in 1..t.len() {
            let h = (t[i] - t[i - 1]) / 20.0;
            for _ in 0..20 {
                let k1 = slope(state);
                let k2 = slope(ahead(state, k1, h / 2.0));
                let k3 = slope(ahead(state, k2, h / 2.0));
                let k4 = slope(ahead(state, k3, h));
                for j in 0..2 {
                    state[j] += h / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]);
                }
            }
            out[i] = state[0];
        }
    }
    let truth = [1.1, 0.1, 0.8];
    let t: Vec<f64> = (0..200).map(|i| 0.075 * f64::from(i)).collect();
    let mut exact = vec![0.0; 200];
    prey(&t, &truth, &mut exact);
    let y: Vec<f64> = (0..200).map(|i| exact[i] + 0.4 * noise(i)).collect();
    let fit =
        CurveFit::native_arrays(3, prey).fit(Data::new(&t, &y).unwrap(), [1.0, 0.12, 0.7]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    for k in 0..3 {
        let off = (fit.params()[k] - truth[k]) / fit.std_errors()[k];
        assert!(off.abs() < 4.0, "{off} errors from the truth: {fit}");
    }
    let exactly = CurveFit::native_arrays(3, prey)
        .fit(Data::new(&t, &exact).unwrap(), [1.0, 0.12, 0.7])
        .unwrap();
    for k in 0..3 {
        assert!((exactly.params()[k] / truth[k] - 1.0).abs() < 1e-9, "{exactly}");
    }
}

/// Problems of Moré, Garbow and Hillstrom (ACM TOMS 7, 1981) that are no curves: 1, 8 and 13.
#[test]
fn residuals_need_no_curve() {
    let rosenbrock = least_squares(
        |p, r| (r[0], r[1]) = (10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]),
        2,
        [-1.2, 1.0],
    );
    let rosenbrock = rosenbrock.unwrap();
    assert!(rosenbrock.converged(), "{}", rosenbrock.termination());
    assert!(rosenbrock.params().iter().all(|p| (p - 1.0).abs() < 1e-9), "{rosenbrock}");

    let y =
        [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39];
    let bard = move |p: &[f64], r: &mut [f64]| {
        for (i, r) in r.iter_mut().enumerate() {
            let (u, v) = (i as f64 + 1.0, 15.0 - i as f64);
            *r = y[i] - (p[0] + u / (v * p[1] + u.min(v) * p[2]));
        }
    };
    let bard = least_squares(bard, 15, [1.0, 1.0, 1.0]).unwrap();
    assert!(bard.converged(), "{}", bard.termination());
    assert!((2.0 * bard.cost() / 8.214_877_306_578_96e-3 - 1.0).abs() < 1e-9, "{}", bard.cost());

    // The Jacobian is singular at the minimum.
    let powell = |p: &[f64], r: &mut [f64]| {
        r[0] = p[0] + 10.0 * p[1];
        r[1] = 5.0_f64.sqrt() * (p[2] - p[3]);
        r[2] = (p[1] - 2.0 * p[2]).powi(2);
        r[3] = 10.0_f64.sqrt() * (p[0] - p[3]).powi(2);
    };
    let powell = least_squares(powell, 4, [3.0, -1.0, 0.0, 1.0]).unwrap();
    assert!(powell.cost() < 1e-15, "{}", powell.cost());

    let few = least_squares(|p, r| r[0] = p[0] + p[1], 1, [1.0, 2.0]);
    assert!(matches!(few, Err(Error::TooFewPoints { .. })), "{few:?}");
}
