//! Passes over the points of a stream, chunk by chunk, with the properties of the points and the cached results.

use super::elsewhere::{Elsewhere, lost, odd};
use super::first_pass::FirstPass;
use super::message::{Request, Said};
use super::pass_cache::{PassCache, PassKey, PassResult, PassSum, Unfinished};
use super::question::{Answer, Question};
use crate::backend::cpu::{Cpu, Scratch};
use crate::backend::cuda::streamed::DeviceStream;
use crate::backend::stream::pass_cache::Evaluated;
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::scaling::Units;
use crate::data::sigma::Spread;
use crate::data::source::prefetch::Prefetch;
use crate::data::source::{Chunk, Shape};
use crate::data::stream::StreamPoints;
use crate::data::summary::Overview;
use crate::data::tree::Tree;
use crate::data::validate_stream::Survey;
use crate::error::source::{SourceChange, SourceError};
use crate::error::{Error, Result};
use crate::host::Instant;
use crate::observe::span;
use crate::solver::observe::Stop;
use crate::solver::outcome::Fault;
use std::ops::ControlFlow;
use std::time::Duration;

/// Observer of the passes, which also writes the checkpoint.
pub(crate) trait Watch: Send {
    /// Receives, after each chunk, the number of the pass and the numbers of chunks and points that this pass has
    /// processed. Returns `Break` to stop the fit.
    fn chunk(&mut self, pass: usize, chunk: u64, points: u64) -> Result<ControlFlow<Stop>>;

    /// Writes a checkpoint, after each pass and when a pass was interrupted.
    ///
    /// # Errors
    /// If the checkpoint is required and cannot be written.
    fn keep(&mut self, passes: &Kept<'_>) -> Result<()>;

    /// Writes a checkpoint of an interrupted first pass.
    ///
    /// # Errors
    /// If the checkpoint is required and cannot be written.
    fn keep_first(&mut self, first: &FirstPass) -> Result<()>;

    /// Removes the checkpoint after the end of the fit.
    ///
    /// # Errors
    /// If the checkpoint is required and cannot be removed.
    fn forget(&self) -> Result<()>;
}

/// Contents of a checkpoint.
pub(crate) struct Kept<'a> {
    pub(crate) overview: &'a Overview,
    pub(crate) distinct: usize,
    /// Number of completed passes, including those of earlier runs of the fit.
    pub(crate) passes: usize,
    pub(crate) cache: &'a PassCache,
}

/// Location of the points.
pub(crate) enum Holder<'a> {
    /// This process reads the points.
    Here(Box<Prefetch<'a>>),
    /// The parts of a distributed fit hold the points.
    Elsewhere(Elsewhere<'a>),
}

/// The points of a stream with the state and the buffers of the passes over them.
pub(crate) struct Passes<'a> {
    pub(crate) holder: Holder<'a>,
    points: StreamPoints,
    estimator: Estimator,
    /// Overview of all points and number of distinct points, after the first pass.
    pub(crate) known: Option<(Overview, usize)>,
    pub(crate) cache: PassCache,
    watch: Box<dyn Watch + 'a>,
    scratch: Scratch,
    /// Number of passes that earlier runs of the fit completed, from its checkpoint.
    pub(crate) earlier: usize,
    /// Number of passes that this run began.
    pub(crate) begun: usize,
    /// Time spent on the evaluation of chunks, without reading, or on requests to the parts.
    pub(crate) working: Duration,
    /// The reason why a pass was interrupted. No further pass begins after that.
    stopped: Option<Stop>,
    /// Fault of an evaluation whose function cannot return errors; the next pass returns it.
    pub(crate) failed: Option<Fault>,
}

