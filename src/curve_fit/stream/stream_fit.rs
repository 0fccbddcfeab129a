//! Fit of a stream in phases: a first pass, a starting point from a sample, and steps until termination.

use crate::backend::cpu::{Cpu, Prepared};
use crate::backend::stream::{Evaluated, FirstPass, Holder, Passes};
use crate::curve_fit::parameters::told_of_ties;
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::sample_fits::SampleForm;
use crate::curve_fit::{CurveFit, Ready};
use crate::data::sample::{LEAST_SAMPLE, Sample};
use crate::data::source::Shape;
use crate::data::start::Start;
use crate::data::stream::{Stream, StreamPoints};
use crate::data::summary::Overview;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::engine::{Request, Spent};
use crate::fit::lack_of_fit::ResidualTests;
use crate::fit::point_source::{EvaluatorOptions, PointEvaluator, PointSource, View};
use crate::fit::spec::FitSpec;
use crate::fit::stream::checkpoint::Store;
use crate::fit::stream::contents::Contents;
use crate::fit::stream::pass_observer::{Keeper, PassObserver, Shared, StepNotes, noted};
use crate::fit::stream::source::StreamSource;
use crate::fit::stream::stats::StreamStats;
use crate::fit::subsample_start::{SubsampleStart, Totals, forgiven};
use crate::fit::warning::Warning;
use crate::host::Instant;
use crate::normal::Normal;
use crate::solver::observe::{Patience, Stopper, end_of};
use crate::solver::options::Options;
use crate::solver::outcome::{Failure, Fault};
use crate::threads::lock;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The request: a prepared model and a start.
pub(super) struct Asked<'f> {
    pub(super) curve: &'f CurveFit,
    pub(super) ready: &'f Ready,
    /// Positions of the free parameters.
    pub(super) free: Vec<usize>,
    pub(super) start: Start,
    pub(super) begun: Instant,
}

/// The points and the settings of their processing.
pub(super) struct PointsAsked<'f> {
    pub(super) holder: Holder<'f>,
    pub(super) shape: Shape,
    pub(super) said: StreamPoints,
    pub(super) subsample: bool,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) required: bool,
}

impl<'f> PointsAsked<'f> {
    /// Returns the points of a stream.
    ///
    /// # Errors
    /// If there is no memory for a chunk, or the source panics.
    pub(super) fn of(stream: Stream<'f>, shape: Shape) -> Result<PointsAsked<'f>> {
        let mut stream = stream;
        let Stream { points: said, subsample, required, .. } = stream;
        let checkpoint = stream.checkpoint.take();
        let holder = Holder::Here(Box::new(stream.reader(shape.clone())?));
        Ok(PointsAsked { holder, shape, said, subsample, checkpoint, required })
    }
}

/// Starting point of the steps: the result of the fit of a sample, or the caller's start, with the reason.
pub(super) struct Beginning {
    refined: Option<Vec<f64>>,
    why: String,
}

/// State of a fit of a stream.
pub(super) struct StreamFit<'f> {
    asked: Asked<'f>,
    /// Specification of the steps, without the time limit, which interrupts passes only. If the limit ended steps, the
    /// result of a resumed fit could differ from that of an uninterrupted fit.
    spec: FitSpec<'f>,
    /// The complete start, after it was computed.
    start: OnceLock<CompleteStart>,
    source: Arc<StreamSource<'f>>,
    notes: Shared,
    said: StreamPoints,
    shape: Shape,
    subsample: bool,
    /// Number of passes whose results were read from a checkpoint.
    resumed_passes: usize,
    prepare_time: Duration,
}

