//! Steps: their definition, their reports to observers, and the steps that may end a fit.

use crate::support::standard::*;
use dualfit::progress::Progress;
use dualfit::{CurveFit, Data, Event, Loss, Options, Sigma, Termination};
use nalgebra::{DMatrix, DVector};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Lists what `note` makes of the progress after every step.
fn logged<T: Send + 'static>(
    fitter: CurveFit,
    note: impl Fn(&Progress<'_>) -> T + Send + Sync + 'static,
) -> (CurveFit, Arc<Mutex<Vec<T>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let other = log.clone();
    let fitter = fitter.observe(move |event| {
        if let Event::Step(p) = event {
            other.lock().unwrap().push(note(p));
        }
        ControlFlow::Continue(())
    });
    (fitter, log)
}

#[test]
fn the_damping_told_is_that_of_the_step() {
    // From the start, (JᵀJ + λD²)δ = −Jᵀr with D the lengths of J's columns.
    let (x, y) = (abscissa(), noisy());
    let rows: Vec<_> = x.iter().map(|&x| value_and_partials(x, &START)).collect();
    let j = DMatrix::from_fn(N, 3, |i, k| rows[i].1[k]);
    let r = DVector::from_fn(N, |i, _| rows[i].0 - y[i]);
    for initial_radius in [1e-3, 0.01, 0.03, 0.1] {
        let short = Options::default().initial_radius(initial_radius);
        let (fitter, log) =
            logged(decay().options(short), |p| (p.params.to_vec(), p.damping, p.evaluations));
        fitter.fit(Data::new(&x, &y).unwrap(), START).unwrap();
        let (params, damping, evaluations) = log.lock().unwrap()[0].clone();
        assert_eq!(evaluations, 2, "the first step was accepted");
        assert!(damping > 0.0);
        let square = j.transpose() * &j;
        let mut damped = square.clone();
        (0..3).for_each(|k| damped[(k, k)] += damping * square[(k, k)]);
        let step = damped.lu().solve(&(-j.transpose() * &r)).unwrap();
        let taken: Vec<f64> = params.iter().zip(START).map(|(p, s)| p - s).collect();
        assert_all_close(&taken, step.as_slice(), 1e-9);
    }
}

#[test]
fn a_start_on_a_bound_moves_inwards_where_nothing_has_an_effect() {
    // min(b, 1) has no partial by b at 1, where a bound is too.
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 0.5 * x).collect();
    let capped = CurveFit::new(|x, [b]| x * b.min(1.0)).names(["b"]);
    let (upper, lower) = (capped.clone().bound("b", 0.0..=1.0), capped.bound("b", ..=1.0));
    for fitter in [upper, lower] {
        let fit = fitter.fit(Data::new(&x, &y).unwrap(), [1.0]).unwrap();
        assert!(fit.converged() && fit.stats().retried, "{fit}");
        assert_close(fit.params()[0], 0.5, 1e-12);
    }
    // A box too narrow for a hundredth of the value.
    let narrow = CurveFit::new(|x, [b]| x * b.min(1.0)).names(["b"]).bound("b", 0.999..=1.0);
    let y: Vec<f64> = x.iter().map(|x| 0.9992 * x).collect();
    let fit = narrow.fit(Data::new(&x, &y).unwrap(), [1.0]).unwrap();
    assert_close(fit.params()[0], 0.9992, 1e-12);
}

#[test]
fn a_step_that_bounds_cut_is_no_end() {
    // Orthonormal axes, u = e₁, v = −0.9e₁ + √0.19e₂, w = e₃, y = −0.1u − v + 10w + e₄. The free
    // minimum (−0.1, −1, 10) is outside both bounds a, b ≥ 0, but with b = 0 the best a is
    // −0.1 + 0.9 = 0.8. From beside the corner the first step ends in the corner, hardly any change.
    let root = 0.19_f64.sqrt();
    let (u, v, w) = ([1.0, 0.0, 0.0, 0.0], [-0.9, root, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]);
    let y = [-0.1 + 0.9, -root, 10.0, 1.0];
    let model = |[u, v, w]: [dualfit::Var; 3], [a, b, c]: [dualfit::Var; 3]| a * u + b * v + c * w;
    let fitter =
        CurveFit::multivariate(model).names(["a", "b", "c"]).bound("a", 0.0..).bound("b", 0.0..);
    for start in [[1e-12, 1e-12, 10.0], [1e-9, 1e-13, 10.0], [0.0, 0.0, 10.0]] {
        let fit = fitter.fit(Data::new([&u, &v, &w], &y).unwrap(), start).unwrap();
        assert!(fit.converged(), "{fit}");
        assert_close(fit.params()[0], 0.8, 1e-9);
        assert_eq!(fit.params()[1], 0.0);
        assert_close(fit.params()[2], 10.0, 1e-9);
    }
}

