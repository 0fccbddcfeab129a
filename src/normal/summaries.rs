//! The summaries of a set of points: normal equations, which are sums over them; the triangular factor of their
//! rows; and groups of pieces, merged in one order.

use super::Summary;
use super::influence::Influence;
use super::small::{fold_few, rotate_in};
use serde::{Deserialize, Serialize};

/// JᵀJ, Jᵀr, rᵀr and the cost of a set of points. J has one row per point and one column per free
/// parameter; residual and row are weighted, and corrected for a robust loss.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Normal {
    /// Free parameters.
    pub(crate) n: usize,
    /// The Gram matrix of the n + 1 columns [J r], upper triangle by columns: the product of columns
    /// i ≤ j is at [`pair`]`(i, j)`.
    pub(crate) products: Vec<f64>,
    /// Half the sum of squared residuals, or of the loss of each.
    pub(crate) cost: f64,
}

impl Normal {
    /// Whether what was read from a file is of `n` free parameters.
    pub(crate) fn is_of(&self, n: usize) -> bool {
        self.n == n && self.products.len() == pair(0, n + 1)
    }
}

impl Clone for Normal {
    fn clone(&self) -> Normal {
        Normal { n: self.n, products: self.products.clone(), cost: self.cost }
    }

    /// Into the room that is there; the derived one would allocate.
    fn clone_from(&mut self, source: &Normal) {
        (self.n, self.cost) = (source.n, source.cost);
        self.products.clone_from(&source.products);
    }
}

/// Position of the product of columns i ≤ j in [`Normal::products`].
pub(crate) const fn pair(i: usize, j: usize) -> usize {
    debug_assert!(i <= j);
    j * (j + 1) / 2 + i
}

impl Normal {
    /// Of no points, for `n` free parameters.
    pub(crate) fn zero(n: usize) -> Normal {
        Normal { n, products: vec![0.0; pair(0, n + 1)], cost: 0.0 }
    }

    /// (JᵀJ)ᵢⱼ
    pub(crate) fn jtj(&self, i: usize, j: usize) -> f64 {
        self.products[pair(i.min(j), i.max(j))]
    }

    /// (Jᵀr)ᵢ
    pub(crate) fn jtr(&self, i: usize) -> f64 {
        self.products[pair(i, self.n)]
    }
}

impl Summary for Normal {
    fn clear(&mut self) {
        self.products.fill(0.0);
        self.cost = 0.0;
    }

    fn merge(&mut self, other: &mut Normal) {
        for (sum, part) in self.products.iter_mut().zip(&other.products) {
            *sum += part;
        }
        self.cost += other.cost;
    }

    fn is_finite(&self) -> bool {
        self.cost.is_finite() && self.products.iter().all(|s| s.is_finite())
    }
}

/// The upper triangular R with RᵀR = [J r]ᵀ[J r]. Its first n columns are the factor of J; the last
/// holds Qᵀr and, on the diagonal, the length of what no parameter can fit. It is the same summary as the
/// normal equations without squaring the condition of the problem (Golub and Van Loan, Matrix Computations,
/// section 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RFactor {
    /// Free parameters.
    pub(crate) n: usize,
    /// (n + 1) × (n + 1), column-major.
    pub(crate) r: Vec<f64>,
    /// What a robust loss makes of the points; zeros without one.
    pub(crate) influence: Influence,
}

impl RFactor {
    /// Whether what was read from a file is of `n` free parameters.
    pub(crate) fn is_of(&self, n: usize) -> bool {
        self.n == n && self.r.len() == (n + 1) * (n + 1)
    }

    /// Of no points, for `n` free parameters.
    pub(crate) fn zero(n: usize) -> RFactor {
        RFactor { n, r: vec![0.0; (n + 1) * (n + 1)], influence: Influence::default() }
    }

    /// Rij of the factor of J, or with j = n of Qᵀr.
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.r[j * (self.n + 1) + i]
    }

    /// Folds `m` further rows in, column j at `rows[j * m..][..m]`; they are scratch afterwards. What is a triangle, and
    /// the first, is taken as it is, to the last digit.
    pub(crate) fn fold(&mut self, rows: &mut [f64], m: usize) {
        let k = self.n + 1;
        let below = |j: usize| rows[j * k + j + 1..(j + 1) * k].iter().all(|&v| v == 0.0);
        if m == k && self.r.iter().all(|&v| v == 0.0) && (0..k).all(below) {
            self.r.copy_from_slice(rows);
        } else {
            fold_few(&mut self.r, k, rows, m);
        }
    }

    /// The triangular factor, m × m, of the m columns `wanted` of [J r], the last of which is r if it is n;
    /// rows that outweigh others stay above them.
    pub(crate) fn columns(&self, wanted: &[usize]) -> Vec<f64> {
        let m = wanted.len();
        let mut r = vec![0.0; m * m];
        for i in 0..=self.n {
            let at = |&j: &usize| if i <= j { self.at(i, j) } else { 0.0 };
            rotate_in(&mut r, m, &mut wanted.iter().map(at).collect::<Vec<f64>>());
        }
        r
    }
}

/// Rows of k numbers, those with the largest ones first.
pub(crate) fn heaviest_first(rows: &[f64], k: usize) -> Vec<f64> {
    let size = |row: &[f64]| row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut rows: Vec<&[f64]> = rows.chunks_exact(k).collect();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows.concat()
}

impl Summary for RFactor {
    fn clear(&mut self) {
        self.r.fill(0.0);
        self.influence = Influence::default();
    }

    fn merge(&mut self, other: &mut RFactor) {
        self.influence.add(&other.influence, 1.0);
        self.fold(&mut other.r, self.n + 1);
    }

    fn is_finite(&self) -> bool {
        self.r.iter().all(|v| v.is_finite())
    }
}

/// Pieces of a group: what a fit in memory has at most, so that up to that many the bits are the same.
const GROUP: u64 = 256;

/// A sum that grows piece by piece, merged in groups: in an order that does not depend on how many pieces
/// come at a time, and with the rounding of hundreds of sums where there are millions of pieces.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Grouped<S> {
    /// Of the groups that are complete.
    total: CountedSum<S>,
    /// Of the pieces since then.
    group: CountedSum<S>,
}

/// A sum, and of how many pieces it is. The number goes wherever the sum goes, so that nothing takes the
/// sum of none for that of many.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CountedSum<S> {
    sums: S,
    pieces: u64,
}

impl<S: Summary + Clone> Grouped<S> {
    /// Of no pieces; `empty` is a summary of no points.
    pub(crate) fn new(empty: S) -> Grouped<S> {
        let none = CountedSum { sums: empty, pieces: 0 };
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
