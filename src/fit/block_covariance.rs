//! Covariance of a fit whose parameters form blocks, computed without the full matrix.
//!
//! The factor of J has the rows [Rᵇ Bᵇ] for the own parameters of each set b, and S for the common parameters. Its
//! inverse has the same shape: the rows [(Rᵇ)⁻¹ −(Rᵇ)⁻¹Bᵇ S⁻¹], and S⁻¹. Therefore the row of an own parameter has one
//! entry per own parameter of the set and per common parameter. Only common parameters correlate two sets.
//!
//! Each block and S are decomposed as the full factor is in [`covariance`](super::covariance), with columns scaled to
//! length 1: Rᵇ = U Σ Vᵀ. Directions that Rᵇ does not determine are undetermined (open) for that set; the remaining
//! rows (1 − U Uᵀ) Bᵇ are folded into S. A direction w of the common parameters changes the own parameters by
//! −(Rᵇ)⁺Bᵇw. Let L be the length of this change of all parameters together, own and common. The direction is open if
//! S w is at most the rounding error of a vector of length L.

use super::block_matrix::{Block, BlockMatrix};
use super::covariance::{Covariance, Direction, norm, parts};
use crate::constants::{LEAST_PART, ROWS_WITH_ERROR};
use crate::normal::small::{fold_few, jacobi_svd, solve_upper};
use crate::normal::{Arrow, RFactor, Triangular};
use nalgebra::DMatrix;
use std::sync::OnceLock;

/// Maximum number of undetermined directions that are named.
const MOST_NAMED: usize = 20;
/// Maximum number of power iterations for the largest or the smallest singular value.
const MOST_STEPS: usize = 300;
/// An open direction belongs to own parameters if the change of own parameters is more than this many times the change
/// of the common ones. Parameters whose component along each open direction is at most `LEAST_PART` keep finite errors.
const OUTWEIGHS: f64 = 1e4;
/// Relative change of the value at which the power iteration ends.
const STILL: f64 = 1e-9;

/// Inputs of the computation; see [`CovarianceInputs`](super::covariance::CovarianceInputs).
pub(super) struct BlockInputs<'a> {
    /// R factor of the Jacobian with respect to the estimated parameters, with their blocks.
    pub(super) factor: &'a RFactor,
    /// R factor with the full weights of points whose weights are limited in `factor`; `None` without such points.
    pub(super) sharpened: Option<&'a RFactor>,
    /// Position of each estimated parameter, and the power of two that scales its column.
    pub(super) places: &'a [(usize, f64)],
    /// Positions of the free parameters at a bound.
    pub(super) held: &'a [usize],
    pub(super) params: usize,
    pub(super) points: usize,
    pub(super) row_error: &'a dyn Fn(usize) -> f64,
}

/// Singular value decomposition of a square matrix.
struct Decomposed {
    sigma: Vec<f64>,
    /// Right singular vectors, in columns.
    v: DMatrix<f64>,
    /// Left singular vectors times their singular values.
    u_sigma: DMatrix<f64>,
    found: bool,
}

impl Decomposed {
    fn of(square: DMatrix<f64>) -> Decomposed {
        let n = square.ncols();
        let (mut sigma, mut v) = (vec![0.0; n], DMatrix::zeros(n, n));
        let mut u_sigma = square;
        let found = jacobi_svd(u_sigma.as_mut_slice(), n, &mut sigma, v.as_mut_slice());
        Decomposed { sigma, v, u_sigma, found }
    }

    /// Returns the number of singular values above `least`.
    fn rank(&self, least: f64) -> usize {
        match self.found {
            true => self.sigma.iter().filter(|&&s| s > least).count(),
            false => 0,
        }
    }

    /// Returns the first `rank` left singular vectors.
    fn left(&self, rank: usize) -> DMatrix<f64> {
        let mut u = self.u_sigma.columns(0, rank).into_owned();
        u.column_iter_mut().for_each(|mut column| {
            let norm = column.norm();
            column /= norm;
        });
        u
    }

    /// Returns V Σ⁻¹ for the first `rank` singular values.
    fn inverse(&self, rank: usize) -> DMatrix<f64> {
        DMatrix::from_fn(self.v.nrows(), rank, |i, k| self.v[(i, k)] / self.sigma[k])
    }

    /// Returns the right singular vectors after the first `rank`; all directions if the decomposition failed.
    fn open(&self, rank: usize) -> DMatrix<f64> {
        let n = self.v.nrows();
        match self.found {
            true => self.v.columns(rank, n - rank).into_owned(),
            false => DMatrix::identity(n, n),
        }
    }
}