impl<'a> Passes<'a> {
    pub(crate) fn new(
        holder: Holder<'a>,
        points: StreamPoints,
        estimator: Estimator,
        watch: Box<dyn Watch + 'a>,
    ) -> Passes<'a> {
        Passes {
            holder,
            points,
            estimator,
            known: None,
            cache: PassCache::default(),
            watch,
            scratch: Scratch::default(),
            earlier: 0,
            begun: 0,
            working: Duration::ZERO,
            stopped: None,
            failed: None,
        }
    }

    /// Returns the columns of the points, and their number if it is known.
    pub(crate) fn shape(&self) -> &Shape {
        match &self.holder {
            Holder::Here(prefetch) => &prefetch.shape,
            Holder::Elsewhere(elsewhere) => &elsewhere.shape,
        }
    }

    /// Returns [`Evaluator::noise`](crate::solver::evaluator::Evaluator::noise) of the points of this process.
    pub(crate) fn noise(&self) -> f64 {
        self.scratch.noise()
    }

    /// Returns the size of the buffers for points, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        if let Holder::Here(prefetch) = &self.holder { prefetch.bytes() } else { 0 }
    }

    /// Returns the scatter of a single observation.
    pub(crate) fn spread(&self) -> Spread {
        let each: &[f64] = &[];
        match self.estimator {
            Estimator::Poisson => Spread::Counts,
            _ => self.points.weights(self.shape().sigma.then_some(each)).spread(),
        }
    }

    /// Runs the first pass: validates all points, draws a sample and, if the starting point is known, computes the
    /// normal equations there, with column factors and units of 1. The normal equations are discarded if the points
    /// need other units. `enough`: distinct points are counted up to this number.
    pub(crate) fn survey(
        &mut self,
        evaluated: Evaluated<'_>,
        pass: &mut FirstPass,
        enough: usize,
    ) -> std::result::Result<(), Fault> {
        let key = evaluated.key(evaluated.start, &vec![1.0; evaluated.model.free.len()]);
        let estimator = self.estimator;
        let outcome = self.first_look(&evaluated, pass);
        if let Err(Fault::Stopped(stop)) = outcome {
            self.stopped = Some(stop);
            self.watch.keep_first(pass)?;
        }
        outcome?;
        if pass.survey.wants_sums(estimator) {
            let again = self.look_again(pass.survey.units())?;
            pass.survey.take_sums(again);
        }
        let FirstPass { survey, sample, sums, .. } = pass;
        let overview = survey.overview(estimator)?;
        let seen = overview.given();
        if let Some(expected) = self.shape().points.filter(|&expected| expected != seen) {
            let message = format!(
                "it gave {seen} points where it had said that there are {expected}; let its shape say how many it gives"
            );
            return Err(Error::from(SourceError::new("the source", message)).into());
        }
        let distinct = sample.distinct(enough);
        self.known = Some((overview, distinct));
        // The sums were computed with units of 1 and are valid only if the overview has these units.
        if let Some(sums) = sums.as_ref().filter(|_| overview.is_ordinary()) {
            let sums = sums.clone().sum().ok_or_else(odd)?;
            self.cache.results.push((key, PassResult::Normal(sums)));
        }
        Ok(())
    }

    fn first_look(
        &mut self,
        evaluated: &Evaluated<'_>,
        pass: &mut FirstPass,
    ) -> std::result::Result<(), Fault> {
        let (said, estimator) = (self.points, self.estimator);
        if let Holder::Elsewhere(_) = self.holder {
            let (most, at_start) = (pass.sample.most() as u64, pass.sums.is_some());
            let request = Request::Look { terms: evaluated.terms(), at_start, most };
            let free = evaluated.model.free.len();
            return match self.request(request)? {
                Said::Look(look) if look.is_for(&pass.sample, at_start.then_some(free)) => {
                    *pass = *look;
                    Ok(())
                }
                _ => Err(odd()),
            };
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let outcome = self.each_chunk(pass.next, |first, chunk| {
            pass.add(evaluated, &mut scratch, (said.of(chunk), first), estimator)
        });
        self.scratch = scratch;
        outcome
    }

    /// Computes the sums of the [`Survey`] in a second pass, in `units`, which are known only after the first pass.
    fn look_again(&mut self, units: Units) -> std::result::Result<Survey, Fault> {
        if let Holder::Elsewhere(_) = self.holder {
            return match self.request(Request::LookAgain { units })? {
                Said::LookAgain(survey) => Ok(*survey),
                _ => Err(odd()),
            };
        }
        let (said, mut survey) = (self.points, Survey::new(0));
        self.each_chunk(0, |_, chunk| {
            survey.add_again(said.of(chunk), units);
            Ok(())
        })?;
        Ok(survey)
    }

    /// Evaluates `question` over all points.
    pub(crate) fn ask(
        &mut self,
        evaluated: Evaluated<'_>,
        question: &Question,
    ) -> std::result::Result<Answer, Fault> {
        let free = evaluated.model.free.len();
        if let Holder::Elsewhere(_) = self.holder {
            let (overview, terms) = (self.overview()?, evaluated.terms());
            let request = Request::Ask { overview, terms, question: question.clone() };
            let sizes = (free, self.shape().x.len());
            return match self.request(request)? {
                Said::Answer(answer) if answer.is_to(question, sizes) => Ok(answer),
                _ => Err(odd()),
            };
        }
        let mut answer = question.unanswered(free, 0);
        let outcome = self.each_part(evaluated, 0, |cpu, first, _| {
            answer.add(question, cpu, first).map_err(|fault| fault.at_offset(first))?;
            match answer.is_complete() {
                true => Err(Fault::Stopped(Stop::Asked)),
                false => Ok(()),
            }
        });
        match outcome {
            Err(Fault::Stopped(Stop::Asked)) if answer.is_complete() => Ok(answer),
            outcome => outcome.map(|()| answer),
        }
    }

    /// Sends a request to the parts and returns their merged reply. Counts as a pass.
    fn request(&mut self, request: Request) -> std::result::Result<Said, Fault> {
        self.may_begin()?;
        let Holder::Elsewhere(elsewhere) = &mut self.holder else { return Err(odd()) };
        self.begun += 1;
        let pass = self.earlier + self.begun;
        let _span = span!(DEBUG, "pass", number = pass);
        let begun = Instant::now();
        let reply = elsewhere.ask(request)?;
        self.working += begun.elapsed();
        self.stopped = self.watch.chunk(pass, 1, reply.points.end)?.break_value();
        match (&self.known, reply.points) {
            (Some((overview, _)), points) if points != (0..overview.given()) => {
                let (expected, got) = (overview.given(), points.end - points.start);
                Err(Error::from(SourceChange::Points { expected, got }).into())
            }
            (_, points) if points.start != 0 => {
                Err(lost(format!("the first of {} points are missing", points.start)))
            }
            _ => Ok(reply.said),
        }
    }

    /// Writes the summary of all points for `key` to `out`, from the cache or by a pass.
    pub(crate) fn result<S: PassSum>(
        &mut self,
        evaluated: Evaluated<'_>,
        key: &PassKey,
        out: &mut S,
    ) -> std::result::Result<(), Fault> {
        if self.recall(key, out)? {
            return Ok(());
        }
        let question = S::question(key);
        let answer = match self.holder {
            Holder::Elsewhere(_) => self.ask(evaluated, &question)?,
            Holder::Here(_) => self.answer_here(evaluated, key, &question)?,
        };
        *out = S::of_answer(answer).and_then(Tree::sum).ok_or_else(odd)?;
        self.learn(key, out)
    }

    /// Runs a pass over the points that this process reads. An interrupted pass continues at the first point that its
    /// sums do not contain.
    fn answer_here(
        &mut self,
        evaluated: Evaluated<'_>,
        key: &PassKey,
        question: &Question,
    ) -> std::result::Result<Answer, Fault> {
        let (mut answer, mut next) = self.cache.begin(key, question);
        let outcome = self.each_part(evaluated, next, |cpu, first, given| {
            answer.add(question, cpu, first).map_err(|fault| fault.at_offset(first))?;
            next = first + given;
            Ok(())
        });
        if let Err(Fault::Stopped(stop)) = outcome {
            self.stopped = Some(stop);
            let (key, sums) = (key.clone(), answer);
            self.cache.unfinished = Some(Box::new(Unfinished { key, sums, next }));
            self.keep()?;
            return Err(Fault::Stopped(stop));
        }
        outcome.map(|()| answer)
    }

    /// Like [`result`](Passes::result), but a device evaluates the pass. An interrupted pass on a device begins again
    /// when the fit is resumed.
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

    /// Copies the cached summary to `out` and returns true. Returns false if no summary is cached and a pass may begin.
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

    /// Calls `work` with an evaluator of each chunk, the number of its first point and its number of points.
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

    /// Calls `work` with the number of the first point of each chunk and its points.
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
        // A continued pass does not know how many of the skipped points are used. It therefore compares the number of
        // all points instead of the number of used points.
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

    /// Calls `with` with a single point of the same kind and in the same units as the points of the stream.
    pub(crate) fn like<R>(&self, overview: &Overview, with: impl FnOnce(&Points<'_>) -> R) -> R {
        let shape = self.shape();
        let mut chunk = Chunk::new(shape, 1);
        chunk.push(&vec![0.0; shape.x.len()], 0.0, Some(1.0));
        with(&Points::part(self.points.of(&chunk), overview))
    }

    /// Checks that a pass may begin.
    ///
    /// # Errors
    /// [`Fault::Stopped`] after a pass was interrupted, or the stored fault of an earlier evaluation.
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
        let pass = self.earlier + self.begun;
        let _span = span!(DEBUG, "pass", number = pass);
        let (watch, working) = (&mut self.watch, &mut self.working);
        let (mut chunks, mut stopped) = (0, None);
        let Holder::Here(prefetch) = &mut self.holder else { return Err(odd()) };
        prefetch.for_each(skip, |first, chunk| {
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
    /// If the checkpoint is required and cannot be written.
    pub(crate) fn keep(&mut self) -> Result<()> {
        let (overview, distinct) = match &self.known {
            Some((overview, distinct)) => (overview, *distinct),
            None => return Ok(()),
        };
        let unfinished = usize::from(self.cache.unfinished.is_some());
        let passes = (self.earlier + self.begun).saturating_sub(unfinished);
        self.watch.keep(&Kept { overview, distinct, passes, cache: &self.cache })
    }

    /// Writes a checkpoint of an interrupted first pass, if configured.
    ///
    /// # Errors
    /// If the checkpoint is required and cannot be written.
    pub(crate) fn keep_first(&mut self, first: &FirstPass) -> Result<()> {
        self.watch.keep_first(first)
    }

    /// Removes the checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is required and cannot be removed.
    pub(crate) fn forget(&self) -> Result<()> {
        self.watch.forget()
    }

    /// Returns the overview of all points.
    ///
    /// # Errors
    /// Returns [`Error::EmptyData`] before the first pass.
    pub(crate) fn overview(&self) -> Result<Overview> {
        let known = self.known.as_ref().map(|(overview, _)| *overview);
        known.ok_or(Error::EmptyData { given: 0, omitted: 0 })
    }
}
