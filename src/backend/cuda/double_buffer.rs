//! Points that go through a device chunk by chunk: while a kernel passes over one room the next chunk is
//! uploaded to the other.
//!
//! A fence between upload and launch keeps the order: the launch waits for its upload, and the upload
//! after the fence for the launch before it, which had the same room.

use super::device_points::{DevicePoints, bytes_per_point};
use super::driver::{Driver, DriverError, Queue};
use super::passes::{PartialSums, Passes, Summed};
use crate::data::points::Points;
use std::ops::Range;
use std::sync::Arc;

/// Chunks smaller than this are not worth a pass: if there is no room for so many points, there is
/// none for the fit.
pub(crate) const LEAST_CHUNK: usize = 1024;
/// Bytes of a room at most. The first upload of a pass and its last launch overlap with nothing: at
/// 50 GB/s the bus takes 5 ms for this, beside which a launch and a fence are nothing.
const MOST_BYTES: usize = 256 << 20;
/// Chunks whose sums may wait on the device. The host waits for as many at once, for one kernel.
pub(super) const SLOTS: usize = 16;

/// Two rooms on a device for points of one kind, in turn.
pub(crate) struct DoubleBuffer {
    rooms: [DevicePoints; 2],
    turn: usize,
}

impl DoubleBuffer {
    /// Two rooms for `most` points like `points` each, or for fewer: for half of what was refused until
    /// it is granted. `free`: the bytes that the device says it has, of which half are taken.
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        points: &Points<'_>,
        most: usize,
        free: usize,
    ) -> Result<DoubleBuffer, DriverError> {
        let fitting = (free / 4).min(MOST_BYTES) / bytes_per_point(points).max(1);
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

    /// Two rooms for `capacity` points each.
    pub(super) fn of(
        driver: &Arc<dyn Driver>,
        points: &Points<'_>,
        capacity: usize,
    ) -> Result<DoubleBuffer, DriverError> {
        let room = || DevicePoints::room(driver, points, capacity);
        Ok(DoubleBuffer { rooms: [room()?, room()?], turn: 0 })
    }

    /// Points that a room takes.
    pub(super) fn capacity(&self) -> usize {
        self.rooms[0].capacity
    }

    /// Bytes of device memory held.
    pub(super) fn bytes(&self) -> usize {
        self.rooms.iter().map(DevicePoints::bytes).sum()
    }

    /// Whether points like these fit the kernels and the rooms.
    pub(super) fn take(&self, points: &Points<'_>) -> bool {
        self.rooms[0].takes(points)
    }

    /// Queues a pass over `points`, as many at a time as a room takes; `sum` gets what was found as far
    /// as slots are needed again.
    pub(super) fn pass_over<S: Summed>(
        &mut self,
        passes: &Passes,
        slots: &mut PartialSums,
        points: &Points<'_>,
        (part, sum): (&mut S, &mut S),
    ) -> Result<(), DriverError> {
        let capacity = self.capacity();
        for start in (0..points.len()).step_by(capacity) {
            let end = points.len().min(start.saturating_add(capacity));
            let room = self.fill(points, start..end)?;
            // The upload is on its way while the host waits for the launch before.
            if slots.is_full() {
                slots.collect(part, sum)?;
            }
            passes.kernels.passes.driver.fence()?;
            passes.queue(S::KIND, room, slots.next())?;
        }
        Ok(())
    }

    /// The room that was used before last, with these points.
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
