//! Points of a stream as a fit's supply: passes on the CPU, or on a device.

use crate::backend::Backend;
use crate::backend::cpu::kernels;
use crate::backend::cuda::cache::Origin;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::printed::Printed;
use crate::backend::cuda::source::{Arithmetic, Storage};
use crate::backend::cuda::streamed::Streamed as DevicePasses;
use crate::backend::stream::{Evaluated, Passes, Streamed, locked};
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::data::overview::Overview;
use crate::data::sigma::Spread;
use crate::data::source::Width;
use crate::error::{Error, Result};
use crate::fit::execution::{Handed, failed, not_loaded};
use crate::fit::pick::{Before, pick, worthwhile};
use crate::fit::search::View;
use crate::fit::stats::Stats;
use crate::fit::supply::{EvaluatorOptions, Supply};
use crate::solver::cancel::CancelToken;
use crate::solver::evaluator::Evaluator;
use crate::solver::patience::{Patience, Stopper};
use crate::threads;
use crate::{backend::choice::Costs, backend::choice::Work};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// Passes over the points that a fit is reckoned to take when a device is weighed against the CPU.
const PASSES: f64 = 3.0;

/// Points that are passed over.
pub(crate) struct StreamSupply<'a> {
    pub(crate) passes: Mutex<Passes<'a>>,
    /// What breaks passes off, between chunks and within those of a native model.
    token: Option<CancelToken>,
    until: Option<Instant>,
    /// Where passes after the first one run; known after that.
    place: OnceLock<Place<'a>>,
}

/// Where passes run, and why there.
struct Place<'a> {
    reason: String,
    device: Option<OnDevice<'a>>,
}

/// A device for passes.
struct OnDevice<'a> {
    device: Arc<Device>,
    printed: &'a Printed,
    take_over: bool,
    /// Seconds for the kernels of the fit's own loss, and where those came from.
    compiled: (f64, Origin),
}

/// What a caller said of the place.
pub(crate) struct PlaceWish<'a> {
    pub(crate) backend: Backend,
    pub(crate) costs: Costs,
    pub(crate) loss: Loss,
    pub(crate) handed: Option<Handed<'a>>,
}

impl<'a> StreamSupply<'a> {
    /// `token`, `until`: when passes are broken off.
    pub(crate) fn new(
        passes: Passes<'a>,
        token: Option<CancelToken>,
        until: Option<Instant>,
    ) -> StreamSupply<'a> {
        StreamSupply { passes: Mutex::new(passes), token, until, place: OnceLock::new() }
    }

    /// Chooses the place of the passes that follow, when all is known of the points.
    ///
    /// # Errors
    /// If a device was asked for and cannot be had.
    pub(crate) fn choose(
        &self,
        wish: &PlaceWish<'_>,
        printed: Option<&'a Printed>,
        points: &Overview,
    ) -> Result<()> {
        let place = self.chosen(wish, printed, points)?;
        // It is chosen once.
        let _ = self.place.set(place);
        Ok(())
    }

    fn chosen(
        &self,
        wish: &PlaceWish<'_>,
        printed: Option<&'a Printed>,
        points: &Overview,
    ) -> Result<Place<'a>> {
        let on_cpu = |reason: String| Ok(Place { reason, device: None });
        let asked = match wish.backend {
            Backend::Cpu => return on_cpu("asked for".into()),
            Backend::Cuda(_) => true,
            Backend::Auto => wish.handed.is_some(),
        };
        let Some(printed) = printed else {
            return match asked {
                true => Err(Error::NotOnDevice {
                    what: "a native model",
                    remedy: "trace the model, or use Backend::Cpu",
                }),
                false => on_cpu("a native model is for the CPU".into()),
            };
        };
        if printed.free() == 0 {
            return on_cpu("all parameters are fixed".into());
        }
        let work = Work {
            points: points.used,
            bytes_per_point: locked(&self.passes).prefetch.shape.bytes_per_point(),
            units: printed.units,
            uploaded: false,
        };
        let rule = (wish.loss, points.estimator);
        let sooner = || {
            let before = Before {
                on_cpu: wish.costs.on_cpu(&work, threads::count()),
                startup: wish.costs.startup_seconds,
                compile: wish.costs.compile_seconds,
            };
            worthwhile(
                &before,
                |device| printed.is_loaded(device, self.storages(), rule, Arithmetic::Double),
                // A stream is uploaded in every pass.
                |device| PASSES * wish.costs.on_device(&work, device.properties()),
            )
        };
        let handed = wish.handed.map(|handed| (handed.device, handed.take_over));
        let (device, take_over, reason) = match pick(wish.backend, handed, sooner)? {
            Ok(picked) => picked,
            Err(reason) => return on_cpu(reason),
        };
        let begun = Instant::now();
        match printed.pass_kernels(&device, self.storages(), rule, Arithmetic::Double) {
            Ok((_, origin)) => {
                let compiled = (begun.elapsed().as_secs_f64(), origin);
                let device = Some(OnDevice { device, printed, take_over, compiled });
                Ok(Place { reason, device })
            }
            Err(error) if take_over => {
                on_cpu(format!("the device failed: {}", not_loaded(&device, error)))
            }
            Err(error) => Err(not_loaded(&device, error)),
        }
    }

    fn storages(&self) -> (Vec<Storage>, Storage) {
        let storage = |width: &Width| match width {
            Width::F64 => Storage::F64,
            Width::F32 => Storage::F32,
        };
        let passes = locked(&self.passes);
        let shape = &passes.prefetch.shape;
        (shape.x.iter().map(storage).collect(), storage(&shape.y))
    }

    fn on_device(&self) -> Option<&OnDevice<'a>> {
        self.place.get()?.device.as_ref()
    }

    /// Passes of a device under a loss.
    fn device_passes(&self, on: &OnDevice<'_>, loss: Loss) -> Result<DevicePasses> {
        let passes = locked(&self.passes);
        let overview = passes.overview()?;
        let rule = (loss, overview.estimator);
        drop(passes);
        let (kernels, _) = on
            .printed
            .pass_kernels(&on.device, self.storages(), rule, Arithmetic::Double)
            .map_err(|error| not_loaded(&on.device, error))?;
        let scale = match overview.estimator {
            Estimator::Poisson => overview.darkest,
            Estimator::LeastSquares => loss.scale().map_or(1.0, |s| s * overview.units.row),
        };
        let sizes = (on.printed.program.params.len(), on.printed.free());
        let passes = locked(&self.passes);
        let capacity = passes.prefetch.capacity;
        passes
            .like(&overview, |like| DevicePasses::new(kernels, like, capacity, scale, sizes))
            .map_err(|error| failed(&on.device, error))
    }
}

