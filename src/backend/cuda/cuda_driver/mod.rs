//! Implementation of the driver interface for real devices, with cudarc.
//!
//! A driver can be used from any thread. The first call that finds the device lost stores its error; every later call
//! returns this error without a CUDA call, because after a kernel fault all CUDA calls of the process fail with it.

mod context;
mod pinned;
mod staging;

use super::driver::{
    Address, Driver, DriverError, Geometry, Mark, Memory, Module, Properties, Queue,
};
use super::probe;
use crate::error::no_cuda::NoCuda;
use crate::threads::lock;
use context::{Context, Kernel, ModuleHandle};
use pinned::Pinned;
use staging::Staging;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};

/// Compute capability of the oldest supported devices. From 7.0 on the lanes of a warp are scheduled independently; the
/// kernels let parts of a warp that have diverged exchange values.
const OLDEST_DEVICE: (u32, u32) = (7, 0);

/// Size of a staging buffer for parameters and results, in bytes.
const SMALL: usize = 64 << 10;

/// Size of a staging buffer for data, in bytes. At 50 GB/s its transfer takes 40 µs, much longer than the start of a
/// copy. A million points with one variable fill it eight times, so the first fill and the last transfer, which do not
/// overlap with other work, are a small part of the time.
const LARGE: usize = 2 << 20;

/// Number and size of the staging buffers for uploads ahead. The bus stays busy for 1 ms, at 25 GB/s, while the threads
/// of the host are busy with the results of a batch.
const AHEAD: (usize, usize) = (4, 8 << 20);

/// A device with its memory, modules and streams.
#[derive(Debug)]
pub(crate) struct CudaDriver {
    context: Context,
    properties: Properties,
    modules: Mutex<Modules>,
    small: Mutex<Option<Staging>>,
    large: Mutex<Option<Staging>>,
    /// Staging buffers for uploads ahead and for results, allocated by the first of these copies.
    ahead: OnceLock<Mutex<Option<Staging>>>,
    results: OnceLock<Mutex<Option<Staging>>>,
    /// Mapped host memory that kernels write, by its address.
    mapped: Mutex<BTreeMap<u64, Arc<Pinned>>>,
    lost: OnceLock<DriverError>,
}

/// Returns the properties of device `ordinal` and its memory in bytes. No context is created, so this also works if
/// another process uses the device exclusively.
pub(crate) fn describe(ordinal: usize) -> Result<(Properties, usize), NoCuda> {
    let found = probe::device(ordinal)?;
    context::describe(ordinal, found.driver_version).map_err(refused)
}

/// Checks that the kernels can run on a device with these properties.
pub(crate) fn check_capability(properties: &Properties) -> Result<(), NoCuda> {
    let (name, capability) = (properties.name.clone(), properties.capability);
    match capability < OLDEST_DEVICE {
        true => Err(NoCuda::DeviceTooOld { name, capability, needs: OLDEST_DEVICE }),
        false => Ok(()),
    }
}

/// Queries the memory of device `ordinal`. The device is released afterwards.
pub(crate) fn memory(ordinal: usize) -> Result<Memory, NoCuda> {
    probe::device(ordinal)?;
    Context::open(ordinal).and_then(|context| context.memory()).map_err(refused)
}

/// Modules by their numbers, with the kernels that were requested so far.
#[derive(Debug, Default)]
struct Modules {
    loaded: HashMap<u64, (ModuleHandle, HashMap<String, Kernel>)>,
    last: u64,
}

impl CudaDriver {
    /// Opens device `ordinal` with its own streams, which run concurrently with the streams of other drivers.
    pub(crate) fn new(ordinal: usize) -> Result<CudaDriver, NoCuda> {
        let (properties, _) = describe(ordinal)?;
        check_capability(&properties)?;
        let context = Context::open(ordinal).map_err(refused)?;
        Ok(CudaDriver {
            properties,
            modules: Mutex::default(),
            small: Mutex::new(Staging::new(&context, 2, SMALL)),
            large: Mutex::new(Staging::new(&context, 2, LARGE)),
            ahead: OnceLock::new(),
            results: OnceLock::new(),
            mapped: Mutex::default(),
            lost: OnceLock::new(),
            context,
        })
    }

    /// Runs `calls` unless the device is lost. If they fail because the device is lost, their error is recorded.
    fn call<T>(
        &self,
        calls: impl FnOnce(&Context) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        if let Some(lost) = self.lost.get() {
            return Err(lost.clone());
        }
        calls(&self.context).inspect_err(|error| {
            if let DriverError::Lost { .. } = error {
                self.lost.get_or_init(|| error.clone());
            }
        })
    }

    /// Returns the mapped host memory that contains an address, and the offset in it, in bytes.
    fn mapped_at(&self, address: Address) -> Option<(Arc<Pinned>, usize)> {
        let mapped = lock(&self.mapped);
        let (begin, pinned) = mapped.range(..=address.0).next_back()?;
        let first = (address.0 - begin) as usize;
        (first < pinned.bytes()).then(|| (pinned.clone(), first))
    }

    /// Returns the staging buffers for data of a queue.
    fn staging(&self, context: &Context, queue: Queue) -> &Mutex<Option<Staging>> {
        let new = |(count, bytes)| Mutex::new(Staging::new(context, count, bytes));
        match queue {
            Queue::Work => &self.large,
            Queue::Ahead => self.ahead.get_or_init(|| new(AHEAD)),
            Queue::Results => self.results.get_or_init(|| new((2, LARGE))),
        }
    }

