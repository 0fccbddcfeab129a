//! Fits of streams, whose points are read again in every pass.

pub(crate) mod checkpoint;
pub(crate) mod contents;
pub(crate) mod pass_observer;
pub(crate) mod source;
pub(crate) mod stats;
