//! Errors of figures.

use std::path::PathBuf;

/// Result of drawing a figure.
pub type Result<T> = std::result::Result<T, PlotError>;

/// The reason why a picture cannot be drawn or written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The curve, a band or the residuals cannot be computed.
    #[error(transparent)]
    Fit(#[from] dualfit::Error),
    /// The file could not be written.
    #[error("the picture {} cannot be written: {message}; choose a place that can be written to", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        message: String,
    },
    /// The extension of the file is neither `.svg` nor `.png`.
    #[error("the picture {} is of no known kind; let its name end in .svg or .png", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// There are no finite values to draw.
    #[error("there is nothing to draw: {what}")]
    Nothing {
        /// The missing part.
        what: &'static str,
    },
    /// A value is not positive, so that a logarithmic axis cannot show it.
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
        /// Number of independent variables.
        columns: usize,
    },
    /// A side of the picture is too short or too long.
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
