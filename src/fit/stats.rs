//! How a fit was computed.

use std::fmt;

/// Where the work was done, and how much of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// Where the points were evaluated: `CPU`.
    pub backend: &'static str,
    /// The instruction set of the kernels: `AVX-512`, `AVX2 and FMA`, `NEON` or `baseline`.
    pub instruction_set: &'static str,
    /// Threads that shared a pass.
    pub threads: usize,
    /// Evaluations of model and partials over all points by the solver, all runs and stages together.
    pub evaluations: usize,
    /// Passes over all points: evaluations, factorisations of the Jacobian, and what a start with
    /// extreme partials takes.
    pub passes: usize,
    /// Accepted steps, all runs and stages together.
    pub iterations: usize,
    /// Whether a second run, with another scaling or start, was made.
    pub retried: bool,
    /// Operations per point and pass, those of the partials included; `None` for native models.
    pub operations: Option<usize>,
    /// Seconds for tracing and preparing the model, 0 if it was ready from an earlier fit.
    pub prepare_seconds: f64,
    /// Seconds for checking the data.
    pub validate_seconds: f64,
    /// Seconds in the solver.
    pub solve_seconds: f64,
    /// Seconds for the covariance.
    pub covariance_seconds: f64,
    /// Bytes used beside the data.
    pub scratch_bytes: usize,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.prepare_seconds
            + self.validate_seconds
            + self.solve_seconds
            + self.covariance_seconds;
        write!(
            f,
            "{} ({}, {} thread{}), {} evaluations, {} passes, {:.3} ms",
            self.backend,
            self.instruction_set,
            self.threads,
            if self.threads == 1 { "" } else { "s" },
            self.evaluations,
            self.passes,
            1e3 * total
        )
    }
}
