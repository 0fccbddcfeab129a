//! Streams of native models, each call of which takes long: a pass can stop within its chunks and
//! continue from its checkpoint.

use crate::stream::support::{Slowed, bits, folder, linspace};
use dualfit::source::SliceSource;
use dualfit::{Backend, CancelToken, CurveFit, Error, Options, Stream, Termination};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const POINTS: usize = 10_000;
const START: [f64; 2] = [1.0, 0.5];
/// Calls of a pass, value and differences.
const CALLS: usize = 5 * POINTS;

/// Counts its calls and cancels a token in the one of this number.
fn model(token: &CancelToken, last: usize) -> (CurveFit, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (called, cancel) = (calls.clone(), token.clone());
    let model = move |x: f64, p: &[f64]| {
        if called.fetch_add(1, Ordering::Relaxed) == last {
            cancel.cancel();
        }
        p[0] * (-p[1] * x).exp()
    };
    (CurveFit::native(2, model).backend(Backend::Cpu).cancel_token(token.clone()), calls)
}

#[test]
fn a_pass_is_broken_off_within_a_chunk_and_goes_on() {
    let x = linspace(0.0, 4.0, POINTS);
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.1 * (9.0 * x).sin()).collect();
    let folder = folder();
    let path = folder.path().join("fit.checkpoint");
    let stream = || {
        let source = SliceSource::new(&x, &y).unwrap();
        Stream::new(source).subsample(false).chunk_points(4096).prefetch(0)
    };
    let (whole, _) = model(&CancelToken::new(), usize::MAX);
    let whole = whole.fit_stream(stream(), START).unwrap();
    // In the first chunk and in the last of the first pass, and of the second.
    for last in [100, CALLS - 100, CALLS + 100, 2 * CALLS - 100] {
        let (stopped, calls) = model(&CancelToken::new(), last);
        match stopped.fit_stream(stream().checkpoint(&path), START) {
            Ok(fit) => assert_eq!(fit.termination(), Termination::Stopped, "{last}"),
            Err(error) => assert_eq!((error, last < CALLS), (Error::StoppedInFirstPass, true)),
        }
        // Each thread ends the point that it is at.
        let most = last + 10 * rayon::current_num_threads() + 10;
        assert!(calls.load(Ordering::Relaxed) <= most, "{calls:?} calls, cancelled in {last}");
        let (resumed, _) = model(&CancelToken::new(), usize::MAX);
        let resumed = resumed.fit_stream(stream().checkpoint(&path), START).unwrap();
        assert_eq!(bits(&resumed), bits(&whole), "{last}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_limit_of_time_is_kept_within_a_chunk() {
    let x = linspace(0.0, 4.0, POINTS);
    let calls = Arc::new(AtomicUsize::new(0));
    let called = calls.clone();
    let slow = move |x: f64, p: &[f64]| {
        let calls = called.fetch_add(1, Ordering::Relaxed);
        assert!(calls < CALLS / 2, "the limit is not kept");
        std::thread::sleep(Duration::from_millis(1));
        p[0] * x + p[1]
    };
    let options = Options::default().max_time(Duration::from_millis(20));
    let model = CurveFit::native(2, slow).backend(Backend::Cpu).options(options);
    let source = SliceSource::new(&x, &x).unwrap();
    let fit = model.fit_stream(Stream::new(source).subsample(false), START);
    assert_eq!(fit.unwrap_err(), Error::StoppedInFirstPass);
}

/// Each call processes some chunks until its time limit, and the next one continues from there.
#[test]
fn a_stream_whose_time_is_over_goes_on_from_its_checkpoint() {
    let x = linspace(0.0, 4.0, 2 * POINTS);
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.1 * (9.0 * x).sin()).collect();
    let folder = folder();
    let path = folder.path().join("fit.checkpoint");
    let stream = || {
        let source = SliceSource::new(&x, &y).unwrap();
        let slowed = Slowed { source, pause: Duration::from_millis(4) };
        Stream::new(slowed).subsample(false).chunk_points(4096).prefetch(0)
    };
    let model = CurveFit::new(|x, [a, b]| a * (-b * x).exp()).backend(Backend::Cpu);
    let whole = model.fit_stream(stream(), START).unwrap();
    let limit = Options::default().max_time(Duration::from_millis(30));
    let limited = model.options(limit);
    let mut calls = 0;
    let fit = loop {
        calls += 1;
        match limited.fit_stream(stream().checkpoint(&path), START) {
            Ok(fit) if fit.termination() == Termination::TimeLimit => assert!(path.exists()),
            Ok(fit) => break fit,
            Err(error) => assert_eq!(error, Error::StoppedInFirstPass),
        }
    };
    assert!(calls > 1, "five reads of a pass take 20 ms");
    assert_eq!((bits(&fit), path.exists()), (bits(&whole), false));
}
