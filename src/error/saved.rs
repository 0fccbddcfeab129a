//! Errors of saving and loading programs, fits, results that contain fits, and checkpoints.

use std::path::{Path, PathBuf};

/// Cause of a failed save or load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The text is not JSON, or a field is missing or has the wrong type.
    #[error("the saved {what} cannot be read: {message}; save it again")]
    Malformed {
        /// `program`, `fit`, `batch`, `joint fit`, `profile` or `set of optima`.
        what: &'static str,
        /// The message of the JSON reader, with line and column.
        message: String,
    },
    /// The text was written by another version of this crate.
    #[error(
        "the saved {what} has version {found}, but only version {known} can be read here; use the version of dualfit that wrote it"
    )]
    Version {
        /// `program`, `fit`, `batch`, `joint fit`, `profile` or `set of optima`.
        what: &'static str,
        /// The version of the saved text.
        found: u32,
        /// The version that this crate reads.
        known: u32,
    },
    /// A node has an unknown operation, or a wrong number of operands.
    #[error(
        "node {node} of the saved program is `{operation}`, which is no operation of {operands} operands"
    )]
    Operation {
        /// Index of the node.
        node: usize,
        /// The name found.
        operation: String,
        /// Number of operands found.
        operands: usize,
    },
    /// An index refers to an element that does not exist or is not yet defined at this node.
    #[error("{place} refers to {what} {index}, but only the first {count} can be meant there")]
    Reference {
        /// Location of the index: `node 7`, `output 0`.
        place: String,
        /// Kind of the target: `node`, `parameter`, `variable`.
        what: &'static str,
        /// The index found.
        index: usize,
        /// Upper limit (exclusive) of the index.
        count: usize,
    },
    /// An array has the wrong length.
    #[error("`{what}` of the saved {of} has {got} value(s), but {expected} are needed")]
    Length {
        /// The array.
        what: &'static str,
        /// `program`, `fit`, `batch`, `joint fit`, `profile` or `set of optima`.
        of: &'static str,
        /// The required length.
        expected: usize,
        /// The length found.
        got: usize,
    },
    /// A fit of a native model was saved without the model.
    #[error(
        "the fit was saved without its model, an ordinary function, so it cannot be evaluated; give it back by Fit::with_model, or fit a traced model to save it whole"
    )]
    NoModel,
}

/// Returns the path of the previous checkpoint: `path` with `.1` appended.
pub(crate) fn one_before(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Reason why a checkpoint cannot be used or written. Data files are never changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The checkpoint belongs to another fit.
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
    /// The checkpoint is damaged, and the previous checkpoint is damaged or does not exist.
    #[error("the checkpoint {} cannot be used: {why}; remove it to begin anew", path.display())]
    Corrupt {
        /// The checkpoint.
        path: PathBuf,
        /// The damage.
        why: String,
    },
    /// The checkpoint could not be read.
    #[error("the checkpoint {} cannot be read: {message}", path.display())]
    NotRead {
        /// The checkpoint.
        path: PathBuf,
        /// The error message of the system.
        message: String,
    },
    /// The checkpoint could not be written. The previous checkpoint, if there is one, is intact.
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
