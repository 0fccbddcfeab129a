//! One fit of a batch. It has the steps of [`Request`](crate::fit::engine::Request), which makes a single fit. The
//! workspace is reused from fit to fit, and errors become statuses.

use super::arrays::BatchPart;
use super::engine::BatchRequest;
use super::errors::{About, Errors, Out};
use super::status::FitStatus;
use crate::backend::cpu::{Cpu, Scratch};
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::fit::priors::WithPriors;
use crate::fit::search::{PointSource, View, Visit, Workspace};
use crate::normal::arrow::full;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::{Patience, Stopper};
use crate::solver::outcome::Failure;
use crate::solver::task::Problem;
use crate::solver::termination::Termination;
use std::cell::Cell;
use std::cmp::Ordering;

/// Memory that fits reuse, beside their data. A fit allocates memory only if its Jacobian is ill-conditioned, if it
/// fails, or if its points must be converted to f64 and are more than those of all earlier fits.
pub(super) struct FitWorkspace<'a> {
    pub(super) space: Workspace,
    scratch: Cell<Scratch>,
    columns: Vec<Values<'a>>,
    y: Vec<f64>,
    errors: Errors,
}

/// Source of evaluators for the points of one fit. The evaluators reuse the scratch memory of the workspace.
struct OneFit<'p, 'a> {
    request: &'p BatchRequest<'a>,
    points: &'p Points<'p>,
    scratch: &'p Cell<Scratch>,
}

impl PointSource for OneFit<'_, '_> {
    fn with_points(&self, view: View<'_>, work: &mut Visit<'_>) -> Result<(), Failure> {
        let request = self.request;
        let measured = if view.plain { self.points.as_measurements() } else { None };
        let points = measured.as_ref().unwrap_or(self.points);
        let scratch = self.scratch.take();
        let cpu = Cpu::reusing(scratch, request.prepared, points, view.loss, view.start);
        let stopper = request.cancel.map(|token| token as &dyn Stopper);
        let cpu = cpu.within(Patience { until: view.until, stopper });
        let mut cpu = if request.is_wide() { cpu.on_one_thread() } else { cpu };
        let done = match request.priors.is_empty() || view.plain {
            true => work(&mut cpu),
            false => work(&mut WithPriors::new(
                &mut cpu as &mut dyn Evaluator,
                request.priors,
                &request.prepared.free,
                points.units.row,
            )),
        };
        self.scratch.set(cpu.into_scratch());
        done
    }
}

