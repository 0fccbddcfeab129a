//! Progress events of a fit, a stream or a batch of fits, and requests to stop them.

use crate::host::Instant;
use crate::model::program::panic_message;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// An event for an observer. A fit in memory or on a device reports its steps; a stream reports steps and chunks; a
/// batch reports finished fits, but no steps.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step was accepted.
    Step(Progress<'a>),
    /// Some fits of a batch are finished.
    Batch(BatchProgress),
    /// A chunk of a pass over a stream is done.
    Stream(StreamProgress),
    /// A generation of a differential evolution is done.
    Generation(GenerationProgress),
    /// A round of the search for the start of a fit is done.
    Search(SearchProgress),
}

impl Event<'_> {
    /// Time since the fit or the batch began.
    pub fn elapsed(&self) -> Duration {
        match self {
            Event::Step(now) => now.elapsed,
            Event::Batch(now) => now.elapsed,
            Event::Stream(now) => now.elapsed,
            Event::Generation(now) => now.elapsed,
            Event::Search(now) => now.elapsed,
        }
    }
}

/// State of a fit after an accepted step.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Accepted steps so far, including earlier runs and stages.
    pub iteration: usize,
    /// Evaluations of model and partials so far.
    pub evaluations: usize,
    /// All parameters, fixed ones included, in the order of the model.
    pub params: &'a [f64],
    /// Half the sum of squared weighted residuals, or of the losses. In the stages that precede the stage with a
    /// redescending loss, it is the cost of the Cauchy loss with the scale of the stage.
    pub cost: f64,
    /// Length of the last step, relative to the scaled parameters.
    pub step: f64,
    /// Damping λ of the last step; 0 for a full Gauss-Newton step.
    pub damping: f64,
    /// Time since the fit began.
    pub elapsed: Duration,
}

/// Progress of the fit of a stream, after each of its chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamProgress {
    /// Current pass over the points, counted from 1.
    pub pass: usize,
    /// Number of finished chunks of this pass.
    pub chunk: u64,
    /// Number of points in the finished chunks of this pass.
    pub points: u64,
    /// Number of points of a complete pass, if it is known from the source or from an earlier pass.
    pub total_points: Option<u64>,
    /// Half the sum of squared weighted residuals, or of the losses, after the last complete pass.
    pub cost: Option<f64>,
    /// Damping λ of the step that led to the parameters of this pass; 0 for a full Gauss-Newton step.
    pub damping: f64,
    /// Length of that step, relative to the scaled parameters; 0 in the first pass.
    pub step: f64,
    /// Time since the fit began.
    pub elapsed: Duration,
}

/// Progress of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchProgress {
    /// Finished fits of any status.
    pub finished: usize,
    /// Number of fits of the batch.
    pub n_fits: usize,
    /// Time since the batch began.
    pub elapsed: Duration,
}

/// Progress of a differential evolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GenerationProgress {
    /// Number of finished generations.
    pub generation: usize,
    /// Maximum number of generations.
    pub generations: usize,
    /// Evaluations of the model so far, by all populations.
    pub evaluations: usize,
    /// The lowest cost so far.
    pub cost: f64,
    /// Time since the search began.
    pub elapsed: Duration,
}

/// Progress of the search for the start of a fit. Searches of a batch send no events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchProgress {
    /// Number of finished rounds.
    pub round: usize,
    /// Maximum number of rounds: [`SearchOptions::rounds`](crate::SearchOptions::rounds), or four times this number for
    /// sums of more than two terms.
    pub rounds: usize,
    /// Number of fits so far.
    pub fits: usize,
    /// The lowest cost so far, for the points that the search uses; infinite if no fit has a finite cost.
    pub cost: f64,
    /// Time since the search began.
    pub elapsed: Duration,
}

/// Observer of a fit: a closure that is called for every event, or an object that can also stop the fit between two
/// events.
pub(crate) trait Observe {
    /// Receives an event; the result `ControlFlow::Break(())` stops the fit.
    fn tell(&self, event: &Event<'_>) -> ControlFlow<()>;

    /// Returns true if the fit must stop without another step. It is called before each step.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl<F: Fn(&Event<'_>) -> ControlFlow<()>> Observe for F {
    fn tell(&self, event: &Event<'_>) -> ControlFlow<()> {
        self(event)
    }
}

/// An observer of a fit, on any thread.
pub(crate) type Observer = dyn Observe + Send + Sync;

impl Stopper for Arc<Observer> {
    fn asks(&self) -> bool {
        self.is_cancelled()
    }
}

/// Calls the observer. Returns true if it breaks, or the message of its panic.
pub(crate) fn wants_to_stop(observer: &Observer, event: Event<'_>) -> Result<bool, String> {
    catch_unwind(AssertUnwindSafe(|| observer.tell(&event)))
        .map(|answer| answer.is_break())
        .map_err(|panic| panic_message(&*panic))
}

// Interruption of passes over the points. Passes of native models can be interrupted, because a call of the model may
// take any time. Passes of traced models are short; they can be interrupted only in a stream.

/// The reason why a pass was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Stopped by the caller.
    Asked,
    /// The time limit of the fit was reached.
    Late,
}

/// A source of requests to stop a pass.
pub(crate) trait Stopper: Sync {
    fn asks(&self) -> bool;
}

/// Deadline and stop signal of a pass.
#[derive(Clone, Copy, Default)]
pub(crate) struct Patience<'a> {
    pub(crate) until: Option<Instant>,
    pub(crate) stopper: Option<&'a dyn Stopper>,
}

impl Patience<'_> {
    /// Checks the stop signal and the deadline.
    ///
    /// # Errors
    /// The reason, if the pass must stop.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.stopper.is_some_and(Stopper::asks) {
            Err(Stop::Asked)
        } else if self.until.is_some_and(|until| Instant::now() >= until) {
            Err(Stop::Late)
        } else {
            Ok(())
        }
    }
}

/// Returns the deadline of a time limit that begins at `begun`; `None` if there is no limit, or if the clock cannot
/// represent the deadline.
pub(crate) fn end_of(begun: Instant, limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| begun.checked_add(limit))
}

/// Token that stops fits from another thread. A fit receives it by
/// [`CurveFit::cancel_token`](crate::CurveFit::cancel_token). Clones share one flag. A cancelled token stays
/// cancelled.
///
/// Cancelling only sets the flag; therefore any thread may cancel, including a Ctrl-C handler. A fit checks the flag
/// before each step, a fit of a native model also before each point, and a stream also after each chunk.
///
/// ```
/// use dualfit::{CancelToken, CurveFit, Data, Termination};
/// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
/// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp()).collect();
/// let token = CancelToken::new();
/// let decay = CurveFit::new(|x, [a, b]| a * (-b * x).exp()).cancel_token(token.clone());
/// std::thread::spawn(move || token.cancel()).join().unwrap();
/// let fit = decay.fit(Data::new(&x, &y)?, [1.0, 1.0])?;
/// assert_eq!(fit.termination(), Termination::Stopped);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Stops all fits that have this token now or receive it later.
    pub fn cancel(&self) {
        // The flag guards no other memory; therefore relaxed ordering suffices.
        self.0.store(true, Relaxed);
    }

    /// Returns true if the token is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Stopper for CancelToken {
    fn asks(&self) -> bool {
        self.is_cancelled()
    }
}

/// A token ignores events.
impl Observe for CancelToken {
    fn tell(&self, _: &Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn is_cancelled(&self) -> bool {
        CancelToken::is_cancelled(self)
    }
}
