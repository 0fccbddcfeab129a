//! Single rows of [J r] in a triangular factor of any [shape](super::arrow), by rotations: where some outweigh others,
//! these stay above them.

use super::arrow::Arrow;
use super::small::rotate_in;
use super::summaries::RFactor;
use std::sync::Arc;

/// A row with entries in the columns of one block, the common ones and r.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockRow {
    /// Of its own columns; of no meaning where there are none.
    pub(crate) block: usize,
    /// Its own columns, the common ones, r.
    pub(crate) values: Vec<f64>,
}

impl BlockRow {
    /// Rows of k numbers each, where there are no blocks.
    pub(crate) fn of_all(rows: &[f64], k: usize) -> Vec<BlockRow> {
        let row = |values: &[f64]| BlockRow { block: 0, values: values.to_vec() };
        rows.chunks_exact(k).map(row).collect()
    }

    /// What the residual of the row is after a step of all parameters, of this shape.
    pub(crate) fn after(&self, shape: &Arrow, step: &[f64]) -> f64 {
        let own = if shape.is_full() { 0..0 } else { shape.block(self.block) };
        let columns = step[own].iter().chain(&step[shape.first_common()..]);
        let (residual, values) = self.values.split_last().unwrap_or((&f64::NAN, &[]));
        residual + values.iter().zip(columns).map(|(v, d)| v * d).sum::<f64>()
    }
}

/// The rows, those with the largest numbers first.
pub(crate) fn heaviest_first(mut rows: Vec<BlockRow>) -> Vec<BlockRow> {
    let size = |row: &BlockRow| row.values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows
}

impl RFactor {
    /// The factor of these rows and, below them, of those of `self`: rows that outweigh others.
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

    /// Adds a row with entries in the columns of this block, if any, the common ones and r.
    fn add(&mut self, block: Option<usize>, mut row: Vec<f64>) {
        let own = match (block, self.shape()) {
            (Some(b), Some(shape)) => shape.block(b).len(),
            _ => 0,
        };
        // Of no block it needs the corner alone.
        let (block, corner) = self.block_mut(block.unwrap_or(0));
        rotate_in(block, own, &mut row);
        rotate_in(corner, row.len() - own, &mut row[own..]);
    }

    /// The rows of block b, and the triangle of the common columns and r. There are no rows where there are no blocks.
    pub(crate) fn block_mut(&mut self, b: usize) -> (&mut [f64], &mut [f64]) {
        let Some(shape) = self.shape.as_deref() else { return (&mut [], &mut self.r) };
        let (begin, end) = (shape.begin(b, 1), shape.begin(b + 1, 1));
        let (blocks, corner) = self.r.split_at_mut(shape.room_of_blocks(1));
        (&mut blocks[begin..end], corner)
    }

    /// Adds a row that has an entry in one column at most, and its residual.
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

    /// The factor of the columns `kept`, block by block, and r; rows that outweigh others stay above them.
    pub(crate) fn kept(&self, kept: &[usize]) -> RFactor {
        let mut shape = Arrow::default();
        shape.keep(&self.arrow(), kept);
        let mut out = RFactor::shaped(&Arc::new(shape));
        out.influence = self.influence;
        out.add_columns(self, kept);
        out
    }

    /// Adds the rows of another factor, of which these columns are kept.
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
