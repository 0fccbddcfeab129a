//! Batches on devices, chunk by chunk, or fit by fit if few fits have very many points. The host repeats fits that the
//! kernel cannot decide. If all devices fail and the CPU may take over, the host computes the remaining fits.

use super::arrays::BatchPart;
use super::engine::{self, portions};
use super::pipeline::{self, ChunkLimits, FitQueue};
use super::request::BatchRequest;
use super::singly::SingleFits;
use super::status::FitStatus;
use crate::backend::cpu::ITERATION_FLOOR;
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::batch::{
    Batch, BatchCounts, BatchUnits, Counts, FitEnd, Job, KernelRules,
};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::driver::Properties;
use crate::data::batch::Deviations;
use crate::data::loss::Loss;
use crate::error::{Error, Result};
use crate::fit::placement::{failed, not_loaded, taken_over};
use crate::fit::retry::may_need_a_long_step;
use crate::fit::verify::checked_weight;
use crate::observe::span;
use crate::solver::bounds::Side;
use crate::solver::levels::has_heavy;
use crate::solver::observe::{BatchProgress, Event, wants_to_stop};
use crate::solver::termination::Termination;
use crate::threads;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::{Builder, scope};

/// Maximum size of a chunk in bytes. Chunks of this size keep a device busy. The upload of the first chunk, which no
/// kernel hides, takes 1 to 2 ms.
const CHUNK: usize = 64 << 20;
/// Maximum size of a chunk in bytes if the batch has an observer or a cancellation token.
const WATCHED: usize = 16 << 20;
/// Number of fits whose results a thread completes at a time, in about a tenth of a millisecond.
const TAKEN: usize = 2048;
/// Returns the minimum tolerances in f32: of the cost, of the step, and of the step relative to the standard errors.
/// Normally the last tolerance ends a fit. The remaining step is then made without an evaluation, because the change of
/// the cost would be rounding error. Robust losses converge more slowly.
fn rough(loss: Loss) -> [f64; 3] {
    [1e-7, 1e-6, if loss == Loss::Linear { 1e-2 } else { 2e-3 }]
}

/// Maximum expected duration of a launch, in seconds. A longer launch gains nothing.
const SECONDS: f64 = 0.5;
/// Maximum expected duration with an observer or token, or if the system ends long kernels, in seconds. Windows ends
/// kernels after 2 s, and fits may take 10x their estimate.
const SECONDS_WATCHED: f64 = 0.1;

/// Returns the maximum expected duration of a launch, in seconds.
pub(super) fn most_seconds(request: &BatchRequest<'_>, device: &Properties) -> f64 {
    if request.is_watched() || device.has_time_limit { SECONDS_WATCHED } else { SECONDS }
}

/// Devices that compute a batch, and their kernels.
pub(crate) struct BatchOnDevice<'a> {
    /// Resident data, if the device holds them.
    pub(crate) resident: Option<&'a Resident>,
    /// At least one device, each with the maximum number of fits per launch.
    pub(crate) devices: Vec<(Arc<Device>, usize)>,
    pub(crate) units: Arc<BatchUnits>,
    /// If set, the fits run one by one, each by passes of the whole device.
    pub(crate) singly: Option<SingleFits>,
    /// True if covariance matrices are kept.
    pub(crate) covariances: bool,
    /// If true, the CPU computes the remaining fits after all devices fail.
    pub(crate) take_over: bool,
}

/// Report of a batch on devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct DeviceRun {
    /// Number of chunks: one per launch, or one per fit if the fits run one by one.
    pub(crate) chunks: usize,
    /// Number of fits that devices left to the host.
    pub(crate) by_host: usize,
    /// Messages about failed devices whose fits other devices computed.
    #[cfg_attr(feature = "json", serde(default))]
    pub(crate) moved: Vec<String>,
    /// Reason why the CPU computed the remaining fits.
    pub(crate) failed: Option<String>,
}

