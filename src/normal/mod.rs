//! Summaries of the data, on which the solver works. The summaries of two parts merge into the summary of the
//! whole. Therefore threads, chunks and devices use the same operation at different scales.

pub(crate) mod abreast;
pub(crate) mod arrow;
mod block_rows;
mod influence;
pub(crate) mod small;
mod summaries;
#[cfg(test)]
mod tree_tests;
pub(crate) mod triangular;
#[cfg(test)]
mod triangular_tests;

pub(crate) use crate::data::tree::{GROUP, Summary, Tree};
pub(crate) use crate::normal::triangular::Spectrum;
pub(crate) use arrow::Arrow;
pub(crate) use block_rows::{BlockRow, heaviest_first};
pub(crate) use influence::Influence;
pub(crate) use summaries::{Normal, RFactor, pair, pair_of_block};
pub(crate) use triangular::Triangular;
