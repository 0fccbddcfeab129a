//! Limits, tolerances, observers and threads.

use crate::support::standard::*;
use dualfit::{CurveFit, Data, Error, Event, Fit, Loss, Options, Termination};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn with(options: Options) -> Result<Fit, Error> {
    decay().options(options).fit(Data::new(&abscissa(), &noisy()).unwrap(), START)
}

fn cost_at(p: &[f64]) -> f64 {
    let residual = |(x, y): (f64, f64)| value(x, p) - y;
    0.5 * abscissa().into_iter().zip(noisy()).map(residual).map(|r| r * r).sum::<f64>()
}

#[test]
fn row_62_one_evaluation() {
    let fit = with(Options::default().max_evaluations(1)).unwrap();
    assert_eq!(fit.termination(), Termination::MaxEvaluations);
    assert!(!fit.converged());
    assert_eq!(fit.evaluations(), 1, "a limit is a limit");
    assert!(fit.termination().to_string().contains("max_evaluations"));
    // The best point is kept, with its cost and errors, also where convergence is required.
    assert_close(fit.cost(), cost_at(fit.params()), 1e-12);
    assert!(fit.std_errors().iter().all(|e| e.is_finite()));
    let params = fit.params().to_vec();
    assert_eq!(fit.require_convergence().unwrap_err().params(), params);
    let error = with(Options::default().max_evaluations(0)).unwrap_err();
    assert_says(&error, &["`max_evaluations`", "0", "at least 1"]);
}

#[test]
fn row_62_few_evaluations() {
    let mut last = f64::INFINITY;
    for limit in 1..30 {
        let fit = with(Options::default().max_evaluations(limit)).unwrap();
        assert!(fit.evaluations() <= limit, "{} of {limit}", fit.evaluations());
        // More evaluations never lead to a worse point, and none is worse than the start.
        assert!(fit.cost() <= last.min(cost_at(&START)) * (1.0 + 1e-12), "limit {limit}");
        assert_close(fit.cost(), cost_at(fit.params()), 1e-9);
        last = fit.cost();
    }
    assert_close(last, solve_decay(&abscissa(), &noisy(), None).cost, 1e-10);
}

#[test]
fn row_62_no_time() {
    let fit = with(Options::default().max_time(Duration::ZERO)).unwrap();
    assert_eq!(fit.termination(), Termination::TimeLimit);
    assert!(!fit.converged() && fit.cost() <= cost_at(&START));
}

#[test]
fn row_63_tolerances_of_zero() {
    let none = Options::default().ftol(0.0).xtol(0.0).gtol(0.0);
    let fit = with(none).unwrap();
    let solution = solve_decay(&abscissa(), &noisy(), None);
    assert_all_close(fit.params(), &solution.params, 1e-8);
    assert_eq!(fit.termination(), Termination::NoProgress);
    assert!(fit.termination().to_string().contains("tolerances"));
    for zero in
        [Options::default().ftol(0.0), Options::default().xtol(0.0), Options::default().gtol(0.0)]
    {
        assert_solved(&with(zero).unwrap(), &solution);
    }
}

#[test]
fn row_64_negative_tolerances() {
    for (options, name) in [
        (Options::default().ftol(-1e-8), "ftol"),
        (Options::default().xtol(-1e-8), "xtol"),
        (Options::default().gtol(-1e-8), "gtol"),
        (Options::default().initial_radius(-1e-8), "initial_radius"),
    ] {
        let error = with(options).unwrap_err();
        let Error::BadOption { name: found, value: -1e-8, .. } = &error else { panic!("{error}") };
        assert_eq!(*found, name);
        assert_says(&error, &[&format!("`{name}`"), "-0.00000001", "must be"]);
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let robust = decay().loss(Loss::Huber { scale });
        let error = robust.fit(Data::new(&abscissa(), &noisy()).unwrap(), START).unwrap_err();
        assert_says(&error, &["`loss scale`", &scale.to_string(), "positive and finite"]);
    }
}

#[test]
fn row_65_tolerances_of_nan() {
    for (options, name) in [
        (Options::default().ftol(f64::NAN), "ftol"),
        (Options::default().xtol(f64::NAN), "xtol"),
        (Options::default().gtol(f64::NAN), "gtol"),
        (Options::default().initial_radius(f64::NAN), "initial_radius"),
    ] {
        let error = with(options).unwrap_err();
        assert!(matches!(error, Error::BadOption { value, .. } if value.is_nan()), "{error}");
        assert_says(&error, &[&format!("`{name}`"), "NaN", "must be"]);
    }
}

