//! Checks of a source against its expected points.

use dualfit::error::SourceError;
use dualfit::source::{Chunk, Column, Source};

/// x, y, sigma.
pub(crate) type Point = (Vec<f64>, f64, Option<f64>);

fn values(column: &Column) -> Vec<f64> {
    column.values().to_f64()
}

pub(crate) fn points_of(chunk: &Chunk) -> Vec<Point> {
    let (x, y): (Vec<_>, _) = (chunk.x.iter().map(values).collect(), values(&chunk.y));
    assert!(x.iter().all(|x| x.len() == y.len()), "columns of different lengths");
    assert!(chunk.sigma.as_ref().is_none_or(|sigma| sigma.len() == y.len()), "sigma's length");
    let sigma = |i: usize| chunk.sigma.as_ref().map(|sigma| sigma[i]);
    (0..y.len()).map(|i| (x.iter().map(|x| x[i]).collect(), y[i], sigma(i))).collect()
}

/// Reads the remaining points in chunks of at most `most` points.
pub(crate) fn rest(source: &mut impl Source, most: usize) -> Result<Vec<Point>, SourceError> {
    let mut chunk = Chunk::new(&source.shape(), 0);
    let mut points = Vec::new();
    loop {
        chunk.truncate(0);
        let read = source.read(&mut chunk, most)?;
        assert_eq!(read, chunk.len());
        assert!(read <= most);
        if read == 0 {
            return Ok(points);
        }
        points.extend(points_of(&chunk));
    }
}

/// Returns true if the points are equal; NaN equals NaN.
pub(crate) fn same(found: &[Point], expected: &[Point]) -> bool {
    let equal = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| {
            a.0.len() == b.0.len()
                && a.0.iter().zip(&b.0).all(|(a, b)| equal(*a, *b))
                && equal(a.1, b.1)
                && a.2.map(f64::to_bits) == b.2.map(f64::to_bits)
        })
}

#[track_caller]
fn assert_same(found: &[Point], expected: &[Point], what: &str) {
    assert!(same(found, expected), "{what}: {found:?}\nexpected: {expected:?}");
}

/// Checks that the source returns these points for all ways of reading.
#[track_caller]
pub(crate) fn check(mut source: impl Source, expected: &[Point]) {
    let n = expected.len();
    let shape = source.shape();
    assert!(shape.points.is_none_or(|points| points == n as u64), "{:?}", shape.points);
    let fingerprint = source.fingerprint().unwrap();
    for most in [1, 7, n.max(1), n + 1, 100_000] {
        assert_same(&rest(&mut source, most).unwrap(), expected, &format!("chunks of {most}"));
        assert_eq!(rest(&mut source, most).unwrap(), [], "after the end");
        source.rewind().unwrap();
    }
    for before in [0, 1, 5] {
        for count in [0, 1, 2, 7, 64, n.saturating_sub(before), n, n + 1, usize::MAX >> 1] {
            let mut chunk = Chunk::new(&shape, 0);
            let mut read = 0;
            while read < before.min(n) {
                read += source.read(&mut chunk, before - read).unwrap();
            }
            let skipped = source.skip(count as u64).unwrap();
            assert_eq!(skipped, count.min(n - read) as u64, "skip {count} after {read}");
            let left = rest(&mut source, 3).unwrap();
            let what = format!("skip {count} after {read}");
            assert_same(&left, &expected[read + skipped as usize..], &what);
            source.rewind().unwrap();
        }
    }
    let mut chunk = Chunk::new(&shape, 0);
    source.read(&mut chunk, 2).unwrap();
    let more = source.read(&mut chunk, 3).unwrap();
    assert!(chunk.len() <= 5 && (more > 0 || n <= 2), "appended");
    assert_same(&points_of(&chunk), &expected[..chunk.len()], "appended");
    assert_eq!(source.fingerprint().unwrap(), fingerprint, "in the middle");
    assert_eq!(source.shape(), shape);
}
