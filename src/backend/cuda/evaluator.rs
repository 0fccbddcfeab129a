//! Summaries of points on a device, for a solver on the host.
//!
//! The points lie in the device's memory as a whole, or go through it chunk by chunk where there is no
//! room for all of them; summaries of chunks merge in order. Up to
//! [`FEW_PARAMETERS`] parameters a pass is one launch. For more, weighted rows of a stretch of points
//! are written to device memory and multiplied there. Where all points are on the device and parameters few, the
//! loop of the fit is there, too: launches of its passes and of the steps between them.

use super::compiled_model::FitKernels;
use super::device_points::DevicePoints;
use super::driver::{DriverError, Geometry};
use super::interface::{Layout, ScratchLayout, Size, words};
use super::memory::Buffer;
use super::passes::{DevicePasses, PassKind, Summed, geometry, with_data};
use super::source::FEW_PARAMETERS;
use super::streamed::{DoubleBuffer, SLOTS};
use crate::data::points::Points;
use crate::observe::span;
use std::ops::Range;

/// Where the points of a fit are.
pub(crate) enum PointsAt<'a> {
    /// All of them on the device.
    Whole(&'a DevicePoints),
    /// On the host; a chunk at a time is brought to the device.
    Chunks(Box<DoubleBuffer>),
}

/// The passes of one fit on a device.
pub(crate) struct Cuda<'a> {
    passes: DevicePasses,
    points: &'a Points<'a>,
    place: PointsAt<'a>,
    /// The state of a loop on the device, where there is one.
    state: Option<Buffer>,
    layout: Layout,
}

impl<'a> Cuda<'a> {
    /// `params`: parameters of the model, fixed ones included; `free` of them free.
    pub(crate) fn new(
        kernels: FitKernels,
        points: &'a Points<'a>,
        place: PointsAt<'a>,
        loss_scale: f64,
        (params, free): (usize, usize),
    ) -> Result<Cuda<'a>, DriverError> {
        let driver = kernels.passes.driver.clone();
        let size = Size { columns: 0, params, free };
        let layout = Layout::new(size);
        let state = match (&place, free <= FEW_PARAMETERS) {
            (PointsAt::Whole(_), true) => {
                Some(Buffer::of::<u64>(&driver, layout.words + words::<ScratchLayout>(size))?)
            }
            _ => None,
        };
        let room = match &place {
            PointsAt::Whole(resident) => (resident.points, 1),
            PointsAt::Chunks(rooms) => (rooms.capacity().min(points.used), SLOTS),
        };
        Ok(Cuda {
            passes: DevicePasses::new(kernels, loss_scale, (params, free), room)?,
            points,
            place,
            state,
            layout,
        })
    }

    /// Bytes of device memory held, data included.
    pub(crate) fn bytes(&self) -> usize {
        let data = match &self.place {
            PointsAt::Whole(resident) => resident.bytes(),
            PointsAt::Chunks(rooms) => rooms.bytes(),
        };
        let state = self.state.as_ref().map_or(0, Buffer::bytes);
        data + self.passes.bytes() + state
    }

    /// Chunks that a pass takes.
    pub(crate) fn chunks(&self) -> usize {
        match &self.place {
            PointsAt::Whole(_) => 1,
            PointsAt::Chunks(rooms) => self.points.len().div_ceil(rooms.capacity()),
        }
    }

    /// A pass over all points: the normal equations at `params` or, for at most [`FEW_PARAMETERS`] free
    /// parameters, the triangular factor.
    pub(crate) fn pass<S: Summed>(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut S,
    ) -> Result<(), DriverError> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        let passes = &mut self.passes;
        passes.begin(params, columns)?;
        out.clear();
        match &mut self.place {
            PointsAt::Whole(resident) => passes.queue(S::KIND, resident)?,
            PointsAt::Chunks(rooms) => rooms.pass_over(passes, self.points, out)?,
        }
        passes.sums.collect(out)
    }
}

impl Cuda<'_> {
    /// Whether all points are on the device and the parameters few enough for a loop there.
    pub(super) fn has_loop(&self) -> bool {
        self.state.is_some()
    }

    /// Queues evaluations at the state's trial, each with the step that follows it.
    pub(super) fn iterate(&mut self, launches: usize) -> Result<(), DriverError> {
        let PointsAt::Whole(points) = &self.place else { return Err(no_loop()) };
        let passes = &self.passes;
        let data = points.data(passes.loss_scale);
        let words = [self.state()?.address(), passes.partial.address(), passes.ticket.address()];
        let arguments = with_data(&data, &words);
        let multiprocessors = passes.kernels.passes.driver.properties().multiprocessors;
        let geometry = geometry(multiprocessors, passes.free, points.points);
        for _ in 0..launches {
            passes.kernels.passes.launch("evaluate", geometry, &arguments)?;
            self.step(0)?;
        }
        Ok(())
    }

    /// Queues the factor at the state's present parameters and the step that waits for it.
    pub(super) fn factor_and_step(&mut self) -> Result<(), DriverError> {
        let PointsAt::Whole(points) = &self.place else { return Err(no_loop()) };
        let state = self.state()?.address();
        let at = |place: &Range<usize>| state + (place.start * size_of::<u64>()) as u64;
        let inputs = (at(&self.layout.present.params), at(&self.layout.columns));
        let out = self.passes.sums.first();
        self.passes.queue_at(PassKind::Factor, points, inputs, out)?;
        self.step(out)
    }

    /// Queues a step; `factor`: the address of a factor to go on with, or 0 for an evaluation, or for
    /// a state that the host has stopped.
    pub(super) fn step(&self, factor: u64) -> Result<(), DriverError> {
        let state = self.state()?.address();
        let arguments = [bytemuck::bytes_of(&state), bytemuck::bytes_of(&factor)];
        self.passes
            .kernels
            .solver
            .as_ref()
            .ok_or_else(no_loop)?
            .launch("step", ONE_WARP, &arguments)
    }

    /// The state that such a loop works on.
    pub(super) fn state(&self) -> Result<&Buffer, DriverError> {
        self.state.as_ref().ok_or_else(no_loop)
    }
}

const ONE_WARP: Geometry = Geometry { blocks: 1, threads: 32 };

/// The error of a loop that there is not, which no caller asks for.
pub(super) fn no_loop() -> DriverError {
    DriverError::Failed {
        call: "iterate",
        code: 0,
        text: "the fit has no loop on the device".into(),
    }
}
