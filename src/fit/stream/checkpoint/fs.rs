//! The file system as a checkpoint needs it: few operations, each of which may fail.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// A file that is open to be read.
pub(crate) struct Readable<'a> {
    pub(crate) bytes: Box<dyn Read + 'a>,
    /// Bytes in all.
    pub(crate) length: u64,
}

/// A file that is being written.
pub(crate) trait Writable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the bytes are on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

pub(crate) trait Fs {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>>;
    /// A new file; an error if there is one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>>;
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
        Ok(Box::new(File::create_new(path)?))
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
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
