//! A device with a compiler for it, the kernels that it has loaded, and the devices of this process.

use super::cache::{Cache, Origin};
use super::cuda_driver::{self, CudaDriver};
use super::driver::{Driver, DriverError, Geometry, Module, Properties};
use super::memory::Pooled;
use super::nvrtc::Nvrtc;
use super::probe;
use crate::backend::choice::Devices;
use crate::backend::cuda::driver::{CompileError, Compiler};
use crate::error::no_cuda::NoCuda;
use crate::observe::span;
use crate::threads::lock;
use std::sync::{Arc, Mutex, OnceLock};

/// Maximum number of loaded translation units; the least recently used unit is unloaded first.
const MAX_LOADED: usize = 64;

/// Minimum number of resident blocks of a pass: `RESIDENT_BLOCKS` in `kernels/reduce.cuh`.
const GUARANTEED_BLOCKS: u32 = 2;

/// A device with its own queues. Fits that share a `Device` wait for each other's work, but not for the work of fits
/// with another `Device`, even on the same GPU.
pub(crate) struct Device {
    pub(crate) driver: Arc<dyn Driver>,
    compiler: Arc<dyn Compiler>,
    cache: &'static Cache,
    loaded: Mutex<KernelList>,
}

/// Sources and their kernels; the most recently used is the last.
type KernelList = Vec<(Arc<str>, Arc<LoadedKernels>)>;

/// The loaded kernels of one translation unit.
pub(crate) struct LoadedKernels {
    pub(crate) driver: Arc<dyn Driver>,
    module: Module,
    /// Number of resident blocks of the pass, from its first fit on.
    resident: OnceLock<u32>,
}

/// Error of compiling or loading kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// Error of the compiler, with the source.
    Compile {
        error: CompileError,
        source: Arc<str>,
    },
    Driver(DriverError),
}

impl From<DriverError> for LoadError {
    fn from(error: DriverError) -> LoadError {
        LoadError::Driver(error)
    }
}

impl Device {
    pub(crate) fn new(
        driver: Arc<dyn Driver>,
        compiler: Arc<dyn Compiler>,
        cache: &'static Cache,
    ) -> Device {
        Device { driver, compiler, cache, loaded: Mutex::default() }
    }

    pub(crate) fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    /// Returns the architecture in the notation of NVIDIA's compilers, such as `sm_90`.
    pub(crate) fn architecture(&self) -> String {
        let (major, minor) = self.properties().capability;
        format!("sm_{major}{minor}")
    }

    /// Returns the kernels of `source`; compiles and loads them if necessary. Other fits do not wait
    /// for the compilation; two concurrent fits with the same source may both compile it.
    pub(crate) fn kernels(
        &self,
        source: &Arc<str>,
    ) -> Result<(Arc<LoadedKernels>, Origin), LoadError> {
        if let Some(ready) = self.ready(source) {
            return Ok((ready, Origin::Memory));
        }
        let (kernels, origin) = self.compiled(source)?;
        let kernels = Arc::new(kernels);
        let mut loaded = lock(&self.loaded);
        if loaded.len() >= MAX_LOADED {
            loaded.remove(0);
        }
        loaded.push((source.clone(), kernels.clone()));
        Ok((kernels, origin))
    }

