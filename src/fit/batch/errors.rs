//! Standard errors of the fits of a batch, computed without allocations.
//!
//! If the triangular factor R of the weighted Jacobian is well-conditioned, the rank is full and
//! (RᵀR)⁻¹ = R⁻¹R⁻ᵀ loses at most a few of sixteen digits. Its diagonal contains the squared lengths of the
//! rows of R⁻¹. This costs a tenth of a singular value decomposition of a small matrix, which would take as long as
//! the iterations of a small fit. All other fits use the decomposition, as single fits do.

use crate::constants::WELL_CONDITIONED;
use crate::fit::covariance::{Covariance, CovarianceInputs};
use crate::normal::small::fold_few;
use crate::normal::{RFactor, Spectrum};

/// Workspace for the errors of a fit of `n` free parameters.
pub(super) struct Errors {
    /// Positions of the estimated parameters among the free parameters.
    kept: Vec<usize>,
    rows: Vec<f64>,
    r: Vec<f64>,
    inverse: Vec<f64>,
}

/// Inputs in addition to the factor; see [`CovarianceInputs`].
pub(super) struct About<'a> {
    pub(super) free: &'a [usize],
    pub(super) estimated: &'a [bool],
    pub(super) columns: &'a [f64],
    pub(super) points: usize,
    pub(super) row_error: &'a dyn Fn(usize) -> f64,
    pub(super) sharpened: Option<&'a RFactor>,
}

/// Outputs: one error per parameter of the model, and the covariance matrix, or an empty slice if the matrix is not
/// requested.
pub(super) struct Out<'a> {
    pub(super) errors: &'a mut [f64],
    pub(super) covariance: &'a mut [f64],
}

impl Errors {
    pub(super) fn new(n: usize) -> Errors {
        let square = vec![0.0; n * n];
        let kept = Vec::with_capacity(n);
        Errors { kept, rows: square.clone(), r: square.clone(), inverse: square }
    }

    /// Writes errors and covariance, and returns the rank.
    pub(super) fn compute(&mut self, factor: &RFactor, about: &About<'_>, out: Out<'_>) -> usize {
        self.kept.clear();
        self.kept.extend((0..about.free.len()).filter(|&j| about.estimated[j]));
        if about.sharpened.is_some() || !self.invert(factor) {
            return self.by_decomposition(factor, about, out);
        }
        let m = self.kept.len();
        let row_error = (about.row_error)(m);
        out.errors.fill(0.0);
        out.covariance.fill(0.0);
        for (j, &k) in about.free.iter().enumerate() {
            if !about.estimated[j] {
                out.errors[k] = f64::NAN;
            }
        }
        let width = out.errors.len();
        for (i, &ji) in self.kept.iter().enumerate() {
            let row = |i: usize, from: usize| (from..m).map(move |c| (c, i));
            let square: f64 = row(i, i).map(|(c, i)| self.inverse[c * m + i].powi(2)).sum();
            out.errors[about.free[ji]] = square.sqrt() * about.columns[ji] * row_error;
        }
        if out.covariance.is_empty() {
            return m;
        }
        for (j, &k) in about.free.iter().enumerate() {
            if !about.estimated[j] {
                for &other in about.free {
                    out.covariance[k * width + other] = f64::NAN;
                    out.covariance[other * width + k] = f64::NAN;
                }
            }
        }
        for (i, &ji) in self.kept.iter().enumerate() {
            for (j, &jj) in self.kept[..=i].iter().enumerate() {
                let inner: f64 =
                    (i..m).map(|c| self.inverse[c * m + i] * self.inverse[c * m + j]).sum();
                let unit = |column: usize| about.columns[column] * row_error;
                let value = inner * unit(ji) * unit(jj);
                let (a, b) = (about.free[ji], about.free[jj]);
                out.covariance[a * width + b] = value;
                out.covariance[b * width + a] = value;
            }
        }
        m
    }

    /// Sets `inverse` to R⁻¹ of the kept columns of the factor. Returns false if R is not well-conditioned.
    fn invert(&mut self, factor: &RFactor) -> bool {
        let (n, m) = (factor.n, self.kept.len());
        let r = &mut self.r[..m * m];
        r.fill(0.0);
        if m == n {
            for j in 0..n {
                r[j * n..=j * n + j].copy_from_slice(&factor.r[j * (n + 1)..=j * (n + 1) + j]);
            }
        } else {
            let rows = &mut self.rows[..n * m];
            rows.fill(0.0);
            for (c, &j) in self.kept.iter().enumerate() {
                let from = &factor.r[j * (n + 1)..=j * (n + 1) + j];
                rows[c * n..=c * n + j].copy_from_slice(from);
            }
            fold_few(r, m, rows, n);
        }
        let well = |j: usize| {
            let column = &r[j * m..=j * m + j];
            let square: f64 = column.iter().map(|v| v * v).sum();
            square.is_finite() && column[j] * column[j] > WELL_CONDITIONED * square
        };
        if !(0..m).all(well) {
            return false;
        }
        for j in 0..m {
            // Column j of the inverse solves R x = e by back substitution.
            let x = &mut self.inverse[j * m..=j * m + j];
            x.fill(0.0);
            x[j] = 1.0;
            for i in (0..=j).rev() {
                x[i] /= r[i * m + i];
                let solved = x[i];
                for l in 0..i {
                    x[l] -= solved * r[i * m + l];
                }
            }
        }
        true
    }

    fn by_decomposition(&self, factor: &RFactor, about: &About<'_>, out: Out<'_>) -> usize {
        let found = Covariance::compute(&CovarianceInputs {
            spectrum: &Spectrum::of(factor, &self.kept),
            sharpened: about.sharpened,
            free: about.free,
            estimated: about.estimated,
            columns: about.columns,
            params: out.errors.len(),
            points: about.points,
            row_error: about.row_error,
        });
        out.errors.copy_from_slice(&found.errors);
        if !out.covariance.is_empty() {
            out.covariance.copy_from_slice(found.matrix().as_slice());
        }
        found.rank
    }
}
