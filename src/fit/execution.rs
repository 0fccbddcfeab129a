//! Placement of a fit whose points are in memory, and its data on devices.

use super::placement::{
    Estimate, FILL, Loaded, Obstacle, Placement, PlacementRequest, Uploaded, failed, failed_on,
    kernels_of, not_loaded,
};
use super::point_source::PointEvaluator;
use crate::backend::Precision;
use crate::backend::choice::{Workload, f64_lanes};
use crate::backend::cpu::{Cpu, Whitened};
use crate::backend::cuda::cache::Origin;
use crate::backend::cuda::compiled_model::{CompiledModel, FitKernels, Variant};
use crate::backend::cuda::cpu_fallback::WithCpuFallback;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_points::{self, DevicePoints, bytes_per_point};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::evaluator::{Cuda, PointsAt, Share};
use crate::backend::cuda::passes::Leaves;
use crate::backend::cuda::source::Arithmetic;
use crate::backend::cuda::streamed::DoubleBuffer;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::host::Instant;
use crate::threads;
use std::ops::Range;
use std::sync::Arc;

/// Double-precision lanes per multiprocessor below which sums in pairs of f32 are faster. A product and its addition
/// take about eight f32 operations, and a multiprocessor has 64 to 128 f32 lanes.
const SLOW_BELOW: f64 = 16.0;

/// Placement of a fit whose points are in memory.
pub(crate) type Execution = Placement<FitOnDevice>;

/// Devices with the points of a fit.
pub(crate) struct FitOnDevice {
    pub(super) loaded: Loaded,
    printed: Arc<CompiledModel>,
    precision: Precision,
    /// Number of points per segment, the range of points that a device sums as a unit.
    segment: usize,
    /// Shares of the devices, in the order of the points.
    shares: Vec<HeldShare>,
}

/// Range of the points that one device evaluates.
struct HeldShare {
    /// Index of the device among the devices of the fit.
    device: usize,
    range: Range<usize>,
    held: Held,
}

/// Resident points of a device; `None` if its memory cannot hold all of them, so that it processes them in chunks.
type Held = Option<Arc<DevicePoints>>;

impl Execution {
    /// Chooses the backend of a fit of `points` and creates its data there.
    ///
    /// # Errors
    /// The errors of [`Placement::choose`].
    pub(crate) fn of(
        wanted: &PlacementRequest<'_>,
        (loss, precision): (Loss, Precision),
        (printed, free): (Option<&Arc<CompiledModel>>, usize),
        points: &Points<'_>,
    ) -> Result<Execution> {
        let uploaded = match wanted.uploaded() {
            Uploaded::Points(resident) => Some(resident),
            _ => None,
        };
        let correlated = Obstacle::Refused("a covariance matrix of y", "use Backend::Cpu");
        let kernels = kernels_of(printed, free, points.x_sigma.is_exact());
        let kernels = kernels
            .and_then(|k| if points.correlation.is_none() { Ok(k) } else { Err(correlated) });
        let segment = uploaded.map_or(wanted.costs.segment(), |there| there.segment);
        let estimate = |printed: &Arc<CompiledModel>| {
            let work = Workload {
                points: points.used,
                bytes_per_point: bytes_per_point(points),
                units: printed.units,
                uploaded: uploaded.is_some(),
            };
            let (printed, variant) = (printed.clone(), variant(points, loss, Arithmetic::Double));
            let is_loaded = move |device: &Device| printed.is_loaded(device, &variant);
            let segments = points.len().div_ceil(segment);
            Estimate::of_passes(wanted.costs, work, (1.0, segments), is_loaded)
        };
        Placement::choose(wanted, kernels, estimate, |printed, devices, take_over| {
            let (loaded, printed) = (Loaded::new(devices, take_over), printed.clone());
            FitOnDevice::place(loaded, printed, (points, segment), uploaded, (loss, precision))
        })
    }

    /// Places a joint fit on the CPU; devices do not support joint fits.
    ///
    /// # Errors
    /// [`Error::NotOnDevice`] if the caller requires a device.
    pub(crate) fn of_joint_fit(wanted: &PlacementRequest<'_>) -> Result<Execution> {
        Placement::hindered(wanted, &Obstacle::Refused("a joint fit", "use Backend::Cpu"))
    }

