//! Memory that a fit takes, as the system counts it, where the points are many times the limit.
#![cfg(target_os = "linux")]

use crate::decoded::Decoded;
use crate::stream::child;
use dualfit::result::StreamStats;
use dualfit::source::FnSource;
use dualfit::{Backend, CurveFit, Stream};
use std::fs;

const TEST: &str = "stream::memory::a_stream_keeps_its_limit";
const LIMIT: usize = 8 << 20;
/// Memory of a process in addition to the limit, as documented for `Stream::memory_limit`.
const BESIDE: usize = 30_000_000;
/// Points of 16 bytes that are 21 times the limit.
const POINTS: u64 = 21 * LIMIT as u64 / 16;

/// The most memory that this process has had, in bytes.
fn most_resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
}

fn point(i: u64) -> (f64, f64) {
    let x = 1e-6 * i as f64;
    // Noise that needs no memory.
    let e = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    (x, 2.0 * (-0.5 * x).exp() + 0.3 + 0.1 * e)
}

/// Task of a child: returns the growth of its memory and the size of its buffers, in bytes.
fn grown(subsample: bool) -> (usize, usize) {
    let stream = Stream::new(FnSource::new(POINTS, point)).subsample(subsample);
    let (grown, stats) = grown_by(stream);
    (grown, stats.buffer_bytes)
}

fn grown_by(stream: Stream<'_>) -> (usize, StreamStats) {
    let stream = stream.memory_limit(LIMIT);
    let before = most_resident();
    let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
    let fit = model.fit_stream(stream, [2.05, 0.51, 0.31]).unwrap();
    assert!((fit.params()[1] - 0.5).abs() < 1e-3, "{fit}");
    (most_resident() - before, fit.stats().stream.clone().unwrap())
}

#[test]
fn a_stream_keeps_its_limit() {
    if let Some(task) = child::task(TEST) {
        let (subsample, path) = task.split_once(' ').unwrap();
        let (grown, buffers) = grown(subsample == "true");
        return fs::write(path, format!("{grown} {buffers}")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes");
    for subsample in [false, true] {
        child::finish(child::start(TEST, &format!("{subsample} {}", path.display())));
        let text = fs::read_to_string(&path).unwrap();
        let numbers: Vec<usize> = text.split(' ').map(|n| n.parse().unwrap()).collect();
        let (grown, buffers) = (numbers[0], numbers[1]);
        println!(
            "sample: {subsample}; grown by {grown} bytes, buffers of {buffers}, limit {LIMIT}"
        );
        assert!(grown <= LIMIT + BESIDE, "sample: {subsample}; grown by {grown}");
        assert!(buffers <= LIMIT);
    }
}

const KEEPING: &str = "stream::memory::a_stream_that_keeps_points_keeps_its_limit";

/// Points of three times the limit from a source that takes long to decode: the part that fits is kept.
#[test]
fn a_stream_that_keeps_points_keeps_its_limit() {
    if let Some(path) = child::task(KEEPING) {
        let source = Decoded { source: FnSource::new(3 * LIMIT as u64 / 16, point), is_slow: true };
        let (grown, stats) = grown_by(Stream::new(source).chunk_points(4096));
        let text = format!("{grown} {} {}", stats.buffer_bytes, stats.kept_points);
        return fs::write(path, text).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes");
    child::finish(child::start(KEEPING, path.to_str().unwrap()));
    let text = fs::read_to_string(&path).unwrap();
    let numbers: Vec<usize> = text.split(' ').map(|n| n.parse().unwrap()).collect();
    println!("grown by {} bytes, buffers of {}, limit {LIMIT}", numbers[0], numbers[1]);
    assert!(numbers[0] <= LIMIT + BESIDE, "grown by {}", numbers[0]);
    assert!(numbers[2] > 0, "no points are kept");
}
