//! Consecutive fits of a batch in the memory of a device: what goes there, and room for what is found.

use super::arrays::{Addresses, Arrays, has_shared_mask, own_bytes, put_by};
use super::terms::Terms;
use super::{COUNTS, Data, Found, Job};
use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use crate::backend::cuda::memory::Buffer;
use crate::data::Missing;
use crate::data::batch::BatchSigma;
use crate::data::estimator::Estimator;
use std::ops::Range;
use std::sync::Arc;

/// The fits of a launch.
pub(crate) struct Chunk {
    /// `Batch` of `kernels/batch_data.cuh`, for each stage.
    stages: Vec<Buffer>,
    params: Buffer,
    errors: Buffer,
    costs: Buffer,
    covariances: Option<Buffer>,
    counts: Buffer,
    fits: usize,
    width: usize,
    /// The fits' own, of which the kernel knows the addresses.
    _inputs: (Vec<Buffer>, Option<Arrays>),
}

/// Bytes that each sample takes, and each fit beside its samples. `held`: whether the data are there.
fn bytes(job: &Job<'_>, held: bool) -> (usize, usize) {
    let width = job.bounds.len();
    let (sample, mut fit) = if held { (0, 0) } else { own_bytes(job.data) };
    fit += 8 * (2 * width + 1) + 4 * COUNTS + if job.covariances { 8 * width * width } else { 0 };
    if job.starts.shared(width).is_none() {
        fit += 8 * width;
    }
    if job.starts.is_bounded() {
        fit += 16 * width;
    }
    (sample, fit)
}

/// The fits from `first` on that take no more than `most` bytes; one at least.
pub(super) fn range(job: &Job<'_>, held: bool, first: usize, most: usize) -> Range<usize> {
    let (sample, fit) = bytes(job, held);
    let begin = job.data.range(first).start;
    let has_room = |end: usize| {
        let samples = job.data.range(end - 1).end - begin;
        samples.saturating_mul(sample).saturating_add((end - first).saturating_mul(fit)) <= most
    };
    // The last end for which there is room, by bisection: what fits take grows with their number.
    let (mut room, mut none) = (first + 1, job.data.n_fits() + 1);
    while none - room > 1 {
        let middle = room + (none - room) / 2;
        if has_room(middle) { room = middle } else { none = middle }
    }
    first..room
}

impl Chunk {
    /// Uploads what is not there of the fits of `range`, ahead of the work that was queued.
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        job: &Job<'_>,
        held: &Data<'_>,
        terms: &Terms,
        range: Range<usize>,
    ) -> Result<Chunk, DriverError> {
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
            Data::Resident(resident) => (&resident.shared, &resident.own),
            Data::Shared(shared) => {
                (&**shared, &*uploaded.insert(Arrays::own(driver, data, range.clone(), AHEAD)?))
            }
        };
        let at = Addresses::new(data, shared, own, range.start);
        let mut words = at.columns;
        words.push(at.samples);
        let constant = if let BatchSigma::Constant(sigma) = data.sigma { 1.0 / sigma } else { 1.0 };
        let loss_scale = job.loss.scale().unwrap_or(1.0);
        let points = data.equal().unwrap_or(0) as u64;
        words.extend([0, constant.to_bits(), loss_scale.to_bits(), points]);

        let sigma_of = match data.sigma {
            BatchSigma::Unknown | BatchSigma::Constant(_) => 0,
            BatchSigma::PerFit(_) => 1,
            BatchSigma::Shared(_) => 2,
            BatchSigma::PerPoint(_) => 3,
        };
        let start = match &terms.start {
            Some(buffer) => buffer.address(),
            None => keep(put_by(driver, AHEAD, job.starts.of_range(range.clone(), width)))?,
        };
        words.extend([at.sigma, at.mask, at.offsets]);
        let start_at = words.len();
        words.extend([start, terms.lower.address(), terms.upper.address()]);
        match job.starts.bounds_of_range(rows) {
            Some((lower, upper)) => {
                words.extend([
                    keep(put_by(driver, AHEAD, lower))?,
                    keep(put_by(driver, AHEAD, upper))?,
                ]);
            }
            None => words.extend([0, 0]),
        }
        let absolute =
            job.estimator == Estimator::Poisson || !matches!(data.sigma, BatchSigma::Unknown);
        words.extend([fits as u64, u64::from(data.own), sigma_of]);
        words.push(u64::from(has_shared_mask(shared)));
        let stride_at = words.len();
        words.push(if terms.start.is_some() { 0 } else { width as u64 });
        words.push(u64::from(data.missing == Missing::Omit));
        words.extend([absolute, job.clamp_start, job.underdetermined].map(u64::from));
        let rules = &job.rules;
        let continued_at = words.len();
        words.extend([0, rules.evaluations as u64]);
        let numbers = [rules.ftol, rules.xtol, rules.gtol, rules.initial_radius, rules.floor];
        words.extend(numbers.map(f64::to_bits));
        words.extend(job.free.iter().map(|&k| k as u64));
        words.extend(job.free.iter().map(|&k| u64::from(job.unused[k])));

        let params = Buffer::of::<f64>(driver, fits * width)?;
        let errors = Buffer::of::<f64>(driver, fits * width)?;
        let costs = Buffer::of::<f64>(driver, fits)?;
        let covariances = match job.covariances {
            true => Some(Buffer::of::<f64>(driver, fits * width * width)?),
            false => None,
        };
        let counts = Buffer::of::<u32>(driver, fits * COUNTS)?;
        words.extend([&params, &errors, &costs].map(Buffer::address));
        words.extend([address(&covariances), counts.address()]);

        let mut stages = Vec::new();
        if job.has_two_stages() {
            words[continued_at + 1] -= 1;
            stages.push(put_by(driver, AHEAD, &words)?);
            words[continued_at + 1] += 1;
            (words[continued_at], words[start_at]) = (1, params.address());
            words[stride_at] = width as u64;
        }
        stages.push(put_by(driver, AHEAD, &words)?);
        Ok(Chunk {
            stages,
            params,
            errors,
            costs,
            covariances,
            counts,
            fits,
            width,
            _inputs: (inputs, uploaded),
        })
    }

    /// The addresses of the kernels' `Batch`, for each stage.
    pub(super) fn stages(&self) -> impl Iterator<Item = u64> {
        self.stages.iter().map(Buffer::address)
    }

    pub(super) fn fits(&self) -> usize {
        self.fits
    }

    /// Waits for the kernel and reads what it found.
    pub(crate) fn read(&self, found: &mut Found) -> Result<(), DriverError> {
        let (fits, width) = (self.fits, self.width);
        found.counts.resize(fits * COUNTS, 0);
        found.params.resize(fits * width, 0.0);
        found.errors.resize(fits * width, 0.0);
        found.costs.resize(fits, 0.0);
        self.counts.read(0, &mut found.counts)?;
        self.params.read(0, &mut found.params)?;
        self.errors.read(0, &mut found.errors)?;
        self.costs.read(0, &mut found.costs)?;
        if let Some(covariances) = &self.covariances {
            found.covariances.resize(fits * width * width, 0.0);
            covariances.read(0, &mut found.covariances)?;
        }
        Ok(())
    }
}

/// The address of a buffer, 0 where there is none.
fn address(buffer: &Option<Buffer>) -> u64 {
    buffer.as_ref().map_or(0, Buffer::address)
}