impl DeviceRun {
    pub(super) fn followed_by(mut self, more: DeviceRun) -> DeviceRun {
        self.moved.extend(more.moved);
        DeviceRun {
            chunks: self.chunks + more.chunks,
            by_host: self.by_host + more.by_host,
            failed: self.failed.or(more.failed),
            moved: self.moved,
        }
    }
}

/// Returns the settings for the kernel.
pub(super) fn job<'a>(request: &BatchRequest<'a>, covariances: bool) -> Job<'a> {
    let options = request.spec.options;
    let free = &request.spec.prepared.free;
    Job {
        data: request.data,
        starts: request.starts,
        bounds: request.spec.bounds,
        free,
        unused: &request.spec.unused,
        loss: request.spec.loss,
        estimator: request.spec.estimator,
        precision: request.precision,
        rules: KernelRules {
            ftol: options.ftol,
            xtol: options.xtol,
            gtol: options.gtol,
            etol: options.etol,
            initial_radius: options.initial_radius,
            evaluations: request.first_options.evaluations(free.len()),
            floor: ITERATION_FLOOR,
            rough: rough(request.spec.loss),
        },
        clamp_start: request.clamp_start,
        underdetermined: request.underdetermined,
        covariances,
    }
}

/// Computes all fits of `out`.
///
/// # Errors
/// [`Error::ObserverPanicked`] and, unless the CPU may take over, the error of the last device that fails.
pub(crate) fn run(
    request: &BatchRequest<'_>,
    on: &BatchOnDevice<'_>,
    out: BatchPart<'_>,
) -> Result<DeviceRun> {
    let mut host = Host {
        request,
        finished: out.first,
        course: DeviceRun::default(),
        stopped: out.len() == 0,
    };
    let queue = FitQueue::new(out);
    let mut working: Vec<usize> = (0..on.devices.len()).collect();
    while !(host.stopped || request.spec.is_cancelled() || queue.is_empty()) {
        for (device, error) in round(&working, on, &queue, &mut host)? {
            working.retain(|&other| other != device);
            if !working.is_empty() {
                let (failed, _) = &on.devices[device];
                host.course.moved.push(taken_over(failed, &error.to_string()));
            } else if on.take_over {
                host.course.failed = Some(error.to_string());
            } else {
                return Err(error);
            }
        }
        if working.is_empty() {
            break;
        }
    }
    if host.course.failed.is_some() {
        queue.into_rest().into_iter().try_for_each(|rest| host.take_over(rest))?;
    }
    Ok(host.course)
}

/// Computes fits of the queue on these devices until the queue is empty or all devices have failed. Returns the
/// failed devices with their errors.
///
/// # Errors
/// Returns the errors of [`Host::take`].
fn round<'b>(
    working: &[usize],
    on: &BatchOnDevice<'_>,
    queue: &FitQueue<'b>,
    host: &mut Host<'_>,
) -> Result<Vec<(usize, Error)>> {
    let request = host.request;
    if let [device] = *working {
        let mut said = Ok(());
        let made = make(request, (on, device), queue, |part| {
            said = host.take(part);
            said.is_ok() && !host.stopped
        });
        return said.map(|()| made.err().map(|error| (device, error)).into_iter().collect());
    }
    scope(|scope| {
        let (sender, made) = sync_channel(working.len());
        let (running, all_ended) = channel::<()>();
        let threads = working.iter().filter_map(|&device| {
            let (sender, running) = (sender.clone(), running.clone());
            let work = move || {
                let hand_over = |part| sender.send(part).is_ok();
                let ended = make(request, (on, device), queue, hand_over);
                drop(running);
                ended.map_err(|error| (device, error))
            };
            Builder::new().spawn_scoped(scope, work).ok()
        });
        let threads: Vec<_> = threads.collect();
        drop((sender, running));
        if threads.is_empty() {
            return round(&working[..1], on, queue, host);
        }
        let said = host.take_all(made);
        // Until they end, the threads may need the pool, to which this thread may belong.
        let _ = threads::receive(&all_ended);
        let ended =
            threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let failed = ended.filter_map(std::result::Result::err).collect();
        said.map(|()| failed)
    })
}

