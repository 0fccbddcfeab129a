//! Correlated data: the Cholesky factor that turns residuals with covariance C into independent residuals.
//!
//! With C = L Lᵀ the covariance of L⁻¹ r is the unit matrix, and ½‖L⁻¹r‖² is half the generalised sum of
//! squares rᵀC⁻¹r.

use super::matrix::Matrix;
use crate::error::{Error, Result};

/// The Cholesky factor L of the covariance of the used points, and their indices.
#[derive(Clone)]
pub(crate) struct Correlation {
    /// Rows of L, each up to its diagonal, one after the other.
    rows: Vec<f64>,
    /// Index of each used point among the given points.
    pub(crate) index: Vec<usize>,
}

impl Correlation {
    /// Factors the rows and columns `kept` of `matrix`.
    ///
    /// # Errors
    /// [`Error::CovarianceNotPositiveDefinite`], with the row as an index among the given points.
    pub(crate) fn factor(matrix: &Matrix, kept: impl Iterator<Item = usize>) -> Result<Self> {
        let index: Vec<usize> = kept.collect();
        let mut this = Correlation { rows: Vec::with_capacity(triangle(index.len())), index };
        for (i, &gi) in this.index.iter().enumerate() {
            let refuse = |reason| Err(Error::CovarianceNotPositiveDefinite { row: gi, reason });
            for (j, &gj) in this.index[..=i].iter().enumerate() {
                let (c, mirror) = (matrix[(gi, gj)], matrix[(gj, gi)]);
                if !c.is_finite() || !mirror.is_finite() {
                    return refuse("a value is not finite");
                }
                let size = matrix[(gi, gi)].abs().sqrt() * matrix[(gj, gj)].abs().sqrt();
                if (c - mirror).abs() > 1e-9 * size {
                    return refuse("it is not symmetric");
                }
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let (start, other) = (triangle(i), triangle(j));
                let rest = c - dot(&this.rows[start..start + j], &this.rows[other..other + j]);
                if j < i {
                    this.rows.push(rest / this.rows[other + j]);
                } else if rest > index_tolerance(i) * c && rest > 0.0 {
                    this.rows.push(rest.sqrt());
                } else {
                    return refuse("the pivot is not positive");
                }
            }
        }
        Ok(this)
    }

    /// Returns the memory of the factor, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.len() * size_of::<f64>()
    }

    /// Replaces `v`, one value per used point, by L⁻¹ v.
    pub(crate) fn whiten(&self, v: &mut [f64]) {
        for i in 0..v.len() {
            let row = &self.rows[triangle(i)..=triangle(i) + i];
            let (done, rest) = v.split_at_mut(i);
            let sum: f64 = row.iter().zip(done.iter()).map(|(l, v)| l * v).sum();
            rest[0] = (rest[0] - sum) / row[i];
        }
    }

    /// Replaces `v`, one value per used point, by L v.
    pub(crate) fn colour(&self, v: &mut [f64]) {
        for i in (0..v.len()).rev() {
            let row = &self.rows[triangle(i)..=triangle(i) + i];
            v[i] = row.iter().zip(v.iter()).map(|(l, v)| l * v).sum();
        }
    }
}

/// Returns the number of entries of a lower triangle of `n` rows.
fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

/// Returns the fraction of a diagonal entry below which the remainder after elimination is rounding error.
fn index_tolerance(row: usize) -> f64 {
    (row + 1) as f64 * f64::EPSILON
}
