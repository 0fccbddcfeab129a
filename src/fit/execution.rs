//! Where a fit of points in memory is computed, and what it needs there.

use super::placement::{
    ALL_FIXED, ERRORS_IN_X, Estimate, Loaded, NATIVE, Obstacle, Placement, PlacementRequest,
    Uploaded, failed, failed_on, not_loaded,
};
use crate::backend::Precision;
use crate::backend::choice::{Workload, f64_lanes};
use crate::backend::cpu::{Cpu, Whitened};
use crate::backend::cuda::cache::Origin;
use crate::backend::cuda::compiled_model::{CompiledModel, FitKernels, Variant};
use crate::backend::cuda::cpu_fallback::WithCpuFallback;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_points::{self, DevicePoints, bytes_per_point};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::evaluator::{Cuda, PointsAt};
use crate::backend::cuda::source::Arithmetic;
use crate::backend::cuda::streamed::DoubleBuffer;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::solver::evaluator::Evaluator;
use std::sync::Arc;
use std::time::Instant;

/// The part of a device's free memory that data may take.
const FILL: f64 = 0.9;

/// Double-precision lanes of a multiprocessor below which sums in pairs of f32 are faster: a product
/// and its addition take about eight f32 operations, of which there are 64 to 128 lanes.
const SLOW_BELOW: f64 = 16.0;

/// Where a fit of points in memory is computed.
pub(crate) type Execution<'a> = Placement<FitOnDevice<'a>>;

/// A device with the points of a fit.
pub(crate) struct FitOnDevice<'a> {
    pub(super) loaded: Loaded,
    printed: &'a CompiledModel,
    precision: Precision,
    points: Held<'a>,
}

/// Points on a device.
enum Held<'a> {
    Borrowed(&'a DevicePoints),
    Owned(DevicePoints),
    /// There is no room for all of them.
    Chunks,
}

impl<'a> Execution<'a> {
    /// # Errors
    /// As [`Placement::choose`].
    pub(crate) fn of(
        wanted: &PlacementRequest<'a>,
        (loss, precision): (Loss, Precision),
        printed: Option<&'a CompiledModel>,
        points: &Points<'_>,
    ) -> Result<Execution<'a>> {
        let uploaded = match wanted.uploaded() {
            Uploaded::Points(resident) => Some(resident),
            _ => None,
        };
        let printed = match (printed, &points.correlation) {
            (None, _) => return Placement::hindered(wanted, &NATIVE),
            (_, Some(_)) => {
                let correlated = ("a covariance matrix of y", "use Backend::Cpu");
                return Placement::hindered(wanted, &Obstacle::Refused(correlated.0, correlated.1));
            }
            _ if !points.x_sigma.is_exact() => {
                return Placement::hindered(wanted, &ERRORS_IN_X);
            }
            (Some(printed), _) if printed.free() == 0 => {
                return Placement::hindered(wanted, &ALL_FIXED);
            }
            (Some(printed), _) => printed,
        };
        let estimate = || {
            let work = Workload {
                points: points.used,
                bytes_per_point: bytes_per_point(points),
                units: printed.units,
                uploaded: uploaded.is_some(),
            };
            let variant = variant(points, loss, Arithmetic::Double);
            let is_loaded = move |device: &Device| printed.is_loaded(device, &variant);
            Estimate::of_passes(wanted.costs, work, 1.0, is_loaded)
        };
        Placement::choose(wanted, estimate, |device, take_over| {
            FitOnDevice::place(device, printed, points, uploaded, (loss, precision), take_over)
        })
    }

    /// What a user should see of a failure of the device.
    pub(crate) fn failed(&self, error: DriverError) -> Error {
        failed_on(self.device.as_ref().map(|on| &on.loaded), error)
    }

    /// What a stage computes with that only says where the next one begins.
    pub(crate) fn rough_arithmetic(&self) -> Arithmetic {
        match &self.device {
            Some(on) if on.precision != Precision::Double => {
                let capability = on.loaded.device.properties().capability;
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
                Ok(passes) => Ok(Box::new(WithCpuFallback::new(passes, cpu, on.loaded.take_over))),
                Err(error) if on.loaded.take_over => {
                    Ok(Box::new(WithCpuFallback::without_device(cpu, error.to_string())))
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

impl<'a> FitOnDevice<'a> {
    fn place(
        device: Arc<Device>,
        printed: &'a CompiledModel,
        points: &Points<'_>,
        uploaded: Option<&'a DevicePoints>,
        (loss, precision): (Loss, Precision),
        take_over: bool,
    ) -> Result<FitOnDevice<'a>> {
        let begun = Instant::now();
        let held = match uploaded {
            Some(resident) => Held::Borrowed(resident),
            None => hold(&device, points).map_err(|e| failed(&device, e))?,
        };
        let upload_seconds = begun.elapsed().as_secs_f64();
        let (compile_seconds, origin) = (0.0, Origin::Memory);
        let loaded = Loaded { device, take_over, upload_seconds, compile_seconds, origin };
        let mut on = FitOnDevice { loaded, printed, precision, points: held };
        let begun = Instant::now();
        on.loaded.origin = on.kernels(points, loss, Arithmetic::Double)?.1;
        on.loaded.compile_seconds = begun.elapsed().as_secs_f64();
        Ok(on)
    }

    /// The kernels for a loss, compiled and loaded if they are not yet.
    fn kernels(
        &self,
        points: &Points<'_>,
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<(FitKernels, Origin)> {
        self.printed
            .kernels(&self.loaded.device, &variant(points, loss, arithmetic))
            .map_err(|error| not_loaded(&self.loaded.device, error))
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
        let failed = |error| failed(&self.loaded.device, error);
        let place = match self.whole() {
            Some(resident) => PointsAt::Whole(resident),
            None => {
                let rooms = DoubleBuffer::new(
                    &self.loaded.device.driver,
                    points,
                    points.used.min(kernels.most_points),
                );
                PointsAt::Chunks(Box::new(rooms.map_err(failed)?))
            }
        };
        let scale = points.overview().kernel_scale(loss);
        let sizes = (self.printed.program.params.len(), self.printed.free());
        Cuda::new(kernels, points, place, scale, sizes).map_err(failed)
    }
}

/// The variant of a model's kernels for these points.
fn variant(points: &Points<'_>, loss: Loss, arithmetic: Arithmetic) -> Variant {
    let (storages, weights) = (device_points::storages(points), device_points::weighting(points));
    Variant { storages, weights, rule: (loss, points.estimator), arithmetic }
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