impl Supply for StreamSupply<'_> {
    fn evaluator<'e>(&'e self, options: &EvaluatorOptions<'e>) -> Result<Box<dyn Evaluator + 'e>> {
        let stopper = self.token.as_ref().map(|token| token as &dyn Stopper);
        let patience = Patience { until: self.until, stopper };
        let EvaluatorOptions { model, view: View { loss, start, .. }, .. } = *options;
        let most_weight = f64::INFINITY;
        let evaluated = Evaluated { model, loss, most_weight, start, patience };
        let streamed = Streamed::new(&self.passes, evaluated);
        let Some(on) = self.on_device() else { return Ok(Box::new(streamed)) };
        match self.device_passes(on, loss) {
            Ok(passes) => Ok(Box::new(streamed.on(Ok(passes), on.take_over))),
            Err(error) if on.take_over => {
                Ok(Box::new(streamed.on(Err(error.to_string()), on.take_over)))
            }
            Err(error) => Err(error),
        }
    }

    fn rough_arithmetic(&self) -> Arithmetic {
        Arithmetic::Double
    }

    fn failed(&self, error: DriverError) -> Error {
        match self.on_device() {
            Some(on) => failed(&on.device, error),
            None => Error::DeviceFailed { name: "no device".into(), message: error.to_string() },
        }
    }

    fn distinct(&self, _enough: usize) -> usize {
        locked(&self.passes).known.as_ref().map_or(0, |(_, distinct)| *distinct)
    }

    fn spread(&self) -> Spread {
        locked(&self.passes).spread()
    }

    fn is_on_device(&self) -> bool {
        self.on_device().is_some()
    }

    fn stats(&self, evaluator: &dyn Evaluator) -> Stats {
        let reason = self.place.get().map_or("the first pass", |place| &place.reason);
        let (on, used) = (self.on_device(), evaluator.device());
        let broken = used.as_ref().and_then(|used| used.failed.as_ref());
        let working = on.filter(|_| broken.is_none());
        let bytes = locked(&self.passes).prefetch.bytes();
        Stats {
            backend: if working.is_some() { "CUDA" } else { "CPU" },
            instruction_set: match working {
                Some(on) => {
                    let (major, minor) = on.device.properties().capability;
                    format!("sm_{major}{minor}")
                }
                None => kernels::detect().name.to_owned(),
            },
            reason: match broken {
                None => reason.to_owned(),
                Some(why) => format!("{reason}; the CPU went on where the device failed: {why}"),
            },
            device: on.map(|on| on.device.properties().name.clone()),
            threads: evaluator.threads(),
            compile_seconds: on.map_or(0.0, |on| on.compiled.0),
            kernels: on.map(|on| on.compiled.1),
            scratch_bytes: bytes,
            device_bytes: used.map_or(0, |used| used.bytes),
            chunks: 1,
            ..Stats::default()
        }
    }
}