impl<'f> StreamFit<'f> {
    /// Creates the fit. Also returns the contents of the checkpoint, if there is one.
    ///
    /// # Errors
    /// Errors in the start, the fingerprint of the points or the checkpoint.
    pub(super) fn new(
        asked: Asked<'f>,
        spec: FitSpec<'f>,
        points: PointsAsked<'f>,
    ) -> Result<(StreamFit<'f>, Option<Contents<'static>>)> {
        let prepare_time = asked.begun.elapsed();
        let Asked { curve, ready, free, begun, .. } = &asked;
        let start = OnceLock::new();
        if let Start::Values(values) = &asked.start {
            let _ = start.set(CompleteStart::given(curve.checked_start(values)?));
        }
        let PointsAsked { holder, shape, said, subsample, checkpoint, required } = points;
        let notes = Shared::default();
        let (mut keeper, mut resumed, mut resumed_passes) = (None, None, 0);
        if let Some(path) = checkpoint {
            let from = curve.begins(&asked.start, start.get())?;
            let of_points = match &holder {
                Holder::Here(prefetch) => prefetch.fingerprint()?,
                Holder::Elsewhere(elsewhere) => elsewhere.fingerprint(),
            };
            let identity =
                curve.identity(&ready.model, &from, (&shape, of_points), &said, subsample);
            let store = Store::new(&path);
            if let Some(bytes) = store.load(&identity)? {
                let read = Contents::from_bytes(&bytes, free.len());
                resumed = Some(read.map_err(|why| store.corrupt(why))?);
            }
            keeper = Some(Keeper { store, identity, required });
        }
        if let Some(Contents::Opened { cache, .. }) = &resumed {
            resumed_passes = cache.results.len();
        }
        let follower = PassObserver {
            keeper,
            notes: notes.clone(),
            observer: curve.observer.clone(),
            token: curve.cancel.clone(),
            total: shape.points,
            begun: *begun,
            until: end_of(*begun, curve.options.max_time),
        };
        let passes = Passes::new(holder, said, curve.estimator, Box::new(follower));
        let watch = StepNotes {
            notes: notes.clone(),
            observer: curve.watch().map(|observer| told_of_ties(observer, &ready.ties)),
        };
        let until = end_of(asked.begun, asked.curve.options.max_time);
        let source = Arc::new(StreamSource::new(passes, asked.curve.cancel.clone(), until));
        let spec = FitSpec {
            options: Options { max_time: None, ..curve.options },
            observer: Some(Arc::new(watch)),
            ..spec
        };
        let course = StreamFit {
            asked,
            spec,
            start,
            source,
            notes,
            said,
            shape,
            subsample,
            resumed_passes,
            prepare_time,
        };
        Ok((course, resumed))
    }

    /// Runs the first pass, computes a missing start, and fits a sample of at most `most` points. If the checkpoint
    /// contains these results, they are returned instead.
    pub(super) fn open(
        &self,
        resumed: Option<Contents<'_>>,
        most: usize,
    ) -> Result<SubsampleStart> {
        let mut passes = lock(&self.source.passes);
        let free = self.asked.free.len();
        let mut first = match resumed {
            Some(Contents::Opened { overview, distinct, passes: earlier, opening, cache }) => {
                passes.known = Some((overview, distinct));
                passes.earlier = earlier;
                passes.cache = cache.into_owned();
                let opening = opening.into_owned();
                noted(&self.notes, |notes| notes.opening = Some(opening.clone()));
                let (values, solved) = (opening.start.clone(), opening.linear.clone());
                let _ = self.start.set(CompleteStart { solved, ..CompleteStart::given(values) });
                return Ok(opening);
            }
            Some(Contents::First(first)) => first.into_owned(),
            None => {
                let sample = Sample::new(self.shape.x.len(), self.shape.sigma, most);
                FirstPass::new(sample, self.start.get().is_some(), 0)
            }
        };
        // Distinct points are counted only up to this number, which suffices to detect fewer points than parameters.
        let enough = self.asked.curve.names.len() + 1;
        let surveyed = passes.survey(self.evaluated(), &mut first, enough);
        surveyed.map_err(|fault| self.refused(fault))?;
        let used = passes.overview()?.used;
        self.asked.curve.check_priors(passes.overview()?.absolute)?;
        if used + self.asked.curve.priors.len() < free && !self.asked.curve.underdetermined {
            return Err(Error::TooFewPoints { points: used, parameters: free });
        }
        if self.start.get().is_none() {
            let (curve, start) = (self.asked.curve, &self.asked.start);
            let form = self.form();
            let data = form.data(first.sample.columns())?;
            let found = curve.found(start, &curve.validate(&data)?)?;
            if found.search.is_some_and(|search| search.stopped) {
                return Err(Error::StoppedInFirstPass);
            }
            let _ = self.start.set(found);
        }
        let opening = match self.subsample && free > 0 {
            true => {
                let Asked { curve, ready, .. } = &self.asked;
                let work = curve.of_sample(ready, self.form(), self.patience().until);
                SubsampleStart::of(&first.sample, self.start(), &ready.prepared.free, &work)
            }
            false => SubsampleStart::none(first.sample.len(), "none was asked for"),
        };
        let (start, linear) = (self.start().to_vec(), self.linear());
        let tested = Some(first.sample.at_most(LEAST_SAMPLE));
        let opening = SubsampleStart { start, linear, tested, ..opening };
        // A stop or the time limit also ends the fits of the sample. Their incomplete results must not be stored.
        if self.subsample && self.patience().check().is_err() {
            passes.keep_first(&first)?;
            return Err(Error::StoppedInFirstPass);
        }
        noted(&self.notes, |notes| notes.opening = Some(opening.clone()));
        passes.keep()?;
        Ok(opening)
    }

