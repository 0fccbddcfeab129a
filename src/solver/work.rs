//! What a minimisation has cost.

/// Counts over all runs and stages of a fit: a run that follows another goes on counting, so that a
/// limit of evaluations holds for all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Evaluations of model and partials.
    pub(crate) evaluations: usize,
    /// Other passes over the points: to factor the Jacobian, to look for a bad point, to measure the
    /// partials.
    pub(crate) other_passes: usize,
    /// Accepted steps.
    pub(crate) iterations: usize,
}
