//! The points of one fit in the memory of a device.

use super::driver::{Driver, DriverError, Queue};
use super::interface::{DataLayout, Filled, Size};
use super::memory::Buffer;
use super::source::{Storage, Weighting};
use crate::data::points::Points;
use crate::data::values::{Values, each};
use crate::observe::span;
use std::ops::Range;
use std::sync::Arc;

/// Number of points that are gathered or weighted at a time before the upload.
const STAGED: usize = 1 << 16;

/// Device memory for points, and the number of points in it.
pub(crate) struct DevicePoints {
    /// The columns of x, then y.
    columns: Vec<(Storage, Buffer)>,
    weight: Option<Buffer>,
    constant_weight: f64,
    /// Capacity of the buffers, in points.
    pub(crate) capacity: usize,
    /// Number of points in the buffers.
    pub(crate) points: usize,
    /// For resident points: number of points of a segment, and for each segment the number of points before its end on
    /// this device.
    pub(crate) segment: usize,
    ends: Vec<usize>,
}

/// Returns the bytes of a column.
pub(super) fn bytes<'a>(values: &Values<'a>) -> &'a [u8] {
    each!(values, v => bytemuck::cast_slice(v))
}

/// Returns the storage of the columns of x, and of y.
pub(crate) fn storages(points: &Points<'_>) -> (Vec<Storage>, Storage) {
    (points.columns.iter().map(Values::storage).collect(), points.y.storage())
}

/// Returns the kind of weights of the points.
pub(crate) fn weighting(points: &Points<'_>) -> Weighting {
    match points.sigmas() {
        Some(_) => Weighting::Each,
        None if points.weight(0) != 1.0 => Weighting::Same,
        None => Weighting::One,
    }
}

/// Returns the columns of x, then y.
fn columns<'p, 'a>(points: &'p Points<'a>) -> impl Iterator<Item = &'p Values<'a>> {
    points.columns.iter().chain([&points.y])
}

/// Returns the size of one point of `points` on a device, in bytes.
pub(crate) fn bytes_per_point(points: &Points<'_>) -> usize {
    let weight = if points.sigmas().is_some() { size_of::<f64>() } else { 0 };
    columns(points).map(|c| c.storage().bytes()).sum::<usize>() + weight
}

/// Returns the number of points in `range` that are not left out.
fn counted(points: &Points<'_>, range: Range<usize>) -> usize {
    match points.is_filtered() {
        true => range.filter(|&i| points.counts(i)).count(),
        false => range.len(),
    }
}

