//! Entries of the crate: their contracts, their agreement, and their errors for bad input.

mod arrays;
mod bad_input;
mod batch;
mod batch_shapes;
mod bootstrap;
mod cancel;
mod contract;
mod determinism;
mod global_fit;
mod joint_arrow;
mod joint_over;
mod joint_sets;
mod many_points;
mod multi_start;
mod named_quantities;
mod nothing_panics;
mod same_answer;

#[path = "../support"]
mod support {
    pub(crate) mod digest;
    pub(crate) mod losses;
    pub(crate) mod nist;
    pub(crate) mod questions;
    pub(crate) mod standard;
    #[allow(unused, reason = "`cancel` runs one of its tests")]
    pub(crate) mod suite;
}
