//! Positions of the columns of a set in the joint fit.

use crate::normal::small::{fold_few, fold_pivots};
use crate::normal::{Arrow, RFactor, pair, pair_of_block};

/// Positions of the columns of a set in the rows of its block. In these rows, columns of the set itself precede the
/// common columns and r.
pub(super) struct Places<'p> {
    free: &'p [usize],
    first: usize,
    own: usize,
    /// Position of the first common parameter among the free parameters of the joint fit.
    common: usize,
    pub(super) residual: usize,
}

impl<'p> Places<'p> {
    /// Returns the positions for this `shape`. Without a shape, all `n` free parameters are common.
    pub(super) fn of(set: usize, free: &'p [usize], shape: Option<&Arrow>, n: usize) -> Places<'p> {
        let Some(shape) = shape else {
            return Places { free, first: 0, own: 0, common: 0, residual: n };
        };
        let own = shape.block(set);
        let (common, residual) = (shape.first_common(), own.len() + shape.common());
        Places { free, first: own.start, own: own.len(), common, residual }
    }

    /// Returns the position of free parameter i of the model, or of r if i is the number of free parameters.
    pub(super) fn place(&self, i: usize) -> usize {
        match self.free.get(i) {
            None => self.residual,
            Some(&j) if j < self.common => j - self.first,
            Some(&j) => self.own + j - self.common,
        }
    }

    /// Adds the products of the columns [J r] of the set, multiplied by `square`, to the products of its block and of
    /// the corner, which belongs to the common columns and r.
    pub(super) fn add(&self, products: &[f64], square: f64, block: &mut [f64], corner: &mut [f64]) {
        let own = self.own;
        for j in 0..=self.free.len() {
            let right = self.place(j);
            for i in 0..=j {
                let left = self.place(i);
                let (a, b) = (left.min(right), left.max(right));
                let to = match a < own {
                    true => &mut block[pair_of_block(a, b, own)],
                    false => &mut corner[pair(a - own, b - own)],
                };
                *to += products[pair(i, j)] * square;
            }
        }
    }

    /// Adds the rows of the set's R factor, multiplied by `unit`, to the R factor `out`.
    pub(super) fn fold(&self, set: usize, factor: &RFactor, unit: f64, out: &mut RFactor) {
        let (k, rows) = (self.residual + 1, factor.n + 1);
        let mut spread = vec![0.0; k * rows];
        for j in 0..rows {
            let column = &mut spread[self.place(j) * rows..][..=j];
            column.iter_mut().enumerate().for_each(|(i, v)| *v = factor.at(i, j) * unit);
        }
        if out.shape().is_none() {
            return out.fold(&mut spread, rows);
        }
        let (block, corner) = out.block_mut(set);
        fold_pivots(block, self.own, k, &mut spread, rows);
        fold_few(corner, k - self.own, &mut spread[self.own * rows..], rows);
    }
}
