//! Tests of the emulation: results of correct kernels, and detection of incorrect kernels.

mod grids;
mod host;
mod lanes;
mod mutants;
mod sums;
