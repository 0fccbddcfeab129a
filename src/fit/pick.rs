//! Which device is to compute: the one that was asked for, or the one that is likely to be done sooner
//! than the CPU.

use crate::backend::Backend;
use crate::backend::cuda::device;
use crate::backend::cuda::device::Device;
use crate::error::{Error, Result};
use std::sync::Arc;

/// What is estimated to take less than this on the CPU is not worth looking for a device.
const SOON: f64 = 5e-4;

/// A device, whether the CPU goes on if it fails, and why it was taken.
pub(crate) type Picked = (Arc<Device>, bool, String);

/// Seconds that are known before a device is looked for.
pub(crate) struct Before {
    pub(crate) on_cpu: f64,
    /// Until a device is there.
    pub(crate) startup: f64,
    /// Until kernels are compiled.
    pub(crate) compile: f64,
}

/// `handed`: a device that takes the place of the registered ones. Under [`Backend::Auto`] the outer
/// `Ok` may hold why the CPU is the place.
///
/// # Errors
/// [`Error::CudaUnavailable`] if a device was asked for.
pub(crate) fn pick(
    backend: Backend,
    handed: Option<(&Arc<Device>, bool)>,
    worthwhile: impl FnOnce() -> std::result::Result<(Arc<Device>, String), String>,
) -> Result<std::result::Result<Picked, String>> {
    if let Some((device, take_over)) = handed {
        return Ok(Ok((device.clone(), take_over, "asked for".to_owned())));
    }
    if let Backend::Cuda(ordinal) = backend {
        let device = device::open(ordinal)
            .map_err(|reason| Error::CudaUnavailable { ordinal: Some(ordinal), reason })?;
        return Ok(Ok((device, false, "asked for".to_owned())));
    }
    Ok(worthwhile().map(|(device, reason)| (device, true, reason)))
}

/// The device on which the work is likely to be done sooner, or why the CPU is the place for it.
/// `is_loaded`: whether a device has the kernels; `on_device`: seconds once it has.
pub(crate) fn worthwhile(
    before: &Before,
    is_loaded: impl FnOnce(&Device) -> bool,
    on_device: impl FnOnce(&Device) -> f64,
) -> std::result::Result<(Arc<Device>, String), String> {
    let Before { on_cpu, startup, compile } = *before;
    if on_cpu < SOON {
        return Err(format!("about {on_cpu:.0e} s on the CPU is too little to look for a device"));
    }
    let first = startup + compile;
    if !device::is_open() && on_cpu < first {
        return Err(format!(
            "about {on_cpu:.2} s on the CPU is less than the {first:.1} s in which a device begins"
        ));
    }
    let startup = if device::is_open() { 0.0 } else { startup };
    let device = device::preferred().map_err(|reason| reason.to_string())?;
    let compile = if is_loaded(&device) { 0.0 } else { compile };
    let on_device = startup + compile + on_device(&device);
    let estimate = format!("estimated {on_device:.1e} s on the device, {on_cpu:.1e} s on the CPU");
    if on_device < on_cpu { Ok((device, estimate)) } else { Err(estimate) }
}