impl<'a> FitWorkspace<'a> {
    pub(super) fn new(request: &BatchRequest<'a>) -> FitWorkspace<'a> {
        let free = &request.prepared.free;
        let problem = Problem {
            unused: free.iter().map(|&k| request.unused[k]).collect(),
            opaque: request.prepared.is_native(),
            free: free.clone(),
            shape: full(free.len()),
            start: vec![0.0; request.names.len()],
            bounds: request.bounds.to_vec(),
            square: 0.0,
            scatter: 0.0,
            signal: f64::INFINITY,
            points: 0,
            absolute: false,
            loss: request.loss,
            row_unit: 1.0,
        };
        FitWorkspace {
            errors: Errors::new(free.len()),
            space: Workspace::new(problem),
            scratch: Cell::default(),
            columns: Vec::with_capacity(request.data.columns.len()),
            y: Vec::new(),
        }
    }

    /// Runs the fit with index `index` in `out` and writes its results there.
    pub(super) fn fit(
        &mut self,
        request: &BatchRequest<'a>,
        index: usize,
        out: &mut BatchPart<'_>,
    ) {
        let fit = out.first + index;
        let made = self.checked(request, fit, |bench, points| {
            let FitWorkspace { space, scratch, errors, .. } = bench;
            let source = OneFit { request, points, scratch };
            let (rules, mut status) = (request.rules(fit), FitStatus::NotRun);
            space.run(&rules, &source, request.clock(), &mut |space, cpu| {
                if space.outcome().termination != Termination::Stopped {
                    space.analyse(cpu)?;
                    status = write(space, errors, index, out);
                }
                Ok(())
            })?;
            Ok(status)
        });
        out.statuses[index] = made.unwrap_or_else(|status| status);
    }

    /// Checks the start, the bounds and the points of a fit, stores their properties in the workspace, and calls `work`
    /// with the points.
    pub(super) fn checked<R>(
        &mut self,
        request: &BatchRequest<'a>,
        fit: usize,
        work: impl FnOnce(&mut Self, &Points<'_>) -> Result<R, FitStatus>,
    ) -> Result<R, FitStatus> {
        self.begin(request, fit)?;
        let mut columns = std::mem::take(&mut self.columns);
        let mut y = std::mem::take(&mut self.y);
        let result = request.points(fit, &mut columns, &mut y).and_then(|points| {
            self.set_points(request, &points)?;
            work(self, &points)
        });
        (self.columns, self.y) = (columns, y);
        result
    }

    /// Checks and stores the start and the bounds of a fit. A start outside of the bounds is an error, unless the
    /// request moves starts to the nearest bound.
    fn begin(&mut self, request: &BatchRequest<'_>, fit: usize) -> Result<(), FitStatus> {
        let Problem { free, start, bounds, .. } = &mut self.space.problem;
        start.copy_from_slice(request.starts.of(fit, request.names.len()));
        if let Some((lower, upper)) = request.starts.bounds_of(fit, request.names.len()) {
            for &parameter in &*free {
                let (low, high) = (lower[parameter], upper[parameter]);
                // A comparison with NaN fails, too.
                if low.partial_cmp(&high) != Some(Ordering::Less) {
                    return Err(FitStatus::BadBounds { parameter });
                }
                bounds[parameter] = (low, high);
            }
        }
        for (parameter, value) in start.iter_mut().enumerate() {
            let (lower, upper) = bounds[parameter];
            let inside = (lower..=upper).contains(value);
            if !value.is_finite() || !(inside || request.clamp_start) {
                return Err(FitStatus::BadStart { parameter });
            }
            *value = value.clamp(lower, upper);
        }
        Ok(())
    }

    /// Sets the properties of the problem that depend on the points.
    fn set_points(
        &mut self,
        request: &BatchRequest<'_>,
        points: &Points<'_>,
    ) -> Result<(), FitStatus> {
        let problem = &mut self.space.problem;
        let rows = points.used + request.priors.len();
        if rows < problem.free.len() && !request.underdetermined {
            return Err(FitStatus::TooFewPoints { points: points.used });
        }
        problem.square = points.summary.square;
        problem.scatter = points.summary.scatter;
        problem.signal = points.summary.signal(points.estimator == Estimator::Poisson);
        problem.points = points.used;
        problem.absolute = points.is_absolute();
        problem.row_unit = points.units.row;
        Ok(())
    }

    /// Analyses the result of a fit that the SIMD code computed and left in the workspace, and writes it. A pass over
    /// the points is made only if the analysis needs it.
    pub(super) fn write_end(
        &mut self,
        request: &BatchRequest<'a>,
        index: usize,
        out: &mut BatchPart<'_>,
    ) -> Result<FitStatus, FitStatus> {
        if !self.space.analyse_without_points() {
            let fit = out.first + index;
            self.checked(request, fit, |bench, points| {
                let FitWorkspace { space, scratch, .. } = bench;
                let rules = request.rules(fit);
                let view = View::of(request.loss, request.starts.of(fit, request.names.len()));
                OneFit { request, points, scratch }.with_points(view, &mut |cpu| {
                    space.judge(&rules, cpu)?;
                    space.analyse(cpu)
                })?;
                Ok(())
            })?;
        }
        Ok(write(&self.space, &mut self.errors, index, out))
    }
}

/// Writes all results of a fit to the arrays of the batch, and returns its status.
fn write(
    space: &Workspace,
    errors: &mut Errors,
    index: usize,
    out: &mut BatchPart<'_>,
) -> FitStatus {
    let width = out.width;
    let row = index * width..(index + 1) * width;
    let (problem, outcome, end) = (&space.problem, space.outcome(), &space.end);
    if !out.sides.is_empty() {
        problem.free.iter().zip(&end.sides).for_each(|(&k, &side)| out.sides[row.start + k] = side);
    }
    let unit = problem.row_unit;
    let row_error = space.row_error();
    let about = About {
        free: &problem.free,
        estimated: &end.estimated,
        columns: &outcome.columns,
        points: problem.points,
        row_error: &row_error,
        sharpened: end.sharpened.as_ref(),
    };
    let square = width * width;
    let covariance = match out.covariances.is_empty() {
        true => &mut [][..],
        false => &mut out.covariances[index * square..(index + 1) * square],
    };
    let written = Out { errors: &mut out.errors[row.clone()], covariance };
    let rank = errors.compute(&end.factor, &about, written);
    out.params[row.clone()].copy_from_slice(&outcome.params);
    out.costs[index] = outcome.cost / unit / unit;
    out.iterations[index] = saturating(outcome.work.iterations);
    out.evaluations[index] = saturating(outcome.work.evaluations);
    out.points[index] = problem.points;
    out.ranks[index] = saturating(rank);
    out.weights[index] = end.weight;
    let undetermined = out.errors[row].iter().position(|&e| e == f64::INFINITY);
    FitStatus::of(outcome.termination, undetermined)
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
