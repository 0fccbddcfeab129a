//! Scaling of distributed fits: measured size and cost of messages for 3 to 1000 parameters; a fit of 10,000 parts in
//! one process; and, estimated from both, the time of an evaluation on 1 to 10,000 machines. The output is in
//! docs/scale.md.
//!
//! Without `--bench` (as `cargo test --benches` runs it) there are few parameters and parts.

use dualfit::parts::{Part, Parts, merge};
use dualfit::{Backend, CurveFit, Data};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const GROUP: usize = Part::GROUP as usize;

fn main() -> Outcome<()> {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let widths: &[usize] = if measures { &[3, 10, 30, 100, 300, 1000] } else { &[3] };
    println!(
        "| parameters | bytes of a request | bytes of a reply | µs to read, merge and write two replies | µs to do the same with R factors | µs of the leader per request |\n|---|---|---|---|---|---|"
    );
    let mut costs = Vec::new();
    for &parameters in widths {
        let cost = Costs::measured(parameters, if measures { 100 } else { 1 })?;
        println!(
            "| {parameters} | {} | {} | {:.1} | {} | {:.0} |",
            cost.request,
            cost.reply,
            1e6 * cost.merge,
            cost.factor.map_or("not requested".into(), |factor| format!("{:.1}", 1e6 * factor)),
            1e6 * cost.leader
        );
        costs.push(cost);
    }
    simulate(if measures { 10_000 } else { 17 })?;
    on_paper(&costs);
    Ok(())
}

/// Returns a sum of cosines with the given number of parameters.
fn cosines(parameters: usize) -> CurveFit {
    let curve = CurveFit::dynamic(parameters, |x, p| {
        let terms = p.iter().enumerate().map(|(k, p)| *p * (x * k as f64).cos());
        terms.reduce(|sum, term| sum + term).expect("a parameter")
    });
    curve.backend(Backend::Cpu)
}

/// Costs of a request that do not depend on the distribution of the points.
struct Costs {
    parameters: usize,
    /// Size of a request, in bytes.
    request: usize,
    reply: usize,
    /// Seconds to read two replies with normal equations, to merge them and to write the result.
    merge: f64,
    /// Seconds to do the same with R factors; `None` if the fit requests none or if the measurement takes too long. A
    /// fit requests R factors if columns are nearly dependent, which normal equations do not resolve.
    factor: Option<f64>,
    /// Seconds of the leader per request: reading the reply, checks, the step.
    leader: f64,
}

impl Costs {
    /// Measures requests and leader in a fit of few points, and the replies of two parts with one group each to the
    /// same requests.
    fn measured(parameters: usize, rounds: u32) -> Outcome<Costs> {
        let few = 4 * parameters;
        let x: Vec<f64> = (0..few).map(|i| 3.0 * i as f64 / few as f64).collect();
        let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
        let curve = cosines(parameters);
        let mut part = Part::new(&curve, Data::new(&x, &y)?, 0)?;
        let (mut replying, mut requests) = (Duration::ZERO, 0);
        let mut sent: Vec<(Vec<u8>, usize)> = Vec::new();
        let transport = |request: &[u8]| {
            let begun = Instant::now();
            let reply = part.answer(request)?;
            replying += begun.elapsed();
            requests += 1;
            sent.push((request.to_vec(), reply.len()));
            Ok(reply)
        };
        let begun = Instant::now();
        let fit = curve.fit_parts(Parts::new(transport).subsample(false), vec![0.1; parameters])?;
        let whole = begun.elapsed().as_secs_f64() - fit.stats().prepare_seconds;
        let leader = (whole - replying.as_secs_f64()) / f64::from(requests);
        // Requests of sums are the longest; the reply with an R factor is longer than the reply with normal equations.
        let length = sent.iter().map(|(request, _)| request.len()).max();
        let sums = || sent.iter().filter(|(request, _)| Some(request.len()) == length);
        let normal = sums().min_by_key(|(_, reply)| *reply).ok_or("no requests")?;
        let factor = sums().max_by_key(|(_, reply)| *reply).filter(|f| f.1 > normal.1);
        let x: Vec<f64> = (0..GROUP).map(|i| 3.0 * i as f64 / GROUP as f64).collect();
        let merging = |request: &[u8]| -> Outcome<(usize, f64)> {
            let reply = |first: usize| -> Outcome<Vec<u8>> {
                let mut part = Part::new(&curve, Data::new(&x, &x)?, first as u64)?;
                Ok(part.answer(request)?)
            };
            let (left, right) = (reply(0)?, reply(GROUP)?);
            let begun = Instant::now();
            for _ in 0..rounds {
                black_box(merge(&left, &right)?);
            }
            Ok((left.len(), begun.elapsed().as_secs_f64() / f64::from(rounds)))
        };
        let (reply, merge) = merging(&normal.0)?;
        // R factors of 1000 columns take minutes.
        let factor = match factor.filter(|_| parameters <= 300) {
            Some((request, _)) => Some(merging(request)?.1),
            None => None,
        };
        Ok(Costs { parameters, request: normal.0.len(), reply, merge, factor, leader })
    }
}

