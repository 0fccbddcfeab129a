//! Batches on a device. The host uploads chunks of fits, persistent kernels run all fits of a chunk, and the host
//! copies the results back. The next chunk can be uploaded meanwhile. Fits that the kernels cannot decide are marked for
//! the host.

pub(crate) mod arrays;
pub(crate) mod chunk;
mod job;
mod nan;
pub(crate) mod unit;

use super::device::{Device, LoadError, LoadedKernels};
use super::driver::{DriverError, Geometry, Mark};
use super::memory::Buffer;
use super::source::{Arithmetic, Spec};
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::threads;
use arrays::{DataAtHand, DeviceArrays, Resident, SharedTerms};
use chunk::FitChunk;
pub(crate) use chunk::{BatchCounts, ChunkResults, Counts, FitEnd};
pub(crate) use job::{Job, KernelRules, bytes_per_sample};
use job::{Stage, weighting};
use std::ops::Range;
use std::sync::Arc;
use unit::{BatchShape, MOST_PARAMETERS, SLIM_SHAPE, batch_unit, bench_bytes, slim_unit};

const SLIM_KERNEL: &str = "slim_fits";
const GENERAL_KERNEL: &str = "make_fits";
/// Blocks per multiprocessor: more than are resident concurrently, therefore no multiprocessor idles. Late blocks
/// find no more fits.
const BLOCKS: u32 = 16;

/// A batch on a device.
pub(crate) struct Batch<'a> {
    device: &'a Device,
    kernels: Vec<StageKernels<Arc<LoadedKernels>>>,
    shape: BatchShape,
    job: Job<'a>,
    data: DataAtHand<'a>,
    terms: SharedTerms,
    next: Buffer,
}

/// Fits whose kernels were launched.
pub(crate) struct LaunchedChunk {
    fits: FitChunk,
    /// End of the kernels.
    end: Mark,
}

/// The kernels of one stage.
struct StageKernels<T> {
    /// The slim kernel, if it supports the batch; it leaves unusual fits to the general kernel.
    slim: Option<T>,
    general: T,
}

/// Source texts of the kernels of a batch, one per stage.
pub(crate) struct BatchUnits {
    texts: Vec<StageKernels<Arc<str>>>,
    shape: BatchShape,
}

impl BatchUnits {
    /// Returns `None` for fits that do not fit into shared memory and for fits without free parameters.
    pub(crate) fn new(job: &Job<'_>, printed: &CompiledModel) -> Option<BatchUnits> {
        let mut spec = Spec {
            program: &printed.program,
            free: printed.free(),
            columns: job.data.columns.iter().map(|column| column.storage()).collect(),
            response: job.data.samples.storage(),
            weights: weighting(job.data),
            loss: job.loss,
            estimator: job.estimator,
            arithmetic: Arithmetic::Double,
        };
        if !(1..=MOST_PARAMETERS).contains(&spec.free) {
            return None;
        }
        let points = job.data.samples.len() / job.data.n_fits().max(1);
        let shape = BatchShape::new(points, bench_bytes(&spec))?;
        let keeps_nan = nan::reaches_value(&spec.program.nodes, spec.program.outputs[0]);
        let text = |stage: Stage| {
            (spec.loss, spec.arithmetic) = (stage.loss, stage.arithmetic);
            let formula = stage.loss.formula().map(|formula| formula.program());
            let keeps_nan =
                keeps_nan && formula.is_none_or(|f| nan::reaches_value(&f.nodes, f.outputs[0]));
            let is_slim = job.has_slim_kernel() && keeps_nan;
            StageKernels {
                slim: is_slim.then(|| slim_unit(&spec, job.free, job.data.own).into()),
                general: batch_unit(&spec, shape).into(),
            }
        };
        Some(BatchUnits { texts: job.stages().into_iter().map(text).collect(), shape })
    }

    /// Returns true if the device has already loaded the kernels and no compiler is needed.
    pub(crate) fn are_loaded(&self, device: &Device) -> bool {
        self.all().all(|text| device.is_loaded(text))
    }
}

impl BatchUnits {
    fn all(&self) -> impl Iterator<Item = &Arc<str>> {
        self.texts.iter().flat_map(|stage| stage.slim.iter().chain([&stage.general]))
    }
}

