//! Moré's trust region on summaries of the data. The solver never sees a point.

mod anderson;
pub(crate) mod bounds;
mod convergence;
pub(crate) mod evaluator;
pub(crate) mod levels;
pub(crate) mod linear_model;
pub(crate) mod minimise;
pub(crate) mod observe;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod runs;
mod search;
mod second_order;
pub(crate) mod state;
pub(crate) mod state_machine;
pub(crate) mod stepwise;
pub(crate) mod task;
pub(crate) mod termination;
pub(crate) mod trust_region;
mod unused;
