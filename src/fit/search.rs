//! Search of one fit from its starting point to its termination: stages, restarts and analysis of the result.
//!
//! Single fits, batches, streams, joint fits and multi-start fits all use it. Redescending losses use stages on
//! decreasing scales ([`approach`](super::approach)). Arctan and Tukey losses start with a stage of Cauchy loss, and
//! f64 can follow a stage in f32. A search that ends without a minimum can be repeated ([`restart`](super::restart)).
//! Counts and limits include all stages and attempts.

use super::approach::{FALL, ROUGH, came_to_nothing};
use super::end::End;
use crate::backend::cuda::source::Arithmetic;
use crate::constants::FAR;
use crate::data::loss::{Loss, distance};
use crate::normal::{Influence, Normal, Summary};
use crate::solver::evaluator::Evaluator;
use crate::solver::linear_model::LinearModel;
use crate::solver::minimise::Minimiser;
use crate::solver::observe::{Observer, end_of};
use crate::solver::options::Options;
use crate::solver::outcome::{Failure, Fault, Outcome};
use crate::solver::task::{Problem, Task, Work};
use crate::solver::termination::Termination;
use std::time::Instant;

/// Tolerance of a stage in f32, above the rounding of its sums of squares.
const ROUGH_SUMS: f64 = 1e-5;

/// Source of evaluators of the points of a fit.
pub(crate) trait PointSource {
    /// Calls `work` with an evaluator of the points for `view`.
    ///
    /// # Errors
    /// If `work` fails, or if a device fails that the caller requires.
    fn with_points(&self, view: View<'_>, work: &mut Visit<'_>) -> Result<(), Failure>;

    /// Returns the arithmetic of a stage whose result is only the starting point of the next stage.
    fn rough_arithmetic(&self) -> Arithmetic {
        Arithmetic::Double
    }
}

/// Callback that receives an evaluator of the points.
pub(crate) type Visit<'v> = dyn FnMut(&mut dyn Evaluator) -> Result<(), Failure> + 'v;

/// Callback at the end of a search, with the workspace and an evaluator.
pub(crate) type Conclude<'c> =
    dyn FnMut(&mut Workspace, &mut dyn Evaluator) -> Result<(), Failure> + 'c;

/// Options of a stage's evaluator.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) loss: Loss,
    pub(crate) arithmetic: Arithmetic,
    /// Starting point of the search; it sets the scale of the parameters.
    pub(crate) start: &'a [f64],
    /// Time at which passes are interrupted.
    pub(crate) until: Option<Instant>,
    /// If true, the CPU evaluates the points as measurements with exact x, for any estimator and backend of the fit.
    pub(crate) plain: bool,
}

impl<'a> View<'a> {
    /// Creates a view in f64 without a time limit.
    pub(crate) fn of(loss: Loss, start: &'a [f64]) -> View<'a> {
        View { loss, arithmetic: Arithmetic::Double, start, until: None, plain: false }
    }
}

/// Options of a search.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) loss: Loss,
    pub(crate) options: &'a Options,
    pub(crate) observer: Option<&'a Observer>,
    /// If true, the start is the result of a fit, and no stage needs to improve it.
    pub(crate) refined: bool,
    /// Positions of the parameters in which the model is linear and whose start was solved for.
    pub(crate) linear: &'a [usize],
    /// Typical sizes of the parameters, NaN where they are not known.
    pub(crate) scales: &'a [f64],
    /// If true, x has errors.
    pub(crate) errors_in_x: bool,
}

/// A stage of a search: the view of its evaluator, and its tolerances and limits.
#[derive(Clone, Copy)]
struct Stage<'a> {
    view: View<'a>,
    options: &'a Options,
}

/// Relation between the scatter of rows and sigma.
enum Known {
    Exactly,
    /// Robust loss with absolute sigma: outliers scatter more.
    AtLeast,
    InProportion,
}

/// State and buffers of a search, without the points. Consecutive fits of one model reuse it; on the CPU an ordinary
/// fit allocates nothing.
pub(crate) struct Workspace {
    pub(crate) problem: Problem,
    pub(super) minimiser: Minimiser,
    /// The analysis of the end.
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
    /// Effects of the parameters at the start of the first stage.
    effects: Vec<f64>,
    retried: bool,
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

    /// Returns the standard deviation of a row as a function of the rank. Undetermined directions take no degree of
    /// freedom.
    pub(crate) fn row_error(&self) -> impl Fn(usize) -> f64 {
        let (unit, points) = (self.problem.row_unit, self.problem.points);
        let (known, influence) = (self.knows_errors(), self.influence());
        move |rank| match known {
            Known::Exactly => unit,
            Known::AtLeast => influence.row_error_from(unit, points, rank),
            Known::InProportion => influence.row_error(points, rank),
        }
    }

    /// Returns the divisor of 2 × (increase of the cost) that gives a value comparable with χ².
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

    /// Searches from `problem.start`, then calls `conclude` with an evaluator. Time limits count from `begun`. A result
    /// at the time limit still gets its errors.
    pub(crate) fn run(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        begun: Instant,
        conclude: &mut Conclude<'_>,
    ) -> Result<(), Failure> {
        (self.begun, self.earlier) = (begun, Work::default());
        let mut again = false;
        let options = self.first_options(rules);
        self.attempt(&Rules { options: &options, ..*rules }, source, &mut |space, points| {
            again = space.has_another_way(rules);
            if again { Ok(()) } else { conclude(space, points) }
        })?;
        if !again {
            return Ok(());
        }
        self.restart(rules, source);
        let start = self.problem.start.clone();
        source.with_points(View::of(rules.loss, &start), &mut |points| conclude(self, points))
    }

