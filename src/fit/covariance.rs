//! Covariance of the parameters, and the directions that the data do not determine.
//!
//! Let J be the weighted Jacobian at the solution, D the diagonal matrix of its column lengths, and
//! J D⁻¹ = U Σ Vᵀ. The covariance is D⁻¹ V Σ⁻² Vᵀ D⁻¹ (times s² = χ²/(n − p) unless the errors of the
//! data are absolute). It is computed from the triangular factor R of J. For well-conditioned fits with a linear
//! loss, R is the Cholesky factor of the last JᵀJ, which loses at most four digits; otherwise R is folded from the
//! rows of J. One-sided Jacobi rotations compute the singular values, so that small values keep their digits.
//!
//! Singular values up to ε·max(p, min(n, 4096))·σ₁ are zero to rounding: a change of the parameters along their
//! vectors does not change the model at the points. Every parameter with a part in such a direction is undetermined
//! and has an infinite error.
//!
//! The usual bound ε·max(n, p)·σ₁ holds for one factorisation of n rows. Here, rows are folded into R in blocks of
//! 512, and the factors of chunks of some thousand rows are merged. The backward error of a fold is relative to the
//! folded rows and to the current R: in practice a few ε of each, for any number of folds. Rows beyond a chunk
//! therefore do not increase the error. With the usual bound, a fit of 10⁹ points would lose seven digits.

use super::block_matrix::BlockMatrix;
use crate::constants::{LEAST_PART, ROWS_WITH_ERROR};
use crate::data::matrix::Matrix;
use crate::model::ties::Ties;
use crate::normal::small::solve_upper;
use crate::normal::{RFactor, Spectrum};
use nalgebra::DMatrix;
use std::sync::OnceLock;

/// Errors and correlations of all parameters of a model.
#[derive(Clone, Debug)]
pub(crate) struct Covariance {
    /// Standard errors. The variances are computed from them, so that errors are right even if their squares leave the
    /// range of f64.
    pub(crate) errors: Vec<f64>,
    /// Factor of the covariance, p × rank, in the units of the parameters: D⁻¹ V Σ⁻¹ times the standard deviation of a
    /// weighted residual. The covariance is `half`·`half`ᵀ. Rows of parameters that were not estimated are 0.
    pub(crate) half: BlockMatrix,
    /// The same factor for weighted residuals with the standard deviation 1 in row units (multiplied by the power of
    /// two [`Units::row`](crate::data::scaling::Units)); used for leverages.
    pub(crate) unscaled: BlockMatrix,
    /// Undetermined directions, p × (estimated − rank): changes of the parameters, each divided by its element of
    /// `units`.
    pub(crate) null: BlockMatrix,
    /// One unit per parameter: the change of the parameter that changes the residuals, in row units, by a vector of
    /// length 1; 0 if the parameter was not estimated.
    pub(crate) units: Vec<f64>,
    pub(crate) rank: usize,
    pub(crate) condition: f64,
    /// Combinations of parameters that the data do not determine; if there are none, the least determined combination.
    pub(crate) weak: Vec<Direction>,
    /// The covariance and the correlation of all parameters, computed on first use.
    pub(crate) matrices: OnceLock<[Matrix; 2]>,
}

/// A combination of parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Direction {
    /// Positions of parameters, and changes in the units of the parameters, which together do not change the model.
    /// Their common scale is arbitrary, the first change is positive, and negligible parts are left out.
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    pub(crate) parts: Vec<(usize, f64)>,
    /// True if the data do not determine the combination.
    pub(crate) undetermined: bool,
}

/// Inputs of the covariance.
pub(crate) struct CovarianceInputs<'a> {
    /// Singular value decomposition of the Jacobian with respect to the estimated parameters, in row and column units.
    pub(crate) spectrum: &'a Spectrum,
    /// R factor with the full weights of points whose weights are limited in `spectrum`; `None` without such points.
    pub(crate) sharpened: Option<&'a RFactor>,
    /// Positions of the free parameters.
    pub(crate) free: &'a [usize],
    /// For each free parameter, true if it is estimated, that is, not at a bound.
    pub(crate) estimated: &'a [bool],
    /// Scale of each column, a power of two.
    pub(crate) columns: &'a [f64],
    /// Number of parameters of the model.
    pub(crate) params: usize,
    /// Number of points.
    pub(crate) points: usize,
    /// Returns the standard deviation of a weighted residual, in row units, for a given rank: the estimate s, or the
    /// row unit if the errors of the data are absolute.
    pub(crate) row_error: &'a dyn Fn(usize) -> f64,
}

