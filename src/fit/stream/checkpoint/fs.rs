//! Interface to the file system for checkpoints: a few operations, each of which may fail.

use crate::host;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is open for reading.
pub(crate) struct Readable<'a> {
    pub(crate) bytes: Box<dyn Read + 'a>,
    /// Total number of bytes.
    pub(crate) length: u64,
}

/// A file that is being written. Until it is closed, no process regards it as abandoned.
pub(crate) trait Writable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the bytes are on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

pub(crate) trait Fs {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>>;
    /// Creates a file; it is an error if the file exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>>;
    /// Returns a suffix for the name of a temporary file. No other temporary file has this suffix.
    fn unique(&self) -> String;
    /// Returns the files in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    /// Returns true if no process writes a file any more. Without locks of the file system this is unknown for files of
    /// other processes.
    fn is_abandoned(&self, path: &Path) -> io::Result<bool>;
    /// Creates a second name for a file; it is an error if a file with this name exists.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file. An existing file at `to` is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Returns when the names in a folder are on the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// The file system of the operating system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk;

impl Fs for Disk {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>> {
        // Checked before the file is opened, because opening a pipe would wait for a writer.
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
        }
        let file = File::open(path)?;
        // Read again from the open file, because another file may have received the name since.
        let length = file.metadata()?.len();
        Ok(Readable { bytes: Box::new(file), length })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>> {
        let file = File::create_new(path)?;
        // Without locks, no process regards the file as abandoned. If a process removes it before it is locked, the
        // save is repeated.
        let _ = file.try_lock();
        Ok(Box::new(file))
    }

    fn unique(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        format!("-{}-{}", host::process(), NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn is_abandoned(&self, path: &Path) -> io::Result<bool> {
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(false);
        }
        match File::open(path)?.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    #[cfg(unix)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match File::open(folder)?.sync_all() {
            // Error of file systems that cannot sync a folder.
            Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    /// Does nothing: other systems cannot open a folder, and a rename is on the disk when it returns or soon after.
    #[cfg(not(unix))]
    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Writable for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        without_signal(|| self.write_all(bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Calls `write` and returns its result. Meanwhile the signal that the system sends for a file beyond the size limit is
/// blocked: it would end the process and leave a partial file. The write itself reports the failure.
#[cfg(unix)]
fn without_signal<R>(write: impl FnOnce() -> R) -> R {
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    let mut signal = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises `signal`, and pthread_sigmask initialises `before` if it returns 0. Both
    // outlive the calls, and only this thread's mask is changed.
    let held = unsafe {
        libc::sigemptyset(signal.as_mut_ptr());
        libc::sigaddset(signal.as_mut_ptr(), libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, signal.as_ptr(), before.as_mut_ptr()) == 0
    };
    if !held {
        return write();
    }
    let was_pending = is_pending();
    let written = write();
    // SAFETY: `signal` and `before` were initialised above. sigwait returns at once, because the signal of this
    // thread is pending and blocked.
    unsafe {
        if !was_pending && is_pending() {
            libc::sigwait(signal.as_ptr(), &mut 0);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
    }
    written
}

/// Returns true if the signal is pending for this thread.
#[cfg(unix)]
fn is_pending() -> bool {
    let mut pending = std::mem::MaybeUninit::uninit();
    // SAFETY: sigpending initialises the set if it returns 0. The set is read only in this case.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && libc::sigismember(pending.as_ptr(), libc::SIGXFSZ) == 1
    }
}

/// Calls `write` and returns its result. Other systems do not have this signal.
#[cfg(not(unix))]
fn without_signal<R>(write: impl FnOnce() -> R) -> R {
    write()
}