impl DevicePoints {
    /// Allocates memory for `capacity` points of the kind of `points`.
    pub(crate) fn room(
        driver: &Arc<dyn Driver>,
        points: &Points<'_>,
        capacity: usize,
    ) -> Result<DevicePoints, DriverError> {
        let column = |values: &Values<'_>| {
            let kind = values.storage();
            Ok((kind, Buffer::items(driver, capacity, kind.bytes())?))
        };
        Ok(DevicePoints {
            columns: columns(points).map(column).collect::<Result<_, DriverError>>()?,
            weight: match points.sigmas() {
                Some(_) => Some(Buffer::of::<f64>(driver, capacity)?),
                None => None,
            },
            constant_weight: points.weight(0),
            capacity,
            points: 0,
            segment: usize::MAX,
            ends: Vec::new(),
        })
    }

    /// Uploads the points in `range` that are not left out. `range` begins at a segment boundary; `segment` is
    /// the number of points of a segment. `most_bytes`: upper limit of their size.
    pub(crate) fn of(
        driver: &Arc<dyn Driver>,
        points: &Points<'_>,
        (range, segment): (Range<usize>, usize),
        most_bytes: usize,
    ) -> Result<DevicePoints, DriverError> {
        let mut count = 0;
        let parts =
            range.clone().step_by(segment).map(|begin| begin..begin.saturating_add(segment));
        let ends = parts.map(|part| {
            count += counted(points, part.start..part.end.min(range.end));
            count
        });
        let ends: Vec<usize> = ends.collect();
        let requested = count.saturating_mul(bytes_per_point(points));
        if requested > most_bytes {
            return Err(DriverError::OutOfMemory { requested });
        }
        let mut resident = DevicePoints::room(driver, points, count)?;
        resident.fill(points, range, Queue::Work)?;
        Ok(DevicePoints { segment, ends, ..resident })
    }

    /// Returns the number of segments of resident points.
    pub(super) fn segments(&self) -> usize {
        self.ends.len()
    }

    /// Returns the range of the segment `index` of resident points.
    pub(super) fn segment(&self, index: usize) -> Range<usize> {
        index.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[index]
    }

    /// Returns true if the buffers have the number types of `points`, and weights if `points` have sigmas.
    pub(crate) fn takes(&self, points: &Points<'_>) -> bool {
        let mine = self.columns.iter().map(|(storage, _)| *storage);
        mine.eq(columns(points).map(Values::storage))
            && self.weight.is_some() == points.sigmas().is_some()
    }

    /// Replaces the contents by the points in `range` that are not left out. `queue` uploads the points, which must
    /// fit into the capacity.
    pub(crate) fn fill(
        &mut self,
        points: &Points<'_>,
        range: Range<usize>,
        queue: Queue,
    ) -> Result<(), DriverError> {
        let _span = span!(DEBUG, "upload", points = range.len());
        self.points = 0;
        if self.weight.is_none() {
            self.constant_weight = points.weight(0);
        }
        if !points.is_filtered() {
            for ((_, buffer), values) in self.columns.iter().zip(columns(points)) {
                buffer.write(queue, 0, bytes(&values.part(range.clone())))?;
            }
        }
        let mut kept = Vec::new();
        let mut weights = Vec::new();
        for start in range.clone().step_by(STAGED) {
            let part = start..range.end.min(start + STAGED);
            let count = if points.is_filtered() {
                kept.clear();
                kept.extend(part.clone().filter(|&i| points.counts(i)));
                for ((_, buffer), values) in self.columns.iter().zip(columns(points)) {
                    send_picked(buffer, (queue, self.points), values, &kept)?;
                }
                kept.len()
            } else {
                part.len()
            };
            if let Some(buffer) = &self.weight {
                weights.clear();
                match points.is_filtered() {
                    true => weights.extend(kept.iter().map(|&i| points.weight(i))),
                    false => weights.extend(part.map(|i| points.weight(i))),
                }
                buffer.write(queue, self.points, &weights)?;
            }
            self.points += count;
        }
        Ok(())
    }

    /// Returns the kernel argument `Data` of the points in `part`. `loss_scale` is in row units.
    pub(crate) fn data(&self, loss_scale: f64, part: Range<usize>) -> Vec<u8> {
        let x = self.columns.len() - 1;
        let size = Size { columns: x, params: 0, free: 0 };
        let mut data = Filled::<DataLayout>::new(size);
        let of = data.layout.clone();
        let from = |buffer: &Buffer, bytes: usize| buffer.address() + (part.start * bytes) as u64;
        let addresses = self.columns.iter().map(|(kind, buffer)| from(buffer, kind.bytes()));
        data.set(&of.x, addresses.clone().take(x));
        data.set(&of.y, addresses.skip(x));
        data.set(&of.weight, self.weight.as_ref().map(|weight| from(weight, size_of::<f64>())));
        data.set(&of.constant_weight, [self.constant_weight]);
        data.set(&of.loss_scale, [loss_scale]);
        data.set(&of.points, [part.len()]);
        bytemuck::cast_slice(&data.words).to_vec()
    }

    /// Returns the size of the allocated device memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|(_, buffer)| buffer.bytes());
        columns.sum::<usize>() + self.weight.as_ref().map_or(0, Buffer::bytes)
    }
}

fn send_picked(
    buffer: &Buffer,
    (queue, first): (Queue, usize),
    values: &Values<'_>,
    index: &[usize],
) -> Result<(), DriverError> {
    fn picked<T: Copy>(values: &[T], index: &[usize]) -> Vec<T> {
        index.iter().map(|&i| values[i]).collect()
    }
    each!(values, v => buffer.write(queue, first, &picked(v, index)))
}
