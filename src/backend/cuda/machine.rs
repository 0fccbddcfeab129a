//! The CUDA devices of this machine: the only part of the backend that finds and opens devices. A build without the
//! feature `cuda` has `absent.rs` in its place.

use super::bandwidth;
use super::cache::Cache;
use super::cuda_driver::{self, CudaDriver};
use super::device::Device;
use super::device_info::{Bandwidth, DeviceInfo};
use super::driver::Driver;
use super::memory::Pooled;
use super::nvrtc::Nvrtc;
use super::probe;
use crate::error::no_cuda::NoCuda;
use crate::threads::lock;
use std::sync::{Arc, Mutex};

/// Marks code that has a device. In a build that cannot open devices, this call does not return, and the compiler
/// leaves out the code behind it.
pub(crate) fn has_device() {}

/// Devices that fits of this process have used, by number. A device that several fits used concurrently has several
/// entries.
static OPEN: Mutex<Vec<(usize, Arc<Device>)>> = Mutex::new(Vec::new());

/// Maximum number of concurrent fits on a device with their own queues; further fits share queues.
const MOST_AT_ONCE: usize = 4;
/// Maximum size of the memory pool of each entry of a device except the first, in bytes.
const KEPT_BESIDE: usize = 32 << 20;

/// Returns device number `ordinal` with its compiler, if possible with queues that no other fit uses. A lost device is
/// opened again.
pub(crate) fn open(ordinal: usize) -> Result<Arc<Device>, NoCuda> {
    probe::device(ordinal)?;
    let mut devices = lock(&OPEN);
    // If one entry of the device is lost, all are.
    if devices.iter().any(|(n, device)| *n == ordinal && device.driver.is_lost()) {
        devices.retain(|(n, _)| *n != ordinal);
    }
    let those = devices.iter().filter(|(n, _)| *n == ordinal).map(|(_, device)| device);
    let opened = those.clone().count();
    if let Some(least) = those.min_by_key(|device| Arc::strong_count(device))
        && (Arc::strong_count(least) == 1 || opened == MOST_AT_ONCE)
    {
        return Ok(least.clone());
    }
    let driver = Arc::new(CudaDriver::new(ordinal)?);
    let properties = driver.properties();
    let nvrtc = Nvrtc::find(properties.capability, properties.driver_version)?;
    let pooled = match opened {
        0 => Pooled::new(driver),
        _ => Pooled::keeping(driver, KEPT_BESIDE),
    };
    let device = Arc::new(Device::new(Arc::new(pooled), nvrtc, Cache::shared()));
    devices.push((ordinal, device.clone()));
    Ok(device)
}

/// Returns the default device: the device of `DUALFIT_DEVICE`, or the first.
pub(crate) fn preferred() -> Result<Arc<Device>, NoCuda> {
    open(probe::preferred()?)
}

/// Returns the numbers of the devices of the same kind as this preferred device, which are used with it by default.
pub(crate) fn beside(preferred: &Device) -> Vec<usize> {
    let mine = preferred.properties();
    let alike = |&other: &usize| {
        let described = cuda_driver::describe(other);
        other != mine.ordinal && described.is_ok_and(|(other, _)| other.is_like(mine))
    };
    match (probe::names_one(), probe::driver()) {
        (false, Ok(found)) => (0..found.devices).filter(alike).collect(),
        _ => Vec::new(),
    }
}

/// Returns true if a device has been opened; another fit on it does not wait for its start.
pub(crate) fn is_open() -> bool {
    !lock(&OPEN).is_empty()
}

/// Returns true if device `ordinal` has been opened.
pub(crate) fn is_open_as(ordinal: usize) -> bool {
    lock(&OPEN).iter().any(|(opened, _)| *opened == ordinal)
}

/// Returns the number of devices, at least one.
pub(super) fn count() -> Result<usize, NoCuda> {
    probe::driver().map(|found| found.devices)
}

/// Describes device `ordinal`, without using it.
pub(super) fn describe(ordinal: usize) -> Result<DeviceInfo, NoCuda> {
    let (properties, memory_total) = cuda_driver::describe(ordinal)?;
    let memory = cuda_driver::memory(ordinal);
    let nvrtc = Nvrtc::find(properties.capability, properties.driver_version);
    let too_old = cuda_driver::check_capability(&properties).err();
    Ok(DeviceInfo {
        ordinal,
        name: properties.name,
        memory_total,
        memory_free: memory.as_ref().ok().map(|memory| memory.free),
        compute_capability: properties.capability,
        multiprocessors: properties.multiprocessors as usize,
        driver_version: properties.driver_version,
        has_time_limit: properties.has_time_limit,
        nvrtc_version: nvrtc.as_ref().ok().map(|nvrtc| nvrtc.version),
        problem: too_old.or(memory.err()).or(nvrtc.err()),
    })
}

/// Measures the bandwidths of device `ordinal`, in about a second.
pub(super) fn bandwidth(ordinal: usize) -> Result<Bandwidth, NoCuda> {
    bandwidth::of_device(ordinal)
}
