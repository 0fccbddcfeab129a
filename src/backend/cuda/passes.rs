//! The passes of a fit on a device: kernels with the memory that their launches share, for resident and streamed
//! points.

use super::compiled_model::FitKernels;
use super::device::LoadedKernels;
use super::device_points::DevicePoints;
use super::driver::{Address, Driver, DriverError, Geometry, Queue};
use super::interface::{GRAM_COLUMNS, sums};
use super::memory::Buffer;
use super::source::{FEW_PARAMETERS, THREADS};
use crate::backend::cpu::ITERATION_FLOOR;
use crate::normal::{Influence, Normal, RFactor, Summary, Tree, pair};
use std::ops::Range;
use std::sync::Arc;

/// Kind of the sums that a pass computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassKind {
    Normal,
    /// For at most [`FEW_PARAMETERS`] free parameters.
    Factor,
}

/// A summary that a pass computes.
pub(crate) trait Summed: Summary {
    const KIND: PassKind;

    /// Adds the sums that a kernel wrote.
    fn add_numbers(&mut self, numbers: &[f64]);
}

impl Summed for Normal {
    const KIND: PassKind = PassKind::Normal;

    fn add_numbers(&mut self, numbers: &[f64]) {
        let (products, cost) = numbers.split_at(self.products.len());
        self.merge(&mut Normal::of(self.n, products.to_vec(), cost[0]));
    }
}

impl Summed for RFactor {
    const KIND: PassKind = PassKind::Factor;

    fn add_numbers(&mut self, numbers: &[f64]) {
        let (r, sums) = numbers.split_at(self.r.len());
        let influence = sums.first_chunk().map_or(Influence::UNKNOWN, |&sums| Influence::of(sums));
        self.merge(&mut RFactor::of(self.n, r.to_vec(), influence));
    }
}

/// Receiver of the sums of launches, in the order of the launches.
pub(crate) trait Collects {
    const KIND: PassKind;

    /// Adds the sums that a kernel wrote for points of a segment.
    fn collect(&mut self, segment: u64, numbers: &[f64]);
}

impl<S: Summed> Collects for S {
    const KIND: PassKind = S::KIND;

    fn collect(&mut self, _segment: u64, numbers: &[f64]) {
        self.add_numbers(numbers);
    }
}

/// Position of segments (ranges of points that are summed up separately) in the tree of sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    /// Number of the first leaf of segment 0.
    pub(crate) first: u64,
    /// Number of leaves of a segment.
    pub(crate) of_segment: u64,
    /// One past the number of the last leaf.
    pub(crate) end: u64,
}

impl Leaves {
    /// Each segment is one leaf.
    pub(crate) const SEGMENTS: Leaves = Leaves { first: 0, of_segment: 1, end: u64::MAX };
}

/// Sums of consecutive segments: a tree of the complete segments, and the partial sums of the current segment.
pub(super) struct Found<S> {
    complete: Tree<S>,
    open: S,
    /// Number of the current segment.
    segment: u64,
    leaves: Leaves,
}

impl<S: Summed + Clone> Found<S> {
    /// Creates sums without segments; the first segment has the number `segment`. `like`: a summary of the same shape.
    pub(super) fn new(segment: u64, leaves: Leaves, like: &S) -> Found<S> {
        let mut open = like.clone();
        open.clear();
        let complete = Tree::new(leaves.first + segment * leaves.of_segment);
        Found { complete, open, segment, leaves }
    }

    /// Completes all segments before number `segment`.
    fn reach(&mut self, segment: u64) {
        for _ in self.segment..segment {
            let left = self.leaves.end - self.complete.next();
            self.complete.add_all(self.leaves.of_segment.min(left), &mut self.open);
            self.open.clear();
        }
        self.segment = segment;
    }

    /// Returns the sums of all segments before number `end`.
    pub(super) fn until(mut self, end: u64) -> Tree<S> {
        self.reach(end);
        self.complete
    }
}

impl<S: Summed + Clone> Collects for Found<S> {
    const KIND: PassKind = S::KIND;

