//! The file system as a checkpoint needs it: few operations, each of which may fail.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is open to be read.
pub(crate) struct Readable<'a> {
    pub(crate) bytes: Box<dyn Read + 'a>,
    /// Bytes in all.
    pub(crate) length: u64,
}

/// A file that is being written. As long as it is, no process takes it for abandoned.
pub(crate) trait Writable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the bytes are on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

pub(crate) trait Fs {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>>;
    /// A new file; an error if there is one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>>;
    /// The end of a name that no other file that is being written has.
    fn unique(&self) -> String;
    /// The files in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    /// Returns true if no process writes a file any more. Without locks of the file system this is unknown for files of
    /// other processes.
    fn is_abandoned(&self, path: &Path) -> io::Result<bool>;
    /// A second name for a file; an error if there is a file of that name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Replaces what there is at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Returns when the names in a folder are on the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// The real one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk;

impl Fs for Disk {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>> {
        // Before it is opened: to open a pipe would wait for a writer.
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
        }
        let file = File::open(path)?;
        // Not the length from before: another file may have got the name since.
        let length = file.metadata()?.len();
        Ok(Readable { bytes: Box::new(file), length })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>> {
        let file = File::create_new(path)?;
        // Where there are no locks, nobody takes it for abandoned; and who does so before it is locked makes
        // the save begin again.
        let _ = file.try_lock();
        Ok(Box::new(file))
    }

    fn unique(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        format!("-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
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
            // What a file system says that has no such thing.
            Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    /// Elsewhere a folder cannot be opened, and renaming is on the disk when it returns or soon.
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

/// Result of `write`. The signal that the system sends for a file beyond the size limit is blocked
/// meanwhile: it would end the process and leave a partial file, and the write itself reports
/// the failure.
#[cfg(unix)]
fn without_signal<R>(write: impl FnOnce() -> R) -> R {
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    let mut signal = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigemptyset makes `signal` a set, and pthread_sigmask fills `before` where it returns 0. Both
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
    // SAFETY: `signal` and `before` were filled above. sigwait returns at once, for the signal is pending and
    // blocked; it is one of this thread's own.
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
    // SAFETY: sigpending fills the set where it returns 0, and only then is it looked at.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && libc::sigismember(pending.as_ptr(), libc::SIGXFSZ) == 1
    }
}

/// Elsewhere there is no such signal.
#[cfg(not(unix))]
fn without_signal<R>(write: impl FnOnce() -> R) -> R {
    write()
}
