//! Summaries of many pieces of points, merged in groups: in an order that does not depend on how many
//! pieces come at a time, and with the rounding of hundreds of sums where there are millions of pieces.

use super::Summary;
use serde::{Deserialize, Serialize};

/// Pieces of a group: what a fit in memory has at most, so that up to that many the bits are the same.
const GROUP: u64 = 256;

/// A sum that grows piece by piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Grouped<S> {
    /// Of the groups that are complete.
    total: Part<S>,
    /// Of the pieces since then.
    group: Part<S>,
}

/// A sum, and of how many pieces it is. The number goes wherever the sum goes, so that nothing takes the
/// sum of none for that of many.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part<S> {
    sums: S,
    pieces: u64,
}

impl<S: Summary + Clone> Grouped<S> {
    /// Of no pieces; `empty` is a summary of no points.
    pub(crate) fn new(empty: S) -> Grouped<S> {
        let none = Part { sums: empty, pieces: 0 };
        Grouped { total: none.clone(), group: none }
    }

    /// Whether what was read from a file can be a sum of `pieces` pieces, each of which `fits`.
    pub(crate) fn is_sound(&self, pieces: u64, fits: impl Fn(&S) -> bool) -> bool {
        let rest = pieces % GROUP;
        (self.total.pieces, self.group.pieces) == (pieces - rest, rest)
            && fits(&self.total.sums)
            && fits(&self.group.sums)
    }

    /// Adds a piece, whose contents may be used up.
    pub(crate) fn add(&mut self, piece: &mut S) {
        self.group.sums.merge(piece);
        self.group.pieces += 1;
        if self.group.pieces == GROUP {
            self.close();
        }
    }

    /// The sum of all pieces.
    pub(crate) fn sum(mut self) -> S {
        self.close();
        self.total.sums
    }

    /// Brings the group to the total. Merging with nothing would cost a factor its last bits.
    fn close(&mut self) {
        match (self.total.pieces, self.group.pieces) {
            (_, 0) => return,
            (0, _) => std::mem::swap(&mut self.total, &mut self.group),
            _ => {
                self.total.sums.merge(&mut self.group.sums);
                self.total.pieces += self.group.pieces;
            }
        }
        self.group.sums.clear();
        self.group.pieces = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::{Normal, RFactor};
    use serde::de::DeserializeOwned;

    /// Pieces at the borders of groups, one more and one less.
    const BORDERS: [u64; 12] = [0, 1, 2, 255, 256, 257, 511, 512, 513, 767, 768, 769];

    /// Integers, so that sums of them are exact in any order.
    fn normal(piece: u64) -> Normal {
        let products = (0..6).map(|k| ((7 * piece + k) % 1000) as f64).collect();
        Normal { n: 2, products, cost: (piece % 97) as f64 }
    }

    /// A point (1, piece) and a residual, in one row: sums of squares are those of the columns.
    fn factor(piece: u64) -> RFactor {
        let mut factor = RFactor::zero(1);
        factor.r[0] = 1.0;
        factor.r[2] = piece as f64;
        factor
    }

    /// Sums up `pieces`; after piece number `saved` they are written to bytes and read again.
    fn sum_of<S: Summary + Clone + Serialize + DeserializeOwned>(
        empty: &S,
        piece: impl Fn(u64) -> S,
        pieces: u64,
        saved: u64,
    ) -> S {
        let mut sums = Grouped::new(empty.clone());
        for number in 0..pieces {
            if number == saved {
                assert!(sums.is_sound(number, |_| true) && !sums.is_sound(number + 1, |_| true));
                sums = postcard::from_bytes(&postcard::to_stdvec(&sums).unwrap()).unwrap();
            }
            sums.add(&mut piece(number));
        }
        assert!(sums.is_sound(pieces, |_| true));
        sums.sum()
    }

    #[test]
    fn sums_are_of_all_pieces_at_every_border() {
        for pieces in BORDERS {
            let mut plain = Normal::zero(2);
            (0..pieces).for_each(|number| plain.merge(&mut normal(number)));
            for saved in BORDERS.into_iter().filter(|&saved| saved <= pieces) {
                let sum = sum_of(&Normal::zero(2), normal, pieces, saved);
                assert_eq!(sum.products, plain.products, "{pieces} pieces, saved at {saved}");
                assert_eq!(sum.cost, plain.cost, "{pieces} pieces, saved at {saved}");
            }
        }
    }

    #[test]
    fn factors_are_of_all_pieces_at_every_border() {
        for pieces in BORDERS {
            let squares: u64 = (0..pieces).map(|number| number * number).sum();
            for saved in BORDERS.into_iter().filter(|&saved| saved <= pieces) {
                let RFactor { r, .. } = sum_of(&RFactor::zero(1), factor, pieces, saved);
                let found = (r[0] * r[0], r[2] * r[2] + r[3] * r[3]);
                let near = |found: f64, exact: f64| (found - exact).abs() <= 1e-12 * exact;
                assert!(near(found.0, pieces as f64), "{pieces}, {saved}: {found:?}");
                assert!(near(found.1, squares as f64), "{pieces}, {saved}: {found:?}");
            }
        }
    }

    #[test]
    fn a_sum_may_be_taken_on_the_way() {
        let mut sums = Grouped::new(Normal::zero(2));
        for number in 0..600 {
            let mut plain = Normal::zero(2);
            (0..number).for_each(|before| plain.merge(&mut normal(before)));
            assert_eq!(sums.clone().sum().products, plain.products, "{number} pieces");
            sums.add(&mut normal(number));
        }
    }
}
