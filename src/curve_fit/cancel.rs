//! Cancel token of a fit, and its combination with the observer.

use super::CurveFit;
use crate::fit::start_search::StartSearch;
use crate::solver::observe::CancelToken;
use crate::solver::observe::{Event, Observe, Observer};
use std::ops::ControlFlow;
use std::sync::Arc;

impl CurveFit {
    /// Stops fits as soon as `token` is cancelled, in the same way as an observer that breaks:
    ///
    /// - a fit stops before its next step, with the best parameters so far and
    ///   [`Termination::Stopped`](crate::Termination::Stopped);
    /// - the search for a start returns the best start so far, and the fit from this start stops after one step;
    /// - a search from many starts returns the fits that are finished;
    /// - a batch returns the fits that are finished; the others are [`FitStatus::NotRun`](crate::FitStatus::NotRun).
    ///
    /// A pass of a native model stops between two points, and a pass over a stream between two chunks. If the first
    /// pass is stopped, there is no result yet, and the fit returns
    /// [`Error::StoppedInFirstPass`](crate::Error::StoppedInFirstPass).
    ///
    /// On a device, the host waits after each evaluation, or after each chunk of a batch, to check the token. Without a
    /// token it does not wait.
    #[must_use]
    pub fn cancel_token(mut self, token: CancelToken) -> CurveFit {
        self.cancel = Some(token);
        self
    }

    /// Returns the observer of a fit whose start was found by a `search`. If the search was stopped, the fit stops
    /// after its first step instead of at once: otherwise the cancelled token would interrupt the first pass of a
    /// native model, and the start would be lost.
    pub(super) fn watch_after(&self, search: Option<StartSearch>) -> Option<Arc<Observer>> {
        if !search.is_some_and(|search| search.stopped) {
            return self.watch();
        }
        Some(Arc::new(|_: &Event<'_>| ControlFlow::Break(())))
    }

    /// Returns the observer of a single fit.
    pub(super) fn watch(&self) -> Option<Arc<Observer>> {
        match (&self.observer, &self.cancel) {
            (observer, None) => observer.clone(),
            (None, Some(token)) => Some(Arc::new(token.clone())),
            (Some(observer), Some(token)) => {
                Some(Arc::new(Both { observer: observer.clone(), token: token.clone() }))
            }
        }
    }
}

/// An observer combined with a cancel token.
struct Both {
    observer: Arc<Observer>,
    token: CancelToken,
}

impl Observe for Both {
    fn tell(&self, event: &Event<'_>) -> ControlFlow<()> {
        self.observer.tell(event)
    }

    fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
}
