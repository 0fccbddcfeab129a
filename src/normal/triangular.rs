//! Triangular least-squares problems ‖R δ + z‖ of any [shape](super::arrow), block by block.
//!
//! Each operation applies a dense operation of `small` to the trapezoid of each block (its triangle with the border of
//! common columns) and to the corner of the common columns, so that time and memory grow linearly with the number of
//! blocks. The elimination of a block's columns leaves rows without entries in these columns; these rows are folded
//! into the corner.

use super::RFactor;
use super::arrow::Arrow;
use super::small::{self, by_size, fold_few, fold_pivots};
use crate::normal::small::jacobi_svd;

/// Least-squares problem ‖R δ + z‖ with upper triangular R. The rows of the blocks come first, the rows of the corner
/// last. z has the order of the parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triangular {
    pub(crate) shape: Arrow,
    pub(crate) r: Vec<f64>,
    pub(crate) z: Vec<f64>,
}

impl Triangular {
    pub(crate) fn zero(shape: &Arrow) -> Triangular {
        let (r, z) = (vec![0.0; shape.room(0)], vec![0.0; shape.n()]);
        Triangular { shape: shape.clone(), r, z }
    }

    pub(crate) fn n(&self) -> usize {
        self.z.len()
    }

    /// Copies `other`, reusing the existing memory.
    pub(crate) fn copy_from(&mut self, other: &Triangular) {
        self.shape.clone_from(&other.shape);
        self.r.clone_from(&other.r);
        self.z.clone_from(&other.z);
    }

    /// Sets R and z from a factor of [J r] of the same shape.
    pub(crate) fn set_factor(&mut self, factor: &RFactor) {
        let Triangular { shape, r, z } = self;
        let (blocks, corner) = factor.parts();
        for ((own, rows), (_, from)) in shape.trapezoids_mut(r, 0).zip(blocks) {
            let (triangle, right) = from.split_at(rows.len());
            rows.copy_from_slice(triangle);
            z[own].copy_from_slice(right);
        }
        let (n, first) = (shape.common(), shape.first_common());
        let r = shape.corner_mut(r, 0);
        for j in 0..n {
            for i in 0..n {
                r[j * n + i] = if i <= j { corner[j * (n + 1) + i] } else { 0.0 };
            }
            z[first + j] = corner[n * (n + 1) + j];
        }
    }

    /// Returns true if R is numerically nonsingular: no column is, within rounding, in the span of its predecessors.
    pub(crate) fn is_regular(&self) -> bool {
        if self.shape.is_full() {
            return small::is_regular(&self.r, self.shape.common());
        }
        self.dependent().is_empty()
    }

    /// Returns the columns that are, within rounding, in the span of their predecessors, or contain NaN.
    pub(crate) fn dependent(&self) -> Vec<usize> {
        let common = self.shape.common();
        let (mut found, mut squares) = (Vec::new(), vec![0.0; common]);
        let rounding = |columns: usize| 8.0 * columns as f64 * f64::EPSILON;
        // False for NaN.
        let is_sound =
            |pivot: f64, columns, square: f64| pivot.abs() > rounding(columns) * square.sqrt();
        for (own, rows) in self.shape.trapezoids(&self.r, 0) {
            let m = own.len();
            for (i, j) in own.enumerate() {
                let column = &rows[i * m..][..=i];
                let square = column.iter().map(|v| v * v).sum();
                if !is_sound(column[i], m + common, square) {
                    found.push(j);
                }
            }
            for (c, square) in squares.iter_mut().enumerate() {
                *square += rows[(m + c) * m..][..m].iter().map(|v| v * v).sum::<f64>();
            }
        }
        let corner = self.shape.corner(&self.r, 0);
        for (j, square) in squares.iter().enumerate() {
            let column = &corner[j * common..][..=j];
            let square = square + column.iter().map(|v| v * v).sum::<f64>();
            if !is_sound(column[j], common + 1, square) {
                found.push(self.shape.first_common() + j);
            }
        }
        found
    }

