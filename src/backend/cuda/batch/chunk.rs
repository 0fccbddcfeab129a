//! Consecutive fits of a batch in the memory of a device: their inputs and their results.

use super::arrays::{Array, DataAtHand, DeviceArrays, SharedTerms, own_bytes};
use super::job::{Job, constant_weight};
use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use crate::backend::cuda::interface::{BatchLayout, COUNTS, Code, Filled, Reason, SigmaOf, Size};
use crate::backend::cuda::memory::Buffer;
use crate::data::Missing;
use crate::data::batch::Deviations;
use crate::data::loss::Estimator;
use crate::solver::termination::Termination;
use std::ops::Range;
use std::sync::Arc;

/// The fits of a launch.
pub(super) struct FitChunk {
    /// The structure `Batch` of the kernels for each stage, on the device and as words.
    stages: Vec<(Buffer, Vec<u64>)>,
    /// Number of the fits that the slim kernel leaves to the general one, then their positions.
    left: Option<Buffer>,
    params: Buffer,
    errors: Buffer,
    costs: Buffer,
    weights: Option<Buffer>,
    covariances: Option<Buffer>,
    counts: Buffer,
    fits: usize,
    /// Data of the individual fits, which the kernel reads.
    inputs: (Vec<Buffer>, Option<DeviceArrays>),
}

/// Returns the bytes per sample, and the bytes per fit without its samples. `held`: true if the data are on the device.
fn bytes(job: &Job<'_>, held: bool) -> (usize, usize) {
    let width = job.bounds.len();
    let (sample, mut fit) = if held { (0, 0) } else { own_bytes(job.data) };
    // 4 bytes for the list of the fits that the slim kernel leaves.
    fit += 8 * (2 * width + 1) + 4 * COUNTS + 4;
    if job.is_robust() {
        fit += 8;
    }
    if job.covariances {
        fit += 8 * width * width;
    }
    if job.starts.shared(width).is_none() {
        fit += 8 * width;
    }
    if job.starts.is_bounded() {
        fit += 16 * width;
    }
    (sample, fit)
}

/// Returns the range of fits from `first` on that needs at most `most` bytes; at least one fit.
pub(super) fn range(job: &Job<'_>, held: bool, first: usize, most: usize) -> Range<usize> {
    let (sample, fit) = bytes(job, held);
    let begin = job.data.range(first).start;
    let has_room = |end: usize| {
        let samples = job.data.range(end - 1).end - begin;
        samples.saturating_mul(sample).saturating_add((end - first).saturating_mul(fit)) <= most
    };
    // Bisection for the largest end that fits into memory: the memory grows with the number of fits.
    let (mut room, mut none) = (first + 1, job.data.n_fits() + 1);
    while none - room > 1 {
        let middle = room + (none - room) / 2;
        if has_room(middle) { room = middle } else { none = middle }
    }
    first..room
}

