//! From a validated request to a fit: evaluate, minimise, compute the covariance.

use super::Fit;
use super::curvature_bias;
use super::lack_of_fit::ResidualTests;
use super::priors::{Prior, WithPriors};
use super::search::{PointSource, Rules, View, Visit, Workspace};
use super::start_search::StartSearch;
use super::stats::Stats;
use super::supply::{EvaluatorOptions, Supply};
use super::warnings::{of_search, warnings};
use crate::backend::cpu::Prepared;
use crate::backend::cuda::source::Arithmetic;
use crate::data::loss::{Estimator, Loss};
use crate::data::overview::Overview;
use crate::error::{Error, NamedValues, Result};
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::normal::arrow::full;
use crate::observe::span;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::{Observer, Patience, Stopper};
use crate::solver::options::Options;
use crate::solver::outcome::{BadPoint, Failure, Fault, Outcome};
use crate::solver::task::Problem;
use crate::solver::termination::Termination;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work before a fit is prepared, and its duration.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Duration of the validation of the data.
    pub(crate) validating: Duration,
    /// Duration of the computation of starting values that the caller did not supply.
    pub(crate) finding: Duration,
    /// Result of the search for the start; `None` if no search was made.
    pub(crate) search: Option<StartSearch>,
}

/// Request for one fit. Arrays have one value per parameter.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a Model,
    pub(crate) prepared: &'a Prepared,
    /// Access to the points.
    pub(crate) supply: &'a dyn Supply,
    /// Summary of the points.
    pub(crate) points: Overview,
    pub(crate) names: &'a [String],
    pub(crate) start: Vec<f64>,
    pub(crate) bounds: &'a [(f64, f64)],
    pub(crate) fixed: Vec<bool>,
    /// Parameters that are computed from others; the model contains their formulas instead.
    pub(crate) ties: Arc<Ties>,
    /// The terms of the model, if it is known as a sum.
    pub(crate) components: Arc<[ComponentModel]>,
    /// Names and formulas of quantities that are reported with the fit.
    pub(crate) derived: &'a [(String, Expression)],
    /// Parameters that do not occur in the model.
    pub(crate) unused: Vec<bool>,
    pub(crate) priors: &'a [Prior],
    pub(crate) loss: Loss,
    pub(crate) options: &'a Options,
    pub(crate) observer: Option<&'a Observer>,
    /// If true, the start is the result of a fit, and no stage needs to improve it.
    pub(crate) starts_refined: bool,
    /// Positions of the linear parameters whose starting values are a least-squares solution.
    pub(crate) linear: Vec<usize>,
    /// Typical sizes of the parameters; NaN if unknown.
    pub(crate) scales: &'a [f64],
    /// If true, passes on the CPU run on the calling thread only, because the other threads have their own fits.
    pub(crate) on_one_thread: bool,
    pub(crate) prepare_time: Duration,
    pub(crate) spent: Spent,
}

