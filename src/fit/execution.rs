//! Where a fit is computed: the choice, and what it needs there.

use super::pick::{Before, pick, worthwhile};
use crate::backend::choice::{Costs, Work, f64_lanes};
use crate::backend::cpu::{Cpu, Whitened};
use crate::backend::cuda::cache::Origin;
use crate::backend::cuda::careful::Careful;
use crate::backend::cuda::compiler::CompileError;
use crate::backend::cuda::device::{Device, LoadError};
use crate::backend::cuda::device_points::{self, DevicePoints, bytes_per_point};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::evaluator::{Cuda, Place};
use crate::backend::cuda::printed::{FitKernels, Printed};
use crate::backend::cuda::source::Arithmetic;
use crate::backend::{Backend, Precision};
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::solver::evaluator::Evaluator;
use crate::threads;
use std::sync::Arc;
use std::time::Instant;

/// The part of a device's free memory that data may take.
const FILL: f64 = 0.9;

/// Double-precision lanes of a multiprocessor below which sums in pairs of f32 are faster: a product
/// and its addition take about eight f32 operations, of which there are 64 to 128 lanes.
const SLOW_BELOW: f64 = 16.0;

/// What a caller asks for.
pub(crate) struct Wish<'a> {
    pub(crate) backend: Backend,
    pub(crate) costs: Costs,
    pub(crate) precision: Precision,
    pub(crate) loss: Loss,
    pub(crate) device: Option<Handed<'a>>,
}

/// A device that takes the place of the registered ones.
#[derive(Clone, Copy)]
pub(crate) struct Handed<'a> {
    pub(crate) device: &'a Arc<Device>,
    /// The points of the fit, if they are on it.
    pub(crate) points: Option<&'a DevicePoints>,
    /// Whether the CPU goes on if the device fails.
    pub(crate) take_over: bool,
}

/// Where a fit is computed, and why there.
pub(crate) struct Execution<'a> {
    /// One sentence.
    pub(crate) reason: String,
    pub(crate) device: Option<OnDevice<'a>>,
}

/// A device with the points of a fit.
pub(crate) struct OnDevice<'a> {
    pub(crate) device: Arc<Device>,
    printed: &'a Printed,
    precision: Precision,
    points: Held<'a>,
    /// Whether the CPU goes on if the device fails.
    pub(crate) take_over: bool,
    pub(crate) upload_seconds: f64,
    /// For the kernels of the fit's own loss.
    pub(crate) compile_seconds: f64,
    pub(crate) origin: Origin,
}

/// Points on a device.
enum Held<'a> {
    Borrowed(&'a DevicePoints),
    Owned(DevicePoints),
    /// There is no room for all of them.
    Chunks,
}

