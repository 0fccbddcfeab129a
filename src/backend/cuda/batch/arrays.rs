//! The arrays of a batch's data in the memory of a device: those that all fits share, and those of which each
//! fit has its part.

use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use crate::backend::cuda::memory::Buffer;
use crate::data::batch::{BatchData, BatchSigma, Samples};
use crate::data::values::Values;
use crate::observe::span;
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;

/// An array, and how far apart the parts of its fits are.
struct Array {
    buffer: Buffer,
    apart: Apart,
}

#[derive(Clone, Copy)]
enum Apart {
    /// All fits share it.
    Shared,
    /// So many bytes for each sample before them.
    BySamples(usize),
    /// So many bytes for each fit before them.
    ByFits(usize),
}

/// Arrays of consecutive fits.
pub(super) struct Arrays {
    columns: Vec<Array>,
    samples: Option<Array>,
    sigma: Option<Array>,
    mask: Option<Array>,
    offsets: Option<Array>,
    first_fit: usize,
    first_sample: usize,
}

/// All data of a batch on a device, for any number of batches of them.
pub(crate) struct Resident {
    pub(super) shared: Arrays,
    pub(super) own: Arrays,
}

/// The addresses of what a kernel reads of consecutive fits, 0 for what there is not.
pub(super) struct Addresses {
    /// One at least.
    pub(super) columns: Vec<u64>,
    pub(super) samples: u64,
    pub(super) sigma: u64,
    pub(super) mask: u64,
    pub(super) offsets: u64,
}

/// The samples of consecutive fits.
fn samples_of(data: &BatchData<'_>, fits: &Range<usize>) -> Range<usize> {
    match fits.is_empty() {
        true => 0..0,
        false => data.range(fits.start).start..data.range(fits.end - 1).end,
    }
}

/// Whether one mask serves all fits.
fn shares_mask(data: &BatchData<'_>) -> bool {
    data.mask.is_some_and(|mask| data.equal() == Some(mask.len()))
}

impl Arrays {
    fn none() -> Arrays {
        let columns = Vec::new();
        let (samples, sigma, mask, offsets) = (None, None, None, None);
        Arrays { columns, samples, sigma, mask, offsets, first_fit: 0, first_sample: 0 }
    }

    /// What all fits share.
    pub(super) fn shared(
        driver: &Arc<dyn Driver>,
        data: &BatchData<'_>,
    ) -> Result<Arrays, DriverError> {
        let array = |buffer| Array { buffer, apart: Apart::Shared };
        let mut arrays = Arrays::none();
        for column in data.columns.iter().filter(|_| !data.own) {
            arrays.columns.push(array(put_values(driver, Queue::Work, column)?));
        }
        if let BatchSigma::Shared(sigma) = data.sigma {
            arrays.sigma = Some(array(put(driver, sigma)?));
        }
        if let Some(mask) = data.mask.filter(|_| shares_mask(data)) {
            arrays.mask = Some(array(put::<u8>(driver, bytemuck::cast_slice(mask))?));
        }
        Ok(arrays)
    }

    /// What is each fit's own, of consecutive fits, by a queue of the driver.
    pub(super) fn own(
        driver: &Arc<dyn Driver>,
        data: &BatchData<'_>,
        fits: Range<usize>,
        queue: Queue,
    ) -> Result<Arrays, DriverError> {
        let samples = samples_of(data, &fits);
        let _span = span!(DEBUG, "upload", points = samples.len());
        let by_samples = |buffer, bytes| Array { buffer, apart: Apart::BySamples(bytes) };
        let by_fits = |buffer| Array { buffer, apart: Apart::ByFits(8) };
        let mut arrays = Arrays::none();
        (arrays.first_fit, arrays.first_sample) = (fits.start, samples.start);
        for column in data.columns.iter().filter(|_| data.own) {
            let bytes = super::super::device_points::storage(column).bytes();
            let buffer = put_values(driver, queue, &column.part(samples.clone()))?;
            arrays.columns.push(by_samples(buffer, bytes));
        }
        let buffer = put_samples(driver, queue, &data.samples, samples.clone())?;
        arrays.samples = Some(by_samples(buffer, super::response(&data.samples).bytes()));
        match data.sigma {
            BatchSigma::PerFit(sigma) => {
                arrays.sigma = Some(by_fits(put_by(driver, queue, &sigma[fits.clone()])?));
            }
            BatchSigma::PerPoint(sigma) => {
                arrays.sigma = Some(by_samples(put_by(driver, queue, &sigma[samples.clone()])?, 8));
            }
            BatchSigma::Unknown | BatchSigma::Constant(_) | BatchSigma::Shared(_) => {}
        }
        if let Some(mask) = data.mask.filter(|_| !shares_mask(data)) {
            let mask: &[u8] = bytemuck::cast_slice(&mask[samples]);
            arrays.mask = Some(by_samples(put_by(driver, queue, mask)?, 1));
        }
        if let Some(offsets) = data.offset_list() {
            let offsets: Vec<u64> =
                offsets[fits.start..=fits.end].iter().map(|&o| o as u64).collect();
            arrays.offsets = Some(by_fits(put_by(driver, queue, &offsets)?));
        }
        Ok(arrays)
    }

