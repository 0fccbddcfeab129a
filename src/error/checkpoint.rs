//! Errors of checkpoints.

use std::path::{Path, PathBuf};

/// Returns the path of the previous checkpoint: `path` with `.1` appended.
pub(crate) fn one_before(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Cause of a checkpoint that cannot be used or written. Data files are never changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It belongs to another fit.
    #[error(
        "the checkpoint {} belongs to another fit ({field}: {found} there, {expected} here); to begin anew remove it and the one before it, {}, or give another path",
        path.display(),
        one_before(path).display()
    )]
    Mismatch {
        /// The checkpoint.
        path: PathBuf,
        /// The field that differs: the version of the format, the model, the points, …
        field: String,
        /// The value in the checkpoint.
        found: String,
        /// The value of this fit.
        expected: String,
    },
    /// It is damaged, and the previous checkpoint is damaged or does not exist.
    #[error("the checkpoint {} cannot be used: {why}; remove it to begin anew", path.display())]
    Corrupt {
        /// The checkpoint.
        path: PathBuf,
        /// The damage.
        why: String,
    },
    /// It could not be read.
    #[error("the checkpoint {} cannot be read: {message}", path.display())]
    NotRead {
        /// The checkpoint.
        path: PathBuf,
        /// The error message of the system.
        message: String,
    },
    /// It could not be written; the previous checkpoint, if there is one, is intact.
    #[error(
        "the checkpoint {} cannot be written: {message}; the one before it, if there is one, is intact",
        path.display()
    )]
    NotWritten {
        /// The checkpoint.
        path: PathBuf,
        /// The error message of the system.
        message: String,
    },
}
