//! Tokens that stop fits on the CPU: before the start, at every step, from another thread, in batches and
//! searches from many starts.

use crate::support::suite;
use dualfit::{
    Backend, BatchData, CancelToken, CurveFit, Data, Error, Event, FitStatus, Loss, MultiStart,
    Options, Termination,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
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

/// The call at which a fit waits until another thread has cancelled it: in the second evaluation of 50 points,
/// which take five calls each.
const WAITS_AT: usize = 300;

/// Cancels fits of this model from another thread after a number of calls.
fn cancelled_from_afar<R: Send>(run: impl FnOnce(CurveFit) -> R + Send) -> R {
    let (token, called) = (CancelToken::new(), AtomicUsize::new(0));
    let met = Arc::new(Barrier::new(2));
    let (is_there, is_done) = (met.clone(), met.clone());
    let model = move |x: f64, p: &[f64]| {
        if called.fetch_add(1, Ordering::Relaxed) == WAITS_AT {
            is_there.wait();
            is_there.wait();
        }
        (p[0] * x).sin() + p[1]
    };
    let model = CurveFit::native(2, model).backend(Backend::Cpu).cancel_token(token.clone());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            is_done.wait();
            token.cancel();
            is_done.wait();
        });
        run(model)
    })
}

/// Result of `run` in a pool with this number of threads.
fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

#[test]
fn another_thread_stops_a_fit() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (1.3 * x).sin()).collect();
    let fit =
        cancelled_from_afar(|model| model.fit(Data::new(&x, &y).unwrap(), [1.0, 0.0]).unwrap());
    assert_eq!(fit.termination(), Termination::Stopped);
    assert!(fit.termination().to_string().contains("stopped by the caller"));
    // It was cancelled in the first evaluations.
    assert!(fit.evaluations() <= 3, "{}", fit.evaluations());
}

/// A native model that counts its calls and cancels a token in the one of a number, or panics if there
/// are many more.
fn cancelling(token: &CancelToken, last: usize) -> (CurveFit, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (called, cancel) = (calls.clone(), token.clone());
    let model = move |x: f64, p: &[f64]| {
        if called.fetch_add(1, Ordering::Relaxed) == last {
            cancel.cancel();
        }
        p[0] * (-p[1] * x).exp() + p[2]
    };
    (CurveFit::native(3, model).backend(Backend::Cpu).cancel_token(token.clone()), calls)
}

#[test]
fn a_pass_of_a_native_model_is_broken_off() {
    const POINTS: usize = 2000;
    /// Of a pass: the value, and two for each difference.
    const CALLS: usize = 7 * POINTS;
    let x: Vec<f64> = (0..POINTS).map(|i| 0.002 * i as f64).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.3 + 0.1 * (9.0 * x).sin()).collect();
    let data = || Data::new(&x, &y).unwrap();
    // Each thread ends the point that it is at.
    let most = |last: usize| last + 14 * rayon::current_num_threads() + 14;
    for loss in [Loss::Linear, Loss::Huber { scale: 0.05 }, Loss::Tukey { scale: 0.2 }] {
        for last in [0, 50, CALLS - 1000, CALLS + 50, 2 * CALLS + 50, 3 * CALLS - 1000] {
            let token = CancelToken::new();
            let (model, calls) = cancelling(&token, last);
            match model.loss(loss).fit(data(), [1.0, 1.0, 0.0]) {
                Ok(fit) => {
                    assert_eq!(fit.termination(), Termination::Stopped, "{last}");
                    assert!(fit.cost().is_finite() && last >= CALLS, "{last}: {fit}");
                }
                Err(error) => assert_eq!((error, last < CALLS), (Error::StoppedInFirstPass, true)),
            }
            let calls = calls.load(Ordering::Relaxed);
            assert!(calls <= most(last), "{loss:?}: {calls} calls, cancelled in {last}");
        }
    }
    let (model, calls) = cancelling(&CancelToken::new(), usize::MAX);
    let starts = MultiStart::new(4).range("p0", 0.5..=4.0).range("p1", 0.1..=2.0);
    let starts = starts.range("p2", 0.0..=1.0);
    assert!(model.multi_start(data(), [1.0, 1.0, 0.0], &starts).unwrap().converged() > 0);
    let all = calls.load(Ordering::Relaxed);
    let token = CancelToken::new();
    let (model, calls) = cancelling(&token, 100);
    let optima = model.multi_start(data(), [1.0, 1.0, 0.0], &starts);
    assert_eq!(optima.unwrap_err(), Error::StoppedInFirstPass);
    assert!(calls.load(Ordering::Relaxed) <= most(100).min(all));
}

