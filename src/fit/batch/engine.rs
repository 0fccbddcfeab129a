//! Batches on the CPU: the fits are divided among the threads.
//!
//! # Interface of the backends
//!
//! [`BatchRequest`] is a validated batch; [`BatchPart`] receives the results of consecutive fits. Every backend
//! receives both and writes the result of each fit to the part. The backend on the CPU is [`run`]. For devices the part
//! is divided into ranges of fits by [`BatchPart::split`], and a device computes one range at a time. Fits without a
//! result have the status "not run".

use super::arrays::BatchPart;
use super::request::BatchRequest;
use super::simd_batch::SimdFits;
use super::status::FitStatus;
use super::workspace::FitWorkspace;
use crate::error::{Error, Result};
use crate::normal::abreast::ABREAST;
use crate::observe::span;
use crate::solver::observe::{BatchProgress, Event, Observer, wants_to_stop};
use crate::threads::{self, lock};
use std::iter::from_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of samples that a thread takes at a time: a few milliseconds of work, so that idle lanes at the end of a
/// portion cost little.
const SAMPLES: usize = 131_072;
/// Maximum number of fits that a thread takes at a time.
const MOST: usize = 1024;
/// Minimum number of portions per thread, so that threads wait only briefly for the last portion. A batch that is too
/// small for this has fewer portions, of [`ABREAST`] fits each.
const PORTIONS: usize = 16;

/// Computes all fits of `out` that have not been run, on the threads of the current pool. One thread computes each fit
/// in a fixed order of operations; therefore the results do not depend on the number of threads.
///
/// # Errors
/// [`Error::ObserverPanicked`]; `out` contains the completed fits.
pub(crate) fn run(request: &BatchRequest<'_>, out: BatchPart<'_>) -> Result<()> {
    run_after(request, out.first, out)
}

/// Same as [`run`], after `finished` completed fits.
pub(super) fn run_after(
    request: &BatchRequest<'_>,
    finished: usize,
    out: BatchPart<'_>,
) -> Result<()> {
    if out.len() == 0 {
        return Ok(());
    }
    let samples = request.data.samples.len() / request.data.n_fits();
    let share = out.len().div_ceil(PORTIONS * threads::count());
    let crew = Scheduler {
        request,
        fits: request.data.n_fits(),
        portion: (SAMPLES / samples.max(1)).clamp(1, share.clamp(ABREAST, MOST)),
        rooms: Mutex::new(Vec::new()),
        stopped: AtomicBool::new(false),
        tally: Mutex::new(BatchTally { finished, panic: None }),
    };
    threads::map(portions(out, crew.portion), |part| crew.make(part));
    let tally = crew.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.panic.map_or(Ok(()), |message| Err(Error::ObserverPanicked { message }))
}

/// Splits a part into portions of `fits` fits.
pub(super) fn portions(part: BatchPart<'_>, fits: usize) -> impl Iterator<Item = BatchPart<'_>> {
    let mut rest = Some(part);
    from_fn(move || {
        let (head, behind) = match rest.take()? {
            part if part.len() > fits => part.split(fits),
            part => return Some(part),
        };
        rest = Some(behind);
        Some(head)
    })
}

/// Workspace of a thread for its fits.
enum FitMaker<'a> {
    SimdBatch(Box<SimdFits<'a>>),
    Alone(Box<FitWorkspace<'a>>),
}

impl<'a> FitMaker<'a> {
    fn new(request: &BatchRequest<'a>) -> FitMaker<'a> {
        match SimdFits::new(request) {
            Some(ranks) => FitMaker::SimdBatch(Box::new(ranks)),
            None => FitMaker::Alone(Box::new(FitWorkspace::new(request))),
        }
    }
}

/// State that the threads of a batch share.
struct Scheduler<'r, 'a> {
    request: &'r BatchRequest<'a>,
    fits: usize,
    /// Number of fits of a portion.
    portion: usize,
    /// Workspaces that no thread uses.
    rooms: Mutex<Vec<FitMaker<'a>>>,
    stopped: AtomicBool,
    tally: Mutex<BatchTally>,
}

/// Progress for the observer.
#[derive(Default)]
struct BatchTally {
    finished: usize,
    /// The message of the observer's panic.
    panic: Option<String>,
}

impl Scheduler<'_, '_> {
    fn make(&self, mut part: BatchPart<'_>) {
        if self.stopped.load(Ordering::Relaxed) || self.request.spec.is_cancelled() {
            return;
        }
        let _span = span!(DEBUG, "portion", first = part.first, fits = part.len());
        let idle = lock(&self.rooms).pop();
        let mut room = idle.unwrap_or_else(|| FitMaker::new(self.request));
        match &mut room {
            FitMaker::SimdBatch(ranks) => ranks.fit_all(self.request, &mut part),
            FitMaker::Alone(bench) => {
                for index in 0..part.len() {
                    if part.statuses[index] == FitStatus::NotRun {
                        bench.fit(self.request, index, &mut part);
                    }
                }
            }
        }
        lock(&self.rooms).push(room);
        if let Some(observer) = self.request.observer {
            self.tell(observer, &part);
        }
    }

    /// Reports progress to the observer, one thread at a time, so that the reported numbers increase.
    fn tell(&self, observer: &Observer, part: &BatchPart<'_>) {
        let mut tally = lock(&self.tally);
        if self.stopped.load(Ordering::Relaxed) {
            return;
        }
        tally.finished += part.len();
        let progress = BatchProgress {
            finished: tally.finished,
            n_fits: self.fits,
            elapsed: self.request.begun.elapsed(),
        };
        match wants_to_stop(observer, Event::Batch(progress)) {
            Ok(stop) => self.stopped.fetch_or(stop, Ordering::Relaxed),
            Err(message) => {
                tally.panic = Some(message);
                self.stopped.swap(true, Ordering::Relaxed)
            }
        };
    }
}
