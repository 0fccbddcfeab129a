//! The covariance of the parameters, and what the data leave undetermined.
//!
//! With J the weighted Jacobian at the solution, its columns scaled to unit length by D, and
//! J D⁻¹ = U Σ Vᵀ, the covariance is D⁻¹ V Σ⁻² Vᵀ D⁻¹ (times s² = χ²/(n − p) unless the errors of the
//! data are absolute). J enters through its triangular factor R. That is folded from the rows of J
//! themselves, but for well-conditioned fits with a linear loss: there it is the Cholesky factor of
//! the last JᵀJ, which loses at most four digits. Singular values come from one-sided Jacobi
//! rotations, so that small ones keep their digits.
//!
//! Singular values not above ε·max(p, min(n, 4096))·σ₁ are zero to rounding: along their vectors the
//! parameters can change without changing the model at the points. Every parameter with a part in
//! such a direction is undetermined and has an infinite error; nothing is silently left out.
//!
//! The usual bound ε·max(n, p)·σ₁ is that of one factorisation of n rows. Here rows are folded into R
//! in blocks of 512, and the factors of chunks of some thousand rows into each other: a fold's
//! backward error is relative to the rows folded and to R as it then is, and in practice a few ε of
//! each however many folds there were. What n rows add beyond a chunk is more of the data, not more
//! error, and a fit of 10⁹ points would have lost seven digits to the bound alone.

use crate::normal::RFactor;
use crate::normal::small::{fold_rows, jacobi_svd};
use nalgebra::DMatrix;

/// A parameter whose part in an undetermined direction is below this is determined: singular vectors
/// carry errors of about √ε at worst where the gap to the next singular value is wide.
const PART: f64 = 1.5e-8;

/// Rows up to which the error of the factor is taken to grow with their number: the shortest chunk.
const ROWS: usize = 4096;

/// Errors and correlations of all parameters of a model.
#[derive(Clone, Debug)]
pub(crate) struct Covariance {
    pub(crate) matrix: DMatrix<f64>,
    pub(crate) correlation: DMatrix<f64>,
    /// Standard errors, computed without squaring them.
    pub(crate) errors: Vec<f64>,
    pub(crate) rank: usize,
    pub(crate) condition: f64,
    /// Combinations of parameters that the data do not determine or, if none is, the least determined
    /// one.
    pub(crate) weak: Vec<Direction>,
}

/// A combination of parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Direction {
    /// Positions and changes, each in the units of its parameter, that together leave the model as it
    /// is. Their common size is arbitrary, the first is positive; negligible parts are left out.
    pub(crate) parts: Vec<(usize, f64)>,
    /// Whether the data leave it undetermined.
    pub(crate) undetermined: bool,
}

/// What the covariance is computed from.
pub(crate) struct Inputs<'a> {
    /// The factor of the Jacobian by the free parameters, in row and column units.
    pub(crate) factor: &'a RFactor,
    /// Positions of the free parameters.
    pub(crate) free: &'a [usize],
    /// Which of them are estimated: not held by a bound.
    pub(crate) estimated: &'a [bool],
    /// The power of two of each column.
    pub(crate) columns: &'a [f64],
    /// Number of parameters of the model.
    pub(crate) params: usize,
    /// Number of points.
    pub(crate) points: usize,
    /// The standard deviation of a row: s in row units, or the row unit itself for absolute errors.
    pub(crate) row_error: &'a dyn Fn(usize) -> f64,
}

