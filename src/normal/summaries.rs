//! The summaries of a set of points: normal equations, which are sums over them, and the triangular factor of their
//! rows.

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
    /// Whether what was read from bytes is of `n` free parameters.
    pub(crate) fn is_of(&self, n: usize) -> bool {
        self.n == n && n < self.products.len() && self.products.len() == pair(0, n + 1)
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

    fn is_like(&self, other: &Normal) -> bool {
        self.n == other.n
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
        self.n == n && n < self.r.len() && self.r.len() == (n + 1) * (n + 1)
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

    fn is_like(&self, other: &RFactor) -> bool {
        self.n == other.n
    }
}
