//! Arrays of a batch's data in the memory of a device: arrays that all fits share, and arrays of the individual
//! fits.

use super::job::{Job, bytes_per_sample};
use crate::backend::cuda::device_points::bytes;
use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use crate::backend::cuda::memory::Buffer;
use crate::data::batch::{BatchData, Deviations};
use crate::observe::span;
use std::ops::Range;
use std::sync::Arc;

/// An array with the distance between the parts of adjacent fits.
pub(super) struct Array {
    pub(super) buffer: Buffer,
    apart: Apart,
}

#[derive(Clone, Copy)]
enum Apart {
    /// All fits share the array.
    Shared,
    /// Offset of this number of bytes per preceding sample.
    BySamples(usize),
    /// Offset of this number of bytes per preceding fit.
    ByFits(usize),
}

/// Arrays of consecutive fits.
#[derive(Default)]
pub(super) struct DeviceArrays {
    pub(super) columns: Vec<Array>,
    pub(super) samples: Option<Array>,
    pub(super) sigma: Option<Array>,
    pub(super) mask: Option<Array>,
    pub(super) offsets: Option<Array>,
    first_fit: usize,
    first_sample: usize,
}

/// All data of a batch, resident on a device. Any number of batches can use them without another upload.
pub(crate) struct Resident {
    pub(super) shared: DeviceArrays,
    pub(super) own: DeviceArrays,
}

/// The part of a batch's data that is on the device while it runs.
pub(super) enum DataAtHand<'a> {
    /// All data.
    Resident(&'a Resident),
    /// The data that all fits share.
    Shared(Box<DeviceArrays>),
}

/// The samples of consecutive fits.
fn samples_of(data: &BatchData<'_>, fits: &Range<usize>) -> Range<usize> {
    match fits.is_empty() {
        true => 0..0,
        false => data.range(fits.start).start..data.range(fits.end - 1).end,
    }
}

/// Returns true if all fits share one mask.
fn shares_mask(data: &BatchData<'_>) -> bool {
    data.mask.is_some_and(|mask| data.equal() == Some(mask.len()))
}

impl DeviceArrays {
    /// Uploads the arrays that all fits share.
    pub(super) fn shared(
        driver: &Arc<dyn Driver>,
        data: &BatchData<'_>,
    ) -> Result<DeviceArrays, DriverError> {
        let array = |buffer| Array { buffer, apart: Apart::Shared };
        let mut arrays = DeviceArrays::default();
        for column in data.columns.iter().filter(|_| !data.own) {
            arrays.columns.push(array(Buffer::with(driver, Queue::Work, bytes(column))?));
        }
        if let Deviations::OfPoint(sigma) = data.deviations() {
            arrays.sigma = Some(array(Buffer::with(driver, Queue::Work, sigma)?));
        }
        if let Some(mask) = data.mask.filter(|_| shares_mask(data)) {
            arrays.mask =
                Some(array(Buffer::with::<u8>(driver, Queue::Work, bytemuck::cast_slice(mask))?));
        }
        Ok(arrays)
    }

