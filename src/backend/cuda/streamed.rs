//! Passes over points that come chunk by chunk from the host, for a fit of more points than the device or
//! the host has room for. Chunks are uploaded while the device passes over those before; what it found is
//! read back in groups and merged in the order of the chunks.

use super::compiled_model::FitKernels;
use super::double_buffer::{DoubleBuffer, SLOTS};
use super::driver::DriverError;
use super::passes::{PartialSums, Passes, width};
use crate::data::points::Points;
use crate::normal::{Normal, RFactor, Summary};

/// A device that takes chunks of points. A pass begins, takes chunks, and is finished; one that fails or
/// is given up is followed by the beginning of another.
pub(crate) struct Streamed {
    passes: Passes,
    rooms: DoubleBuffer,
    slots: PartialSums,
    pass: Pass,
    /// Sums of what was collected, and room for those of one chunk.
    normal: [Normal; 2],
    factor: [RFactor; 2],
}

/// The pass under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    None,
    Normal,
    Factor,
}

impl Streamed {
    /// For chunks like `like`, of at most `capacity` points: larger ones are passed over in parts, and
    /// so are chunks for which the device has not enough memory. `loss_scale` in row units, 1 for least
    /// squares; parameters of the model, and those of them that are free.
    pub(crate) fn new(
        kernels: FitKernels,
        like: &Points<'_>,
        capacity: usize,
        loss_scale: f64,
        (params, free): (usize, usize),
    ) -> Result<Streamed, DriverError> {
        let driver = kernels.passes.driver.clone();
        let rooms = DoubleBuffer::new(&driver, like, capacity, driver.memory()?.free)?;
        Ok(Streamed {
            passes: Passes::new(kernels, loss_scale, (params, free), rooms.capacity())?,
            slots: PartialSums::new(&driver, width(free), SLOTS)?,
            rooms,
            pass: Pass::None,
            normal: [Normal::zero(free), Normal::zero(free)],
            factor: [RFactor::zero(free), RFactor::zero(free)],
        })
    }

    /// Points that are passed over at a time, at most.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.rooms.capacity()
    }

    /// Bytes of device memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.passes.bytes() + self.rooms.bytes() + self.slots.bytes()
    }

    /// Begins to sum up the normal equations at `params`.
    pub(crate) fn begin_normal(
        &mut self,
        params: &[f64],
        columns: &[f64],
    ) -> Result<(), DriverError> {
        self.normal[0].clear();
        self.begin(Pass::Normal, params, columns)
    }

    /// Begins to fold the triangular factor at `params`; for at most
    /// [`FEW_PARAMETERS`](super::source::FEW_PARAMETERS) free parameters.
    pub(crate) fn begin_factor(
        &mut self,
        params: &[f64],
        columns: &[f64],
    ) -> Result<(), DriverError> {
        self.factor[0].clear();
        self.begin(Pass::Factor, params, columns)
    }

    fn begin(&mut self, pass: Pass, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        self.pass = Pass::None;
        self.slots.clear();
        self.passes.set_inputs(params, columns)?;
        self.pass = pass;
        Ok(())
    }

    /// Adds the next points to the pass under way, which must be in the units of all others. Their memory
    /// may be reused when this returns; the device may not have begun with them.
    pub(crate) fn add(&mut self, points: &Points<'_>) -> Result<(), DriverError> {
        if !self.rooms.take(points) {
            return Err(misused("a chunk is of another kind than those before"));
        }
        let Streamed { passes, rooms, slots, normal: [n, n_part], factor: [f, f_part], .. } = self;
        let added = match self.pass {
            Pass::Normal => rooms.pass_over(passes, slots, points, (n_part, n)),
            Pass::Factor => rooms.pass_over(passes, slots, points, (f_part, f)),
            Pass::None => Err(misused("no pass was begun")),
        };
        added.inspect_err(|_| self.pass = Pass::None)
    }

    /// Waits for the device; `out` gets the normal equations of all points since the beginning.
    pub(crate) fn finish_normal(&mut self, out: &mut Normal) -> Result<(), DriverError> {
        self.finish(Pass::Normal)?;
        let [sum, part] = &mut self.normal;
        self.slots.collect(part, sum)?;
        out.clone_from(sum);
        Ok(())
    }

    /// Waits for the device; `out` gets the factor of all points since the beginning.
    pub(crate) fn finish_factor(&mut self, out: &mut RFactor) -> Result<(), DriverError> {
        self.finish(Pass::Factor)?;
        let [sum, part] = &mut self.factor;
        self.slots.collect(part, sum)?;
        out.clone_from(sum);
        Ok(())
    }

    fn finish(&mut self, pass: Pass) -> Result<(), DriverError> {
        match std::mem::replace(&mut self.pass, Pass::None) == pass {
            true => Ok(()),
            false => Err(misused("no such pass is under way")),
        }
    }
}

/// What only a mistake of the caller brings about.
fn misused(text: &str) -> DriverError {
    DriverError::Failed { call: "a pass over a stream", code: 0, text: text.into() }
}
