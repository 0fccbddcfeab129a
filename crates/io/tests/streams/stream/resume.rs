//! Fits that are stopped after any chunk and called again: the bits of the result equal those of an uninterrupted fit.

use crate::stream::support::{bits, folder, linspace, noise};
use dualfit::error::CheckpointError;
use dualfit::source::SliceSource;
use dualfit::{
    Backend, CancelToken, CurveFit, Error, Event, Fit, Loss, Options, Stream, Termination,
};
use dualfit_io::NumberType::F64;
use dualfit_io::{RawFile, RawSource};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const POINTS: usize = 20_000;
const CHUNK: usize = 4096;

/// A way to fit the same points.
#[derive(Clone)]
struct Case {
    name: &'static str,
    model: CurveFit,
    start: Vec<f64>,
    y: Vec<f64>,
    subsample: bool,
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
        .names(["a", "b", "c"])
        .backend(Backend::Cpu)
}

fn x() -> Vec<f64> {
    linspace(0.0, 10.0, POINTS)
}

fn values(scale: f64) -> Vec<f64> {
    let e = noise(POINTS, 0.1, 11);
    let value = |(x, e): (&f64, &f64)| scale * (2.0 * (-0.5 * x).exp() + 0.3 + e);
    x().iter().zip(&e).map(value).collect()
}

/// Returns values in which every twentieth point is an outlier.
fn with_outliers() -> Vec<f64> {
    let off = |(i, y): (usize, f64)| if i % 20 == 7 { y + 5.0 } else { y };
    values(1.0).into_iter().enumerate().map(off).collect()
}

fn cases() -> Vec<Case> {
    let start = vec![1.8, 0.8, 0.1];
    let case = |name, model, y, subsample| Case { name, model, start: start.clone(), y, subsample };
    vec![
        case("plain", decay(), values(1.0), false),
        case("sampled", decay(), values(1.0), true),
        case("huber", decay().loss(Loss::Huber { scale: 0.2 }), with_outliers(), false),
        case("tukey", decay().loss(Loss::Tukey { scale: 0.5 }), with_outliers(), false),
        case("tukey, sampled", decay().loss(Loss::Tukey { scale: 0.5 }), with_outliers(), true),
        case("bounded", decay().bounds([(0.0, 1.9), (0.0, 5.0), (0.0, 1.0)]), values(1.0), false),
        Case {
            name: "huge",
            model: decay(),
            start: vec![2.5e200, 0.8, 1e199],
            y: values(1e200),
            subsample: false,
        },
        Case {
            name: "fixed",
            model: decay().fix("a").fix("b").fix("c"),
            start,
            y: values(1.0),
            subsample: false,
        },
    ]
}

impl Case {
    fn stream<'a>(&'a self, x: &'a [f64], checkpoint: &Path) -> Stream<'a> {
        // A small limit, so that the subsample is small, too.
        Stream::new(SliceSource::new(x, &self.y).unwrap())
            .memory_limit(1 << 19)
            .chunk_points(CHUNK)
            .subsample(self.subsample)
            .checkpoint(checkpoint)
    }

    /// Fits, and stops after `most` chunks. Returns the outcome and the number of chunks.
    fn stopped_after(
        &self,
        most: usize,
        stop: Stop,
        stream: Stream<'_>,
    ) -> (dualfit::Result<Fit>, usize) {
        let done = Arc::new(AtomicUsize::new(0));
        let (count, token) = (done.clone(), CancelToken::new());
        let cancelled = token.clone();
        let observer = move |event: &Event<'_>| {
            let Event::Stream(_) = event else { return ControlFlow::Continue(()) };
            match (count.fetch_add(1, Relaxed) + 1 >= most, stop) {
                (true, Stop::Observer) => return ControlFlow::Break(()),
                (true, Stop::Token) => cancelled.cancel(),
                _ => {}
            }
            ControlFlow::Continue(())
        };
        let model = self.model.clone().cancel_token(token).observe(observer);
        (model.fit_stream(stream, &self.start), done.load(Relaxed))
    }
}

/// Cause of a stop. The token is checked before the observer is called, therefore it acts one chunk later.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    Observer,
    Token,
}