impl Covariance {
    pub(crate) fn compute(inputs: &CovarianceInputs<'_>) -> Covariance {
        let p = inputs.params;
        let kept = kept(inputs.estimated);
        let m = kept.len();
        let Spectrum { lengths, sigma, v, found } = inputs.spectrum;
        let found = *found;
        let largest = sigma.first().copied().unwrap_or(0.0);
        let least = f64::EPSILON * inputs.points.min(ROWS_WITH_ERROR).max(p) as f64 * largest;
        let rank = if found { sigma.iter().filter(|&&s| s > least).count() } else { 0 };

        let row_error = (inputs.row_error)(rank);
        let part = |i: usize, k: usize| v[k * m + i];
        let lost: Vec<bool> =
            (0..m).map(|i| (rank..m).any(|k| !found || part(i, k).abs() > LEAST_PART)).collect();
        // Rows of V Σ⁻¹. Their inner products are the covariances of the scaled parameters.
        let sharpened = inputs.sharpened.filter(|_| rank == m);
        let rows: Vec<Vec<f64>> = match sharpened {
            Some(factor) => inverse_rows(factor, &kept, lengths),
            None => (0..m).map(|i| (0..rank).map(|k| part(i, k) / sigma[k]).collect()).collect(),
        };
        let inner =
            |i: usize, j: usize| -> f64 { rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum() };
        let deviations: Vec<f64> = (0..m).map(|i| inner(i, i).sqrt()).collect();
        let mut errors = vec![0.0; p];
        let mut units = vec![0.0; p];
        let mut unscaled = DMatrix::zeros(p, rank);
        let mut null = DMatrix::zeros(p, m - rank);
        for (i, &ji) in kept.iter().enumerate() {
            let k = inputs.free[ji];
            units[k] = inputs.columns[ji] / lengths[i];
            for (c, value) in rows[i].iter().enumerate() {
                unscaled[(k, c)] = value * units[k];
            }
            for c in 0..m - rank {
                // Without a decomposition, all directions count as undetermined.
                let unit = f64::from(u8::from(c == i));
                null[(k, c)] = if found { part(i, rank + c) } else { unit };
            }
        }
        let half = &unscaled * row_error;
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
        Covariance {
            errors,
            half: half.into(),
            unscaled: unscaled.into(),
            null: null.into(),
            units,
            rank,
            condition,
            weak,
            matrices: OnceLock::new(),
        }
    }
}

impl Covariance {
    /// Returns the covariance of all parameters, p × p.
    pub(crate) fn matrix(&self) -> &Matrix {
        &self.matrices()[0]
    }

    /// Returns the correlation of all parameters; NaN for parameters without a variance.
    pub(crate) fn correlation(&self) -> &Matrix {
        &self.matrices()[1]
    }

    fn matrices(&self) -> &[Matrix; 2] {
        self.matrices.get_or_init(|| {
            let p = self.errors.len();
            let all: Vec<usize> = (0..p).collect();
            let correlation = self.correlations(&all);
            let matrix = Matrix::from_fn(p, p, |i, j| match (self.errors[i], self.errors[j]) {
                (a, b) if a == 0.0 || b == 0.0 => 0.0,
                (a, _) if i == j => a * a,
                (a, b) => correlation[(i, j)] * (a * b),
            });
            [matrix, correlation]
        })
    }

    /// Returns the correlation matrix of the parameters at the positions `of`.
    pub(crate) fn correlations(&self, of: &[usize]) -> Matrix {
        let length = |&k: &usize| match self.errors[k] {
            f64::INFINITY => f64::NAN,
            _ => norm(&self.unscaled.row(k)),
        };
        let lengths: Vec<f64> = of.iter().map(length).collect();
        let mut found = Matrix::from_fn(of.len(), of.len(), |_, _| f64::NAN);
        for i in (0..of.len()).filter(|&i| lengths[i] > 0.0) {
            for j in (0..i).filter(|&j| lengths[j] > 0.0) {
                let cosine = self.unscaled.cosine((of[i], lengths[i]), (of[j], lengths[j]));
                (found[(i, j)], found[(j, i)]) = (cosine, cosine);
            }
            found[(i, i)] = 1.0;
        }
        found
    }

