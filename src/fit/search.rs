//! Search of one fit from its starting point to its termination: stages, further attempts and analysis of the result.
//!
//! Single fits, batches, streams, joint fits and multi-start fits all use it. Redescending losses use stages, because
//! far from the points such a loss has almost no gradient:
//!
//! 1. If the start is far away, stages of Cauchy loss on wide scales. The scale of the first is the typical distance of
//!    the points from the curve, so that nearly all points keep weight, outliers less. The distance at the result of a
//!    stage is the scale of the next (graduated non-convexity: Blake and Zisserman, Visual Reconstruction, 1987).
//! 2. For arctan, Tukey and redescending custom losses, a stage of Cauchy loss of the same scale as the fit's own loss.
//! 3. The stage of the fit's own loss.
//!
//! A stage in f32 can precede the last stage, which is in f64. A search that ends without a minimum can be repeated
//! ([`retry`](super::retry)). Counts and limits include all stages and attempts.

use super::end::End;
use super::point_source::{PointEvaluator, PointSource, View};
use super::spec::FitSpec;
use super::subsample_start::{SubsampleStart, Totals};
use crate::backend::cuda::source::Arithmetic;
use crate::constants::FAR;
use crate::data::loss::{Loss, distance};
use crate::host::Instant;
use crate::normal::{Influence, Normal, Summary};
use crate::solver::evaluator::Evaluator;
use crate::solver::linear_model::LinearModel;
use crate::solver::minimise::Minimiser;
use crate::solver::observe::end_of;
use crate::solver::options::Options;
use crate::solver::outcome::{Failure, Fault, Outcome};
use crate::solver::task::{Problem, Task, Work};
use crate::solver::termination::Termination;

/// Minimum factor by which the scale decreases from stage to stage, even if noise or outliers keep the distance from
/// decreasing.
const FALL: f64 = 10.0;
/// Tolerance of a stage whose result is only a starting point.
const ROUGH: f64 = 1e-3;
/// Tolerance of a stage in f32, above the rounding of its sums of squares.
const ROUGH_SUMS: f64 = 1e-5;

/// Request for a search: the specification of the fit, its points, and properties of its start.
#[derive(Clone, Copy)]
pub(crate) struct SearchRequest<'s> {
    pub(crate) spec: &'s FitSpec<'s>,
    pub(crate) source: &'s dyn PointSource,
    /// Tolerances and limits of the present attempt; `spec` contains the options of the caller.
    pub(crate) options: Options,
    /// If true, the start is the result of a fit, and no stage needs to improve it.
    pub(crate) refined: bool,
    /// Result of the fit of a sample, which replaces the start if all points agree with it.
    pub(crate) sample: Option<&'s SubsampleStart>,
    /// Positions of the linear parameters whose starting values were computed by linear least squares.
    pub(crate) linear: &'s [usize],
    /// If true, x has errors.
    pub(crate) errors_in_x: bool,
}

/// A stage of a search: the view of its evaluator, and its tolerances and limits.
#[derive(Clone, Copy)]
struct Stage<'a> {
    view: View<'a>,
    options: Options,
}

/// Relation between the standard deviation of the errors and the given sigma.
enum Known {
    Exactly,
    /// The given sigma or more: robust loss with absolute sigma, because outliers scatter more.
    AtLeast,
    InProportion,
}

/// State and buffers of a search, without the points. Consecutive fits of one model reuse it; on the CPU an ordinary
/// fit allocates nothing.
pub(crate) struct Workspace {
    pub(crate) problem: Problem,
    pub(super) minimiser: Minimiser,
    /// Analysis of the result.
    pub(crate) end: End,
    /// Start time of the fit.
    begun: Instant,
    /// Counts of the attempts before the present one.
    pub(super) earlier: Work,
    /// Counts of the stages before the present one.
    work: Work,
    /// Result of the previous stage; valid if `has_before`.
    before: Outcome,
    has_before: bool,
    /// Effects ‖Jⱼ‖·|pⱼ| of the parameters at the start of the first stage.
    effects: Vec<f64>,
    retried: bool,
    /// Number of points of the sample whose fit supplied the start; 0 if the search began at the caller's start.
    pub(super) sample_points: usize,
    /// If true, columns of the Jacobian nearly coincide at the point of convergence.
    pub(super) coincides: bool,
    /// Normal equations at the start of the stage, with unscaled columns.
    known: Normal,
    ones: Vec<f64>,
    start: Vec<f64>,
}

