//! Summaries of the data that the solver works on. Two summaries of parts merge into that of the
//! whole, so threads, chunks and devices are one operation at different scales.

mod gram;
mod rfactor;
pub(crate) mod small;

pub(crate) use gram::{Normal, pair};
pub(crate) use rfactor::RFactor;
