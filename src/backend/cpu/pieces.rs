//! Fixed division of the points into pieces, and parallel loops over them.
//!
//! The division does not depend on the threads, and the sums of pieces are merged in an order given by their numbers
//! ([`Tree`](crate::normal::Tree)). Therefore the result depends neither on the number of threads nor on the assignment
//! of pieces to threads.

use crate::data::validate_stream::PIECE;
use crate::threads;
use std::ops::Range;

/// Minimum number of calls of a native model per piece. A call of a cheap model takes about 100 ns.
const FEWEST_CALLS: usize = 32;
/// Maximum number of pieces for calls of a native model: enough to balance the load of all cores. It is exceeded only
/// if pieces would be longer than [`PIECE`].
const OF_CALLS: usize = 256;
/// Number of tasks per thread, so that threads do not wait long for the last task.
const TASKS: usize = 16;

/// Division of `points` points into pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    points: usize,
    length: usize,
}

impl Pieces {
    /// Divides the points for a traced model: about 10 µs of work per piece.
    pub(super) fn of_blocks(points: usize) -> Pieces {
        Pieces { points, length: PIECE }
    }

    /// Divides the points for a native model, for which a single call may take milliseconds.
    pub(super) fn of_calls(points: usize) -> Pieces {
        Pieces { points, length: points.div_ceil(OF_CALLS).clamp(FEWEST_CALLS, PIECE) }
    }

    pub(super) fn count(&self) -> usize {
        self.points.div_ceil(self.length).max(1)
    }

    /// Returns the range of points of each piece.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let pieces = *self;
        (0..self.count()).map(move |piece| pieces.range(piece))
    }

    fn range(&self, piece: usize) -> Range<usize> {
        piece * self.length..self.points.min((piece + 1) * self.length)
    }

    /// Returns the number of pieces per task. It does not affect the result, so it may depend on the number of threads.
    pub(super) fn of_task(&self, parallel: bool) -> usize {
        let tasks = if parallel { TASKS * threads::count() } else { 1 };
        self.count().div_ceil(tasks).next_power_of_two()
    }

    /// Calls `work` with each slot and the pieces of its task, on all threads if `parallel`. There must be one slot for
    /// each task of `of_task` pieces.
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
            true => threads::for_each(slots, &one),
            false => slots.iter_mut().enumerate().for_each(|(task, slot)| one(task, slot)),
        }
    }

    /// Returns the index of the first point of piece number `piece`; the number of points if there is no such piece.
    pub(super) fn end(&self, piece: usize) -> usize {
        self.points.min(piece * self.length)
    }

    /// Returns the points of each of these pieces as (start, end).
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
