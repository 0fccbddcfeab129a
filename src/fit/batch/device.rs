//! A batch on a device, chunk by chunk, with the host at hand: for fits that the kernel cannot decide, and for all that
//! are left where the device fails and may be done without.

use super::arrays::BatchPart;
use super::engine::{self, BatchRequest};
use super::pipeline::Pipeline;
use super::status::FitStatus;
use crate::backend::cpu::ITERATION_FLOOR;
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::batch::{
    Batch, BatchNumbers, BatchUnits, Counts, FitEnd, Job, KernelRules,
};
use crate::backend::cuda::device::{Device, LoadError};
use crate::backend::cuda::driver::Properties;
use crate::data::batch::Deviations;
use crate::data::loss::Loss;
use crate::error::{Error, Result};
use crate::fit::approach::judged;
use crate::fit::placement::{failed, not_loaded};
use crate::observe::span;
use crate::solver::bounds::Side;
use crate::solver::levels::has_heavy;
use crate::solver::observe::{BatchProgress, Event, wants_to_stop};
use crate::solver::termination::Termination;
use std::sync::Arc;

/// Bytes of a chunk at most: beyond this a device is busy long enough. The first upload overlaps with nothing,
/// and takes the bus a millisecond or two.
const CHUNK: usize = 64 << 20;
/// The same where an observer wants to hear of the fits, or a token may be cancelled.
const WATCHED: usize = 16 << 20;
/// Least tolerances in f32 of the cost, of the step, and of the step beside the standard errors. The last is where
/// a fit should end: the step that is left is taken without an evaluation, whose cost would be rounding. Robust
/// losses converge more slowly.
fn rough(loss: Loss) -> [f64; 3] {
    [1e-7, 1e-6, if loss == Loss::Linear { 1e-2 } else { 2e-3 }]
}

/// Seconds that a launch is expected to take at most: a longer one gains nothing, and nobody is heard meanwhile.
const SECONDS: f64 = 0.5;
/// The same where somebody is to be heard, or the system ends kernels: after 2 s on Windows, and fits may well take
/// ten times what is expected of them.
const SECONDS_WATCHED: f64 = 0.1;

/// Seconds that a launch is expected to take at most.
pub(super) fn most_seconds(request: &BatchRequest<'_>, device: &Properties) -> f64 {
    if request.is_watched() || device.has_time_limit { SECONDS_WATCHED } else { SECONDS }
}

/// A device that is to make a batch, and its kernels.
pub(crate) struct BatchOnDevice<'a> {
    /// The data, if they are on it.
    pub(crate) resident: Option<&'a Resident>,
    pub(crate) device: Arc<Device>,
    pub(crate) units: Arc<BatchUnits>,
    /// Fits of a launch at most.
    pub(crate) fits: usize,
    /// Whether the CPU goes on if the device fails.
    pub(crate) take_over: bool,
}

/// How a batch went on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct DeviceRun {
    /// Launches, each for a chunk of the fits.
    pub(crate) chunks: usize,
    /// Fits that the device left to the host.
    pub(crate) by_host: usize,
    /// Why the CPU had to make the rest.
    pub(crate) failed: Option<String>,
}

impl DeviceRun {
    pub(super) fn followed_by(self, more: DeviceRun) -> DeviceRun {
        DeviceRun {
            chunks: self.chunks + more.chunks,
            by_host: self.by_host + more.by_host,
            failed: self.failed.or(more.failed),
        }
    }
}

/// What the kernel is told.
pub(super) fn job<'a>(request: &BatchRequest<'a>, covariances: bool) -> Job<'a> {
    let options = request.options;
    let free = &request.prepared.free;
    Job {
        data: request.data,
        starts: request.starts,
        bounds: request.bounds,
        free,
        unused: request.unused,
        loss: request.loss,
        estimator: request.estimator,
        precision: request.precision,
        rules: KernelRules {
            ftol: options.ftol,
            xtol: options.xtol,
            gtol: options.gtol,
            etol: options.etol,
            initial_radius: options.initial_radius,
            evaluations: options.evaluations(free.len()),
            floor: ITERATION_FLOOR,
            rough: rough(request.loss),
        },
        clamp_start: request.clamp_start,
        underdetermined: request.underdetermined,
        covariances,
    }
}

/// Makes all fits of `out`.
///
/// # Errors
/// [`Error::ObserverPanicked`] and, unless the CPU may take over, what the device refused.
pub(crate) fn run(
    request: &BatchRequest<'_>,
    on: &BatchOnDevice<'_>,
    out: BatchPart<'_>,
) -> Result<DeviceRun> {
    let mut course = DeviceRun::default();
    if out.len() == 0 {
        return Ok(course);
    }
    let job = job(request, !out.covariances.is_empty());
    match Batch::new(&on.device, &on.units, job, on.resident) {
        Ok(batch) => run_chunks(request, on, &batch, out, &mut course)?,
        Err(error) if on.take_over => take_over(request, out, said(error), &mut course)?,
        Err(error) => return Err(not_loaded(&on.device, error)),
    }
    Ok(course)
}

fn said(error: LoadError) -> String {
    match error {
        LoadError::Driver(error) => error.to_string(),
        LoadError::Compile { .. } => "its kernel does not compile".into(),
    }
}

/// The CPU makes the rest.
fn take_over(
    request: &BatchRequest<'_>,
    rest: BatchPart<'_>,
    failed: String,
    course: &mut DeviceRun,
) -> Result<()> {
    course.by_host += rest.len();
    course.failed = Some(failed);
    engine::run(request, rest)
}

