//! Fits of record batches: the same bits as for arrays of the same numbers; typed errors; checkpoints.

use crate::stream::support::{bits, folder, linspace, noise};
use arrow_array::{ArrayRef, Float32Array, Float64Array, Int16Array, RecordBatch};
use dualfit::error::{CheckpointError, SourceChange};
use dualfit::source::{SliceSource, Source};
use dualfit::{Backend, CurveFit, Error, Event, Fit, Missing, Sigma, Stream, Termination};
use dualfit_io::RecordBatchSource;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const POINTS: usize = 20_000;
const CHUNK: usize = 4096;
const START: [f64; 3] = [2.5, 0.8, 0.1];

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu)
}

fn values() -> (Vec<f64>, Vec<f64>) {
    let x = linspace(0.0, 10.0, POINTS);
    let value = |(x, e): (&f64, f64)| 2.0 * (-0.5 * x).exp() + 0.3 + e;
    let y = x.iter().zip(noise(POINTS, 0.1, 77)).map(value).collect();
    (x, y)
}

fn table(x: &[f64], y: ArrayRef, sigma: &[f64]) -> RecordBatch {
    let number = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
    let columns = [("x", number(x)), ("y", y), ("error", number(sigma))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn plain() -> RecordBatch {
    let (x, y) = values();
    table(&x, Arc::new(Float64Array::from(y)), &[0.1; POINTS])
}

/// Divides the rows into batches whose sizes cycle through `sizes`.
fn cut(table: &RecordBatch, sizes: &[usize]) -> Vec<RecordBatch> {
    let (mut batches, mut at) = (Vec::new(), 0);
    for size in sizes.iter().cycle() {
        let size = (*size).min(table.num_rows() - at);
        batches.push(table.slice(at, size));
        at += size;
        if at == table.num_rows() {
            break;
        }
    }
    batches
}

fn source(batches: Vec<RecordBatch>) -> RecordBatchSource<'static> {
    let schema = batches[0].schema();
    let open = move || Ok::<_, Infallible>(batches.clone().into_iter().map(Ok::<_, Infallible>));
    RecordBatchSource::new(schema, open).unwrap()
}

fn stream<'a>(source: impl Source + 'a) -> Stream<'a> {
    Stream::new(source).chunk_points(CHUNK)
}

fn fit(stream: Stream<'_>) -> dualfit::Result<Fit> {
    decay().fit_stream(stream, START)
}

fn kept(fit: &Fit) -> u64 {
    fit.stats().stream.as_ref().unwrap().kept_points
}