impl<'a> Batch<'a> {
    /// Compiles the kernels in parallel if necessary and uploads the data that all fits share. `resident`: the data, if
    /// they are already on the device.
    pub(crate) fn new(
        device: &'a Device,
        units: &BatchUnits,
        job: Job<'a>,
        resident: Option<&'a Resident>,
    ) -> Result<Batch<'a>, LoadError> {
        let load = |text: &Arc<str>| device.kernels(text).map(|(kernels, _)| kernels);
        // All units are compiled in parallel; then the device has them.
        let texts: Vec<&Arc<str>> = units.all().collect();
        threads::map(&texts, |text| load(text)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let of_stage = |stage: &StageKernels<Arc<str>>| {
            let slim = stage.slim.as_ref().map(load).transpose()?;
            let general = load(&stage.general)?;
            // The fits of the general kernel are in shared memory. The slim kernel has none; its spills are in L1.
            slim.iter().for_each(|kernels| kernels.prefer_shared(SLIM_KERNEL, 0));
            general.prefer_shared(GENERAL_KERNEL, 100);
            Ok(StageKernels { slim, general })
        };
        let kernels = units.texts.iter().map(of_stage).collect::<Result<_, LoadError>>()?;
        let driver = &device.driver;
        let data = match resident {
            Some(resident) => DataAtHand::Resident(resident),
            None => DataAtHand::Shared(Box::new(DeviceArrays::shared(driver, job.data)?)),
        };
        let terms = SharedTerms::new(driver, &job)?;
        let next = Buffer::of::<u64>(driver, 1)?;
        Ok(Batch { device, kernels, shape: units.shape, job, data, terms, next })
    }

    /// Returns the range of fits from `first` on that needs at most `bytes` bytes of device memory; at least one
    /// fit.
    pub(crate) fn chunk(&self, first: usize, bytes: usize) -> Range<usize> {
        chunk::range(&self.job, matches!(self.data, DataAtHand::Resident(_)), first, bytes)
    }

    /// Uploads the fits of `range` while earlier kernels run, and queues their kernels.
    pub(crate) fn launch(&self, range: Range<usize>) -> Result<LaunchedChunk, DriverError> {
        let driver = &self.device.driver;
        let fits = FitChunk::new(driver, &self.job, &self.data, &self.terms, range)?;
        driver.fence()?;
        self.queue_kernels(&fits)?;
        Ok(LaunchedChunk { fits, end: driver.mark()? })
    }

    /// Waits for the kernels of a chunk and reads their results, while later kernels run. After an error the contents
    /// of `results` are undefined.
    pub(crate) fn read(
        &self,
        chunk: LaunchedChunk,
        results: ChunkResults<'_>,
        counts: &mut BatchCounts,
    ) -> Result<(), DriverError> {
        self.device.driver.wait(chunk.end)?;
        chunk.fits.read(results, counts)
    }

    /// Queues the kernels of a chunk. The general kernel runs the fits that the slim kernel has left, or all.
    fn queue_kernels(&self, chunk: &FitChunk) -> Result<(), DriverError> {
        let next = self.next.address();
        for (kernels, (fits, words)) in self.kernels.iter().zip(chunk.stages()) {
            let mut left = 0;
            if let (Some(slim), Some(list)) = (&kernels.slim, chunk.left()) {
                left = list.address();
                list.clear()?;
                self.next.clear()?;
                let [next, left] = [&next, &left].map(bytemuck::bytes_of);
                let arguments = [bytemuck::cast_slice(words), next, left];
                slim.launch(SLIM_KERNEL, self.geometry(SLIM_SHAPE, chunk.fits()), &arguments)?;
            }
            self.next.clear()?;
            let arguments = [&fits, &next, &left].map(bytemuck::bytes_of);
            let geometry = self.geometry(self.shape, chunk.fits());
            kernels.general.launch(GENERAL_KERNEL, geometry, &arguments)?;
        }
        Ok(())
    }

    fn geometry(&self, shape: BatchShape, fits: usize) -> Geometry {
        let most = BLOCKS.saturating_mul(self.device.properties().multiprocessors.max(1));
        let wanted = fits.div_ceil(shape.fits()).max(1);
        Geometry {
            blocks: u32::try_from(wanted).unwrap_or(u32::MAX).min(most),
            threads: shape.threads as u32,
        }
    }
}
