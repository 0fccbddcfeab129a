//! Moré's trust region on summaries of the data. The solver never sees a point.

mod anderson;
pub(crate) mod bounds;
pub(crate) mod cancel;
mod convergence;
pub(crate) mod levels;
pub(crate) mod linear_model;
pub(crate) mod minimise;
pub(crate) mod observe;
pub(crate) mod options;
pub(crate) mod phases;
pub(crate) mod problem;
pub(crate) mod resident;
pub(crate) mod run;
mod search;
mod second_order;
mod state;
pub(crate) mod termination;
pub(crate) mod trust_region;
pub(crate) mod waiting;
pub(crate) mod work;