    /// Selects the backend of the passes and the starting point of the steps. This can require passes.
    pub(super) fn begin(&self, opening: &SubsampleStart) -> Result<Beginning> {
        let points = self.overview()?;
        let Asked { curve, ready, .. } = &self.asked;
        let kernels = (ready.printed.as_deref(), ready.prepared.free.len());
        self.source.choose(&curve.wanted(None), curve.loss, kernels, &points)?;
        let own =
            |why: &str| Beginning { refined: None, why: format!("the caller's, because {why}") };
        let Some(candidate) = &opening.candidate else { return Ok(own(&opening.reason)) };
        let columns = vec![1.0; self.asked.free.len()];
        let mut there = Normal::zero(columns.len());
        match self.evaluator(candidate)?.normal(candidate, &columns, &mut there) {
            Ok(()) => {}
            Err(Fault::Stopped(_)) => return Ok(own("the fit was stopped")),
            Err(fault) => return Ok(own(forgiven(fault).map_err(|fault| self.refused(fault))?)),
        }
        let (start, totals) = (self.start(), Totals::of(&points));
        let key = self.evaluated().key(start, &columns);
        let mut at_start = lock(&self.source.passes).cache.recall(&key).cloned();
        if at_start.is_none() && opening.needs_start(&there, totals) {
            // The result is not cached if the start was computed after the first pass, or if values of the points are
            // not in the ordinary range.
            let mut normal = Normal::zero(columns.len());
            if self.evaluator(start)?.normal(start, &columns, &mut normal).is_err() {
                return Ok(own("the pass over all points fails there"));
            }
            at_start = Some(normal);
        }
        Ok(match opening.judge(at_start.as_ref(), &there, totals) {
            Ok(()) => Beginning {
                refined: Some(candidate.clone()),
                why: format!(
                    "the end of a fit of {} points, one of every {}, with which all points agree",
                    opening.points, opening.stretch
                ),
            },
            Err(why) => own(why),
        })
    }

    /// Runs the fit from this starting point.
    pub(super) fn fit(&self, from: &Beginning) -> Result<Fit> {
        let start = from.refined.as_deref().unwrap_or(self.start());
        let looked = self.asked.begun.elapsed() - self.prepare_time;
        let found = self.start.get().map_or_else(Spent::default, CompleteStart::spent);
        let spent = Spent { validating: looked.saturating_sub(found.finding), ..found };
        let request = self.request(self.overview()?, start, from.refined.is_some(), spent);
        let mut fit = request.fit()?;
        fit.start = self.start().to_vec();
        Ok(fit)
    }

    /// Adds the report on the stream to the fit. Removes the checkpoint unless the fit was interrupted.
    pub(super) fn conclude(
        self,
        fit: Fit,
        opening: &SubsampleStart,
        from: Beginning,
    ) -> Result<Fit> {
        let mut fit = fit;
        self.test_residuals(&mut fit, opening);
        let passes = lock(&self.source.passes);
        if let Some(fault) = &passes.failed {
            return Err(self.refused(fault.clone()));
        }
        // An interrupted fit can be resumed.
        if !fit.termination.is_stopped() {
            passes.forget()?;
        }
        let notes = noted(&self.notes, |notes| notes.clone());
        fit.stats.passes = passes.begun;
        fit.stats.subsample_points = from.refined.map_or(0, |_| opening.points);
        let mut stats = StreamStats {
            passes: passes.begun,
            resumed_passes: self.resumed_passes,
            work_seconds: passes.working.as_secs_f64(),
            sample_points: opening.points,
            start: from.why,
            checkpoints: notes.checkpoints,
            ..StreamStats::default()
        };
        match &passes.holder {
            Holder::Here(prefetch) => {
                let spent = &prefetch.spent;
                stats.chunk_points = prefetch.capacity;
                (stats.chunks, stats.points_read) = (spent.chunks, spent.points);
                stats.bytes_read = spent.points * self.shape.bytes_per_point() as u64;
                stats.read_seconds = spent.reading.as_secs_f64();
                stats.wait_seconds = spent.waiting.as_secs_f64();
                stats.buffer_bytes = prefetch.bytes();
                stats.kept_points = prefetch.kept.points();
            }
            Holder::Elsewhere(elsewhere) => {
                stats.questions = elsewhere.questions;
                stats.message_bytes = elsewhere.bytes;
            }
        }
        fit.stats.stream = Some(stats);
        if let Some(why) = notes.not_kept {
            fit.warnings.push(Warning::CheckpointNotWritten { why });
        }
        Ok(fit)
    }

