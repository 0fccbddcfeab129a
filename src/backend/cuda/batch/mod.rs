//! Batches on a device. The host uploads chunks of fits, one persistent kernel runs all fits of a chunk, and the host
//! copies the results back. The next chunk can be uploaded meanwhile. Fits that the kernel cannot decide are marked for
//! the host.

pub(crate) mod arrays;
pub(crate) mod chunk;
mod job;
pub(crate) mod unit;

use super::device::{Device, LoadError, LoadedKernels};
use super::device_points::storage;
use super::driver::{DriverError, Geometry};
use super::memory::Buffer;
use super::source::{Arithmetic, Spec};
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::threads;
use arrays::{DataAtHand, DeviceArrays, Resident, SharedTerms};
pub(crate) use chunk::{BatchNumbers, Counts, FitChunk, FitEnd};
pub(crate) use job::{Job, KernelRules, bytes_per_sample};
use job::{Stage, weighting};
use std::ops::Range;
use std::sync::Arc;
use unit::{BatchShape, MOST_PARAMETERS, batch_unit, bench_bytes};

/// Blocks per multiprocessor: more than are resident concurrently, therefore no multiprocessor idles. Late blocks
/// find no more fits.
const BLOCKS: u32 = 16;

/// A batch on a device.
pub(crate) struct Batch<'a> {
    device: &'a Device,
    /// The kernels of each stage.
    kernels: Vec<Arc<LoadedKernels>>,
    shape: BatchShape,
    job: Job<'a>,
    data: DataAtHand<'a>,
    terms: SharedTerms,
    next: Buffer,
}

/// Source texts of the kernels of a batch, one per stage.
pub(crate) struct BatchUnits {
    texts: Vec<Arc<str>>,
    shape: BatchShape,
}

impl BatchUnits {
    /// Returns `None` for fits that do not fit into shared memory and for fits without free parameters.
    pub(crate) fn new(job: &Job<'_>, printed: &CompiledModel) -> Option<BatchUnits> {
        let mut spec = Spec {
            program: &printed.program,
            free: printed.free(),
            columns: job.data.columns.iter().map(storage).collect(),
            response: storage(&job.data.samples),
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
        let text = |stage: Stage| {
            (spec.loss, spec.arithmetic) = (stage.loss, stage.arithmetic);
            batch_unit(&spec, shape).into()
        };
        Some(BatchUnits { texts: job.stages().into_iter().map(text).collect(), shape })
    }

    /// Returns true if the device has already loaded the kernels and no compiler is needed.
    pub(crate) fn are_loaded(&self, device: &Device) -> bool {
        self.texts.iter().all(|text| device.is_loaded(text))
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
        let kernels = |text| device.kernels(text).map(|(kernels, _)| kernels);
        let kernels = threads::map(&units.texts, kernels).into_iter().collect::<Result<_, _>>()?;
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

    /// Uploads the fits of `range` to the device while the launched kernel runs.
    pub(crate) fn bring(&self, range: Range<usize>) -> Result<FitChunk, DriverError> {
        FitChunk::new(&self.device.driver, &self.job, &self.data, &self.terms, range)
    }

    /// Queues the fits of a chunk.
    pub(crate) fn launch(&self, chunk: &FitChunk) -> Result<(), DriverError> {
        self.device.driver.fence()?;
        let next = self.next.address();
        for (kernels, fits) in self.kernels.iter().zip(chunk.stages()) {
            self.next.clear()?;
            let arguments = [bytemuck::bytes_of(&fits), bytemuck::bytes_of(&next)];
            kernels.launch("make_fits", self.geometry(chunk.fits()), &arguments)?;
        }
        Ok(())
    }

    fn geometry(&self, fits: usize) -> Geometry {
        let most = BLOCKS.saturating_mul(self.device.properties().multiprocessors.max(1));
        let wanted = fits.div_ceil(self.shape.fits()).max(1);
        Geometry {
            blocks: u32::try_from(wanted).unwrap_or(u32::MAX).min(most),
            threads: self.shape.threads as u32,
        }
    }
}
