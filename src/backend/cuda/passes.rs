//! The passes of a fit on a device: kernels with the memory that their launches share, whatever points
//! they pass over.

use super::compiled_model::FitKernels;
use super::device::LoadedKernels;
use super::device_points::DevicePoints;
use super::driver::{Address, Driver, DriverError, Geometry};
use super::interface::{GRAM_COLUMNS, sums};
use super::memory::Buffer;
use super::source::{FEW_PARAMETERS, THREADS};
use crate::backend::cpu::ITERATION_FLOOR;
use crate::normal::{Normal, RFactor, Summary, pair};
use std::sync::Arc;

/// What a pass sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassKind {
    Normal,
    /// For at most [`FEW_PARAMETERS`] free parameters.
    Factor,
}

/// A summary that a pass finds.
pub(super) trait Summed: Summary {
    const KIND: PassKind;

    /// Takes the numbers that the kernel left, in place of what was there.
    fn take(&mut self, numbers: &[f64]);
}

impl Summed for Normal {
    const KIND: PassKind = PassKind::Normal;

    fn take(&mut self, numbers: &[f64]) {
        let (products, cost) = numbers.split_at(self.products.len());
        self.products.copy_from_slice(products);
        self.cost = cost[0];
    }
}

impl Summed for RFactor {
    const KIND: PassKind = PassKind::Factor;

    fn take(&mut self, numbers: &[f64]) {
        let count = self.r.len();
        self.r.copy_from_slice(&numbers[..count]);
        // Below the diagonal lies the sum of the weights; without parameters there is no room for it.
        self.weight = self.r.get_mut(1).map_or(0.0, std::mem::take);
    }
}

/// Kernels and their memory. Launches follow one another, so that one of each is enough.
pub(super) struct DevicePasses {
    pub(super) kernels: FitKernels,
    /// The loss's scale in row units; 1 for least squares.
    pub(super) loss_scale: f64,
    pub(super) free: usize,
    /// All parameters, then the factors of the columns.
    inputs: Buffer,
    pub(super) partial: Buffer,
    pub(super) ticket: Buffer,
    /// Weighted rows, for models of many parameters.
    rows: Option<DeviceRows>,
}

/// Numbers that a pass with `free` free parameters leaves, of whatever kind there is.
pub(super) fn width(free: usize) -> usize {
    let (k, sums) = (free + 1, sums(free));
    if free <= FEW_PARAMETERS { sums.max(k * k) } else { sums }
}

impl DevicePasses {
    /// `params`: parameters of the model, fixed ones included; `free` of them free. `points`: the most
    /// that a pass goes over.
    pub(super) fn new(
        kernels: FitKernels,
        loss_scale: f64,
        (params, free): (usize, usize),
        points: usize,
    ) -> Result<DevicePasses, DriverError> {
        let driver = &kernels.passes.driver;
        let blocks = most_blocks(driver.properties().multiprocessors, free) as usize;
        let ticket = Buffer::of::<u32>(driver, 1)?;
        ticket.clear()?;
        let rows = match free > FEW_PARAMETERS {
            true => Some(DeviceRows::new(driver, free + 1, points)?),
            false => None,
        };
        Ok(DevicePasses {
            inputs: Buffer::of::<f64>(driver, params + free)?,
            partial: Buffer::of::<f64>(driver, blocks * width(free))?,
            ticket,
            rows,
            kernels,
            loss_scale,
            free,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let own = [&self.inputs, &self.partial, &self.ticket].map(Buffer::bytes);
        own.into_iter().sum::<usize>() + self.rows.as_ref().map_or(0, DeviceRows::bytes)
    }

    /// Where the next passes evaluate the model.
    pub(super) fn set_inputs(&self, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        self.inputs.write(0, &[params, columns].concat())
    }

    /// Queues the sums over `points`, which it leaves at `out`.
    pub(super) fn queue(
        &self,
        kind: PassKind,
        points: &DevicePoints,
        out: SumsAt,
    ) -> Result<(), DriverError> {
        let data = points.data(self.loss_scale);
        let params = self.inputs.address();
        let params_bytes = self.inputs.bytes() - self.free * size_of::<f64>();
        let columns = params + params_bytes as u64;
        let (kernels, kernel, floor) = match (kind, &self.rows) {
            (PassKind::Normal, Some(rows)) => {
                let at = (params, columns, ITERATION_FLOOR);
                return rows.sum(&self.kernels.passes, (&data, points.points), at, out);
            }
            (PassKind::Normal, None) => (&*self.kernels.passes, "normal", ITERATION_FLOOR),
            (PassKind::Factor, _) => (self.kernels.factor()?, "factor", 0.0),
        };
        let geometry = match kind {
            PassKind::Normal => geometry,
            PassKind::Factor => factor_geometry,
        };
        let multiprocessors = kernels.driver.properties().multiprocessors;
        let geometry = geometry(multiprocessors, self.free, points.points);
        let buffers = [self.partial.address(), self.ticket.address(), out.at.0];
        let words = [params, columns, floor.to_bits()].into_iter().chain(buffers);
        let words: Vec<u64> = words.collect();
        kernels.launch(kernel, geometry, &with_data(&data, &words))
    }
}

/// The bytes of a kernel's parameters: the points, then words.
pub(super) fn with_data<'a>(data: &'a [u8], words: &'a [u64]) -> Vec<&'a [u8]> {
    std::iter::once(data).chain(words.iter().map(bytemuck::bytes_of)).collect()
}

/// Blocks of a pass over `points` points: enough to keep the device busy, no more than there is work.
pub(crate) fn geometry(multiprocessors: u32, free: usize, points: usize) -> Geometry {
    let wanted = points.div_ceil(THREADS).clamp(1, u32::MAX as usize) as u32;
    Geometry { blocks: wanted.min(most_blocks(multiprocessors, free)), threads: THREADS as u32 }
}

/// Blocks of a pass that factors. The last block folds the factors of all others, `free` + 1 rows each,
/// as fast as rows of points: beyond the square root of their ratio that takes longer than more blocks
/// save.
pub(crate) fn factor_geometry(multiprocessors: u32, free: usize, points: usize) -> Geometry {
    let wanted = (points as f64 / (free + 1) as f64).sqrt().ceil() as u32;
    let geometry = geometry(multiprocessors, free, points);
    Geometry { blocks: geometry.blocks.min(wanted.max(1)), ..geometry }
}

/// As many blocks as are resident at once by the registers of a pass (docs/kernels.md); more would
/// wait for those, and leave more partial sums to the last block.
pub(crate) fn most_blocks(multiprocessors: u32, free: usize) -> u32 {
    let each = match free {
        0..=5 => 4,
        6..=7 => 3,
        _ => 2,
    };
    each * multiprocessors.max(1)
}

/// Room for the sums of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumsAt {
    pub(super) at: Address,
    pub(super) bytes: usize,
}

/// Sums of several launches, in their order, that wait on the device, so that the host need not wait for each.
pub(super) struct PartialSums {
    out: Buffer,
    /// Numbers of a slot.
    width: usize,
    count: usize,
    /// PartialSums that were handed out.
    taken: usize,
    staged: Vec<f64>,
}

impl PartialSums {
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        width: usize,
        count: usize,
    ) -> Result<PartialSums, DriverError> {
        let out = Buffer::of::<f64>(driver, width * count)?;
        Ok(PartialSums { out, width, count, taken: 0, staged: vec![0.0; width * count] })
    }

