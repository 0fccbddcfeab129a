//! A source of every k-th point of another source.

use super::{Chunk, Shape, Source};
use crate::error::source::{SourceChange, SourceError};
use std::num::NonZeroU64;

/// Maximum distance between picked points at which the points between them are read; at larger distances the source
/// skips them.
const NEAR: u64 = 64;

/// Maximum number of points of the source per read.
const AT_A_TIME: usize = 1 << 14;

/// Every k-th point of a source.
///
/// ```
/// use dualfit::source::{FnSource, Source, StridedSource};
/// let all = FnSource::new(10, |i| (i as f64, 0.0));
/// let source = StridedSource::new(all, 4.try_into()?, 1); // points 1, 5 and 9
/// assert_eq!(source.shape().points, Some(3));
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StridedSource<S> {
    source: S,
    every: u64,
    offset: u64,
    /// Number of points between the current position of the source and the next picked point.
    wait: u64,
    read: Chunk,
}

impl<S: Source> StridedSource<S> {
    /// Creates a source of the points `offset`, `offset + every`, `offset + 2 every`, … of `source`. They count from
    /// the current position of `source`, and after a rewind from its beginning.
    pub fn new(source: S, every: NonZeroU64, offset: u64) -> StridedSource<S> {
        let read = Chunk::new(&source.shape(), 0);
        StridedSource { source, every: every.get(), offset, wait: offset, read }
    }
}

impl<S> StridedSource<S> {
    /// Returns the number of points to be picked among the next `count` points of the source, and updates `wait`.
    fn passed(&mut self, count: u64) -> u64 {
        let (wait, every) = (u128::from(self.wait), u128::from(self.every));
        let picked = u128::from(count).saturating_sub(wait).div_ceil(every);
        let wait = wait + picked * every - u128::from(count);
        self.wait = u64::try_from(wait).unwrap_or(u64::MAX);
        picked as u64
    }
}

impl<S: Source> Source for StridedSource<S> {
    fn shape(&self) -> Shape {
        let shape = self.source.shape();
        let points = shape.points.map(|n| n.saturating_sub(self.offset).div_ceil(self.every));
        Shape { points, ..shape }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.source.rewind()?;
        self.wait = self.offset;
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let mut picked = 0;
        while picked < most {
            if self.wait >= NEAR {
                let skipped = self.source.skip(self.wait)?;
                self.wait -= skipped.min(self.wait);
                if self.wait > 0 {
                    break;
                }
            }
            let want = match self.every {
                near @ ..=NEAR => (most - picked).saturating_mul(near as usize).min(AT_A_TIME),
                _ => self.wait as usize + 1,
            };
            self.read.truncate(0);
            let read = self.source.read(&mut self.read, want)?;
            if read == 0 {
                break;
            }
            // At most `most - picked` points are picked from `want` points.
            let places = (self.wait..read as u64).step_by(self.every as usize);
            let places = places.map(|place| place as usize);
            let new = places.clone().count();
            for (to, from) in chunk
                .x
                .iter_mut()
                .chain([&mut chunk.y])
                .zip(self.read.x.iter().chain([&self.read.y]))
            {
                places.clone().for_each(|place| to.push(from.values().at(place)));
            }
            if let (Some(to), Some(from)) = (&mut chunk.sigma, &self.read.sigma) {
                to.extend(places.filter_map(|place| from.get(place)));
            }
            self.passed(read as u64);
            picked += new;
        }
        Ok(picked)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        if count == 0 {
            return Ok(0);
        }
        let far = u128::from(self.wait) + u128::from(count - 1) * u128::from(self.every) + 1;
        let passed = self.source.skip(u64::try_from(far).unwrap_or(u64::MAX))?;
        Ok(self.passed(passed))
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.source.unchanged()
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let (every, offset) = (self.every, self.offset);
        Ok(format!("every {every} from {offset} of {}", self.source.fingerprint()?))
    }
}