    /// Converts a failure of the device into the error for the user.
    pub(crate) fn failed(&self, error: DriverError) -> Error {
        failed_on(self.device.as_ref().map(|on| &on.loaded), error)
    }

    /// Returns the arithmetic of a stage whose result is only the starting point of the next stage.
    pub(crate) fn rough_arithmetic(&self) -> Arithmetic {
        match &self.device {
            Some(on) if on.precision != Precision::Double => {
                let capability = on.loaded.first().properties().capability;
                Arithmetic::Single { compensated: f64_lanes(capability) < SLOW_BELOW }
            }
            _ => Arithmetic::Double,
        }
    }

    /// Creates an evaluator of the points, whose errors may be correlated. `cpu` evaluates them if no device does.
    ///
    /// # Errors
    /// The failure of a device that the caller requires.
    pub(crate) fn evaluator<'e>(
        &'e self,
        cpu: Cpu<'e>,
        points: &'e Points<'e>,
        (loss, arithmetic): (Loss, Arithmetic),
    ) -> Result<PointEvaluator<'e>> {
        match &self.device {
            Some(on) => match on.passes(points, (loss, arithmetic), Leaves::SEGMENTS) {
                Ok(passes) => {
                    let passes = WithCpuFallback::new(passes, cpu, on.loaded.take_over);
                    Ok(PointEvaluator::Other(Box::new(passes)))
                }
                Err(error) if on.loaded.take_over => {
                    let alone = WithCpuFallback::without_device(cpu, error.to_string());
                    Ok(PointEvaluator::Other(Box::new(alone)))
                }
                Err(error) => Err(error),
            },
            None => Ok(on_cpu(cpu, points)),
        }
    }
}

/// Creates an evaluator on the CPU for points whose errors may be correlated.
pub(crate) fn on_cpu<'e>(cpu: Cpu<'e>, points: &'e Points<'e>) -> PointEvaluator<'e> {
    match &points.correlation {
        Some(correlation) => PointEvaluator::Other(Box::new(Whitened::new(cpu, correlation))),
        None => PointEvaluator::Cpu(cpu),
    }
}

