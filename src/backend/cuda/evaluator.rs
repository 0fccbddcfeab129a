//! Summaries of points on devices, for a solver on the host.
//!
//! The points are divided into segments of equal length. Each device has a share of the points: whole segments, in
//! their order. The share is resident in the device's memory or, if it does not fit, is uploaded chunk by chunk.
//! Segments are summed up separately and are the leaves of a tree. Therefore any number of equal devices gives the
//! same bits. For at most
//! [`FEW_PARAMETERS`](super::source::FEW_PARAMETERS) parameters, a launch sums up a segment. For more parameters, the
//! weighted rows of a stretch of points are written to device memory and multiplied there.

use super::compiled_model::FitKernels;
use super::device_points::DevicePoints;
use super::driver::DriverError;
use super::passes::{DevicePasses, Found, Leaves, Summed};
use super::streamed::{DoubleBuffer, SLOTS};
use crate::data::points::Points;
use crate::normal::Tree;
use crate::observe::span;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// Location of the points of a share.
pub(crate) enum PointsAt {
    /// All points are resident on the device.
    Whole(Arc<DevicePoints>),
    /// The points are on the host and are uploaded in chunks.
    Chunks(Box<DoubleBuffer>),
}

/// The points of one device.
pub(crate) struct Share {
    passes: DevicePasses,
    /// The number of the device among those of the fit.
    device: usize,
    /// Range among all points; it begins at a segment boundary.
    range: Range<usize>,
    place: PointsAt,
}

/// Function that moves the share of a failed device to another device. Arguments: number of the failed device, range of
/// its points, error. Returns `None` if all devices have failed.
pub(crate) type Mover<'a> = dyn Fn(usize, Range<usize>, &DriverError) -> Option<Share> + Send + 'a;

/// The passes of one fit on devices.
pub(crate) struct Cuda<'a> {
    /// Shares in the order of the points, at least one.
    shares: Vec<Share>,
    points: &'a Points<'a>,
    /// Number of points of a segment.
    segment: usize,
    leaves: Leaves,
    mover: Box<Mover<'a>>,
}

impl Share {
    /// Creates the share of the points in `range` on device number `device`. `largest`: number of points of the largest
    /// segment. `params`: number of parameters, fixed ones included; `free`: number of free parameters.
    pub(crate) fn new(
        kernels: FitKernels,
        (device, range): (usize, Range<usize>),
        place: PointsAt,
        (loss_scale, largest): (f64, usize),
        (params, free): (usize, usize),
    ) -> Result<Share, DriverError> {
        let most = kernels.most_points;
        let room = match &place {
            PointsAt::Chunks(rooms) => (rooms.capacity().min(largest), SLOTS),
            PointsAt::Whole(there) => {
                let launches = there.points.div_ceil(most).max(there.segments());
                (largest.min(most), launches.min(SLOTS))
            }
        };
        let passes = DevicePasses::new(kernels, loss_scale, (params, free), room)?;
        Ok(Share { passes, device, range, place })
    }

    /// Returns the size of the allocated device memory, data included, in bytes.
    fn bytes(&self) -> usize {
        let data = match &self.place {
            PointsAt::Chunks(rooms) => rooms.bytes(),
            PointsAt::Whole(there) => there.bytes(),
        };
        data + self.passes.bytes()
    }

    /// Returns the number of chunks of a pass.
    fn chunks(&self, segment: usize) -> usize {
        let PointsAt::Chunks(rooms) = &self.place else { return 1 };
        let parts = (0..).map_while(|index| self.part(index, segment));
        parts.map(|part| part.len().div_ceil(rooms.capacity())).sum()
    }

    /// Returns the range of points of the `index`-th segment of this share.
    fn part(&self, index: usize, segment: usize) -> Option<Range<usize>> {
        let begin = self.range.start.saturating_add(index.saturating_mul(segment));
        (begin < self.range.end).then(|| begin..self.range.end.min(begin.saturating_add(segment)))
    }

