//! A token among what watches a fit.

use super::CurveFit;
use crate::fit::start_search::StartSearch;
use crate::solver::observe::CancelToken;
use crate::solver::observe::{Event, Observe, Observer};
use std::ops::ControlFlow;
use std::sync::Arc;

impl CurveFit {
    /// Stops fits once `token` is cancelled, as if the observer had broken:
    ///
    /// - a fit stops before its next step, with the best parameters so far and
    ///   [`Termination::Stopped`](crate::Termination::Stopped);
    /// - the search for a start returns the best one so far, and its fit stops after one step;
    /// - a search from many starts returns the fits that are finished;
    /// - a batch returns the fits that are finished; the others are [`FitStatus::NotRun`](crate::FitStatus::NotRun).
    ///
    /// A pass of a native model stops between two points, a pass over
    /// a stream between two chunks. If the first pass is stopped, there is no result yet, only
    /// [`Error::StoppedInFirstPass`](crate::Error::StoppedInFirstPass).
    ///
    /// On a device the host checks the token between any two evaluations, or chunks of a batch, for which it
    /// would otherwise not wait.
    #[must_use]
    pub fn cancel_token(mut self, token: CancelToken) -> CurveFit {
        self.cancel = Some(token);
        self
    }

    /// Returns the observer of a fit whose start was found by a `search`. If that was stopped, the fit stops after its
    /// first step: a cancelled token would break off the first pass of a native model, and the start would be lost.
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
