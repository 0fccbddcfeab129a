//! Batches on a device. The host uploads chunks of fits, one persistent kernel runs all fits of a chunk, and the host
//! copies the results back. The next chunk can be uploaded meanwhile. Fits that the kernel cannot decide are marked for
//! the host.

pub(crate) mod arrays;
mod chunk;
pub(crate) mod unit;

use super::device::{Device, LoadError, LoadedKernels};
use super::device_points::storage;
use super::driver::{DriverError, Geometry};
use super::interface::{COUNTS, Code, Reason};
use super::memory::Buffer;
use super::source::{Arithmetic, Spec, Weighting};
use crate::backend::Precision;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::data::batch::{BatchData, Deviations, Starts};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Sigma;
use crate::solver::termination::Termination;
use crate::threads;
use arrays::{DeviceArrays, Resident, SharedTerms};
pub(crate) use chunk::FitChunk;
use std::ops::Range;
use std::sync::Arc;
use unit::{BatchShape, MOST_PARAMETERS, batch_unit, bench_bytes};

/// Blocks per multiprocessor: more than are resident concurrently, therefore no multiprocessor idles. Late blocks
/// find no more fits.
const BLOCKS: u32 = 16;

/// Settings that all fits of a batch share. Arrays have one value per parameter, except `free`.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) data: &'a BatchData<'a>,
    pub(crate) starts: &'a Starts<'a>,
    pub(crate) bounds: &'a [(f64, f64)],
    /// Positions of the free parameters.
    pub(crate) free: &'a [usize],
    pub(crate) unused: &'a [bool],
    pub(crate) loss: Loss,
    pub(crate) estimator: Estimator,
    pub(crate) precision: Precision,
    pub(crate) rules: KernelRules,
    pub(crate) clamp_start: bool,
    pub(crate) underdetermined: bool,
    /// True if covariance matrices are requested.
    pub(crate) covariances: bool,
}

/// Loss and arithmetic of one launch, which continues from the results of the previous launch.
#[derive(Clone, Copy)]
struct Stage {
    loss: Loss,
    arithmetic: Arithmetic,
    /// True if fits that converge in f32, in this stage or the previous one, are final.
    keep: bool,
}

impl Stage {
    fn is_rough(&self) -> bool {
        self.arithmetic != Arithmetic::Double
    }
}

impl Job<'_> {
    /// Returns the stages of a fit: f32 before f64, and [`Loss::first`] before the fit's loss if there is one.
    /// The f32 stage then uses the first loss only, because the fit's loss has many minima and f32 might find another.
    /// Each stage needs an evaluation; if the limit is smaller, the first stages are left out.
    fn stages(&self) -> Vec<Stage> {
        let first = self.loss.first();
        let keep = self.precision == Precision::Single && first.is_none();
        // Each lane sums short runs in f32 and adds them to totals in f64, which needs no pairs.
        let single = Arithmetic::Single { compensated: true };
        let rough = Stage { loss: first.unwrap_or(self.loss), arithmetic: single, keep };
        let mut stages = Vec::new();
        stages.extend(Some(rough).filter(|_| self.precision != Precision::Double));
        let exact = first.into_iter().chain([self.loss]);
        stages.extend(exact.map(|loss| Stage { loss, arithmetic: Arithmetic::Double, keep }));
        let surplus = stages.len().saturating_sub(self.rules.evaluations.max(1));
        stages.split_off(surplus)
    }
}

/// Stopping rules and limits of each fit.
#[derive(Clone, Copy)]
pub(crate) struct KernelRules {
    pub(crate) ftol: f64,
    pub(crate) xtol: f64,
    pub(crate) gtol: f64,
    pub(crate) etol: f64,
    pub(crate) initial_radius: f64,
    /// Maximum number of evaluations.
    pub(crate) evaluations: usize,
    /// Floor of the robust correction while iterating.
    pub(crate) floor: f64,
    /// The least `ftol`, `xtol` and `etol` in f32.
    pub(crate) rough: [f64; 3],
}