fn ended(fit: &dualfit::Result<Fit>) -> bool {
    match fit {
        Ok(fit) => fit.termination() != Termination::Stopped,
        Err(Error::StoppedInFirstPass) => false,
        Err(error) => panic!("{error}"),
    }
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_fit_stopped_once_after_any_chunk_ends_with_the_same_bits() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    for case in cases() {
        let (whole, chunks) =
            case.stopped_after(usize::MAX, Stop::Observer, case.stream(&x, &path));
        let whole = whole.unwrap();
        let read = whole.stats().stream.as_ref().unwrap().points_read;
        println!("{}: {chunks} chunks, {:?}", case.name, whole.stats().stream);
        // A pass has five chunks. The kind of stop alternates, and a step of seven reaches every position in a pass.
        for k in (1..=chunks).filter(|k| chunks <= 30 || k % 7 == 0 || *k == chunks) {
            let stop = if k % 2 == 0 { Stop::Observer } else { Stop::Token };
            let place = format!("{}, {stop:?} after {k} of {chunks}", case.name);
            let (first, _) = case.stopped_after(k, stop, case.stream(&x, &path));
            // A token that is cancelled after the last check does not stop the fit.
            let last = stop == Stop::Token && k == chunks;
            assert_eq!(ended(&first), last, "{place}");
            if last {
                assert_eq!(bits(&first.unwrap()), bits(&whole), "{place}");
                continue;
            }
            let begun = first
                .as_ref()
                .ok()
                .map_or(0, |fit| fit.stats().stream.as_ref().unwrap().points_read);
            let (second, _) = case.stopped_after(usize::MAX, stop, case.stream(&x, &path));
            let second = second.unwrap();
            assert_eq!(bits(&second), bits(&whole), "{place}");
            assert_eq!(entries(folder.path()), 0, "{place}");
            let stats = second.stats().stream.as_ref().unwrap();
            if first.is_ok() && case.name != "huge" {
                assert_eq!(begun + stats.points_read, read, "{place}: {stats}");
            }
        }
    }
}

#[test]
fn a_fit_stopped_again_and_again_ends_with_the_same_bits() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    for case in cases().into_iter().filter(|case| case.name != "huge") {
        let (whole, _) = case.stopped_after(usize::MAX, Stop::Observer, case.stream(&x, &path));
        let whole = whole.unwrap();
        let (mut most, mut calls) = (1, 0);
        let end = loop {
            let (fit, _) = case.stopped_after(most, Stop::Observer, case.stream(&x, &path));
            calls += 1;
            assert!(calls < 500, "{} goes nowhere", case.name);
            if ended(&fit) {
                break fit.unwrap();
            }
            most = 1 + calls % 3;
        };
        println!("{}: {calls} calls", case.name);
        assert_eq!(bits(&end), bits(&whole), "{}", case.name);
        assert_eq!(entries(folder.path()), 0);
    }
}

#[test]
fn a_fit_goes_on_with_other_chunks() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    for case in cases() {
        let (whole, chunks) =
            case.stopped_after(usize::MAX, Stop::Observer, case.stream(&x, &path));
        let whole = whole.unwrap();
        for k in (6..chunks).step_by(3) {
            let (first, _) = case.stopped_after(k, Stop::Observer, case.stream(&x, &path));
            assert!(!ended(&first));
            let stream = case.stream(&x, &path);
            let stream = match k % 3 {
                0 => stream.chunk_points(9000).prefetch(0),
                1 => stream.chunk_points(usize::MAX).memory_limit(1 << 20).prefetch(5),
                _ => stream.chunk_points(1).memory_limit(1 << 30),
            };
            let (second, _) = case.stopped_after(usize::MAX, Stop::Observer, stream);
            assert_eq!(bits(&second.unwrap()), bits(&whole), "{}, {k}", case.name);
        }
    }
}

/// An observer of steps can also stop a stream, and the next run resumes without a difference.
#[test]
fn an_observer_of_the_steps_stops_a_stream() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    for case in cases().into_iter().filter(|case| case.name != "fixed") {
        let whole = case.model.fit_stream(case.stream(&x, &path), &case.start).unwrap();
        for step in 1..whole.stats().iterations {
            let observer = move |event: &Event<'_>| match event {
                Event::Step(now) if now.iteration >= step => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            let first = case.model.clone().observe(observer);
            let first = first.fit_stream(case.stream(&x, &path), &case.start).unwrap();
            let second = match first.termination() {
                Termination::Stopped => {
                    case.model.fit_stream(case.stream(&x, &path), &case.start).unwrap()
                }
                _ => first,
            };
            assert_eq!(bits(&second), bits(&whole), "{}, step {step}", case.name);
        }
    }
}

