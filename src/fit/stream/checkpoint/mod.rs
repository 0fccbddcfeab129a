//! The checkpoint of a fit: a file with its progress, and the previous checkpoint.
//!
//! The newest checkpoint is at the user's path, the previous one at the same path with `.1` appended. A new checkpoint
//! is written to a temporary file and synced to the disk. Then the current checkpoint gets the second name `.1` as a
//! link, or is copied if the file system has no links. Finally the new file is renamed to the path and replaces the
//! current checkpoint. Therefore the path has a complete file at every moment, even if power fails and the disk makes
//! the changes of names in another order. Without a file at the path there is no checkpoint, even if `.1` exists: a
//! user who removes the file restarts the fit.
//!
//! Several processes may run the same fit with one checkpoint, and each can resume from the checkpoints of the others.
//! A temporary file of a killed process is not locked any more; the next process that saves removes it.
//!
//! If the newest file is damaged and the previous checkpoint is sound, the previous checkpoint is used; a damaged file
//! never becomes the previous checkpoint. If the newest file is a sound checkpoint of another fit, or if it cannot be
//! read, loading is an error. A file that loading refuses is not overwritten. A file that does not begin with the bytes
//! of a checkpoint is not removed, because it may be the user's data.

mod format;
mod fs;

pub(crate) use format::{Difference, Identity};

use crate::error::saved::{CheckpointError, one_before};
use format::{Damage, FileContents};
use fs::{Disk, Fs};
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Maximum number of tries of a save, if other processes interfere.
const TRIES: usize = 8;

/// The files of the checkpoints of a fit. Several processes may read and write them at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Store<F: Fs = Disk> {
    newest: PathBuf,
    older: PathBuf,
    /// First part of the paths of temporary files.
    beside: PathBuf,
    fs: F,
}

/// Contents of the checkpoint from which a fit can be resumed.
enum Usable {
    Newest(Vec<u8>),
    Older(Vec<u8>),
    None,
}

impl Store {
    /// Creates a store at `path`. Nothing is read or written yet.
    pub(crate) fn new(path: &Path) -> Store {
        Store::on(Disk, path)
    }
}

impl<F: Fs> Store<F> {
    pub(crate) fn on(fs: F, path: &Path) -> Store<F> {
        let (newest, older) = (path.to_owned(), one_before(path));
        Store { newest, older, beside: with_suffix(path, ".checkpoint-part"), fs }
    }

