//! The quadratic model of the cost around a point, as a triangular least-squares problem.
//!
//! ½‖J δ + r‖² differs by a constant from ½‖R δ + z‖², where R is the triangular factor of J and z = Qᵀr. R and z are
//! computed from the normal equations by Cholesky factorisation, after JᵀJ is scaled to a unit diagonal. If a small
//! pivot of the scaled matrix shows that forming JᵀJ lost too many digits, they are computed by a pass over the data
//! that factors J itself.

use crate::constants::LEAST_PIVOT;
use crate::normal::abreast::ModelsAbreast;
use crate::normal::small::{by_size, cholesky, dot, solve_upper_transposed};
use crate::normal::{Arrow, Normal, RFactor, Triangular, pair, pair_of_block};
use std::sync::Arc;

/// R and z, with the lengths of the columns of J and the gradient.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinearModel {
    pub(crate) n: usize,
    pub(crate) problem: Triangular,
    /// Lengths of the columns of J, ‖Jⱼ‖.
    pub(crate) norms: Vec<f64>,
    /// The gradient of the cost, Jᵀr.
    pub(crate) gradient: Vec<f64>,
    /// The smallest squared pivot of JᵀJ scaled to a unit diagonal: the smallest squared length of a column of length 1
    /// after the previous columns are projected out. The relative error of the factor is about ε/`least_pivot`. Zero if
    /// there was no factor, or if it was computed from J itself.
    pub(crate) least_pivot: f64,
    scaled: Vec<f64>,
}

impl LinearModel {
    pub(crate) fn new(shape: &Arrow) -> Self {
        let line = vec![0.0; shape.n()];
        LinearModel {
            n: shape.n(),
            problem: Triangular::zero(shape),
            norms: line.clone(),
            gradient: line,
            least_pivot: 0.0,
            scaled: vec![0.0; shape.room(0)],
        }
    }

    /// Computes the model from normal equations. Returns true if it has enough digits. Otherwise R and z are
    /// meaningless and must be set by [`set_factor`](Self::set_factor).
    pub(crate) fn set_normal(&mut self, normal: &Normal) -> bool {
        self.set_lengths(normal);
        self.least_pivot = 0.0;
        let Some(least_pivot) = self.eliminate(normal) else { return false };
        self.least_pivot = least_pivot;
        if least_pivot < LEAST_PIVOT {
            return false;
        }
        let Triangular { shape, r, z } = &mut self.problem;
        for ((z, g), &norm) in z.iter_mut().zip(&self.gradient).zip(&self.norms) {
            *z = if norm == 0.0 { 0.0 } else { g / norm };
        }
        crate::normal::triangular::solve_upper_transposed(shape, r, z);
        let border = &self.norms[shape.first_common()..];
        for (own, rows) in shape.trapezoids_mut(r, 0) {
            let m = own.len();
            unscale(rows, m, &self.norms[own]);
            for (column, norm) in rows[m * m..].chunks_exact_mut(m.max(1)).zip(border) {
                column.iter_mut().for_each(|r| *r *= norm);
            }
        }
        let n = border.len();
        by_size!(n => unscale(&mut shape.corner_mut(r, 0)[..n * n], n, &border[..n]));
        true
    }

    /// Factors JᵀJ with its columns scaled to length 1. Stores R and returns the smallest squared pivot; `None` if the
    /// matrix is not positive definite. Each block is eliminated from the products of the common columns.
    fn eliminate(&mut self, normal: &Normal) -> Option<f64> {
        let Triangular { shape, r, .. } = &mut self.problem;
        let (common, first) = (shape.common(), shape.first_common());
        // All blocks are scaled in the same buffer, one after another.
        let (square, corner) = self.scaled.split_at_mut(shape.room_of_blocks(0));
        let border = &self.norms[first..];
        by_size!(common => scale(normal.corner(), common, &border[..common], &mut corner[..common * common]));
        let mut least = 1.0;
        for ((own, products), (_, rows)) in normal.blocks().zip(shape.trapezoids_mut(r, 0)) {
            let m = own.len();
            if m == 0 {
                continue;
            }
            let norms = &self.norms[own];
            scale(products, m, norms, &mut square[..m * m]);
            cholesky(square, m, rows).ok()?;
            least = (0..m).map(|j| rows[j * m + j] * rows[j * m + j]).fold(least, f64::min);
            let (triangle, beside) = rows.split_at_mut(m * m);
            for (c, column) in beside.chunks_exact_mut(m).enumerate() {
                for (i, value) in column.iter_mut().enumerate() {
                    let unit = norms[i] * border[c];
                    let product = products[pair_of_block(i, m + c, m)];
                    *value = if unit == 0.0 { 0.0 } else { product / unit };
                }
                solve_upper_transposed(triangle, m, column);
            }
            for j in 0..common {
                let (before, column) = beside[..(j + 1) * m].split_at(j * m);
                for i in 0..j {
                    let other = &before[i * m..][..m];
                    corner[j * common + i] -= dot(other, column);
                }
                corner[j * common + j] -= dot(column, column);
            }
        }
        let square = shape.corner_mut(r, 0);
        cholesky(corner, common, square).ok()?;
        let pivots = (0..common).map(|j| square[j * common + j] * square[j * common + j]);
        Some(pivots.fold(least, f64::min))
    }

