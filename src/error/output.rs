//! Errors of records of phases.

use std::path::PathBuf;

/// Why phases cannot be recorded, or the record is not whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file could not be made, or not be written to its end.
    #[error("the trace {} cannot be written: {message}; choose a place with room that can be written to", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        message: String,
    },
    /// The process has a subscriber of `tracing` already, and can have no other.
    #[error(
        "this process has a subscriber of `tracing` already; add a layer of tracing-chrome to that one instead"
    )]
    OtherSubscriber,
    /// The system has no thread to write the file on.
    #[error("the system has no thread to write the trace on: {message}")]
    NoThread {
        /// The message of the system.
        message: String,
    },
    /// Another record has not ended.
    #[error("a ChromeTrace is recording already; finish or drop it before the next one")]
    Recording,
}