    fn kernel(&self, module: Module, name: &str) -> Result<Kernel, DriverError> {
        let mut modules = lock(&self.modules);
        let Some((handle, kernels)) = modules.loaded.get_mut(&module.0) else {
            let (call, text) = ("cuModuleGetFunction", "the module is not loaded".into());
            return Err(DriverError::Failed { call, code: 400, text });
        };
        if let Some(&kernel) = kernels.get(name) {
            return Ok(kernel);
        }
        let kernel = self.context.kernel(*handle, name)?;
        kernels.insert(name.to_owned(), kernel);
        Ok(kernel)
    }
}

impl Driver for CudaDriver {
    fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<Memory, DriverError> {
        self.call(Context::memory)
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        self.call(|context| context.allocate(bytes))
    }

    fn allocate_mapped(&self, bytes: usize) -> Result<Address, DriverError> {
        match self.call(|context| context.pinned(bytes)) {
            Ok(pinned) => {
                let address = pinned.address();
                lock(&self.mapped).insert(address.0, Arc::new(pinned));
                Ok(address)
            }
            Err(lost @ DriverError::Lost { .. }) => Err(lost),
            // If the host has no free page-locked memory, device memory is used.
            Err(_) => self.allocate(bytes),
        }
    }

    fn release(&self, address: Address) {
        let mapped = lock(&self.mapped).remove(&address.0);
        if let Some(pinned) = mapped {
            let _ = self.call(Context::synchronize_all);
            if let Some(pinned) = Arc::into_inner(pinned) {
                self.context.free_pinned(pinned);
            }
            return;
        }
        // If memory cannot be freed, the device is lost, and the next call reports that.
        let _ = self.call(|context| context.free(address));
    }

    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.call(|context| {
            let staging = match queue {
                Queue::Work if bytes.len() <= SMALL => {
                    return match &mut *lock(&self.small) {
                        Some(staging) => staging.upload(context, to, bytes, queue),
                        None => context.upload(to, bytes, queue),
                    };
                }
                _ => self.staging(context, queue),
            };
            // If the buffers are in use or could not be allocated, a slower copy without them is made.
            match &mut try_lock(staging).as_deref_mut() {
                Some(Some(staging)) => staging.upload(context, to, bytes, queue),
                _ => context.upload(to, bytes, queue),
            }
        })
    }

    fn fence(&self) -> Result<(), DriverError> {
        self.call(Context::fence)
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        self.call(Context::mark)
    }

    fn wait(&self, mark: Mark) -> Result<(), DriverError> {
        self.call(|context| context.wait(mark))
    }

    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError> {
        if bytes.is_empty() {
            return self.call(|context| context.synchronize(queue));
        }
        let mapped = self.mapped_at(from);
        self.call(|context| {
            if let Some((pinned, first)) = &mapped {
                return context.read_pinned(pinned, *first, bytes);
            }
            if queue == Queue::Work
                && bytes.len() <= SMALL
                && let Some(staging) = &mut *lock(&self.small)
            {
                return staging.download(context, from, bytes, queue);
            }
            match &mut try_lock(self.staging(context, queue)).as_deref_mut() {
                Some(Some(staging)) => staging.download(context, from, bytes, queue),
                _ => context.download(from, bytes, queue),
            }
        })
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        match bytes {
            0 => Ok(()),
            _ => self.call(|context| context.clear(at, bytes)),
        }
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        let handle = self.call(|context| context.load(image))?;
        let mut modules = lock(&self.modules);
        modules.last += 1;
        let number = modules.last;
        modules.loaded.insert(number, (handle, HashMap::new()));
        Ok(Module(number))
    }

    fn unload(&self, module: Module) {
        if let Some((handle, _)) = lock(&self.modules).loaded.remove(&module.0) {
            let _ = self.call(|context| context.unload(handle));
        }
    }

    fn prefer_shared(&self, module: Module, kernel: &str, percent: u8) {
        let _ = self.call(|context| context.prefer_shared(self.kernel(module, kernel)?, percent));
    }

    fn resident_blocks(&self, module: Module, kernel: &str, threads: u32) -> Option<u32> {
        self.call(|context| context.resident_blocks(self.kernel(module, kernel)?, threads)).ok()
    }

    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        self.call(|context| context.launch(self.kernel(module, kernel)?, geometry, arguments))
    }
}

impl Drop for CudaDriver {
    fn drop(&mut self) {
        let _ = self.call(Context::synchronize_all);
        let modules = std::mem::take(&mut *lock(&self.modules));
        for (handle, _) in modules.loaded.into_values() {
            let _ = self.call(|context| context.unload(handle));
        }
        for staging in
            [&self.small, &self.large].into_iter().chain(self.ahead.get()).chain(self.results.get())
        {
            if let Some(staging) = lock(staging).take() {
                staging.free(&self.context);
            }
        }
    }
}

/// Returns the buffers, unless they are in use. While a thread of the pool waits for pieces of a copy, it may run a
/// task of another fit; if that task waited for this lock, the thread would wait for itself.
fn try_lock<T>(buffers: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match buffers.try_lock() {
        Ok(buffers) => Some(buffers),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns the reason why an existing device cannot be opened.
pub(crate) fn refused(error: DriverError) -> NoCuda {
    match error {
        DriverError::OutOfMemory { requested } => {
            NoCuda::InitFailed { code: 2, text: format!("no {requested} bytes of memory left") }
        }
        DriverError::Lost { call, code, text } | DriverError::Failed { call, code, text } => {
            NoCuda::InitFailed { code, text: format!("{text} in {call}") }
        }
    }
}

#[cfg(test)]
mod ahead_tests;
#[cfg(test)]
mod tests;
