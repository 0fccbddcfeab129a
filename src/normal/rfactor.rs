//! The triangular factor of [J r]: the same summary as the normal equations without squaring the
//! condition of the problem (Golub and Van Loan, Matrix Computations, section 5.3).

use super::Summary;
use super::small::{fold_rows, rotate_in};
use serde::{Deserialize, Serialize};

/// The upper triangular R with RᵀR = [J r]ᵀ[J r]. Its first n columns are the factor of J; the last
/// holds Qᵀr and, on the diagonal, the length of what no parameter can fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RFactor {
    /// Free parameters.
    pub(crate) n: usize,
    /// (n + 1) × (n + 1), column-major.
    pub(crate) r: Vec<f64>,
    /// What the points count together under a robust loss, the sum of ρ'; 0 under others.
    pub(crate) weight: f64,
}

impl RFactor {
    /// Whether what was read from a file is of `n` free parameters.
    pub(crate) fn is_of(&self, n: usize) -> bool {
        self.n == n && self.r.len() == (n + 1) * (n + 1)
    }

    /// Of no points, for `n` free parameters.
    pub(crate) fn zero(n: usize) -> RFactor {
        RFactor { n, r: vec![0.0; (n + 1) * (n + 1)], weight: 0.0 }
    }

    /// Rij of the factor of J, or with j = n of Qᵀr.
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.r[j * (self.n + 1) + i]
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
        self.weight = 0.0;
    }

    fn merge(&mut self, other: &mut RFactor) {
        let k = self.n + 1;
        self.weight += other.weight;
        fold_rows(&mut self.r, k, &mut other.r, k, k);
    }

    fn is_finite(&self) -> bool {
        self.r.iter().all(|v| v.is_finite())
    }
}