    /// Loads the kernels of `source`. If the driver rejects an image from the cache, the source is compiled again.
    fn compiled(&self, source: &Arc<str>) -> Result<(LoadedKernels, Origin), LoadError> {
        let (compiler, capability) = (&*self.compiler, self.properties().capability);
        let image = || {
            let refused = |error| LoadError::Compile { error, source: source.clone() };
            self.cache.image(compiler, source, capability).map_err(refused)
        };
        let (made, origin) = image()?;
        match LoadedKernels::load(&self.driver, &made.bytes) {
            Ok(kernels) => Ok((kernels, origin)),
            Err(DriverError::Failed { .. }) if origin != Origin::Compiler => {
                self.cache.forget(compiler, source, capability);
                let (made, origin) = image()?;
                Ok((LoadedKernels::load(&self.driver, &made.bytes)?, origin))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the kernels of `source` are loaded or cached in memory, so that no compiler is needed.
    pub(crate) fn is_loaded(&self, source: &Arc<str>) -> bool {
        let is_here = lock(&self.loaded).iter().any(|(s, _)| Arc::ptr_eq(s, source) || s == source);
        is_here || self.cache.is_in_memory(&*self.compiler, source, self.properties().capability)
    }

    /// Returns the kernels of `source` if they are loaded, and marks them as the most recently used.
    fn ready(&self, source: &Arc<str>) -> Option<Arc<LoadedKernels>> {
        let mut loaded = lock(&self.loaded);
        let found = loaded.iter().position(|(s, _)| Arc::ptr_eq(s, source) || s == source)?;
        let entry = loaded.remove(found);
        let kernels = entry.1.clone();
        loaded.push(entry);
        Some(kernels)
    }
}

impl LoadedKernels {
    /// Loads a compiled image.
    pub(crate) fn load(
        driver: &Arc<dyn Driver>,
        image: &[u8],
    ) -> Result<LoadedKernels, DriverError> {
        let _span = span!(DEBUG, "load", bytes = image.len());
        let module = driver.load(image)?;
        Ok(LoadedKernels { module, driver: driver.clone(), resident: OnceLock::new() })
    }

    /// Prefers `percent` percent of shared memory for `kernel`, and L1 cache for the rest.
    pub(crate) fn prefer_shared(&self, kernel: &str, percent: u8) {
        self.driver.prefer_shared(self.module, kernel, percent);
    }

    /// Returns the number of blocks of `threads` threads of the pass of this unit that are resident on a multiprocessor at
    /// a time. If the driver does not know it, this is the number that the launch bounds of every pass guarantee.
    pub(crate) fn resident_blocks(&self, pass: &str, threads: u32) -> u32 {
        let ask = || {
            // Passes read each number once; therefore they have no use for a cache in place of shared memory.
            self.prefer_shared(pass, 100);
            self.driver.resident_blocks(self.module, pass, threads).unwrap_or(GUARANTEED_BLOCKS)
        };
        *self.resident.get_or_init(ask)
    }

    /// Starts `kernel`; `arguments` are the bytes of its parameters.
    pub(crate) fn launch(
        &self,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        self.driver.launch(self.module, kernel, geometry, arguments)
    }
}

impl Drop for LoadedKernels {
    fn drop(&mut self) {
        self.driver.unload(self.module);
    }
}

/// Devices that fits of this process have used, by number. A device that several fits used concurrently has several
/// entries.
static OPEN: Mutex<Vec<(usize, Arc<Device>)>> = Mutex::new(Vec::new());

/// Maximum number of concurrent fits on a device with their own queues; further fits share queues.
const MOST_AT_ONCE: usize = 4;
/// Maximum size of the memory pool of each entry of a device except the first, in bytes.
const KEPT_BESIDE: usize = 32 << 20;

/// Returns device number `ordinal` with its compiler, if possible with queues that no other fit uses. A lost device is
/// opened again.
pub(crate) fn open(ordinal: usize) -> Result<Arc<Device>, NoCuda> {
    probe::device(ordinal)?;
    let mut devices = lock(&OPEN);
    // If one entry of the device is lost, all are.
    if devices.iter().any(|(n, device)| *n == ordinal && device.driver.is_lost()) {
        devices.retain(|(n, _)| *n != ordinal);
    }
    let those = devices.iter().filter(|(n, _)| *n == ordinal).map(|(_, device)| device);
    let opened = those.clone().count();
    if let Some(least) = those.min_by_key(|device| Arc::strong_count(device))
        && (Arc::strong_count(least) == 1 || opened == MOST_AT_ONCE)
    {
        return Ok(least.clone());
    }
    let driver = Arc::new(CudaDriver::new(ordinal)?);
    let properties = driver.properties();
    let nvrtc = Nvrtc::find(properties.capability, properties.driver_version)?;
    let pooled = match opened {
        0 => Pooled::new(driver),
        _ => Pooled::keeping(driver, KEPT_BESIDE),
    };
    let device = Arc::new(Device::new(Arc::new(pooled), nvrtc, Cache::shared()));
    devices.push((ordinal, device.clone()));
    Ok(device)
}

/// Returns the default device: the device of `DUALFIT_DEVICE`, or the first.
pub(crate) fn preferred() -> Result<Arc<Device>, NoCuda> {
    open(probe::preferred()?)
}

/// Returns the numbers of the selected devices. The number of a single selected device is not checked.
pub(crate) fn numbers(devices: Devices) -> Result<Vec<usize>, NoCuda> {
    if let Devices::One(number) = devices {
        return Ok(vec![number]);
    }
    let numbers = devices.numbers(probe::driver()?.devices);
    if numbers.is_empty() { Err(NoCuda::NoneNamed) } else { Ok(numbers) }
}

/// Returns the numbers of the devices of the same kind as this preferred device, which are used with it by default.
pub(crate) fn beside(preferred: &Device) -> Vec<usize> {
    let mine = preferred.properties();
    let alike = |&other: &usize| {
        let described = cuda_driver::describe(other);
        other != mine.ordinal && described.is_ok_and(|(other, _)| other.is_like(mine))
    };
    match (probe::names_one(), probe::driver()) {
        (false, Ok(found)) => (0..found.devices).filter(alike).collect(),
        _ => Vec::new(),
    }
}

/// Returns true if a device has been opened; another fit on it does not wait for its start.
pub(crate) fn is_open() -> bool {
    !lock(&OPEN).is_empty()
}

/// Returns true if device `ordinal` has been opened.
pub(crate) fn is_open_as(ordinal: usize) -> bool {
    lock(&OPEN).iter().any(|(opened, _)| *opened == ordinal)
}