impl Request<'_> {
    pub(crate) fn fit(&self) -> Result<Fit> {
        let begun = Instant::now();
        let mut fit = None;
        let searched = Workspace::with(self.problem(), |space| {
            space.run(&self.rules(), self, begun, &mut |space, points| {
                let concluded = self.conclude(space, points, begun.elapsed());
                fit = Some(concluded.map(|(fit, _)| fit));
                Ok(())
            })
        });
        searched.map_err(|failure| self.refused(failure))?;
        // `run` always calls the callback on success.
        fit.unwrap_or(Err(Error::StoppedInFirstPass))
    }

    /// Returns the outcome of the search, without covariance. Time limits count from `begun`.
    pub(crate) fn search(&self, begun: Instant) -> Result<Outcome> {
        let searched = Workspace::with(self.problem(), |space| {
            space.run(&self.rules(), self, begun, &mut |_, _| Ok(()))?;
            Ok(space.outcome().clone())
        });
        let mut outcome = searched.map_err(|failure| self.refused(failure))?;
        self.ties.complete(&mut outcome.params);
        Ok(outcome)
    }

    /// Builds the fit of a finished search, and the tests of its residuals. `solving`: duration of the search.
    pub(crate) fn ended(
        &self,
        outcome: Outcome,
        solving: Duration,
    ) -> Result<(Fit, ResidualTests)> {
        let mut points = self.evaluator(View::of(self.loss, &self.start))?;
        Workspace::with(self.problem(), |space| {
            *space.outcome_mut() = outcome;
            self.conclude(space, &mut *points, solving)
        })
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            loss: self.loss,
            options: self.options,
            observer: self.observer,
            refined: self.starts_refined,
            linear: &self.linear,
            scales: self.scales,
            errors_in_x: self.points.errors_in_x,
        }
    }

    /// Computes covariance, statistics and warnings at the solution. `solving`: duration of the search.
    fn conclude(
        &self,
        space: &mut Workspace,
        evaluator: &mut dyn Evaluator,
        solving: Duration,
    ) -> Result<(Fit, ResidualTests)> {
        let (begun, points) = (Instant::now(), &self.points);
        let _span = span!(DEBUG, "covariance", parameters = space.problem.free.len());
        space.analyse(evaluator).map_err(|failure| self.refused(failure))?;
        let (outcome, end) = (space.outcome(), &space.end);
        let mut params = outcome.params.clone();
        self.ties.complete(&mut params);
        let row_error = space.row_error();
        let sizes = (self.names.len(), points.used);
        let free = &space.problem.free;
        let mut covariance = end.covariance(free, &outcome.columns, sizes, &row_error);
        covariance.tie(&self.ties, &params);
        let cost_unit = space.cost_unit(covariance.rank);
        let mut at_bound = vec![None; self.names.len()];
        free.iter().zip(&end.sides).for_each(|(&k, &side)| at_bound[k] = side);
        let termination = end.stopped.map_or(outcome.termination, Termination::from);
        let at_end = (&outcome.params[..], termination);
        let tests = ResidualTests::of(evaluator, at_end, end.number_estimated());
        let stats = self.stats(evaluator, outcome, end.passes, [solving, begun.elapsed()]);
        let mut fit = Fit {
            model: self.model.clone(),
            names: self.names.to_vec(),
            params,
            at_bound,
            covariance,
            loss: self.loss,
            scaled: !points.absolute,
            estimator: points.estimator,
            cost: outcome.cost,
            row_unit: points.units.row,
            cost_unit,
            scatter: points.summary.scatter,
            deviance: None,
            points: points.used,
            omitted: points.omitted,
            ignored: points.ignored,
            weight: end.weight,
            termination,
            warnings: Vec::new(),
            stats,
            start: self.start.clone(),
            fixed: self.fixed.clone(),
            ties: self.ties.clone(),
            components: self.components.clone(),
            derived: Vec::new(),
            formulas: Vec::new(),
            priors: self.priors.to_vec(),
            bounds: self.bounds.to_vec(),
            spread: self.supply.spread(),
            part: None,
        };
        fit.derive(self.derived)?;
        let distinct = self.supply.distinct(fit.estimated());
        let mut effects = vec![None; self.names.len()];
        free.iter().zip(&outcome.effects).for_each(|(&k, &effect)| effects[k] = Some(effect));
        let mut unused = self.unused.clone();
        free.iter().zip(&outcome.unused).for_each(|(&k, &found)| unused[k] |= found);
        fit.warnings = warnings(&fit, &unused, self.bounds, distinct, &effects);
        if tests.are_made() {
            tests.apply(&mut fit);
        }
        if let Some(search) = &self.spent.search {
            let found = of_search(search, &fit);
            fit.warnings.extend(found);
        }
        if points.errors_in_x && fit.converged() {
            let (at_end, shape) = ((&outcome.params[..], &free[..]), &space.problem.shape);
            let found = curvature_bias::warnings(&fit, evaluator, at_end, shape);
            fit.warnings.extend(found);
        }
        Ok((fit, tests))
    }

    /// Builds the statistics from the durations of the solver and of the analysis.
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
            start_search: self.spent.search,
            solve_seconds: solving.as_secs_f64(),
            covariance_seconds: analysing.as_secs_f64(),
            ..self.supply.stats(evaluator)
        }
    }

    /// Creates an evaluator of the points for `view`, priors included.
    pub(super) fn evaluator<'e>(
        &'e self,
        view: View<'e>,
    ) -> Result<Box<dyn Evaluator + Send + 'e>> {
        let stopper = self.observer.as_ref().map(|observer| observer as &dyn Stopper);
        let patience = Patience { until: view.until, stopper };
        let (model, on_one_thread) = (self.prepared, self.on_one_thread);
        let options = EvaluatorOptions { model, view, patience, on_one_thread };
        let points = self.supply.evaluator(&options)?;
        // Plain points only serve to find a starting point; their units differ.
        if self.priors.is_empty() || view.plain {
            return Ok(points);
        }
        let (free, row_unit) = (&self.prepared.free, self.points.units.row);
        Ok(Box::new(WithPriors::new(points, self.priors, free, row_unit)))
    }

    pub(super) fn problem(&self) -> Problem {
        Problem {
            unused: self.prepared.free.iter().map(|&k| self.unused[k]).collect(),
            opaque: self.prepared.is_native(),
            free: self.prepared.free.clone(),
            shape: self.supply.shape().unwrap_or_else(|| full(self.prepared.free.len())),
            start: self.start.clone(),
            bounds: self.bounds.to_vec(),
            square: self.points.summary.square,
            scatter: self.points.summary.scatter,
            signal: self.points.summary.signal(self.points.estimator == Estimator::Poisson),
            points: self.points.used,
            absolute: self.points.absolute,
            loss: self.loss,
            row_unit: self.points.units.row,
        }
    }

    /// Converts a failure of the solver into the error for the user.
    pub(crate) fn refused(&self, failure: Failure) -> Error {
        match failure {
            Failure::Start(bad) => {
                error_at_start(self.model, self.names, &self.prepared.free, &self.start, bad)
            }
            Failure::Overflow => {
                Error::OverflowAtStart { params: NamedValues::new(self.names, &self.start) }
            }
            Failure::Observer(message) => Error::ObserverPanicked { message },
            Failure::Backend(Fault::Device(error)) => self.supply.failed(error),
            Failure::Backend(Fault::Points(error)) => error,
            Failure::Backend(Fault::Stopped(_)) => Error::StoppedInFirstPass,
            Failure::Backend(Fault::Panicked { message, point, params }) => {
                let params = NamedValues::new(self.names, &params);
                let place = match point {
                    Some((index, x)) => {
                        format!("point {index} ({}) for {params}", variables(self.model, &x))
                    }
                    None => format!("all points for {params}"),
                };
                Error::ModelPanicked { message, place }
            }
        }
    }
}