    /// Uploads the arrays that each fit has for itself, for consecutive fits, by a queue of the driver.
    pub(super) fn own(
        driver: &Arc<dyn Driver>,
        data: &BatchData<'_>,
        fits: Range<usize>,
        queue: Queue,
    ) -> Result<DeviceArrays, DriverError> {
        let samples = samples_of(data, &fits);
        let _span = span!(DEBUG, "upload", points = samples.len());
        let by_samples = |buffer, bytes| Array { buffer, apart: Apart::BySamples(bytes) };
        let by_fits = |buffer| Array { buffer, apart: Apart::ByFits(8) };
        let mut arrays = DeviceArrays::default();
        (arrays.first_fit, arrays.first_sample) = (fits.start, samples.start);
        for column in data.columns.iter().filter(|_| data.own) {
            let width = column.storage().bytes();
            let buffer = Buffer::with(driver, queue, bytes(&column.part(samples.clone())))?;
            arrays.columns.push(by_samples(buffer, width));
        }
        let buffer = Buffer::with(driver, queue, bytes(&data.samples.part(samples.clone())))?;
        arrays.samples = Some(by_samples(buffer, data.samples.storage().bytes()));
        match data.deviations() {
            Deviations::OfFit(sigma) => {
                arrays.sigma = Some(by_fits(Buffer::with(driver, queue, &sigma[fits.clone()])?));
            }
            Deviations::OfSample(sigma) => {
                arrays.sigma =
                    Some(by_samples(Buffer::with(driver, queue, &sigma[samples.clone()])?, 8));
            }
            Deviations::Same | Deviations::OfPoint(_) => {}
        }
        if let Some(mask) = data.mask.filter(|_| !shares_mask(data)) {
            let mask: &[u8] = bytemuck::cast_slice(&mask[samples]);
            arrays.mask = Some(by_samples(Buffer::with(driver, queue, mask)?, 1));
        }
        if let Some(offsets) = data.offset_list() {
            let offsets: Vec<u64> =
                offsets[fits.start..=fits.end].iter().map(|&o| o as u64).collect();
            arrays.offsets = Some(by_fits(Buffer::with(driver, queue, &offsets)?));
        }
        Ok(arrays)
    }

    /// Returns the address in `array` at which the values of fit `first` begin. `array`: one of the arrays of `self`,
    /// or a shared array, which begins at the same address for all fits.
    pub(super) fn address(&self, data: &BatchData<'_>, array: &Array, first: usize) -> u64 {
        let skipped = match array.apart {
            Apart::Shared => 0,
            Apart::BySamples(bytes) => (data.range(first).start - self.first_sample) * bytes,
            Apart::ByFits(bytes) => (first - self.first_fit) * bytes,
        };
        array.buffer.address() + skipped as u64
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Array> {
        let others = [&self.samples, &self.sigma, &self.mask, &self.offsets];
        self.columns.iter().chain(others.into_iter().flatten())
    }

    /// Returns the size of the allocated device memory, in bytes.
    fn bytes(&self) -> usize {
        self.all().map(|array| array.buffer.bytes()).sum()
    }
}

impl Resident {
    /// Uploads all fits of `data`.
    pub(crate) fn of(
        driver: &Arc<dyn Driver>,
        data: &BatchData<'_>,
    ) -> Result<Resident, DriverError> {
        let shared = DeviceArrays::shared(driver, data)?;
        Ok(Resident {
            shared,
            own: DeviceArrays::own(driver, data, 0..data.n_fits(), Queue::Work)?,
        })
    }

    /// Returns the size of the allocated device memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.bytes() + self.own.bytes()
    }
}

/// Returns the bytes per sample and the bytes per fit of the arrays that each fit has for itself.
pub(super) fn own_bytes(data: &BatchData<'_>) -> (usize, usize) {
    let (sigma, of_fit) = match data.deviations() {
        Deviations::OfSample(_) => (8, 0),
        Deviations::OfFit(_) => (0, 8),
        Deviations::Same | Deviations::OfPoint(_) => (0, 0),
    };
    let mask = usize::from(data.mask.is_some() && !shares_mask(data));
    let offsets = if data.equal().is_none() { 8 } else { 0 };
    (bytes_per_sample(data) + sigma + mask, of_fit + offsets)
}

/// Start and bounds that all fits share, uploaded once for all launches.
pub(super) struct SharedTerms {
    /// The starting point; `None` if each fit has its own.
    pub(super) start: Option<Buffer>,
    pub(super) lower: Buffer,
    pub(super) upper: Buffer,
}

impl SharedTerms {
    pub(super) fn new(driver: &Arc<dyn Driver>, job: &Job<'_>) -> Result<SharedTerms, DriverError> {
        let bound = |side: fn(&(f64, f64)) -> f64| job.bounds.iter().map(side).collect::<Vec<_>>();
        Ok(SharedTerms {
            start: match job.starts.shared(job.bounds.len()) {
                Some(start) => Some(Buffer::with(driver, Queue::Work, start)?),
                None => None,
            },
            lower: Buffer::with(driver, Queue::Work, &bound(|b| b.0))?,
            upper: Buffer::with(driver, Queue::Work, &bound(|b| b.1))?,
        })
    }
}