#[test]
fn last_digits_never_cost_anything() {
    // The partial is wrong by a few millionths: steps end where Σ J'r = 0, beside the minimum. From the
    // minimum itself nothing better is to be found.
    let (x, y) = (abscissa(), noisy());
    let mean = y.iter().sum::<f64>() / N as f64;
    let cost = 0.5 * y.iter().map(|y| (mean - y).powi(2)).sum::<f64>();
    let constant = CurveFit::native(1, |_: f64, p: &[f64]| p[0]);
    for error in [1e-6, 3e-6, 1e-5] {
        let wrong = constant.clone().jacobian(move |x, _, out| out[0] = 1.0 + error * x);
        let fit = wrong.fit(Data::new(&x, &y).unwrap(), [mean]).unwrap();
        assert!(fit.cost() <= cost * (1.0 + 1e-14), "{error:e}: {:e}", fit.cost() / cost - 1.0);
    }
}

#[test]
fn a_best_value_of_zero_is_reached() {
    // y = 1 + scatter, with the part along x − mean taken out: the slope is 0 but for rounding.
    let x = abscissa();
    let mean = |v: &[f64]| v.iter().sum::<f64>() / N as f64;
    let centred: Vec<f64> = x.iter().map(|v| v - mean(&x)).collect();
    let noise: Vec<f64> = (0..N).map(scatter).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let slope = dot(&centred, &noise) / dot(&centred, &centred);
    let y: Vec<f64> = noise.iter().zip(&centred).map(|(e, c)| 1.0 + e - slope * c).collect();
    let only_xtol = Options::default().ftol(0.0).gtol(0.0);
    let model = CurveFit::new(|x, [a, b]| (a * x).sinh() + b).options(only_xtol);
    for start in [[0.3, 0.0], [-1e-3, 2.0]] {
        let fit = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
        assert_eq!(fit.termination(), Termination::Step, "{fit}");
        // Far less than its standard error away from 0.
        assert!(fit.params()[0].abs() < 1e-8 * fit.std_errors()[0], "{fit}");
        assert_close(fit.params()[1], mean(&y), 1e-12);
    }
}

#[test]
fn every_pass_and_every_step_is_counted() {
    // A native model counts its own calls: one per point and pass. Partials of 1e±120 have squares
    // that are measured first.
    let (x, y) = (abscissa(), noisy());
    for size in [1.0, 1e120, 1e-120] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let model = move |x: f64, p: &[f64]| {
            counter.fetch_add(1, Ordering::Relaxed);
            p[0] * size * (-p[1] * x).exp() + p[2]
        };
        let partials = move |x: f64, p: &[f64], out: &mut [f64]| {
            out[0] = size * (-p[1] * x).exp();
            out[1] = -p[0] * x * out[0];
            out[2] = 1.0;
        };
        let fitter = CurveFit::native(3, model).jacobian(partials);
        let start = [START[0] / size, START[1], START[2]];
        let fit = fitter.fit(Data::new(&x, &y).unwrap(), start).unwrap();
        assert_close(fit.params()[1], solve_decay(&x, &y, None).params[1], 1e-8);
        // The test of the residuals takes one pass of values more.
        assert_eq!((fit.stats().passes + 1) * N, calls.load(Ordering::Relaxed), "{size:e}");
    }
    // Both runs of a fit that is tried again.
    let never = Options::default().ftol(0.0).xtol(0.0).gtol(0.0);
    let (fitter, log) = logged(decay().options(never), |p| (p.iteration, p.evaluations));
    let fit = fitter.fit(Data::new(&x, &y).unwrap(), START).unwrap();
    let log = log.lock().unwrap();
    assert!(fit.stats().retried);
    assert_eq!(log.iter().map(|l| l.0).collect::<Vec<_>>(), (1..=log.len()).collect::<Vec<_>>());
    assert_eq!(fit.stats().iterations, log.len());
    assert!(log.windows(2).all(|l| l[0].1 < l[1].1) && fit.evaluations() >= log[log.len() - 1].1);
}

