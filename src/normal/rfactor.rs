//! The triangular factor of [J r]: the same summary as the normal equations without squaring the
//! condition of the problem (Golub and Van Loan, Matrix Computations, section 5.3).

use super::Summary;
use super::small::fold_rows;

/// The upper triangular R with RᵀR = [J r]ᵀ[J r]. Its first n columns are the factor of J; the last
/// holds Qᵀr and, on the diagonal, the length of what no parameter can fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RFactor {
    /// Free parameters.
    pub(crate) n: usize,
    /// (n + 1) × (n + 1), column-major.
    pub(crate) r: Vec<f64>,
}

impl RFactor {
    /// Of no points, for `n` free parameters.
    pub(crate) fn zero(n: usize) -> RFactor {
        RFactor { n, r: vec![0.0; (n + 1) * (n + 1)] }
    }

    /// Rij of the factor of J, or with j = n of Qᵀr.
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.r[j * (self.n + 1) + i]
    }
}

impl Summary for RFactor {
    fn clear(&mut self) {
        self.r.fill(0.0);
    }

    fn merge(&mut self, other: &mut RFactor) {
        let k = self.n + 1;
        fold_rows(&mut self.r, k, &mut other.r, k, k);
    }

    fn is_finite(&self) -> bool {
        self.r.iter().all(|v| v.is_finite())
    }
}
