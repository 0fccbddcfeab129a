//! Images in files of one folder: one file each, named by its key.
//!
//! A file is magic, version, key, length, payload, and the CRC-32 of all before it; a file that is
//! anything else is as good as none. It is written beside and renamed, so that several processes see
//! whole files only. When the files together exceed the limit, those that were used least recently
//! go; reading a file sets its time of modification, which tells the use.

use super::{Key, VERSION};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"dualfit\0";
/// Bytes before the payload: magic, version, key, length.
const HEADER: usize = 8 + 4 + 32 + 8;
/// Bytes after the payload.
const CRC: usize = 4;

/// Bytes of all files together where `DUALFIT_CACHE_LIMIT` does not say: some 2,000 models of
/// 100 kB.
const LIMIT: u64 = 256 << 20;

/// A file that was being written when its process ended is removed after this time.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder of images.
#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    limit: u64,
}

impl Disk {
    pub(super) fn new(folder: PathBuf, limit: u64) -> Disk {
        Disk { folder, limit }
    }

    /// The user's cache as the environment says, none if it is switched off or nowhere.
    pub(super) fn of_user() -> Option<Disk> {
        let variable = |name| env::var_os(name);
        settings(variable("DUALFIT_CACHE_DIR"), variable("DUALFIT_CACHE_LIMIT"), dirs::cache_dir)
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.image"))
    }

    /// The payload of an entry, if there is a sound one.
    pub(super) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
        // A foreign file may be of any size; an entry is within the limit.
        if length > self.limit {
            return None;
        }
        let mut entry = Vec::new();
        file.read_to_end(&mut entry).ok()?;
        let payload = payload(&entry, key)?.to_vec();
        touch(&path);
        Some(payload)
    }

    /// Writes an entry; if that fails, there is none.
    pub(super) fn write(&self, key: &Key, payload: &[u8]) {
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

    pub(super) fn remove(&self, key: &Key) {
        // What cannot be removed is found corrupt, or refused by the driver, again.
        let _ = fs::remove_file(self.path(key));
    }

    /// Removes entries other than `fresh`, the least recently used first, until all are within the
    /// limit. Another process may do the same at the same time: what is gone is gone.
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
        files.sort();
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

/// Folder and limit of the cache. `off` and the empty text switch it off; a limit that is no number
/// is as good as none.
fn settings(
    folder: Option<OsString>,
    limit: Option<OsString>,
    user: impl FnOnce() -> Option<PathBuf>,
) -> Option<Disk> {
    let folder = match folder {
        Some(folder) if folder.is_empty() || folder == "off" => return None,
        Some(folder) => PathBuf::from(folder),
        None => user()?.join("dualfit"),
    };
    let number = |limit: OsString| limit.to_str()?.trim().parse().ok();
    Some(Disk::new(folder, limit.and_then(number).unwrap_or(LIMIT)))
}

/// The bytes of a file.
fn entry(payload: &[u8], key: &Key) -> Vec<u8> {
    let mut entry = Vec::with_capacity(HEADER + payload.len() + CRC);
    entry.extend_from_slice(MAGIC);
    entry.extend_from_slice(&VERSION.to_le_bytes());
    entry.extend_from_slice(&key.0);
    entry.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    entry.extend_from_slice(payload);
    entry.extend_from_slice(&crc32fast::hash(&entry).to_le_bytes());
    entry
}

/// The payload within the bytes of a file, if they are an entry of this key.
fn payload<'entry>(entry: &'entry [u8], key: &Key) -> Option<&'entry [u8]> {
    let (body, crc) = entry.split_at_checked(entry.len().checked_sub(CRC)?)?;
    let (header, payload) = body.split_at_checked(HEADER)?;
    // The length and the key are under the CRC too, but a short file should not cost a CRC, and a
    // sound file of another key must not pass.
    let length = u64::from_le_bytes(header[HEADER - 8..].try_into().ok()?);
    let sound = length == payload.len() as u64
        && header.starts_with(MAGIC)
        && header[8..12] == VERSION.to_le_bytes()
        && header[12..44] == key.0
        && *crc == crc32fast::hash(body).to_le_bytes();
    sound.then_some(payload)
}

/// A name that no other thread or process writes to.
fn unique(key: &Key) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{key}.{}.{number}.part", std::process::id())
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    // The system's own clock for new files is coarser than uses are apart.
    file.set_modified(SystemTime::now())
}

/// Notes a use. A file that may only be read keeps its time.
fn touch(path: &Path) {
    if let Ok(file) = File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
mod tests;
