//! Summaries of points on a device, for a solver on the host.
//!
//! The points lie in the device's memory as a whole, or go through it chunk by chunk where there is no
//! room for all of them; summaries of chunks merge in order. Up to
//! [`FEW_PARAMETERS`](super::source::FEW_PARAMETERS) parameters a pass is one launch. For more, weighted rows of a stretch of points
//! are written to device memory and multiplied there.

use super::compiled_model::FitKernels;
use super::device_points::DevicePoints;
use super::driver::DriverError;
use super::passes::{DevicePasses, Summed};
use super::streamed::{DoubleBuffer, SLOTS};
use crate::data::points::Points;
use crate::observe::span;

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
        let room = match &place {
            PointsAt::Whole(resident) if resident.points <= kernels.most_points => {
                (resident.points, 1)
            }
            PointsAt::Whole(_) => (kernels.most_points, SLOTS),
            PointsAt::Chunks(rooms) => (rooms.capacity().min(points.used), SLOTS),
        };
        Ok(Cuda {
            passes: DevicePasses::new(kernels, loss_scale, (params, free), room)?,
            points,
            place,
        })
    }

    /// Bytes of device memory held, data included.
    pub(crate) fn bytes(&self) -> usize {
        let data = match &self.place {
            PointsAt::Whole(resident) => resident.bytes(),
            PointsAt::Chunks(rooms) => rooms.bytes(),
        };
        data + self.passes.bytes()
    }

    /// Chunks that a pass takes.
    pub(crate) fn chunks(&self) -> usize {
        match &self.place {
            PointsAt::Whole(_) => 1,
            PointsAt::Chunks(rooms) => self.points.len().div_ceil(rooms.capacity()),
        }
    }

    /// A pass over all points: the normal equations at `params` or, for at most
    /// [`FEW_PARAMETERS`](super::source::FEW_PARAMETERS) free
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
            PointsAt::Whole(resident) => {
                let most = passes.kernels.most_points;
                for start in (0..resident.points).step_by(most) {
                    passes.collect_if_full(out)?;
                    let end = resident.points.min(start.saturating_add(most));
                    passes.queue(S::KIND, resident, start..end)?;
                }
            }
            PointsAt::Chunks(rooms) => rooms.pass_over(passes, self.points, out)?,
        }
        passes.sums.collect(out)
    }
}
