//! The emulation itself: what right kernels compute, and that wrong ones are found.

mod grids;
mod host;
mod lanes;
mod mutants;
mod sums;
