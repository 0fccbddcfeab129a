//! Singular values and right singular vectors of a Jacobian with columns of unit length, for the
//! covariance.

use super::RFactor;
use super::small::{fold_few, jacobi_svd};

/// The singular value decomposition J D⁻¹ = U Σ Vᵀ of m columns of a Jacobian; D contains their lengths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spectrum {
    /// m lengths; 1 for a column of zeros.
    pub(crate) lengths: Vec<f64>,
    /// m singular values, descending.
    pub(crate) sigma: Vec<f64>,
    /// m × m, column-major: the right singular vectors in the order of `sigma`.
    pub(crate) v: Vec<f64>,
    /// True if the decomposition converged. If the factor is not finite, it is false, and `sigma` and `v` are NaN.
    pub(crate) found: bool,
}

impl Spectrum {
    /// Decomposes the columns `kept` of a factor.
    pub(crate) fn of(factor: &RFactor, kept: &[usize]) -> Spectrum {
        let (mut r, lengths) = scaled_factor(factor, kept);
        let m = kept.len();
        let (mut sigma, mut v) = (vec![0.0; m], vec![0.0; m * m]);
        let found = jacobi_svd(&mut r, m, &mut sigma, &mut v);
        Spectrum { lengths, sigma, v, found }
    }
}

/// Returns the triangular factor of the kept columns, each scaled to length 1 (or left 0), and the lengths.
fn scaled_factor(factor: &RFactor, kept: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let (n, m) = (factor.n, kept.len());
    let mut rows = vec![0.0; n * m];
    let mut lengths = vec![1.0; m];
    for (c, &j) in kept.iter().enumerate() {
        let column = &mut rows[c * n..(c + 1) * n];
        (0..=j).for_each(|i| column[i] = factor.at(i, j));
        let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            lengths[c] = length;
            column.iter_mut().for_each(|v| *v /= length);
        }
    }
    // If all columns are kept, they are already triangular.
    if m == n {
        return (rows, lengths);
    }
    let mut r = vec![0.0; m * m];
    fold_few(&mut r, m, &mut rows, n);
    (r, lengths)
}
