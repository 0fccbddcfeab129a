//! Flags of consecutive points, for passes that evaluate a model at the points to leave out, too.
//!
//! If few points of a piece are left out, the model is evaluated at all of them, and the rows of those to leave out are
//! replaced by 0. Otherwise the values of the used points are copied first ([`gather`](super::gather)), which takes as long
//! as the evaluation at half as many points.

use crate::data::points::Points;
use crate::data::validate_stream::PIECE;

/// Flags of the points of consecutive pieces, 1 for used points and 0 for those to leave out.
#[derive(Default)]
pub(super) struct Flags {
    begin: usize,
    used: Vec<u8>,
}

impl Flags {
    pub(super) fn forget(&mut self) {
        self.used.clear();
    }

    /// Returns the flags of the piece that begins at `start` and of the following ones, up to `until` or to the first piece
    /// of which more than a third is left out; `None` if this is the piece at `start`. The flags are kept until
    /// [`forget`](Flags::forget).
    pub(super) fn of_pieces(
        &mut self,
        points: &Points<'_>,
        (start, until): (usize, usize),
    ) -> Option<&[u8]> {
        if !(self.begin..self.begin + self.used.len()).contains(&start) {
            self.used.clear();
            self.begin = start;
            self.used.reserve_exact(until.saturating_sub(start));
            let mut pieces = (start..until).step_by(PIECE);
            pieces.all(|first| self.append(points, (first, until.min(first + PIECE))));
        }
        Some(&self.used[start - self.begin..]).filter(|used| !used.is_empty())
    }

    /// Appends the flags of the points of a piece and returns true, if at least two of three are used.
    fn append(&mut self, points: &Points<'_>, (start, end): (usize, usize)) -> bool {
        let before = self.used.len();
        self.used.resize(before + end - start, 0);
        let used = points.flag_used(start, &mut self.used[before..]);
        let is_dense = 3 * used >= 2 * (end - start);
        if !is_dense {
            self.used.truncate(before);
        }
        is_dense
    }
}
