//! A device with a compiler for it, and the kernels that it has loaded.

use super::cache::{Cache, Origin};
use super::compiler::{CompileError, Compiler};
use super::driver::{Driver, DriverError, Geometry, Module, Properties};
use crate::observe::span;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Translation units that stay loaded; the one that was not used for longest goes first.
const MAX_LOADED: usize = 64;

/// A device, shared by all fits on it.
pub(crate) struct Device {
    pub(crate) driver: Arc<dyn Driver>,
    compiler: Arc<dyn Compiler>,
    cache: &'static Cache,
    loaded: Mutex<Loaded>,
}

/// Sources and their kernels, the one used last at the end.
type Loaded = Vec<(Arc<str>, Arc<Kernels>)>;

/// The loaded kernels of one translation unit.
pub(crate) struct Kernels {
    pub(crate) driver: Arc<dyn Driver>,
    module: Module,
}

/// Why kernels cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// With the source that was to be compiled.
    Compile {
        error: CompileError,
        source: Arc<str>,
    },
    Driver(DriverError),
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

    /// As the driver's tools name it.
    pub(crate) fn architecture(&self) -> String {
        let (major, minor) = self.properties().capability;
        format!("sm_{major}{minor}")
    }

    /// The kernels of `source`, compiled and loaded unless they are already. Other fits are not held
    /// up while it compiles; two that want the same source at once may both compile it.
    pub(crate) fn kernels(&self, source: &Arc<str>) -> Result<(Arc<Kernels>, Origin), LoadError> {
        if let Some(ready) = self.ready(source) {
            return Ok((ready, Origin::Memory));
        }
        let (module, origin) = self.module(source)?;
        let kernels = Arc::new(Kernels { driver: self.driver.clone(), module });
        let mut loaded = self.loaded();
        if loaded.len() >= MAX_LOADED {
            loaded.remove(0);
        }
        loaded.push((source.clone(), kernels.clone()));
        Ok((kernels, origin))
    }

    /// An image of `source` in the device. One from the cache that the driver refuses is made anew.
    fn module(&self, source: &Arc<str>) -> Result<(Module, Origin), LoadError> {
        let capability = self.properties().capability;
        let refused = |error| LoadError::Compile { error, source: source.clone() };
        let (compiler, cache) = (&*self.compiler, self.cache);
        let (image, origin) = cache.image(compiler, source, capability).map_err(refused)?;
        let _span = span!(DEBUG, "load", bytes = image.bytes.len());
        match self.driver.load(&image.bytes) {
            Ok(module) => Ok((module, origin)),
            Err(DriverError::Failed { .. }) if origin != Origin::Compiler => {
                cache.forget(compiler, source, capability);
                let (image, origin) = cache.image(compiler, source, capability).map_err(refused)?;
                Ok((self.driver.load(&image.bytes).map_err(LoadError::Driver)?, origin))
            }
            Err(error) => Err(LoadError::Driver(error)),
        }
    }

    /// Whether the kernels of `source` need no compiler any more.
    pub(crate) fn is_loaded(&self, source: &Arc<str>) -> bool {
        self.loaded().iter().any(|(s, _)| Arc::ptr_eq(s, source) || s == source)
    }

    /// The kernels of `source` if they are loaded, which then count as used last.
    fn ready(&self, source: &Arc<str>) -> Option<Arc<Kernels>> {
        let mut loaded = self.loaded();
        let found = loaded.iter().position(|(s, _)| Arc::ptr_eq(s, source) || s == source)?;
        let entry = loaded.remove(found);
        let kernels = entry.1.clone();
        loaded.push(entry);
        Some(kernels)
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kernels {
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

impl Drop for Kernels {
    fn drop(&mut self) {
        self.driver.unload(self.module);
    }
}
