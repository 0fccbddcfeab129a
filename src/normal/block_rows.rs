//! Addition of single rows of [J r] to a triangular factor of any [shape](super::arrow) by plane rotations. In the
//! factor, rows with large entries stay above the other rows, which preserves accuracy.

use super::arrow::Arrow;
use super::small::rotate_in;
use super::summaries::RFactor;
use crate::math::order::sort_few;
use std::sync::Arc;

/// A row of [J r] with entries only in the columns of one block, in the common columns, and in r.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockRow {
    /// Index of the block; ignored if the shape has no blocks.
    pub(crate) block: usize,
    /// Entries in the block's own columns, then in the common columns, then r.
    pub(crate) values: Vec<f64>,
}

impl BlockRow {
    /// Splits an array into rows of k numbers, for a shape without blocks.
    pub(crate) fn of_all(rows: &[f64], k: usize) -> Vec<BlockRow> {
        let row = |values: &[f64]| BlockRow { block: 0, values: values.to_vec() };
        rows.chunks_exact(k).map(row).collect()
    }

    /// Computes the residual of the row after a step. `step`: one number per parameter of `shape`.
    pub(crate) fn after(&self, shape: &Arrow, step: &[f64]) -> f64 {
        let own = if shape.is_full() { 0..0 } else { shape.block(self.block) };
        let columns = step[own].iter().chain(&step[shape.first_common()..]);
        let (residual, values) = self.values.split_last().unwrap_or((&f64::NAN, &[]));
        residual + values.iter().zip(columns).map(|(v, d)| v * d).sum::<f64>()
    }
}

/// Sorts the rows by their largest entry, in descending order.
pub(crate) fn heaviest_first(mut rows: Vec<BlockRow>) -> Vec<BlockRow> {
    let size = |row: &BlockRow| row.values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    sort_few(&mut rows, |a, b| size(b).total_cmp(&size(a)));
    rows
}

impl RFactor {
    /// Returns the factor of the rows `heavy`, which have much larger entries than the others, and of the rows of
    /// `self`. The heavy rows are added first.
    pub(crate) fn below(&self, heavy: &[BlockRow]) -> RFactor {
        let mut out = RFactor::shaped(&self.arrow());
        let has_blocks = self.shape().is_some();
        for BlockRow { block, values } in heavy {
            out.add(has_blocks.then_some(*block), values.clone());
        }
        let all: Vec<usize> = (0..self.n).collect();
        out.add_columns(self, &all);
        out
    }

    /// Adds a row with entries in the columns of `block`, if any, in the common columns, and r.
    fn add(&mut self, block: Option<usize>, mut row: Vec<f64>) {
        let own = match (block, self.shape()) {
            (Some(b), Some(shape)) => shape.block(b).len(),
            _ => 0,
        };
        // `block`: rows of this block; `corner`: triangle of the common columns and r. A row without a block has
        // entries only in the columns of the corner.
        let (block, corner) = self.block_mut(block.unwrap_or(0));
        rotate_in(block, own, &mut row);
        rotate_in(corner, row.len() - own, &mut row[own..]);
    }

    /// Returns the rows of block b, and the triangle of the common columns and r. The rows are empty if there are no
    /// blocks.
    pub(crate) fn block_mut(&mut self, b: usize) -> (&mut [f64], &mut [f64]) {
        let Some(shape) = self.shape.as_deref() else { return (&mut [], &mut self.r) };
        let (begin, end) = (shape.begin(b, 1), shape.begin(b + 1, 1));
        let (blocks, corner) = self.r.split_at_mut(shape.room_of_blocks(1));
        (&mut blocks[begin..end], corner)
    }

    /// Adds a row that has an entry in at most one column, and the residual of this row.
    pub(crate) fn add_row(&mut self, column: Option<(usize, f64)>, residual: f64) {
        let arrow = self.arrow();
        let block = column.and_then(|(j, _)| arrow.block_of(j));
        let own = block.map_or(0..0, |b| arrow.block(b));
        let common = arrow.common();
        let mut row = vec![0.0; own.len() + common];
        if let Some((j, partial)) = column {
            let first = if block.is_some() { own.start } else { arrow.first_common() };
            row[j - first] = partial;
        }
        row.push(residual);
        self.add(block, row);
    }

    /// Returns the factor of the columns `kept` and r, with the same blocks. Rows with large entries stay above the
    /// others.
    pub(crate) fn kept(&self, kept: &[usize]) -> RFactor {
        let mut shape = Arrow::default();
        shape.keep(&self.arrow(), kept);
        let mut out = RFactor::shaped(&Arc::new(shape));
        out.influence = self.influence;
        out.add_columns(self, kept);
        out
    }

    /// Adds the rows of another factor, with only the columns `kept`.
    fn add_columns(&mut self, from: &RFactor, kept: &[usize]) {
        let arrow = from.arrow();
        let (first, common) = (arrow.first_common(), arrow.common());
        let (mut own, tail) = kept.split_at(kept.partition_point(|&j| j < first));
        let border: Vec<usize> = tail.iter().map(|j| j - first).chain([common]).collect();
        let (blocks, corner) = self.parts_mut();
        let (given, square) = from.parts();
        let mut left = Vec::new();
        for ((_, trapezoid), (block, rows)) in blocks.zip(given) {
            let m = block.len();
            let here;
            (here, own) = own.split_at(own.partition_point(|&j| j < block.end));
            let columns: Vec<usize> = here.iter().map(|j| j - block.start).collect();
            let columns: Vec<usize> =
                columns.into_iter().chain(border.iter().map(|c| m + c)).collect();
            for i in 0..m {
                let at = |&j: &usize| if j < i { 0.0 } else { rows[j * m + i] };
                let mut row: Vec<f64> = columns.iter().map(at).collect();
                rotate_in(trapezoid, here.len(), &mut row);
                left.push(row.split_off(here.len()));
            }
        }
        let k = common + 1;
        left.extend((0..k).map(|i| {
            let at = |&j: &usize| if j < i { 0.0 } else { square[j * k + i] };
            border.iter().map(at).collect()
        }));
        left.iter_mut().for_each(|row| rotate_in(corner, border.len(), row));
    }
}
