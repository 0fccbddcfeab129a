//! Weighted rows of [J r], computed from the model values of a block.

use super::closest::BlockPoints;
use super::code::{BLOCK, Operand};
use super::gram::{LANES, collapse};
use super::kernels::Kernels;
use super::loss_rows::LossRows;
use super::machine::{Block, Machine, Register, lanes, register};
use super::robust::RobustSums;
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Points;
use crate::data::sigma::Weights;
use crate::data::values::Values;
use crate::model::op::Binary;
use crate::normal::{Influence, Normal, RFactor, pair};

/// Distance between columns of the folded matrix. It is not a power of two, so that columns do not compete for the same
/// cache sets.
pub(super) const STRIDE: usize = BLOCK + 8;
/// Numbers per cache line.
const ALIGNMENT: usize = 8;

/// Columns of the rows of one block, and buffers for their sums.
#[derive(Default)]
pub(super) struct BlockRows {
    /// Weighted partials, then the weighted residual.
    columns: Vec<Register>,
    /// Factor of each row, if rows are weighted.
    factor: Register,
    response: Register,
    lanes: Vec<f64>,
    /// For each column, the numbers of the points after the last full group of eight.
    rests: Vec<[f64; LANES]>,
    matrix: Vec<f64>,
    loss: LossRows,
}

/// Model values and partials of a block.
pub(super) struct BlockValues<'a> {
    pub(super) machine: &'a Machine,
    pub(super) points: BlockPoints<'a>,
    pub(super) outputs: &'a [Operand],
}

impl BlockValues<'_> {
    /// Returns the values of the model if `i` is 0, else the partials with respect to free parameter i − 1.
    fn output(&self, i: usize) -> &[f64] {
        self.machine.source(self.outputs[i], self.points.inputs)
    }
}

/// Weighting of rows.
pub(super) struct Weighting<'a> {
    pub(super) points: &'a Points<'a>,
    /// The loss, with its scale in row units.
    pub(super) loss: Loss,
    /// Minimum weight of a point in JᵀJ, relative to its weight in the gradient.
    pub(super) floor: f64,
    /// Factor of each column.
    pub(super) columns: &'a [f64],
    /// Upper limit of the weight of a point.
    pub(super) most: f64,
}

/// Data, loss and weights of a block of fits in lanes.
pub(super) struct Target<'a> {
    pub(super) y: &'a [f64],
    /// One weight per number; `None` if all are 1.
    pub(super) weights: Option<&'a [f64]>,
    pub(super) loss: Loss,
    pub(super) floor: f64,
    pub(super) estimator: Estimator,
    /// Poisson data: lower limit of the expectation in the weight, one per lane.
    pub(super) darkest: &'a [f64; LANES],
}

impl BlockRows {
    /// Reserves memory for `k` columns, including the residual. The memory for sums shrinks too: otherwise, after a
    /// model of a thousand columns, half a million sums would be cleared for each piece of a model of three columns.
    pub(super) fn reserve(&mut self, k: usize) {
        self.columns.resize_with(self.columns.len().max(k), register);
        self.loss.reserve();
        for needed in [&mut self.factor, &mut self.response] {
            *needed = needed.take().or_else(register);
        }
        self.lanes.resize(LANES * pair(0, k), 0.0);
        self.matrix.resize(self.matrix.len().max(STRIDE * k + ALIGNMENT), 0.0);
    }

    /// Clears the sums of the previous chunk.
    pub(super) fn clear(&mut self) {
        self.lanes.fill(0.0);
        self.loss.sums = RobustSums::default();
    }

