//! From a validated request to a fit: evaluate, minimise, compute the covariance.

use super::Fit;
use super::approach::judged;
use super::covariance::{Covariance, Inputs, kept};
use super::doubts::warnings;
use super::stats::Stats;
use super::supply::{EvaluatorWish, Supply};
use crate::backend::cpu::Prepared;
use crate::backend::cuda::source::Arithmetic;
use crate::backend::{BadPoint, Evaluator, Fault, Patience, Stop, Stopper, end_of};
use crate::constants::WELL_CONDITIONED;
use crate::data::loss::Loss;
use crate::data::overview::Overview;
use crate::error::{Error, NamedValues, Result};
use crate::model::Expression;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::normal::{Normal, Spectrum, Summary};
use crate::observe::span;
use crate::solver::bounds::Limits;
use crate::solver::levels::{inside, last_step, sharpened};
use crate::solver::linear_model::LinearModel;
use crate::solver::minimise::{Failure, Outcome, evaluate, minimise};
use crate::solver::observe::Observer;
use crate::solver::options::Options;
use crate::solver::problem::Problem;
use crate::solver::termination::Termination;
use crate::solver::work::Work;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tolerance of a stage in f32, above the rounding of its sums of squares.
const ROUGH: f64 = 1e-5;
/// What a fit begins with.
pub(super) const NO_WORK: Work = Work { evaluations: 0, other_passes: 0, iterations: 0 };

/// What was done before a fit is prepared, and how long it took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Checking the data.
    pub(crate) validating: Duration,
    /// Finding what was not given of the start.
    pub(crate) finding: Duration,
}

/// A fit to be made. Arrays have one value per parameter.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a Model,
    pub(crate) prepared: &'a Prepared,
    /// Where the points are.
    pub(crate) supply: &'a dyn Supply,
    /// What is known of them together.
    pub(crate) points: Overview,
    pub(crate) names: &'a [String],
    pub(crate) start: Vec<f64>,
    pub(crate) bounds: &'a [(f64, f64)],
    pub(crate) fixed: Vec<bool>,
    /// Which parameters follow from others; the model has their formulas in place of them.
    pub(crate) ties: Arc<Ties>,
    /// Names and formulas of quantities that are reported with the fit.
    pub(crate) derived: &'a [(String, Expression)],
    /// Parameters that do not occur in the model.
    pub(crate) unused: Vec<bool>,
    pub(crate) loss: Loss,
    pub(crate) options: &'a Options,
    pub(crate) observer: Option<&'a Observer>,
    /// Whether the start is the end of a fit already, so that no stage need find a better one.
    pub(crate) starts_refined: bool,
    /// Whether passes on the CPU are left to the calling thread, because others have fits of their own.
    pub(crate) on_one_thread: bool,
    pub(crate) prepare_time: Duration,
    pub(crate) spent: Spent,
}

