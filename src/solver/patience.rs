//! When a pass over the points is broken off. Passes of native models are, whose calls may take any time;
//! those of traced models are too short to be worth it, but for those over a stream.

use std::time::{Duration, Instant};

/// Why a pass was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The caller asked for it.
    Asked,
    /// The fit's time was over.
    Late,
}

/// Somebody who may ask a pass to stop.
pub(crate) trait Stopper: Sync {
    fn asks(&self) -> bool;
}

/// How long a pass may go on.
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

/// The end of a time that begins at `begun`; none if there is none, or none that can be told.
pub(crate) fn end_of(begun: Instant, limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| begun.checked_add(limit))
}
