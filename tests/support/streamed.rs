//! Data without randomness from outside, and comparisons.

use dualfit::Fit;
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Shape, Source};
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

/// Normal noise of this size, the same for the same seed.
pub(crate) fn noise(n: usize, size: f64, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let normal = Normal::new(0.0, size).unwrap();
    (0..n).map(|_| normal.sample(&mut random)).collect()
}

/// `n` values from `from` to `to`.
pub(crate) fn linspace(from: f64, to: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| from + (to - from) * i as f64 / (n - 1) as f64).collect()
}

/// An empty folder, in memory where the system has such: checkpoints are synced, and there are hundreds.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Everything that a fit says of its parameters, to the bit.
pub(crate) fn bits(fit: &Fit) -> Vec<u64> {
    let (params, errors) = (fit.params().iter().copied(), fit.std_errors());
    let numbers =
        params.chain(errors).chain(fit.covariance().as_slice().iter().copied()).chain([fit.cost()]);
    numbers.map(f64::to_bits).collect()
}

/// A source that takes its time.
pub(crate) struct Slowed<S> {
    pub(crate) source: S,
    /// Before each read.
    pub(crate) pause: Duration,
}

impl<S: Source> Source for Slowed<S> {
    fn shape(&self) -> Shape {
        self.source.shape()
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.source.rewind()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        std::thread::sleep(self.pause);
        self.source.read(chunk, most)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        self.source.skip(count)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        self.source.fingerprint()
    }
}