impl<'a> Execution<'a> {
    fn on_cpu(reason: impl Into<String>) -> Execution<'a> {
        Execution { reason: reason.into(), device: None }
    }

    /// # Errors
    /// If a device was asked for: [`Error::CudaUnavailable`], [`Error::NotOnDevice`] or what the
    /// device refused.
    pub(crate) fn choose(
        wish: &Wish<'a>,
        printed: Option<&'a Printed>,
        points: &Points<'_>,
    ) -> Result<Execution<'a>> {
        let asked = match wish.backend {
            Backend::Cpu => return Ok(Execution::on_cpu("asked for")),
            Backend::Cuda(_) => true,
            Backend::Auto => wish.device.is_some(),
        };
        let refused = match (printed, &points.correlation) {
            (None, _) => Some(("a native model", "trace the model, or use Backend::Cpu")),
            (_, Some(_)) => Some(("a covariance matrix of y", "use Backend::Cpu")),
            _ => None,
        };
        if let Some((what, remedy)) = refused {
            return match asked {
                true => Err(Error::NotOnDevice { what, remedy }),
                false => Ok(Execution::on_cpu(format!("{what} is for the CPU"))),
            };
        }
        let Some(printed) = printed.filter(|p| p.free() > 0) else {
            return Ok(Execution::on_cpu("all parameters are fixed"));
        };
        let work = Work {
            points: points.used,
            bytes_per_point: bytes_per_point(points),
            units: printed.units,
            uploaded: wish.device.is_some_and(|handed| handed.points.is_some()),
        };
        let handed = wish.device.map(|handed| (handed.device, handed.take_over));
        let picked = pick(wish.backend, handed, || sooner(wish, printed, points, &work))?;
        let (device, take_over, reason) = match picked {
            Ok(picked) => picked,
            Err(reason) => return Ok(Execution::on_cpu(reason)),
        };
        let uploaded = wish.device.and_then(|handed| handed.points);
        match OnDevice::place(device, printed, points, uploaded, wish, take_over) {
            Ok(device) => Ok(Execution { reason, device: Some(device) }),
            Err(error) if take_over => Ok(Execution::on_cpu(format!("the device failed: {error}"))),
            Err(error) => Err(error),
        }
    }

    /// What a user should see of a failure of the device.
    pub(crate) fn failed(&self, error: DriverError) -> Error {
        match &self.device {
            Some(on) => failed(&on.device, error),
            None => Error::DeviceFailed { name: "no device".into(), message: error.to_string() },
        }
    }

    /// What a stage computes with that only says where the next one begins.
    pub(crate) fn rough_arithmetic(&self) -> Arithmetic {
        match &self.device {
            Some(on) if on.precision == Precision::Mixed => {
                let capability = on.device.properties().capability;
                Arithmetic::Single { compensated: f64_lanes(capability) < SLOW_BELOW }
            }
            _ => Arithmetic::Double,
        }
    }

    /// The points under a loss, correlated or not; `cpu` evaluates them where no device does.
    ///
    /// # Errors
    /// What a device that was asked for refused.
    pub(crate) fn evaluator<'e>(
        &'e self,
        cpu: Cpu<'e>,
        points: &'e Points<'e>,
        (loss, arithmetic): (Loss, Arithmetic),
    ) -> Result<Box<dyn Evaluator + 'e>> {
        match &self.device {
            Some(on) => match on.passes(points, loss, arithmetic) {
                Ok(passes) => Ok(Box::new(Careful::new(passes, cpu, on.take_over))),
                Err(error) if on.take_over => {
                    Ok(Box::new(Careful::without_device(cpu, error.to_string())))
                }
                Err(error) => Err(error),
            },
            None => Ok(on_cpu(cpu, points)),
        }
    }
}

/// The points, correlated or not, on the CPU.
pub(crate) fn on_cpu<'e>(cpu: Cpu<'e>, points: &'e Points<'e>) -> Box<dyn Evaluator + 'e> {
    match &points.correlation {
        Some(correlation) => Box::new(Whitened::new(cpu, correlation)),
        None => Box::new(cpu),
    }
}

/// The device on which the work is likely to be done sooner, or why the CPU is the place for it.
fn sooner(
    wish: &Wish<'_>,
    printed: &Printed,
    points: &Points<'_>,
    work: &Work,
) -> std::result::Result<(Arc<Device>, String), String> {
    let costs = &wish.costs;
    let before = Before {
        on_cpu: costs.on_cpu(work, threads::count()),
        startup: costs.startup_seconds,
        compile: costs.compile_seconds,
    };
    let rule = (wish.loss, points.estimator);
    let storages = || device_points::storages(points);
    worthwhile(
        &before,
        |device| printed.is_loaded(device, storages(), rule, Arithmetic::Double),
        |device| costs.on_device(work, device.properties()),
    )
}