    /// Returns the standard error, to first order, of a quantity whose partials with respect to all parameters are g:
    /// ‖`half`ᵀg‖. Fixed parameters and parameters at a bound contribute nothing. Infinite if the quantity
    /// depends on a direction that the data do not determine.
    pub(crate) fn error_of(&self, gradient: &[f64]) -> f64 {
        error(&self.half, (&self.null, &self.units), gradient)
    }

    /// Returns the standard error of a quantity that depends only on the parameters at `places`.
    pub(crate) fn error_among(&self, places: &[usize], gradient: &[f64]) -> f64 {
        let units: Vec<f64> = places.iter().map(|&k| self.units[k]).collect();
        let [half, null] = [&self.half, &self.null].map(|all| all.select_rows(places).into());
        error(&half, (&null, &units), gradient)
    }
}

fn error(half: &BlockMatrix, open: (&BlockMatrix, &[f64]), gradient: &[f64]) -> f64 {
    if leaves_open(open, gradient) { f64::INFINITY } else { norm(&half.along(gradient)) }
}

/// Returns true if a quantity with these partials changes along a direction that the data do not determine.
fn leaves_open((null, units): (&BlockMatrix, &[f64]), gradient: &[f64]) -> bool {
    if null.ncols() == 0 {
        return false;
    }
    let scaled = gradient.iter().zip(units).map(|(g, u)| if *u == 0.0 { 0.0 } else { g * u });
    let mut scaled: Vec<f64> = scaled.collect();
    let largest = scaled.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest == 0.0 {
        return false;
    }
    scaled.iter_mut().for_each(|g| *g /= largest);
    let size = scaled.iter().map(|g| g.powi(2)).sum::<f64>().sqrt();
    null.along(&scaled).iter().any(|along| along.abs() > LEAST_PART * size)
}

/// Returns ‖v‖ without overflow or underflow of the squares; NaN if an entry is NaN.
pub(crate) fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    match largest > 0.0 && largest.is_finite() {
        true => largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt(),
        // The sum is 0, infinite or NaN.
        false => v.iter().map(|v| v.abs()).sum(),
    }
}

/// Returns the rows of R⁻¹ for the kept columns of a factor, with the columns of R divided by `lengths`. If some rows
/// of J outweigh the others, R is graded; back substitution is still accurate.
fn inverse_rows(factor: &RFactor, kept: &[usize], lengths: &[f64]) -> Vec<Vec<f64>> {
    let m = kept.len();
    let mut r = factor.kept(kept).problem().r;
    for (column, length) in r.chunks_exact_mut(m.max(1)).zip(lengths) {
        column.iter_mut().for_each(|v| *v /= length);
    }
    let mut rows = vec![vec![0.0; m]; m];
    for c in 0..m {
        let mut x = vec![0.0; m];
        x[c] = 1.0;
        solve_upper(&r, m, &mut x);
        rows.iter_mut().zip(&x).for_each(|(row, &value)| row[c] = value);
    }
    rows
}

/// Returns the positions of the estimated parameters among the free parameters.
pub(crate) fn kept(estimated: &[bool]) -> Vec<usize> {
    (0..estimated.len()).filter(|&j| estimated[j]).collect()
}

/// Returns the relevant parts of a direction. `all`: position, coefficient of the scaled parameter, and the change of
/// the parameter for a coefficient of 1.
pub(super) fn parts(all: impl Iterator<Item = (usize, f64, f64)>) -> Vec<(usize, f64)> {
    let mattering = all.filter(|(_, c, _)| c.abs() >= 0.05);
    let mut parts: Vec<(usize, f64)> = mattering.map(|(i, c, unit)| (i, c * unit)).collect();
    if parts.first().is_some_and(|(_, change)| *change < 0.0) {
        parts.iter_mut().for_each(|(_, change)| *change = -*change);
    }
    parts
}

// Errors of parameters that are tied to others.
//
// Let C be the covariance of the free parameters, and T the partials of the tied parameters with respect to the free
// parameters. Then T C Tᵀ is the covariance of the tied parameters, and T C their covariance with the free parameters.
// If C is stored as a factor H with C = H Hᵀ, the factor for all parameters consists of the rows of H and of T H.
// Terms that cancel do so exactly, because they are summed in T H, before any square is computed.