fn run_chunks(
    request: &BatchRequest<'_>,
    on: &BatchOnDevice<'_>,
    batch: &Batch<'_>,
    mut rest: BatchPart<'_>,
    course: &mut DeviceRun,
) -> Result<()> {
    let mut found = BatchNumbers::default();
    let bytes = if request.is_watched() { WATCHED } else { CHUNK };
    let end = rest.first + rest.len();
    let mut pipeline = Pipeline::new(batch, &*on.device.driver, end, bytes, on.fits);
    while rest.len() > 0 && !request.is_cancelled() {
        let _span = span!(DEBUG, "portion", first = rest.first);
        let range = match pipeline.next(rest.first, &mut found) {
            Ok(range) => range,
            Err(error) if on.take_over => {
                return take_over(request, rest, error.to_string(), course);
            }
            Err(error) => return Err(failed(&on.device, error)),
        };
        let (mut part, tail) = rest.split(range.len());
        rest = tail;
        course.chunks += 1;
        for index in 0..part.len() {
            take(request, &found, index, &mut part);
        }
        course.by_host += part.statuses.iter().filter(|&&s| s == FitStatus::NotRun).count();
        engine::run(&BatchRequest { observer: None, ..*request }, part)?;
        if tells_to_stop(request, range.end)? {
            break;
        }
    }
    Ok(())
}

/// Takes what the device found of the `index`-th fit of `out`, if it made it.
fn take(request: &BatchRequest<'_>, found: &BatchNumbers, index: usize, out: &mut BatchPart<'_>) {
    let counts = found.counts(index);
    let termination = match counts.kind {
        FitEnd::ForTheHost => return,
        FitEnd::BadData(point) => {
            out.statuses[index] = FitStatus::BadData { point };
            return;
        }
        FitEnd::Ended(termination) => termination,
    };
    let width = out.width;
    let fit = (out.first + index, !out.sides.is_empty());
    if is_for_the_host(request, termination, (found, index), fit) {
        return;
    }
    let row = index * width..(index + 1) * width;
    out.params[row.clone()].copy_from_slice(&found.params[row.clone()]);
    out.errors[row.clone()].copy_from_slice(&found.errors[row.clone()]);
    out.costs[index] = found.costs[index];
    if !out.covariances.is_empty() {
        let square = row.start * width..row.end * width;
        out.covariances[square.clone()].copy_from_slice(&found.covariances[square]);
    }
    let Counts { iterations, evaluations, points, rank, held, weight, .. } = counts;
    out.iterations[index] = iterations;
    out.evaluations[index] = evaluations;
    out.points[index] = points;
    let weight = if request.loss == Loss::Linear { points as f64 } else { weight };
    out.weights[index] = weight;
    out.ranks[index] = rank;
    if !out.sides.is_empty() {
        for (j, &k) in request.prepared.free.iter().enumerate() {
            let holds = |side: usize| held[side] >> j & 1 == 1;
            out.sides[row.start + k] = match (holds(0), holds(1)) {
                (true, _) => Some(Side::Lower),
                (_, true) => Some(Side::Upper),
                _ => None,
            };
        }
    }
    let estimated = request.prepared.free.len() - counts.number_held();
    let termination = judged(termination, request.loss, (weight, points), estimated);
    let undetermined = out.errors[row].iter().position(|&e| e == f64::INFINITY);
    out.statuses[index] = FitStatus::of(termination, undetermined);
}

/// A parameter is beside a bound that is nearer than this part of its error.
const BESIDE: f64 = 1e-6;

/// Whether what the device found may be decided otherwise by what only the host has: second derivatives, a look
/// at each point, levels of weights.
fn is_for_the_host(
    request: &BatchRequest<'_>,
    termination: Termination,
    (found, index): (&BatchNumbers, usize),
    (fit, bounded): (usize, bool),
) -> bool {
    use Termination::{Degenerate, ExactFit, NoProgress};
    let free = request.prepared.free.len();
    let at = index * request.names.len();
    let counts = found.counts(index);
    let unused = request.prepared.free.iter().filter(|&&k| request.unused[k]).count();
    let open = free - unused - counts.number_held();
    // Where the columns of enough points depend on each other, the end may be a saddle.
    let deficient =
        termination.is_converged() && (counts.rank as usize) < open && open <= counts.points;
    let heavy = match request.data.deviations() {
        Deviations::OfSample(sigma) => has_heavy(&sigma[request.data.range(fit)], free),
        Deviations::OfPoint(sigma) => has_heavy(sigma, free),
        _ => false,
    };
    let beside = |&k: &usize| {
        let (p, near) = (found.params[at + k], BESIDE * found.errors[at + k]);
        let (lower, upper) = match request.starts.bounds_of(fit, request.names.len()) {
            Some((lower, upper)) => (lower[k], upper[k]),
            None => request.bounds[k],
        };
        let beside = |bound: f64| p != bound && (p - bound).abs() <= near;
        near.is_finite() && (beside(lower) || beside(upper))
    };
    // A restart, which only the host makes.
    let again = !termination.is_converged()
        && !request.options.is_limited()
        && (bounded || !request.starts.linear(fit).is_empty());
    matches!(termination, NoProgress | Degenerate | ExactFit)
        || again
        || heavy
        || deficient
        || request.prepared.free.iter().any(beside)
}

/// Tells the observer that all fits before `finished` are done.
fn tells_to_stop(request: &BatchRequest<'_>, finished: usize) -> Result<bool> {
    let Some(observer) = request.observer else { return Ok(false) };
    let elapsed = request.begun.elapsed();
    let progress = BatchProgress { finished, n_fits: request.data.n_fits(), elapsed };
    wants_to_stop(observer, Event::Batch(progress))
        .map_err(|message| Error::ObserverPanicked { message })
}
