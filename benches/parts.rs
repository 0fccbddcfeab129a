//! Overhead of distributed fits: a fit by parts compared with a fit in memory.
//!
//! Pairs are timed alternately, and the median of their ratios is printed, because machines are shared. Without
//! `--bench` (as `cargo test --benches` runs it) there are few points and one pair.

use dualfit::parts::{Part, Parts, merge};
use dualfit::source::SliceSource;
use dualfit::{CurveFit, Data, Fit, Stream};
use rayon::prelude::*;
use std::error::Error;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

fn points(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 4.0 * i as f64 / n as f64).collect();
    let scatter =
        |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 1.7e7 - 0.5;
    let y = x.iter().enumerate().map(|(i, x)| 2.5 * (-1.3 * x).exp() + 0.5 + 0.2 * scatter(i));
    let y = y.collect();
    (x, y)
}

fn seconds<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(f64, T)> {
    let begun = Instant::now();
    let done = work()?;
    Ok((begun.elapsed().as_secs_f64(), done))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Fits `count` parts that end at group borders; returns the seconds and the fit.
fn by_parts(x: &[f64], y: &[f64], count: usize) -> Outcome<(f64, Fit)> {
    let curve = decay();
    let groups = x.len().div_ceil(Part::GROUP as usize);
    let begin = |part: usize| (groups * part / count * Part::GROUP as usize).min(x.len());
    let mut parts = (0..count)
        .map(|part| (begin(part), begin(part + 1)))
        .filter(|(begin, end)| end > begin)
        .map(|(begin, end)| {
            Ok(Part::new(&curve, Data::new(&x[begin..end], &y[begin..end])?, begin as u64)?)
        })
        .collect::<Outcome<Vec<Part<'_>>>>()?;
    seconds(|| {
        let ask = |question: &[u8]| {
            let answers: Vec<_> = parts.par_iter_mut().map(|part| part.answer(question)).collect();
            let mut answers = answers.into_iter();
            let first = answers.next().expect("a fit has a part")?;
            answers.try_fold(first, |all, answer| merge(&all, &answer?))
        };
        Ok(curve.fit_parts(Parts::new(ask).subsample(false), [2.0, 1.0, 0.3])?)
    })
}

fn main() -> Outcome<()> {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let (sizes, pairs) =
        if measures { (vec![1_000_000, 10_000_000], 15) } else { (vec![10_000], 1) };
    println!(
        "| points | parts | seconds in memory | over it: parts | over it: a stream of the arrays |\n|---|---|---|---|---|"
    );
    for n in sizes {
        let (x, y) = points(n);
        for count in [1, 4] {
            let (mut plain, mut ratios, mut streams) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..pairs {
                let (memory, fit) =
                    seconds(|| Ok(decay().fit(Data::new(&x, &y)?, [2.0, 1.0, 0.3])?))?;
                let (parts, by_parts) = by_parts(&x, &y, count)?;
                let stream = || {
                    let stream = Stream::new(SliceSource::new(&x, &y)?).subsample(false);
                    Ok(decay().fit_stream(stream, [2.0, 1.0, 0.3])?)
                };
                let (stream, _) = seconds(stream)?;
                // Time per evaluation, because the numbers of evaluations can differ.
                let each = |fit: &Fit, seconds: f64| seconds / fit.stats().evaluations as f64;
                plain.push(memory);
                ratios.push(each(&by_parts, parts) / each(&fit, memory));
                streams.push(stream / memory);
            }
            let (plain, parts, stream) = (median(plain), median(ratios), median(streams));
            println!(
                "| {n} | {count} | {plain:.4} | {:+.1} % | {:+.1} % |",
                1e2 * (parts - 1.0),
                1e2 * (stream - 1.0)
            );
        }
    }
    Ok(())
}