impl Covariance {
    /// Computes the errors and correlations of tied parameters. `params`: the values of all parameters at the solution.
    pub(crate) fn tie(&mut self, ties: &Ties, params: &[f64]) {
        if ties.is_empty() {
            return;
        }
        for (t, row) in ties.partials(params) {
            // The tied parameter belongs to a set that was left out of a joint fit.
            if row.iter().any(|(_, partial)| !partial.is_finite()) {
                (self.errors[t], self.units[t]) = (f64::NAN, 0.0);
                continue;
            }
            self.errors[t] = self.error_of_tied(&row);
            let scaled = row.iter().map(|&(k, g)| (k, g * self.units[k]));
            let scaled: Vec<(usize, f64)> = scaled.collect();
            let lengths: Vec<f64> = scaled.iter().map(|(_, g)| *g).collect();
            let unit = norm(&lengths);
            self.half.combine(t, &row);
            self.unscaled.combine(t, &row);
            if unit > 0.0 {
                let parts: Vec<(usize, f64)> = scaled.iter().map(|&(k, g)| (k, g / unit)).collect();
                self.null.combine(t, &parts);
            }
            self.units[t] = unit;
        }
        self.matrices = OnceLock::new();
    }

    /// Returns the error of a tied parameter with these partials. If none of the parameters on which it depends was
    /// estimated, the error is NaN if one of them is at a bound, and 0 if all are fixed.
    fn error_of_tied(&self, row: &[(usize, f64)]) -> f64 {
        let entering = row.iter().filter(|(_, partial)| *partial != 0.0);
        let mut others = entering.map(|(k, _)| self.errors[*k]).peekable();
        let none = others.peek().is_some();
        if none && others.clone().all(|e| e.is_nan() || e == 0.0) {
            return if others.any(|e| e.is_nan()) { f64::NAN } else { 0.0 };
        }
        let (places, gradient): (Vec<usize>, Vec<f64>) = row.iter().copied().unzip();
        self.error_among(&places, &gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::{Covariance, CovarianceInputs};
    use crate::normal::{RFactor, Spectrum};

    /// Returns the covariance for the columns (1, 0) and (1, δ) and rows with standard deviation 1.
    fn nearly_equal_columns(delta: f64, points: usize) -> Covariance {
        let mut factor = RFactor::zero(2);
        factor.r[..2].copy_from_slice(&[1.0, 0.0]);
        factor.r[3..5].copy_from_slice(&[1.0, delta]);
        Covariance::compute(&CovarianceInputs {
            spectrum: &Spectrum::of(&factor, &[0, 1]),
            sharpened: None,
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

    #[test]
    fn the_error_of_a_combination_does_not_cancel() {
        // Columns (1, 0) and (1, δ): the sum of both parameters has the variance 1, each alone 1/δ².
        for delta in [1e-3, 1e-7, 1e-11] {
            let found = nearly_equal_columns(delta, 10);
            let sum = found.error_of(&[1.0, 1.0]);
            assert!((sum - 1.0).abs() < 1e-15 / delta + 1e-12, "{delta}: {sum}");
            let second = found.error_of(&[0.0, 1.0]);
            assert!((second * delta - 1.0).abs() < 1e-15 / delta + 1e-12, "{delta}: {second}");
        }
        // If both columns are equal, only the difference of the parameters is undetermined.
        let found = nearly_equal_columns(0.0, 10);
        assert_eq!(found.rank, 1);
        assert!((found.error_of(&[1.0, 1.0]) - 1.0).abs() < 1e-14);
        assert_eq!(found.error_of(&[1.0, 1.0 + 1e-5]), f64::INFINITY);
        assert_eq!(found.error_of(&[0.0, 0.0]), 0.0);
    }

    #[test]
    fn the_error_does_not_leave_the_range() {
        let found = nearly_equal_columns(0.5, 10);
        let expected = found.error_of(&[1.0, -0.5]);
        for scale in [1e-300, 1e-200, 1e200, 1e300] {
            let error = found.error_of(&[scale, -0.5 * scale]);
            assert!((error / scale / expected - 1.0).abs() < 1e-14, "{scale}: {error}");
        }
    }

    #[test]
    fn the_halves_make_the_matrix() {
        let found = nearly_equal_columns(0.3, 10);
        let half = found.half.select_rows(&[0, 1]);
        let product = &half * half.transpose();
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert!((product[(i, j)] - found.matrix()[(i, j)]).abs() < 1e-13, "({i}, {j})");
        }
    }
}
