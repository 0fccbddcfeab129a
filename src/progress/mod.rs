//! How far a fit, a batch or a stream is: what an observer hears, and one that draws it on the terminal.
//!
//! The bar draws on stderr, at most twenty times a second, and only where that is a terminal: in a log file
//! or a pipe nothing appears. What was drawn last stays when the fit has ended.

#[cfg(feature = "progress")]
mod bar;

pub use crate::solver::observe::{
    BatchProgress, GenerationProgress, Progress, SearchProgress, StreamProgress,
};
#[cfg(feature = "progress")]
pub use bar::bar;
