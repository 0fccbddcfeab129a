//! The quadratic model of the cost around a point, as a triangular least-squares problem.
//!
//! ½‖J δ + r‖² differs by a constant from ½‖R δ + z‖², where R is the triangular factor of J and
//! z = Qᵀr. The normal equations give both by Cholesky, after scaling JᵀJ to a unit diagonal; where
//! the scaled matrix says that squaring cost too many digits, the pass over the data that factors J
//! itself gives them instead.

use crate::constants::LEAST_PIVOT;
use crate::normal::abreast::ModelsAbreast;
use crate::normal::small::{by_size, cholesky, fold_few, is_regular, solve_upper_transposed};
use crate::normal::{Normal, RFactor, pair};

/// R (n × n, column-major, upper triangular) and z, with the lengths of J's columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinearModel {
    pub(crate) n: usize,
    pub(crate) r: Vec<f64>,
    pub(crate) z: Vec<f64>,
    /// ‖Jⱼ‖
    pub(crate) norms: Vec<f64>,
    /// The gradient of the cost, Jᵀr.
    pub(crate) gradient: Vec<f64>,
    /// The smallest squared pivot of the normal matrix scaled to a unit diagonal: what the most
    /// dependent column keeps when the columns before it are projected out. The factor has a relative
    /// error of about ε over it. Zero if there was no factor.
    pub(crate) least_pivot: f64,
    scaled: Vec<f64>,
}

impl LinearModel {
    pub(crate) fn new(n: usize) -> Self {
        let square = vec![0.0; n * n];
        let line = vec![0.0; n];
        LinearModel {
            n,
            r: square.clone(),
            z: line.clone(),
            norms: line.clone(),
            gradient: line,
            least_pivot: 0.0,
            scaled: square,
        }
    }

    /// Takes the model from normal equations. Returns whether that kept enough digits; if not, R and
    /// z are without meaning and [`set_factor`](Self::set_factor) must follow.
    pub(crate) fn set_normal(&mut self, normal: &Normal) -> bool {
        let n = self.n;
        self.set_lengths(normal);
        by_size!(n => scale(&normal.products, n, &self.norms[..n], &mut self.scaled[..n * n]));
        self.least_pivot = 0.0;
        if cholesky(&self.scaled, n, &mut self.r).is_err() {
            return false;
        }
        let r = &self.r;
        self.least_pivot = (0..n).map(|j| r[j * n + j] * r[j * n + j]).fold(1.0, f64::min);
        if self.least_pivot < LEAST_PIVOT {
            return false;
        }
        for ((z, g), &norm) in self.z.iter_mut().zip(&self.gradient).zip(&self.norms) {
            *z = if norm == 0.0 { 0.0 } else { g / norm };
        }
        solve_upper_transposed(&self.r, n, &mut self.z);
        by_size!(n => unscale(&mut self.r[..n * n], n, &self.norms[..n]));
        true
    }

    /// Takes the model of a fit beside others, and its Gauss-Newton step. Returns whether that kept enough digits; if not,
    /// it is without meaning.
    pub(crate) fn set_lane(
        &mut self,
        models: &ModelsAbreast,
        lane: usize,
        normal: &Normal,
        step: &mut [f64],
    ) -> bool {
        let n = self.n;
        if models.least_pivot[lane] < LEAST_PIVOT {
            return false;
        }
        self.least_pivot = models.least_pivot[lane];
        for j in 0..n {
            self.norms[j] = models.norms[j][lane];
            self.gradient[j] = normal.jtr(j);
            self.z[j] = models.z[j][lane];
            step[j] = models.step[j][lane];
            let column = &models.r[pair(0, j)..][..=j];
            self.r[j * n..].iter_mut().zip(column).for_each(|(r, lanes)| *r = lanes[lane]);
        }
        true
    }

    /// Whether R can be solved with.
    pub(crate) fn is_regular(&self) -> bool {
        let is_sound = self.least_pivot >= LEAST_PIVOT && self.norms.iter().all(|&norm| norm > 0.0);
        is_sound || is_regular(&self.r, self.n)
    }