    /// Returns the contents of the last sound checkpoint; `None` if there is no checkpoint yet.
    ///
    /// # Errors
    /// [`Mismatch`](CheckpointError::Mismatch) if the checkpoint belongs to another fit,
    /// [`Corrupt`](CheckpointError::Corrupt) if no checkpoint is sound, and
    /// [`NotRead`](CheckpointError::NotRead) if it cannot be read.
    pub(crate) fn load(&self, identity: &Identity) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(match self.usable(identity)? {
            Usable::Newest(contents) | Usable::Older(contents) => Some(contents),
            Usable::None => None,
        })
    }

    /// Makes `contents` the newest checkpoint, and keeps the previous checkpoint.
    ///
    /// # Errors
    /// [`NotWritten`](CheckpointError::NotWritten); or, if [`load`](Store::load) refuses the existing file, the error
    /// of `load`.
    pub(crate) fn save(
        &mut self,
        identity: &Identity,
        contents: &[u8],
    ) -> Result<(), CheckpointError> {
        let keep = match self.usable(identity) {
            Ok(Usable::Newest(_)) => true,
            Ok(Usable::Older(_) | Usable::None) => false,
            Err(CheckpointError::NotRead { message, .. }) => return Err(self.not_written(message)),
            Err(refused) => return Err(refused),
        };
        let file =
            format::file(identity, contents).map_err(|why| self.not_written(why.to_string()))?;
        self.replace(&file, keep).map_err(|error| self.not_written(error.to_string()))
    }

    /// Removes all checkpoints after the end of the fit.
    ///
    /// # Errors
    /// [`NotWritten`](CheckpointError::NotWritten) if a checkpoint cannot be removed.
    pub(crate) fn remove(&self) -> Result<(), CheckpointError> {
        // The older checkpoint is removed first, so that the newest remains after a crash in between.
        for path in [&self.older, &self.newest] {
            self.remove_checkpoint(path).map_err(|error| {
                self.not_written(format!("{} cannot be removed: {error}", path.display()))
            })?;
        }
        self.remove_abandoned().map_err(|error| self.not_written(error.to_string()))
    }

    fn usable(&self, identity: &Identity) -> Result<Usable, CheckpointError> {
        let damage = match self.find(&self.newest, identity)? {
            Some(Ok(contents)) => return Ok(Usable::Newest(contents)),
            Some(Err(damage)) => damage,
            None => return Ok(Usable::None),
        };
        let why = match self.find(&self.older, identity) {
            Ok(Some(Ok(contents))) => return Ok(Usable::Older(contents)),
            Ok(None) => format!("{damage}, and there is none before it"),
            Ok(Some(Err(other))) => {
                format!("{damage}; nor can the one before it, {}: {other}", self.older.display())
            }
            Err(error) => format!("{damage}, and of the one before it: {error}"),
        };
        Err(self.corrupt(why))
    }

    /// Returns the contents of the file at `path`, or its damage; `None` if the file does not exist.
    fn find(
        &self,
        path: &Path,
        identity: &Identity,
    ) -> Result<Option<Result<Vec<u8>, Damage>>, CheckpointError> {
        let path = path.to_owned();
        match self.fs.open(&path).and_then(|file| format::read(file, identity)) {
            Ok(FileContents::Ours(contents)) => Ok(Some(Ok(contents))),
            Ok(FileContents::Damaged(damage)) => Ok(Some(Err(damage))),
            Ok(FileContents::Foreign(Difference { field, found, expected })) => {
                Err(CheckpointError::Mismatch { path, field, found, expected })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CheckpointError::NotRead { path, message: error.to_string() }),
        }
    }

    /// Writes `file` to a temporary path and renames it to the newest checkpoint. If `keep` is true, the current
    /// checkpoint becomes the older one.
    fn replace(&self, file: &[u8], keep: bool) -> io::Result<()> {
        let folder = folder_of(&self.newest);
        // A killed process may have renamed files without a sync. These names must be on the disk before names
        // change again.
        self.fs.sync_folder(folder)?;
        // Abandoned files of other processes that cannot be removed do no harm.
        let _ = self.remove_abandoned();
        let mut tries = 1;
        loop {
            let kept = || if keep { self.keep_newest() } else { Ok(()) };
            let replaced = self.write_as(&self.newest, &self.part(), file, kept);
            match &replaced {
                Ok(()) => return self.fs.sync_folder(folder),
                // Another process created the file, or removed it as abandoned before it was locked.
                Err(error) if tries < TRIES && is_another(error) => tries += 1,
                Err(_) => return replaced,
            }
        }
    }

    /// Keeps the newest checkpoint as the older one, unless another process does so at the same time, or has ended the
    /// fit and removed both.
    fn keep_newest(&self) -> io::Result<()> {
        self.remove_checkpoint(&self.older)?;
        match self.fs.link(&self.newest, &self.older) {
            Err(error) if !is_another(&error) => unless_absent(self.copy_newest()),
            _ => Ok(()),
        }
    }

    /// Copies the newest checkpoint to the path of the older one.
    fn copy_newest(&self) -> io::Result<()> {
        let mut file = Vec::new();
        self.fs.open(&self.newest)?.bytes.read_to_end(&mut file)?;
        self.write_as(&self.older, &self.part(), &file, || Ok(()))
    }

    /// Returns a unique path for a temporary file.
    fn part(&self) -> PathBuf {
        with_suffix(&self.beside, self.fs.unique())
    }

    /// Writes `file` to the temporary path `part`, calls `ready`, and renames the file to `path`.
    fn write_as(
        &self,
        path: &Path,
        part: &Path,
        file: &[u8],
        ready: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut to = self.fs.create(part)?;
        let written = to.write(file).and_then(|()| to.sync());
        let renamed = written.and_then(|()| ready()).and_then(|()| self.fs.rename(part, path));
        if renamed.is_err() {
            let _ = self.fs.remove(part);
        }
        renamed
    }

    /// Removes temporary files of killed processes.
    fn remove_abandoned(&self) -> io::Result<()> {
        let names = match self.fs.list(folder_of(&self.newest)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            names => names?,
        };
        for path in names.into_iter().filter(|path| self.is_beside(path)) {
            match self.fs.is_abandoned(&path) {
                Ok(true) => unless_absent(self.fs.remove(&path))?,
                Ok(false) => {}
                Err(error) => unless_absent(Err(error))?,
            }
        }
        Ok(())
    }

    /// Returns true if a file of the folder has the name of a temporary file.
    fn is_beside(&self, path: &Path) -> bool {
        let (Some(name), Some(first)) = (path.file_name(), self.beside.file_name()) else {
            return false;
        };
        let rest = name.as_encoded_bytes().strip_prefix(first.as_encoded_bytes());
        rest.is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-'))
    }

    /// Removes a file if it exists; it is an error if the file does not begin with the bytes of a checkpoint.
    fn remove_checkpoint(&self, path: &Path) -> io::Result<()> {
        match self.fs.open(path).and_then(format::has_magic) {
            Ok(true) => unless_absent(self.fs.remove(path)),
            Ok(false) => Err(io::Error::other(format!("{} is no checkpoint", path.display()))),
            Err(error) => unless_absent(Err(error)),
        }
    }

    /// Returns the error for an invalid newest checkpoint or invalid loaded contents.
    pub(crate) fn corrupt(&self, why: String) -> CheckpointError {
        CheckpointError::Corrupt { path: self.newest.clone(), why }
    }

    pub(crate) fn not_written(&self, message: String) -> CheckpointError {
        CheckpointError::NotWritten { path: self.newest.clone(), message }
    }
}

/// Appends `suffix` to `path`.
fn with_suffix(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn unless_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns true if the error is due to another process that created or removed the file.
fn is_another(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests;
