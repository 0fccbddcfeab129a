//! Computation of a fit from a validated request: evaluation, minimisation, covariance.

use super::Fit;
use super::curvature_bias;
use super::lack_of_fit::ResidualTests;
use super::point_source::{PointEvaluator, PointSource, View};
use super::search::{SearchRequest, Workspace};
use super::spec::FitSpec;
use super::start_search::StartSearch;
use super::stats::Stats;
use super::subsample_start::SubsampleStart;
use super::unneeded;
use super::warnings::{of_search, warnings};
use crate::data::loss::Estimator;
use crate::data::summary::Overview;
use crate::error::{Error, NamedValues, Result};
use crate::host::Instant;
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::normal::arrow::full;
use crate::observe::span;
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::{BadPoint, Failure, Fault, Outcome};
use crate::solver::task::Problem;
use crate::solver::termination::Termination;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

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
    pub(crate) spec: FitSpec<'a>,
    pub(crate) model: &'a Model,
    pub(crate) source: Arc<dyn PointSource + 'a>,
    /// Summary of the points.
    pub(crate) points: Overview,
    pub(crate) start: Vec<f64>,
    pub(crate) fixed: Vec<bool>,
    /// Parameters that are computed from others; the model contains their formulas instead.
    pub(crate) ties: Arc<Ties>,
    /// The terms of the model, if it is known as a sum.
    pub(crate) components: Arc<[ComponentModel]>,
    /// Names and formulas of quantities that are reported with the fit.
    pub(crate) derived: &'a [(String, Expression)],
    /// If true, the start is the result of a fit, and no stage needs to improve it.
    pub(crate) starts_refined: bool,
    /// Result of the fit of a sample, which may replace the start.
    pub(crate) sample: Option<SubsampleStart>,
    /// Positions of the linear parameters whose starting values are a least-squares solution.
    pub(crate) linear: Vec<usize>,
    pub(crate) prepare_time: Duration,
    pub(crate) spent: Spent,
}

