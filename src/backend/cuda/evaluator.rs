//! Summaries of points on a device, for a solver on the host.
//!
//! The points lie in the device's memory as a whole, or go through it chunk by chunk where there is no
//! room for all of them; summaries of chunks merge in order. Up to [`FEW_PARAMETERS`] parameters a pass
//! is one launch. For more, weighted rows of a stretch of points are written to device memory and
//! multiplied there.

use super::device::Kernels;
use super::device_points::{DevicePoints, bytes_per_point};
use super::driver::{DriverError, Geometry};
use super::many::Rows;
use super::memory::Buffer;
use super::printed::FitKernels;
use super::source::{FEW_PARAMETERS, THREADS};
use super::state::Layout;
use crate::data::points::Points;
use crate::normal::{Normal, RFactor, Summary, pair};
use crate::observe::span;

/// Chunks smaller than this are not worth a pass: if there is no room for so many points, there is
/// none for the fit.
const LEAST_CHUNK: usize = 1024;
/// The least share of the gradient's weight that an outlier keeps in JᵀJ during iterations.
const ITERATION_FLOOR: f64 = 0.1;

/// Where the points of a fit are.
pub(crate) enum Place<'a> {
    /// All of them on the device.
    Whole(&'a DevicePoints),
    /// On the host; a chunk at a time is brought to the device.
    Chunks(DevicePoints),
}

impl Place<'_> {
    /// As many points at a time as there is room for: half of what was refused until it is granted.
    /// `free`: the bytes that the device says it has.
    pub(crate) fn chunks(
        kernels: &Kernels,
        points: &Points<'_>,
        free: usize,
    ) -> Result<Place<'static>, DriverError> {
        let fitting = free / 2 / bytes_per_point(points).max(1);
        let mut capacity = points.used.min(fitting).max(LEAST_CHUNK);
        loop {
            match DevicePoints::room(&kernels.driver, points, capacity) {
                Err(DriverError::OutOfMemory { .. }) if capacity > LEAST_CHUNK => {
                    capacity = (capacity / 2).max(LEAST_CHUNK);
                }
                room => return Ok(Place::Chunks(room?)),
            }
        }
    }
}

/// The passes of one fit on a device.
pub(crate) struct Cuda<'a> {
    pub(super) kernels: FitKernels,
    points: &'a Points<'a>,
    pub(super) place: Place<'a>,
    /// The loss's scale in row units; 1 for least squares.
    pub(super) loss_scale: f64,
    pub(super) free: usize,
    /// All parameters, then the factors of the columns.
    inputs: Buffer,
    pub(super) partial: Buffer,
    pub(super) ticket: Buffer,
    pub(super) out: Buffer,
    /// Weighted rows, for models of many parameters.
    rows: Option<Rows>,
    /// The state of a loop on the device, where there is one.
    pub(super) state: Option<Buffer>,
    pub(super) layout: Layout,
    staged: Vec<f64>,
}

