//! Fits over more points than memory holds: exact, by passes over a source.

use super::{CurveFit, array};
use crate::backend::cpu::Prepared;
use crate::backend::cuda::source::Arithmetic;
use crate::backend::stream::{Evaluated, FirstPass, Passes, Question, locked};
use crate::backend::{Backend, Fault};
use crate::data::Data;
use crate::data::columns::{Arguments, Columns};
use crate::data::overview::Overview;
use crate::data::sample::Sample;
use crate::data::sigma::Sigma;
use crate::data::source::prefetch::{Prefetch, guarded};
use crate::data::source::slices::SliceSource;
use crate::data::source::{Shape, Source};
use crate::data::stream::{Stream, StreamPoints, StreamSigma};
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::engine::Request;
use crate::fit::stream::checkpoint::{Identity, Store};
use crate::fit::stream::contents::{self, Contents};
use crate::fit::stream::follower::{Follower, Keeper, Notes, Noting, Shared, noted};
use crate::fit::stream::opening::{Opening, forgiven};
use crate::fit::stream::stats::StreamStats;
use crate::fit::stream::supply::{PlaceWish, StreamSupply};
use crate::fit::supply::{EvaluatorWish, Supply};
use crate::fit::warning::Warning;
use crate::model::native::Model;
use crate::model::var::Var;
use crate::normal::Normal;
use crate::solver::cancel::CancelToken;
use crate::solver::minimise::Failure;
use crate::solver::observe::StreamProgress;
use crate::solver::termination::Termination;
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Evaluations that the fit of a sample may take: one that needs more is no sign of a good start.
const SAMPLE_EVALUATIONS: usize = 100;

/// Fits `model` to the points (`x`, `y`) from the start `p0` within `memory_limit` bytes beside them, as
/// NLSQ's `curve_fit_large` does, but exactly: every pass is over all points.
///
/// For points in files, and for what else there is to say, see [`CurveFit::fit_stream`].
///
/// ```
/// let x: Vec<f64> = (0..50_000).map(|i| 1e-4 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5).collect();
/// let model = |x, [a, b, c]: [dualfit::Var; 3]| a * (-b * x).exp() + c;
/// let fit = dualfit::curve_fit_large(model, &x, &y, [1.0, 1.0, 0.0], 8 << 20)?;
/// assert!((fit.params()[1] - 1.3).abs() < 1e-9);
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// As [`Data::new`] and [`CurveFit::fit_stream`].
pub fn curve_fit_large<'a, C: Columns<'a>, const N: usize>(
    model: impl Fn(C::X, [Var; N]) -> Var,
    x: C,
    y: impl Into<Values<'a>>,
    p0: [f64; N],
    memory_limit: usize,
) -> Result<Fit> {
    let source = SliceSource::new(x, y)?;
    let columns = C::X::count().unwrap_or_else(|| source.shape().x.len());
    CurveFit::trace(columns, N, |x, p| model(C::X::arguments(x), array(p)))
        .fit_stream(Stream::new(source).memory_limit(memory_limit), p0)
}

