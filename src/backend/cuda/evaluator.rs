//! Summaries of points on a device, for a solver on the host.
//!
//! The points lie in the device's memory as a whole, or go through it chunk by chunk where there is no
//! room for all of them; summaries of chunks merge in order. Up to
//! [`FEW_PARAMETERS`] parameters a pass is one launch. For more, weighted rows of a stretch of points
//! are written to device memory and multiplied there.

use super::device::Kernels;
use super::device_points::DevicePoints;
use super::driver::DriverError;
use super::memory::Buffer;
use super::passes::{Passes, Summed, width};
use super::printed::FitKernels;
use super::rooms::{Rooms, SLOTS};
use super::slots::Slots;
use super::source::FEW_PARAMETERS;
use super::state::Layout;
use crate::data::points::Points;
use crate::normal::{Normal, RFactor};
use crate::observe::span;

/// Where the points of a fit are.
pub(crate) enum Place<'a> {
    /// All of them on the device.
    Whole(&'a DevicePoints),
    /// On the host; a chunk at a time is brought to the device.
    Chunks(Box<Rooms>),
}

impl Place<'_> {
    /// As many points at a time as there is room for: half of what was refused until it is granted.
    /// `free`: the bytes that the device says it has.
    pub(crate) fn chunks(
        kernels: &Kernels,
        points: &Points<'_>,
        free: usize,
    ) -> Result<Place<'static>, DriverError> {
        Rooms::new(&kernels.driver, points, points.used, free)
            .map(|rooms| Place::Chunks(Box::new(rooms)))
    }
}

/// The passes of one fit on a device.
pub(crate) struct Cuda<'a> {
    pub(super) passes: Passes,
    points: &'a Points<'a>,
    pub(super) place: Place<'a>,
    pub(super) slots: Slots,
    /// The state of a loop on the device, where there is one.
    pub(super) state: Option<Buffer>,
    pub(super) layout: Layout,
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
        let driver = kernels.passes.driver.clone();
        let layout = Layout::new(free, params);
        let state = match (&place, free <= FEW_PARAMETERS) {
            (Place::Whole(_), true) => {
                Some(Buffer::of::<u64>(&driver, layout.words + layout.scratch_words())?)
            }
            _ => None,
        };
        let (most, count) = match &place {
            Place::Whole(resident) => (resident.points, 1),
            Place::Chunks(rooms) => (rooms.capacity().min(points.used), SLOTS),
        };
        Ok(Cuda {
            passes: Passes::new(kernels, loss_scale, (params, free), most)?,
            slots: Slots::new(&driver, width(free), count)?,
            points,
            place,
            state,
            layout,
        })
    }

    /// Bytes of device memory held, data included.
    pub(crate) fn bytes(&self) -> usize {
        let data = match &self.place {
            Place::Whole(resident) => resident.bytes(),
            Place::Chunks(rooms) => rooms.bytes(),
        };
        let state = self.state.as_ref().map_or(0, Buffer::bytes);
        data + self.passes.bytes() + self.slots.bytes() + state
    }

    /// Chunks that a pass takes.
    pub(crate) fn chunks(&self) -> usize {
        match &self.place {
            Place::Whole(_) => 1,
            Place::Chunks(rooms) => self.points.len().div_ceil(rooms.capacity()),
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
        let mut part = Normal::zero(out.n);
        self.pass(params, columns, (&mut part, out))
    }

    /// The triangular factor at `params`; for at most [`FEW_PARAMETERS`] free parameters.
    pub(crate) fn factor(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut RFactor,
    ) -> Result<(), DriverError> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        let mut part = RFactor::zero(out.n);
        self.pass(params, columns, (&mut part, out))
    }

    /// A pass over all points; `part` is room for the sums of a chunk.
    fn pass<S: Summed>(
        &mut self,
        params: &[f64],
        columns: &[f64],
        (part, out): (&mut S, &mut S),
    ) -> Result<(), DriverError> {
        let Cuda { passes, slots, .. } = self;
        passes.set_inputs(params, columns)?;
        out.clear();
        slots.clear();
        match &mut self.place {
            Place::Whole(resident) => passes.queue(S::KIND, resident, slots.next())?,
            Place::Chunks(rooms) => {
                rooms.pass_over(passes, slots, self.points, (&mut *part, &mut *out))?;
            }
        }
        slots.collect(part, out)
    }
}
