//! Refits of drawn data. They run as a batch if batches support the data, otherwise as single fits.

use super::draw::{Drawn, Sampler};
use crate::backend::Backend;
use crate::curve_fit::CurveFit;
use crate::curve_fit::ready::CompleteStart;
use crate::data::Data;
use crate::data::batch::BatchData;
use crate::data::points::Points;
use crate::data::sigma::{Sigma, Weights};
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::fit::batch::status::FitStatus;
use crate::fit::engine::Spent;
use crate::fit::priors::Prior;
use crate::host::Instant;
use crate::solver::observe::CancelToken;
use crate::solver::observe::{BatchProgress, Event, Observer, wants_to_stop};
use crate::solver::outcome::Outcome;
use crate::solver::termination::Termination;
use crate::threads::{self, lock};
use std::ops::ControlFlow;
use std::slice::SliceIndex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Results of refits.
#[derive(Default)]
pub(super) struct Refitted {
    /// Parameters of the converged refits, in order, row-major.
    pub(super) params: Vec<f64>,
    pub(super) failed: usize,
    /// Number of refits that the caller stopped.
    pub(super) not_run: usize,
}

impl Refitted {
    pub(super) fn append(&mut self, mut other: Refitted) {
        self.params.append(&mut other.params);
        self.failed += other.failed;
        self.not_run += other.not_run;
    }

    fn add(&mut self, end: End<'_>) {
        match end {
            End::Converged(params) => self.params.extend_from_slice(params),
            End::Failed => self.failed += 1,
            End::NotRun => self.not_run += 1,
        }
    }
}

/// Result of a refit.
enum End<'p> {
    Converged(&'p [f64]),
    Failed,
    NotRun,
}

/// Repeated fits of a model, starting from the parameters of its fit.
pub(super) struct Refits<'a> {
    curve: CurveFit,
    start: &'a [f64],
    sampler: &'a Sampler<'a>,
    infinite_x: bool,
    observer: Option<Arc<Observer>>,
    /// Set as soon as the observer breaks.
    stopped: Arc<AtomicBool>,
    begun: Instant,
    /// Number of finished refits; `total` is the number of all refits.
    done: usize,
    total: usize,
}

impl<'a> Refits<'a> {
    pub(super) fn new(
        curve: &CurveFit,
        (start, infinite_x): (&'a [f64], bool),
        sampler: &'a Sampler<'a>,
        total: usize,
    ) -> Refits<'a> {
        let mut curve = curve.clone();
        curve.keep_covariance = false;
        let observer = curve.observer.take();
        let (stopped, begun) = (Arc::default(), Instant::now());
        Refits { curve, start, sampler, infinite_x, observer, stopped, begun, done: 0, total }
    }

    /// Returns true if the caller stopped the bootstrap.
    pub(super) fn are_stopped(&self) -> bool {
        let cancelled = self.curve.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        cancelled || self.stopped.load(Relaxed)
    }

    /// Fits the drawn data and returns the results.
    ///
    /// # Errors
    /// The errors of [`CurveFit::fit_batch`].
    pub(super) fn make(&mut self, drawn: &Drawn) -> Result<Refitted> {
        if self.are_stopped() {
            return Ok(Refitted { not_run: drawn.fits, ..Refitted::default() });
        }
        let given = self.sampler.given;
        let one_by_one = !drawn.priors.is_empty() || given.correlation.is_some() || self.infinite_x;
        let made = if one_by_one { self.one_by_one(drawn) } else { self.batch(drawn) };
        self.done += drawn.fits;
        made
    }

    fn batch(&mut self, drawn: &Drawn) -> Result<Refitted> {
        let points = drawn.points_or(&self.sampler.points);
        let (columns, y) = (values(&points.columns, ..), &drawn.points.y);
        let data = match drawn.has_own_x() || columns.is_empty() {
            true => BatchData::own(columns, y)?.points_per_fit(self.sampler.len())?,
            false => BatchData::shared(columns, y)?,
        };
        let mut data = data.sigma(self.sigma(&points.sigma))?;
        if !points.x_sigma.is_empty() {
            data = data.x_sigma(values(&points.x_sigma, ..))?;
        }
        if !drawn.mask.is_empty() {
            data = data.mask(&drawn.mask)?;
        }
        self.curve.observer = self.watch();
        let batch = self.curve.fit_batch(data, self.start)?;
        let mut made = Refitted::default();
        for fit in batch.iter() {
            made.add(match fit.status() {
                status if status.is_determined() => End::Converged(fit.params()),
                FitStatus::NotRun => End::NotRun,
                status if status.termination() == Some(Termination::Stopped) => End::NotRun,
                _ => End::Failed,
            });
        }
        Ok(made)
    }

