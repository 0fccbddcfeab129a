//! Where a batch is made: on the CPU, or on a device where that is asked for or likely to be faster.

use super::device::{OnDevice, job, most_seconds};
use super::engine::BatchRequest;
use crate::backend::Backend;
use crate::backend::choice::{Costs, Work};
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::batch::unit::MOST_PARAMETERS;
use crate::backend::cuda::batch::{Units, bytes_per_sample};
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::backend::cuda::device::Device;
use crate::error::{Error, Result};
use crate::fit::pick::{Before, pick, worthwhile};
use crate::threads;
use std::sync::Arc;

/// What a caller asks for.
pub(crate) struct BatchWish<'a> {
    pub(crate) backend: Backend,
    pub(crate) costs: Costs,
    pub(crate) device: Option<HandedBatch<'a>>,
    /// Whether covariance matrices are kept.
    pub(crate) covariances: bool,
}

/// A device that takes the place of the registered ones.
#[derive(Clone, Copy)]
pub(crate) struct HandedBatch<'a> {
    pub(crate) device: &'a Arc<Device>,
    /// The data of the batch, if they are on it.
    pub(crate) resident: Option<&'a Resident>,
    /// Whether the CPU goes on if the device fails.
    pub(crate) take_over: bool,
}

/// Where a batch is made, and why there.
pub(crate) struct Place<'a> {
    /// One sentence.
    pub(crate) reason: String,
    pub(crate) device: Option<OnDevice<'a>>,
}

impl<'a> Place<'a> {
    fn on_cpu(reason: impl Into<String>) -> Place<'a> {
        Place { reason: reason.into(), device: None }
    }

    /// # Errors
    /// If a device was asked for: [`Error::CudaUnavailable`] or [`Error::NotOnDevice`].
    pub(crate) fn choose(
        wish: &BatchWish<'a>,
        printed: Option<&CompiledModel>,
        request: &BatchRequest<'_>,
    ) -> Result<Place<'a>> {
        let asked = match wish.backend {
            Backend::Cpu => return Ok(Place::on_cpu("asked for")),
            Backend::Cuda(_) => true,
            Backend::Auto => wish.device.is_some(),
        };
        if request.prepared.free.is_empty() {
            return Ok(Place::on_cpu("all parameters are fixed"));
        }
        if request.data.n_fits() == 0 {
            return Ok(Place::on_cpu("there are no fits"));
        }
        let refused = refused(printed, request);
        let units = printed.and_then(|p| Units::new(&job(request, wish.covariances), p));
        let (Some(printed), Some(units), None) = (printed, units, refused) else {
            let (what, remedy) = refused.unwrap_or(NO_ROOM);
            return match asked {
                true => Err(Error::NotOnDevice { what, remedy }),
                false => Ok(Place::on_cpu(format!("{what} is for the CPU"))),
            };
        };
        let handed = wish.device.map(|handed| (handed.device, handed.take_over));
        let picked = pick(wish.backend, handed, || sooner(&wish.costs, printed, request, &units))?;
        let (device, take_over, reason) = match picked {
            Ok(picked) => picked,
            Err(reason) => return Ok(Place::on_cpu(reason)),
        };
        let resident = wish.device.and_then(|handed| handed.resident);
        let (work, size) = work(printed, request);
        let seconds = most_seconds(request, device.properties());
        let fits = wish.costs.fits_of_launch(&work, size, device.properties(), seconds);
        Ok(Place { reason, device: Some(OnDevice { resident, device, units, fits, take_over }) })
    }
}

const CPU: &str = "use Backend::Auto or Backend::Cpu";
const NO_ROOM: (&str, &str) = ("a batch of fits too large for a block's shared memory", CPU);
const TOO_MANY: (&str, &str) = ("a batch with more than 16 free parameters", CPU);

/// What a device has no kernel for.
fn refused(
    printed: Option<&CompiledModel>,
    request: &BatchRequest<'_>,
) -> Option<(&'static str, &'static str)> {
    let data = request.data;
    let longest = || match data.equal() {
        Some(points) => Some(points),
        None => (0..data.n_fits()).map(|fit| data.range(fit).len()).max(),
    };
    match printed {
        None => Some(("a native model", "trace the model, or use Backend::Cpu")),
        _ if request.prepared.free.len() > MOST_PARAMETERS => Some(TOO_MANY),
        _ if request.options.max_time.is_some() => Some(("a batch with a limit of time", CPU)),
        _ if longest() > Some(u32::MAX as usize) => {
            Some(("a batch with more than 4,294,967,295 points in a fit", CPU))
        }
        _ => None,
    }
}

/// The device on which the batch is likely to be done sooner, or why the CPU is the place for it.
fn sooner(
    costs: &Costs,
    printed: &CompiledModel,
    request: &BatchRequest<'_>,
    units: &Units,
) -> std::result::Result<(Arc<Device>, String), String> {
    let (work, size) = work(printed, request);
    let before = Before {
        on_cpu: costs.batch_on_cpu(&work, size, threads::count()),
        startup: costs.startup_seconds,
        compile: costs.batch_compile_seconds(),
    };
    worthwhile(
        &before,
        |device| units.are_loaded(device),
        |device| costs.batch_on_device(&work, size, device.properties()),
    )
}

/// The work of a batch, its fits and their free parameters.
fn work(printed: &CompiledModel, request: &BatchRequest<'_>) -> (Work, (usize, usize)) {
    let work = Work {
        points: request.data.samples.len(),
        bytes_per_point: bytes_per_sample(request.data),
        units: printed.units,
        uploaded: false,
    };
    (work, (request.data.n_fits(), printed.free()))
}
