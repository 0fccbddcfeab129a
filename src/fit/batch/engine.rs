//! Batches on the CPU: the fits are divided among the threads.
//!
//! # Interface of the backends
//!
//! [`BatchRequest`] is a validated batch; [`BatchPart`] receives the results of consecutive fits. Every backend
//! receives both and fills the part fit by fit: [`run`] on the CPU, and a device for each range of fits that
//! [`BatchPart::split`] separates. Fits without a result have the status "not run".

use super::arrays::BatchPart;
use super::simd_batch::SimdFits;
use super::status::FitStatus;
use super::workspace::FitWorkspace;
use crate::backend::Precision;
use crate::data::batch::{BatchData, Starts};
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::fit::point_source::PointSource;
use crate::fit::search::SearchRequest;
use crate::fit::spec::FitSpec;
use crate::normal::abreast::ABREAST;
use crate::observe::span;
use crate::solver::observe::{BatchProgress, Event, Observer, wants_to_stop};
use crate::solver::options::Options;
use crate::solver::task::{Problem, Task, Work};
use crate::threads::{self, lock};
use std::iter::from_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Number of samples that a thread takes at a time: a few milliseconds of work, so that idle lanes at the end of a
/// portion cost little.
const SAMPLES: usize = 131_072;
/// Maximum number of fits that a thread takes at a time.
const MOST: usize = 1024;
/// Portions per thread for a smaller batch, so that threads wait only briefly for the last portion.
const PORTIONS: usize = 16;

/// A validated batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchRequest<'a> {
    /// Settings of all fits. Their observer can only stop the batch; no further fit begins after that.
    pub(crate) spec: &'a FitSpec<'a>,
    pub(crate) data: &'a BatchData<'a>,
    pub(crate) starts: &'a Starts<'a>,
    /// Floating-point precision on devices.
    pub(crate) precision: Precision,
    /// Options of the first attempt.
    pub(crate) first_options: Options,
    /// Receives the progress of the batch.
    pub(crate) observer: Option<&'a Observer>,
    /// If true, starts outside the bounds are moved onto them.
    pub(crate) clamp_start: bool,
    /// If true, fits may have fewer points than free parameters.
    pub(crate) underdetermined: bool,
    pub(crate) begun: Instant,
}

impl<'a> BatchRequest<'a> {
    /// Returns the same request with `starts`.
    pub(crate) fn with_starts<'b>(&self, starts: Option<&'b Starts<'b>>) -> BatchRequest<'b>
    where
        'a: 'b,
    {
        BatchRequest { starts: starts.unwrap_or(self.starts), ..*self }
    }

    /// Returns the points of a fit if they are valid. `columns` and `y` are buffers for the points.
    pub(crate) fn points<'p>(
        &self,
        fit: usize,
        columns: &'p mut Vec<Values<'a>>,
        y: &'p mut Vec<f64>,
    ) -> std::result::Result<Points<'p>, FitStatus> {
        let mut points = Points::check(self.data.fit(fit, columns, y))?;
        if self.spec.estimator == Estimator::Poisson {
            points.count_events()?;
        }
        Ok(points)
    }

    /// Returns the time at which the time limit of a fit begins.
    pub(super) fn clock(&self) -> Instant {
        if self.spec.options.max_time.is_some() { Instant::now() } else { self.begun }
    }

    /// Returns the request for the search of a fit of these points.
    pub(super) fn search_request<'s>(
        &'s self,
        source: &'s dyn PointSource,
        fit: usize,
    ) -> SearchRequest<'s> {
        SearchRequest {
            spec: self.spec,
            source,
            options: self.spec.options,
            refined: false,
            linear: self.starts.linear(fit),
            errors_in_x: !self.data.x_sigma.is_exact(),
        }
    }

    /// Returns the task of a minimisation in parallel with others, without an observer.
    pub(super) fn task<'t>(&'t self, problem: &'t Problem) -> Task<'t> {
        let (options, begun, work) = (&self.first_options, self.begun, Work::default());
        Task { problem, options, observer: None, begun, work, known: None }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.spec.is_cancelled()
    }

    /// Returns true if there is an observer or a token.
    pub(super) fn is_watched(&self) -> bool {
        self.observer.is_some() || self.spec.observer.is_some()
    }
}

/// Returns true if `fits` fits keep all threads busy, one fit per thread.
pub(crate) fn fill_all_threads(fits: usize) -> bool {
    fits >= 2 * threads::count()
}

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
        if self.stopped.load(Ordering::Relaxed) || self.request.is_cancelled() {
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