/// Compares fits of all types and sizes of batches with fits of slices of the same numbers.
#[test]
fn the_bits_are_those_of_slices() {
    let (x, y) = values();
    let sigma: Vec<f64> = x.iter().map(|x| 0.1 + 0.01 * x).collect();
    let gone = |i: usize| i % 7 == 3;
    let some = |y: &[f64]| -> Vec<Option<f64>> {
        y.iter().enumerate().map(|(i, y)| (!gone(i)).then_some(*y)).collect()
    };
    let holes: Vec<f64> = some(&y).into_iter().map(|y| y.unwrap_or(f64::NAN)).collect();
    let narrow: Vec<f32> = holes.iter().map(|&y| y as f32).collect();
    let counts: Vec<f64> = holes.iter().map(|y| (1000.0 * y).round()).collect();
    let integers = counts.iter().map(|&y| (!y.is_nan()).then_some(y as i16));
    let as_f32 = some(&y).into_iter().map(|y| y.map(|y| y as f32));
    let tables: [(&str, ArrayRef, SliceSource<'_>); 3] = [
        ("f64", Arc::new(Float64Array::from(some(&y))), SliceSource::new(&x, &holes).unwrap()),
        ("f32", Arc::new(as_f32.collect::<Float32Array>()), SliceSource::new(&x, &narrow).unwrap()),
        ("i16", Arc::new(integers.collect::<Int16Array>()), SliceSource::new(&x, &counts).unwrap()),
    ];
    for (kind, column, slices) in tables {
        let slices = slices.sigma(&sigma).unwrap();
        let omitting = |source| {
            let stream = stream(source).missing(Missing::Omit);
            fit(stream.sigma(Sigma::AbsoluteColumn).unwrap()).unwrap()
        };
        let expected = omitting(Box::new(slices) as Box<dyn Source>);
        assert!(expected.converged(), "{expected}");
        assert_eq!(expected.stats().stream.as_ref().unwrap().points_read % POINTS as u64, 0);
        let table = table(&x, column, &sigma);
        // Batches of one row, with empty batches between, of the length of a chunk, and of all rows.
        let sizes: [&[usize]; 5] = [&[1], &[0, 1000, 0, 0, 4097, 1], &[CHUNK], &[3001], &[POINTS]];
        for sizes in sizes {
            let source = || source(cut(&table, sizes)).sigma("error").unwrap();
            let found = omitting(Box::new(source()));
            assert_eq!(bits(&found), bits(&expected), "{kind}, batches of {sizes:?}");
            assert_eq!(kept(&found), POINTS as u64);
            let again = omitting(Box::new(source().in_memory().points(POINTS as u64)));
            assert_eq!((bits(&again), kept(&again)), (bits(&expected), 0), "{kind} {sizes:?}");
        }
        let nulls = fit(stream(source(cut(&table, &[999])))).unwrap_err();
        assert!(matches!(nulls, Error::NonFinite { index: 3, .. }), "{nulls:?}");
    }
}

/// Returns the error of a stream in which `wrong` replaces batch number `at` of the iterator number `opening`.
fn error_of(
    opening: usize,
    at: usize,
    wrong: impl Fn(RecordBatch) -> Result<RecordBatch, String> + Send + Sync + 'static,
) -> Error {
    let batches = cut(&plain(), &[1500]);
    let (schema, openings) = (batches[0].schema(), AtomicUsize::new(0));
    let wrong = Arc::new(wrong);
    let open = move || {
        let now = openings.fetch_add(1, Relaxed) == opening;
        let wrong = wrong.clone();
        let change = move |(i, batch)| if now && i == at { wrong(batch) } else { Ok(batch) };
        Ok::<_, Infallible>(batches.clone().into_iter().enumerate().map(change))
    };
    let source = RecordBatchSource::new(schema, open).unwrap().identity("mine");
    // There is not enough memory to keep chunks; therefore each pass reads again.
    let stream = stream(source).prefetch(0).memory_limit(1 << 18).subsample(false);
    fit(stream).unwrap_err()
}

#[test]
fn what_goes_wrong_in_a_pass_is_a_typed_error() {
    // In the first pass, and in the second.
    for opening in [0, 1] {
        let said = error_of(opening, 3, |_| Err("the store is away".into()));
        let Error::Source(why) = &said else { panic!("{said}") };
        assert_eq!((why.row, why.place.as_str()), (Some(4500), "record batches"));
        assert!(why.message.contains("the store is away"), "{said}");

        let said = error_of(opening, 5, |batch| Ok(batch.project(&[0, 1]).unwrap()));
        let Error::Source(why) = &said else { panic!("{said}") };
        assert_eq!(why.row, Some(7500));
        assert!(why.message.contains("a batch has the columns"), "{said}");

        let said = error_of(opening, 2, |_| panic!("a bug of the caller's"));
        let Error::SourcePanicked { message } = &said else { panic!("{said}") };
        assert!(message.contains("a bug of the caller's"), "{said}");
    }
    // Fewer or more rows in a later pass.
    let fewer = error_of(1, 13, |batch| Ok(batch.slice(0, 400)));
    let more = error_of(1, 0, |batch| {
        let twice = [0, 1, 2].map(|i| {
            let column = batch.column(i).clone();
            let values = column.as_any().downcast_ref::<Float64Array>().unwrap();
            let values: Vec<f64> = values.iter().chain(values.iter()).flatten().collect();
            Arc::new(Float64Array::from(values)) as ArrayRef
        });
        Ok(RecordBatch::try_new(batch.schema(), twice.into()).unwrap())
    });
    for (said, found) in [(fewer, 19_900), (more, 21_500)] {
        let Error::SourceChanged(SourceChange::Points { expected: 20_000, got }) = said else {
            panic!("{said}")
        };
        // The error occurs at the first additional chunk or at the end.
        assert!(got == found || got > 20_000, "{got}");
    }
}

#[test]
fn another_number_of_points_than_was_said_is_an_error() {
    for points in [POINTS - 1, POINTS + 1] {
        let source = source(cut(&plain(), &[1500])).points(points as u64);
        let said = fit(stream(source)).unwrap_err().to_string();
        assert!(said.contains(&format!("20000 points where it had said that there are {points}")));
    }
}

/// Without a fingerprint set by the caller, a change of the first rows is detected even if all points are kept.
#[test]
fn first_rows_that_change_are_noticed() {
    let (before, after) = (cut(&plain(), &[1500]), cut(&plain().slice(1, POINTS - 1), &[1500]));
    for change in 1..=4 {
        let (before, after, openings) = (before.clone(), after.clone(), AtomicUsize::new(0));
        let schema = before[0].schema();
        let open = move || {
            let changed = openings.fetch_add(1, Relaxed) >= change;
            let batches = if changed { after.clone() } else { before.clone() };
            Ok::<_, Infallible>(batches.into_iter().map(Ok::<_, Infallible>))
        };
        let said = fit(stream(RecordBatchSource::new(schema, open).unwrap())).unwrap_err();
        let contents = matches!(said, Error::SourceChanged(SourceChange::Contents { .. }));
        assert!(contents, "{change}: {said}");
    }
}

#[test]
fn a_stopped_fit_goes_on_from_its_checkpoint() {
    let folder = folder();
    let path = folder.path().join("fit.checkpoint");
    let batches = |sizes: &[usize]| source(cut(&plain(), sizes));
    let to_fit = |source| {
        let stream = stream(source).prefetch(0).memory_limit(1 << 18).subsample(false);
        stream.checkpoint(&path)
    };
    let (x, y) = values();
    let whole = fit(to_fit(batches(&[1500]))).unwrap();
    let slices = stream(SliceSource::new(&x, &y).unwrap()).subsample(false);
    assert_eq!(bits(&whole), bits(&fit(slices).unwrap()));
    let stop = |source, at: (usize, u64)| {
        let stopping = decay().observe(move |event| match event {
            Event::Stream(now) if (now.pass, now.chunk) == at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        match stopping.fit_stream(to_fit(source), START) {
            Ok(stopped) => assert_eq!(stopped.termination(), Termination::Stopped),
            Err(error) => assert_eq!((error, at.0), (Error::StoppedInFirstPass, 1)),
        }
    };
    for at in [(1, 1), (1, 4), (2, 2), (2, 5), (3, 1)] {
        stop(batches(&[1500]), at);
        // Other batches of the same rows are the same source.
        let resumed = fit(to_fit(batches(&[1, 0, 4095, 7]))).unwrap();
        assert_eq!(bits(&resumed), bits(&whole), "stopped at {at:?}");
        let stats = resumed.stats().stream.clone().unwrap();
        assert_eq!(stats.resumed_passes, at.0 - 1, "stopped at {at:?}");
    }
    // Another text of the caller, or no text, means other points.
    stop(batches(&[1500]).identity("version 7"), (2, 2));
    for other in [batches(&[1500]).identity("version 8"), batches(&[1500])] {
        let said = fit(to_fit(other)).unwrap_err();
        assert!(matches!(said, Error::Checkpoint(CheckpointError::Mismatch { .. })), "{said:?}");
    }
    let resumed = fit(to_fit(batches(&[2000]).identity("version 7"))).unwrap();
    assert_eq!(bits(&resumed), bits(&whole));
}
