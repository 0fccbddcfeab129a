//! Device memory that is given back when its owner goes.

use super::driver::{Address, Driver, DriverError, Queue};
use bytemuck::Pod;
use std::sync::Arc;

/// Room for `bytes` bytes on a device.
pub(crate) struct Buffer {
    driver: Arc<dyn Driver>,
    address: Address,
    bytes: usize,
}

impl Buffer {
    /// Room for `count` values of type `T`, at least one; the contents are undefined.
    pub(crate) fn of<T: Pod>(
        driver: &Arc<dyn Driver>,
        count: usize,
    ) -> Result<Buffer, DriverError> {
        let bytes = count.max(1).checked_mul(size_of::<T>());
        let bytes = bytes.ok_or(DriverError::OutOfMemory { requested: usize::MAX })?;
        let address = driver.allocate(bytes)?;
        Ok(Buffer { driver: driver.clone(), address, bytes })
    }

    /// Writes `values` from the value at `first` on; the buffer has room for them.
    pub(crate) fn write<T: Pod>(&self, first: usize, values: &[T]) -> Result<(), DriverError> {
        self.write_by(Queue::Work, first, values)
    }

    /// The same by a queue of the driver.
    pub(crate) fn write_by<T: Pod>(
        &self,
        queue: Queue,
        first: usize,
        values: &[T],
    ) -> Result<(), DriverError> {
        let offset = first * size_of::<T>();
        debug_assert!(offset + size_of_val(values) <= self.bytes);
        let to = Address(self.address.0 + offset as u64);
        match queue {
            Queue::Work => self.driver.upload(to, bytemuck::cast_slice(values)),
            Queue::Ahead => self.driver.upload_ahead(to, bytemuck::cast_slice(values)),
        }
    }

    /// Waits for the device and reads `out.len()` values from the value at `first` on.
    pub(crate) fn read<T: Pod>(&self, first: usize, out: &mut [T]) -> Result<(), DriverError> {
        let offset = first * size_of::<T>();
        debug_assert!(offset + size_of_val(out) <= self.bytes);
        let from = Address(self.address.0 + offset as u64);
        self.driver.download(from, bytemuck::cast_slice_mut(out))
    }

    /// Sets every byte to 0.
    pub(crate) fn clear(&self) -> Result<(), DriverError> {
        self.driver.clear(self.address, self.bytes)
    }

    /// The address, as a kernel takes it.
    pub(crate) fn address(&self) -> u64 {
        self.address.0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.driver.release(self.address);
    }
}