/// Writes the points to a raw file, and returns its path.
fn file(folder: &Path, y: &[f64]) -> std::path::PathBuf {
    let path = folder.join("points.raw");
    let bytes =
        x().into_iter().zip(y).flat_map(|(x, y)| [x.to_le_bytes(), y.to_le_bytes()].concat());
    std::fs::write(&path, bytes.collect::<Vec<u8>>()).unwrap();
    path
}

#[test]
fn a_checkpoint_of_another_fit_is_refused_and_nothing_is_touched() {
    let folder = folder();
    let (data, path) = (file(folder.path(), &values(1.0)), folder.path().join("fit.checkpoint"));
    let before = std::fs::read(&data).unwrap();
    let stream = || -> Stream<'static> {
        let source = RawSource::open([RawFile::new(&data, [F64, F64])]).unwrap();
        Stream::new(source).chunk_points(CHUNK).checkpoint(&path).subsample(false)
    };
    let stop = |event: &Event<'_>| match event {
        Event::Stream(now) if now.pass == 2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let start = [2.5, 0.8, 0.1];
    let first = decay().observe(stop).fit_stream(stream(), start).unwrap();
    assert_eq!(first.termination(), Termination::Stopped);
    let kept = std::fs::read(&path).unwrap();
    let other = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() - c).names(["a", "b", "c"]);
    let omitting = stream().missing(dualfit::Missing::Omit);
    let refused = [
        ("model", other.fit_stream(stream(), start)),
        ("parameters", decay().fit_stream(stream(), [2.5, 0.8, 0.2])),
        ("parameters", decay().fix("c").fit_stream(stream(), start)),
        ("parameters", decay().bounds([(0.0, 9.0); 3]).fit_stream(stream(), start)),
        (
            "loss and estimator",
            decay().loss(Loss::Huber { scale: 1.0 }).fit_stream(stream(), start),
        ),
        ("options", decay().options(Options::default().ftol(1e-3)).fit_stream(stream(), start)),
        ("treatment of points", decay().fit_stream(omitting, start)),
        ("treatment of points", decay().fit_stream(stream().subsample(true), start)),
    ];
    for (expected, fit) in refused {
        let Err(Error::Checkpoint(CheckpointError::Mismatch { field, .. })) = &fit else {
            panic!("{expected}: {fit:?}");
        };
        assert_eq!(field, expected);
        assert_eq!(std::fs::read(&path).unwrap(), kept);
    }
    // For another model, the message contains the first different operation.
    let other = other.fit_stream(stream(), start).unwrap_err().to_string();
    let names = ["fit.checkpoint.1, or", "(model: v8 = c + v7 there, v8 = v7 - c here)"];
    assert!(names.iter().all(|name| other.contains(name)), "{other}");
    file(folder.path(), &values(1.5));
    let fit = decay().fit_stream(stream(), start);
    assert!(
        matches!(&fit, Err(Error::Checkpoint(CheckpointError::Mismatch { field, .. })) if field == "source"),
        "{fit:?}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), kept);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&data, &before).unwrap();
    decay().fit_stream(stream(), start).unwrap();
    assert_eq!(std::fs::read(&data).unwrap(), before, "the data file is as it was");
}

/// If the file of the checkpoint is removed, the fit begins anew, although the previous file still exists.
#[test]
fn without_its_file_a_fit_begins_anew() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    let case = &cases()[0];
    let (whole, chunks) = case.stopped_after(usize::MAX, Stop::Observer, case.stream(&x, &path));
    let passes = whole.unwrap().stats().passes;
    let (first, _) = case.stopped_after(chunks - 2, Stop::Observer, case.stream(&x, &path));
    assert!(!ended(&first));
    assert_eq!(entries(folder.path()), 2, "the checkpoint and the one before it");
    std::fs::remove_file(&path).unwrap();
    let other = CurveFit::new(|x, [a, b]| a * x + b);
    let fit = other.fit_stream(case.stream(&x, &path), [1.0, 1.0]).unwrap();
    assert!(fit.converged());
    let fit = case.model.fit_stream(case.stream(&x, &path), &case.start).unwrap();
    assert_eq!(fit.stats().passes, passes);
    assert_eq!(fit.stats().stream.as_ref().unwrap().resumed_passes, 0);
    assert_eq!(entries(folder.path()), 0);
}