impl<'a> OnDevice<'a> {
    fn place(
        device: Arc<Device>,
        printed: &'a Printed,
        points: &Points<'_>,
        uploaded: Option<&'a DevicePoints>,
        wish: &Wish<'a>,
        take_over: bool,
    ) -> Result<OnDevice<'a>> {
        let begun = Instant::now();
        let held = match uploaded {
            Some(resident) => Held::Borrowed(resident),
            None => hold(&device, points).map_err(|e| failed(&device, e))?,
        };
        let upload_seconds = begun.elapsed().as_secs_f64();
        let mut on = OnDevice {
            device,
            printed,
            precision: wish.precision,
            points: held,
            take_over,
            upload_seconds,
            compile_seconds: 0.0,
            origin: Origin::Memory,
        };
        let begun = Instant::now();
        on.origin = on.kernels(points, wish.loss, Arithmetic::Double)?.1;
        on.compile_seconds = begun.elapsed().as_secs_f64();
        Ok(on)
    }

    /// As the driver's tools name it.
    pub(crate) fn architecture(&self) -> String {
        let (major, minor) = self.device.properties().capability;
        format!("sm_{major}{minor}")
    }

    /// The kernels for a loss, compiled and loaded if they are not yet.
    fn kernels(
        &self,
        points: &Points<'_>,
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<(FitKernels, Origin)> {
        let storages = device_points::storages(points);
        self.printed
            .kernels(&self.device, storages, (loss, points.estimator), arithmetic)
            .map_err(|error| not_loaded(&self.device, error))
    }

    /// All points on the device, unless they go through it in chunks.
    pub(crate) fn whole(&self) -> Option<&DevicePoints> {
        match &self.points {
            Held::Borrowed(resident) => Some(resident),
            Held::Owned(resident) => Some(resident),
            Held::Chunks => None,
        }
    }

    fn passes<'e>(
        &'e self,
        points: &'e Points<'e>,
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<Cuda<'e>> {
        let (kernels, _) = self.kernels(points, loss, arithmetic)?;
        let failed = |error| failed(&self.device, error);
        let place = match self.whole() {
            Some(resident) => Place::Whole(resident),
            None => {
                let free = self.device.driver.memory().map_err(failed)?.free;
                Place::chunks(&kernels.passes, points, free).map_err(failed)?
            }
        };
        let scale = match points.estimator {
            Estimator::Poisson => points.darkest(),
            Estimator::LeastSquares => loss.scale().map_or(1.0, |scale| scale * points.units.row),
        };
        let sizes = (self.printed.program.params.len(), self.printed.free());
        Cuda::new(kernels, points, place, scale, sizes).map_err(failed)
    }
}

/// The points on the device, or the news that there is no room for all of them.
fn hold<'a>(device: &Device, points: &Points<'_>) -> std::result::Result<Held<'a>, DriverError> {
    let needed = points.used as f64 * bytes_per_point(points) as f64;
    if needed > FILL * device.driver.memory()?.free as f64 {
        return Ok(Held::Chunks);
    }
    match DevicePoints::of(&device.driver, points) {
        Ok(resident) => Ok(Held::Owned(resident)),
        Err(DriverError::OutOfMemory { .. }) => Ok(Held::Chunks),
        Err(error) => Err(error),
    }
}

/// What a user should see of a device's failure.
pub(crate) fn failed(device: &Device, error: DriverError) -> Error {
    let name = device.properties().name.clone();
    match error {
        DriverError::OutOfMemory { requested } => Error::DeviceOutOfMemory {
            name,
            requested,
            free: device.driver.memory().map_or(0, |m| m.free),
        },
        DriverError::Lost { .. } => Error::DeviceLost { name, message: error.to_string() },
        DriverError::Failed { .. } => Error::DeviceFailed { name, message: error.to_string() },
    }
}

/// What a user should see of kernels that cannot be had.
pub(crate) fn not_loaded(device: &Device, error: LoadError) -> Error {
    match error {
        LoadError::Driver(error) => failed(device, error),
        LoadError::Compile { error, source } => refused(error, &source),
    }
}

fn refused(error: CompileError, source: &str) -> Error {
    let message = match error {
        CompileError::Refused { log } => log,
        CompileError::UnknownArchitecture { capability: (major, minor), identity } => {
            format!(
                "{identity} does not know compute capability {major}.{minor}; install a newer NVRTC"
            )
        }
        CompileError::Unavailable { reason } => reason,
    };
    Error::KernelNotCompiled { message, source_text: source.to_owned() }
}
