//! The normal equations of a set of points, as a sum over the points.

use super::Summary;
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
pub(crate) fn pair(i: usize, j: usize) -> usize {
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
