//! Errors of pictures and of records of phases.

use std::path::PathBuf;

/// Why a picture cannot be drawn or written.
#[cfg(feature = "plot")]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The file could not be written.
    #[error("the picture {} cannot be written: {message}; choose a place that can be written to", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        message: String,
    },
    /// The name of the file does not say which kind of picture it is.
    #[error("the picture {} is of no known kind; let its name end in .svg or .png", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing that could be shown.
    #[error("there is nothing to draw: {what}")]
    Nothing {
        /// The missing part.
        what: &'static str,
    },
    /// A logarithmic axis cannot show this.
    #[error(
        "{axis} is {value} at index {index}, which a logarithmic axis cannot show; mask the point, or draw the axis linearly"
    )]
    NotPositive {
        /// `x` or `y`.
        axis: &'static str,
        /// Index of the first such point.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The data have several independent variables.
    #[error(
        "a curve is drawn over one independent variable, but the data have {columns}; draw a cut through them, or a map"
    )]
    Columns {
        /// Their number.
        columns: usize,
    },
    /// A picture that is too small for its contents.
    #[error(
        "a picture of {width} × {height} pixels is too small or too large; each side has 160 to 8192"
    )]
    Size {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
}

/// Why phases cannot be recorded, or the record is not whole.
#[cfg(feature = "chrome-trace")]
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
