//! Passes over points that the host uploads in chunks, for fits whose points do not fit into device or host memory.
//! While the device processes one chunk, the next one is uploaded. The sums are read back in groups and merged in the
//! order of the chunks.

use super::compiled_model::FitKernels;
use super::device_points::{DevicePoints, bytes_per_point};
use super::driver::{Driver, DriverError, Queue};
use super::passes::{Collects, DevicePasses, PassKind, Summed};
use crate::data::points::Points;
use std::ops::Range;
use std::sync::Arc;

/// Passes over points that are uploaded in chunks: `begin`, then `add` for each chunk, then `finish`. After a failed or
/// abandoned pass, `begin` starts a new one.
pub(crate) struct DeviceStream {
    passes: DevicePasses,
    rooms: DoubleBuffer,
    /// Sums that the current pass computes.
    pass: Option<PassKind>,
}

impl DeviceStream {
    /// Allocates buffers for at most `capacity` points of the same kind as `like`. If the device has too little memory,
    /// the buffers are smaller. Chunks larger than a buffer are split. `loss_scale`: in row units, 1 for least squares.
    /// `sizes`: numbers of parameters and of free parameters.
    pub(crate) fn new(
        kernels: FitKernels,
        like: &Points<'_>,
        capacity: usize,
        loss_scale: f64,
        sizes: (usize, usize),
    ) -> Result<DeviceStream, DriverError> {
        let driver = kernels.passes.driver.clone();
        let rooms = DoubleBuffer::new(&driver, like, capacity.min(kernels.most_points))?;
        Ok(DeviceStream {
            passes: DevicePasses::new(kernels, loss_scale, sizes, (rooms.capacity(), SLOTS))?,
            rooms,
            pass: None,
        })
    }

    /// Returns the maximum number of points of a launch.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.rooms.capacity()
    }

    /// Returns the size of the allocated device memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.passes.bytes() + self.rooms.bytes()
    }

    /// Begins a pass at `params`. A pass that computes an R factor supports at most
    /// [`FEW_PARAMETERS`](super::source::FEW_PARAMETERS) free parameters.
    pub(crate) fn begin(
        &mut self,
        pass: PassKind,
        params: &[f64],
        columns: &[f64],
    ) -> Result<(), DriverError> {
        self.pass = None;
        self.passes.begin(params, columns)?;
        self.pass = Some(pass);
        Ok(())
    }

    /// Adds the next points to the current pass. All points must have the same units. After the return the caller may
    /// reuse the memory of the points, even if the device has not processed them. `sum`: zero in the first call; the
    /// sums that are already available are added to it.
    pub(crate) fn add<S: Summed>(
        &mut self,
        points: &Points<'_>,
        sum: &mut S,
    ) -> Result<(), DriverError> {
        if !self.rooms.take(points) {
            return Err(misused("a chunk is of another kind than those before"));
        }
        let added = match self.pass == Some(S::KIND) {
            true => {
                let all = 0..points.len();
                self.rooms.pass_over(&mut self.passes, (points, all), 0, sum)
            }
            false => Err(misused("no pass was begun")),
        };
        added.inspect_err(|_| self.pass = None)
    }

    /// Waits for the device, and adds the remaining sums to `sum`, which is then the sum over all points of the pass.
    pub(crate) fn finish<S: Summed>(&mut self, sum: &mut S) -> Result<(), DriverError> {
        match self.pass.take() == Some(S::KIND) {
            true => self.passes.sums.collect(sum),
            false => Err(misused("no such pass is under way")),
        }
    }
}

/// Returns the error for a mistake of the caller.
fn misused(text: &str) -> DriverError {
    DriverError::Failed { call: "a pass over a stream", code: 0, text: text.into() }
}

/// Minimum capacity of a chunk, in points. If the device has no memory for it, the fit fails.
pub(crate) const LEAST_CHUNK: usize = 1024;
/// Maximum size of a buffer, in bytes. The first upload and the last launch of a pass do not overlap with other work.
/// At 50 GB/s the upload takes 5 ms; the time of a launch and a fence is negligible in comparison.
const MOST_BYTES: usize = 256 << 20;
/// Number of chunks whose sums are kept on the device. When all slots are used, the host waits once for all sums.
pub(super) const SLOTS: usize = 16;

/// Two alternating buffers on a device for points of one kind: while a kernel passes over one of them, the next chunk
/// is uploaded to the other.
///
/// A fence between upload and launch keeps the order. The launch waits for its upload. The next upload, to the other
/// buffer, waits for the earlier launch that used that buffer.
pub(crate) struct DoubleBuffer {
    rooms: [DevicePoints; 2],
    turn: usize,
}

impl DoubleBuffer {
    /// Allocates two buffers for at most `most` points like `points` each. Together they take at most half of the free
    /// memory that the device reports. If an allocation fails, the capacity is halved until it succeeds.
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        points: &Points<'_>,
        most: usize,
    ) -> Result<DoubleBuffer, DriverError> {
        let fitting = (driver.memory()?.free / 4).min(MOST_BYTES) / bytes_per_point(points).max(1);
        let mut capacity = most.min(fitting).max(LEAST_CHUNK);
        loop {
            match DoubleBuffer::of(driver, points, capacity) {
                Err(DriverError::OutOfMemory { .. }) if capacity > LEAST_CHUNK => {
                    capacity = (capacity / 2).max(LEAST_CHUNK);
                }
                rooms => return rooms,
            }
        }
    }

    /// Allocates two buffers for `capacity` points each.
    pub(super) fn of(
        driver: &Arc<dyn Driver>,
        points: &Points<'_>,
        capacity: usize,
    ) -> Result<DoubleBuffer, DriverError> {
        let room = || DevicePoints::room(driver, points, capacity);
        Ok(DoubleBuffer { rooms: [room()?, room()?], turn: 0 })
    }

    /// Returns the capacity of each buffer, in points.
    pub(super) fn capacity(&self) -> usize {
        self.rooms[0].capacity
    }

    /// Returns the size of the allocated device memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.rooms.iter().map(DevicePoints::bytes).sum()
    }

    /// Returns true if points like these can be stored in the buffers and processed by the kernels.
    pub(super) fn take(&self, points: &Points<'_>) -> bool {
        self.rooms[0].takes(points)
    }

    /// Queues a pass over the `points` in `range`, which belong to one segment; each launch processes the contents of
    /// one buffer. If all slots are used, `to` receives the sums in them.
    pub(super) fn pass_over<C: Collects>(
        &mut self,
        passes: &mut DevicePasses,
        (points, range): (&Points<'_>, Range<usize>),
        segment: u64,
        to: &mut C,
    ) -> Result<(), DriverError> {
        let capacity = self.capacity();
        for start in range.clone().step_by(capacity) {
            let end = range.end.min(start.saturating_add(capacity));
            let room = self.fill(points, start..end)?;
            // The upload runs while the host waits for the previous launch.
            passes.collect_if_full(to)?;
            passes.kernels.passes.driver.fence()?;
            passes.queue((C::KIND, segment), room, 0..room.points)?;
        }
        Ok(())
    }

    /// Uploads the points in `range` to the buffer that the previous upload did not use, and returns this buffer.
    fn fill(
        &mut self,
        points: &Points<'_>,
        range: Range<usize>,
    ) -> Result<&DevicePoints, DriverError> {
        self.turn = 1 - self.turn;
        let room = &mut self.rooms[self.turn];
        room.fill(points, range, Queue::Ahead)?;
        Ok(room)
    }
}
