//! Cache of compiled kernels, in memory and on disk. A model is compiled only once, also for later
//! processes.
//!
//! The key of an image consists of source, architecture, compiler with its
//! options, and the version of this format. Failures of the disk are not errors: an
//! unreadable image is compiled again, and an image that cannot be written stays in memory.

use crate::backend::cuda::driver::{CompileError, Compiler, Image};
use crate::math::order::sort_few;
use crate::observe::span;
use crate::threads::lock;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Version of the file format and of the key. Different versions have different keys.
const VERSION: u32 = 2;

/// Key of an image: SHA-256 over everything that determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// `identity`: identity of the compiler, including its options.
    pub(crate) fn new(source: &str, capability: (u32, u32), identity: &str) -> Key {
        let mut hash = Sha256::new();
        hash.update(VERSION.to_le_bytes());
        hash.update(capability.0.to_le_bytes());
        hash.update(capability.1.to_le_bytes());
        // The lengths separate the texts.
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

/// Origin of the kernels of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Origin {
    /// The kernels were in the memory of this process.
    Memory,
    /// The kernels were in the cache on disk.
    Disk,
    /// The kernels were compiled.
    Compiler,
}

/// Entry of one image in memory. It is locked while the image is compiled; other threads with
/// the same key wait instead of compiling it again.
type ImagePlace = Arc<Mutex<Option<Image>>>;

/// Images in memory and, unless the disk cache is switched off, on disk.
#[derive(Debug)]
pub(crate) struct Cache {
    memory: Mutex<HashMap<Key, ImagePlace>>,
    disk: Option<DiskCache>,
}

impl Cache {
    fn new(disk: Option<DiskCache>) -> Cache {
        Cache { memory: Mutex::default(), disk }
    }

    /// Creates a separate cache without a disk.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Cache {
        Cache::new(None)
    }

    /// Returns the image of `source`; compiles it if it is neither in memory nor on disk. The log is the compiler's
    /// log, empty if the image was on disk.
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

    /// Returns true if the image of `source` is in memory.
    pub(crate) fn is_in_memory(
        &self,
        compiler: &dyn Compiler,
        source: &str,
        capability: (u32, u32),
    ) -> bool {
        let key = Key::new(source, capability, &compiler.identity());
        let place = lock(&self.memory).get(&key).cloned();
        // An image that is being compiled does not count.
        place.is_some_and(|place| place.try_lock().is_ok_and(|image| image.is_some()))
    }

    /// Removes an image that the driver rejected from memory and disk; the next call compiles it.
    pub(crate) fn forget(&self, compiler: &dyn Compiler, source: &str, capability: (u32, u32)) {
        let key = Key::new(source, capability, &compiler.identity());
        lock(&self.memory).remove(&key);
        if let Some(disk) = &self.disk {
            disk.remove(&key);
        }
    }
}

/// Default of `DUALFIT_CACHE_LIMIT`, the maximum size of all files together, in bytes: about 2,000 models of
/// 100 kB.
const LIMIT: u64 = 256 << 20;

/// Time after which an incomplete file of a process that ended is removed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Images in files of one folder, each named by its key.
///
/// A file consists of key, payload, and the CRC-32 of both; any other file is ignored. A file is written under a
/// temporary name and renamed, therefore other processes see complete files only. If the files together exceed the
/// limit, the least recently used files are removed; reading a file sets its modification time, which records the use.
#[derive(Debug)]
struct DiskCache {
    folder: PathBuf,
    limit: u64,
}

impl DiskCache {
    fn new(folder: PathBuf, limit: u64) -> DiskCache {
        DiskCache { folder, limit }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.image"))
    }

    /// Returns the payload of an entry, if there is a valid one.
    fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
        // A foreign file may have any size; an entry is within the limit.
        if length > self.limit {
            return None;
        }
        let mut entry = Vec::new();
        file.read_to_end(&mut entry).ok()?;
        let payload = payload(&entry, key)?.to_vec();
        touch(&path);
        Some(payload)
    }

    /// Writes an entry. If this fails, there is no entry.
    fn write(&self, key: &Key, payload: &[u8]) {
        let entry = entry(payload, key);
        if entry.len() as u64 > self.limit {
            return;
        }
        let beside = self.folder.join(unique(key));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| create(&beside, &entry))
            .and_then(|()| fs::rename(&beside, self.path(key)));
        match written {
            Ok(()) => self.keep_within_limit(key),
            Err(_) => drop(fs::remove_file(&beside)),
        }
    }

    fn remove(&self, key: &Key) {
        // If a file cannot be removed, the next read finds it corrupt again or the driver rejects it again.
        let _ = fs::remove_file(self.path(key));
    }

    /// Removes entries other than `fresh`, the least recently used first, until all are within the
    /// limit. Another process may do the same at the same time: missing entries are ignored.
    fn keep_within_limit(&self, fresh: &Key) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(used) = metadata.modified() else { continue };
            match path.extension().and_then(OsStr::to_str) {
                Some("image") if metadata.is_file() => files.push((used, metadata.len(), path)),
                Some("part") if now.duration_since(used).is_ok_and(|age| age > ABANDONED) => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
        sort_few(&mut files, Ord::cmp);
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        let fresh = self.path(fresh);
        for (_, length, path) in files {
            if total <= self.limit {
                break;
            }
            if path != fresh && fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }
}

/// Returns folder and limit of the cache. `off` and the empty text switch it off; a limit that is not a number
/// is ignored.
fn settings(
    folder: Option<OsString>,
    limit: Option<OsString>,
    user: impl FnOnce() -> Option<PathBuf>,
) -> Option<DiskCache> {
    let folder = match folder {
        Some(folder) if folder.is_empty() || folder == "off" => return None,
        Some(folder) => PathBuf::from(folder),
        None => user()?.join("dualfit"),
    };
    let number = |limit: OsString| limit.to_str()?.trim().parse().ok();
    Some(DiskCache::new(folder, limit.and_then(number).unwrap_or(LIMIT)))
}

/// Returns the bytes of a file.
fn entry(payload: &[u8], key: &Key) -> Vec<u8> {
    let mut entry = [&key.0, payload].concat();
    let crc = crc32fast::hash(&entry);
    entry.extend_from_slice(&crc.to_le_bytes());
    entry
}

/// Returns the payload within the bytes of a file, if they are an entry of this key.
fn payload<'entry>(entry: &'entry [u8], key: &Key) -> Option<&'entry [u8]> {
    let (body, crc) = entry.split_last_chunk()?;
    let is_sound = u32::from_le_bytes(*crc) == crc32fast::hash(body);
    body.strip_prefix(&key.0).filter(|_| is_sound)
}

/// Returns a file name that no other thread or process writes to.
fn unique(key: &Key) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{key}.{}.{number}.part", std::process::id())
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    // The system's clock for new files is too coarse to order uses.
    file.set_modified(SystemTime::now())
}

/// Records a use. A read-only file keeps its time.
fn touch(path: &Path) {
    if let Ok(file) = File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod tests;
#[cfg(feature = "cuda")]
mod user;
