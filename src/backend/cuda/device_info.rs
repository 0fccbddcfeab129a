//! Properties of a CUDA device, and its measured bandwidths.

use crate::error::no_cuda::NoCuda;
use std::fmt;

/// A CUDA device. `Display` prints it on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Number of the device, as in [`Backend::Cuda`](crate::Backend::Cuda).
    pub ordinal: usize,
    /// The product's name.
    pub name: String,
    /// Size of the device's memory, in bytes.
    pub memory_total: usize,
    /// Free memory in bytes, if the device allows the query.
    pub memory_free: Option<usize>,
    /// Compute capability, major and minor: 9.0 is sm_90.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Major and minor version of CUDA that the driver supports.
    pub driver_version: (u32, u32),
    /// Major and minor version of the NVRTC that compiles for this device, if there is one.
    pub nvrtc_version: Option<(u32, u32)>,
    /// True if the system terminates kernels that run for more than some seconds, as on a card that drives
    /// a display. Batches are then sent to the device in small portions.
    pub has_time_limit: bool,
    /// The reason why the device is not usable, for example exclusive use by another process or a missing NVRTC.
    pub problem: Option<NoCuda>,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
        write!(
            f,
            "CUDA device {}: {}, compute capability {}.{}, {} multiprocessors, ",
            self.ordinal,
            self.name,
            self.compute_capability.0,
            self.compute_capability.1,
            self.multiprocessors
        )?;
        if let Some(free) = self.memory_free {
            write!(f, "{:.1} GiB free of ", gib(free))?;
        }
        let (major, minor) = self.driver_version;
        write!(f, "{:.1} GiB, driver for CUDA {major}.{minor}", gib(self.memory_total))?;
        if let Some((major, minor)) = self.nvrtc_version {
            write!(f, ", NVRTC {major}.{minor}")?;
        }
        if self.has_time_limit {
            write!(f, ", ends what computes for seconds")?;
        }
        match &self.problem {
            Some(reason) => write!(f, "; nothing can be computed on it: {reason}"),
            None => Ok(()),
        }
    }
}

/// Measured bandwidths in bytes per second, with ordinary (pageable) host memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bandwidth {
    /// From the host to the device.
    pub host_to_device: f64,
    /// From the device to the host.
    pub device_to_host: f64,
    /// Copies within the device; bytes read and bytes written both count.
    pub device_to_device: f64,
    /// Reading the device's memory.
    pub memory_read: f64,
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} GB/s to the device, {:.1} GB/s from it, {:.0} GB/s copying in it, {:.0} GB/s reading its memory",
            1e-9 * self.host_to_device,
            1e-9 * self.device_to_host,
            1e-9 * self.device_to_device,
            1e-9 * self.memory_read
        )
    }
}
