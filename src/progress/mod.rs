//! Progress of a fit, a batch or a stream: the data that observers receive, and a progress bar for the terminal.
//!
//! The bar draws on stderr, at most twenty times a second, and only if stderr is a terminal: in a log file
//! or a pipe nothing appears. The last drawn state stays visible after the fit.

#[cfg(feature = "progress")]
mod bar;

pub use crate::solver::observe::{
    BatchProgress, GenerationProgress, Progress, SearchProgress, StreamProgress,
};
#[cfg(feature = "progress")]
pub use bar::bar;