impl Request<'_> {
    /// Searches for the parameters and analyses the result.
    pub(crate) fn fit(&self) -> Result<Fit> {
        let begun = Instant::now();
        let mut space = Workspace::of_thread(self.problem());
        let searched = space.run(&self.search_request(), begun);
        let mut points = searched.map_err(|failure| self.refused(failure))?;
        let (fit, _) = self.conclude(&mut space, &mut *points, begun.elapsed())?;
        space.keep();
        Ok(fit)
    }

    /// Returns the outcome of the search, without covariance. Time limits count from `begun`.
    pub(crate) fn search(&self, begun: Instant) -> Result<Outcome> {
        let mut space = Workspace::of_thread(self.problem());
        let searched = space.run(&self.search_request(), begun).map(drop);
        searched.map_err(|failure| self.refused(failure))?;
        let mut outcome = space.outcome().clone();
        space.keep();
        self.ties.complete(&mut outcome.params);
        Ok(outcome)
    }

    /// Builds the fit of a finished search, and the tests of its residuals. `solving`: duration of the search.
    pub(crate) fn ended(
        &self,
        outcome: Outcome,
        solving: Duration,
    ) -> Result<(Fit, ResidualTests)> {
        let mut points = self.evaluator(&View::of(self.spec.loss, &self.start))?;
        let mut space = Workspace::of_thread(self.problem());
        *space.outcome_mut() = outcome;
        let concluded = self.conclude(&mut space, &mut *points, solving)?;
        space.keep();
        Ok(concluded)
    }

    fn search_request(&self) -> SearchRequest<'_> {
        SearchRequest {
            spec: &self.spec,
            source: &*self.source,
            options: self.spec.options,
            refined: self.starts_refined,
            sample: self.sample.as_ref(),
            linear: &self.linear,
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
        let sizes = (self.spec.names.len(), points.used);
        let free = &space.problem.free;
        let mut covariance = end.covariance(free, &outcome.columns, sizes, &row_error);
        covariance.tie(&self.ties, &params);
        let cost_unit = space.cost_unit(covariance.rank);
        let mut at_bound = vec![None; self.spec.names.len()];
        free.iter().zip(&end.sides).for_each(|(&k, &side)| at_bound[k] = side);
        let termination = end.stopped.map_or(outcome.termination, Termination::from);
        let at_end = (&outcome.params[..], termination);
        let tests = ResidualTests::of(evaluator, at_end, end.number_estimated());
        let stats = self.stats(evaluator, space, [solving, begun.elapsed()]);
        let mut fit = Fit {
            model: self.model.clone(),
            names: self.spec.names.to_vec(),
            params,
            at_bound,
            covariance,
            loss: self.spec.loss,
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
            priors: self.spec.priors.to_vec(),
            bounds: self.spec.bounds.to_vec(),
            spread: self.source.spread(),
            part: None,
        };
        fit.derive(self.derived)?;
        let distinct = self.source.distinct(fit.estimated());
        let mut effects = vec![None; self.spec.names.len()];
        free.iter().zip(&outcome.effects).for_each(|(&k, &effect)| effects[k] = Some(effect));
        let mut unused = self.spec.unused.clone();
        free.iter().zip(&outcome.unused).for_each(|(&k, &found)| unused[k] |= found);
        fit.warnings = warnings(&fit, &unused, self.spec.bounds, distinct, &effects);
        if fit.converged() {
            let found = unneeded::warnings(&fit, &space.problem, space.outcome(), evaluator);
            fit.warnings.extend(found.0);
            fit.stats.passes += found.1;
        }
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
        space: &Workspace,
        [solving, analysing]: [Duration; 2],
    ) -> Stats {
        let (outcome, last_passes) = (space.outcome(), space.end.passes);
        let of_source = self.source.stats(evaluator);
        let of_sample = self.sample.as_ref().map_or(0, |sample| sample.bytes);
        Stats {
            evaluations: outcome.work.evaluations,
            passes: outcome.work.evaluations + outcome.work.other_passes + last_passes,
            iterations: outcome.work.iterations,
            retried: outcome.retried,
            operations: match self.model {
                Model::Traced(_) => Some(self.spec.prepared.operations()),
                Model::Native(_) => None,
            },
            prepare_seconds: self.prepare_time.as_secs_f64(),
            validate_seconds: self.spent.validating.as_secs_f64(),
            start_seconds: self.spent.finding.as_secs_f64(),
            subsample_points: space.sample_points,
            start_search: self.spent.search,
            solve_seconds: solving.as_secs_f64(),
            covariance_seconds: analysing.as_secs_f64(),
            scratch_bytes: of_source.scratch_bytes + of_sample,
            ..of_source
        }
    }

    /// Creates an evaluator of the points and the priors for `view`, the settings of one stage.
    pub(super) fn evaluator(&self, view: &View<'_>) -> Result<PointEvaluator<'_>> {
        self.spec.evaluator(&*self.source, view, self.points.units.row)
    }

    pub(super) fn problem(&self) -> Problem {
        Problem {
            unused: self.spec.prepared.free.iter().map(|&k| self.spec.unused[k]).collect(),
            opaque: self.spec.prepared.is_native(),
            free: self.spec.prepared.free.clone(),
            shape: self.source.shape().unwrap_or_else(|| full(self.spec.prepared.free.len())),
            start: self.start.clone(),
            bounds: self.spec.bounds.to_vec(),
            square: self.points.summary.square,
            scatter: self.points.summary.scatter,
            signal: self.points.summary.signal(self.points.estimator == Estimator::Poisson),
            points: self.points.used,
            absolute: self.points.absolute,
            loss: self.spec.loss,
            row_unit: self.points.units.row,
        }
    }

    /// Converts a failure of the solver into the error for the user.
    pub(crate) fn refused(&self, failure: Failure) -> Error {
        match failure {
            Failure::Start(bad) => error_at_start(
                self.model,
                self.spec.names,
                &self.spec.prepared.free,
                &self.start,
                bad,
            ),
            Failure::Overflow => {
                Error::OverflowAtStart { params: NamedValues::new(self.spec.names, &self.start) }
            }
            Failure::Observer(message) => Error::ObserverPanicked { message },
            Failure::Backend(Fault::Device(error)) => self.source.failed(error),
            Failure::Backend(Fault::Points(error)) => error,
            Failure::Backend(Fault::Stopped(_)) => Error::StoppedInFirstPass,
            Failure::Backend(Fault::Panicked { message, point, params }) => {
                let params = NamedValues::new(self.spec.names, &params);
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

/// Returns the error if the model, or a partial with respect to one of the `free` parameters, is invalid at the start.
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

/// Maximum number of free parameters for which a thread keeps the workspace of its last fit. The size of the workspace
/// grows with the square of this number.
const KEPT: usize = 32;

thread_local! {
    static LAST: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

impl Workspace {
    /// Returns the workspace of this thread's last fit if the numbers of parameters agree, otherwise a new workspace.
    /// Therefore consecutive small fits allocate little. A fit within a native model gets a new workspace, because the
    /// outer fit has taken the kept workspace.
    fn of_thread(problem: Problem) -> Box<Workspace> {
        let alike =
            |last: &Problem| last.start.len() == problem.start.len() && last.shape == problem.shape;
        match LAST.take().filter(|last| alike(&last.problem)) {
            Some(mut last) => {
                last.problem = problem;
                last.forget_stages();
                last
            }
            None => Box::new(Workspace::new(problem)),
        }
    }

    /// Keeps the workspace for the next fit of this thread, unless it is large.
    fn keep(self: Box<Workspace>) {
        LAST.set(Some(self).filter(|space| space.problem.free.len() <= KEPT));
    }
}