impl CurveFit {
    /// Fits the model to the points of a source, which may be more than memory holds: a [`Source`](crate::Source)
    /// of files, arrays or your own, or a [`Stream`] that says how it is to be read.
    ///
    /// The fit is the one that [`fit`](CurveFit::fit) would make of the same points in memory: Gauss-Newton
    /// steps in a trust region, each from sums over all points, to full convergence; with bounds, losses,
    /// weights, counts and covariance. The result does not depend on the size of chunks. Passes are few,
    /// usually three or four: the first one looks at the data, evaluates at `start` and draws a sample; a fit
    /// of the sample then says where to go on, if it can be trusted. [`Stats::stream`](crate::Stats::stream)
    /// tells of it.
    ///
    /// Chunks are read ahead on a thread of their own while others are worked on, on all cores. Memory stays
    /// within [`Stream::memory_limit`].
    ///
    /// A token or an observer stops the fit after the chunk in work. It then carries the best parameters so
    /// far and [`Termination::Stopped`](crate::Termination::Stopped), and goes on from its checkpoint, if it
    /// has one, when it is called again.
    ///
    /// # Errors
    /// As [`fit`](CurveFit::fit), with indices among all points of the source; [`Error::Source`] for points
    /// that cannot be read, [`Error::SourcePanicked`], [`Error::SourceChanged`]; [`Error::MemoryLimit`];
    /// [`Error::Checkpoint`]; [`Error::StoppedInFirstPass`].
    pub fn fit_stream<'a>(
        &self,
        stream: impl Into<Stream<'a>>,
        start: impl AsRef<[f64]>,
    ) -> Result<Fit> {
        let begun = Instant::now();
        let stream = stream.into();
        let shape = guarded(|| stream.source.shape())?;
        stream.check(&shape)?;
        let start = self.accepts(shape.x.len(), start.as_ref())?;
        let model = self.model.as_ref().map_err(Clone::clone)?;
        let free = self.free_positions();
        let unused = self.unused(model, &free)?;
        let ready = self.ready(model, &free)?;
        let prepared = begun.elapsed();
        let (capacity, sample) = (stream.capacity(&shape)?, stream.sample_points(&shape));
        let Stream { source, points: said, prefetch, subsample, checkpoint, required, .. } = stream;
        let prefetch = Prefetch::new(source, shape.clone(), capacity, prefetch);
        let notes = Shared::default();
        let (mut keeper, mut resumed) = (None, None);
        if let Some(path) = checkpoint {
            let identity = self.identity(model, &start, &prefetch, &said, subsample)?;
            let store = Store::new(&path);
            if let Some(bytes) = store.load(&identity)? {
                let read = contents::read(&bytes, free.len(), self.estimator);
                resumed = Some(read.map_err(|why| store.malformed(why))?);
            }
            keeper = Some(Keeper { store, identity, required });
        }
        let follower = Follower {
            keeper,
            notes: notes.clone(),
            observer: self.stream_observer.clone(),
            token: self.cancel.clone(),
            total: shape.points,
            begun,
        };
        let passes = Passes::new(prefetch, said, self.estimator, Box::new(follower));
        let supply = StreamSupply::new(passes);
        let watch = Noting { notes: notes.clone(), observer: self.watch() };
        let request = |points: Overview, start: Vec<f64>, refined: bool| Request {
            model,
            prepared: &ready.prepared,
            supply: &supply,
            points,
            names: &self.names,
            start,
            bounds: &self.bounds,
            fixed: self.fixed_or_equal(&free),
            unused: unused.clone(),
            loss: self.loss,
            options: &self.options,
            observer: Some(&watch),
            starts_refined: refined,
            on_one_thread: false,
            prepare_time: prepared,
            validate_time: Duration::ZERO,
        };
        let refused = |fault| {
            let unknown = Overview::unknown(self.estimator);
            request(unknown, start.clone(), false).refused(Failure::Backend(fault))
        };
        let opened =
            Opened { curve: self, model: &ready.prepared, start: &start, shape: &shape, said };
        let answers = match resumed {
            Some(Contents::Opened(kept)) => {
                let contents::Opened { overview, distinct, opening, memo } = *kept;
                let mut passes = locked(&supply.passes);
                let answers = memo.answers.len();
                passes.known = Some((overview, distinct));
                passes.memo = memo;
                noted(&notes, |notes| notes.opening = Some(opening));
                answers
            }
            other => {
                let mut passes = locked(&supply.passes);
                let mut first = match other {
                    Some(Contents::First(first)) => *first,
                    _ => {
                        let sample = Sample::new(shape.x.len(), shape.sigma, sample);
                        FirstPass::new(sample, free.len())
                    }
                };
                let enough = self.names.len() + 1;
                passes.survey(opened.evaluated(), &mut first, enough).map_err(refused)?;
                let sample = first.sample;
                let used = passes.overview()?.used;
                if used < free.len() && !self.underdetermined {
                    return Err(Error::TooFewPoints { points: used, parameters: free.len() });
                }
                let opening = match subsample && !free.is_empty() {
                    true => opened.sampled(&sample),
                    false => Opening::none(sample.len(), "none was asked for"),
                };
                // A token ends the fits of the sample, too: they say nothing then that may be kept.
                if subsample && self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                    return Err(Error::StoppedInFirstPass);
                }
                noted(&notes, |notes| notes.opening = Some(opening));
                passes.keep()?;
                0
            }
        };
        let overview = locked(&supply.passes).overview()?;
        let Self { backend, costs, loss, .. } = *self;
        let wish = PlaceWish { backend, costs, loss, handed: self.place() };
        supply.choose(&wish, ready.printed.as_ref(), &overview)?;
        let opening = noted(&notes, |notes| notes.opening.clone())
            .unwrap_or_else(|| Opening::none(0, "none was asked for"));
        let (from, told) = opened.judged(&opening, &supply, &overview).map_err(refused)?;
        let refined = from.is_some();
        let mut fit = request(overview, from.unwrap_or_else(|| start.clone()), refined).fit()?;
        fit.start.clone_from(&start);
        let passes = locked(&supply.passes);
        if let Some(fault) = &passes.failed {
            return Err(refused(fault.clone()));
        }
        if fit.termination != Termination::Stopped {
            passes.forget()?;
        }
        let taken = noted(&notes, |notes| notes.clone());
        fit.stats.passes = passes.begun;
        fit.stats.stream = Some(stream_stats(&passes, &opening, &taken, told, answers));
        if let Some(why) = taken.not_kept {
            fit.warnings.push(Warning::CheckpointNotWritten { why });
        }
        drop(passes);
        Ok(fit)
    }

    /// Calls `observer` after every chunk of a pass over a stream; `ControlFlow::Break(())` stops the fit
    /// there.
    #[must_use]
    pub fn observe_stream(
        mut self,
        observer: impl Fn(&StreamProgress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> CurveFit {
        self.stream_observer = Some(Arc::new(observer));
        self
    }

    /// What a checkpoint of this fit belongs to.
    fn identity(
        &self,
        model: &Model,
        start: &[f64],
        prefetch: &Prefetch<'_>,
        said: &StreamPoints,
        subsample: bool,
    ) -> Result<Identity> {
        let text = match model {
            Model::Traced(program) => program.to_string(),
            Model::Native(_) => format!("native, {} parameters", self.names.len()),
        };
        let digest: String =
            Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let fixed = |i: usize| if self.fixed[i] { ", fixed" } else { "" };
        let parameter = |i: usize| {
            let (lower, upper) = self.bounds[i];
            format!("{} from {:?} in [{lower:?}, {upper:?}]{}", self.names[i], start[i], fixed(i))
        };
        let parameters: Vec<String> = (0..self.names.len()).map(parameter).collect();
        let Shape { x, y, sigma, .. } = &prefetch.shape;
        Ok(Identity(vec![
            ("model", digest),
            ("parameters", parameters.join("; ")),
            ("loss and estimator", format!("{:?}, {:?}", self.loss, self.estimator)),
            ("options", format!("{:?}", self.options)),
            ("columns", format!("{x:?}, {y:?}, sigma: {sigma}")),
            ("treatment of points", format!("{said:?}, sample: {subsample}")),
            ("source", prefetch.fingerprint()?),
        ]))
    }
}

/// The opening of a fit: from the caller's start, or from a sample.
struct Opened<'f> {
    curve: &'f CurveFit,
    model: &'f Prepared,
    start: &'f [f64],
    shape: &'f Shape,
    said: StreamPoints,
}