    fn collect(&mut self, segment: u64, numbers: &[f64]) {
        self.reach(segment);
        self.open.add_numbers(numbers);
    }
}

/// Kernels of the passes and their memory. Launches run one after the other, therefore one buffer of each kind
/// suffices.
pub(super) struct DevicePasses {
    pub(super) kernels: FitKernels,
    /// The loss's scale in row units; 1 for least squares.
    pub(super) loss_scale: f64,
    pub(super) free: usize,
    /// Maximum number of blocks of a launch.
    blocks: u32,
    inputs: Inputs,
    partial: Buffer,
    ticket: Buffer,
    /// Weighted rows, for models of many parameters.
    rows: Option<DeviceRows>,
    /// The partial sums that launches write.
    pub(super) sums: PartialSums,
}

/// Inputs of a pass: all parameters, then the factors of the columns.
struct Inputs {
    /// Argument of the kernel: the numbers, or their two addresses.
    argument: Vec<u8>,
    /// Device memory for the numbers if they do not fit into an argument.
    room: Option<Buffer>,
}

impl Inputs {
    /// Creates the inputs for `numbers` numbers.
    fn new(kernels: &FitKernels, numbers: usize) -> Result<Inputs, DriverError> {
        let room = match kernels.inputs_by_value {
            true => None,
            false => Some(Buffer::of::<f64>(&kernels.passes.driver, numbers)?),
        };
        Ok(Inputs { argument: Vec::new(), room })
    }