impl FitOnDevice {
    /// Places the points on the devices of `loaded`. A device that fails is left out if another device works.
    fn place(
        loaded: Loaded,
        printed: Arc<CompiledModel>,
        (points, segment): (&Points<'_>, usize),
        uploaded: Option<&Arc<DevicePoints>>,
        (loss, precision): (Loss, Precision),
    ) -> Result<FitOnDevice> {
        let mut on = FitOnDevice { loaded, printed, precision, segment, shares: Vec::new() };
        loop {
            let (range, begun) = (0..points.len(), Instant::now());
            on.shares = match uploaded {
                Some(there) => vec![HeldShare { device: 0, range, held: Some(there.clone()) }],
                None => on.held(points)?,
            };
            on.loaded.upload_seconds += begun.elapsed().as_secs_f64();
            let (first, begun) = (on.shares[0].device, Instant::now());
            let kernels = on.kernels(first, points, loss, Arithmetic::Double);
            on.loaded.compile_seconds += begun.elapsed().as_secs_f64();
            match kernels {
                Ok((_, origin)) => on.loaded.origin = origin,
                Err(error) if on.loaded.working().count() > 1 => {
                    on.loaded.lose(first, &error);
                    continue;
                }
                Err(error) => return Err(error),
            }
            return Ok(on);
        }
    }

    /// Divides the points among the working devices; their numbers of segments differ by at most one.
    fn held(&self, points: &Points<'_>) -> Result<Vec<HeldShare>> {
        loop {
            let devices: Vec<usize> = self.loaded.working().collect();
            let segments = points.len().div_ceil(self.segment);
            let shares = devices.len().min(segments).max(1);
            let begin = |share: usize| (segments * share / shares * self.segment).min(points.len());
            let ranges = devices.iter().take(shares).enumerate();
            let ranges = ranges.map(|(share, &device)| (device, begin(share)..begin(share + 1)));
            let held = threads::map(ranges, |(device, range)| {
                let held = self.hold(device, points, range.clone());
                held.map(|held| HeldShare { device, range, held }).map_err(|error| (device, error))
            });
            match held.into_iter().collect::<std::result::Result<Vec<_>, _>>() {
                Ok(held) => return Ok(held),
                Err((device, error)) if devices.len() > 1 => self.loaded.lose(device, &error),
                Err((_, error)) => return Err(error),
            }
        }
    }

    /// Copies a range of the points to a device; `None` if its memory cannot hold them.
    fn hold(&self, device: usize, points: &Points<'_>, range: Range<usize>) -> Result<Held> {
        let device = &self.loaded.devices[device];
        let there = device.driver.memory().and_then(|memory| {
            let most_bytes = (FILL * memory.free as f64) as usize;
            DevicePoints::of(&device.driver, points, (range, self.segment), most_bytes)
        });
        match there {
            Ok(there) => Ok(Some(Arc::new(there))),
            Err(DriverError::OutOfMemory { .. }) => Ok(None),
            Err(error) => Err(failed(device, error)),
        }
    }

    /// Returns the kernels for a loss on a device; compiles and loads them if needed.
    fn kernels(
        &self,
        device: usize,
        points: &Points<'_>,
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<(FitKernels, Origin)> {
        let device = &self.loaded.devices[device];
        self.printed
            .kernels(device, &variant(points, loss, arithmetic))
            .map_err(|error| not_loaded(device, error))
    }

    /// Converts a failure of the devices into the error for the user.
    pub(crate) fn failed(&self, error: DriverError) -> Error {
        failed_on(Some(&self.loaded), error)
    }

    /// Returns true if the CPU continues the fit after all devices have failed.
    pub(crate) fn may_take_over(&self) -> bool {
        self.loaded.take_over
    }

    /// Creates the passes over all points. `leaves`: role of the segments in the tree of sums.
    pub(crate) fn passes<'e>(
        &'e self,
        points: &'e Points<'e>,
        (loss, arithmetic): (Loss, Arithmetic),
        leaves: Leaves,
    ) -> Result<Cuda<'e>> {
        let rule = (loss, arithmetic);
        let share = |HeldShare { device, range, held }: &HeldShare| {
            let made = match self.loaded.is_lost(*device) {
                true => Err(None),
                false => self.share(*device, (points, range.clone()), held, rule).map_err(Some),
            };
            made.or_else(|error| {
                let moved = self.moved(*device, (points, range.clone()), error.as_ref(), rule);
                moved.ok_or_else(|| error.unwrap_or_else(|| self.loaded.all_lost()))
            })
        };
        let shares = self.shares.iter().map(share).collect::<Result<_>>()?;
        let mover = move |device: usize, range: Range<usize>, error: &DriverError| {
            let error = failed(&self.loaded.devices[device], error.clone());
            self.moved(device, (points, range), Some(&error), rule)
        };
        Ok(Cuda::new(shares, points, (self.segment, leaves), Box::new(mover)))
    }

    /// Moves a share of the points from a failed device to another one; `None` if no device works.
    fn moved(
        &self,
        device: usize,
        (points, range): (&Points<'_>, Range<usize>),
        error: Option<&Error>,
        rule: (Loss, Arithmetic),
    ) -> Option<Share> {
        self.loaded.moved(device, error, |other| {
            let held = self.hold(other, points, range.clone())?;
            self.share(other, (points, range.clone()), &held, rule)
        })
    }

    /// Creates a share of the points on a device, from resident points or in chunks.
    fn share(
        &self,
        device: usize,
        (points, range): (&Points<'_>, Range<usize>),
        held: &Held,
        (loss, arithmetic): (Loss, Arithmetic),
    ) -> Result<Share> {
        let (kernels, _) = self.kernels(device, points, loss, arithmetic)?;
        let on = &self.loaded.devices[device];
        let failed = |error| failed(on, error);
        let largest = self.segment.min(points.len());
        let place = match held {
            Some(there) => PointsAt::Whole(there.clone()),
            None => {
                let rooms = DoubleBuffer::new(&on.driver, points, largest.min(kernels.most_points));
                PointsAt::Chunks(Box::new(rooms.map_err(failed)?))
            }
        };
        let scale = points.overview().kernel_scale(loss);
        let sizes = (self.printed.program.params.len(), self.printed.free());
        Share::new(kernels, (device, range), place, (scale, largest), sizes).map_err(failed)
    }
}

/// Returns the variant of a model's kernels for these points.
pub(super) fn variant(points: &Points<'_>, loss: Loss, arithmetic: Arithmetic) -> Variant {
    let (storages, weights) = (device_points::storages(points), device_points::weighting(points));
    Variant { storages, weights, rule: (loss, points.estimator), arithmetic }
}
