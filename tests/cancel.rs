//! Tokens that stop fits on the CPU: before the start, at every step, from another thread, in batches and
//! searches from many starts.

#[path = "support/nist.rs"]
mod nist;
#[path = "support/suite.rs"]
#[allow(unused, reason = "one of its tests is run here")]
mod suite;

use dualfit::{
    Backend, BatchData, CancelToken, CurveFit, Data, FitStatus, Loss, MultiStart, Termination,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_fit_stops_at_every_step() {
    suite::cancelled(&|model| model.backend(Backend::Cpu));
}

#[test]
fn clones_are_one_token_and_it_stays_cancelled() {
    const fn shared<T: Clone + Send + Sync + 'static>() {}
    const { shared::<CancelToken>() };
    let (token, other) = (CancelToken::new(), CancelToken::default());
    let clone = token.clone();
    assert!(!clone.is_cancelled());
    token.cancel();
    token.cancel();
    assert!(clone.is_cancelled() && token.is_cancelled() && !other.is_cancelled());
}

/// A model that takes a while at every point, and counts them.
fn slow(called: Arc<AtomicUsize>) -> CurveFit {
    let slow = move |x: f64, p: &[f64]| {
        called.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(200));
        (p[0] * x).sin() + p[1]
    };
    CurveFit::native(slow, 2).backend(Backend::Cpu)
}

#[test]
fn another_thread_stops_a_fit() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (1.3 * x).sin()).collect();
    let (token, called) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
    let model = slow(called.clone()).cancel_token(token.clone());
    let fit = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while called.load(Ordering::Relaxed) < 60 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            token.cancel();
        });
        model.fit(Data::new(&x, &y).unwrap(), [1.0, 0.0]).unwrap()
    });
    assert_eq!(fit.termination(), Termination::Stopped);
    assert!(fit.termination().to_string().contains("stopped by the caller"));
    // It was cancelled in the first evaluation or the one after it.
    assert!(fit.evaluations() <= 3, "{}", fit.evaluations());
}

const FITS: usize = 500;
const POINTS: usize = 30;

fn stack() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..POINTS).map(|i| 0.1 * i as f64).collect();
    let y = (0..FITS).flat_map(|f| {
        let rate = 0.5 + 0.002 * f as f64;
        x.iter().map(move |x| 2.0 * (-rate * x).exp() + 0.3)
    });
    let y = y.collect();
    (x, y)
}

#[test]
fn the_unfinished_fits_of_a_batch_are_not_run() {
    let (x, y) = stack();
    let data = BatchData::shared(&x, &y).unwrap();
    // Eight fits side by side, and one by one in two stages.
    for loss in [Loss::Linear, Loss::Tukey { scale: 0.5 }] {
        let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
        let model = model.loss(loss);
        let whole = model.fit_batch(&data, [1.0, 1.0, 0.0]).unwrap();
        assert_eq!(whole.converged(), FITS);
        for last in [0, 1, FITS / 3] {
            let token = CancelToken::new();
            let (cancel, calls) = (token.clone(), Arc::new(AtomicUsize::new(0)));
            if last == 0 {
                token.cancel();
            }
            let told = calls.clone();
            let watched = model.clone().cancel_token(token).observe_batch(move |progress| {
                told.fetch_add(1, Ordering::Relaxed);
                if progress.finished >= last {
                    cancel.cancel();
                }
                ControlFlow::Continue(())
            });
            let batch = watched.fit_batch(&data, [1.0, 1.0, 0.0]).unwrap();
            let not_run = batch.statuses().iter().filter(|s| **s == FitStatus::NotRun).count();
            assert!(not_run > 0 && (last == 0) == (not_run == FITS), "{last}: {not_run}");
            assert_eq!(last == 0, calls.load(Ordering::Relaxed) == 0);
            for fit in 0..FITS {
                let of = |b: &dualfit::BatchFit| b.fit(fit).params().to_vec();
                match batch.statuses()[fit] {
                    FitStatus::NotRun => assert!(of(&batch).iter().all(|p| p.is_nan())),
                    // What is finished has the bits that it has in a whole batch.
                    _ => assert_eq!(of(&batch), of(&whole)),
                }
            }
        }
    }
}

/// A fit of a batch that is stopped on its way is none.
#[test]
fn a_batch_of_one_long_fit_stops() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (1.3 * x).sin()).collect();
    let (token, called) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
    let model = slow(called.clone()).cancel_token(token.clone());
    let batch = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while called.load(Ordering::Relaxed) < 60 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            token.cancel();
        });
        model.fit_batch(BatchData::shared(&x, &y).unwrap(), [1.0, 0.0]).unwrap()
    });
    assert_eq!(batch.statuses(), [FitStatus::NotRun]);
    assert!(batch.params().iter().all(|p| p.is_nan()) && batch.evaluations() == [0]);
}

#[test]
fn what_is_finished_of_many_starts_counts() {
    let (x, y) = stack();
    let y = &y[..POINTS];
    let token = CancelToken::new();
    let (cancel, steps) = (token.clone(), AtomicUsize::new(0));
    let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
        .backend(Backend::Cpu)
        .cancel_token(token)
        .observe(move |_| {
            if steps.fetch_add(1, Ordering::Relaxed) == 60 {
                cancel.cancel();
            }
            ControlFlow::Continue(())
        });
    let starts = MultiStart::new(64).range("p0", 0.5..=4.0).range("p1", 0.1..=2.0);
    let starts = starts.range("p2", 0.0..=1.0);
    let optima = model.multi_start(Data::new(&x, y).unwrap(), [1.0, 1.0, 0.0], &starts).unwrap();
    let none = optima.trials().iter().filter(|trial| trial.termination().is_none()).count();
    assert!(none > 0 && optima.converged() > 0, "{optima}");
    assert!(optima.to_string().contains("not begun: stopped by the caller"), "{optima}");
    assert!(optima.best().converged());
}
