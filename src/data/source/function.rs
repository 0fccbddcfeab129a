//! A source of points that a closure computes, each from its number 0, 1, ….

use super::{Chunk, Shape, Source};
use crate::data::source::{Fingerprint, evenly_distributed};
use crate::error::source::SourceError;

/// Result of a closure for a point: `(x, y)` or `(x, y, sigma)`, where x is a number or `[f64; D]`.
pub trait IntoPoint: private::Sealed {}

impl<P: private::Sealed> IntoPoint for P {}

mod private {
    /// A point with `COLUMNS` independent variables. `SIGMA`: true if it has a standard deviation.
    pub trait Sealed {
        const COLUMNS: usize;
        const SIGMA: bool;
        fn give<R>(self, take: impl FnOnce(&[f64], f64, Option<f64>) -> R) -> R;
    }

    impl Sealed for (f64, f64) {
        const COLUMNS: usize = 1;
        const SIGMA: bool = false;
        fn give<R>(self, take: impl FnOnce(&[f64], f64, Option<f64>) -> R) -> R {
            take(&[self.0], self.1, None)
        }
    }

    impl Sealed for (f64, f64, f64) {
        const COLUMNS: usize = 1;
        const SIGMA: bool = true;
        fn give<R>(self, take: impl FnOnce(&[f64], f64, Option<f64>) -> R) -> R {
            take(&[self.0], self.1, Some(self.2))
        }
    }

    impl<const D: usize> Sealed for ([f64; D], f64) {
        const COLUMNS: usize = D;
        const SIGMA: bool = false;
        fn give<R>(self, take: impl FnOnce(&[f64], f64, Option<f64>) -> R) -> R {
            take(&self.0, self.1, None)
        }
    }

    impl<const D: usize> Sealed for ([f64; D], f64, f64) {
        const COLUMNS: usize = D;
        const SIGMA: bool = true;
        fn give<R>(self, take: impl FnOnce(&[f64], f64, Option<f64>) -> R) -> R {
            take(&self.0, self.1, Some(self.2))
        }
    }
}

/// A closure as a source of points. Called with i = 0, 1, …, it returns point number i, always with the same values.
///
/// ```
/// use dualfit::source::{FnSource, Source};
/// let source = FnSource::new(1_000_000, |i| {
///     let t = 1e-6 * i as f64;
///     (t, 2.0 * (-3.0 * t).exp())
/// });
/// assert_eq!(source.shape().points, Some(1_000_000));
/// ```
#[derive(Clone, Debug)]
pub struct FnSource<F> {
    point: F,
    points: u64,
    next: u64,
}

impl<P: IntoPoint, F: Fn(u64) -> P + Send> FnSource<F> {
    /// Creates a source of `points` points. Point number i is `point(i)`: `(x, y)` or `(x, y, sigma)`, where x is a
    /// number or one number per independent variable, `[f64; D]`.
    pub fn new(points: u64, point: F) -> FnSource<F> {
        FnSource { point, points, next: 0 }
    }
}

impl<P: IntoPoint, F: Fn(u64) -> P + Send> Source for FnSource<F> {
    fn shape(&self) -> Shape {
        Shape { sigma: P::SIGMA, points: Some(self.points), ..Shape::new(P::COLUMNS) }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let count = (most as u64).min(self.points - self.next);
        for number in self.next..self.next + count {
            (self.point)(number).give(|x, y, sigma| chunk.push(x, y, sigma));
        }
        self.next += count;
        Ok(count as usize)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let skipped = count.min(self.points - self.next);
        self.next += skipped;
        Ok(skipped)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        /// Maximum number of points in the digest.
        const LOOKED_AT: u64 = 64;
        let mut digest = Fingerprint::new();
        for place in evenly_distributed(self.points, LOOKED_AT) {
            (self.point)(place).give(|x, y, sigma| {
                x.iter().chain([&y]).for_each(|value| digest.number(value.to_bits()));
                digest.number(sigma.unwrap_or(0.0).to_bits());
            });
        }
        Ok(format!("function, {} x, {} points, {}", P::COLUMNS, self.points, digest.text()))
    }
}
