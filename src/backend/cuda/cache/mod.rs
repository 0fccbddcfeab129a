//! Images of kernels, kept for the process in memory and for the next one on disk, so that a model
//! is compiled once.
//!
//! An image is known by everything that it was made of: source, architecture, compiler with its
//! options, and the version of this format. Nothing that is wrong with the disk is an error: what
//! cannot be read is compiled again, what cannot be written stays in memory.

mod disk;

use super::compiler::{CompileError, Compiler, Image};
use crate::observe::span;
use disk::Disk;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Version of the files' format and of what goes into a key. Another version is another key.
const VERSION: u32 = 1;

/// What an image is known by: SHA-256 over everything that it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// `identity` is that of the compiler, its options among it.
    pub(crate) fn new(source: &str, capability: (u32, u32), identity: &str) -> Key {
        let mut hash = Sha256::new();
        hash.update(VERSION.to_le_bytes());
        hash.update(capability.0.to_le_bytes());
        hash.update(capability.1.to_le_bytes());
        // Lengths keep the texts apart.
        for text in [identity, source] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        Key(hash.finalize().into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where the kernels of a fit came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Origin {
    /// An earlier fit of this process had them.
    Memory,
    /// They were in the cache on disk.
    Disk,
    /// They were compiled.
    Compiler,
}

/// The place of one image in memory. It is locked while the image is compiled, so that threads that
/// want the same one wait for it instead of compiling it too.
type Slot = Arc<Mutex<Option<Image>>>;

/// Images in memory and, unless it is switched off, on disk.
#[derive(Debug)]
pub(crate) struct Cache {
    memory: Mutex<HashMap<Key, Slot>>,
    disk: Option<Disk>,
}

impl Cache {
    fn new(disk: Option<Disk>) -> Cache {
        Cache { memory: Mutex::default(), disk }
    }

    /// The cache of this process. `DUALFIT_CACHE_DIR` and `DUALFIT_CACHE_LIMIT` are read once.
    pub(crate) fn shared() -> &'static Cache {
        static SHARED: OnceLock<Cache> = OnceLock::new();
        SHARED.get_or_init(|| Cache::new(Disk::of_user()))
    }

    /// A cache of its own without a disk.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Cache {
        Cache::new(None)
    }

    /// The image of `source`, compiled if it is neither in memory nor on disk. The log is that of
    /// the compiler, empty if the image was on disk.
    pub(crate) fn image(
        &self,
        compiler: &dyn Compiler,
        source: &str,
        capability: (u32, u32),
    ) -> Result<(Image, Origin), CompileError> {
        let key = Key::new(source, capability, &compiler.identity());
        let slot = lock(&self.memory).entry(key).or_default().clone();
        let mut slot = lock(&slot);
        if let Some(image) = &*slot {
            return Ok((image.clone(), Origin::Memory));
        }
        let stored = self.disk.as_ref().and_then(|disk| disk.read(&key));
        let (image, origin) = match stored {
            Some(bytes) => (Image { bytes, log: String::new() }, Origin::Disk),
            None => {
                let _span = span!(DEBUG, "compile", bytes = source.len());
                (compiler.compile(source, capability)?, Origin::Compiler)
            }
        };
        if let (Some(disk), Origin::Compiler) = (&self.disk, origin) {
            disk.write(&key, &image.bytes);
        }
        *slot = Some(image.clone());
        Ok((image, origin))
    }

    /// Forgets an image that the driver refused, on disk too: the next call compiles it.
    pub(crate) fn forget(&self, compiler: &dyn Compiler, source: &str, capability: (u32, u32)) {
        let key = Key::new(source, capability, &compiler.identity());
        lock(&self.memory).remove(&key);
        if let Some(disk) = &self.disk {
            disk.remove(&key);
        }
    }
}

/// Locks; a thread that panicked while it held the lock left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
