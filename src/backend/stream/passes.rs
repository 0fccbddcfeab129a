//! The points of a stream, passed over chunk by chunk, and what is known of them.

use super::pass_cache::{PassCache, PassKey, PassResult, PassSum, Unfinished};
use crate::backend::cpu::{Cpu, Prepared, Scratch};
use crate::backend::cuda::streamed::DeviceStream;
use crate::data::loss::{Estimator, Loss};
use crate::data::overview::Overview;
use crate::data::points::Points;
use crate::data::sample::Sample;
use crate::data::sigma::Spread;
use crate::data::source::Chunk;
use crate::data::source::prefetch::Prefetch;
use crate::data::stream::StreamPoints;
use crate::data::validate_stream::Survey;
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use crate::error::{Error, Result};
use crate::normal::{Grouped, Normal};
use crate::observe::span;
use crate::solver::outcome::Fault;
use crate::solver::patience::{Patience, Stop};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How the world follows the passes.
pub(crate) trait Watch: Send {
    /// After each chunk: how many passes were begun, chunks and points of this one so far. Breaks to stop.
    fn chunk(&mut self, pass: usize, chunk: u64, points: u64) -> Result<ControlFlow<Stop>>;

    /// Keeps what there is: after each pass, and where one was stopped.
    ///
    /// # Errors
    /// If it cannot be kept and must be.
    fn keep(&mut self, passes: &Kept<'_>) -> Result<()>;

    /// Keeps a first pass that was stopped.
    ///
    /// # Errors
    /// If it cannot be kept and must be.
    fn keep_first(&mut self, first: &FirstPass) -> Result<()>;

    /// Forgets what was kept: the fit has ended.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn forget(&self) -> Result<()>;
}

/// What is worth keeping of a stream.
pub(crate) struct Kept<'a> {
    pub(crate) overview: &'a Overview,
    pub(crate) distinct: usize,
    pub(crate) cache: &'a PassCache,
}

/// The first pass on the way: what it has seen, and the first point that it has not.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FirstPass {
    pub(crate) survey: Survey,
    pub(crate) sample: Sample,
    /// The normal equations at the start, if points are of ordinary size; `None` if the start is not known yet.
    pub(crate) sums: Option<Grouped<Normal>>,
    pub(crate) next: u64,
}

impl FirstPass {
    /// Of no points. `free`: free parameters, if the start is known.
    pub(crate) fn new(sample: Sample, free: Option<usize>) -> FirstPass {
        let sums = free.map(|free| Grouped::new(Normal::zero(free)));
        FirstPass { survey: Survey::default(), sample, sums, next: 0 }
    }
}

/// The points of a stream with all that passes over them need, kept from pass to pass.
pub(crate) struct Passes<'a> {
    pub(crate) prefetch: Prefetch<'a>,
    points: StreamPoints,
    estimator: Estimator,
    /// What is known of all points, once they have been seen.
    pub(crate) known: Option<(Overview, usize)>,
    pub(crate) cache: PassCache,
    watch: Box<dyn Watch + 'a>,
    scratch: Scratch,
    /// Passes that were begun.
    pub(crate) begun: usize,
    /// Time that chunks were worked on.
    pub(crate) working: Duration,
    /// Why a pass was stopped, if one was: no other is begun.
    stopped: Option<Stop>,
    /// What a pass failed with that could not say so: the next one says it.
    pub(crate) failed: Option<Fault>,
}

/// The model that is evaluated, and how.
#[derive(Clone, Copy)]
pub(crate) struct Evaluated<'a> {
    pub(crate) model: &'a Prepared,
    pub(crate) loss: Loss,
    /// What no point weighs more than, in row units.
    pub(crate) most_weight: f64,
    /// Where the fit starts, which says how large parameters are.
    pub(crate) start: &'a [f64],
    /// How long passes may go on.
    pub(crate) patience: Patience<'a>,
}

impl Evaluated<'_> {
    /// What a pass is asked at these parameters.
    pub(crate) fn key(&self, params: &[f64], columns: &[f64]) -> PassKey {
        let Evaluated { loss, most_weight, .. } = *self;
        PassKey { loss, most_weight, params: params.to_vec(), columns: columns.to_vec() }
    }

    /// Calls `work` with an evaluator of points, which has `scratch` and leaves it.
    fn on<R>(
        &self,
        scratch: &mut Scratch,
        points: &Points<'_>,
        work: impl FnOnce(&mut Cpu<'_>) -> R,
    ) -> R {
        let Evaluated { model, loss, most_weight, start, patience } = *self;
        let cpu = Cpu::of_part(std::mem::take(scratch), model, points, loss, start);
        let mut cpu = cpu.within(patience).with_weights_of(most_weight);
        let done = work(&mut cpu);
        *scratch = cpu.into_scratch();
        done
    }
}