/// Fits `count` parts that all hold the same points, one after the other in this process.
fn simulate(count: usize) -> Outcome<()> {
    let x: Vec<f64> = (0..GROUP).map(|i| 4.0 * i as f64 / GROUP as f64).collect();
    let noise = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 1.7e7;
    let y = x.iter().enumerate().map(|(i, x)| 2.5 * (-1.3 * x).exp() + 0.4 + 0.2 * noise(i));
    let y: Vec<f64> = y.collect();
    let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
    let part = |number: usize| Ok(Part::new(&curve, Data::new(&x, &y)?, (number * GROUP) as u64)?);
    let mut parts = (0..count).map(part).collect::<Outcome<Vec<Part<'_>>>>()?;
    let (mut replying, mut merging) = (Duration::ZERO, Duration::ZERO);
    let (mut requests, mut merges, mut bytes, mut largest) = (0, 0, 0, 0);
    let transport = |request: &[u8]| {
        requests += 1;
        bytes += request.len();
        // Number of parts and their merged reply. Adjacent entries with equal numbers are merged, as in a binary tree.
        let mut tree: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut brought = |tree: &mut Vec<(usize, Vec<u8>)>| {
            let (Some((more, right)), Some((parts, left))) = (tree.pop(), tree.pop()) else {
                return Ok(());
            };
            let begun = Instant::now();
            let both = merge(&left, &right)?;
            merging += begun.elapsed();
            (merges, largest) = (merges + 1, largest.max(both.len()));
            tree.push((parts + more, both));
            Ok::<(), std::io::Error>(())
        };
        for part in &mut parts {
            let begun = Instant::now();
            tree.push((1, part.answer(request)?));
            replying += begun.elapsed();
            while let [.., (left, _), (right, _)] = tree[..]
                && left == right
            {
                brought(&mut tree)?;
            }
        }
        while tree.len() > 1 {
            brought(&mut tree)?;
        }
        Ok(tree.pop().map(|(_, all)| all).unwrap_or_default())
    };
    let begun = Instant::now();
    let fit = curve.fit_parts(transport, [1.0, 1.0, 0.0])?;
    let whole = begun.elapsed();
    assert!(fit.converged(), "{fit}");
    let rest = whole.saturating_sub(replying).saturating_sub(merging);
    println!(
        "\n{count} parts of {GROUP} points: {requests} requests of {bytes} bytes together, {merges} merges of {:.1} µs, the largest to {largest} bytes; {:.1} s in the parts, {:.3} s in merges, {:.4} s in the leader\n",
        1e6 * merging.as_secs_f64() / f64::from(merges),
        replying.as_secs_f64(),
        merging.as_secs_f64(),
        rest.as_secs_f64()
    );
    Ok(())
}

/// Number of points of the estimated fit, and bytes per point.
const POINTS: f64 = 1e12;
const POINT: f64 = 16.0;
/// GPUs per machine.
const GPUS: f64 = 8.0;
/// Data sheet of an H100: memory bandwidth in bytes/s, f64 multiply-adds per second, bytes of memory for points.
const MEMORY_RATE: f64 = 3.35e12;
const F64_RATE: f64 = 1.495e13;
const MEMORY: f64 = 70e9;
/// Fraction of both rates that is reached, and bytes/s from storage per GPU.
const REACHED: f64 = 0.8;
const STORAGE_RATE: f64 = 25e9;
/// Latency of a message in seconds, and bandwidth of a link in bytes/s.
const LATENCY: f64 = 3e-6;
const LINK_RATE: f64 = 12.5e9;
/// Maximum number of parameters for which rows of the Jacobian are not written to memory.
const FEW: usize = 32;

/// Estimates the time of an evaluation on 1 to 10,000 machines.
fn on_paper(costs: &[Costs]) {
    println!(
        "| parameters | machines | pass | tree | leader | share of the pass |\n|---|---|---|---|---|---|"
    );
    for cost in costs {
        let p = cost.parameters as f64;
        let columns = p + 1.0;
        for machines in [1.0, 25.0, 100.0, 1000.0, 10_000.0] {
            let parts: f64 = machines * GPUS;
            let points = POINTS / parts;
            let stored = points * POINT > MEMORY;
            let rows = if cost.parameters > FEW { 16.0 * columns } else { 0.0 };
            let work = columns * (columns + 1.0) / 2.0 + 2.0 * p + 22.0;
            let on_card = (points * (POINT + rows) / MEMORY_RATE).max(points * work / F64_RATE);
            let from_storage = if stored { points * POINT / STORAGE_RATE } else { 0.0 };
            let pass = (on_card / REACHED).max(from_storage);
            let bytes = (cost.request + cost.reply) as f64;
            let level = 2.0 * LATENCY + bytes / LINK_RATE + cost.merge;
            let tree = parts.log2().ceil() * level;
            println!(
                "| {} | {} | {}{} | {} | {} | {:.0} % |",
                cost.parameters,
                grouped(machines),
                if from_storage >= on_card / REACHED { "from storage, " } else { "" },
                time(pass),
                time(tree),
                time(cost.leader),
                1e2 * pass / (pass + tree + cost.leader)
            );
        }
    }
}

/// Formats a whole number below a million with a thousands separator.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    match digits.len() {
        0..=3 => digits,
        length => format!("{},{}", &digits[..length - 3], &digits[length - 3..]),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.3} ms", 1e3 * s).replace(".000", ""),
        s => format!("{s:.1} s"),
    }
}
