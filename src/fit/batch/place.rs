//! Choice of the backend of a batch: the CPU, or a device if it is required or likely to be faster.

use super::device::{BatchOnDevice, job, most_seconds};
use super::request::BatchRequest;
use crate::backend::choice::Workload;
use crate::backend::cuda::batch::unit::MOST_PARAMETERS;
use crate::backend::cuda::batch::{BatchUnits, bytes_per_sample};
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::backend::cuda::device::Device;
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
    printed: Option<&CompiledModel>,
    request: &BatchRequest<'_>,
) -> Result<Placement<BatchOnDevice<'a>>> {
    let free = request.spec.prepared.free.len();
    let kernels = kernels_of(printed, free, request.data.x_sigma.is_exact());
    let kernels = kernels.and_then(|printed| match obstacle(request) {
        Some(obstacle) => Err(obstacle),
        None => Ok((printed, BatchUnits::new(&job(request, covariances), printed).ok_or(NO_ROOM)?)),
    });
    let kernels = kernels.map(|(printed, units)| (work(printed, request), Arc::new(units)));
    let costs = wanted.costs;
    let estimate = |((work, size), units): Kernels| Estimate {
        on_cpu: on_threads(|threads| costs.batch_on_cpu(&work, size, threads)),
        compile: costs.batch_compile_seconds(),
        is_loaded: Box::new(move |device| units.are_loaded(device)),
        on_devices: Box::new(move |device, devices| {
            let share = Workload { points: work.points.div_ceil(devices), ..work };
            let size = (size.0.div_ceil(devices), size.1);
            costs.batch_on_device(&share, size, device.properties())
        }),
        most_devices: size.0,
    };
    let resident = match wanted.uploaded() {
        Uploaded::Batch(resident) => Some(resident),
        _ => None,
    };
    Placement::choose(wanted, kernels, estimate, |((work, size), units), devices, take_over| {
        let most = if resident.is_some() { MOST_RESIDENT } else { MOST_UPLOADED };
        let share = match devices.len() {
            1 => most,
            several => size.0.div_ceil(CHUNKS * several).min(most),
        };
        let with_fits = |device: Arc<Device>| {
            let seconds = most_seconds(request, device.properties());
            let fits = costs.fits_of_launch(&work, size, device.properties(), seconds);
            (device, fits.min(share))
        };
        let devices = devices.into_iter().map(with_fits).collect();
        Ok(BatchOnDevice { resident, devices, units, covariances, take_over })
    })
}

/// The work of a batch, its numbers of fits and of free parameters, and its kernels.
type Kernels = ((Workload, (usize, usize)), Arc<BatchUnits>);

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
    let longest = || match data.equal() {
        Some(points) => Some(points),
        None => (0..data.n_fits()).map(|fit| data.range(fit).len()).max(),
    };
    let what = if !request.spec.priors.is_empty() {
        "a batch with priors"
    } else if request.spec.prepared.free.len() > MOST_PARAMETERS {
        "a batch with more than 16 free parameters"
    } else if request.spec.options.max_time.is_some() {
        "a batch with a limit of time"
    } else if longest() > Some(u32::MAX as usize) {
        "a batch with more than 4,294,967,295 points in a fit"
    } else {
        return None;
    };
    Some(Obstacle::Refused(what, CPU))
}

/// Returns the work of a batch, its number of fits, and the number of free parameters.
fn work(printed: &CompiledModel, request: &BatchRequest<'_>) -> (Workload, (usize, usize)) {
    let work = Workload {
        points: request.data.samples.len(),
        bytes_per_point: bytes_per_sample(request.data),
        units: printed.units,
        uploaded: false,
    };
    (work, (request.data.n_fits(), printed.free()))
}