impl<'a> Passes<'a> {
    pub(crate) fn new(
        prefetch: Prefetch<'a>,
        points: StreamPoints,
        estimator: Estimator,
        watch: Box<dyn Watch + 'a>,
    ) -> Passes<'a> {
        Passes {
            prefetch,
            points,
            estimator,
            known: None,
            cache: PassCache::default(),
            watch,
            scratch: Scratch::default(),
            begun: 0,
            working: Duration::ZERO,
            stopped: None,
            failed: None,
        }
    }

    /// What is known of how far a single observation scatters.
    pub(crate) fn spread(&self) -> Spread {
        let each: &[f64] = &[];
        match self.estimator {
            Estimator::Poisson => Spread::Counts,
            _ => self.points.weights(self.prefetch.shape.sigma.then_some(each)).spread(),
        }
    }

    /// Looks at all points for the first time, draws a sample and, where their size allows it, evaluates
    /// `model` at its start, with columns as they are. `enough`: how many different points are counted.
    pub(crate) fn survey(
        &mut self,
        evaluated: Evaluated<'_>,
        pass: &mut FirstPass,
        enough: usize,
    ) -> std::result::Result<(), Fault> {
        let Evaluated { model, start, .. } = evaluated;
        let free = model.free.len();
        let key = evaluated.key(start, &vec![1.0; free]);
        let (said, estimator) = (self.points, self.estimator);
        let mut scratch = std::mem::take(&mut self.scratch);
        let outcome = self.each_chunk(pass.next, |first, chunk| {
            let mut survey = pass.survey.clone();
            let points = survey.add(said.of(chunk), first, estimator)?;
            if let Some(sums) = &mut pass.sums {
                evaluated
                    .on(&mut scratch, &points, |cpu| cpu.add_normal(start, &key.columns, sums))
                    .map_err(|fault| at_offset(fault, first))?;
            }
            // All that was asked of these points is there, or a pass that goes on sees them again.
            pass.survey = survey;
            pass.sample.add(&points);
            pass.next = first + chunk.len() as u64;
            Ok(())
        });
        self.scratch = scratch;
        if let Err(Fault::Stopped(stop)) = outcome {
            self.stopped = Some(stop);
            self.watch.keep_first(pass)?;
        }
        outcome?;
        let FirstPass { survey, sample, sums, .. } = pass;
        if survey.wants_sums(estimator) {
            self.each_chunk(0, |_, chunk| {
                survey.add_again(said.of(chunk));
                Ok(())
            })?;
        }
        let overview = survey.overview(estimator)?;
        let seen = overview.given();
        if let Some(expected) = self.prefetch.shape.points.filter(|&expected| expected != seen) {
            let message = format!(
                "it gave {seen} points where it had said that there are {expected}; let its shape say how many it gives"
            );
            return Err(Error::from(SourceError::new("the source", message)).into());
        }
        let distinct = sample.distinct(enough);
        self.known = Some((overview, distinct));
        // Sums of points in other units than theirs would be others.
        if let Some(sums) = sums.as_ref().filter(|_| overview.is_ordinary()) {
            self.cache.results.push((key, PassResult::Normal(sums.clone().sum())));
        }
        Ok(())
    }

    /// The sums of all points that result a key, from a pass unless they are known.
    pub(crate) fn result<S: PassSum>(
        &mut self,
        evaluated: Evaluated<'_>,
        key: &PassKey,
        out: &mut S,
    ) -> std::result::Result<(), Fault> {
        if self.recall(key, out)? {
            return Ok(());
        }
        let (mut sums, mut next) = self.cache.begin(key);
        let outcome = self.each_part(evaluated, next, |cpu, first, given| {
            let added = S::add(cpu, &key.params, &key.columns, &mut sums);
            added.map_err(|fault| at_offset(fault, first))?;
            next = first + given;
            Ok(())
        });
        if let Err(Fault::Stopped(stop)) = outcome {
            self.stopped = Some(stop);
            let (key, sums) = (key.clone(), S::unfinished(sums));
            self.cache.unfinished = Some(Box::new(Unfinished { key, sums, next }));
            self.keep()?;
            return outcome;
        }
        outcome?;
        *out = sums.sum();
        self.learn(key, out)
    }

    /// As [`result`](Passes::result), with a pass of a device. One that is stopped begins anew when the fit is
    /// resumed.
    pub(crate) fn answer_on<S: PassSum>(
        &mut self,
        device: &mut DeviceStream,
        key: &PassKey,
        out: &mut S,
    ) -> std::result::Result<(), Fault> {
        if self.recall(key, out)? {
            return Ok(());
        }
        let mut sums = S::empty(key.columns.len());
        device.begin(S::KIND, &key.params, &key.columns).map_err(Fault::Device)?;
        self.each_points(0, |_, points| device.add(points, &mut sums).map_err(Fault::Device))?;
        device.finish(&mut sums).map_err(Fault::Device)?;
        *out = sums;
        self.learn(key, out)
    }

    /// Whether the result is known, which is then in `out`; if not, a pass may begin.
    fn recall<S: PassSum>(&self, key: &PassKey, out: &mut S) -> std::result::Result<bool, Fault> {
        match self.cache.recall(key) {
            Some(known) => {
                out.clone_from(known);
                Ok(true)
            }
            None => self.may_begin().map(|()| false),
        }
    }

    fn learn<S: PassSum>(&mut self, key: &PassKey, result: &S) -> std::result::Result<(), Fault> {
        self.cache.results.push((key.clone(), result.clone().into()));
        Ok(self.keep()?)
    }

    /// Calls `work` with an evaluator of each chunk, the number of its first point and how many were given.
    pub(crate) fn each_part(
        &mut self,
        evaluated: Evaluated<'_>,
        skip: u64,
        mut work: impl FnMut(&mut Cpu<'_>, u64, u64) -> std::result::Result<(), Fault>,
    ) -> std::result::Result<(), Fault> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let outcome = self.each_points(skip, |first, points| {
            evaluated.on(&mut scratch, points, |cpu| work(cpu, first, points.len() as u64))
        });
        self.scratch = scratch;
        outcome
    }

    /// Calls `work` with the points of each chunk and the number of the first.
    fn each_points(
        &mut self,
        skip: u64,
        mut work: impl FnMut(u64, &Points<'_>) -> std::result::Result<(), Fault>,
    ) -> std::result::Result<(), Fault> {
        let overview = self.overview()?;
        let said = self.points;
        let (mut used, mut seen) = (0, skip);
        self.each_chunk(skip, |first, chunk| {
            let points = Points::part(said.of(chunk), &overview);
            used += points.used as u64;
            seen += points.len() as u64;
            work(first, &points)
        })?;
        // Of a pass that went on, those that count in its first part are not known.
        let (expected, got) = match skip {
            0 => (overview.used as u64, used),
            _ => (overview.given(), seen),
        };
        if got == expected {
            Ok(())
        } else {
            Err(Error::from(SourceChange::Points { expected, got }).into())
        }
    }

    /// A single point of the kind of all others, in their units.
    pub(crate) fn like<R>(&self, overview: &Overview, with: impl FnOnce(&Points<'_>) -> R) -> R {
        let shape = &self.prefetch.shape;
        let mut chunk = Chunk::new(shape, 1);
        chunk.push(&vec![0.0; shape.x.len()], 0.0, Some(1.0));
        with(&Points::part(self.points.of(&chunk), overview))
    }

    /// # Errors
    /// [`Fault::Stopped`] after a pass was stopped, and what one failed with.
    fn may_begin(&self) -> std::result::Result<(), Fault> {
        match &self.failed {
            Some(fault) => Err(fault.clone()),
            None => self.stopped.map_or(Ok(()), |stop| Err(Fault::Stopped(stop))),
        }
    }

    fn each_chunk(
        &mut self,
        skip: u64,
        mut work: impl FnMut(u64, &Chunk) -> std::result::Result<(), Fault>,
    ) -> std::result::Result<(), Fault> {
        self.may_begin()?;
        self.begun += 1;
        let _span = span!(DEBUG, "pass", number = self.begun);
        let (watch, pass, working) = (&mut self.watch, self.begun, &mut self.working);
        let (mut chunks, mut stopped) = (0, None);
        self.prefetch.for_each(skip, |first, chunk| {
            let _span = span!(DEBUG, "chunk", first = first, points = chunk.len());
            let begun = Instant::now();
            work(first, chunk)?;
            *working += begun.elapsed();
            chunks += 1;
            let go_on = watch.chunk(pass, chunks, first + chunk.len() as u64)?;
            stopped = go_on.break_value();
            Ok::<_, Fault>(match stopped {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            })
        })?;
        self.stopped = stopped;
        self.may_begin()
    }

    /// Writes a checkpoint, if configured.
    ///
    /// # Errors
    /// If it must be and cannot.
    pub(crate) fn keep(&mut self) -> Result<()> {
        let (overview, distinct) = match &self.known {
            Some((overview, distinct)) => (overview, *distinct),
            None => return Ok(()),
        };
        self.watch.keep(&Kept { overview, distinct, cache: &self.cache })
    }

    /// Lets a first pass be kept.
    ///
    /// # Errors
    /// If it must be and cannot.
    pub(crate) fn keep_first(&mut self, first: &FirstPass) -> Result<()> {
        self.watch.keep_first(first)
    }

    /// Forgets what was kept.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) fn forget(&self) -> Result<()> {
        self.watch.forget()
    }

    /// What is known of all points.
    pub(crate) fn overview(&self) -> Result<Overview> {
        let known = self.known.as_ref().map(|(overview, _)| *overview);
        known.ok_or(Error::EmptyData { given: 0, omitted: 0 })
    }
}

/// A fault at a point of a chunk as one at a point of all.
fn at_offset(fault: Fault, first: u64) -> Fault {
    match fault {
        Fault::Panicked { message, point, params } => {
            let point = point.map(|(index, x)| (index + first as usize, x));
            Fault::Panicked { message, point, params }
        }
        other => other,
    }
}
