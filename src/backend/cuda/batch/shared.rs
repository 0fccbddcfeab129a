//! What all fits of a batch share in the memory of a device: columns, sigma, mask, start and bounds, as far as
//! they are not each fit's own.

use super::Job;
use crate::backend::cuda::driver::{Driver, DriverError};
use crate::backend::cuda::memory::Buffer;
use crate::data::batch::BatchSigma;
use crate::data::values::Values;
use bytemuck::Pod;
use std::sync::Arc;

/// Uploaded once for all chunks.
pub(super) struct Shared {
    /// Empty where every fit has its own.
    pub(super) columns: Vec<Buffer>,
    pub(super) sigma: Option<Buffer>,
    pub(super) mask: Option<Buffer>,
    pub(super) start: Option<Buffer>,
    pub(super) lower: Buffer,
    pub(super) upper: Buffer,
}

impl Shared {
    pub(super) fn new(driver: &Arc<dyn Driver>, job: &Job<'_>) -> Result<Shared, DriverError> {
        let data = job.data;
        let columns: &[Values<'_>] = if data.own { &[] } else { &data.columns };
        let bound = |side: fn(&(f64, f64)) -> f64| job.bounds.iter().map(side).collect::<Vec<_>>();
        Ok(Shared {
            columns: columns.iter().map(|c| put_values(driver, c)).collect::<Result<_, _>>()?,
            sigma: match data.sigma {
                BatchSigma::Shared(sigma) => Some(put(driver, sigma)?),
                _ => None,
            },
            mask: match data.mask.filter(|mask| data.equal() == Some(mask.len())) {
                Some(mask) => Some(put::<u8>(driver, bytemuck::cast_slice(mask))?),
                None => None,
            },
            start: match job.starts.shared(job.bounds.len()) {
                Some(start) => Some(put(driver, start)?),
                None => None,
            },
            lower: put(driver, &bound(|b| b.0))?,
            upper: put(driver, &bound(|b| b.1))?,
        })
    }
}

/// A buffer with these values.
pub(super) fn put<T: Pod>(driver: &Arc<dyn Driver>, values: &[T]) -> Result<Buffer, DriverError> {
    let buffer = Buffer::of::<T>(driver, values.len())?;
    buffer.write(0, values)?;
    Ok(buffer)
}

/// The same of values as a caller holds them.
pub(super) fn put_values(
    driver: &Arc<dyn Driver>,
    values: &Values<'_>,
) -> Result<Buffer, DriverError> {
    match values {
        Values::F64(v) => put(driver, v),
        Values::F32(v) => put(driver, v),
    }
}