impl FitChunk {
    /// Uploads those data of the fits of `range` that are not on the device yet. The copies use [`Queue::Ahead`] and
    /// overlap with kernels.
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        job: &Job<'_>,
        held: &DataAtHand<'_>,
        terms: &SharedTerms,
        range: Range<usize>,
    ) -> Result<FitChunk, DriverError> {
        const AHEAD: Queue = Queue::Ahead;
        let (data, width, fits) = (job.data, job.bounds.len(), range.len());
        let rows = range.start * width..range.end * width;
        let mut inputs = Vec::new();
        let mut keep = |buffer: Result<Buffer, DriverError>| {
            let buffer = buffer?;
            let address = buffer.address();
            inputs.push(buffer);
            Ok::<u64, DriverError>(address)
        };

        let mut uploaded = None;
        let (shared, own) = match held {
            DataAtHand::Resident(resident) => (&resident.shared, &resident.own),
            DataAtHand::Shared(shared) => (
                &**shared,
                &*uploaded.insert(DeviceArrays::own(driver, data, range.clone(), AHEAD)?),
            ),
        };
        let address = |array: &Array| own.address(data, array, range.start);
        let (columns, params) = (data.columns.len(), width);
        let size = Size { columns, params, free: job.free.len() };
        let mut batch = Filled::<BatchLayout>::new(size);
        let of = batch.layout.clone();
        batch.set(&of.data.x, shared.columns.iter().chain(&own.columns).map(address));
        batch.set(&of.data.y, own.samples.as_ref().map(address));
        batch.set(&of.data.constant_weight, [constant_weight(data)]);
        batch.set(&of.data.loss_scale, [job.loss.scale().unwrap_or(1.0)]);
        batch.set(&of.data.points, [data.equal().unwrap_or(0)]);
        batch.set(&of.sigma, own.sigma.as_ref().or(shared.sigma.as_ref()).map(address));
        let sigma_of = match data.deviations() {
            Deviations::Same => SigmaOf::NoSigma,
            Deviations::OfFit(_) => SigmaOf::OfFit,
            Deviations::OfPoint(_) => SigmaOf::OfPoint,
            Deviations::OfSample(_) => SigmaOf::OfSample,
        };
        batch.set(&of.sigma_of, [sigma_of]);
        batch.set(&of.mask, own.mask.as_ref().or(shared.mask.as_ref()).map(address));
        batch.set(&of.mask_shared, [shared.mask.is_some()]);
        batch.set(&of.offsets, own.offsets.as_ref().map(address));
        match &terms.start {
            Some(buffer) => batch.set(&of.starts, [buffer.address()]),
            None => {
                let starts = job.starts.of_range(range.clone(), width);
                batch.set(&of.starts, [keep(Buffer::with(driver, AHEAD, starts))?]);
                batch.set(&of.start_stride, [width]);
            }
        }
        batch.set(&of.lower, [terms.lower.address()]);
        batch.set(&of.upper, [terms.upper.address()]);
        if let Some((lower, upper)) = job.starts.bounds_of_range(rows) {
            batch.set(&of.own_lower, [keep(Buffer::with(driver, AHEAD, lower))?]);
            batch.set(&of.own_upper, [keep(Buffer::with(driver, AHEAD, upper))?]);
        }
        batch.set(&of.fits, [fits]);
        batch.set(&of.own, [data.own]);
        batch.set(&of.omit, [data.missing == Missing::Omit]);
        let absolute = job.estimator == Estimator::Poisson || data.sigma.is_absolute();
        batch.set(&of.absolute, [absolute]);
        batch.set(&of.clamp_start, [job.clamp_start]);
        batch.set(&of.underdetermined, [job.underdetermined]);
        batch.set(&of.initial_radius, [job.rules.initial_radius]);
        batch.set(&of.floor, [job.rules.floor]);
        batch.set(&of.free, job.free.iter().copied());
        let unused = job.free.iter().enumerate().filter(|&(_, &k)| job.unused[k]);
        batch.set(&of.unused, [unused.fold(0_usize, |bits, (j, _)| bits | 1 << j)]);

        let params = Buffer::of::<f64>(driver, fits * width)?;
        let errors = Buffer::of::<f64>(driver, fits * width)?;
        let costs = Buffer::of::<f64>(driver, fits)?;
        let optional =
            |wanted: bool, count| wanted.then(|| Buffer::of::<f64>(driver, count)).transpose();
        let weights = optional(job.is_robust(), fits)?;
        let covariances = optional(job.covariances, fits * width * width)?;
        let counts = Buffer::of::<u32>(driver, fits * COUNTS)?;
        batch.set(&of.out.params, [params.address()]);
        batch.set(&of.out.errors, [errors.address()]);
        batch.set(&of.out.costs, [costs.address()]);
        batch.set(&of.out.weights, weights.as_ref().map(Buffer::address));
        batch.set(&of.out.covariances, covariances.as_ref().map(Buffer::address));
        batch.set(&of.out.counts, [counts.address()]);

        let mut stages = Vec::new();
        let list = job.stages();
        for (number, stage) in list.iter().enumerate() {
            let rules = if stage.is_rough() { job.rules.in_f32() } else { job.rules };
            // One evaluation is reserved for each following stage.
            let most = job.rules.evaluations - (list.len() - 1 - number);
            batch.set(&of.limit, [rules.evaluations.min(most)]);
            batch.set(&of.ftol, [rules.ftol]);
            batch.set(&of.xtol, [rules.xtol]);
            batch.set(&of.gtol, [rules.gtol]);
            batch.set(&of.etol, [rules.etol]);
            batch.set(&of.keep, [stage.keep]);
            if number > 0 {
                batch.set(&of.continued, [true]);
                batch.set(&of.starts, [params.address()]);
                batch.set(&of.start_stride, [width]);
            }
            stages.push((Buffer::with(driver, AHEAD, &batch.words)?, batch.words.clone()));
        }
        let left = match job.has_slim_kernel() {
            true => Some(Buffer::of::<u32>(driver, fits + 1)?),
            false => None,
        };
        Ok(FitChunk {
            stages,
            left,
            params,
            errors,
            costs,
            weights,
            covariances,
            counts,
            fits,
            inputs: (inputs, uploaded),
        })
    }

    /// Returns the structure `Batch` of the kernels for each stage: its address on the device and its words.
    pub(super) fn stages(&self) -> impl Iterator<Item = (u64, &[u64])> {
        self.stages.iter().map(|(buffer, words)| (buffer.address(), &words[..]))
    }

    /// Returns the list for the fits that the slim kernel leaves, if it supports the batch.
    pub(super) fn left(&self) -> Option<&Buffer> {
        self.left.as_ref()
    }

    pub(super) fn fits(&self) -> usize {
        self.fits
    }

    /// Reads the results, which the kernel has written. After an error the contents of `results` are undefined.
    pub(super) fn read(
        self,
        results: ChunkResults<'_>,
        counts: &mut BatchCounts,
    ) -> Result<(), DriverError> {
        let queue = Queue::Results;
        counts.0.resize(self.fits * COUNTS, 0);
        self.counts.read(queue, 0, &mut counts.0)?;
        self.params.read(queue, 0, results.params)?;
        self.errors.read(queue, 0, results.errors)?;
        self.costs.read(queue, 0, results.costs)?;
        if let Some(weights) = &self.weights {
            weights.read(queue, 0, results.weights)?;
        }
        if let Some(covariances) = &self.covariances {
            covariances.read(queue, 0, results.covariances)?;
        }
        // All transfers are complete. Buffers marked as idle are released without a fence; therefore the next chunk,
        // which reuses their memory, can upload while a kernel runs.
        self.buffers().for_each(Buffer::rest);
        Ok(())
    }

    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let (inputs, uploaded) = &self.inputs;
        let results = [&self.params, &self.errors, &self.costs, &self.counts];
        let arrays = uploaded.iter().flat_map(|arrays| arrays.all().map(|array| &array.buffer));
        let stages = self.stages.iter().map(|(buffer, _)| buffer);
        let own =
            stages.chain(inputs).chain(&self.weights).chain(&self.covariances).chain(&self.left);
        own.chain(results).chain(arrays)
    }
}

