//! The seam to a device: memory, modules, launches. cudarc is one side of it; in tests an emulation
//! of the device is another, and a double that fails on demand wraps either.
//!
//! All work of a driver is done in the order of the calls, but for copies ahead: they have a queue of
//! their own, which runs beside the other until a fence puts the two in order.

pub(crate) use crate::error::driver::DriverError;

/// An address in the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address(pub(crate) u64);

/// A loaded module, as its driver numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Module(pub(crate) u64);

/// Blocks of a launch and threads of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// The queues of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// For kernels and all that has to keep its order with them.
    Work,
    /// For copies ahead.
    Ahead,
}

/// Device memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) free: usize,
    pub(crate) total: usize,
}

/// Properties of a device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Properties {
    pub(crate) ordinal: usize,
    pub(crate) name: String,
    /// Compute capability, major and minor: 9.0 is sm_90.
    pub(crate) capability: (u32, u32),
    pub(crate) multiprocessors: u32,
    /// Clock of the multiprocessors.
    pub(crate) clock_hertz: f64,
    /// Peak rate of the device's memory.
    pub(crate) memory_bytes_per_second: f64,
    /// Major and minor version of CUDA that the driver speaks.
    pub(crate) driver_version: (u32, u32),
    /// True if the system ends kernels after some seconds, as on a card that drives a display.
    pub(crate) has_time_limit: bool,
}

impl Properties {
    /// Returns true if both devices are the same product and therefore give the same bits.
    pub(crate) fn is_like(&self, other: &Properties) -> bool {
        (&self.name, self.capability, self.multiprocessors)
            == (&other.name, other.capability, other.multiprocessors)
    }
}

/// A device as the rest of the crate sees it.
pub(crate) trait Driver: Send + Sync {
    fn properties(&self) -> &Properties;

    fn memory(&self) -> Result<Memory, DriverError>;

    /// Memory of at least `bytes` bytes, aligned for every type, its contents undefined. No work
    /// that was queued after the last [`fence`](Self::fence) uses it.
    fn allocate(&self, bytes: usize) -> Result<Address, DriverError>;

    /// Memory that work writes and the host reads, as [`allocate`](Self::allocate) gives it otherwise: page-locked memory
    /// of the host, so that a [`download`](Self::download) waits and copies nothing over the bus. Kernels should not
    /// read it.
    fn allocate_mapped(&self, bytes: usize) -> Result<Address, DriverError> {
        self.allocate(bytes)
    }

    /// Gives back what either of them gave. A device that is lost has nothing to give
    /// back, so there is no error.
    fn release(&self, address: Address);

    /// The same of memory that nothing on its way uses.
    fn release_idle(&self, address: Address) {
        self.release(address);
    }

    /// Copies to the device; `bytes` may be reused when this returns.
    ///
    /// An upload ahead overlaps with running work. Work that reads the copied bytes must be queued
    /// after a [`fence`](Self::fence). The destination must not be in use by work that was queued after the
    /// last fence.
    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError>;

    /// Puts the queues in order without waiting for either: work of later calls begins when the uploads
    /// ahead of earlier calls are done, and later uploads ahead begin when the work of earlier calls is.
    fn fence(&self) -> Result<(), DriverError>;

    /// Waits for all work, for uploads ahead only as far as a fence requires it, and copies from the device. A download
    /// ahead waits only for work that was queued before the last fence.
    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError>;

    /// Sets bytes of device memory to 0.
    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError>;

    /// Loads what a compiler made for this device.
    fn load(&self, image: &[u8]) -> Result<Module, DriverError>;

    fn unload(&self, module: Module);

    /// Returns true if the device is lost; then every further call fails.
    fn is_lost(&self) -> bool {
        false
    }

    /// Starts a kernel; `arguments` are the bytes of each of its parameters, in order.
    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError>;
}
