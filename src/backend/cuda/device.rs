//! A device with a compiler for it and the kernels that it has loaded.

use super::cache::{Cache, Origin};
use super::driver::{Driver, DriverError, Geometry, Module, Properties};
use crate::backend::cuda::driver::{CompileError, Compiler};
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