impl PointSource for Request<'_> {
    fn with_points(
        &self,
        view: View<'_>,
        work: &mut Visit<'_>,
    ) -> std::result::Result<(), Failure> {
        let points = self.evaluator(view);
        work(&mut *points.map_err(|error| Failure::Backend(Fault::Points(error)))?)
    }

    fn rough_arithmetic(&self) -> Arithmetic {
        self.supply.rough_arithmetic()
    }
}

/// Returns the error if the model, or a partial by one of the `free` parameters, is invalid at the start.
pub(crate) fn error_at_start(
    model: &Model,
    names: &[String],
    free: &[usize],
    start: &[f64],
    BadPoint { index, x, value, partial }: BadPoint,
) -> Error {
    let (point, params) = (variables(model, &x), NamedValues::new(names, start));
    match partial {
        None if value.is_finite() => Error::ModelNotPositiveAtStart { index, point, value, params },
        None => Error::ModelNonFiniteAtStart { index, point, value, params },
        Some(j) => {
            let name = names[free[j]].clone();
            Error::PartialNonFiniteAtStart { name, index, point, value, params }
        }
    }
}

fn variables(model: &Model, x: &[f64]) -> NamedValues {
    let names: Vec<String> = match model {
        Model::Traced(program) => program.columns.clone(),
        Model::Native(_) => crate::model::program::default_columns(x.len()),
    };
    NamedValues::new(&names, x)
}

/// Free parameters up to which a thread keeps the workspace of its last fit: it grows with their square.
const KEPT: usize = 32;

thread_local! {
    static LAST: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

impl Workspace {
    /// Does `work` in the workspace of this thread's last fit, if that had as many parameters, so that small fits one
    /// after another allocate little. A fit within a native model finds it taken, and gets one of its own.
    pub(crate) fn with<R>(problem: Problem, work: impl FnOnce(&mut Workspace) -> R) -> R {
        let alike =
            |last: &Problem| last.start.len() == problem.start.len() && last.shape == problem.shape;
        let mut space = match LAST.take().filter(|last| alike(&last.problem)) {
            Some(mut last) => {
                last.problem = problem;
                last.forget_stages();
                last
            }
            None => Box::new(Workspace::new(problem)),
        };
        let result = work(&mut space);
        LAST.set(Some(space).filter(|space| space.problem.free.len() <= KEPT));
        result
    }
}
