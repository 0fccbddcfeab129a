//! The fixed division of the points into chunks, and the work over them.
//!
//! Where a chunk begins depends on the number of points alone, and summaries are merged in the order
//! of the chunks, so the result does not depend on the number of threads. The number of chunks is
//! bounded, so the memory for their summaries does not grow with the data.

use super::code::BLOCK;
use crate::threads;
use std::ops::Range;

/// A chunk is at least this long: some 10 µs of work, against which handing it to a thread is little.
const SHORTEST: usize = 8 * BLOCK;
/// Calls of a native model to a chunk, at least: some 100 ns each if the model is cheap.
const FEWEST_CALLS: usize = 32;
/// The largest number of chunks: enough to keep any machine's cores evenly busy.
const MOST: usize = 256;

/// The division of `points` points into chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    points: usize,
    length: usize,
}

impl Chunks {
    /// For traced models.
    pub(super) fn of_blocks(points: usize) -> Chunks {
        let length = points.div_ceil(MOST).next_multiple_of(BLOCK).max(SHORTEST);
        Chunks { points, length }
    }

    /// Of `length` points each, however many that are.
    pub(super) fn of_length(points: usize, length: usize) -> Chunks {
        Chunks { points, length }
    }

    /// For native models, a single call of which may take milliseconds.
    pub(super) fn of_calls(points: usize) -> Chunks {
        Chunks { points, length: points.div_ceil(MOST).max(FEWEST_CALLS) }
    }

    pub(super) fn count(&self) -> usize {
        self.points.div_ceil(self.length).max(1)
    }

    /// The points of each.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.count()).map(|chunk| self.range(chunk))
    }

    fn range(&self, chunk: usize) -> Range<usize> {
        chunk * self.length..self.points.min((chunk + 1) * self.length)
    }

    /// Calls `work(start, end, slot)` for each chunk, with the slot of its number; in parallel if
    /// `parallel`. There must be one slot per chunk.
    pub(super) fn for_each<S: Send>(
        &self,
        slots: &mut [S],
        parallel: bool,
        work: impl Fn(usize, usize, &mut S) + Sync,
    ) {
        let one = |chunk: usize, slot: &mut S| {
            let points = self.range(chunk);
            work(points.start, points.end, slot);
        };
        match parallel {
            true => threads::for_each(slots, one),
            false => slots.iter_mut().enumerate().for_each(|(chunk, slot)| one(chunk, slot)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_points_once_and_are_few() {
        for n in [0, 1, BLOCK, SHORTEST, SHORTEST + 1, 1_000_000, 123_456_789] {
            for (chunks, unit) in [(Chunks::of_blocks(n), BLOCK), (Chunks::of_calls(n), 1)] {
                assert!(chunks.count() <= MOST);
                let mut ranges = vec![(0, 0); chunks.count()];
                chunks.for_each(&mut ranges, false, |start, end, slot| *slot = (start, end));
                assert_eq!(ranges[0].0, 0);
                assert_eq!(ranges[ranges.len() - 1].1, n);
                assert!(ranges.windows(2).all(|w| w[0].1 == w[1].0 && w[0].1 % unit == 0));
            }
        }
    }
}