impl<'a> Cuda<'a> {
    /// `params`: parameters of the model, fixed ones included; `free` of them free.
    pub(crate) fn new(
        kernels: FitKernels,
        points: &'a Points<'a>,
        place: Place<'a>,
        loss_scale: f64,
        (params, free): (usize, usize),
    ) -> Result<Cuda<'a>, DriverError> {
        let driver = &kernels.passes.driver;
        let k = free + 1;
        let sums = pair(0, k) + 1;
        let blocks = most_blocks(driver.properties().multiprocessors, free) as usize;
        let ticket = Buffer::of::<u32>(driver, 1)?;
        ticket.clear()?;
        let rows = match free > FEW_PARAMETERS {
            true => Some(Rows::new(driver, k, points.used)?),
            false => None,
        };
        let layout = Layout::new(free, params);
        let state = match (&place, free <= FEW_PARAMETERS) {
            (Place::Whole(_), true) => {
                Some(Buffer::of::<u64>(driver, layout.words + layout.scratch_words())?)
            }
            _ => None,
        };
        Ok(Cuda {
            state,
            layout,
            inputs: Buffer::of::<f64>(driver, params + free)?,
            partial: Buffer::of::<f64>(driver, blocks * sums.max(k * k))?,
            ticket,
            out: Buffer::of::<f64>(driver, sums.max(k * k))?,
            rows,
            staged: vec![0.0; sums.max(k * k)],
            kernels,
            points,
            place,
            loss_scale,
            free,
        })
    }

    /// Bytes of device memory held, data included.
    pub(crate) fn bytes(&self) -> usize {
        let data = match &self.place {
            Place::Whole(resident) => resident.bytes(),
            Place::Chunks(resident) => resident.bytes(),
        };
        let own = [&self.inputs, &self.partial, &self.ticket, &self.out];
        let rows = self.rows.as_ref().map_or(0, Rows::bytes);
        let state = self.state.as_ref().map_or(0, Buffer::bytes);
        data + own.into_iter().map(Buffer::bytes).sum::<usize>() + rows + state
    }

    /// Chunks that a pass takes.
    pub(crate) fn chunks(&self) -> usize {
        match &self.place {
            Place::Whole(_) => 1,
            Place::Chunks(resident) => self.points.len().div_ceil(resident.capacity),
        }
    }

    /// The normal equations at `params`.
    pub(crate) fn normal(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), DriverError> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        self.set_inputs(params, columns)?;
        out.clear();
        let mut part = Normal::zero(out.n);
        self.each_chunk(|pass, data| {
            let sums = match &pass.rows {
                None => {
                    pass.run(&pass.kernels.passes, "normal", geometry, data, ITERATION_FLOOR)?
                }
                Some(rows) => pass.run_rows(rows, data, ITERATION_FLOOR)?,
            };
            let (products, cost) = sums.split_at(part.products.len());
            part.products.copy_from_slice(products);
            part.cost = cost[0];
            out.merge(&mut part);
            Ok(())
        })
    }

    /// The triangular factor at `params`; for at most [`FEW_PARAMETERS`] free parameters.
    pub(crate) fn factor(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut RFactor,
    ) -> Result<(), DriverError> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        self.set_inputs(params, columns)?;
        out.clear();
        let mut part = RFactor::zero(out.n);
        self.each_chunk(|pass, data| {
            let factor = pass.run(pass.kernels.factor()?, "factor", factor_geometry, data, 0.0)?;
            let numbers = part.r.len();
            part.r.copy_from_slice(&factor[..numbers]);
            out.merge(&mut part);
            Ok(())
        })
    }

    fn set_inputs(&mut self, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        self.inputs.write(0, &[params, columns].concat())
    }

    /// Calls `sum` with the points of each chunk on the device, in order.
    fn each_chunk(
        &mut self,
        mut sum: impl FnMut(&mut Pass<'_>, &Data) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let loss_scale = self.loss_scale;
        let columns_at = (self.inputs.bytes() / size_of::<f64>() - self.free) * size_of::<f64>();
        let mut pass = Pass {
            kernels: &self.kernels,
            params: self.inputs.address(),
            columns: self.inputs.address() + columns_at as u64,
            partial: &self.partial,
            ticket: &self.ticket,
            out: &self.out,
            rows: &self.rows,
            free: self.free,
            staged: &mut self.staged,
        };
        match &mut self.place {
            Place::Whole(resident) => sum(&mut pass, &Data::of(resident, loss_scale)),
            Place::Chunks(resident) => {
                for start in (0..self.points.len()).step_by(resident.capacity) {
                    let end = self.points.len().min(start + resident.capacity);
                    resident.fill(self.points, start..end)?;
                    sum(&mut pass, &Data::of(resident, loss_scale))?;
                }
                Ok(())
            }
        }
    }
}

/// The points of a launch.
struct Data {
    bytes: Vec<u8>,
    points: usize,
}

impl Data {
    fn of(resident: &DevicePoints, loss_scale: f64) -> Data {
        Data { bytes: resident.data(loss_scale), points: resident.points }
    }
}

/// One pass over the points that are on the device.
struct Pass<'a> {
    kernels: &'a FitKernels,
    params: u64,
    columns: u64,
    partial: &'a Buffer,
    ticket: &'a Buffer,
    out: &'a Buffer,
    rows: &'a Option<Rows>,
    free: usize,
    staged: &'a mut [f64],
}

impl Pass<'_> {
    /// Launches `kernel` over all points and returns what it sums up to.
    fn run(
        &mut self,
        kernels: &Kernels,
        kernel: &str,
        geometry: fn(u32, usize, usize) -> Geometry,
        data: &Data,
        floor: f64,
    ) -> Result<&[f64], DriverError> {
        let multiprocessors = kernels.driver.properties().multiprocessors;
        let geometry = geometry(multiprocessors, self.free, data.points);
        let addresses = [self.partial.address(), self.ticket.address(), self.out.address()];
        let arguments: [&[u8]; 7] = [
            &data.bytes,
            bytemuck::bytes_of(&self.params),
            bytemuck::bytes_of(&self.columns),
            bytemuck::bytes_of(&floor),
            bytemuck::bytes_of(&addresses[0]),
            bytemuck::bytes_of(&addresses[1]),
            bytemuck::bytes_of(&addresses[2]),
        ];
        kernels.launch(kernel, geometry, &arguments)?;
        self.out.read(0, self.staged)?;
        Ok(self.staged)
    }

    /// The same by way of rows in device memory.
    fn run_rows(&mut self, rows: &Rows, data: &Data, floor: f64) -> Result<&[f64], DriverError> {
        let at = (self.params, self.columns, floor);
        rows.sum(&self.kernels.passes, (&data.bytes, data.points), at, self.out)?;
        self.out.read(0, self.staged)?;
        Ok(self.staged)
    }
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