/// Arrays of the host that receive the results of consecutive fits, one row per fit.
pub(crate) struct ChunkResults<'a> {
    pub(crate) params: &'a mut [f64],
    pub(crate) errors: &'a mut [f64],
    pub(crate) costs: &'a mut [f64],
    /// Sum of the robust weights (effective points); not changed unless the loss is robust.
    pub(crate) weights: &'a mut [f64],
    /// Empty if covariances are not requested.
    pub(crate) covariances: &'a mut [f64],
}

/// Counts of consecutive fits, as the kernel writes them.
#[derive(Default)]
pub(crate) struct BatchCounts(Vec<u32>);

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

impl BatchCounts {
    /// Returns the counts of the `index`-th fit.
    pub(crate) fn of(&self, index: usize) -> Counts {
        let words = &self.0[index * COUNTS..(index + 1) * COUNTS];
        let halves = |word: u32| [word & 0xffff, word >> 16];
        let [reason, rank] = halves(words[0]);
        Counts {
            kind: match Reason::from_word(u64::from(reason)) {
                None | Some(Reason::None) => FitEnd::ForTheHost,
                Some(Reason::BadData) => FitEnd::BadData(words[1] as usize),
                Some(reason) => FitEnd::Ended(termination_of(reason)),
            },
            points: words[1] as usize,
            iterations: words[2],
            evaluations: words[3],
            rank,
            held: halves(words[4]),
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
