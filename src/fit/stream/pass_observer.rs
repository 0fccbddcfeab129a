//! Observer of the passes over a stream. It calls the caller's observer, checks the cancel token and the time limit,
//! and writes checkpoints.

use super::checkpoint::{Identity, Store};
use super::contents::Contents;
use crate::backend::stream::{FirstPass, Kept, Watch};
use crate::error::{Error, Result};
use crate::fit::subsample_start::SubsampleStart;
use crate::host::Instant;
use crate::solver::observe::CancelToken;
use crate::solver::observe::{Event, Observe, Observer, Stop, StreamProgress, wants_to_stop};
use crate::threads::lock;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// State shared by the steps of the solver, the passes and the checkpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// The starting point of the fit; no checkpoint is written before it is known.
    pub(crate) opening: Option<SubsampleStart>,
    pub(crate) cost: Option<f64>,
    pub(crate) damping: f64,
    pub(crate) step: f64,
    /// True if the observer of the steps stopped the fit.
    pub(crate) stop: bool,
    /// Number of written checkpoints.
    pub(crate) checkpoints: usize,
    /// Message of the last error of writing or removing a checkpoint.
    pub(crate) not_kept: Option<String>,
}

/// Notes with several owners.
pub(crate) type Shared = Arc<Mutex<Notes>>;

/// Locks the notes and calls `with` with them.
pub(crate) fn noted<R>(notes: &Shared, with: impl FnOnce(&mut Notes) -> R) -> R {
    with(&mut lock(notes))
}

/// Storage of a checkpoint, and the identity of its fit.
pub(crate) struct Keeper {
    pub(crate) store: Store,
    pub(crate) identity: Identity,
    /// If true, a checkpoint that cannot be written ends the fit.
    pub(crate) required: bool,
}

/// Observer of the passes of one fit.
pub(crate) struct PassObserver {
    pub(crate) keeper: Option<Keeper>,
    pub(crate) notes: Shared,
    pub(crate) observer: Option<Arc<Observer>>,
    pub(crate) token: Option<CancelToken>,
    /// Number of points of a complete pass, if known.
    pub(crate) total: Option<u64>,
    pub(crate) begun: Instant,
    /// End of the time limit of the fit.
    pub(crate) until: Option<Instant>,
}

impl Watch for PassObserver {
    fn chunk(&mut self, pass: usize, chunk: u64, points: u64) -> Result<ControlFlow<Stop>> {
        let asked = noted(&self.notes, |notes| notes.stop);
        if asked || self.token.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Ok(ControlFlow::Break(Stop::Asked));
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Ok(ControlFlow::Break(Stop::Late));
        }
        let Some(observer) = &self.observer else { return Ok(ControlFlow::Continue(())) };
        let (cost, damping, step) = noted(&self.notes, |n| (n.cost, n.damping, n.step));
        let progress = StreamProgress {
            pass,
            chunk,
            points,
            total_points: self.total,
            cost,
            damping,
            step,
            elapsed: self.begun.elapsed(),
        };
        match wants_to_stop(&**observer, Event::Stream(progress)) {
            Ok(false) => Ok(ControlFlow::Continue(())),
            Ok(true) => Ok(ControlFlow::Break(Stop::Asked)),
            Err(message) => Err(Error::ObserverPanicked { message }),
        }
    }

    fn keep(&mut self, kept: &Kept<'_>) -> Result<()> {
        self.total = Some(kept.overview.given());
        let row = kept.overview.units.row;
        let cost = kept.cache.last_cost().map(|cost| cost / row / row);
        let opening = noted(&self.notes, |notes| {
            notes.cost = cost.or(notes.cost);
            notes.opening.clone()
        });
        match opening {
            Some(opening) => self.save(&Contents::Opened {
                overview: *kept.overview,
                distinct: kept.distinct,
                passes: kept.passes,
                opening: Cow::Owned(opening),
                cache: Cow::Borrowed(kept.cache),
            }),
            None => Ok(()),
        }
    }

    fn keep_first(&mut self, first: &FirstPass) -> Result<()> {
        self.save(&Contents::First(Cow::Borrowed(first)))
    }

    fn forget(&self) -> Result<()> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        match keeper.store.remove() {
            Err(error) if !keeper.required => {
                noted(&self.notes, |notes| notes.not_kept = Some(error.to_string()));
                Ok(())
            }
            removed => Ok(removed?),
        }
    }
}

impl PassObserver {
    /// Writes a checkpoint, if the caller requested checkpoints.
    fn save(&mut self, contents: &Contents<'_>) -> Result<()> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        let bytes = contents.to_bytes().map_err(|why| keeper.store.not_written(why));
        let saved = bytes.and_then(|bytes| keeper.store.save(&keeper.identity, &bytes));
        noted(&self.notes, |notes| match saved {
            Ok(()) => {
                notes.checkpoints += 1;
                Ok(())
            }
            Err(error) if keeper.required => Err(error.into()),
            Err(error) => {
                notes.not_kept = Some(error.to_string());
                Ok(())
            }
        })
    }
}

/// Observer of the steps, which records them for [`PassObserver`]. A request to stop ends a pass, but not the sequence
/// of steps: a resumed fit must have the same result as a fit that was not stopped.
pub(crate) struct StepNotes {
    pub(crate) notes: Shared,
    pub(crate) observer: Option<Arc<Observer>>,
}

impl Observe for StepNotes {
    fn tell(&self, event: &Event<'_>) -> ControlFlow<()> {
        let stop = self.observer.as_ref().is_some_and(|o| o.tell(event).is_break());
        noted(&self.notes, |notes| {
            if let Event::Step(step) = event {
                (notes.damping, notes.step) = (step.damping, step.step);
            }
            notes.stop |= stop;
        });
        ControlFlow::Continue(())
    }
}