impl KernelRules {
    /// Returns the rules of an f32 stage. It takes at most half of the evaluations,
    /// because f64 may have to start again.
    fn in_f32(self) -> KernelRules {
        let [ftol, xtol, etol] = self.rough;
        let evaluations = self.evaluations.div_ceil(2);
        let (ftol, xtol, etol) = (self.ftol.max(ftol), self.xtol.max(xtol), self.etol.max(etol));
        KernelRules { ftol, xtol, etol, evaluations, ..self }
    }
}

/// Results of consecutive fits, as the kernel writes them.
#[derive(Default)]
pub(crate) struct BatchNumbers {
    pub(crate) params: Vec<f64>,
    pub(crate) errors: Vec<f64>,
    pub(crate) costs: Vec<f64>,
    pub(crate) covariances: Vec<f64>,
    counts: Vec<u32>,
}

/// Counts that the kernel returns for a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) kind: FitEnd,
    pub(crate) iterations: u32,
    pub(crate) evaluations: u32,
    pub(crate) points: usize,
    pub(crate) rank: u32,
    /// Bit sets of the free parameters at a lower bound and at an upper bound.
    pub(crate) held: [u32; 2],
    /// Sum of the robust weights (effective points); only for a robust loss.
    pub(crate) weight: f64,
}

impl Counts {
    /// Returns the number of free parameters at a bound.
    pub(crate) fn number_held(&self) -> usize {
        (self.held[0] | self.held[1]).count_ones() as usize
    }
}

/// Result of a fit on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FitEnd {
    /// The kernel did not run this fit.
    ForTheHost,
    /// The fit ended for this reason.
    Ended(Termination),
    /// The sample at this point is not finite.
    BadData(usize),
}

impl BatchNumbers {
    /// Returns the counts of the `index`-th fit.
    pub(crate) fn counts(&self, index: usize) -> Counts {
        let words = &self.counts[index * COUNTS..(index + 1) * COUNTS];
        Counts {
            kind: match Reason::from_word(u64::from(words[0])) {
                None | Some(Reason::None) => FitEnd::ForTheHost,
                Some(Reason::BadData) => FitEnd::BadData(words[1] as usize),
                Some(reason) => FitEnd::Ended(termination_of(reason)),
            },
            iterations: words[2],
            evaluations: words[3],
            points: words[4] as usize,
            rank: words[5],
            held: [words[6], words[7]],
            weight: f64::from_bits(u64::from(words[9]) << 32 | u64::from(words[8])),
        }
    }
}

/// Returns the termination of the kernel's `reason`.
pub(crate) fn termination_of(reason: Reason) -> Termination {
    match reason {
        Reason::Gradient => Termination::Gradient,
        Reason::Cost => Termination::Cost,
        Reason::Step => Termination::Step,
        Reason::ExactFit => Termination::ExactFit,
        Reason::MaxEvaluations => Termination::MaxEvaluations,
        Reason::ModelNonFinite => Termination::ModelNonFinite,
        Reason::ZeroGradientAtStart => Termination::ZeroGradientAtStart,
        Reason::Degenerate => Termination::Degenerate,
        // A fit that has ended never has the reasons `None` and `BadData`.
        Reason::NoProgress | Reason::None | Reason::BadData => Termination::NoProgress,
    }
}

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

/// The part of a batch's data that is on the device while it runs.
enum DataAtHand<'a> {
    /// All data.
    Resident(&'a Resident),
    /// The data that all fits share.
    Shared(Box<DeviceArrays>),
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

/// Returns the weight of all samples if there is no sigma per sample.
fn constant_weight(data: &BatchData<'_>) -> f64 {
    if let Sigma::Constant(sigma) = data.sigma { 1.0 / sigma } else { 1.0 }
}

/// Returns the kind of weights of the samples.
fn weighting(data: &BatchData<'_>) -> Weighting {
    match data.deviations() {
        Deviations::Same if constant_weight(data) == 1.0 => Weighting::One,
        Deviations::Same => Weighting::Same,
        _ => Weighting::Each,
    }
}

/// Returns the size of a sample on a device, in bytes, including the columns that each fit has for itself.
pub(crate) fn bytes_per_sample(data: &BatchData<'_>) -> usize {
    let own = data.columns.iter().filter(|_| data.own);
    let columns = own.map(|c| storage(c).bytes()).sum::<usize>();
    columns + storage(&data.samples).bytes()
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