impl Workspace {
    pub(crate) fn new(problem: Problem) -> Workspace {
        let (params, n, shape) = (problem.start.len(), problem.free.len(), &problem.shape);
        Workspace {
            minimiser: Minimiser::new(params, shape),
            end: End::new(shape),
            begun: Instant::now(),
            earlier: Work::default(),
            work: Work::default(),
            before: Outcome::new(params, shape),
            has_before: false,
            effects: Vec::with_capacity(n),
            retried: false,
            sample_points: 0,
            coincides: false,
            known: Normal::shaped(shape),
            ones: vec![1.0; n],
            start: Vec::with_capacity(params),
            problem,
        }
    }

    /// Returns the final or current outcome of the search.
    pub(crate) fn outcome(&self) -> &Outcome {
        &self.minimiser.ends.best
    }

    pub(crate) fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.minimiser.ends.best
    }

    /// Returns the outcome and the linear model for writing, for a minimisation that runs elsewhere.
    pub(super) fn end_mut(&mut self) -> (&mut Outcome, &mut LinearModel) {
        (&mut self.minimiser.ends.best, &mut self.end.model)
    }

    /// Returns the standard deviation of a weighted residual as a function of the rank. Undetermined directions take no
    /// degree of freedom.
    pub(crate) fn row_error(&self) -> impl Fn(usize) -> f64 {
        let (unit, points) = (self.problem.row_unit, self.problem.points);
        let (known, influence) = (self.knows_errors(), self.influence());
        move |rank| match known {
            Known::Exactly => unit,
            Known::AtLeast => influence.row_error_from(unit, points, rank),
            Known::InProportion => influence.row_error(points, rank),
        }
    }

    /// Returns the divisor of 2 × (increase of the cost) that makes it comparable with χ².
    pub(crate) fn cost_unit(&self, rank: usize) -> f64 {
        let (unit, points) = (self.problem.row_unit, self.problem.points);
        match self.knows_errors() {
            Known::Exactly => unit * unit,
            Known::AtLeast => self.influence().scale_from(unit, points, rank),
            Known::InProportion => self.influence().scale(points, rank),
        }
    }

    fn knows_errors(&self) -> Known {
        match (self.problem.absolute, self.problem.loss) {
            (true, Loss::Linear) => Known::Exactly,
            (true, _) => Known::AtLeast,
            (false, _) => Known::InProportion,
        }
    }

    fn influence(&self) -> Influence {
        match self.problem.loss {
            Loss::Linear => Influence::of_squares(self.problem.points, 2.0 * self.outcome().cost),
            _ => self.end.factor.influence,
        }
    }

    /// Searches from `problem.start`. Returns the evaluator of the last stage, or a new one after further attempts, for
    /// the analysis of the result. Time limits count from `begun`; a result at the time limit still gets its errors.
    pub(crate) fn run<'s>(
        &mut self,
        request: &SearchRequest<'s>,
        begun: Instant,
    ) -> Result<PointEvaluator<'s>, Failure> {
        (self.begun, self.earlier) = (begun, Work::default());
        let options = self.first_options(request);
        let first = SearchRequest { options, ..*request };
        let mut points = self.attempt(&first)?;
        if self.sample_points > 0 && self.has_another_way(&request.options, request.linear) {
            // The sample's fit leads to no minimum: the fit begins again as without it.
            drop(points);
            self.earlier = self.outcome().work;
            points = self.attempt(&SearchRequest { sample: None, ..first })?;
        }
        if !self.has_another_way(&request.options, request.linear) {
            return Ok(points);
        }
        drop(points);
        self.retry(request);
        self.evaluator(request, &View::of(request.spec.loss, &self.problem.start))
    }

    /// Runs all stages from `problem.start` and restores `problem.start` on success. Returns the evaluator of the last
    /// stage.
    pub(super) fn attempt<'s>(
        &mut self,
        request: &SearchRequest<'s>,
    ) -> Result<PointEvaluator<'s>, Failure> {
        let mut start = std::mem::take(&mut self.start);
        start.clone_from(&self.problem.start);
        self.forget_stages();
        let until = end_of(self.begun, request.options.max_time);
        let view = View { until, ..View::of(request.spec.loss, &start) };
        self.begin_at_sample(request, &view);
        let ended = self.first_stage(request, view)?;
        let mut points = self.evaluator(request, &view)?;
        self.last_stage(request, (view, &mut *points), ended)?;
        self.problem.start.clone_from(&start);
        self.start = start;
        points.take_time();
        self.verify(request, &mut *points)?;
        Ok(points)
    }

    /// Creates an evaluator of the points for `view`.
    pub(super) fn evaluator<'s>(
        &self,
        request: &SearchRequest<'s>,
        view: &View<'_>,
    ) -> Result<PointEvaluator<'s>, Failure> {
        let points = request.spec.evaluator(request.source, view, self.problem.row_unit);
        points.map_err(|error| Failure::Backend(Fault::Points(error)))
    }

    /// Resets the state of the stages before another attempt or fit.
    pub(super) fn forget_stages(&mut self) {
        (self.work, self.retried, self.has_before) = (self.earlier, false, false);
        (self.coincides, self.sample_points) = (false, 0);
        self.end.forget();
    }

    /// Moves the start to the end of the sample's fit, if all points agree with the sample. The normal equations there
    /// are then `known`. If a pass fails, the search begins at the caller's start, and reports what fails there.
    fn begin_at_sample(&mut self, request: &SearchRequest<'_>, view: &View<'_>) {
        let Some(sample) = request.sample else { return };
        let Some(candidate) = &sample.candidate else { return };
        let Ok(mut points) = self.evaluator(request, view) else { return };
        let Problem { points: count, row_unit, square, .. } = self.problem;
        let totals = Totals { points: count, row_unit, square };
        let (passes, agrees) =
            sample.confirm(&mut *points, (view.start, candidate), totals, &mut self.known);
        self.work.other_passes += passes;
        if agrees {
            // The pass at the candidate is the first evaluation of the fit.
            self.work.other_passes -= 1;
            self.problem.start.copy_from_slice(candidate);
            self.sample_points = sample.points;
        }
    }

    /// Runs the stage that finds the starting point of the last stage, if needed. Tukey and arctan losses ignore
    /// points far from the start, including good ones. Therefore this stage uses a loss of the same scale that keeps
    /// all points. In mixed precision it uses f32. If x has errors, it fits y alone: far from the data, distances to
    /// the curve have spurious minima. Returns the limit that ended the stage, if any.
    fn first_stage(
        &mut self,
        request: &SearchRequest<'_>,
        view: View<'_>,
    ) -> Result<Option<Termination>, Failure> {
        let arithmetic = request.source.rough_arithmetic();
        let is_rough = arithmetic != Arithmetic::Double;
        let loss = request.spec.loss.first().unwrap_or(request.spec.loss);
        // One evaluation is kept for the last stage.
        let most = request.options.evaluations(self.problem.free.len()).saturating_sub(1);
        let is_needed = request.spec.loss.first().is_some() || is_rough || request.errors_in_x;
        let is_near = request.refined || self.sample_points > 0;
        if is_near || !is_needed || self.problem.free.is_empty() || most == 0 {
            return Ok(None);
        }
        let least = match request.spec.loss.first() {
            _ if request.errors_in_x => ROUGH,
            None => ROUGH_SUMS,
            Some(_) => 0.0,
        };
        let Options { ftol, xtol, .. } = request.options;
        let (ftol, xtol) = (ftol.max(least), xtol.max(least));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..request.options };
        let plain = request.errors_in_x;
        let stage = Stage { view: View { loss, arithmetic, plain, ..view }, options };
        let done = self
            .evaluator(request, &stage.view)
            .and_then(|mut points| self.stage(request, &stage, &mut *points));
        match done {
            Ok(()) => {}
            // A model that is not finite in f32 may be finite in f64.
            Err(Failure::Start(_) | Failure::Overflow) if is_rough => {
                self.problem.start.copy_from_slice(view.start);
                self.forget_stages();
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        }
        let reason = self.outcome().termination;
        // The last stage keeps the starting point if the stage in f32 failed, or if y alone led to a higher cost.
        let back = match request.errors_in_x {
            true => self.was_nearer(request, view)?,
            false => is_rough && came_to_nothing(reason),
        };
        match back {
            true => self.problem.start.copy_from_slice(view.start),
            false => self.problem.start.clone_from(&self.minimiser.ends.best.params),
        }
        self.keep_stage();
        Ok(Some(reason).filter(|reason| reason.is_limit()))
    }

    /// Returns true if the start of the stage has a lower cost than its end.
    fn was_nearer(&mut self, request: &SearchRequest<'_>, view: View<'_>) -> Result<bool, Failure> {
        self.minimiser.ends.best.work.other_passes += 2;
        let mut points = self.evaluator(request, &view)?;
        points.normal(view.start, &self.ones, &mut self.known)?;
        let before = self.known.cost;
        points.normal(&self.minimiser.ends.best.params, &self.ones, &mut self.known)?;
        Ok(!(self.known.cost <= before || before.is_nan()))
    }

    /// Runs the stage with the requested loss. If a limit has `ended` the previous stage, only evaluates the cost.
    fn last_stage(
        &mut self,
        request: &SearchRequest<'_>,
        (view, points): (View<'_>, &mut dyn Evaluator),
        ended: Option<Termination>,
    ) -> Result<(), Failure> {
        let stage = Stage { view, options: request.options };
        match (self.sample_points > 0, self.has_before) {
            (true, _) => self.minimise(request, &stage, points, (None, true)),
            (false, true) => self.minimise(request, &stage, points, (ended, false)),
            (false, false) => self.stage(request, &stage, points),
        }
    }

    /// Minimises under the loss of `stage`; `points` evaluates its view. If the start is too far away for the loss,
    /// stages on wider scales run first.
    fn stage(
        &mut self,
        request: &SearchRequest<'_>,
        stage: &Stage<'_>,
        points: &mut dyn Evaluator,
    ) -> Result<(), Failure> {
        let gauge = stage.view.loss.gauge();
        let gauge = gauge.filter(|_| !request.refined && !self.problem.free.is_empty());
        let Some(scale) = gauge else {
            return self.minimise(request, stage, points, (None, false));
        };
        match self.approach(request, (stage, scale), points) {
            Ok(ended) => self.minimise(request, stage, points, (ended, ended.is_none())),
            Err(failure) => self.or_before(Err(failure)),
        }
    }

    /// Runs stages of Cauchy loss on decreasing scales until the loss of `stage`, with this scale, has enough gradient.
    /// Returns the limit that ended them, if any.
    fn approach(
        &mut self,
        request: &SearchRequest<'_>,
        (stage, scale): (&Stage<'_>, f64),
        points: &mut dyn Evaluator,
    ) -> Result<Option<Termination>, Failure> {
        let most = stage.options.evaluations(self.problem.free.len()).saturating_sub(1);
        let Options { ftol, xtol, .. } = stage.options;
        let (ftol, xtol) = (ftol.max(ROUGH), xtol.max(ROUGH));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..stage.options };
        let mut scales = f64::INFINITY;
        loop {
            points.normal(&self.problem.start, &self.ones, &mut self.known)?;
            let Problem { row_unit, points: count, .. } = self.problem;
            let distance = distance(self.known.cost, scale * row_unit, count);
            scales = distance.min(scales / FALL);
            // NaN or infinity does not count as far.
            if !(scales > FAR && scales.is_finite()) {
                return Ok(None);
            }
            if self.work.evaluations >= most {
                return Ok(Some(Termination::MaxEvaluations));
            }
            // The pass that computed the distance cannot be reused on another scale.
            self.work.other_passes += 1;
            let loss = Loss::Cauchy { scale: scales * scale };
            let wide = Stage { view: View { loss, ..stage.view }, options };
            let mut points = self.evaluator(request, &wide.view)?;
            self.minimise(request, &wide, &mut *points, (None, false))?;
            let reason = self.outcome().termination;
            if !came_to_nothing(reason) {
                self.problem.start.clone_from(&self.minimiser.ends.best.params);
            }
            self.keep_stage();
            if reason.is_limit() {
                return Ok(Some(reason));
            }
        }
    }

    /// Minimises from `problem.start`. If a limit has `ended` an earlier stage, only evaluates the cost there.
    /// `is_known`: true if `known` contains the normal equations at `problem.start`.
    fn minimise(
        &mut self,
        request: &SearchRequest<'_>,
        stage: &Stage<'_>,
        points: &mut dyn Evaluator,
        (ended, is_known): (Option<Termination>, bool),
    ) -> Result<(), Failure> {
        self.problem.loss = stage.view.loss;
        let task = Task {
            problem: &self.problem,
            options: &stage.options,
            observer: request.spec.observer(),
            begun: self.begun,
            work: self.work,
            known: is_known.then_some(&self.known),
        };
        let done = match ended {
            Some(reason) => self.minimiser.evaluate(points, &task, reason),
            None if self.problem.free.is_empty() => {
                evaluate_only(points, &self.problem, &mut self.minimiser.ends.best)
            }
            None => self.minimiser.minimise(points, &task),
        };
        self.or_before(done)?;
        if self.has_before {
            let best = &mut self.minimiser.ends.best;
            best.effects.clone_from(&self.effects);
            best.retried |= self.retried;
        }
        Ok(())
    }

    /// If a stop interrupted the stage, restores the result of the previous stage, if any, without further passes.
    fn or_before(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        match done {
            Err(Failure::Backend(Fault::Stopped(stop))) if self.has_before => {
                let best = &mut self.minimiser.ends.best;
                best.clone_from(&self.before);
                best.termination = stop.into();
                Ok(())
            }
            done => done,
        }
    }

    /// Keeps the result of a stage; the next stage continues its counts.
    fn keep_stage(&mut self) {
        let best = &mut self.minimiser.ends.best;
        if !self.has_before {
            self.effects.clone_from(&best.effects);
        }
        self.retried |= best.retried;
        self.work = best.work;
        std::mem::swap(&mut self.before, best);
        self.has_before = true;
    }

    /// Analyses the result, unless this was done before.
    pub(crate) fn analyse(&mut self, points: &mut dyn Evaluator) -> Result<(), Failure> {
        self.end.analyse(&self.problem, &mut self.minimiser.ends.best, points)
    }

    /// Analyses the result without the points; returns false if a pass over the points is needed.
    pub(crate) fn analyse_without_points(&mut self) -> bool {
        self.end.analyse_without_points(&self.problem, &self.minimiser.ends.best)
    }
}

/// Returns true if the stage failed and its result must not seed the next one.
fn came_to_nothing(reason: Termination) -> bool {
    use Termination::{Degenerate, ModelNonFinite, ZeroGradientAtStart};
    matches!(reason, ZeroGradientAtStart | Degenerate | ModelNonFinite)
}

/// Evaluates the cost with all parameters fixed.
fn evaluate_only(
    points: &mut dyn Evaluator,
    problem: &Problem,
    out: &mut Outcome,
) -> Result<(), Failure> {
    let mut normal = Normal::zero(0);
    points.normal(&problem.start, &[], &mut normal)?;
    if !normal.is_finite()
        && let Some(point) = points.first_bad_point(&problem.start)
    {
        return Err(Failure::Start(point));
    }
    out.params.clone_from(&problem.start);
    out.cost = normal.cost;
    out.normal = normal;
    out.termination = Termination::AllFixed;
    out.work = Work { evaluations: 1, ..Work::default() };
    (out.retried, out.most_weight) = (false, f64::INFINITY);
    Ok(())
}