/// Computes fits of the queue on a device. `hand_over` receives the fits of each chunk with their results, and returns
/// false to stop.
fn make<'b>(
    request: &BatchRequest<'_>,
    (on, device): (&BatchOnDevice<'_>, usize),
    queue: &FitQueue<'b>,
    mut hand_over: impl FnMut(BatchPart<'b>) -> bool,
) -> Result<()> {
    let (device, fits) = &on.devices[device];
    if let Some(singly) = &on.singly {
        return singly.run(request, device, queue, hand_over);
    }
    let job = job(request, on.covariances);
    let batch = Batch::new(device, &on.units, job, on.resident);
    let batch = batch.map_err(|error| not_loaded(device, error))?;
    let bytes = if request.is_watched() { WATCHED } else { CHUNK };
    let completion = Completion::new(request);
    let mut take = |mut part: BatchPart<'b>, counts: &BatchCounts| {
        completion.complete(counts, &mut part);
        hand_over(part) && !request.spec.is_cancelled()
    };
    let limits = ChunkLimits { bytes, fits: *fits };
    let done = pipeline::run(&batch, &*device.driver, queue, limits, &mut take);
    done.map_err(|error| failed(device, error))
}

/// Work of the host for the devices.
struct Host<'r> {
    request: &'r BatchRequest<'r>,
    /// Number of completed fits of the batch, including fits before this part.
    finished: usize,
    course: DeviceRun,
    /// True if the batch is stopped.
    stopped: bool,
}

impl Host<'_> {
    /// Takes over the fits of a chunk: computes those that the device left, and calls the observer.
    fn take(&mut self, part: BatchPart<'_>) -> Result<()> {
        let request = self.request;
        let _span = span!(DEBUG, "portion", first = part.first);
        self.course.chunks += 1;
        self.finished += part.len();
        let left = part.statuses.iter().filter(|&&s| s == FitStatus::NotRun).count();
        if left > 0 {
            self.course.by_host += left;
            engine::run(&BatchRequest { observer: None, ..*request }, part)?;
        }
        self.stopped = tells_to_stop(request, self.finished)? || request.spec.is_cancelled();
        Ok(())
    }

    /// Takes over the chunks of several devices in the order in which they arrive.
    fn take_all(&mut self, made: Receiver<BatchPart<'_>>) -> Result<()> {
        while let Some(part) = threads::receive(&made) {
            self.take(part)?;
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Computes the remaining fits on the CPU after all devices have failed.
    fn take_over(&mut self, rest: BatchPart<'_>) -> Result<()> {
        let (finished, fits) = (self.finished, rest.len());
        self.course.by_host += fits;
        self.finished += fits;
        engine::run_after(self.request, finished, rest)
    }
}

/// Maximum distance from a bound at which a parameter counts as next to the bound, as a fraction of its standard error.
const BESIDE: f64 = 1e-6;

/// Completion of fits whose numbers a device has written to their arrays.
struct Completion<'r> {
    request: &'r BatchRequest<'r>,
    /// Number of free parameters that the model uses.
    used: usize,
    /// True if the standard deviations that all fits share are too different for the device.
    heavy: bool,
}