    fn set(&mut self, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        self.argument.clear();
        match &self.room {
            None => {
                self.argument.extend_from_slice(bytemuck::cast_slice(params));
                self.argument.extend_from_slice(bytemuck::cast_slice(columns));
            }
            Some(room) => {
                room.write(Queue::Work, 0, &[params, columns].concat())?;
                let addresses = [room.address(), room.address() + size_of_val(params) as u64];
                self.argument.extend_from_slice(bytemuck::bytes_of(&addresses));
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.room.as_ref().map_or(0, Buffer::bytes)
    }
}

impl PassKind {
    /// Returns the number of sums of a pass with `free` free parameters.
    pub(super) fn width(self, free: usize) -> usize {
        match self {
            PassKind::Normal => sums(free),
            PassKind::Factor => (free + 1) * (free + 1) + Influence::SUMS,
        }
    }
}

/// Returns the largest number of sums of a pass with `free` free parameters, over all kinds of passes.
pub(super) fn width(free: usize) -> usize {
    let normal = PassKind::Normal.width(free);
    if free <= FEW_PARAMETERS { normal.max(PassKind::Factor.width(free)) } else { normal }
}

impl DevicePasses {
    /// `params`: number of parameters of the model, fixed ones included; `free`: number of free parameters. `points`:
    /// maximum number of points of a launch. `launches`: maximum number of launches whose sums wait on the device.
    pub(super) fn new(
        kernels: FitKernels,
        loss_scale: f64,
        (params, free): (usize, usize),
        (points, launches): (usize, usize),
    ) -> Result<DevicePasses, DriverError> {
        let driver = &kernels.passes.driver;
        let kernel = if free > FEW_PARAMETERS { "rows" } else { "normal" };
        let blocks = concurrent_blocks(&kernels.passes, kernel);
        let ticket = Buffer::of::<u32>(driver, 1)?;
        ticket.clear()?;
        let rows = match free > FEW_PARAMETERS {
            true => Some(DeviceRows::new(driver, free + 1, points)?),
            false => None,
        };
        Ok(DevicePasses {
            inputs: Inputs::new(&kernels, params + free)?,
            partial: Buffer::of::<f64>(driver, blocks as usize * width(free))?,
            blocks,
            ticket,
            sums: PartialSums::new(driver, width(free), launches, rows.is_none())?,
            rows,
            kernels,
            loss_scale,
            free,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let own = [&self.partial, &self.ticket, &self.sums.out].map(Buffer::bytes);
        let rows = self.rows.as_ref().map_or(0, DeviceRows::bytes);
        own.into_iter().sum::<usize>() + self.inputs.bytes() + rows
    }

    /// Begins a pass at `params` and discards sums that were not collected.
    pub(super) fn begin(&mut self, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        self.sums.segments.clear();
        self.inputs.set(params, columns)
    }

    /// Passes the sums to `to` if there is no free slot for another launch.
    pub(super) fn collect_if_full(&mut self, to: &mut impl Collects) -> Result<(), DriverError> {
        if self.sums.is_full() { self.sums.collect(to) } else { Ok(()) }
    }

    /// Queues the sums over the points in `part`, which belong to one segment. A slot must be free.
    pub(super) fn queue(
        &mut self,
        (kind, segment): (PassKind, u64),
        points: &DevicePoints,
        part: Range<usize>,
    ) -> Result<(), DriverError> {
        let count = part.len();
        let out = self.sums.next(segment);
        let data = points.data(self.loss_scale, part);
        let passes = &*self.kernels.passes;
        let (kernels, kernel, geometry, floor) = match (kind, &self.rows) {
            (PassKind::Normal, Some(rows)) => {
                let at = (&self.inputs.argument[..], ITERATION_FLOOR);
                return rows.sum(passes, (self.blocks, &data, count), at, out);
            }
            (PassKind::Normal, None) => {
                (passes, "normal", geometry(self.blocks, count), ITERATION_FLOOR)
            }
            (PassKind::Factor, _) => {
                let factor = self.kernels.factor()?;
                let blocks = self.blocks.min(concurrent_blocks(factor, "factor"));
                (factor, "factor", factor_geometry(blocks, self.free, count), 0.0)
            }
        };
        let (partial, ticket) = (self.partial.address(), self.ticket.address());
        let words = [floor.to_bits(), partial, ticket, out];
        kernels.launch(kernel, geometry, &arguments(&[&data, &self.inputs.argument], &words))
    }
}

/// Returns the bytes of a kernel's arguments: structures, then words.
fn arguments<'a>(structures: &[&'a [u8]], words: &'a [u64]) -> Vec<&'a [u8]> {
    structures.iter().copied().chain(words.iter().map(bytemuck::bytes_of)).collect()
}

/// Maximum number of blocks on a multiprocessor. More blocks would hide no more latency, and each would add partial sums
/// that the last block merges.
const MOST_RESIDENT: u32 = 4;

/// Returns the number of blocks of a pass that run concurrently. More blocks would have to wait.
fn concurrent_blocks(kernels: &LoadedKernels, kernel: &str) -> u32 {
    let resident = kernels.resident_blocks(kernel, THREADS as u32).clamp(1, MOST_RESIDENT);
    resident * kernels.driver.properties().multiprocessors.max(1)
}

/// Returns the launch geometry of a pass over `points` points: at most `most_blocks` blocks, which occupy the device, and
/// at most one per `THREADS` points.
pub(crate) fn geometry(most_blocks: u32, points: usize) -> Geometry {
    let wanted = points.div_ceil(THREADS).clamp(1, u32::MAX as usize) as u32;
    Geometry { blocks: wanted.min(most_blocks), threads: THREADS as u32 }
}

/// Returns the launch geometry of a factor pass. The last block merges the factors of all other blocks, `free` + 1
/// rows each, at the same speed as rows of points. Beyond √(points / (free + 1)) blocks, an additional block costs
/// more time in the merge than it saves.
pub(crate) fn factor_geometry(most_blocks: u32, free: usize, points: usize) -> Geometry {
    let wanted = (points as f64 / (free + 1) as f64).sqrt().ceil() as u32;
    geometry(most_blocks.min(wanted.max(1)), points)
}

/// Sums of several launches in their order. The host reads them together and does not wait for each launch. They are in
/// mapped host memory, which needs no copy, unless kernels add to them.
pub(super) struct PartialSums {
    out: Buffer,
    /// Number of sums of a slot.
    width: usize,
    count: usize,
    /// Segment of each slot in use.
    segments: Vec<u64>,
    staged: Vec<f64>,
}

impl PartialSums {
    fn new(
        driver: &Arc<dyn Driver>,
        width: usize,
        count: usize,
        only_written: bool,
    ) -> Result<PartialSums, DriverError> {
        let out = match only_written {
            true => Buffer::mapped::<f64>(driver, width * count)?,
            false => Buffer::of::<f64>(driver, width * count)?,
        };
        let staged = vec![0.0; width * count];
        Ok(PartialSums { out, width, count, segments: Vec::with_capacity(count), staged })
    }

    pub(super) fn is_full(&self) -> bool {
        self.segments.len() == self.count
    }

    /// Returns the address of the next free slot and assigns it to `segment`. A slot must be free.
    fn next(&mut self, segment: u64) -> u64 {
        debug_assert!(!self.is_full());
        let before = self.segments.len() * self.width * size_of::<f64>();
        self.segments.push(segment);
        self.out.address() + before as u64
    }

    /// Waits for the launches, passes their sums to `to` in the order of the launches, and empties all slots.
    pub(super) fn collect(&mut self, to: &mut impl Collects) -> Result<(), DriverError> {
        let found = &mut self.staged[..self.segments.len() * self.width];
        if !found.is_empty() {
            self.out.read(Queue::Work, 0, found)?;
        }
        for (numbers, segment) in found.chunks_exact(self.width).zip(self.segments.drain(..)) {
            to.collect(segment, numbers);
        }
        Ok(())
    }
}

/// Maximum size of the rows that are written at a time, in bytes.
const ROWS_BYTES: usize = 64 << 20;
/// Minimum number of points of a split, the share of a block in the points whose rows are written at a time.
const LEAST_SPLIT: usize = 1024;

/// Memory for the weighted rows of `stride` points, k columns each, and for sums of their products. It serves models
/// with more parameters than a block can sum up; their rows are written to device memory and multiplied there.
struct DeviceRows {
    matrix: Buffer,
    cost: Buffer,
    partial: Buffer,
    tickets: Buffer,
    k: usize,
    stride: usize,
    /// Number of parts into which the points written at a time are divided; each part is summed up by a different
    /// block.
    splits: usize,
}

impl DeviceRows {
    /// Allocates memory for at most `points` points at a time.
    fn new(driver: &Arc<dyn Driver>, k: usize, points: usize) -> Result<DeviceRows, DriverError> {
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

    /// Queues the sums over all `points` points of `data` into `out`.
    fn sum(
        &self,
        kernels: &LoadedKernels,
        (most_blocks, data, points): (u32, &[u8], usize),
        (inputs, floor): (&[u8], f64),
        out: u64,
    ) -> Result<(), DriverError> {
        kernels.driver.clear(Address(out), (pair(0, self.k) + 1) * size_of::<f64>())?;
        let (stride, splits) = (self.stride as u64, self.splits as u64);
        let (matrix, cost) = (self.matrix.address(), self.cost.address());
        let (partial, tickets) = (self.partial.address(), self.tickets.address());
        let blocks = (pairs(self.k) * self.splits) as u32;
        let products = Geometry { blocks, threads: THREADS as u32 };
        for first in (0..points).step_by(self.stride) {
            let count = self.stride.min(points - first);
            let over_points = geometry(most_blocks, count);
            let (first, count) = (first as u64, count as u64);
            let words = [floor.to_bits(), first, count, stride, matrix, cost];
            kernels.launch("rows", over_points, &arguments(&[data, inputs], &words))?;
            let words = [matrix, cost, count, stride, splits, partial, tickets, out];
            kernels.launch("gram", products, &words.each_ref().map(bytemuck::bytes_of))?;
        }
        Ok(())
    }
}

/// Returns the number of pairs of column groups, including the pair of each group with itself.
fn pairs(k: usize) -> usize {
    let groups = k.div_ceil(GRAM_COLUMNS);
    groups * (groups + 1) / 2
}