/// A limit of time ends passes of native models, whose calls may take any time.
#[test]
fn a_limit_of_time_is_kept_within_a_pass() {
    const POINTS: usize = 100_000;
    let x: Vec<f64> = (0..POINTS).map(|i| i as f64).collect();
    let calls = Arc::new(AtomicUsize::new(0));
    let called = calls.clone();
    // Without the limit the passes would take minutes; the number of calls shows it earlier.
    let slow = move |x: f64, p: &[f64]| {
        assert!(called.fetch_add(1, Ordering::Relaxed) < 20_000, "the limit is not kept");
        std::thread::sleep(Duration::from_millis(1));
        p[0] * x + p[1]
    };
    let options = Options::default().max_time(Duration::from_millis(20));
    let model = CurveFit::native(2, slow).backend(Backend::Cpu).options(options);
    let fit = model.fit(Data::new(&x, &x).unwrap(), [1.0, 0.5]);
    assert_eq!(fit.unwrap_err(), Error::StoppedInFirstPass);
    // The fit of a batch says it, and the fits after it have their own time.
    let stack: Vec<f64> = x[..4000].to_vec();
    let batch = model.fit_batch(BatchData::shared(&x[..2000], &stack).unwrap(), [1.0, 0.5]);
    let (termination, undetermined) = (Termination::TimeLimit, None);
    let late = FitStatus::Ended { termination, undetermined };
    assert_eq!(batch.unwrap().statuses(), [late, late]);
}

/// The first pass is done in no time; in the second the model waits until the time is over.
#[test]
fn what_was_reached_in_time_is_told() {
    const LIMIT: Duration = Duration::from_millis(300);
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * (-0.1 * x).exp()).collect();
    let (begun, calls) = (Instant::now(), AtomicUsize::new(0));
    let model = move |x: f64, p: &[f64]| {
        if calls.fetch_add(1, Ordering::Relaxed) > 5 * 50 {
            std::thread::sleep((LIMIT * 2).saturating_sub(begun.elapsed()));
        }
        p[0] * (-p[1] * x).exp()
    };
    let options = Options::default().max_time(LIMIT);
    let model = CurveFit::native(2, model).backend(Backend::Cpu).options(options);
    match model.fit(Data::new(&x, &y).unwrap(), [1.0, 0.5]) {
        Ok(fit) => {
            assert_eq!(fit.termination(), Termination::TimeLimit);
            assert_eq!((fit.params(), fit.evaluations()), (&[1.0, 0.5][..], 1));
            assert!(fit.cost().is_finite());
        }
        // On a machine that has no time for the first pass.
        Err(error) => assert_eq!(error, Error::StoppedInFirstPass),
    }
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
            let watched = model.clone().cancel_token(token).observe(move |event| {
                let Event::Batch(progress) = event else { return ControlFlow::Continue(()) };
                told.fetch_add(1, Ordering::Relaxed);
                if progress.finished >= last {
                    cancel.cancel();
                }
                ControlFlow::Continue(())
            });
            // Of so few threads none has taken the last fits when the first are finished.
            let run = || watched.fit_batch(&data, [1.0, 1.0, 0.0]).unwrap();
            let batch = with_threads(2, run);
            let not_run = batch.statuses().iter().filter(|s| **s == FitStatus::NotRun).count();
            assert!(not_run > 0 && (last == 0) == (not_run == FITS), "{last}: {not_run}");
            assert_eq!(last == 0, calls.load(Ordering::Relaxed) == 0);
            for fit in 0..FITS {
                let of = |b: &dualfit::BatchFit| b.fit(fit).params().to_vec();
                match batch.statuses()[fit] {
                    FitStatus::NotRun => assert!(of(&batch).iter().all(|p| p.is_nan())),
                    // Finished fits equal those of a whole batch except for the last digits: a fit that has met the
                    // tolerances is refined no further.
                    _ => {
                        let (there, here) = (of(&batch), of(&whole));
                        let close = |(p, q): (&f64, &f64)| (p - q).abs() <= 1e-9 * q.abs();
                        assert!(there.iter().zip(&here).all(close), "{there:?} {here:?}");
                    }
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
    let batch = cancelled_from_afar(|model| {
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
    // Two starts at a time: of sixty steps some are the last of a start, and not all starts have begun.
    let run = || model.multi_start(Data::new(&x, y).unwrap(), [1.0, 1.0, 0.0], &starts).unwrap();
    let optima = with_threads(2, run);
    let none = optima.trials().iter().filter(|trial| trial.termination().is_none()).count();
    assert!(none > 0 && optima.converged() > 0, "{optima}");
    assert!(optima.to_string().contains("not begun: stopped by the caller"), "{optima}");
    assert!(optima.best().converged());
}