/// Passes are numbered continuously through all runs; a stopped pass has the same number in the next run.
#[test]
fn passes_are_numbered_on_after_a_stop() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    let seen = |case: &Case, most: usize| {
        let numbers = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = numbers.clone();
        let observer = move |event: &Event<'_>| {
            let Event::Stream(now) = event else { return ControlFlow::Continue(()) };
            let mut numbers = kept.lock().unwrap();
            numbers.push((now.pass, now.chunk));
            if numbers.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let model = case.model.clone().observe(observer);
        let fit = model.fit_stream(case.stream(&x, &path), &case.start);
        let numbers = numbers.lock().unwrap().clone();
        (fit, numbers)
    };
    for case in cases().into_iter().filter(|case| ["plain", "tukey, sampled"].contains(&case.name))
    {
        let (_, whole) = seen(&case, usize::MAX);
        for most in 1..whole.len().min(24) {
            let (first, begun) = seen(&case, most);
            assert!(!ended(&first));
            let (_, rest) = seen(&case, usize::MAX);
            let passes = |numbers: &[(usize, u64)]| numbers.iter().map(|n| n.0).collect::<Vec<_>>();
            assert_eq!(passes(&[begun, rest].concat()), passes(&whole), "{}, {most}", case.name);
        }
    }
}

/// A stopped fit does not warn of a poor fit: its state says nothing about its minimum.
#[test]
fn a_stopped_fit_is_not_called_poor() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    let case = &cases()[0];
    let far = Case { start: vec![-40.0, 3.0, 60.0], ..case.clone() };
    let (stopped, _) = far.stopped_after(6, Stop::Observer, far.stream(&x, &path));
    let stopped = stopped.unwrap();
    assert_eq!(stopped.termination(), Termination::Stopped);
    assert!(stopped.r_squared().unwrap() < 0.0, "{stopped}");
    assert_eq!(stopped.warnings(), [], "{stopped}");
    assert!(!stopped.to_string().contains("another start"), "{stopped}");
    let at_once = |event: &Event<'_>| match event {
        Event::Step(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let data = dualfit::Data::new(&x, &case.y).unwrap();
    let memory = case.model.clone().observe(at_once).fit(data, &[-4.0, 9.0, 60.0][..]).unwrap();
    assert_eq!((memory.termination(), memory.warnings()), (Termination::Stopped, &[][..]));
}

#[test]
fn a_damaged_checkpoint_is_refused_or_the_one_before_it_is_taken() {
    let (x, folder) = (x(), folder());
    let path = folder.path().join("fit.checkpoint");
    let case = &cases()[0];
    let whole = case.model.fit_stream(case.stream(&x, &path), &case.start).unwrap();
    for (passes, has_older) in [(5 + 3, false), (15 + 3, true)] {
        for damage in [0, 1, 2] {
            let (first, _) = case.stopped_after(passes, Stop::Observer, case.stream(&x, &path));
            assert!(!ended(&first));
            let mut bytes = std::fs::read(&path).unwrap();
            match damage {
                0 => bytes.truncate(bytes.len() / 2),
                1 => bytes.clear(),
                _ => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            let older = folder.path().join("fit.checkpoint.1");
            if !has_older {
                let _ = std::fs::remove_file(&older);
            }
            let fit = case.model.fit_stream(case.stream(&x, &path), &case.start);
            if has_older {
                assert_eq!(bits(&fit.unwrap()), bits(&whole));
                assert_eq!(entries(folder.path()), 0);
            } else {
                assert!(
                    matches!(fit, Err(Error::Checkpoint(CheckpointError::Corrupt { .. }))),
                    "{fit:?}"
                );
                assert_eq!(std::fs::read(&path).unwrap(), bytes, "it is left as it is");
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
}