    /// Takes only the lengths of the columns and the gradient.
    pub(crate) fn set_lengths(&mut self, normal: &Normal) {
        for j in 0..self.n {
            self.norms[j] = normal.jtj(j, j).sqrt();
            self.gradient[j] = normal.jtr(j);
        }
    }

    /// R and z as the factor of [J r]; without the length of what no parameter can fit.
    pub(crate) fn factor(&self) -> RFactor {
        let mut factor = RFactor::zero(self.n);
        self.write_factor(&mut factor);
        factor
    }

    /// As [`factor`](Self::factor), into a factor of the same size.
    pub(crate) fn write_factor(&self, factor: &mut RFactor) {
        let n = self.n;
        for j in 0..n {
            factor.r[j * (n + 1)..][..=j].copy_from_slice(&self.r[j * n..][..=j]);
        }
        factor.r[n * (n + 1)..][..n].copy_from_slice(&self.z);
    }

    /// Takes R and z from a factor of [J r]; lengths and gradient stay those of the normal equations.
    pub(crate) fn set_factor(&mut self, factor: &RFactor) {
        let n = self.n;
        self.least_pivot = 0.0;
        for j in 0..n {
            for i in 0..n {
                self.r[j * n + i] = if i <= j { factor.at(i, j) } else { 0.0 };
            }
            self.z[j] = factor.at(j, n);
        }
    }

    /// The change of the cost that the model predicts for the step `delta`: ½‖Rδ‖² + gᵀδ.
    pub(crate) fn change(&self, delta: &[f64]) -> f64 {
        let n = self.n;
        by_size!(n => change(&self.r[..n * n], n, &self.z[..n], &delta[..n]))
    }

    /// The same problem in the variables `moving` only, the others displaced by `delta`: writes its
    /// triangular factor to `r` (m × m for m moving variables) and its right-hand side to `z`.
    /// `work` has (m + 1) · (n + m + 1) numbers.
    pub(crate) fn restrict(
        &self,
        moving: &[usize],
        delta: &[f64],
        r: &mut [f64],
        z: &mut [f64],
        work: &mut [f64],
    ) {
        let (n, m) = (self.n, moving.len());
        let (factor, rows) = work.split_at_mut((m + 1) * (m + 1));
        factor.fill(0.0);
        for (c, &j) in moving.iter().enumerate() {
            rows[c * n..(c + 1) * n].copy_from_slice(&self.r[j * n..(j + 1) * n]);
        }
        let right = &mut rows[m * n..(m + 1) * n];
        right.copy_from_slice(&self.z);
        for j in (0..n).filter(|j| !moving.contains(j) && delta[*j] != 0.0) {
            for i in 0..=j {
                right[i] += self.r[j * n + i] * delta[j];
            }
        }
        fold_few(factor, m + 1, &mut rows[..(m + 1) * n], n);
        for j in 0..m {
            for i in 0..m {
                r[j * m + i] = if i <= j { factor[j * (m + 1) + i] } else { 0.0 };
            }
            z[j] = factor[m * (m + 1) + j];
        }
    }
}

/// Writes the upper triangle of JᵀJ, its columns scaled to length 1. `products`: of [J r], packed.
#[inline(always)]
fn scale(products: &[f64], n: usize, norms: &[f64], scaled: &mut [f64]) {
    let products = &products[..n * (n + 1) / 2];
    for j in 0..n {
        for i in 0..=j {
            let unit = norms[i] * norms[j];
            // A column without effect must not spoil the others: it stands alone with length 1 here
            // and is zero again below.
            scaled[j * n + i] = match unit {
                0.0 if i == j => 1.0,
                0.0 => 0.0,
                _ => products[j * (j + 1) / 2 + i] / unit,
            };
        }
    }
}

#[inline(always)]
fn unscale(r: &mut [f64], n: usize, norms: &[f64]) {
    for j in 0..n {
        for i in 0..=j {
            r[j * n + i] *= norms[j];
        }
    }
}

#[inline(always)]
fn change(r: &[f64], n: usize, z: &[f64], delta: &[f64]) -> f64 {
    let (mut square, mut slope) = (0.0, 0.0);
    for i in 0..n {
        let row: f64 = (i..n).map(|j| r[j * n + i] * delta[j]).sum();
        square += row * row;
        slope += row * z[i];
    }
    0.5 * square + slope
}
