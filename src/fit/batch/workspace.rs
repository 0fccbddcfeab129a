//! Computation of one fit of a batch, with the same steps as [`Request`](crate::fit::engine::Request) for a single
//! fit. Consecutive fits reuse the workspace, and errors become statuses.

use super::arrays::BatchPart;
use super::errors::{About, Errors, Out};
use super::request::BatchRequest;
use super::status::FitStatus;
use crate::backend::cpu::Scratch;
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error;
use crate::fit::execution::Execution;
use crate::fit::in_memory::InMemory;
use crate::fit::point_source::{PointSource, View};
use crate::fit::search::Workspace;
use crate::normal::arrow::full;
use crate::solver::outcome::{Failure, Fault};
use crate::solver::task::Problem;
use crate::solver::termination::Termination;
use std::cmp::Ordering;
use std::sync::Mutex;

/// Memory that fits reuse. A fit allocates memory only if its Jacobian is ill-conditioned, if it fails, or if its
/// points must be converted to f64 and are more than the points of any earlier fit.
pub(super) struct FitWorkspace<'a> {
    pub(super) space: Workspace,
    scratch: Mutex<Scratch>,
    columns: Vec<Values<'a>>,
    /// Buffer for samples in f64; `None` if the samples keep their type.
    y: Option<Vec<f64>>,
    errors: Errors,
}

impl<'a> FitWorkspace<'a> {
    pub(super) fn new(request: &BatchRequest<'a>) -> FitWorkspace<'a> {
        let free = &request.spec.prepared.free;
        let problem = Problem {
            unused: free.iter().map(|&k| request.spec.unused[k]).collect(),
            opaque: request.spec.prepared.is_native(),
            free: free.clone(),
            shape: full(free.len()),
            start: vec![0.0; request.spec.names.len()],
            bounds: request.spec.bounds.to_vec(),
            square: 0.0,
            scatter: 0.0,
            signal: f64::INFINITY,
            points: 0,
            absolute: false,
            loss: request.spec.loss,
            row_unit: 1.0,
        };
        FitWorkspace {
            errors: Errors::new(free.len()),
            space: Workspace::new(problem),
            scratch: Mutex::default(),
            columns: Vec::with_capacity(request.data.columns.len()),
            y: Some(Vec::new()),
        }
    }

    /// Creates the workspace of fits whose points are uploaded; their samples keep their type.
    pub(super) fn for_devices(request: &BatchRequest<'a>) -> FitWorkspace<'a> {
        FitWorkspace { y: None, ..FitWorkspace::new(request) }
    }

    /// Runs the fit with index `index` in `out` on the CPU and writes its results there.
    pub(super) fn fit(
        &mut self,
        request: &BatchRequest<'a>,
        index: usize,
        out: &mut BatchPart<'_>,
    ) {
        let made = self.checked(request, out.first + index, |bench, points| {
            let FitWorkspace { space, scratch, errors, .. } = bench;
            let source = InMemory::reusing(points, scratch);
            Ok(searched((space, errors), request, &source, (index, out))?)
        });
        out.statuses[index] = made.unwrap_or_else(|status| status);
    }

    /// As [`fit`](Self::fit), on the devices where `place` puts the points.
    ///
    /// # Errors
    /// The errors of `place`, and the failure of the devices.
    pub(super) fn fit_on(
        &mut self,
        request: &BatchRequest<'a>,
        index: usize,
        out: &mut BatchPart<'_>,
        place: impl FnOnce(&Points<'_>) -> error::Result<Execution>,
    ) -> error::Result<()> {
        let made = self.checked(request, out.first + index, |bench, points| {
            Ok(place(points).and_then(|execution| {
                let source = InMemory::new(points, execution);
                let space = (&mut bench.space, &mut bench.errors);
                match searched(space, request, &source, (index, out)) {
                    Err(Failure::Backend(Fault::Device(error))) => Err(source.failed(error)),
                    Err(Failure::Backend(Fault::Points(error))) => Err(error),
                    Err(failure) => Ok(failure.into()),
                    Ok(status) => Ok(status),
                }
            }))
        });
        out.statuses[index] = match made {
            Ok(searched) => searched?,
            Err(status) => status,
        };
        Ok(())
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
        let result = request.points(fit, &mut columns, y.as_mut()).and_then(|points| {
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
        start.copy_from_slice(request.starts.of(fit, request.spec.names.len()));
        if let Some((lower, upper)) = request.starts.bounds_of(fit, request.spec.names.len()) {
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
        let rows = points.used + request.spec.priors.len();
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

    /// Analyses the result of a fit that the SIMD code stored in the workspace, and writes it. A pass over the points
    /// is made only if the analysis needs it.
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
                let start = request.starts.of(fit, request.spec.names.len());
                let source = InMemory::reusing(points, scratch);
                let search = request.search_request(&source, fit);
                let view = View::of(request.spec.loss, start);
                let mut points = space.evaluator(&search, &view)?;
                space.verify(&search, &mut *points)?;
                Ok(space.analyse(&mut *points)?)
            })?;
        }
        Ok(write(&self.space, &mut self.errors, index, out))
    }
}

/// Searches from the start in the workspace, and writes the results to `out`, at `index`. Returns the status of the fit;
/// a stopped fit has not been run.
fn searched(
    (space, errors): (&mut Workspace, &mut Errors),
    request: &BatchRequest<'_>,
    source: &dyn PointSource,
    (index, out): (usize, &mut BatchPart<'_>),
) -> Result<FitStatus, Failure> {
    let search = request.search_request(source, out.first + index);
    let mut points = space.run(&search, request.clock())?;
    if space.outcome().termination == Termination::Stopped {
        return Ok(FitStatus::NotRun);
    }
    space.analyse(&mut *points)?;
    Ok(write(space, errors, index, out))
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