impl<'r> Completion<'r> {
    fn new(request: &'r BatchRequest<'r>) -> Completion<'r> {
        let free = &request.spec.prepared.free;
        let heavy = match request.data.deviations() {
            Deviations::OfPoint(sigma) => has_heavy(sigma, free.len()),
            _ => false,
        };
        let used = free.iter().filter(|&&k| !request.spec.unused[k]).count();
        Completion { request, used, heavy }
    }

    /// Stores counts and statuses of the fits of a chunk. Fits without a result, and fits that the host must compute,
    /// have NaN again.
    fn complete(&self, counts: &BatchCounts, part: &mut BatchPart<'_>) {
        let first = part.first;
        threads::map(portions(part.reborrow(), TAKEN), |mut some| {
            let from = some.first - first;
            for index in 0..some.len() {
                if !self.complete_fit(counts.of(from + index), index, &mut some) {
                    some.forget(index..index + 1);
                }
            }
        });
    }

    /// Stores counts and status of the `index`-th fit. Returns false if the numbers of the device are not its result.
    fn complete_fit(&self, counts: Counts, index: usize, out: &mut BatchPart<'_>) -> bool {
        let request = self.request;
        let termination = match counts.kind {
            FitEnd::ForTheHost => return false,
            FitEnd::BadData(point) => {
                out.statuses[index] = FitStatus::BadData { point };
                return false;
            }
            FitEnd::Ended(termination) => termination,
        };
        if self.is_for_the_host(termination, counts, (index, out)) {
            return false;
        }
        let row = index * out.width..(index + 1) * out.width;
        let Counts { iterations, evaluations, points, rank, held, .. } = counts;
        out.iterations[index] = iterations;
        out.evaluations[index] = evaluations;
        out.points[index] = points;
        if request.spec.loss == Loss::Linear {
            out.weights[index] = points as f64;
        }
        out.ranks[index] = rank;
        if !out.sides.is_empty() {
            for (j, &k) in request.spec.prepared.free.iter().enumerate() {
                let holds = |side: usize| held[side] >> j & 1 == 1;
                out.sides[row.start + k] = match (holds(0), holds(1)) {
                    (true, _) => Some(Side::Lower),
                    (_, true) => Some(Side::Upper),
                    _ => None,
                };
            }
        }
        let estimated = request.spec.prepared.free.len() - counts.number_held();
        let counted = (out.weights[index], points);
        let termination = checked_weight(termination, request.spec.loss, counted, estimated);
        let undetermined = out.errors[row].iter().position(|&e| e == f64::INFINITY);
        out.statuses[index] = FitStatus::of(termination, undetermined);
        true
    }

    /// Returns true if the host may change the result of the device by its additional methods: second derivatives, a
    /// check of each point, stepwise limits of the weights. `out`: numbers of the device, at `index`.
    fn is_for_the_host(
        &self,
        termination: Termination,
        counts: Counts,
        (index, out): (usize, &BatchPart<'_>),
    ) -> bool {
        use Termination::{Degenerate, ExactFit, NoProgress};
        let request = self.request;
        let free = request.spec.prepared.free.len();
        let (fit, at, bounded) = (out.first + index, index * out.width, !out.sides.is_empty());
        let open = self.used - counts.number_held();
        // If the columns are linearly dependent although there are enough points, the result may be a saddle.
        let deficient =
            termination.is_converged() && (counts.rank as usize) < open && open <= counts.points;
        let heavy = match request.data.deviations() {
            Deviations::OfSample(sigma) => has_heavy(&sigma[request.data.range(fit)], free),
            _ => self.heavy,
        };
        let beside = |&k: &usize| {
            let (p, near) = (out.params[at + k], BESIDE * out.errors[at + k]);
            let (lower, upper) = match request.starts.bounds_of(fit, out.width) {
                Some((lower, upper)) => (lower[k], upper[k]),
                None => request.spec.bounds[k],
            };
            let beside = |bound: f64| p != bound && (p - bound).abs() <= near;
            near.is_finite() && (beside(lower) || beside(upper))
        };
        // Only the host restarts a fit.
        let has_other_ways = bounded || !request.starts.linear(fit).is_empty();
        let again = !termination.is_converged()
            && (counts.evaluations as usize) < request.spec.options.evaluations(free)
            && (may_need_a_long_step(termination)
                || !request.spec.options.is_limited() && has_other_ways);
        matches!(termination, NoProgress | Degenerate | ExactFit)
            || again
            || heavy
            || deficient
            || bounded && request.spec.prepared.free.iter().any(beside)
    }
}

/// Reports to the observer that `finished` fits are done. Returns true if the observer stops the batch.
fn tells_to_stop(request: &BatchRequest<'_>, finished: usize) -> Result<bool> {
    let Some(observer) = request.observer else { return Ok(false) };
    let elapsed = request.begun.elapsed();
    let progress = BatchProgress { finished, n_fits: request.data.n_fits(), elapsed };
    wants_to_stop(observer, Event::Batch(progress))
        .map_err(|message| Error::ObserverPanicked { message })
}
