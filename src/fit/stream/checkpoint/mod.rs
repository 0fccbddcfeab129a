//! The checkpoint of a fit: a file with its progress, and the previous one.
//!
//! The newest is at the path that the user gave, the previous one at the same path with `.1`. A new
//! checkpoint is written to a temporary file and synced to the disk. Then the current one gets
//! its second name `.1` as a link, or is copied there if the file system has no links, and the new one is renamed
//! over it. Therefore there is a whole file at the path at every moment, also if power fails and the disk has the changes of
//! names in another order. Without a file at the path there is no checkpoint, even if `.1` exists: a user who removes
//! the file begins anew.
//!
//! Several processes may make the same fit with one checkpoint: each one's are those of all. What a process
//! that was killed leaves beside is removed by the next that saves, which finds it unlocked.
//!
//! A damaged file is as good as none if the one before it is sound; but it never takes the place of
//! that one. A sound one of another fit, or a file that cannot be read and may be one, is not passed
//! over. What loading refuses is not overwritten either, nor is anything removed that does not begin
//! as a checkpoint does: it may be the user's data.

mod format;
mod fs;

pub(crate) use format::{Difference, Identity};

use crate::error::saved::{CheckpointError, one_before};
use format::{Damage, FileContents};
use fs::{Disk, Fs};
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Tries of a save that other processes come in the way of.
const TRIES: usize = 8;

/// The files of the checkpoints of a fit. There may be many readers and writers.
#[derive(Clone, Debug)]
pub(crate) struct Store<F: Fs = Disk> {
    newest: PathBuf,
    older: PathBuf,
    /// First part of the names of files that are being written.
    beside: PathBuf,
    fs: F,
}

/// Which file a fit can be resumed from.
enum Usable {
    Newest(Vec<u8>),
    Older(Vec<u8>),
    None,
}

impl Store {
    /// A store at `path`. Nothing is read or written yet.
    pub(crate) fn new(path: &Path) -> Store {
        Store::on(Disk, path)
    }
}

impl<F: Fs> Store<F> {
    pub(crate) fn on(fs: F, path: &Path) -> Store<F> {
        let (newest, older) = (path.to_owned(), one_before(path));
        Store { newest, older, beside: with_suffix(path, ".checkpoint-part"), fs }
    }

    /// The contents of the last sound checkpoint, none if there is no checkpoint yet.
    ///
    /// # Errors
    /// [`Mismatch`](CheckpointError::Mismatch) if it belongs to another fit,
    /// [`Corrupt`](CheckpointError::Corrupt) if there is none that is sound, and
    /// [`NotRead`](CheckpointError::NotRead).
    pub(crate) fn load(&self, identity: &Identity) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(match self.usable(identity)? {
            Usable::Newest(contents) | Usable::Older(contents) => Some(contents),
            Usable::None => None,
        })
    }

    /// Makes `contents` the newest checkpoint, and keeps the one before it.
    ///
    /// # Errors
    /// [`NotWritten`](CheckpointError::NotWritten); or, if there is something in its place that
    /// [`load`](Store::load) refuses, its error.
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

    /// Removes all checkpoints, as a fit does that is done.
    ///
    /// # Errors
    /// [`NotWritten`](CheckpointError::NotWritten) if one is left.
    pub(crate) fn remove(&self) -> Result<(), CheckpointError> {
        // The older one first: after a crash in between, the newest remains.
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

    /// Contents of the file at `path`, if it exists.
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

    /// Writes `file` beside and gives it the name of the newest, which becomes the older one if it
    /// is to be kept.
    fn replace(&self, file: &[u8], keep: bool) -> io::Result<()> {
        let folder = folder_of(&self.newest);
        // Names that a process gave before it was killed may not be on the disk yet, and must not
        // be lost among the changes that follow.
        self.fs.sync_folder(folder)?;
        // Abandoned files of other processes that cannot be removed do no harm.
        let _ = self.remove_abandoned();
        let mut tries = 1;
        loop {
            let kept = || if keep { self.keep_newest() } else { Ok(()) };
            let replaced = self.write_as(&self.newest, &self.part(), file, kept);
            match &replaced {
                Ok(()) => return self.fs.sync_folder(folder),
                // Another has the name, or took the file for abandoned before it was locked.
                Err(error) if tries < TRIES && is_another(error) => tries += 1,
                Err(_) => return replaced,
            }
        }
    }

    /// Keeps the newest as the older one, unless another process does it at this moment, or has ended the
    /// fit and removed both.
    fn keep_newest(&self) -> io::Result<()> {
        self.remove_checkpoint(&self.older)?;
        match self.fs.link(&self.newest, &self.older) {
            Err(error) if !is_another(&error) => unless_absent(self.copy_newest()),
            _ => Ok(()),
        }
    }

    /// Copies the newest to the name of the older one.
    fn copy_newest(&self) -> io::Result<()> {
        let mut file = Vec::new();
        self.fs.open(&self.newest)?.bytes.read_to_end(&mut file)?;
        self.write_as(&self.older, &self.part(), &file, || Ok(()))
    }

    /// A name of its own for a file that is being written.
    fn part(&self) -> PathBuf {
        with_suffix(&self.beside, self.fs.unique())
    }

    /// Writes `file` as `part`, and renames it to `path` after `ready`.
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

    /// Removes what processes that were killed have left beside.
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

    /// Returns true if a file of the folder has a name of a checkpoint that is being written.
    fn is_beside(&self, path: &Path) -> bool {
        let (Some(name), Some(first)) = (path.file_name(), self.beside.file_name()) else {
            return false;
        };
        let rest = name.as_encoded_bytes().strip_prefix(first.as_encoded_bytes());
        rest.is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-'))
    }

    /// Removes a file if there is one, and only if it begins as a checkpoint does.
    fn remove_checkpoint(&self, path: &Path) -> io::Result<()> {
        match self.fs.open(path).and_then(format::has_magic) {
            Ok(true) => unless_absent(self.fs.remove(path)),
            Ok(false) => Err(io::Error::other(format!("{} is no checkpoint", path.display()))),
            Err(error) => unless_absent(Err(error)),
        }
    }

    /// Error: the newest checkpoint, or its loaded contents, are invalid.
    pub(crate) fn corrupt(&self, why: String) -> CheckpointError {
        CheckpointError::Corrupt { path: self.newest.clone(), why }
    }

    pub(crate) fn not_written(&self, message: String) -> CheckpointError {
        CheckpointError::NotWritten { path: self.newest.clone(), message }
    }
}

/// `path` with more at its end.
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