    fn all(&self) -> impl Iterator<Item = &Array> {
        let others = [&self.samples, &self.sigma, &self.mask, &self.offsets];
        self.columns.iter().chain(others.into_iter().flatten())
    }

    /// Bytes of device memory held.
    fn bytes(&self) -> usize {
        self.all().map(|array| array.buffer.bytes()).sum()
    }
}

impl Resident {
    /// All fits of `data`.
    pub(crate) fn of(
        driver: &Arc<dyn Driver>,
        data: &BatchData<'_>,
    ) -> Result<Resident, DriverError> {
        let shared = Arrays::shared(driver, data)?;
        Ok(Resident { shared, own: Arrays::own(driver, data, 0..data.n_fits(), Queue::Work)? })
    }

    /// Bytes of device memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.bytes() + self.own.bytes()
    }
}

impl Addresses {
    /// Of fits from `first` on, of which `own` has the arrays.
    pub(super) fn new(
        data: &BatchData<'_>,
        shared: &Arrays,
        own: &Arrays,
        first: usize,
    ) -> Addresses {
        let fits = first - own.first_fit;
        let samples = data.range(first).start - own.first_sample;
        let address = |array: &Array| {
            array.buffer.address()
                + match array.apart {
                    Apart::Shared => 0,
                    Apart::BySamples(bytes) => (samples * bytes) as u64,
                    Apart::ByFits(bytes) => (fits * bytes) as u64,
                }
        };
        let of =
            |a: &Option<Array>, b: &Option<Array>| a.as_ref().or(b.as_ref()).map_or(0, address);
        let mut columns: Vec<u64> =
            shared.columns.iter().chain(&own.columns).map(address).collect();
        if columns.is_empty() {
            columns.push(0);
        }
        Addresses {
            columns,
            samples: of(&own.samples, &None),
            sigma: of(&own.sigma, &shared.sigma),
            mask: of(&own.mask, &shared.mask),
            offsets: of(&own.offsets, &None),
        }
    }
}

/// Bytes that a sample takes of what is each fit's own, and those that a fit takes beside its samples.
pub(super) fn own_bytes(data: &BatchData<'_>) -> (usize, usize) {
    let sigma = if let BatchSigma::PerPoint(_) = data.sigma { 8 } else { 0 };
    let mask = usize::from(data.mask.is_some() && !shares_mask(data));
    let of_fit = if let BatchSigma::PerFit(_) = data.sigma { 8 } else { 0 };
    let offsets = if data.equal().is_none() { 8 } else { 0 };
    (super::bytes_per_sample(data) + sigma + mask, of_fit + offsets)
}

/// Whether one mask on the device serves all fits.
pub(super) fn has_shared_mask(shared: &Arrays) -> bool {
    shared.mask.is_some()
}

/// A buffer with these values.
pub(super) fn put<T: Pod>(driver: &Arc<dyn Driver>, values: &[T]) -> Result<Buffer, DriverError> {
    put_by(driver, Queue::Work, values)
}

/// The same by a queue of the driver.
pub(super) fn put_by<T: Pod>(
    driver: &Arc<dyn Driver>,
    queue: Queue,
    values: &[T],
) -> Result<Buffer, DriverError> {
    let buffer = Buffer::of::<T>(driver, values.len())?;
    buffer.write_by(queue, 0, values)?;
    Ok(buffer)
}

/// The same of values as a caller holds them.
fn put_values(
    driver: &Arc<dyn Driver>,
    queue: Queue,
    values: &Values<'_>,
) -> Result<Buffer, DriverError> {
    match values {
        Values::F64(v) => put_by(driver, queue, v),
        Values::F32(v) => put_by(driver, queue, v),
    }
}

fn put_samples(
    driver: &Arc<dyn Driver>,
    queue: Queue,
    samples: &Samples<'_>,
    range: Range<usize>,
) -> Result<Buffer, DriverError> {
    match samples {
        Samples::F64(v) => put_by(driver, queue, &v[range]),
        Samples::F32(v) => put_by(driver, queue, &v[range]),
        Samples::U16(v) => put_by(driver, queue, &v[range]),
        Samples::I16(v) => put_by(driver, queue, &v[range]),
        Samples::U8(v) => put_by(driver, queue, &v[range]),
    }
}