/// One row per parameter, for each block and for the common parameters: the rows of R⁻¹, up to a rotation that all
/// rows share. The columns of R have length 1. The product of two rows is the covariance of their scaled parameters.
struct Inverse {
    /// For each block, its rows: first the columns of the block, then the common columns.
    blocks: Vec<[DMatrix<f64>; 2]>,
    common: DMatrix<f64>,
}

impl Inverse {
    /// Inverts a regular triangle.
    fn of(problem: &Triangular) -> Inverse {
        let Triangular { shape, r, .. } = problem;
        let common = upper_inverse(shape.corner(r, 0), shape.common());
        let block = |(own, rows): (std::ops::Range<usize>, &[f64])| {
            let m = own.len();
            let inverse = upper_inverse(rows, m);
            let border = DMatrix::from_column_slice(m, shape.common(), &rows[m * m..]);
            let border = -(&inverse * border) * &common;
            [inverse, border]
        };
        Inverse { blocks: shape.trapezoids(r, 0).map(block).collect(), common }
    }
}

fn upper_inverse(r: &[f64], n: usize) -> DMatrix<f64> {
    let mut inverse = DMatrix::identity(n, n);
    inverse.as_mut_slice().chunks_exact_mut(n.max(1)).for_each(|x| solve_upper(r, n, x));
    inverse
}

/// Returns R with columns scaled to length 1, and the original lengths; 1 for a column of zeros.
pub(super) fn scaled(factor: &RFactor) -> (Triangular, Vec<f64>) {
    let mut problem = factor.problem();
    let shape = problem.shape.clone();
    let mut squares = vec![0.0; shape.n()];
    each_entry(&shape, &mut problem.r, |j, v| squares[j] += *v * *v);
    let length = |square: &f64| if *square > 0.0 { square.sqrt() } else { 1.0 };
    let lengths: Vec<f64> = squares.iter().map(length).collect();
    each_entry(&shape, &mut problem.r, |j, v| *v /= lengths[j]);
    (problem, lengths)
}

/// Calls `of(column, entry)` for each entry of R.
fn each_entry(shape: &Arrow, r: &mut [f64], mut of: impl FnMut(usize, &mut f64)) {
    let (first, common) = (shape.first_common(), shape.common());
    for (own, rows) in shape.trapezoids_mut(r, 0) {
        let m = own.len();
        let columns = own.chain(first..first + common);
        for (j, column) in columns.zip(rows.chunks_exact_mut(m.max(1))) {
            column.iter_mut().for_each(|v| of(j, v));
        }
    }
    for (c, column) in shape.corner_mut(r, 0).chunks_exact_mut(common.max(1)).enumerate() {
        column.iter_mut().for_each(|v| of(first + c, v));
    }
}

/// Undetermined directions, in columns of length 1, stored as in [`Inverse`].
struct Open {
    blocks: Vec<[DMatrix<f64>; 2]>,
    common: DMatrix<f64>,
}

/// A decomposed block, and its coupling to the common parameters.
struct OwnBlock {
    found: Decomposed,
    border: DMatrix<f64>,
    /// Number of directions of the block that the data determine.
    rank: usize,
    /// Σ⁻¹UᵀB: negative change along each determined direction per change of each common parameter.
    moves: DMatrix<f64>,
}

impl OwnBlock {
    /// Sets the number of determined directions to `rank` and folds the remainder of the border into the corner.
    fn see(&mut self, rank: usize, corner: &mut [f64]) {
        let (rows, common) = self.border.shape();
        self.rank = rank;
        let u = self.found.left(rank);
        self.moves = u.tr_mul(&self.border);
        if rank < rows {
            let mut left = &self.border - &u * &self.moves;
            fold_few(corner, common, left.as_mut_slice(), rows);
        }
        for (i, mut row) in self.moves.row_iter_mut().enumerate() {
            row /= self.found.sigma[i];
        }
    }
}

