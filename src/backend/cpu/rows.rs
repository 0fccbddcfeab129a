//! Weighted rows of [J r], computed from the model values of a block.

use super::closest::BlockPoints;
use super::code::{BLOCK, Operand};
use super::gram::{LANES, collapse};
use super::kernels::Kernels;
use super::loss_rows::LossRows;
use super::machine::{Block, Machine, Register, lanes, register};
use super::poisson::Counts;
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
static ZEROS: [f64; BLOCK] = [0.0; BLOCK];
/// Numbers per cache line.
const ALIGNMENT: usize = 8;

/// Columns of the rows of one block, and buffers for their sums.
#[derive(Default)]
pub(super) struct BlockRows {
    /// Weighted partials, then the weighted residual.
    columns: Vec<Register>,
    /// Factor of each row, if rows are weighted.
    factor: Register,
    /// Weights of the products of each row, for a loss or for counts: the product of two numbers for counts.
    weights: [Register; 2],
    /// Weighted partials multiplied by the weights of the products.
    rights: Vec<Register>,
    response: Register,
    lanes: Vec<f64>,
    /// For each column, the numbers of the points after the last full group of eight.
    rests: Vec<[f64; LANES]>,
    matrix: Vec<f64>,
    loss: LossRows,
}

/// Result of the computation of residuals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowKind {
    /// The factors of all rows are 1.
    Plain,
    /// Rows have factors.
    Factored,
    /// The residuals are the scores of counts, and products have two weights.
    Counts,
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
    /// Poisson data: upper limit of the weight 1/f, one per lane.
    pub(super) most: &'a [f64; LANES],
}