#[test]
fn an_offset_far_above_the_start_is_reached() {
    // SciPy's start, ones, below data that it cannot see. An offset in y is one in c and changes nothing else.
    let (x, y) = (abscissa(), noisy());
    let Solution { params, relative, .. } = solve_decay(&x, &y, None);
    for offset in (-60..60).map(f64::from) {
        let above: Vec<f64> = y.iter().map(|y| y + offset).collect();
        let fit = decay().fit(Data::new(&x, &above).unwrap(), [1.0; 3]).unwrap();
        assert!(fit.converged(), "{offset}: {fit}");
        let expected = [params[0], params[1], params[2] + offset];
        assert_all_close(fit.params(), &expected, 1e-8);
        assert_all_close(&fit.std_errors(), &relative, 1e-6);
        assert!(fit.evaluations() < 500, "{offset}: {}", fit.evaluations());
    }
}

const TUKEY: Loss = Loss::Tukey { scale: 0.1 };

/// Twice the cost by Tukey's loss, as it is defined.
fn tukey_cost(y: &[f64], p: &[f64]) -> f64 {
    let each = |(x, y): (f64, &f64)| {
        let z = ((value(x, p) - y) / 0.1).powi(2).min(1.0);
        0.5 * 0.01 * (1.0 - (1.0 - z).powi(3)) / 3.0
    };
    abscissa().into_iter().zip(y).map(each).sum()
}

#[test]
fn both_stages_of_tukey_count_and_obey() {
    let x = abscissa();
    let mut y = noisy();
    y[10] += 3.0;
    let data = || Data::new(&x, &y).unwrap();
    let robust = decay().loss(TUKEY);
    let whole = robust.fit(data(), START).unwrap();
    assert!(whole.converged());
    let (fitter, log) = logged(robust.clone(), |p| (p.iteration, p.evaluations));
    fitter.fit(data(), START).unwrap();
    let log = log.lock().unwrap().clone();
    assert_eq!(log.iter().map(|l| l.0).collect::<Vec<_>>(), (1..=log.len()).collect::<Vec<_>>());
    assert_eq!(whole.stats().iterations, log.len());
    assert!(log.windows(2).all(|l| l[0].1 < l[1].1));
    // A limit of evaluations holds for both stages together, and the cost is Tukey's wherever it ends.
    for limit in 1..=whole.evaluations() {
        let options = Options::default().max_evaluations(limit);
        let fit = robust.clone().options(options).fit(data(), START).unwrap();
        assert!(fit.evaluations() <= limit, "{} of {limit}", fit.evaluations());
        assert_close(fit.cost(), tukey_cost(&y, fit.params()), 1e-9);
        assert!(fit.converged() || fit.termination() == Termination::MaxEvaluations, "{fit}");
        if limit < 4 {
            assert_eq!(fit.termination(), Termination::MaxEvaluations);
        }
    }
    // The observer and the clock are queried once.
    for stop_at in [1, 2] {
        let stopping = robust.clone().observe(move |event| {
            let Event::Step(p) = event else { return ControlFlow::Continue(()) };
            assert!(p.iteration <= stop_at);
            if p.iteration == stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let fit = stopping.fit(data(), START).unwrap();
        assert_eq!((fit.termination(), fit.stats().iterations), (Termination::Stopped, stop_at));
        assert_close(fit.cost(), tukey_cost(&y, fit.params()), 1e-9);
    }
    let options = Options::default().max_time(std::time::Duration::ZERO);
    let fit = robust.clone().options(options).fit(data(), START).unwrap();
    assert_eq!((fit.termination(), fit.params()), (Termination::TimeLimit, &START[..]));
    // A parameter without effect is reported for the start of the fit, not for the start of the second stage.
    let fit = robust.fit(data().sigma(Sigma::Constant(1.0)).unwrap(), [2.0, 1e-13, 0.3]).unwrap();
    let poor = |w: &dualfit::Warning| matches!(w, dualfit::Warning::PoorScaling { name, .. } if name == "b");
    assert!(warns(&fit, poor), "{:?}", fit.warnings());
}