/// Computes the determined and the undetermined directions, in columns of length 1.
fn decomposed(problem: &Triangular, points: usize) -> (Inverse, Open) {
    let shape = &problem.shape;
    let common = shape.common();
    let rows_with_error = points.min(ROWS_WITH_ERROR);
    let least = |columns: usize| f64::EPSILON * rows_with_error.max(columns) as f64;
    let of_block = |(own, rows): (std::ops::Range<usize>, &[f64])| {
        let m = own.len();
        let found = Decomposed::of(DMatrix::from_column_slice(m, m, &rows[..m * m]));
        let largest = found.sigma.first().copied().unwrap_or(0.0);
        let rank = found.rank(least(m + common) * largest);
        let border = DMatrix::from_column_slice(m, common, &rows[m * m..]);
        OwnBlock { found, border, rank, moves: DMatrix::zeros(0, 0) }
    };
    let mut blocks: Vec<OwnBlock> = shape.trapezoids(&problem.r, 0).map(of_block).collect();
    let (shared, reach, seen, open) = loop {
        let mut corner = shape.corner(&problem.r, 0).to_vec();
        blocks.iter_mut().for_each(|block| block.see(block.rank, &mut corner));
        let shared = Decomposed::of(DMatrix::from_vec(common, common, corner));
        // Squared length of the change of all parameters along each direction of the common parameters.
        let mut reach = vec![1.0; common];
        for block in &blocks {
            let moved = &block.moves * &shared.v;
            moved.column_iter().zip(&mut reach).for_each(|(c, r)| *r += c.norm_squared());
        }
        let is_seen =
            |&k: &usize| shared.found && shared.sigma[k] > least(common + 1) * reach[k].sqrt();
        let (seen, open): (Vec<usize>, Vec<usize>) = (0..common).partition(is_seen);
        if !lower_ranks(&mut blocks, &shared, &reach, &open) {
            break (shared, reach, seen, open);
        }
    };
    let all = shared.open(0);
    let inverse =
        DMatrix::from_fn(common, seen.len(), |i, c| all[(i, seen[c])] / shared.sigma[seen[c]]);
    let beyond =
        DMatrix::from_fn(common, open.len(), |i, c| all[(i, open[c])] / reach[open[c]].sqrt());
    let mut found = Inverse { blocks: Vec::with_capacity(blocks.len()), common: inverse };
    let mut lost = Open { blocks: Vec::with_capacity(blocks.len()), common: beyond };
    for OwnBlock { found: block, rank, moves, .. } in blocks {
        let along = block.open(0).columns(0, rank) * moves;
        found.blocks.push([block.inverse(rank), -(&along * &found.common)]);
        lost.blocks.push([block.open(rank), -(along * &lost.common)]);
    }
    (found, lost)
}

/// Lowers the ranks of blocks with nearly undetermined directions. An open direction in which own parameters move far
/// with a small change of the common ones belongs to the blocks of those own parameters: the data hardly determine
/// the own directions, but do determine the common parameters. Returns true if a rank was lowered.
fn lower_ranks(
    blocks: &mut [OwnBlock],
    shared: &Decomposed,
    reach: &[f64],
    open: &[usize],
) -> bool {
    let mut lowered = false;
    for &k in open.iter().filter(|&&k| shared.found && reach[k] > OUTWEIGHS * OUTWEIGHS) {
        let moved = |block: &OwnBlock| &block.moves * shared.v.column(k);
        let farthest = blocks.iter().map(|block| moved(block).amax()).fold(0.0, f64::max);
        for block in &mut *blocks {
            let far = moved(block).iter().position(|v| v.abs() >= 0.1 * farthest);
            // Directions are sorted by decreasing singular value.
            if let Some(first) = far.filter(|&first| first < block.rank) {
                (block.rank, lowered) = (first, true);
            }
        }
    }
    lowered
}

/// Power iteration: returns the square root of the largest eigenvalue of the matrix by which `step` multiplies, and
/// its eigenvector.
fn extreme(n: usize, mut step: impl FnMut(&mut [f64])) -> (f64, Vec<f64>) {
    // The starting vector is orthogonal to a direction of interest only by chance.
    let mut v: Vec<f64> = (0..n).map(|j| 1.0 + (j as f64 * 0.618_033_988_7).fract()).collect();
    let mut size = 0.0;
    for _ in 0..MOST_STEPS {
        let length = norm(&v);
        v.iter_mut().for_each(|v| *v /= length);
        let mut next = v.clone();
        step(&mut next);
        let found = norm(&next);
        let still = (found - size).abs() <= STILL * found;
        (v, size) = (next, found);
        if still || !size.is_finite() {
            break;
        }
    }
    v.iter_mut().for_each(|v| *v /= size);
    (size.sqrt(), v)
}

/// Returns the condition number of R and the least determined direction.
fn condition(problem: &Triangular) -> (f64, Vec<f64>) {
    let n = problem.n();
    let mut product = vec![0.0; n];
    let (largest, _) = extreme(n, |v| {
        problem.rows_times(v, |i, row, _| product[i] = row);
        problem.columns_times(&product, |j, value| v[j] = value);
    });
    let (inverse, direction) = extreme(n, |v| {
        problem.solve_transposed(v);
        problem.solve(v);
    });
    (largest * inverse, direction)
}

