//! Interfaces to a device (memory, modules, launches) and to a compiler of kernels. The real implementation uses
//! cudarc. Tests use an emulated device, and a test double that fails on demand wraps either.
//!
//! A driver runs all work in the order of the calls, except for uploads ahead and downloads of results. The former have
//! a separate queue that runs concurrently until a fence orders the two queues. The latter follow a wait of the host.

pub(crate) use crate::error::no_cuda::DriverError;

/// An address in the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address(pub(crate) u64);

/// Number of a loaded module, assigned by its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Module(pub(crate) u64);

/// Blocks of a launch and threads of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// A position in [`Queue::Work`], after the work that was queued before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) u64);

/// The queues of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Queue for kernels and for all calls that must keep their order relative to kernels.
    Work,
    /// Queue for uploads ahead, which overlap with kernels.
    Ahead,
    /// Queue for downloads that overlap with kernels and uploads.
    Results,
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
    /// Major and minor version of CUDA that the driver supports.
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

/// Interface of a device for the rest of the crate.
pub(crate) trait Driver: Send + Sync {
    fn properties(&self) -> &Properties;

    fn memory(&self) -> Result<Memory, DriverError>;

    /// Allocates at least `bytes` bytes, aligned for every type, with undefined contents. No work
    /// that was queued after the last [`fence`](Self::fence) uses the memory.
    fn allocate(&self, bytes: usize) -> Result<Address, DriverError>;

    /// As [`allocate`](Self::allocate), for memory that kernels write and the host reads: page-locked host memory.
    /// A [`download`](Self::download) from it waits, but does not copy over the bus. Kernels should not
    /// read it.
    fn allocate_mapped(&self, bytes: usize) -> Result<Address, DriverError> {
        self.allocate(bytes)
    }

    /// Releases memory of [`allocate`](Self::allocate) or [`allocate_mapped`](Self::allocate_mapped). There is no
    /// error, because a lost device has already lost its memory.
    fn release(&self, address: Address);

    /// As [`release`](Self::release), for memory that no pending work uses.
    fn release_idle(&self, address: Address) {
        self.release(address);
    }

    /// Copies to the device; `bytes` may be reused when this returns.
    ///
    /// An upload in [`Queue::Ahead`] overlaps with running work. Work that reads the copied bytes must be queued
    /// after a [`fence`](Self::fence). The destination must not be in use by work that was queued after the
    /// last fence.
    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError>;

    /// Orders [`Queue::Work`] and [`Queue::Ahead`], without waiting on the host: work queued after the fence begins after
    /// all uploads ahead before the fence; uploads ahead after the fence begin after all work before it.
    fn fence(&self) -> Result<(), DriverError>;

    /// Marks the work queued so far.
    fn mark(&self) -> Result<Mark, DriverError>;

    /// Waits for the work before a mark; if many marks followed it, possibly also for later work.
    fn wait(&self, mark: Mark) -> Result<(), DriverError>;

    /// Copies from the device. A download in [`Queue::Work`] waits for all work, including the uploads in
    /// [`Queue::Ahead`] before the last fence. A download in [`Queue::Results`] waits for no work: the caller has waited
    /// for the work that writes the bytes. [`Queue::Ahead`] has no downloads.
    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError>;

    /// Sets bytes of device memory to 0.
    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError>;

    /// Loads a module from an image that was compiled for this device.
    fn load(&self, image: &[u8]) -> Result<Module, DriverError>;

    fn unload(&self, module: Module);

    /// Sets how much of the memory on a multiprocessor is shared memory while this kernel runs, in percent; the rest is
    /// its L1 cache. This is a preference: a device that refuses it keeps its own choice.
    fn prefer_shared(&self, _module: Module, _kernel: &str, _percent: u8) {}

    /// Returns the number of blocks of `threads` threads of this kernel that are resident on a multiprocessor at a time, as
    /// far as registers and shared memory permit; `None` if that is unknown.
    fn resident_blocks(&self, _module: Module, _kernel: &str, _threads: u32) -> Option<u32> {
        None
    }

    /// Returns true if the device is lost; then every further call fails.
    fn is_lost(&self) -> bool {
        false
    }

    /// Starts a kernel. `arguments`: the bytes of each of its parameters, in order.
    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError>;
}

/// Interface to a compiler of kernels: NVRTC, or in tests the compiler of the emulation. It compiles a translation
/// unit to an image that a driver loads.
pub(crate) trait Compiler: Send + Sync {
    /// Returns name and version. Images of different compilers are kept apart in the cache.
    fn identity(&self) -> String;

    /// Compiles `source` for a device of this compute capability.
    fn compile(&self, source: &str, capability: (u32, u32)) -> Result<Image, CompileError>;
}

/// A compiled translation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// Log of the compiler, with registers and spills; empty if the kernels came from a cache.
    pub(crate) log: String,
}

/// Error of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CompileError {
    /// The compiler refused the source.
    #[error("{log}")]
    Refused { log: String },
    /// The compiler does not support the device.
    #[error(
        "{identity} does not know compute capability {}.{}; install a newer NVRTC",
        capability.0,
        capability.1
    )]
    UnknownArchitecture { capability: (u32, u32), identity: String },
    /// There is no compiler, or it failed otherwise.
    #[error("{reason}")]
    Unavailable { reason: String },
}
