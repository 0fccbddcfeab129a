//! What can be wrong with a checkpoint.

use std::path::{Path, PathBuf};

/// The file of the checkpoint before the one at `path`: the same path with `.1`.
pub(crate) fn one_before(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Why a checkpoint cannot be used, or not be written. No data file is ever touched.
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
        /// What differs: the version of the format, the model, the points, …
        field: String,
        /// As the checkpoint has it.
        found: String,
        /// As this fit has it.
        expected: String,
    },
    /// It is damaged, and so is the one before it, or there is none before it.
    #[error("the checkpoint {} cannot be used: {why}; remove it to begin anew", path.display())]
    Corrupt {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It could not be read.
    #[error("the checkpoint {} cannot be read: {message}", path.display())]
    NotRead {
        /// The checkpoint.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// It could not be written; the last good one is intact.
    #[error(
        "the checkpoint {} cannot be written: {message}; the one before it, if there is one, is intact",
        path.display()
    )]
    NotWritten {
        /// The checkpoint.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
}