    /// Queues the sums over a segment.
    fn queue<S: Summed + Clone>(
        &mut self,
        (points, segment): (&Points<'_>, usize),
        (index, part): (usize, Range<usize>),
        found: &mut Found<S>,
    ) -> Result<(), DriverError> {
        let Share { passes, place, .. } = self;
        let number = (part.start / segment) as u64;
        let there = match place {
            PointsAt::Whole(there) => there,
            PointsAt::Chunks(rooms) => {
                return rooms.pass_over(passes, (points, part), number, found);
            }
        };
        let most = passes.kernels.most_points;
        let part = there.segment(index);
        for start in part.clone().step_by(most) {
            passes.collect_if_full(found)?;
            passes.queue(
                (S::KIND, number),
                there,
                start..part.end.min(start.saturating_add(most)),
            )?;
        }
        Ok(())
    }
}

/// Returns the sums of the segments of each share. All devices work at the same time: the work of every device is
/// queued before the host waits, unless the slots for the sums are full.
fn sums<S: Summed + Clone>(
    shares: &mut [Share],
    (points, segment, leaves): (&Points<'_>, usize, Leaves),
    (params, columns): (&[f64], &[f64]),
    like: &S,
) -> Vec<Result<Tree<S>, DriverError>> {
    let begun = shares.iter_mut().map(|share| {
        share.passes.begin(params, columns)?;
        Ok(Found::new((share.range.start / segment) as u64, leaves, like))
    });
    let mut found: Vec<Result<Found<S>, DriverError>> = begun.collect();
    let most = shares.iter().map(|share| share.range.len().div_ceil(segment)).max();
    for index in 0..most.unwrap_or(0) {
        for (share, sums) in shares.iter_mut().zip(&mut found) {
            if let (Ok(found), Some(part)) = (&mut *sums, share.part(index, segment))
                && let Err(error) = share.queue((points, segment), (index, part), found)
            {
                *sums = Err(error);
            }
        }
    }
    let collected = shares.iter_mut().zip(found).map(|(share, found)| {
        let mut found = found?;
        share.passes.sums.collect(&mut found)?;
        Ok(found.until(share.range.end.div_ceil(segment) as u64))
    });
    collected.collect()
}

impl<'a> Cuda<'a> {
    /// Creates the passes from shares that contain all points in their order.
    pub(crate) fn new(
        shares: Vec<Share>,
        points: &'a Points<'a>,
        (segment, leaves): (usize, Leaves),
        mover: Box<Mover<'a>>,
    ) -> Cuda<'a> {
        Cuda { shares, points, segment, leaves, mover }
    }

    /// Returns the size of the allocated device memory, data included, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.shares.iter().map(Share::bytes).sum()
    }

    /// Returns the largest number of chunks of a pass on a device.
    pub(crate) fn chunks(&self) -> usize {
        self.shares.iter().map(|share| share.chunks(self.segment)).max().unwrap_or(1)
    }

    /// Runs a pass over all points. It computes the normal equations at `params` or, for at most
    /// [`FEW_PARAMETERS`](super::source::FEW_PARAMETERS) free parameters, the R factor.
    ///
    /// # Errors
    /// Returns the error of the last device if all devices have failed.
    pub(crate) fn pass<S: Summed + Clone>(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut S,
    ) -> Result<(), DriverError> {
        self.tree(params, columns, out)?.sum_into(out);
        Ok(())
    }

    /// As [`pass`](Cuda::pass), but returns the tree of sums. `like`: a summary of the same shape.
    ///
    /// # Errors
    /// As [`pass`](Cuda::pass).
    pub(crate) fn tree<S: Summed + Clone>(
        &mut self,
        params: &[f64],
        columns: &[f64],
        like: &S,
    ) -> Result<Tree<S>, DriverError> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        let (over, at) = ((self.points, self.segment, self.leaves), (params, columns));
        let mut found = sums(&mut self.shares, over, at, like);
        for (share, found) in self.shares.iter_mut().zip(&mut found) {
            while let Err(error) = found {
                let moved = (self.mover)(share.device, share.range.clone(), error);
                *share = moved.ok_or_else(|| error.clone())?;
                let again = sums(slice::from_mut(share), over, at, like).pop();
                *found = again.unwrap_or_else(|| Ok(Tree::default()));
            }
        }
        let mut all = Tree::new(self.leaves.first);
        found.into_iter().flatten().for_each(|mut found| all.take(&mut found));
        Ok(all)
    }
}