    /// Sets the last column to the residual `value` − y, weighted and corrected for the loss, and sets the
    /// factors of the rows. Returns true if the rows have factors other than 1.
    fn residual(
        &mut self,
        kernels: &Kernels,
        weighting: &Weighting<'_>,
        value: &[f64],
        BlockPoints { block, distances, .. }: BlockPoints<'_>,
        k: usize,
    ) -> bool {
        let points = weighting.points;
        let n = value.len();
        let (Some(residual), Some(factor), Some(response)) =
            (&mut self.columns[k - 1], &mut self.factor, &mut self.response)
        else {
            return false;
        };
        let (residual, factor) = (&mut residual.0[..n], &mut factor.0[..n]);
        let rule = (weighting.loss, weighting.floor);
        if let Some(distances) = distances {
            residual.copy_from_slice(distances.distance);
            factor.copy_from_slice(distances.factor);
            return self.loss.correct(kernels, rule, true, residual, factor);
        }
        let y: &[f64] = match (points.y, block) {
            (Values::F64(v), Block::Run(start)) => &v[start..start + n],
            _ => {
                match block {
                    Block::Run(start) => points.y.copy_to(start, &mut response.0[..n]),
                    Block::Picked(index) => points.y.pick(index, &mut response.0[..n]),
                }
                &response.0[..n]
            }
        };
        if points.estimator == Estimator::Poisson {
            let darkest = [points.darkest(); LANES];
            kernels.poisson(&darkest, [value, y], residual, factor, &mut self.loss.sums);
            return true;
        }
        kernels.binary(Binary::Sub, value, y, residual);
        let weighted = match points.sigma {
            Weights::Equal | Weights::Covariance { .. } if points.units.row == 1.0 => false,
            Weights::Equal | Weights::Covariance { .. } | Weights::Constant(_) => {
                factor.fill(points.weight(0));
                true
            }
            Weights::Each { sigma: s, .. } => {
                let unit = points.units.row;
                match block {
                    Block::Run(start) => {
                        kernels.with_left(Binary::Div, unit, &s[start..start + n], factor)
                    }
                    Block::Picked(index) => {
                        factor.iter_mut().zip(index).for_each(|(f, &i)| *f = unit / s[i]);
                    }
                }
                if weighting.most < f64::INFINITY {
                    factor.iter_mut().for_each(|f| *f = f.min(weighting.most));
                }
                true
            }
        };
        if weighted {
            weigh_residual(residual, factor);
        }
        self.loss.correct(kernels, rule, weighted, residual, factor)
    }

    /// Like [`residual`](BlockRows::residual), for fits in lanes.
    fn residual_of(
        &mut self,
        kernels: &Kernels,
        target: &Target<'_>,
        value: &[f64],
        k: usize,
    ) -> bool {
        let n = value.len();
        let (Some(residual), Some(factor)) = (&mut self.columns[k - 1], &mut self.factor) else {
            return false;
        };
        let (residual, factor) = (&mut residual.0[..n], &mut factor.0[..n]);
        if target.estimator == Estimator::Poisson {
            kernels.poisson(
                target.darkest,
                [value, target.y],
                residual,
                factor,
                &mut self.loss.sums,
            );
            return true;
        }
        kernels.binary(Binary::Sub, value, target.y, residual);
        if let Some(weights) = target.weights {
            factor.copy_from_slice(weights);
            weigh_residual(residual, factor);
        }
        let (rule, weighted) = ((target.loss, target.floor), target.weights.is_some());
        self.loss.correct(kernels, rule, weighted, residual, factor)
    }

    /// Returns the sums of products of `k` columns, eight lanes each.
    pub(super) fn sums(&mut self, k: usize) -> &mut [f64] {
        &mut self.lanes[..LANES * pair(0, k)]
    }

    /// Copies the sums of `k` columns and the costs, without adding the lanes.
    pub(super) fn lanes_into(&self, k: usize, sums: &mut Vec<f64>, costs: &mut [f64; LANES]) {
        sums.clear();
        sums.extend_from_slice(&self.lanes[..LANES * pair(0, k)]);
        *costs = self.loss.sums.costs;
    }

    /// Adds the products of the block to the sums of the chunk.
    pub(super) fn add_products(
        &mut self,
        kernels: &Kernels,
        weighting: &Weighting<'_>,
        view: &BlockValues<'_>,
    ) {
        let (k, value) = (view.outputs.len(), view.output(0));
        let factored = self.residual(kernels, weighting, value, view.points, k);
        self.products(kernels, weighting.columns, view, factored);
    }

    /// Adds the products of a block of fits in lanes.
    pub(super) fn add_products_of(
        &mut self,
        kernels: &Kernels,
        target: &Target<'_>,
        view: &BlockValues<'_>,
    ) {
        let factored = self.residual_of(kernels, target, view.output(0), view.outputs.len());
        self.products(kernels, &[], view, factored);
    }

