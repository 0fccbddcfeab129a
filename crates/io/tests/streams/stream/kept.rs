//! Points that are kept between passes: the fit is the same if no points, some points or all points are kept.

use crate::decoded::Decoded;
use crate::stream::changed::{fitted, long_ago, set_time, what};
use crate::stream::support::{bits, folder, noise};
use dualfit::source::Source;
use dualfit::{Backend, CurveFit, Error, Event, Fit, Stream, Termination};
use dualfit_io::{CsvOptions, CsvSource};
use rayon::ThreadPoolBuilder;
use std::fmt::Write;
use std::fs;
use std::ops::ControlFlow;

const PIECE: usize = 4096;
const START: [f64; 2] = [1.0, 0.5];

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b]| a * (-b * x).exp()).backend(Backend::Cpu)
}

/// Returns a table of a decay. Its text has many pieces, which are decoded in parallel.
fn table(points: usize, rate: f64) -> String {
    let mut text = String::from("x,y\n");
    for (i, error) in noise(points, 0.1, 5).into_iter().enumerate() {
        let x = 4.0 * i as f64 / points as f64;
        writeln!(text, "{x:.7},{:.6}", 2.0 * (-rate * x).exp() + error).unwrap();
    }
    text
}

fn source(text: &str) -> CsvSource {
    CsvSource::from_bytes("table", text.as_bytes(), CsvOptions::default()).unwrap()
}

fn kept(fit: &Fit) -> u64 {
    fit.stats().stream.as_ref().unwrap().kept_points
}

/// Returns the memory limit for this number of chunks of a piece, in addition to the two that are reused.
fn room_for(chunks: usize) -> usize {
    ((2 + chunks) as f64 * (16 * PIECE) as f64 / 0.7).ceil() as usize + 2
}

#[test]
fn the_bits_are_the_same_whatever_is_kept() {
    for points in [3 * PIECE - 1, 3 * PIECE, 3 * PIECE + 1] {
        let text = table(points, 0.7);
        let stream = |source: Box<dyn Source>| {
            Stream::new(source).chunk_points(PIECE).prefetch(0).subsample(false)
        };
        let none = decay()
            .fit_stream(stream(Box::new(Decoded { source: source(&text), is_slow: false })), START)
            .unwrap();
        assert!(none.converged(), "{none}");
        assert_eq!(kept(&none), 0);
        for chunks in 0..=5 {
            for limit in [room_for(chunks), room_for(chunks + 1) - 4] {
                let stream = stream(Box::new(source(&text))).memory_limit(limit);
                let fit = decay().fit_stream(stream, START).unwrap();
                let what = format!("{points} points, room for {chunks} chunks, {limit} bytes");
                assert_eq!(bits(&fit), bits(&none), "{what}");
                assert_eq!(kept(&fit), (chunks * PIECE).min(points) as u64, "{what}");
                let stats = |fit: &Fit| {
                    let stats = fit.stats().stream.clone().unwrap();
                    (stats.passes, stats.chunks, stats.points_read, stats.bytes_read)
                };
                assert_eq!(stats(&fit), stats(&none), "{what}");
            }
        }
    }
}

/// The bits are the same for any number of decoding threads and any size of chunks.
#[test]
fn the_bits_are_the_same_on_any_number_of_threads() {
    let text = table(150_000, 0.7);
    assert!(text.len() > 9 * (256 << 10), "pieces for all threads");
    let fit = |threads: usize, chunk: usize, limit: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let stream = Stream::new(source(&text)).chunk_points(chunk).subsample(false);
        pool.install(|| decay().fit_stream(stream.memory_limit(limit), START)).unwrap()
    };
    let alone = fit(1, PIECE, 256 << 20);
    assert_eq!(kept(&alone), 150_000);
    for threads in [1, 2, 16] {
        for chunk in [PIECE, 3 * PIECE, 1 << 20] {
            for limit in [4 << 20, 256 << 20] {
                let bits = [bits(&fit(threads, chunk, limit)), bits(&alone)];
                assert_eq!(bits[0], bits[1], "{threads} threads, {chunk} points, {limit} bytes");
            }
        }
    }
}

#[test]
fn a_table_that_changes_is_found_though_all_of_it_is_kept() {
    let folder = folder();
    let path = folder.path().join("points.csv");
    let (old, new) = (table(20_000, 0.7), table(20_000, 3.0));
    let write = || {
        fs::write(&path, &old).unwrap();
        set_time(&path, long_ago());
    };
    write();
    let fit = fitted(CsvSource::open(&path).unwrap(), 9, || ()).unwrap();
    assert_eq!(kept(&fit), 20_000);
    for pass in 1..=3 {
        write();
        let (to, text) = (path.clone(), new.clone());
        let fit = fitted(CsvSource::open(&path).unwrap(), pass, move || {
            fs::write(&to, text).unwrap();
            set_time(&to, long_ago());
        });
        let what = what(fit);
        assert!(what == "contents" || what == "size", "in pass {pass}: {what}");
    }
}

#[test]
fn a_fit_goes_on_from_its_checkpoint_whatever_is_kept() {
    let text = table(5 * PIECE + 7, 0.7);
    let folder = folder();
    let path = folder.path().join("fit.checkpoint");
    let stream = |chunks| {
        let stream = Stream::new(source(&text)).chunk_points(PIECE).prefetch(0).subsample(false);
        stream.memory_limit(room_for(chunks))
    };
    let whole = decay().fit_stream(stream(0), START).unwrap();
    for (before, after) in [(0, 6), (6, 0), (6, 6), (3, 2)] {
        for (pass, chunk) in [(1, 1), (1, 5), (2, 2), (2, 3), (2, 4), (3, 1)] {
            let stopping = decay().observe(move |event| match event {
                Event::Stream(now) if (now.pass, now.chunk) == (pass, chunk) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
            match stopping.fit_stream(stream(before).checkpoint(&path), START) {
                Ok(stopped) => assert_eq!(stopped.termination(), Termination::Stopped),
                Err(error) => assert_eq!((error, pass), (Error::StoppedInFirstPass, 1)),
            }
            let resumed = decay().fit_stream(stream(after).checkpoint(&path), START).unwrap();
            assert_eq!(
                bits(&resumed),
                bits(&whole),
                "pass {pass}, chunk {chunk}, {before} {after}"
            );
        }
    }
}
