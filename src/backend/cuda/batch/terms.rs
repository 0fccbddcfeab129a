//! Start and bounds that all fits of a batch share, in the memory of a device.

use super::Job;
use super::arrays::put;
use crate::backend::cuda::driver::{Driver, DriverError};
use crate::backend::cuda::memory::Buffer;
use std::sync::Arc;

/// Uploaded once for all launches.
pub(super) struct Terms {
    /// Unless each fit has its own.
    pub(super) start: Option<Buffer>,
    pub(super) lower: Buffer,
    pub(super) upper: Buffer,
}

impl Terms {
    pub(super) fn new(driver: &Arc<dyn Driver>, job: &Job<'_>) -> Result<Terms, DriverError> {
        let bound = |side: fn(&(f64, f64)) -> f64| job.bounds.iter().map(side).collect::<Vec<_>>();
        Ok(Terms {
            start: match job.starts.shared(job.bounds.len()) {
                Some(start) => Some(put(driver, start)?),
                None => None,
            },
            lower: put(driver, &bound(|b| b.0))?,
            upper: put(driver, &bound(|b| b.1))?,
        })
    }
}