    /// Returns the diagonal of R.
    pub(crate) fn diagonal(&self) -> impl Iterator<Item = f64> {
        let of_square = |r: &[f64], n: usize, j: usize| r[j * n + j];
        let own = self.shape.trapezoids(&self.r, 0).flat_map(move |(own, rows)| {
            let m = own.len();
            (0..m).map(move |j| of_square(rows, m, j))
        });
        let common = self.shape.common();
        let corner = self.shape.corner(&self.r, 0);
        own.chain((0..common).map(move |j| of_square(corner, common, j)))
    }

    /// Replaces `b` by R⁻¹b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        solve_upper(&self.shape, &self.r, b);
    }

    /// Replaces `b` by R⁻ᵀb.
    pub(crate) fn solve_transposed(&self, b: &mut [f64]) {
        solve_upper_transposed(&self.shape, &self.r, b);
    }

    /// Writes −R⁻¹z to `delta`.
    pub(crate) fn gauss_newton(&self, delta: &mut [f64]) {
        delta.copy_from_slice(&self.z);
        self.solve(delta);
        delta.iter_mut().for_each(|d| *d = -*d);
    }

    /// Calls `row` with i, (R v)ᵢ and zᵢ for each row i.
    pub(crate) fn rows_times(&self, v: &[f64], mut row: impl FnMut(usize, f64, f64)) {
        let common = self.shape.common();
        let first = self.shape.first_common();
        for (own, rows) in self.shape.trapezoids(&self.r, 0) {
            let (m, from) = (own.len(), own.start);
            for i in 0..m {
                let of_own: f64 = (i..m).map(|j| rows[j * m + i] * v[from + j]).sum();
                let border = (0..common).map(|c| rows[(m + c) * m + i] * v[first + c]);
                row(from + i, of_own + border.sum::<f64>(), self.z[from + i]);
            }
        }
        let (corner, tail) = (self.shape.corner(&self.r, 0), &v[first..]);
        for i in 0..common {
            let product: f64 = (i..common).map(|j| corner[j * common + i] * tail[j]).sum();
            row(first + i, product, self.z[first + i]);
        }
    }

    /// Calls `column` with j and (Rᵀv)ⱼ for each column j.
    pub(crate) fn columns_times(&self, v: &[f64], mut column: impl FnMut(usize, f64)) {
        let common = self.shape.common();
        let first = self.shape.first_common();
        let mut border = vec![0.0; if self.shape.is_full() { 0 } else { common }];
        for (own, rows) in self.shape.trapezoids(&self.r, 0) {
            let (m, from) = (own.len(), own.start);
            let product = |j: usize, upto: usize| -> f64 {
                (0..upto).map(|i| rows[j * m + i] * v[from + i]).sum()
            };
            (0..m).for_each(|j| column(from + j, product(j, j + 1)));
            border.iter_mut().enumerate().for_each(|(c, sum)| *sum += product(m + c, m));
        }
        let corner = self.shape.corner(&self.r, 0);
        for j in 0..common {
            let product: f64 = (0..=j).map(|i| corner[j * common + i] * v[first + i]).sum();
            column(first + j, border.get(j).copied().unwrap_or(0.0) + product);
        }
    }

    /// Returns the predicted change of the cost for the step `delta`: ½‖Rδ‖² + zᵀRδ.
    pub(crate) fn change(&self, delta: &[f64]) -> f64 {
        let n = self.n();
        if self.shape.is_full() {
            return by_size!(n => change(&self.r[..n * n], n, &self.z[..n], &delta[..n]));
        }
        let (mut square, mut slope) = (0.0, 0.0);
        self.rows_times(delta, |_, row, z| {
            square += row * row;
            slope += row * z;
        });
        0.5 * square + slope
    }

    /// Restricts the problem to the variables `moving` (ascending), with all other variables displaced by `delta`.
    /// Writes the result to `out`.
    pub(crate) fn restrict(
        &self,
        moving: &[usize],
        delta: &[f64],
        out: &mut Triangular,
        work: &mut Vec<f64>,
    ) {
        let shape = &self.shape;
        let (common, first) = (shape.common(), shape.first_common());
        out.shape.keep(shape, moving);
        out.r.clear();
        out.r.resize(out.shape.room(0), 0.0);
        out.z.resize(moving.len(), 0.0);
        let kept = out.shape.common();
        let tail = &moving[moving.len() - kept..];
        let width = kept + 1;
        work.clear();
        work.resize(width * width, 0.0);
        let (mut at, mut begun) = (0, 0);
        for (own, rows) in shape.trapezoids(&self.r, 0) {
            let (m, from) = (own.len(), own.start);
            let here = moving[begun..].partition_point(|&j| j < own.end);
            let moves = &moving[begun..begun + here];
            let k = here + width;
            // The trapezoid of the kept columns, and the m rows to fold into the trapezoid.
            let begin = width * width;
            work.resize(begin + here * k + m * k, 0.0);
            let (corner, room) = work.split_at_mut(begin);
            let (trapezoid, below) = room.split_at_mut(here * k);
            trapezoid.fill(0.0);
            let columns = moves.iter().map(|&j| j - from);
            let columns = columns.chain(tail.iter().map(|&j| m + j - first));
            for (c, j) in columns.enumerate() {
                below[c * m..][..m].copy_from_slice(&rows[j * m..][..m]);
            }
            let right = &mut below[(k - 1) * m..][..m];
            right.copy_from_slice(&self.z[own.clone()]);
            let fixed = own.clone().filter(|j| moves.binary_search(j).is_err());
            let fixed = fixed.map(|j| (j, j - from));
            let border = first..first + common;
            let border = border.filter(|j| tail.binary_search(j).is_err());
            for (j, c) in fixed.chain(border.map(|j| (j, m + j - first))) {
                if delta[j] != 0.0 {
                    let column = &rows[c * m..][..m];
                    right.iter_mut().zip(column).for_each(|(v, r)| *v += r * delta[j]);
                }
            }
            fold_pivots(trapezoid, here, k, below, m);
            // The remainders of the rows have entries only in columns of the corner.
            fold_few(corner, width, &mut below[here * m..], m);
            out.r[at..][..here * (k - 1)].copy_from_slice(&trapezoid[..here * (k - 1)]);
            out.z[begun..][..here].copy_from_slice(&trapezoid[here * (k - 1)..]);
            at += here * (k - 1);
            begun += here;
        }
        work.resize(width * width + width * common, 0.0);
        let (corner, rows) = work.split_at_mut(width * width);
        let square = shape.corner(&self.r, 0);
        for (c, &j) in tail.iter().enumerate() {
            rows[c * common..][..common].copy_from_slice(&square[(j - first) * common..][..common]);
        }
        let right = &mut rows[kept * common..][..common];
        right.copy_from_slice(&self.z[first..]);
        for j in (first..first + common).filter(|j| delta[*j] != 0.0) {
            if tail.binary_search(&j).is_err() {
                for i in 0..=j - first {
                    right[i] += square[(j - first) * common + i] * delta[j];
                }
            }
        }
        fold_few(corner, width, &mut rows[..width * common], common);
        for j in 0..kept {
            for i in 0..=j {
                out.r[at + j * kept + i] = corner[j * width + i];
            }
            out.z[begun + j] = corner[kept * width + j];
        }
    }

    /// Writes to `s` a triangular problem that has the same minimiser as ‖R x − z‖² + ‖D x‖². `d`: the diagonal of D.
    pub(crate) fn damped(&self, d: &[f64], s: &mut Triangular, work: &mut Vec<f64>) {
        let shape = &self.shape;
        let (common, first) = (shape.common(), shape.first_common());
        s.shape.clone_from(shape);
        s.r.resize(shape.room(0), 0.0);
        s.z.resize(shape.n(), 0.0);
        work.clear();
        if shape.is_full() {
            work.resize(common * common + common, 0.0);
            small::damped(&self.r, common, d, &self.z, &mut s.r, &mut s.z, work);
            return;
        }
        let width = common + 1;
        work.resize(width * width, 0.0);
        let corner = shape.corner(&self.r, 0);
        for j in 0..common {
            work[j * width..][..=j].copy_from_slice(&corner[j * common..][..=j]);
        }
        work[common * width..][..common].copy_from_slice(&self.z[first..]);
        let Triangular { r: s_r, z: s_z, .. } = s;
        let parts = shape.trapezoids(&self.r, 0).zip(shape.trapezoids_mut(s_r, 0));
        for ((own, rows), (_, out)) in parts {
            let m = own.len();
            let k = m + width;
            let begin = width * width;
            work.resize(begin + 2 * m * k, 0.0);
            let (corner, room) = work.split_at_mut(begin);
            let (trapezoid, below) = room.split_at_mut(m * k);
            trapezoid[..m * (k - 1)].copy_from_slice(rows);
            trapezoid[m * (k - 1)..].copy_from_slice(&self.z[own.clone()]);
            below.fill(0.0);
            d[own.clone()].iter().enumerate().for_each(|(j, &d)| below[j * m + j] = d);
            fold_pivots(trapezoid, m, k, below, m);
            fold_few(corner, width, &mut below[m * m..], m);
            out.copy_from_slice(&trapezoid[..m * (k - 1)]);
            s_z[own].copy_from_slice(&trapezoid[m * (k - 1)..]);
        }
        let begin = width * width;
        work.resize(begin + 2 * common * common + 2 * common, 0.0);
        let (corner, room) = work.split_at_mut(begin);
        let (r, room) = room.split_at_mut(common * common);
        let (z, room) = room.split_at_mut(common);
        for j in 0..common {
            r[j * common..][..common].copy_from_slice(&corner[j * width..][..common]);
        }
        z.copy_from_slice(&corner[common * width..][..common]);
        let (d, t) = (&d[first..], &mut s_z[first..]);
        small::damped(r, common, d, z, shape.corner_mut(s_r, 0), t, room);
    }
}

