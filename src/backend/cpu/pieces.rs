//! The fixed division of the points into pieces, and the work over them.
//!
//! Where a piece begins depends on the number of its first point alone, and sums of pieces go together by their numbers
//! ([`Tree`](crate::normal::Tree)), so that the result depends neither on the number of threads nor on which of them has which.

use crate::data::validate_stream::PIECE;
use crate::threads;
use std::ops::Range;

/// Calls of a native model to a piece, at least: some 100 ns each if the model is cheap.
const FEWEST_CALLS: usize = 32;
/// The pieces of so few points: enough to keep any machine's cores evenly busy.
const OF_CALLS: usize = 256;
/// Tasks for each thread, so that none waits long for the last.
const TASKS: usize = 16;

/// The division of `points` points into pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    points: usize,
    length: usize,
}

impl Pieces {
    /// For traced models: some 10 µs of work each.
    pub(super) fn of_blocks(points: usize) -> Pieces {
        Pieces { points, length: PIECE }
    }

    /// For native models, a single call of which may take milliseconds.
    pub(super) fn of_calls(points: usize) -> Pieces {
        Pieces { points, length: points.div_ceil(OF_CALLS).clamp(FEWEST_CALLS, PIECE) }
    }

    pub(super) fn count(&self) -> usize {
        self.points.div_ceil(self.length).max(1)
    }

    /// The points of each.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let pieces = *self;
        (0..self.count()).map(move |piece| pieces.range(piece))
    }

    fn range(&self, piece: usize) -> Range<usize> {
        piece * self.length..self.points.min((piece + 1) * self.length)
    }

    /// Pieces that a thread takes at a time: not a matter of the result, which is why it may be one of the threads.
    pub(super) fn of_task(&self, parallel: bool) -> usize {
        let tasks = if parallel { TASKS * threads::count() } else { 1 };
        self.count().div_ceil(tasks).next_power_of_two()
    }

    /// Calls `work` with each slot and the pieces of its task, at the same time as far as there are threads if `parallel`. There
    /// must be one slot for each task of `of_task` pieces.
    pub(super) fn for_each<S: Send>(
        &self,
        (slots, of_task): (&mut [S], usize),
        parallel: bool,
        work: impl Fn(Range<usize>, &mut S) + Sync,
    ) {
        let one = |task: usize, slot: &mut S| {
            work(task * of_task..self.count().min((task + 1) * of_task), slot);
        };
        match parallel {
            true => threads::for_each(slots, one),
            false => slots.iter_mut().enumerate().for_each(|(task, slot)| one(task, slot)),
        }
    }

    /// The point behind the piece before number `piece`.
    pub(super) fn end(&self, piece: usize) -> usize {
        self.points.min(piece * self.length)
    }

    /// The points of these pieces, piece by piece.
    pub(super) fn points_of(&self, pieces: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let all = *self;
        pieces.map(move |piece| all.range(piece)).map(|points| (points.start, points.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all_points_once() {
        for n in [0, 1, PIECE, PIECE + 1, 1_000_000, 123_456_789] {
            for (pieces, unit) in [(Pieces::of_blocks(n), PIECE), (Pieces::of_calls(n), 1)] {
                for parallel in [false, true] {
                    let of_task = pieces.of_task(parallel);
                    let mut tasks = vec![Vec::new(); pieces.count().div_ceil(of_task)];
                    assert!(tasks.len() <= TASKS * threads::count());
                    pieces.for_each((&mut tasks, of_task), parallel, |range, points| {
                        points.extend(pieces.points_of(range));
                    });
                    let ranges = tasks.concat();
                    assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, n));
                    assert!(ranges.windows(2).all(|w| w[0].1 == w[1].0 && w[0].1 % unit == 0));
                    assert!(ranges.iter().all(|(start, end)| end - start <= PIECE));
                }
            }
        }
    }
}