impl Opened<'_> {
    fn evaluated(&self) -> Evaluated<'_> {
        Evaluated { model: self.model, loss: self.curve.loss, start: self.start }
    }

    /// What a sample says of the start.
    fn sampled(&self, sample: &Sample) -> Opening {
        // Nobody watches the fit of a sample; a token ends it as it ends the passes.
        let mut alone = CurveFit { backend: Backend::Cpu, observer: None, ..self.curve.clone() };
        let most = alone.options.max_evaluations.unwrap_or(SAMPLE_EVALUATIONS);
        alone.options.max_evaluations = Some(most.min(SAMPLE_EVALUATIONS));
        let columns = self.shape.x.len();
        let fit = |sample: &[Vec<f64>], start: &[f64]| {
            let (x, y) = sample.split_at(columns);
            let sigma = match (self.said.sigma, y.get(1)) {
                (StreamSigma::Constant(value), _) => Sigma::Constant(value),
                (StreamSigma::Absolute, Some(sigma)) => Sigma::Absolute(sigma),
                (StreamSigma::Relative, Some(sigma)) => Sigma::Relative(sigma),
                (_, None) => Sigma::Unknown,
            };
            let y = y.first().ok_or(Error::EmptyData { given: 0, omitted: 0 })?;
            let data = Data::new(x.iter().collect::<Vec<_>>(), y)?.sigma(sigma)?;
            alone.fit(data.allow_infinite_x(self.said.infinite_x), start)
        };
        Opening::of(sample, self.start, &self.model.free, &fit)
    }

    /// Where the fit begins, if not at the caller's start, and why, in words. This may take a pass.
    fn judged(
        &self,
        opening: &Opening,
        supply: &StreamSupply<'_>,
        points: &Overview,
    ) -> std::result::Result<(Option<Vec<f64>>, String), Fault> {
        let own = |why: &str| (None, format!("the caller's, because {why}"));
        let Some(candidate) = &opening.candidate else { return Ok(own(&opening.reason)) };
        let (free, loss) = (self.model.free.len(), self.curve.loss);
        let columns = vec![1.0; free];
        let wish = EvaluatorWish {
            model: self.model,
            start: candidate,
            loss,
            arithmetic: Arithmetic::Double,
            on_one_thread: false,
        };
        let mut there = Normal::zero(free);
        if let Err(fault) = supply.evaluator(&wish)?.normal(candidate, &columns, &mut there) {
            return match fault {
                Fault::Stopped => Ok(own("the fit was stopped")),
                fault => Ok(own(forgiven(fault)?)),
            };
        }
        let passes = locked(&supply.passes);
        let start = Question { loss, params: self.start.to_vec(), columns };
        let at_start = passes.memo.normal(&start);
        Ok(match opening.judge(at_start, &there, points) {
            Ok(()) => {
                let told = format!(
                    "the end of a fit of {} points, one of every {}, with which all points agree",
                    opening.points, opening.stretch
                );
                (Some(candidate.clone()), told)
            }
            Err(why) => own(why),
        })
    }
}

fn stream_stats(
    passes: &Passes<'_>,
    opening: &Opening,
    notes: &Notes,
    start: String,
    resumed_passes: usize,
) -> StreamStats {
    let spent = &passes.prefetch.spent;
    StreamStats {
        passes: passes.begun,
        resumed_passes,
        chunk_points: passes.prefetch.capacity,
        chunks: spent.chunks,
        points_read: spent.points,
        bytes_read: spent.points * passes.prefetch.shape.bytes_per_point() as u64,
        read_seconds: spent.reading.as_secs_f64(),
        wait_seconds: spent.waiting.as_secs_f64(),
        work_seconds: passes.working.as_secs_f64(),
        buffer_bytes: passes.prefetch.bytes(),
        sample_points: opening.points,
        start,
        checkpoints: notes.checkpoints,
    }
}
