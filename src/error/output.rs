//! Errors of recording the phases of fits.

use std::path::PathBuf;

/// Reason why the phases of fits cannot be recorded in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file could not be created, or could not be written completely.
    #[error("the trace {} cannot be written: {message}; choose a place with room that can be written to", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        message: String,
    },
    /// The process already has a subscriber of `tracing` and cannot have a second subscriber.
    #[error(
        "this process has a subscriber of `tracing` already; add a layer of tracing-chrome to that one instead"
    )]
    OtherSubscriber,
    /// The system cannot start a thread that writes the file.
    #[error("the system has no thread to write the trace on: {message}")]
    NoThread {
        /// The message of the system.
        message: String,
    },
    /// Another recording has not ended.
    #[error("a ChromeTrace is recording already; finish or drop it before the next one")]
    Recording,
}
