//! Watching a fit or a batch of them, and stopping it.

use crate::model::program::panic_message;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Where a fit stands after an accepted step, or a batch after some of its fits.
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
    /// Fits of a batch that are finished; then iterations and evaluations are those of all of them, there
    /// are no parameters, and cost, step and damping are NaN. 0 within a single fit.
    pub finished: usize,
    /// Fits altogether; 1 for a single fit.
    pub fits: usize,
}

/// Called after every accepted step, or after some fits of a batch; `ControlFlow::Break(())` stops the fit.
pub(crate) type Observer = dyn Fn(&Progress<'_>) -> ControlFlow<()> + Send + Sync;

/// Tells the observer; whether it asks to stop, or the message of its panic.
pub(crate) fn wants_to_stop(observer: &Observer, progress: &Progress<'_>) -> Result<bool, String> {
    catch_unwind(AssertUnwindSafe(|| observer(progress)))
        .map(|answer| answer.is_break())
        .map_err(|panic| panic_message(&*panic))
}
