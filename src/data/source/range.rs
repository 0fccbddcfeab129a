//! A range of the points of a source.

use super::{Chunk, Shape, Source};
use crate::error::source::{SourceChange, SourceError};
use std::ops::Range;

/// Consecutive points of a source, selected by their numbers. For example, several processes read the same files, and
/// each selects its part.
///
/// ```
/// use dualfit::source::{RangeSource, SliceSource, Source};
/// let (x, y) = ([1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0]);
/// let source = RangeSource::new(SliceSource::new(&x, &y)?, 1..3);
/// assert_eq!(source.shape().points, Some(2));
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RangeSource<S> {
    source: S,
    range: Range<u64>,
    /// Number of points of the range that are still to be read.
    left: u64,
}

impl<S: Source> RangeSource<S> {
    /// Creates a source of the points of `source` whose numbers, counted from 0, are in `range`; fewer if `source` is
    /// shorter. Each pass skips the points before the range, which costs nothing for files of fixed records.
    pub fn new(source: S, range: Range<u64>) -> RangeSource<S> {
        RangeSource { source, range, left: 0 }
    }
}

impl<S: Source> Source for RangeSource<S> {
    fn shape(&self) -> Shape {
        let shape = self.source.shape();
        let Range { start, end } = self.range;
        let points = shape.points.map(|all| end.min(all).saturating_sub(start));
        Shape { points, ..shape }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.left = 0;
        self.source.rewind()?;
        if self.source.skip(self.range.start)? == self.range.start {
            self.left = self.range.end.saturating_sub(self.range.start);
        }
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(most);
        if most == 0 {
            return Ok(0);
        }
        let read = self.source.read(chunk, most)?;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let skipped = self.source.skip(count.min(self.left))?;
        self.left = self.left.saturating_sub(skipped);
        Ok(skipped)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let Range { start, end } = self.range;
        Ok(format!("points {start} to {end} of {}", self.source.fingerprint()?))
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.source.unchanged()
    }

    fn is_slow(&self) -> bool {
        self.source.is_slow()
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunk, RangeSource, Source};
    use crate::data::source::chain::ChainSource;
    use crate::data::source::slices::SliceSource;

    /// Tests every range of a chain of two sources, read in pieces of every size, with skipped points.
    #[test]
    fn the_points_are_those_of_the_range() {
        let x: Vec<f64> = (0..7).map(f64::from).collect();
        let parts = || [&x[..4], &x[4..]].map(|x| SliceSource::new(x, x).unwrap());
        for start in 0..9 {
            for end in 0..9 {
                let chain = ChainSource::new(parts()).unwrap();
                let mut source = RangeSource::new(chain, start..end);
                let expected: Vec<f64> = (start..end.min(7)).map(|i| i as f64).collect();
                assert_eq!(source.shape().points, Some(expected.len() as u64), "{start}..{end}");
                for most in 1..4 {
                    for skip in 0..3 {
                        source.rewind().unwrap();
                        let skipped = source.skip(skip).unwrap();
                        assert_eq!(skipped, skip.min(expected.len() as u64));
                        let mut chunk = Chunk::new(&source.shape(), 0);
                        while source.read(&mut chunk, most).unwrap() > 0 {}
                        let rest = &expected[skipped as usize..];
                        let read: Vec<f64> =
                            (0..chunk.len()).map(|i| chunk.y.values().at(i)).collect();
                        assert_eq!(read, rest, "{start}..{end} by {most} after {skip}");
                    }
                }
            }
        }
    }
}