    /// Adds the products of the rows of the block, whose residuals and factors must already be set. `scales`: the
    /// factors of the columns, or empty if all are 1. `factored`: true if rows have factors other than 1.
    fn products(
        &mut self,
        kernels: &Kernels,
        scales: &[f64],
        view: &BlockValues<'_>,
        factored: bool,
    ) {
        let k = view.outputs.len();
        let output = |i: usize| view.output(i);
        let n = output(0).len();
        let scale = |j: usize| scales.get(j).copied().unwrap_or(1.0);
        let scaled = |j: usize| scale(j) != 1.0;
        for j in 0..k - 1 {
            if factored || scaled(j) {
                let Some(column) = &mut self.columns[j] else { continue };
                let factor = factored.then(|| lanes(&self.factor, n));
                weigh(kernels, output(1 + j), factor, scale(j), &mut column.0[..n]);
            }
        }
        let columns = &self.columns;
        let column = |j: usize| {
            if j + 1 < k && !factored && !scaled(j) { output(1 + j) } else { lanes(&columns[j], n) }
        };
        kernels.products(k, column, &mut self.rests, &mut self.lanes);
    }

    /// Folds the rows of the block into the R factor of the chunk.
    pub(super) fn fold(
        &mut self,
        kernels: &Kernels,
        weighting: &Weighting<'_>,
        view: &BlockValues<'_>,
        out: &mut RFactor,
    ) {
        let k = view.outputs.len();
        let output = |i: usize| view.output(i);
        let n = output(0).len();
        let factored = self.residual(kernels, weighting, output(0), view.points, k);
        // If the matrix is not aligned to cache lines, the folding loop takes 1.4x the time (measured).
        let aligned = self.matrix.as_ptr().align_offset(64).min(ALIGNMENT);
        let (columns, factor) = (&self.columns, &self.factor);
        let matrix = &mut self.matrix[aligned..aligned + k * STRIDE];
        for (j, column) in matrix.chunks_mut(STRIDE).enumerate() {
            let out = &mut column[..n];
            if j + 1 == k {
                out.copy_from_slice(lanes(&columns[j], n));
            } else {
                let factor = factored.then(|| lanes(factor, n));
                weigh(kernels, output(1 + j), factor, weighting.columns[j], out);
            }
        }
        kernels.fold(&mut out.r, k, matrix, STRIDE, n);
    }
}

/// Multiplies the residuals by the factors of their rows.
fn weigh_residual(residual: &mut [f64], factor: &[f64]) {
    residual.iter_mut().zip(factor).for_each(|(r, w)| *r *= w);
}

/// Computes out = partial · row factor · column factor.
fn weigh(kernels: &Kernels, partial: &[f64], factor: Option<&[f64]>, scale: f64, out: &mut [f64]) {
    match factor {
        Some(factor) => kernels.binary(Binary::Mul, partial, factor, out),
        None => out.copy_from_slice(partial),
    }
    if scale != 1.0 {
        out.iter_mut().for_each(|v| *v *= scale);
    }
}

impl BlockRows {
    /// Writes the sums of the chunk to normal equations. `squares`: if true, the cost is ½ Σ r².
    pub(super) fn finish(&mut self, squares: bool, out: &mut Normal) {
        collapse(&self.lanes, &mut out.products);
        let n = out.n;
        out.cost = match squares {
            true => 0.5 * out.products[pair(n, n)],
            false => {
                let mut total = [0.0];
                collapse(&self.loss.sums.costs, &mut total);
                total[0]
            }
        };
    }

    /// Returns the influence sums of a robust loss over the points of the chunk.
    pub(super) fn influence(&self) -> Influence {
        self.loss.sums.influence()
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockRows, LANES, pair};

    #[test]
    fn what_a_wide_model_needed_is_not_cleared_for_a_narrow_one() {
        let mut rows = BlockRows::default();
        rows.reserve(1001);
        rows.clear();
        rows.reserve(4);
        rows.lanes.fill(1.0);
        rows.clear();
        assert_eq!(rows.lanes, vec![0.0; LANES * pair(0, 4)]);
        rows.reserve(5);
        rows.clear();
        assert_eq!(rows.lanes, vec![0.0; LANES * pair(0, 5)]);
    }
}
