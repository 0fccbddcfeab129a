//! Watching a fit or a batch of fits, and stopping it.

use crate::model::program::panic_message;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Where a fit stands after an accepted step.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Accepted steps so far, those of an earlier run or stage included.
    pub iteration: usize,
    /// Evaluations of model and partials so far.
    pub evaluations: usize,
    /// All parameters, fixed ones included, in the order of the model.
    pub params: &'a [f64],
    /// Half the sum of squared weighted residuals, or of the loss. In the first stage of a fit with
    /// Tukey's loss that is Cauchy's.
    pub cost: f64,
    /// Length of the last step, relative to the scaled parameters.
    pub step: f64,
    /// Damping λ that the last step was taken with; 0 for a full Gauss-Newton step.
    pub damping: f64,
    /// Time since the fit began.
    pub elapsed: Duration,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchProgress {
    /// Fits that are finished, whatever their status.
    pub finished: usize,
    /// Fits of the batch.
    pub n_fits: usize,
    /// Time since the batch began.
    pub elapsed: Duration,
}

/// Called after every accepted step; `ControlFlow::Break(())` stops the fit.
pub(crate) type Observer = dyn Fn(&Progress<'_>) -> ControlFlow<()> + Send + Sync;

/// Called after some fits of a batch; `ControlFlow::Break(())` stops it.
pub(crate) type BatchObserver = dyn Fn(BatchProgress) -> ControlFlow<()> + Send + Sync;

/// Tells the observer; whether it asks to stop, or the message of its panic.
pub(crate) fn wants_to_stop(observer: &Observer, progress: &Progress<'_>) -> Result<bool, String> {
    asks_to_stop(|| observer(progress))
}

/// Calls an observer; whether it asks to stop, or the message of its panic.
pub(crate) fn asks_to_stop(call: impl FnOnce() -> ControlFlow<()>) -> Result<bool, String> {
    catch_unwind(AssertUnwindSafe(call))
        .map(|answer| answer.is_break())
        .map_err(|panic| panic_message(&*panic))
}