    fn one_by_one(&mut self, drawn: &Drawn) -> Result<Refitted> {
        // The threads of the CPU run different fits at the same time; therefore `Auto` does not use a device here.
        if self.curve.backend == Backend::Auto {
            self.curve.backend = Backend::Cpu;
        }
        let this = &*self;
        let told = Mutex::new((0, None));
        let observer = this.watch();
        let refit = |fit: usize| {
            let cancelled = this.curve.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
            if cancelled || this.stopped.load(Relaxed) {
                return None;
            }
            let outcome = this.alone(drawn, fit);
            if let Some(observer) = &observer {
                let (finished, panic) = &mut *lock(&told);
                *finished += 1;
                let (n_fits, elapsed) = (drawn.fits, this.begun.elapsed());
                let now = BatchProgress { finished: *finished, n_fits, elapsed };
                if let Err(message) = wants_to_stop(&**observer, Event::Batch(now)) {
                    this.stopped.store(true, Relaxed);
                    panic.get_or_insert(message);
                }
            }
            Some(outcome)
        };
        let ends: Vec<Option<Result<Outcome>>> = match self.curve.backend {
            Backend::Cuda(_) => (0..drawn.fits).map(refit).collect(),
            _ => threads::map(0..drawn.fits, refit),
        };
        if let Some(message) = lock(&told).1.take() {
            return Err(Error::ObserverPanicked { message });
        }
        let mut made = Refitted::default();
        for end in &ends {
            made.add(match end {
                Some(Ok(end)) if end.termination.is_converged() => End::Converged(&end.params),
                Some(Ok(end)) if end.termination != Termination::Stopped => End::Failed,
                Some(Err(error)) if *error != Error::StoppedInFirstPass => End::Failed,
                _ => End::NotRun,
            });
        }
        Ok(made)
    }

    /// Runs a single fit of drawn data.
    fn alone(&self, drawn: &Drawn, fit: usize) -> Result<Outcome> {
        let (sampler, n) = (self.sampler, self.sampler.len());
        let of = fit * n..(fit + 1) * n;
        let y = &drawn.points.y[of.clone()];
        let count = drawn.priors.len() / drawn.fits;
        let priors = &drawn.priors[fit * count..(fit + 1) * count];
        if sampler.given.correlation.is_some() {
            let mut all = vec![0.0; sampler.given.len()];
            sampler.index.iter().zip(y).for_each(|(&i, &y)| all[i] = y);
            return self.search(&sampler.given.responding(&all), priors);
        }
        let points = drawn.points_or(&sampler.points);
        let part = if drawn.has_own_x() { of.clone() } else { 0..n };
        let sigma = points.sigma.get(part.clone()).unwrap_or_default();
        let mut data = Data::new(values(&points.columns, part.clone()), y)?
            .sigma(self.sigma(sigma))?
            .allow_infinite_x(self.infinite_x);
        if !points.x_sigma.is_empty() {
            data = data.x_sigma(values(&points.x_sigma, part))?;
        }
        if !drawn.mask.is_empty() {
            data = data.mask(&drawn.mask[of])?;
        }
        self.search(&self.curve.validate(&data)?, priors)
    }

    fn search<'p>(&'p self, points: &'p Points<'_>, priors: &'p [Prior]) -> Result<Outcome> {
        let start = CompleteStart::given(self.start.to_vec());
        let mut request = self.curve.request(points, start, None, Spent::default())?;
        (request.spec.priors, request.spec.on_one_thread) = (priors, true);
        request.search(Instant::now())
    }

    /// Returns the sigma of a fit or a batch. `each`: one value per point.
    fn sigma<'s>(&self, each: &'s [f64]) -> Sigma<'s> {
        match self.sampler.given.sigma {
            Weights::Constant(sigma) => Sigma::Constant(sigma),
            Weights::Each { absolute: true, .. } => Sigma::Absolute(each),
            Weights::Each { absolute: false, .. } => Sigma::Relative(each),
            Weights::Equal | Weights::Covariance { .. } => Sigma::Unknown,
        }
    }

    /// Returns an observer for one of several batches of refits. It converts the progress of this batch to the progress
    /// of all refits and informs the caller's observer.
    fn watch(&self) -> Option<Arc<Observer>> {
        let (observer, stopped) = (self.observer.clone()?, self.stopped.clone());
        let (done, n_fits, begun) = (self.done, self.total, self.begun);
        Some(Arc::new(move |event: &Event<'_>| {
            let Event::Batch(now) = event else { return ControlFlow::Continue(()) };
            let (finished, elapsed) = (done + now.finished, begun.elapsed());
            let answer = observer.tell(&Event::Batch(BatchProgress { finished, n_fits, elapsed }));
            stopped.fetch_or(answer.is_break(), Relaxed);
            answer
        }))
    }
}

fn values(
    columns: &[Vec<f64>],
    part: impl SliceIndex<[f64], Output = [f64]> + Clone,
) -> Vec<Values<'_>> {
    columns.iter().map(|column| Values::F64(&column[part.clone()])).collect()
}
