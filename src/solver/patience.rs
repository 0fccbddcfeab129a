//! Interruption of passes over the points. Passes of native models can be interrupted, since their calls may take any time.
//! Passes of traced models are short and are only interrupted over a stream.

use std::time::{Duration, Instant};

/// Why a pass was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Stopped by the caller.
    Asked,
    /// The fit's time was over.
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
    /// # Errors
    /// When it is over, and why.
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

/// The end of a time limit that begins at `begun`; `None` without a limit, or if the clock cannot represent it.
pub(crate) fn end_of(begun: Instant, limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| begun.checked_add(limit))
}