impl RFactor {
    /// Returns R and z. Omits the norm of the part of the residual that no parameter can fit.
    pub(crate) fn problem(&self) -> Triangular {
        let mut problem = Triangular::zero(&self.arrow());
        problem.set_factor(self);
        problem
    }
}

/// Replaces `b` by R⁻¹b.
pub(crate) fn solve_upper(shape: &Arrow, r: &[f64], b: &mut [f64]) {
    let (own, tail) = b.split_at_mut(shape.first_common());
    small::solve_upper(shape.corner(r, 0), shape.common(), tail);
    for (block, rows) in shape.trapezoids(r, 0) {
        let m = block.len();
        let x = &mut own[block];
        for (c, t) in tail.iter().enumerate() {
            let column = &rows[(m + c) * m..][..m];
            x.iter_mut().zip(column).for_each(|(x, r)| *x -= r * t);
        }
        small::solve_upper(rows, m, x);
    }
}

/// Replaces `b` by R⁻ᵀb.
pub(crate) fn solve_upper_transposed(shape: &Arrow, r: &[f64], b: &mut [f64]) {
    let (own, tail) = b.split_at_mut(shape.first_common());
    for (block, rows) in shape.trapezoids(r, 0) {
        let m = block.len();
        let x = &mut own[block];
        small::solve_upper_transposed(rows, m, x);
        for (c, t) in tail.iter_mut().enumerate() {
            let column = &rows[(m + c) * m..][..m];
            *t -= column.iter().zip(&*x).map(|(r, x)| r * x).sum::<f64>();
        }
    }
    small::solve_upper_transposed(shape.corner(r, 0), shape.common(), tail);
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

/// Singular value decomposition J D⁻¹ = U Σ Vᵀ of m columns of a Jacobian, for the covariance. D contains the lengths
/// of the columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spectrum {
    /// m column lengths; 1 for a column of zeros.
    pub(crate) lengths: Vec<f64>,
    /// m singular values, descending.
    pub(crate) sigma: Vec<f64>,
    /// m × m, column-major: the right singular vectors in the order of `sigma`.
    pub(crate) v: Vec<f64>,
    /// True if the decomposition converged. False, with `sigma` and `v` NaN, if the factor is not finite.
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

/// Returns the triangular factor of the kept columns, and the lengths of these columns. Each column is scaled to length
/// 1, except columns of zeros.
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
    // If all columns are kept, `rows` is already triangular.
    if m == n {
        return (rows, lengths);
    }
    let mut r = vec![0.0; m * m];
    fold_few(&mut r, m, &mut rows, n);
    (r, lengths)
}
