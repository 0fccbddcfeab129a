//! Passes for models with more parameters than a block can sum up: weighted rows of a stretch of
//! points are written to device memory and multiplied there.

use super::device::Kernels;
use super::driver::{Driver, DriverError, Geometry};
use super::interface::GRAM_COLUMNS;
use super::memory::Buffer;
use super::passes::{Slot, geometry};
use super::source::THREADS;
use crate::normal::pair;
use std::sync::Arc;

/// Bytes of rows written at a time.
const ROWS_BYTES: usize = 64 << 20;
/// Points below which a stretch is not split further between blocks.
const LEAST_SPLIT: usize = 1024;

/// Room for the weighted rows of `stride` points, k columns each, and for sums of their products.
pub(super) struct Rows {
    matrix: Buffer,
    cost: Buffer,
    partial: Buffer,
    tickets: Buffer,
    k: usize,
    stride: usize,
    /// Parts of a stretch that different blocks sum up.
    splits: usize,
}

impl Rows {
    /// For at most `points` points at a time.
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        k: usize,
        points: usize,
    ) -> Result<Rows, DriverError> {
        let stride = (ROWS_BYTES / (k * size_of::<f64>())).clamp(1, points.max(1));
        let pairs = pairs(k);
        let blocks = 4 * driver.properties().multiprocessors as usize;
        let splits = (blocks / pairs).clamp(1, stride.div_ceil(LEAST_SPLIT));
        let tickets = Buffer::of::<u32>(driver, pairs)?;
        tickets.clear()?;
        Ok(Rows {
            matrix: Buffer::of::<f64>(driver, k * stride)?,
            cost: Buffer::of::<f64>(driver, stride)?,
            partial: Buffer::of::<f64>(driver, splits * (pair(0, k) + 1))?,
            tickets,
            k,
            stride,
            splits,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        [&self.matrix, &self.cost, &self.partial, &self.tickets]
            .into_iter()
            .map(Buffer::bytes)
            .sum()
    }

    /// Queues the sums over all `points` points of `data` into `out`. `params` and `columns` are
    /// addresses.
    pub(super) fn sum(
        &self,
        kernels: &Kernels,
        (data, points): (&[u8], usize),
        (params, columns, floor): (u64, u64, f64),
        out: Slot,
    ) -> Result<(), DriverError> {
        kernels.driver.clear(out.at, out.bytes)?;
        let multiprocessors = kernels.driver.properties().multiprocessors;
        let stride = self.stride as u64;
        let (matrix, cost) = (self.matrix.address(), self.cost.address());
        let products =
            Geometry { blocks: (pairs(self.k) * self.splits) as u32, threads: THREADS as u32 };
        for first in (0..points).step_by(self.stride) {
            let count = self.stride.min(points - first);
            let (first, count_word) = (first as u64, count as u64);
            let words = [params, columns, floor.to_bits(), first, count_word, stride, matrix, cost];
            let arguments: Vec<&[u8]> =
                std::iter::once(data).chain(words.iter().map(bytemuck::bytes_of)).collect();
            let over_points = geometry(multiprocessors, self.k - 1, count);
            kernels.launch("rows", over_points, &arguments)?;
            let (k, splits) = (self.k as i32, self.splits as i32);
            let (count, out) = (count_word, out.at.0);
            let (partial, tickets) = (self.partial.address(), self.tickets.address());
            let arguments: [&[u8]; 9] = [
                bytemuck::bytes_of(&matrix),
                bytemuck::bytes_of(&cost),
                bytemuck::bytes_of(&k),
                bytemuck::bytes_of(&count),
                bytemuck::bytes_of(&stride),
                bytemuck::bytes_of(&splits),
                bytemuck::bytes_of(&partial),
                bytemuck::bytes_of(&tickets),
                bytemuck::bytes_of(&out),
            ];
            kernels.launch("gram", products, &arguments)?;
        }
        Ok(())
    }
}

/// Pairs of groups of columns, each group with itself among them.
fn pairs(k: usize) -> usize {
    let groups = k.div_ceil(GRAM_COLUMNS);
    groups * (groups + 1) / 2
}
