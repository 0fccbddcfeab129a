//! The CUDA devices of this machine in a build without the feature `cuda`: none. The functions are those of
//! `machine.rs`, and their error names the feature.

use super::device::Device;
use super::device_info::{Bandwidth, DeviceInfo};
use crate::error::no_cuda::NoCuda;
use std::sync::Arc;

#[inline(always)]
pub(crate) fn has_device() {
    unreachable!("no device has been opened")
}

pub(crate) fn open(_ordinal: usize) -> Result<Arc<Device>, NoCuda> {
    Err(NoCuda::NotCompiled)
}

pub(crate) fn preferred() -> Result<Arc<Device>, NoCuda> {
    Err(NoCuda::NotCompiled)
}

pub(crate) fn beside(_preferred: &Device) -> Vec<usize> {
    Vec::new()
}

pub(crate) fn is_open() -> bool {
    false
}

pub(crate) fn is_open_as(_ordinal: usize) -> bool {
    false
}

pub(super) fn count() -> Result<usize, NoCuda> {
    Err(NoCuda::NotCompiled)
}

pub(super) fn describe(_ordinal: usize) -> Result<DeviceInfo, NoCuda> {
    Err(NoCuda::NotCompiled)
}

pub(super) fn bandwidth(_ordinal: usize) -> Result<Bandwidth, NoCuda> {
    Err(NoCuda::NotCompiled)
}