    pub(super) fn bytes(&self) -> usize {
        self.out.bytes()
    }

    pub(super) fn is_full(&self) -> bool {
        self.taken == self.count
    }

    /// The first slot, for work that does not take one after the other.
    pub(super) fn first(&self) -> u64 {
        self.out.address()
    }

    /// Forgets what was left there.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
    }

    /// The next slot, of those that are not full.
    pub(super) fn next(&mut self) -> SumsAt {
        debug_assert!(!self.is_full());
        let bytes = self.width * size_of::<f64>();
        let at = Address(self.out.address() + (self.taken * bytes) as u64);
        self.taken += 1;
        SumsAt { at, bytes }
    }

    /// Waits for the launches, adds what they left to `sum` in their order, and empties all slots.
    /// `part` is room for one of them.
    pub(super) fn collect<S: Summed>(
        &mut self,
        part: &mut S,
        sum: &mut S,
    ) -> Result<(), DriverError> {
        let found = &mut self.staged[..self.taken * self.width];
        self.taken = 0;
        if found.is_empty() {
            return Ok(());
        }
        self.out.read(0, found)?;
        for numbers in found.chunks_exact(self.width) {
            part.take(numbers);
            sum.merge(part);
        }
        Ok(())
    }
}

/// Bytes of rows written at a time.
const ROWS_BYTES: usize = 64 << 20;
/// Points below which a stretch is not split further between blocks.
const LEAST_SPLIT: usize = 1024;

/// Room for the weighted rows of `stride` points, k columns each, and for sums of their products: for models
/// with more parameters than a block can sum up, whose rows are written to device memory and multiplied there.
pub(super) struct DeviceRows {
    matrix: Buffer,
    cost: Buffer,
    partial: Buffer,
    tickets: Buffer,
    k: usize,
    stride: usize,
    /// Parts of a stretch that different blocks sum up.
    splits: usize,
}

impl DeviceRows {
    /// For at most `points` points at a time.
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        k: usize,
        points: usize,
    ) -> Result<DeviceRows, DriverError> {
        let stride = (ROWS_BYTES / (k * size_of::<f64>())).clamp(1, points.max(1));
        let pairs = pairs(k);
        let blocks = 4 * driver.properties().multiprocessors as usize;
        let splits = (blocks / pairs).clamp(1, stride.div_ceil(LEAST_SPLIT));
        let tickets = Buffer::of::<u32>(driver, pairs)?;
        tickets.clear()?;
        Ok(DeviceRows {
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
        kernels: &LoadedKernels,
        (data, points): (&[u8], usize),
        (params, columns, floor): (u64, u64, f64),
        out: SumsAt,
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
