//! Summaries of many pieces of points, merged in groups: in an order that does not depend on how many
//! pieces come at a time, and with the rounding of hundreds of sums where there are millions of pieces.

use super::Summary;

/// Pieces of a group: what a fit in memory has at most, so that up to that many the bits are the same.
const GROUP: u64 = 256;

/// A sum that grows piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Grouped<S> {
    /// Of the groups that are complete.
    total: S,
    /// Of the pieces since then.
    group: S,
    pieces: u64,
}

impl<S: Summary + Clone> Grouped<S> {
    /// Of no pieces; `empty` is a summary of no points.
    pub(crate) fn new(empty: S) -> Grouped<S> {
        Grouped { total: empty.clone(), group: empty, pieces: 0 }
    }

    /// From the parts of an earlier one.
    pub(crate) fn from_parts((total, group): (S, S), pieces: u64) -> Grouped<S> {
        Grouped { total, group, pieces }
    }

    /// Complete groups, the rest, and the number of pieces.
    pub(crate) fn parts(&self) -> (&S, &S, u64) {
        (&self.total, &self.group, self.pieces)
    }

    /// Adds a piece, whose contents may be used up.
    pub(crate) fn add(&mut self, piece: &mut S) {
        self.group.merge(piece);
        self.pieces += 1;
        if self.pieces.is_multiple_of(GROUP) {
            self.close();
        }
    }

    /// The sum of all pieces.
    pub(crate) fn sum(mut self) -> S {
        self.close();
        self.total
    }

    fn close(&mut self) {
        // Merging with nothing would cost a factor its last bits.
        if self.pieces <= GROUP {
            std::mem::swap(&mut self.total, &mut self.group);
        } else {
            self.total.merge(&mut self.group);
        }
        self.group.clear();
    }
}
