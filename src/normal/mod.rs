//! Summaries of the data that the solver works on. Two summaries of parts merge into that of the
//! whole, so threads, chunks and devices are one operation at different scales.

pub(crate) mod abreast;
mod influence;
pub(crate) mod small;
mod spectrum;
mod summaries;
#[cfg(test)]
mod tree_tests;

pub(crate) use crate::data::tree::{GROUP, Summary, Tree};
pub(crate) use influence::Influence;
pub(crate) use spectrum::Spectrum;
pub(crate) use summaries::{Normal, pair};
pub(crate) use summaries::{RFactor, heaviest_first};