impl Request<'_> {
    pub(crate) fn fit(&self) -> Result<Fit> {
        let begun = Instant::now();
        let (mut evaluator, outcome) = self.solve(begun)?;
        use Termination::{Stopped, TimeLimit};
        let in_time = !matches!(outcome.termination, Stopped | TimeLimit);
        if in_time && self.options.max_time.is_some() && !self.supply.is_on_device() {
            // The limit is one of the search: an end that was found in time gets its errors.
            evaluator = self.evaluator(self.loss, Arithmetic::Double)?;
        }
        self.conclude(&mut *evaluator, outcome, begun.elapsed())
    }

    /// Where the search ends, and the evaluator that was used there. Limits of time count from `begun`.
    pub(crate) fn solve(&self, begun: Instant) -> Result<(Box<dyn Evaluator + '_>, Outcome)> {
        let mut problem = self.problem();
        let first = self.first_stage(&problem, begun)?;
        let mut evaluator = self.evaluator_until(self.end(begun), self.loss, Arithmetic::Double)?;
        let outcome = match first {
            Some(first) => {
                problem.start.clone_from(&first.params);
                self.second_stage(&mut *evaluator, &problem, first, begun)?
            }
            None if problem.free.is_empty() => self.evaluate_only(&mut *evaluator)?,
            None => {
                let under = (self.loss, Arithmetic::Double);
                self.stage(&mut *evaluator, under, &problem, self.options, begun)
                    .map_err(|failure| self.refused(failure))?
            }
        };
        Ok((evaluator, outcome))
    }

    /// The end of a search, converged only if the loss lets enough points count there.
    pub(crate) fn judged(
        &self,
        evaluator: &mut dyn Evaluator,
        outcome: Outcome,
    ) -> Result<Outcome> {
        if !(self.loss.redescends() && outcome.termination.is_converged()) {
            return Ok(outcome);
        }
        let end = self.analyse(evaluator, &self.problem(), &outcome)?;
        let counting = (end.weight, self.points.used);
        let termination = judged(outcome.termination, self.loss, counting, end.estimated);
        Ok(Outcome { termination, ..outcome })
    }

    /// What the end of a search is worth. `solving`: the time that the search took.
    pub(crate) fn conclude(
        &self,
        evaluator: &mut dyn Evaluator,
        outcome: Outcome,
        solving: Duration,
    ) -> Result<Fit> {
        let (begun, points) = (Instant::now(), &self.points);
        let end = self.analyse(evaluator, &self.problem(), &outcome)?;
        let stats = self.stats(evaluator, &outcome, end.passes, [solving, begun.elapsed()]);
        let estimated = end.estimated;
        let counting = (end.weight, points.used);
        let reason = judged(outcome.termination, self.loss, counting, estimated);
        let mut fit = Fit {
            model: self.model.clone(),
            names: self.names.to_vec(),
            params: end.params,
            at_bound: end.at_bound,
            covariance: end.covariance,
            loss: self.loss,
            scaled: !points.absolute,
            estimator: points.estimator,
            cost: outcome.cost,
            row_unit: points.units.row,
            scatter: points.summary.scatter,
            points: points.used,
            omitted: points.omitted,
            ignored: points.ignored,
            weight: end.weight,
            termination: end.stopped.map_or(reason, Termination::from),
            warnings: Vec::new(),
            stats,
            start: self.start.clone(),
            fixed: self.fixed.clone(),
            ties: self.ties.clone(),
            derived: Vec::new(),
            bounds: self.bounds.to_vec(),
            spread: self.supply.spread(),
            part: None,
        };
        fit.derive(self.derived)?;
        let distinct = self.supply.distinct(fit.estimated());
        fit.warnings = warnings(&fit, &self.unused, self.bounds, distinct, &end.effects);
        Ok(fit)
    }

    /// The times are those of the solver and of the analysis.
    fn stats(
        &self,
        evaluator: &dyn Evaluator,
        outcome: &Outcome,
        last_passes: usize,
        [solving, analysing]: [Duration; 2],
    ) -> Stats {
        Stats {
            evaluations: outcome.work.evaluations,
            passes: outcome.work.evaluations + outcome.work.other_passes + last_passes,
            iterations: outcome.work.iterations,
            retried: outcome.retried,
            operations: match self.model {
                Model::Traced(_) => Some(self.prepared.operations()),
                Model::Native(_) => None,
            },
            prepare_seconds: self.prepare_time.as_secs_f64(),
            validate_seconds: self.spent.validating.as_secs_f64(),
            start_seconds: self.spent.finding.as_secs_f64(),
            solve_seconds: solving.as_secs_f64(),
            covariance_seconds: analysing.as_secs_f64(),
            ..self.supply.stats(evaluator)
        }
    }

    /// When the time of a search is over that began at `begun`.
    pub(super) fn end(&self, begun: Instant) -> Option<Instant> {
        end_of(begun, self.options.max_time)
    }

    /// The points under a loss, where the fit is computed.
    pub(super) fn evaluator(
        &self,
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<Box<dyn Evaluator + '_>> {
        self.evaluator_until(None, loss, arithmetic)
    }

    /// As [`evaluator`](Request::evaluator), with passes that may be broken off at a time.
    pub(super) fn evaluator_until(
        &self,
        until: Option<Instant>,
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<Box<dyn Evaluator + '_>> {
        let stopper = self.observer.as_ref().map(|observer| observer as &dyn Stopper);
        let wish = EvaluatorWish {
            patience: Patience { until, stopper },
            model: self.prepared,
            start: &self.start,
            loss,
            arithmetic,
            on_one_thread: self.on_one_thread,
        };
        self.supply.evaluator(&wish)
    }

    /// The stage that finds a start for the next one, where there is one. Tukey's loss and arctan's
    /// leave points out that are far from the start, good ones among them; a fit with a loss of the same
    /// scale that leaves none out says which are far from the data. In mixed precision f32 goes as far as
    /// it can.
    /// `None` if there is nothing to fit, or no evaluation to spare: one is kept for the next stage.
    fn first_stage(&self, problem: &Problem, begun: Instant) -> Result<Option<Outcome>> {
        if self.starts_refined {
            return Ok(None);
        }
        let arithmetic = self.supply.rough_arithmetic();
        let (loss, least) = match (self.loss.first(), arithmetic) {
            (Some(first), _) => (first, 0.0),
            (None, Arithmetic::Double) => return Ok(None),
            (None, Arithmetic::Single { .. }) => (self.loss, ROUGH),
        };
        let most = self.options.evaluations(problem.free.len()).saturating_sub(1);
        if problem.free.is_empty() || most == 0 {
            return Ok(None);
        }
        let Options { ftol, xtol, .. } = *self.options;
        let (ftol, xtol) = (ftol.max(least), xtol.max(least));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..*self.options };
        let mut evaluator = self.evaluator_until(self.end(begun), loss, arithmetic)?;
        match self.stage(&mut *evaluator, (loss, arithmetic), problem, &options, begun) {
            // Where f32 came to nothing, f64 begins where it did.
            Ok(first)
                if arithmetic != Arithmetic::Double
                    && matches!(
                        first.termination,
                        Termination::ZeroGradientAtStart
                            | Termination::Degenerate
                            | Termination::ModelNonFinite
                    ) =>
            {
                Ok(Some(Outcome { params: problem.start.clone(), ..first }))
            }
            Ok(first) => Ok(Some(first)),
            // What has no value in f32 may have one in f64.
            Err(Failure::Start(_) | Failure::Overflow) if arithmetic != Arithmetic::Double => {
                Ok(None)
            }
            Err(failure) => Err(self.refused(failure)),
        }
    }

    /// Goes on from the end of the first stage, which `problem` starts from; where that was ended by a
    /// limit or the observer, only the cost is taken there. Counts and effects are those of both.
    fn second_stage(
        &self,
        evaluator: &mut dyn Evaluator,
        problem: &Problem,
        first: Outcome,
        begun: Instant,
    ) -> Result<Outcome> {
        let (options, reason) = (self.options, first.termination);
        let second = match reason.is_limit() {
            true => evaluate(evaluator, problem, options, begun, first.work, reason),
            false => minimise(evaluator, problem, options, self.observer, begun, first.work),
        };
        let second = match second {
            // What was stopped makes no more passes; the cost is that of the first stage.
            Err(Failure::Backend(Fault::Stopped(stop))) => {
                return Ok(Outcome { termination: stop.into(), ..first });
            }
            second => second.map_err(|failure| self.refused(failure))?,
        };
        Ok(Outcome { effects: first.effects, retried: first.retried || second.retried, ..second })
    }

    pub(super) fn problem(&self) -> Problem {
        Problem {
            unused: self.prepared.free.iter().map(|&k| self.unused[k]).collect(),
            free: self.prepared.free.clone(),
            start: self.start.clone(),
            bounds: self.bounds.to_vec(),
            square: self.points.summary.square,
            points: self.points.used,
            loss: self.loss,
            row_unit: self.points.units.row,
        }
    }

    /// The cost with all parameters fixed.
    fn evaluate_only(&self, evaluator: &mut dyn Evaluator) -> Result<Outcome> {
        let mut normal = Normal::zero(0);
        let faulty = |fault| self.refused(Failure::Backend(fault));
        evaluator.normal(&self.start, &[], &mut normal).map_err(faulty)?;
        if !normal.is_finite()
            && let Some(point) = evaluator.first_bad_point(&self.start)
        {
            return Err(self.refused(Failure::Start(point)));
        }
        Ok(Outcome {
            params: self.start.clone(),
            cost: normal.cost,
            normal,
            termination: Termination::AllFixed,
            work: Work { evaluations: 1, ..NO_WORK },
            columns: Vec::new(),
            effects: Vec::new(),
            retried: false,
            most_weight: f64::INFINITY,
        })
    }

    /// The error that a user should see for a failure of the solver.
    pub(crate) fn refused(&self, failure: Failure) -> Error {
        let variables = |x: &[f64]| {
            let names: Vec<String> = match self.model {
                Model::Traced(program) => program.columns.clone(),
                Model::Native(_) => crate::model::program::default_columns(x.len()),
            };
            NamedValues::new(&names, x)
        };
        match failure {
            Failure::Start(BadPoint { index, x, value, partial }) => {
                let (point, params) = (variables(&x), NamedValues::new(self.names, &self.start));
                match partial {
                    None if value.is_finite() => {
                        Error::ModelNotPositiveAtStart { index, point, value, params }
                    }
                    None => Error::ModelNonFiniteAtStart { index, point, value, params },
                    Some(j) => {
                        let name = self.names[self.prepared.free[j]].clone();
                        Error::PartialNonFiniteAtStart { name, index, point, value, params }
                    }
                }
            }
            Failure::Overflow => {
                Error::OverflowAtStart { params: NamedValues::new(self.names, &self.start) }
            }
            Failure::Observer(message) => Error::ObserverPanicked { message },
            Failure::Backend(Fault::Device(error)) | Failure::Device { error, .. } => {
                self.supply.failed(error)
            }
            Failure::Backend(Fault::Points(error)) => error,
            Failure::Backend(Fault::Stopped(_)) => Error::StoppedInFirstPass,
            Failure::Backend(Fault::Panicked { message, index, x, params }) => {
                let params = NamedValues::new(self.names, &params);
                Error::ModelPanicked {
                    message,
                    place: format!("point {index} ({}) for {params}", variables(&x)),
                }
            }
        }
    }

    /// Covariance and active bounds at the solution.
    fn analyse(
        &self,
        evaluator: &mut dyn Evaluator,
        problem: &Problem,
        outcome: &Outcome,
    ) -> Result<End> {
        let _span = span!(DEBUG, "covariance", parameters = problem.free.len());
        let n = problem.free.len();
        let mut passes = 0;
        let mut model = LinearModel::new(n);
        let sound = model.set_normal(&outcome.normal) && model.least_pivot > WELL_CONDITIONED;
        let mut factor = model.factor();
        // The normal equations of a robust fit carry the correction that suits the iteration.
        if outcome.most_weight < f64::INFINITY {
            evaluator.limit_weights(outcome.most_weight);
        }
        let mut stopped = None;
        // They do not know how many points count either.
        let linear = self.loss == Loss::Linear;
        if !(linear && (sound || n == 0)) {
            match evaluator.factor(&outcome.params, &outcome.columns, &mut factor) {
                Ok(()) => passes += 1,
                // What the steps knew must do.
                Err(Fault::Stopped(stop)) => stopped = Some(stop),
                Err(fault) => return Err(self.refused(Failure::Backend(fault))),
            }
        }
        let unit = |(j, &k): (usize, &usize)| {
            let c = outcome.columns[j];
            ((problem.bounds[k].0 / c, problem.bounds[k].1 / c), outcome.params[k] / c)
        };
        let (limits, q): (Vec<_>, Vec<_>) = problem.free.iter().enumerate().map(unit).unzip();
        let limits = Limits { limits: &limits };
        let mut at_bound = vec![None; self.names.len()];
        let mut estimated = vec![true; n];
        for j in 0..n {
            let held = limits.holds_firmly(&q, &model, outcome.cost.min(problem.bulk()), j);
            estimated[j] = !held;
            at_bound[problem.free[j]] = limits.side(&q, j).filter(|_| held);
        }
        // Directions that the data do not determine take no degree of freedom.
        let row_error = |rank: usize| match self.points.used.saturating_sub(rank) {
            _ if self.points.absolute => self.points.units.row,
            0 => f64::NAN,
            degrees => (2.0 * outcome.cost / degrees as f64).sqrt(),
        };
        let kept = kept(&estimated);
        let spectrum = Spectrum::of(&factor, &kept);
        let heavy = match evaluator.heavy_rows(&outcome.params, &outcome.columns) {
            Ok(rows) => rows,
            Err(Fault::Stopped(stop)) => {
                stopped = Some(stop);
                Vec::new()
            }
            Err(fault) => return Err(self.refused(Failure::Backend(fault))),
        };
        let sharpened = (!heavy.is_empty()).then(|| sharpened(&factor, &heavy));
        let mut params = outcome.params.clone();
        if let Some(factor) = &sharpened {
            passes += 1;
            let inside = inside(problem, &params);
            let step = last_step(factor, &inside, problem, &outcome.columns, &params);
            step.into_iter().flatten().for_each(|(k, to)| params[k] = to);
        }
        self.ties.complete(&mut params);
        let mut covariance = Covariance::compute(&Inputs {
            spectrum: &spectrum,
            sharpened: sharpened.as_ref(),
            free: &problem.free,
            estimated: &estimated,
            columns: &outcome.columns,
            params: self.names.len(),
            points: self.points.used,
            // Errors in row units back to the units of the data.
            row_error: &row_error,
        });
        covariance.tie(&self.ties, &params);
        Ok(End {
            params,
            at_bound,
            covariance,
            effects: outcome.effects.clone(),
            weight: match linear {
                true => self.points.used as f64,
                false if stopped.is_some() => f64::NAN,
                false => factor.weight,
            },
            estimated: estimated.iter().filter(|&&estimated| estimated).count(),
            passes,
            stopped,
        })
    }
}

/// What is known at the end of a fit.
struct End {
    params: Vec<f64>,
    at_bound: Vec<Option<crate::solver::bounds::Side>>,
    covariance: Covariance,
    effects: Vec<f64>,
    /// How many points count, by their weights.
    weight: f64,
    /// Free parameters that no bound holds.
    estimated: usize,
    passes: usize,
    /// Why the pass that the covariance needs was broken off, if it was.
    stopped: Option<Stop>,
}
