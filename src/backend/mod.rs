//! Where points are evaluated: the seam between the solver, which sees summaries, and the points.

pub(crate) mod cpu;
pub(crate) mod cuda;
mod evaluator;

pub(crate) use evaluator::{BadPoint, Evaluator, Fault};