    /// Runs all stages from `problem.start` and restores `problem.start` on success.
    pub(super) fn attempt(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        then: &mut Conclude<'_>,
    ) -> Result<(), Failure> {
        let mut start = std::mem::take(&mut self.start);
        start.clone_from(&self.problem.start);
        self.forget_stages();
        let until = end_of(self.begun, rules.options.max_time);
        let view = View { until, ..View::of(rules.loss, &start) };
        let done = self.first_stage(rules, source, view).and_then(|ended| {
            source.with_points(view, &mut |points| {
                self.last_stage(rules, source, (view, points), ended)?;
                self.problem.start.clone_from(&start);
                points.take_time();
                self.judge(rules, points)?;
                then(self, points)
            })
        });
        self.start = start;
        done
    }

    /// Resets the state of the stages before another attempt or fit.
    pub(super) fn forget_stages(&mut self) {
        (self.work, self.retried, self.has_before) = (self.earlier, false, false);
        self.coincides = false;
        self.end.forget();
    }

    /// Runs the stage that finds the starting point of the last stage, if needed. Tukey and arctan losses ignore
    /// points far from the start, including good ones. Therefore this stage uses a loss of the same scale that keeps
    /// all points. In mixed precision it uses f32. If x has errors, it fits y alone: far from the data, distances to
    /// the curve have spurious minima. Returns the limit that ended the stage, if any.
    fn first_stage(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        view: View<'_>,
    ) -> Result<Option<Termination>, Failure> {
        let arithmetic = source.rough_arithmetic();
        let is_rough = arithmetic != Arithmetic::Double;
        let loss = rules.loss.first().unwrap_or(rules.loss);
        // One evaluation is kept for the last stage.
        let most = rules.options.evaluations(self.problem.free.len()).saturating_sub(1);
        let is_needed = rules.loss.first().is_some() || is_rough || rules.errors_in_x;
        if rules.refined || !is_needed || self.problem.free.is_empty() || most == 0 {
            return Ok(None);
        }
        let least = match rules.loss.first() {
            _ if rules.errors_in_x => ROUGH,
            None => ROUGH_SUMS,
            Some(_) => 0.0,
        };
        let Options { ftol, xtol, .. } = *rules.options;
        let (ftol, xtol) = (ftol.max(least), xtol.max(least));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..*rules.options };
        let plain = rules.errors_in_x;
        let stage = Stage { view: View { loss, arithmetic, plain, ..view }, options: &options };
        let done =
            source.with_points(stage.view, &mut |points| self.stage(rules, source, &stage, points));
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
        // If f32 failed, f64 uses the same starting point.
        let back = match rules.errors_in_x {
            true => self.was_nearer(source, view)?,
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
    fn was_nearer(&mut self, source: &dyn PointSource, view: View<'_>) -> Result<bool, Failure> {
        self.minimiser.ends.best.work.other_passes += 2;
        let mut nearer = false;
        source.with_points(view, &mut |points| {
            points.normal(view.start, &self.ones, &mut self.known)?;
            let before = self.known.cost;
            points.normal(&self.minimiser.ends.best.params, &self.ones, &mut self.known)?;
            nearer = !(self.known.cost <= before || before.is_nan());
            Ok(())
        })?;
        Ok(nearer)
    }

    /// Runs the stage with the requested loss. If a limit has `ended` the previous stage, only evaluates the cost.
    fn last_stage(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        (view, points): (View<'_>, &mut dyn Evaluator),
        ended: Option<Termination>,
    ) -> Result<(), Failure> {
        let stage = Stage { view, options: rules.options };
        match self.has_before {
            true => self.minimise(rules, &stage, points, (ended, false)),
            false => self.stage(rules, source, &stage, points),
        }
    }

    /// Minimises under the loss of `stage`; `points` evaluates its view. If the start is too far away for the loss,
    /// stages on wider scales run first.
    fn stage(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        stage: &Stage<'_>,
        points: &mut dyn Evaluator,
    ) -> Result<(), Failure> {
        let gauge = stage.view.loss.gauge();
        let gauge = gauge.filter(|_| !rules.refined && !self.problem.free.is_empty());
        let Some(scale) = gauge else {
            return self.minimise(rules, stage, points, (None, false));
        };
        match self.approach(rules, source, (stage, scale), points) {
            Ok(ended) => self.minimise(rules, stage, points, (ended, ended.is_none())),
            Err(failure) => self.or_before(Err(failure)),
        }
    }

    /// Runs stages of Cauchy loss on decreasing scales until the loss of `stage`, with this scale, has enough gradient.
    /// Returns the limit that ended them, if any.
    fn approach(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        (stage, scale): (&Stage<'_>, f64),
        points: &mut dyn Evaluator,
    ) -> Result<Option<Termination>, Failure> {
        let most = stage.options.evaluations(self.problem.free.len()).saturating_sub(1);
        let Options { ftol, xtol, .. } = *stage.options;
        let (ftol, xtol) = (ftol.max(ROUGH), xtol.max(ROUGH));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..*stage.options };
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
            let wide = Stage { view: View { loss, ..stage.view }, options: &options };
            source.with_points(wide.view, &mut |points| {
                self.minimise(rules, &wide, points, (None, false))
            })?;
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

    /// A minimisation from `problem.start`, or the cost there where a limit has `ended` the way to it.
    /// `is_known`: whether the normal equations there are known.
    fn minimise(
        &mut self,
        rules: &Rules<'_>,
        stage: &Stage<'_>,
        points: &mut dyn Evaluator,
        (ended, is_known): (Option<Termination>, bool),
    ) -> Result<(), Failure> {
        self.problem.loss = stage.view.loss;
        let task = Task {
            problem: &self.problem,
            options: stage.options,
            observer: rules.observer,
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