/// Rosenbrock's valley as a model: both residuals, the second point only p.
fn valley() -> CurveFit {
    CurveFit::new(|i, [p, q]| i.lt(0.5).select(10.0 * (q - p * p), 1.0 - p))
}

#[test]
fn row_g15_observer_stops_the_fit() {
    for stop_at in [1, 2, 5] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let fitter = valley().observe(move |event| {
            let Event::Step(p) = event else { return ControlFlow::Continue(()) };
            log.lock().unwrap().push((p.iteration, p.params.to_vec(), p.cost));
            if p.iteration >= stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let fit = fitter.fit(Data::new(&[0.0, 1.0], &[0.0; 2]).unwrap(), [-1.2, 1.0]).unwrap();
        assert_eq!(fit.termination(), Termination::Stopped);
        assert!(!fit.converged());
        assert!(fit.termination().to_string().contains("stopped by the caller"));
        let (iteration, params, cost) = seen.lock().unwrap().last().unwrap().clone();
        assert_eq!((iteration, fit.params()), (stop_at, &params[..]));
        assert_close(fit.cost(), cost, 1e-12);
        // ½(100(1 − 1.44)² + 2.2²) at the start.
        assert!(fit.cost() < 0.5 * 24.2);
        assert_eq!(fit.stats().iterations, stop_at);
    }
}

#[test]
fn row_g15_observer_sees_every_accepted_step_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let fitter = valley().observe(move |event| {
        let Event::Step(p) = event else { return ControlFlow::Continue(()) };
        log.lock().unwrap().push((p.iteration, p.evaluations, p.cost));
        ControlFlow::Continue(())
    });
    let fit = fitter.fit(Data::new(&[0.0, 1.0], &[0.0; 2]).unwrap(), [-1.2, 1.0]).unwrap();
    assert!(fit.converged());
    assert_all_close(fit.params(), &[1.0, 1.0], 1e-8);
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, 1);
    for pair in seen.windows(2) {
        let ((i, e, c), (j, f, d)) = (pair[0], pair[1]);
        assert_eq!(j, i + 1, "steps {i} and {j} after one another: {seen:?}");
        assert!(f > e && d <= c, "evaluations {e}, {f}; cost {c:e}, {d:e}");
    }
}

#[test]
fn row_g16_a_fitter_and_a_fit_may_be_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    const {
        shared::<CurveFit>();
        shared::<Fit>();
        shared::<Error>();
        shared::<Data<'static>>();
    }
    // Four threads use one fitter, not yet prepared, at the same time: same bits as one after another.
    let fitter = decay();
    let starts: Vec<[f64; 3]> = (0..16).map(|i| [2.0, 0.5 + 0.1 * f64::from(i), 0.3]).collect();
    let (x, y) = (abscissa(), noisy());
    let bits = |fitter: &CurveFit, start: [f64; 3]| {
        let fit = fitter.fit(Data::new(&x, &y).unwrap(), start).unwrap();
        let all = [fit.params(), &fit.std_errors(), &[fit.cost()]].concat();
        all.iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
    };
    let part = &|k: usize| starts[4 * k..4 * k + 4].iter().map(|&s| bits(&fitter, s)).collect();
    let together: Vec<Vec<Vec<u64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|k| scope.spawn(move || part(k))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let alone: Vec<Vec<u64>> = starts.iter().map(|&s| bits(&decay(), s)).collect();
    assert_eq!(together.concat(), alone);
}

#[test]
fn an_observer_that_panics_ends_the_fit_with_an_error() {
    let panicking = decay().observe(|event| {
        let Event::Step(p) = event else { return ControlFlow::Continue(()) };
        if p.iteration == 2 {
            panic!("disk full at step {}", p.iteration);
        }
        ControlFlow::Continue(())
    });
    let error = panicking.fit(Data::new(&abscissa(), &noisy()).unwrap(), START).unwrap_err();
    assert_eq!(error, Error::ObserverPanicked { message: "disk full at step 2".into() });
    assert_says(&error, &["observer", "disk full"]);
    let robust = panicking.loss(Loss::Tukey { scale: 0.1 });
    assert!(robust.fit(Data::new(&abscissa(), &noisy()).unwrap(), START).is_err());
}