    /// Copies the model of one fit, and its Gauss-Newton step, from the models of several fits in lanes. Returns true
    /// if the model has enough digits; otherwise nothing is copied.
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
            self.problem.z[j] = models.z[j][lane];
            step[j] = models.step[j][lane];
            let column = &models.r[pair(0, j)..][..=j];
            let to = self.problem.r[j * n..].iter_mut();
            to.zip(column).for_each(|(r, lanes)| *r = lanes[lane]);
        }
        true
    }

    /// Returns true if R is regular, so that systems with it can be solved.
    pub(crate) fn is_regular(&self) -> bool {
        let is_sound = self.least_pivot >= LEAST_PIVOT && self.norms.iter().all(|&norm| norm > 0.0);
        is_sound || self.problem.is_regular()
    }

    /// Computes only the lengths of the columns and the gradient.
    pub(crate) fn set_lengths(&mut self, normal: &Normal) {
        let to = self.norms.iter_mut().zip(&mut self.gradient);
        for ((norm, gradient), (square, slope)) in to.zip(normal.lengths_and_slopes()) {
            *norm = square.sqrt();
            *gradient = slope;
        }
    }

    /// Returns R and z as the R factor of [J r]. The last diagonal element, the norm of the part of r that no parameter
    /// can fit, is not set.
    pub(crate) fn factor(&self) -> RFactor {
        let mut factor = RFactor::shaped(&Arc::new(self.problem.shape.clone()));
        self.write_factor(&mut factor);
        factor
    }

    /// Writes the result of [`factor`](Self::factor) to a factor of the same shape.
    pub(crate) fn write_factor(&self, factor: &mut RFactor) {
        let Triangular { shape, r, z } = &self.problem;
        let (blocks, corner) = factor.parts_mut();
        for ((own, rows), (_, to)) in shape.trapezoids(r, 0).zip(blocks) {
            let (triangle, right) = to.split_at_mut(rows.len());
            triangle.copy_from_slice(rows);
            right.copy_from_slice(&z[own]);
        }
        let (n, r, z) = (shape.common(), shape.corner(r, 0), &z[shape.first_common()..]);
        for j in 0..n {
            corner[j * (n + 1)..][..=j].copy_from_slice(&r[j * n..][..=j]);
        }
        corner[n * (n + 1)..][..n].copy_from_slice(z);
    }

    /// Sets R and z from an R factor of [J r]. Lengths and gradient remain the values from the normal equations.
    pub(crate) fn set_factor(&mut self, factor: &RFactor) {
        self.least_pivot = 0.0;
        self.problem.set_factor(factor);
    }

    /// Returns the change of the cost that the model predicts for the step `delta`: ½‖Rδ‖² + gᵀδ.
    pub(crate) fn change(&self, delta: &[f64]) -> f64 {
        self.problem.change(delta)
    }
}

/// Writes the upper triangle of JᵀJ with the columns of J scaled to length 1. `products` contains the products of the
/// columns of [J r], packed.
#[inline(always)]
fn scale(products: &[f64], n: usize, norms: &[f64], scaled: &mut [f64]) {
    let products = &products[..n * (n + 1) / 2];
    for j in 0..n {
        for i in 0..=j {
            let unit = norms[i] * norms[j];
            // A zero column gets the diagonal element 1 here, so that the factorisation succeeds; `unscale` sets it to
            // zero.
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
