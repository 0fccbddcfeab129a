//! Choice of the backend of a batch: the CPU, or a device if it is required or likely to be faster.

use super::device::{BatchOnDevice, job, most_seconds};
use super::request::BatchRequest;
use super::singly::SingleFits;
use crate::backend::choice::{BatchSize, Workload};
use crate::backend::cuda::batch::unit::MOST_PARAMETERS;
use crate::backend::cuda::batch::{BatchUnits, bytes_per_sample};
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::backend::cuda::device::Device;
use crate::data::batch::BatchData;
use crate::error::Result;
use crate::fit::placement::{
    Estimate, Obstacle, Placement, PlacementRequest, Uploaded, kernels_of, on_threads,
};
use std::sync::Arc;

/// Chooses the backend of a batch, with the reason. `covariances`: true if covariance matrices are kept.
///
/// # Errors
/// The errors of [`Placement::choose`].
pub(crate) fn place<'a>(
    wanted: &PlacementRequest<'a>,
    covariances: bool,
    printed: Option<&Arc<CompiledModel>>,
    request: &BatchRequest<'_>,
) -> Result<Placement<BatchOnDevice<'a>>> {
    let free = request.spec.prepared.free.len();
    let kernels = kernels_of(printed, free, request.data.x_sigma.is_exact());
    let kernels = kernels.and_then(|printed| match obstacle(request) {
        Some(obstacle) => Err(obstacle),
        None => Ok((printed, BatchUnits::new(&job(request, covariances), printed).ok_or(NO_ROOM)?)),
    });
    let resident = match wanted.uploaded() {
        Uploaded::Batch(resident) => Some(resident),
        _ => None,
    };
    let kernels = kernels.map(|(printed, units)| Kernels {
        work: work(printed, request, resident.is_some()),
        size: size(request),
        units: Arc::new(units),
        singly: SingleFits { costs: wanted.costs, printed: printed.clone() },
    });
    let costs = wanted.costs;
    let estimate = |Kernels { work, size, units, singly }: Kernels| {
        let is_singly =
            move |device: &Device| costs.is_better_singly(&work, size, device.properties());
        Estimate {
            on_cpu: on_threads(|threads| costs.batch_on_cpu(&work, size, threads)),
            compile: costs.batch_compile_seconds(),
            is_loaded: Box::new(move |device| match is_singly(device) {
                true => singly.are_loaded(request, device),
                false => units.are_loaded(device),
            }),
            on_devices: Box::new(move |device, devices| {
                let share = Workload { points: work.points.div_ceil(devices), ..work };
                let of_share = BatchSize { fits: size.fits.div_ceil(devices), ..size };
                match is_singly(device) {
                    true => costs.singly_on_device(&share, of_share, device.properties()),
                    false => costs.batch_on_device(&share, of_share, device.properties()),
                }
            }),
            most_devices: size.fits,
        }
    };
    let prepare = |kernels: Kernels, devices: Vec<Arc<Device>>, take_over: bool| {
        let Kernels { work, size, units, singly } = kernels;
        let is_singly =
            |device: &Arc<Device>| costs.is_better_singly(&work, size, device.properties());
        let singly = devices.iter().any(is_singly).then_some(singly);
        let most = if resident.is_some() { MOST_RESIDENT } else { MOST_UPLOADED };
        let share = match devices.len() {
            1 => most,
            several => size.fits.div_ceil(CHUNKS * several).min(most),
        };
        let with_fits = |device: Arc<Device>| {
            let seconds = most_seconds(request, device.properties());
            let fits = costs.fits_of_launch(&work, size, device.properties(), seconds);
            (device, fits.min(share))
        };
        let devices = devices.into_iter().map(with_fits).collect();
        Ok(BatchOnDevice { resident, devices, units, singly, covariances, take_over })
    };
    let mut placement = Placement::choose(wanted, kernels, estimate, prepare)?;
    if placement.device.as_ref().is_some_and(|on| on.singly.is_some()) {
        placement.reason.to_mut().push_str(SINGLY);
    }
    Ok(placement)
}

/// The work and the size of a batch, and its kernels: those of batches, and those of single fits.
#[derive(Clone)]
struct Kernels {
    work: Workload,
    size: BatchSize,
    units: Arc<BatchUnits>,
    singly: SingleFits,
}

/// Addition to the reason if the fits run one by one.
const SINGLY: &str = "; each fit, of very many points, ran alone on a device";

/// Maximum number of fits of a chunk of resident data. A large card computes about 12,700 fits in parallel, and is
/// partly idle while the last of a launch end: an estimated 10 % of the time of 50,000 fits, 2 % of that of 250,000.
/// The host completes the results of a chunk while the card computes the next one. With the covariances of many
/// parameters, the limit of a chunk in bytes is smaller.
const MOST_RESIDENT: usize = 250_000;
/// The same for data that are uploaded. Uploads take longer than the kernel, and begin and end with less delay if chunks
/// are small.
const MOST_UPLOADED: usize = 50_000;
/// Minimum number of chunks for each of several devices, so that devices wait only briefly for the last chunk.
const CHUNKS: usize = 6;
const CPU: &str = "use Backend::Auto or Backend::Cpu";
const NO_ROOM: Obstacle =
    Obstacle::Refused("a batch of fits too large for a block's shared memory", CPU);

/// Returns the feature of the request that the kernels do not support, if any.
fn obstacle(request: &BatchRequest<'_>) -> Option<Obstacle> {
    let data = request.data;
    if data.n_fits() == 0 {
        return Some(Obstacle::Idle("there are no fits"));
    }
    let what = if !request.spec.priors.is_empty() {
        "a batch with priors"
    } else if request.spec.prepared.free.len() > MOST_PARAMETERS {
        "a batch with more than 16 free parameters"
    } else if request.spec.options.max_time.is_some() {
        "a batch with a limit of time"
    } else if longest(data) > u32::MAX as usize {
        "a batch with more than 4,294,967,295 points in a fit"
    } else {
        return None;
    };
    Some(Obstacle::Refused(what, CPU))
}

/// Returns the work of a batch. `uploaded`: true if the data are already on the device.
fn work(printed: &CompiledModel, request: &BatchRequest<'_>, uploaded: bool) -> Workload {
    Workload {
        points: request.data.samples.len(),
        bytes_per_point: bytes_per_sample(request.data),
        units: printed.units,
        uploaded,
    }
}

/// Returns the size of a batch.
fn size(request: &BatchRequest<'_>) -> BatchSize {
    BatchSize {
        fits: request.data.n_fits(),
        free: request.spec.prepared.free.len(),
        longest: longest(request.data),
    }
}

/// Returns the number of points of the longest fit.
fn longest(data: &BatchData<'_>) -> usize {
    let of_fits = || (0..data.n_fits()).map(|fit| data.range(fit).len()).max();
    data.equal().or_else(of_fits).unwrap_or(0)
}