impl Covariance {
    pub(crate) fn compute(inputs: &Inputs<'_>) -> Covariance {
        let p = inputs.params;
        let kept: Vec<usize> = (0..inputs.free.len()).filter(|&j| inputs.estimated[j]).collect();
        let m = kept.len();
        let (mut r, lengths) = scaled_factor(inputs.factor, &kept);
        let (mut sigma, mut v) = (vec![0.0; m], vec![0.0; m * m]);
        let found = jacobi_svd(&mut r, m, &mut sigma, &mut v);
        let largest = sigma.first().copied().unwrap_or(0.0);
        let least = f64::EPSILON * inputs.points.min(ROWS).max(p) as f64 * largest;
        let rank = if found { sigma.iter().filter(|&&s| s > least).count() } else { 0 };

        let row_error = (inputs.row_error)(rank);
        let part = |i: usize, k: usize| v[k * m + i];
        let lost: Vec<bool> =
            (0..m).map(|i| (rank..m).any(|k| !found || part(i, k).abs() > PART)).collect();
        // Rows of V Σ⁻¹, whose inner products are the covariances of the scaled parameters.
        let rows: Vec<Vec<f64>> =
            (0..m).map(|i| (0..rank).map(|k| part(i, k) / sigma[k]).collect()).collect();
        let inner =
            |i: usize, j: usize| -> f64 { rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum() };
        let deviations: Vec<f64> = (0..m).map(|i| inner(i, i).sqrt()).collect();
        let mut errors = vec![0.0; p];
        let mut correlation = DMatrix::from_element(p, p, f64::NAN);
        for (j, &k) in inputs.free.iter().enumerate() {
            if !inputs.estimated[j] {
                errors[k] = f64::NAN;
            }
        }
        for (i, &ji) in kept.iter().enumerate() {
            let k = inputs.free[ji];
            errors[k] = match lost[i] {
                true => f64::INFINITY,
                false => deviations[i] / lengths[i] * inputs.columns[ji] * row_error,
            };
        }
        for (i, &ji) in kept.iter().enumerate().filter(|&(i, _)| !lost[i]) {
            for (j, &jj) in kept[..=i].iter().enumerate().filter(|&(j, _)| !lost[j]) {
                let cosine = || (inner(i, j) / (deviations[i] * deviations[j])).clamp(-1.0, 1.0);
                let value = if i == j { 1.0 } else { cosine() };
                correlation[(inputs.free[ji], inputs.free[jj])] = value;
                correlation[(inputs.free[jj], inputs.free[ji])] = value;
            }
        }
        let matrix = DMatrix::from_fn(p, p, |i, j| match (errors[i], errors[j]) {
            (a, b) if a == 0.0 || b == 0.0 => 0.0,
            (a, _) if i == j => a * a,
            (a, b) => correlation[(i, j)] * (a * b),
        });
        let condition = match (rank == m, sigma.last()) {
            (true, Some(smallest)) => largest / smallest,
            (true, None) => 1.0,
            (false, _) => f64::INFINITY,
        };
        let direction = |k: usize| Direction {
            parts: parts((0..m).map(|i| {
                let unit = inputs.columns[kept[i]] / lengths[i];
                (inputs.free[kept[i]], part(i, k), unit)
            })),
            undetermined: k >= rank,
        };
        let first = if rank < m { rank } else { m.saturating_sub(1) };
        let weak = if found { (first..m).map(direction).collect() } else { Vec::new() };
        Covariance { matrix, correlation, errors, rank, condition, weak }
    }
}

/// The triangular factor of the kept columns, each scaled to length 1 (or left 0), and the lengths.
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
    let mut r = vec![0.0; m * m];
    fold_rows(&mut r, m, &mut rows, n, n);
    (r, lengths)
}

/// The parts of a direction that matter, from positions, coefficients of the scaled parameters, and
/// what a coefficient of 1 is in the parameter's units.
fn parts(all: impl Iterator<Item = (usize, f64, f64)>) -> Vec<(usize, f64)> {
    let mattering = all.filter(|(_, c, _)| c.abs() >= 0.05);
    let mut parts: Vec<(usize, f64)> = mattering.map(|(i, c, unit)| (i, c * unit)).collect();
    if parts.first().is_some_and(|(_, change)| *change < 0.0) {
        parts.iter_mut().for_each(|(_, change)| *change = -*change);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Covariance, Inputs};
    use crate::normal::RFactor;

    /// Two columns of length √(1 + δ²) whose difference is δ, the unit errors, and n points.
    fn nearly_equal_columns(delta: f64, points: usize) -> Covariance {
        let mut factor = RFactor::zero(2);
        factor.r[..2].copy_from_slice(&[1.0, 0.0]);
        factor.r[3..5].copy_from_slice(&[1.0, delta]);
        Covariance::compute(&Inputs {
            factor: &factor,
            free: &[0, 1],
            estimated: &[true, true],
            columns: &[1.0, 1.0],
            params: 2,
            points,
            row_error: &|_| 1.0,
        })
    }

    #[test]
    fn the_rank_does_not_fall_with_the_number_of_points() {
        for points in [10, 1_000_000, 1_000_000_000, usize::MAX] {
            // The error of the second parameter is 1/δ, as elimination of the first shows.
            let found = nearly_equal_columns(1e-11, points);
            assert_eq!(found.rank, 2, "{points} points");
            assert!((found.errors[1] * 1e-11 - 1.0).abs() < 1e-4, "{points}: {:?}", found.errors);
            assert_eq!(nearly_equal_columns(1e-17, points).rank, 1, "{points} points");
        }
        assert_eq!(nearly_equal_columns(1e-13, 5000).rank, 1);
        assert_eq!(nearly_equal_columns(1e-13, 50).rank, 2);
    }
}