    /// Tests the residuals of a sample, without a pass over all points.
    fn test_residuals(&self, fit: &mut Fit, opening: &SubsampleStart) {
        let Some(sample) = &opening.tested else { return };
        // If the sample cannot be tested, the fit is returned without test results.
        self.tests_of(fit, sample).unwrap_or_default().apply(fit);
    }

    fn tests_of(&self, fit: &Fit, sample: &Sample) -> Result<ResidualTests> {
        let (curve, form) = (self.asked.curve, self.form());
        let data = form.data(sample.columns())?;
        let points = curve.validate(&data)?;
        let mut cpu = Cpu::new(self.prepared(), &points, curve.loss, self.start());
        let end = (&fit.params[..], fit.termination);
        Ok(ResidualTests::of(&mut cpu, end, fit.estimated()))
    }

    fn request<'r>(
        &'r self,
        points: Overview,
        start: &[f64],
        starts_refined: bool,
        spent: Spent,
    ) -> Request<'r> {
        let Asked { curve, ready, free, .. } = &self.asked;
        Request {
            spec: self.spec.clone(),
            model: &ready.model,
            source: self.source.clone(),
            points,
            start: start.to_vec(),
            fixed: curve.fixed_or_equal(free),
            ties: ready.ties.clone(),
            components: curve.components.clone(),
            derived: &curve.derived,
            starts_refined,
            sample: None,
            linear: self.linear(),
            prepare_time: self.prepare_time,
            spent,
        }
    }

    /// Converts a fault of a pass to the error for the user.
    fn refused(&self, fault: Fault) -> Error {
        let unknown = Overview::unknown(self.asked.curve.estimator);
        let request = self.request(unknown, self.start(), false, Spent::default());
        request.refused(Failure::Backend(fault))
    }

    fn overview(&self) -> Result<Overview> {
        lock(&self.source.passes).overview()
    }

    /// Returns the complete start; empty before it is computed.
    fn start(&self) -> &[f64] {
        self.start.get().map_or(&[], |start| &start.values)
    }

    /// Returns the positions of the linear parameters that were solved for.
    fn linear(&self) -> Vec<usize> {
        self.start.get().map_or(Vec::new(), |start| start.solved.clone())
    }

    fn prepared(&self) -> &Prepared {
        &self.asked.ready.prepared
    }

    fn evaluated(&self) -> Evaluated<'_> {
        let (most_weight, start) = (f64::INFINITY, self.start());
        let (model, loss, patience) = (self.prepared(), self.asked.curve.loss, self.patience());
        Evaluated { model, loss, most_weight, start, patience }
    }

    /// Returns the deadline of passes that are not steps of the fit.
    fn patience(&self) -> Patience<'_> {
        let CurveFit { options, cancel, .. } = self.asked.curve;
        Patience {
            until: end_of(self.asked.begun, options.max_time),
            stopper: cancel.as_ref().map(|token| token as &dyn Stopper),
        }
    }

    fn evaluator(&self, start: &[f64]) -> Result<PointEvaluator<'_>> {
        let (model, patience) = (self.prepared(), self.patience());
        let options = EvaluatorOptions { model, patience, on_one_thread: false };
        self.source.evaluator(&options, &View::of(self.asked.curve.loss, start))
    }

    fn form(&self) -> SampleForm<'_> {
        // The values of sigma are those of the sample; there are none here.
        let weights = self.said.weights(self.shape.sigma.then_some(&[]));
        SampleForm { x: self.shape.x.len(), weights, infinite_x: self.said.infinite_x }
    }
}
