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

/// A summary that a pass finds.
pub(crate) trait Summed: Summary {
    const KIND: PassKind;

    /// Adds the numbers that a kernel left.
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

    /// Adds the numbers that a kernel left of points of a segment.
    fn collect(&mut self, segment: u64, numbers: &[f64]);
}

impl<S: Summed> Collects for S {
    const KIND: PassKind = S::KIND;

    fn collect(&mut self, _segment: u64, numbers: &[f64]) {
        self.add_numbers(numbers);
    }
}

/// Position of segments in the tree of sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    /// The number of the first leaf of segment 0.
    pub(crate) first: u64,
    /// Leaves of a segment.
    pub(crate) of_segment: u64,
    /// The number behind the last leaf of all.
    pub(crate) end: u64,
}

impl Leaves {
    /// Segments themselves.
    pub(crate) const SEGMENTS: Leaves = Leaves { first: 0, of_segment: 1, end: u64::MAX };
}

/// Sums of consecutive segments as they are found: those that are complete, and that of the one under way.
pub(super) struct Found<S> {
    complete: Tree<S>,
    open: S,
    /// The number of the segment under way.
    segment: u64,
    leaves: Leaves,
}

impl<S: Summed + Clone> Found<S> {
    /// Of none yet; the first has the number `segment`. `like`: a summary of the kind.
    pub(super) fn new(segment: u64, leaves: Leaves, like: &S) -> Found<S> {
        let mut open = like.clone();
        open.clear();
        let complete = Tree::new(leaves.first + segment * leaves.of_segment);
        Found { complete, open, segment, leaves }
    }

    /// All segments before number `segment` are complete.
    fn reach(&mut self, segment: u64) {
        for _ in self.segment..segment {
            let left = self.leaves.end - self.complete.next();
            self.complete.add_all(self.leaves.of_segment.min(left), &mut self.open);
            self.open.clear();
        }
        self.segment = segment;
    }

    /// The sums of all segments before number `end`.
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

/// Kernels and their memory. Launches follow one another, so that one of each is enough.
pub(super) struct DevicePasses {
    pub(super) kernels: FitKernels,
    /// The loss's scale in row units; 1 for least squares.
    pub(super) loss_scale: f64,
    pub(super) free: usize,
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
    /// Numbers that such a pass with `free` free parameters leaves.
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
    /// `params`: parameters of the model, fixed ones included; `free` of them free. `points`: the most
    /// that a launch goes over. `launches`: the most whose sums may wait on the device.
    pub(super) fn new(
        kernels: FitKernels,
        loss_scale: f64,
        (params, free): (usize, usize),
        (points, launches): (usize, usize),
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
            inputs: Inputs::new(&kernels, params + free)?,
            partial: Buffer::of::<f64>(driver, blocks * width(free))?,
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

    /// Begins to evaluate the model at `params`; sums that wait are forgotten.
    pub(super) fn begin(&mut self, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        self.sums.segments.clear();
        self.inputs.set(params, columns)
    }

    /// Passes the sums to `to` if there is no free slot for another launch.
    pub(super) fn collect_if_full(&mut self, to: &mut impl Collects) -> Result<(), DriverError> {
        if self.sums.is_full() { self.sums.collect(to) } else { Ok(()) }
    }

    /// Queues the sums over the points in `part`, which are of one segment. A slot must be free.
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
        let multiprocessors = passes.driver.properties().multiprocessors;
        let (kernels, kernel, geometry, floor) = match (kind, &self.rows) {
            (PassKind::Normal, Some(rows)) => {
                let at = (&self.inputs.argument[..], ITERATION_FLOOR);
                return rows.sum(passes, (&data, count), at, out);
            }
            (PassKind::Normal, None) => {
                let geometry = geometry(multiprocessors, self.free, count);
                (passes, "normal", geometry, ITERATION_FLOOR)
            }
            (PassKind::Factor, _) => {
                let geometry = factor_geometry(multiprocessors, self.free, count);
                (self.kernels.factor()?, "factor", geometry, 0.0)
            }
        };
        let (partial, ticket) = (self.partial.address(), self.ticket.address());
        let words = [floor.to_bits(), partial, ticket, out];
        kernels.launch(kernel, geometry, &arguments(&[&data, &self.inputs.argument], &words))
    }
}

/// The bytes of a kernel's parameters: structures, then words.
fn arguments<'a>(structures: &[&'a [u8]], words: &'a [u64]) -> Vec<&'a [u8]> {
    structures.iter().copied().chain(words.iter().map(bytemuck::bytes_of)).collect()
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

/// Sums of several launches, in their order, that wait, so that the host need not wait for each. They are where the host
/// reads them without a copy of the device's, unless kernels add to them.
pub(super) struct PartialSums {
    out: Buffer,
    /// Numbers of a slot.
    width: usize,
    count: usize,
    /// Of the slots that were handed out, which segment each is for.
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

    /// The next slot, of those that are not full, for points of a segment.
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

/// Bytes of rows written at a time.
const ROWS_BYTES: usize = 64 << 20;
/// Points below which a stretch is not split further between blocks.
const LEAST_SPLIT: usize = 1024;

/// Memory for the weighted rows of `stride` points, k columns each, and for sums of their products: for models
/// with more parameters than a block can sum up, whose rows are written to device memory and multiplied there.
struct DeviceRows {
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
        (data, points): (&[u8], usize),
        (inputs, floor): (&[u8], f64),
        out: u64,
    ) -> Result<(), DriverError> {
        kernels.driver.clear(Address(out), (pair(0, self.k) + 1) * size_of::<f64>())?;
        let multiprocessors = kernels.driver.properties().multiprocessors;
        let (stride, splits) = (self.stride as u64, self.splits as u64);
        let (matrix, cost) = (self.matrix.address(), self.cost.address());
        let (partial, tickets) = (self.partial.address(), self.tickets.address());
        let blocks = (pairs(self.k) * self.splits) as u32;
        let products = Geometry { blocks, threads: THREADS as u32 };
        for first in (0..points).step_by(self.stride) {
            let count = self.stride.min(points - first);
            let over_points = geometry(multiprocessors, self.k - 1, count);
            let (first, count) = (first as u64, count as u64);
            let words = [floor.to_bits(), first, count, stride, matrix, cost];
            kernels.launch("rows", over_points, &arguments(&[data, inputs], &words))?;
            let words = [matrix, cost, count, stride, splits, partial, tickets, out];
            kernels.launch("gram", products, &words.each_ref().map(bytemuck::bytes_of))?;
        }
        Ok(())
    }
}

/// Pairs of groups of columns, each group with itself among them.
fn pairs(k: usize) -> usize {
    let groups = k.div_ceil(GRAM_COLUMNS);
    groups * (groups + 1) / 2
}
