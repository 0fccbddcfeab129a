//! The devices of this process, each opened once and kept.

use super::cache::Cache;
use super::cuda_driver;
use super::device::Device;
use super::driver::Driver;
use super::nvrtc::Nvrtc;
use super::pool::Pooled;
use super::probe;
use crate::error::no_cuda::NoCuda;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static OPEN: Mutex<Vec<(usize, Arc<Device>)>> = Mutex::new(Vec::new());

fn opened() -> MutexGuard<'static, Vec<(usize, Arc<Device>)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The device of this number with a compiler for it. One that was lost is opened again.
pub(crate) fn open(ordinal: usize) -> Result<Arc<Device>, NoCuda> {
    probe::device(ordinal)?;
    let mut devices = opened();
    devices.retain(|(_, device)| !device.driver.is_lost());
    if let Some((_, device)) = devices.iter().find(|(n, _)| *n == ordinal) {
        return Ok(device.clone());
    }
    let driver = cuda_driver::open(ordinal)?;
    let properties = driver.properties();
    let nvrtc = Nvrtc::find(properties.capability, properties.driver_version)?;
    let device = Arc::new(Device::new(Arc::new(Pooled::new(driver)), nvrtc, Cache::shared()));
    devices.push((ordinal, device.clone()));
    Ok(device)
}

/// The device for fits that name none: that of `DUALFIT_DEVICE`, or the first.
pub(crate) fn preferred() -> Result<Arc<Device>, NoCuda> {
    open(probe::preferred()?)
}

/// Whether a device has been opened, so that another fit on it need not wait for it to start.
pub(crate) fn is_open() -> bool {
    !opened().is_empty()
}