impl BlockRows {
    /// Reserves memory for `k` columns, including the residual. Only the memory for sums can shrink: otherwise, after a
    /// model of a thousand columns, half a million sums would be cleared for each piece of a model of three columns.
    pub(super) fn reserve(&mut self, k: usize) {
        self.columns.resize_with(self.columns.len().max(k), register);
        self.loss.reserve();
        let [first, second] = &mut self.weights;
        for needed in [&mut self.factor, &mut self.response, first, second] {
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

    /// Sets the last column to the residual `value` − y, weighted by the errors of y, and sets the factors of the rows.
    /// For counts, sets it to the score, and sets the weights of the products.
    fn residual(
        &mut self,
        kernels: &Kernels,
        weighting: &Weighting<'_>,
        value: &[f64],
        BlockPoints { block, used, distances, .. }: BlockPoints<'_>,
        k: usize,
    ) -> RowKind {
        let points = weighting.points;
        let n = value.len();
        let (Some(residual), Some(factor), Some(response)) =
            (&mut self.columns[k - 1], &mut self.factor, &mut self.response)
        else {
            return RowKind::Plain;
        };
        let (residual, factor) = (&mut residual.0[..n], &mut factor.0[..n]);
        if let Some(distances) = distances {
            residual.copy_from_slice(distances.distance);
            factor.copy_from_slice(distances.factor);
            return RowKind::Factored;
        }
        let is_counted = points.estimator == Estimator::Poisson;
        let y: &[f64] = match (points.y, block) {
            (Values::F64(v), Block::Run(start)) if !is_counted || used.is_none() => {
                &v[start..start + n]
            }
            _ => {
                match block {
                    Block::Run(start) => points.y.copy_to(start, &mut response.0[..n]),
                    Block::Picked(index) => points.y.pick(index, &mut response.0[..n]),
                }
                if let (true, Some(used)) = (is_counted, used) {
                    // The cost of the count 1 with the expectation 1 is 0.
                    replace_unused(&mut response.0[..n], used, 1.0);
                }
                &response.0[..n]
            }
        };
        if is_counted {
            let most = &[points.darkest().recip(); LANES];
            let value = match used {
                Some(used) => {
                    // Rows of counts have no factors, so that the buffer is free.
                    factor.copy_from_slice(value);
                    replace_unused(factor, used, 1.0);
                    &*factor
                }
                None => value,
            };
            let counts = Counts { value, y, weights: None, most };
            score(kernels, &counts, residual, &mut self.weights, &mut self.loss.sums.costs);
            return RowKind::Counts;
        }
        kernels.binary(Binary::Sub, value, y, residual);
        match points.sigma {
            Weights::Equal | Weights::Covariance { .. } if points.units.row == 1.0 => {
                return RowKind::Plain;
            }
            Weights::Equal | Weights::Covariance { .. } | Weights::Constant(_) => {
                factor.fill(points.weight(0));
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
            }
        }
        weigh_residual(residual, factor);
        RowKind::Factored
    }

    /// Like [`residual`](BlockRows::residual), for fits in lanes.
    fn residual_of(
        &mut self,
        kernels: &Kernels,
        target: &Target<'_>,
        value: &[f64],
        k: usize,
    ) -> RowKind {
        let n = value.len();
        let (Some(residual), Some(factor)) = (&mut self.columns[k - 1], &mut self.factor) else {
            return RowKind::Plain;
        };
        let (residual, factor) = (&mut residual.0[..n], &mut factor.0[..n]);
        if target.estimator == Estimator::Poisson {
            let Target { y, weights, most, .. } = *target;
            let counts = Counts { value, y, weights, most };
            score(kernels, &counts, residual, &mut self.weights, &mut self.loss.sums.costs);
            return RowKind::Counts;
        }
        kernels.binary(Binary::Sub, value, target.y, residual);
        let Some(weights) = target.weights else { return RowKind::Plain };
        factor.copy_from_slice(weights);
        weigh_residual(residual, factor);
        RowKind::Factored
    }

    /// Copies the sums of the chunk in the order of [`set_sums`](BlockRows::set_sums), the costs if `costs`, without adding
    /// the lanes.
    pub(super) fn copy_sums(&self, k: usize, costs: bool, sums: &mut Vec<f64>) {
        sums.clear();
        sums.extend_from_slice(&self.lanes[..LANES * pair(0, k)]);
        if costs {
            sums.extend_from_slice(&self.loss.sums.costs);
        }
    }

    /// Sets the sums of the chunk: products of `k` columns, then the costs if there are any, eight lanes each.
    pub(super) fn set_sums(&mut self, k: usize, sums: &[f64]) {
        let (products, costs) = sums.split_at(LANES * pair(0, k));
        self.lanes[..products.len()].copy_from_slice(products);
        self.loss.sums.costs[..costs.len()].copy_from_slice(costs);
    }

    /// Adds the products of the block to the sums of the chunk.
    pub(super) fn add_products(
        &mut self,
        kernels: &Kernels,
        weighting: &Weighting<'_>,
        view: &BlockValues<'_>,
    ) {
        let (k, value) = (view.outputs.len(), view.output(0));
        let kind = self.residual(kernels, weighting, value, view.points, k);
        if let (Some(used), Some(residual)) = (view.points.used, &mut self.columns[k - 1]) {
            replace_unused(&mut residual.0[..used.len()], used, 0.0);
        }
        let rule = (weighting.loss, weighting.floor);
        self.products(kernels, (rule, weighting.columns), view, kind);
    }

    /// Adds the products of a block of fits in lanes.
    pub(super) fn add_products_of(
        &mut self,
        kernels: &Kernels,
        target: &Target<'_>,
        view: &BlockValues<'_>,
    ) {
        let kind = self.residual_of(kernels, target, view.output(0), view.outputs.len());
        self.products(kernels, ((target.loss, target.floor), &[]), view, kind);
    }

    /// Adds the products of the rows of the block, whose residuals must already be set. `rule`: the loss and the floor
    /// of its weights; `scales`: the factors of the columns, or empty if all are 1.
    fn products(
        &mut self,
        kernels: &Kernels,
        (rule, scales): ((Loss, f64), &[f64]),
        view: &BlockValues<'_>,
        kind: RowKind,
    ) {
        let k = view.outputs.len();
        let output = |i: usize| view.output(i);
        let n = output(0).len();
        let scale = |j: usize| scales.get(j).copied().unwrap_or(1.0);
        let scaled = |j: usize| scale(j) != 1.0;
        let factored = kind == RowKind::Factored;
        let used = view.points.used;
        let changed = |j: usize| factored || scaled(j) || used.is_some();
        for j in (0..k - 1).filter(|&j| changed(j)) {
            let Some(column) = &mut self.columns[j] else { continue };
            let column = &mut column.0[..n];
            let factor = factored.then(|| lanes(&self.factor, n));
            weigh(kernels, output(1 + j), factor, scale(j), column);
            if let Some(used) = used {
                replace_unused(column, used, 0.0);
            }
        }
        let robust = kind != RowKind::Counts && rule.0 != Loss::Linear;
        if let (true, Some(residual), [Some(weight), _]) =
            (robust, &mut self.columns[k - 1], &mut self.weights)
        {
            self.loss.weigh(kernels, rule, &mut residual.0[..n], &mut weight.0[..n]);
        }
        let columns = &self.columns;
        let left = |j: usize| {
            if j + 1 < k && !changed(j) { output(1 + j) } else { lanes(&columns[j], n) }
        };
        let weights = match (kind, robust) {
            (RowKind::Counts, _) => &self.weights[..],
            (_, true) => &self.weights[..1],
            (_, false) => {
                return kernels.products(k, (left, left), &mut self.rests, &mut self.lanes);
            }
        };
        self.rights.resize_with(self.rights.len().max(k - 1), register);
        for (j, right) in self.rights[..k - 1].iter_mut().enumerate() {
            let Some(right) = right else { continue };
            let right = &mut right.0[..n];
            kernels.binary(Binary::Mul, left(j), lanes(&weights[0], n), right);
            for weight in &weights[1..] {
                right.iter_mut().zip(lanes(weight, n)).for_each(|(right, weight)| *right *= weight);
            }
        }
        let rights = &self.rights;
        let right = |j: usize| if j + 1 < k { lanes(&rights[j], n) } else { left(j) };
        // The square of the gradient of a point may overflow. 0 times the gradient is 0, or NaN if it is not finite.
        let partials = |j: usize| if j + 1 < k { left(j) } else { &ZEROS[..n] };
        kernels.products(k, (partials, right), &mut self.rests, &mut self.lanes);
    }

    /// Sets the residuals and the factors of rows that an R factor folds. Returns true if the rows have factors.
    fn row_factors(
        &mut self,
        kernels: &Kernels,
        weighting: &Weighting<'_>,
        view: &BlockValues<'_>,
    ) -> bool {
        let (k, n) = (view.outputs.len(), view.output(0).len());
        let kind = self.residual(kernels, weighting, view.output(0), view.points, k);
        let (Some(residual), Some(factor)) = (&mut self.columns[k - 1], &mut self.factor) else {
            return false;
        };
        let (residual, factor) = (&mut residual.0[..n], &mut factor.0[..n]);
        if kind == RowKind::Counts {
            let [first, second] = &self.weights;
            factor.copy_from_slice(lanes(first, n));
            kernels.poisson_rows(residual, factor, lanes(second, n));
            return true;
        }
        let rule = (weighting.loss, weighting.floor);
        self.loss.correct(kernels, rule, kind == RowKind::Factored, residual, factor)
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
        let factored = self.row_factors(kernels, weighting, view);
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

/// Computes scores, weights and costs of counts.
fn score(
    kernels: &Kernels,
    counts: &Counts<'_>,
    score: &mut [f64],
    weights: &mut [Register; 2],
    costs: &mut [f64; LANES],
) {
    let n = score.len();
    if let [Some(first), Some(second)] = weights {
        kernels.poisson(counts, score, [&mut first.0[..n], &mut second.0[..n]], costs);
    }
}

/// Replaces the numbers of the points to leave out, whose flags are 0.
fn replace_unused(numbers: &mut [f64], used: &[u8], by: f64) {
    let numbers = numbers.iter_mut().zip(used);
    numbers.for_each(|(number, &used)| *number = if used > 0 { *number } else { by });
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
