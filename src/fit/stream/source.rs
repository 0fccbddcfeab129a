//! Points of a stream: passes on the CPU, or on a device.

use crate::backend::choice::Workload;
use crate::backend::cuda::compiled_model::{CompiledModel, Variant};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::{Arithmetic, Storage, Weighting};
use crate::backend::cuda::streamed::DeviceStream;
use crate::backend::stream::{Holder, Passes, StreamEvaluator};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Spread;
use crate::data::source::Width;
use crate::data::summary::Overview;
use crate::error::{Error, Result};
use crate::fit::placement::{
    Estimate, Loaded, Obstacle, Placement, PlacementRequest, failed, failed_on, kernels_of,
    not_loaded,
};
use crate::fit::point_source::{EvaluatorOptions, PointEvaluator, PointSource, View};
use crate::fit::stats::Stats;
use crate::host::Instant;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::CancelToken;
use crate::solver::observe::{Patience, Stopper};
use crate::threads::lock;
use std::sync::{Mutex, OnceLock};

/// Estimated time of a pass on a device that uploads its points, as a multiple of the time of a pass over resident
/// points. Every pass of a stream uploads its points.
const PASSES: f64 = 3.0;

/// Points of a stream, which every pass reads again.
pub(crate) struct StreamSource<'a> {
    pub(crate) passes: Mutex<Passes<'a>>,
    /// Stops passes, between chunks and within chunks of a native model.
    token: Option<CancelToken>,
    until: Option<Instant>,
    /// Backend of the passes after the first pass; set after the first pass.
    place: OnceLock<Placement<StreamOnDevice<'a>>>,
}

/// Device that computes passes.
struct StreamOnDevice<'a> {
    loaded: Loaded,
    printed: &'a CompiledModel,
}

impl<'a> StreamSource<'a> {
    /// Creates the source. `token` and the time `until` stop passes.
    pub(crate) fn new(
        passes: Passes<'a>,
        token: Option<CancelToken>,
        until: Option<Instant>,
    ) -> StreamSource<'a> {
        StreamSource { passes: Mutex::new(passes), token, until, place: OnceLock::new() }
    }

    /// Chooses the backend of the following passes, when the totals over the points are known.
    ///
    /// # Errors
    /// If a required device is not available.
    pub(crate) fn choose(
        &self,
        wanted: &PlacementRequest<'_>,
        loss: Loss,
        (printed, free): (Option<&'a CompiledModel>, usize),
        points: &Overview,
    ) -> Result<()> {
        let elsewhere = matches!(lock(&self.passes).holder, Holder::Elsewhere(_));
        let kernels = match elsewhere {
            true => Err(Obstacle::Idle("those who hold the points evaluate them")),
            false => kernels_of(printed, free, true),
        };
        let variant = self.variant(loss, points.estimator);
        let estimate = |printed: &'a CompiledModel| {
            let work = Workload {
                points: points.used,
                bytes_per_point: lock(&self.passes).shape().bytes_per_point(),
                units: printed.units,
                uploaded: false,
            };
            let variant = variant.clone();
            let is_loaded = move |device: &Device| printed.is_loaded(device, &variant);
            // A stream is uploaded in every pass.
            Estimate::of_passes(wanted.costs, work, (PASSES, 1), is_loaded)
        };
        let place =
            Placement::choose(wanted, kernels, estimate, |printed, mut devices, take_over| {
                devices.truncate(1);
                let mut loaded = Loaded::new(devices, take_over);
                let begun = Instant::now();
                let kernels = printed.kernels(loaded.first(), &variant);
                let (_, origin) = kernels.map_err(|error| not_loaded(loaded.first(), error))?;
                loaded.compile_seconds = begun.elapsed().as_secs_f64();
                loaded.origin = origin;
                Ok(StreamOnDevice { loaded, printed })
            })?;
        // The first choice is kept.
        let _ = self.place.set(place);
        Ok(())
    }

    /// Returns the variant of a model's kernels for the number types and weights of the points.
    fn variant(&self, loss: Loss, estimator: Estimator) -> Variant {
        let storage = |width: &Width| match width {
            Width::F64 => Storage::F64,
            Width::F32 => Storage::F32,
        };
        let passes = lock(&self.passes);
        let shape = passes.shape();
        let storages = (shape.x.iter().map(storage).collect(), storage(&shape.y));
        let weights = if shape.sigma { Weighting::Each } else { Weighting::Same };
        Variant { storages, weights, rule: (loss, estimator), arithmetic: Arithmetic::Double }
    }

    fn on_device(&self) -> Option<&StreamOnDevice<'a>> {
        self.place.get()?.device.as_ref()
    }

    /// Creates the passes of a device for a loss.
    fn device_passes(&self, on: &StreamOnDevice<'_>, loss: Loss) -> Result<DeviceStream> {
        let overview = lock(&self.passes).overview()?;
        let (kernels, _) = on
            .printed
            .kernels(on.loaded.first(), &self.variant(loss, overview.estimator))
            .map_err(|error| not_loaded(on.loaded.first(), error))?;
        let scale = overview.kernel_scale(loss);
        let sizes = (on.printed.program.params.len(), on.printed.free());
        let passes = lock(&self.passes);
        let capacity = match &passes.holder {
            Holder::Here(prefetch) => prefetch.capacity,
            Holder::Elsewhere(_) => 0,
        };
        passes
            .like(&overview, |like| DeviceStream::new(kernels, like, capacity, scale, sizes))
            .map_err(|error| failed(on.loaded.first(), error))
    }
}

impl PointSource for StreamSource<'_> {
    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
        view: &View<'_>,
    ) -> Result<PointEvaluator<'e>> {
        let stopper = self.token.as_ref().map(|token| token as &dyn Stopper);
        let patience = Patience { until: self.until, stopper };
        let (model, loss, start) = (options.model, view.loss, view.start.to_vec());
        let streamed = StreamEvaluator::new(&self.passes, (model, loss, patience), start);
        if view.plain && lock(&self.passes).overview()?.estimator == Estimator::Poisson {
            return Err(Error::NotForCounts { what: "a search in nonlinear parameters alone" });
        }
        let streamed = match self.on_device().map(|on| (on, self.device_passes(on, loss))) {
            None => streamed,
            Some((on, Ok(passes))) => streamed.on(Ok(passes), on.loaded.take_over),
            Some((on, Err(error))) if on.loaded.take_over => {
                streamed.on(Err(error.to_string()), true)
            }
            Some((_, Err(error))) => return Err(error),
        };
        Ok(PointEvaluator::Other(Box::new(streamed)))
    }

    fn failed(&self, error: DriverError) -> Error {
        failed_on(self.on_device().map(|on| &on.loaded), error)
    }

    fn distinct(&self, _enough: usize) -> usize {
        lock(&self.passes).known.as_ref().map_or(0, |(_, distinct)| *distinct)
    }

    fn spread(&self) -> Spread {
        lock(&self.passes).spread()
    }

    fn is_on_device(&self) -> bool {
        self.on_device().is_some()
    }

    fn stats(&self, evaluator: &dyn Evaluator) -> Stats {
        let loaded = self.on_device().map(|on| &on.loaded);
        match self.place.get() {
            Some(place) => place.stats(loaded, evaluator),
            None => {
                Placement::<StreamOnDevice<'_>>::on_cpu("the first pass").stats(None, evaluator)
            }
        }
    }
}
