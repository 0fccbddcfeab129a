//! Observers and tokens on every device.

use super::*;
use dualfit::Event;

/// Observers see every step and stop a fit.
pub fn observers(place: Place<'_>) {
    let (x, y) = decay_data(200);
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let watched = decay().observe(move |event| {
        let Event::Step(progress) = event else { return ControlFlow::Continue(()) };
        assert_eq!(progress.params.len(), 3);
        assert!(progress.cost.is_finite() && progress.damping >= 0.0);
        counter.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    let fit = place(watched).fit(Data::new(&x, &y).unwrap(), START).unwrap();
    assert!(fit.converged());
    assert_eq!(seen.load(Ordering::Relaxed), fit.stats().iterations);
    let stopped = decay().observe(|event| match event {
        Event::Step(now) if now.iteration > 1 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let fit = place(stopped).fit(Data::new(&x, &y).unwrap(), START).unwrap();
    assert_eq!(fit.termination(), Termination::Stopped);
    assert_eq!(fit.stats().iterations, 2);
}

/// A cancelled token ends a fit before its next step, at the parameters that the observer saw last.
pub fn cancelled(place: Place<'_>) {
    let (x, y) = decay_data(200);
    let data = || Data::new(&x, &y).unwrap();
    let steps = place(decay()).fit(data(), START).unwrap().stats().iterations;
    assert!(steps >= 4, "{steps} steps");
    for last in 0..=steps + 1 {
        let (token, seen) = (CancelToken::new(), Arc::new(Mutex::new((0, START.to_vec(), 0.0))));
        let (at_last, log) = (token.clone(), seen.clone());
        if last == 0 {
            token.cancel();
        }
        let watched = decay().cancel_token(token).observe(move |event| {
            let Event::Step(progress) = event else { return ControlFlow::Continue(()) };
            *log.lock().unwrap() = (progress.iteration, progress.params.to_vec(), progress.cost);
            if progress.iteration == last {
                at_last.cancel();
            }
            ControlFlow::Continue(())
        });
        let fit = place(watched).fit(data(), START).unwrap();
        let (iteration, params, cost) = seen.lock().unwrap().clone();
        assert_eq!(fit.stats().iterations, iteration);
        if fit.termination() != Termination::Stopped {
            // The last reported step met the tolerances.
            assert!(fit.converged() && last >= steps, "{}: {}", last, fit.termination());
            continue;
        }
        assert_eq!((iteration, fit.params()), (last, &params[..]));
        assert!(last == 0 || (fit.cost() / cost - 1.0).abs() < 1e-12, "{} {cost}", fit.cost());
        assert!(fit.std_errors().iter().all(|e| e.is_finite()));
        if last == 0 {
            assert_eq!(fit.evaluations(), 1);
        }
    }
    // A token without an observer, and one for many starts.
    let token = CancelToken::new();
    token.cancel();
    let stopped = place(decay().cancel_token(token));
    assert_eq!(stopped.fit(data(), START).unwrap().termination(), Termination::Stopped);
    let starts = MultiStart::new(8).range("p0", 0.5..=4.0).range("p1", 0.1..=2.0);
    let starts = starts.range("p2", 0.0..=1.0);
    let optima = stopped.multi_start(data(), START, &starts).unwrap();
    assert_eq!(optima.best().termination(), Termination::Stopped);
    assert_eq!(optima.best().params(), START);
    let begun = optima.trials().iter().filter(|trial| trial.termination().is_some());
    assert_eq!(begun.count(), 1);
}