impl Covariance {
    pub(super) fn by_blocks(inputs: &BlockInputs<'_>) -> Covariance {
        let BlockInputs { places, params: p, .. } = *inputs;
        let (problem, lengths) = scaled(inputs.factor);
        let shape = &problem.shape;
        let (mut inverse, open) = decomposed(&problem, inputs.points);
        let own = inverse.blocks.iter().map(|[own, _]| own.ncols());
        let rank = own.sum::<usize>() + inverse.common.ncols();
        let is_regular = rank == shape.n();
        if let Some(factor) = inputs.sharpened.filter(|_| is_regular) {
            let mut sharp = factor.problem();
            each_entry(shape, &mut sharp.r, |j, v| *v /= lengths[j]);
            inverse = Inverse::of(&sharp);
        }
        let row_error = (inputs.row_error)(rank);
        let unit = |j: usize| places[j].1 / lengths[j];
        let mut errors = vec![0.0; p];
        let mut units = vec![0.0; p];
        inputs.held.iter().for_each(|&k| errors[k] = f64::NAN);
        let rows =
            |blocks: &[[DMatrix<f64>; 2]], common: &DMatrix<f64>, unit: &dyn Fn(usize) -> f64| {
                let mut all = DMatrix::zeros(p, common.ncols());
                let mut parts = Vec::with_capacity(blocks.len());
                let mut set = |j: usize, row: &DMatrix<f64>, i: usize| {
                    (0..row.ncols()).for_each(|c| all[(places[j].0, c)] = row[(i, c)] * unit(j));
                };
                for (own, [values, border]) in shape.blocks().zip(blocks) {
                    own.clone().enumerate().for_each(|(i, j)| set(j, border, i));
                    let scaled = |i: usize, c: usize| values[(i, c)] * unit(own.start + i);
                    parts.push(Block {
                        rows: own.clone().map(|j| places[j].0).collect(),
                        values: DMatrix::from_fn(own.len(), values.ncols(), scaled),
                    });
                }
                (0..shape.common()).for_each(|i| set(shape.first_common() + i, common, i));
                BlockMatrix::of(all, parts)
            };
        let unscaled = rows(&inverse.blocks, &inverse.common, &unit);
        let null = rows(&open.blocks, &open.common, &|_| 1.0);
        for (j, &(k, _)) in places.iter().enumerate() {
            units[k] = unit(j);
            let is_lost = null.row(k).iter().any(|part| part.abs() > LEAST_PART);
            errors[k] = match is_lost {
                true => f64::INFINITY,
                false => norm(&unscaled.row(k)) * row_error,
            };
        }
        let (condition, weak) = match is_regular {
            true if shape.n() == 0 => (1.0, Vec::new()),
            true => {
                let (condition, least) = condition(&problem);
                (condition, vec![direction(&least, places, &lengths, false)])
            }
            false => (f64::INFINITY, named(&null, places, &lengths)),
        };
        let half = unscaled.times(row_error);
        let matrices = OnceLock::new();
        Covariance { errors, half, unscaled, null, units, rank, condition, weak, matrices }
    }
}

/// Creates a [`Direction`] from its components `v` in columns scaled to length 1.
fn direction(v: &[f64], places: &[(usize, f64)], lengths: &[f64], undetermined: bool) -> Direction {
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let part = |(j, v): (usize, &f64)| (places[j].0, v / largest, places[j].1 / lengths[j]);
    Direction { parts: parts(v.iter().enumerate().map(part)), undetermined }
}

/// Returns the first open directions: those of all parameters, then those of single blocks.
fn named(null: &BlockMatrix, places: &[(usize, f64)], lengths: &[f64]) -> Vec<Direction> {
    let all = null.common.column_iter().map(|column| {
        let v: Vec<f64> = places.iter().map(|&(k, _)| column[k]).collect();
        direction(&v, places, lengths, true)
    });
    let mut first = 0;
    let own = null.blocks.iter().flat_map(|Block { rows, values }| {
        let here = first..first + rows.len();
        first = here.end;
        let (places, lengths) = (&places[here.clone()], &lengths[here]);
        let each = values.column_iter().map(|column| {
            let v: Vec<f64> = column.iter().copied().collect();
            direction(&v, places, lengths, true)
        });
        each.collect::<Vec<_>>()
    });
    all.chain(own).take(MOST_NAMED).collect()
}
