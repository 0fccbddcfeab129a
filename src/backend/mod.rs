//! Where points are evaluated: on the CPU, on a device, or chunk by chunk from a stream.

pub(crate) mod choice;
pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod devices;
pub(crate) mod stream;

use devices::Devices;
use std::fmt;

/// Where points are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The one on which the fit is likely to end sooner; see [`Costs`](crate::device::Costs).
    #[default]
    Auto,
    /// All cores of the CPU.
    Cpu,
    /// These CUDA devices: a large fit is divided among them by points, a batch by fits, and what one of them fails at is done by
    /// the others. A stream goes through the first. [`Backend::cuda`] takes a number or a list.
    Cuda(Devices),
}

impl Backend {
    /// The CUDA device of a number, counted from 0 as the driver does, or those of a list: `Backend::cuda(0)`,
    /// `Backend::cuda([0, 1])`.
    pub fn cuda(devices: impl Into<Devices>) -> Backend {
        Backend::Cuda(devices.into())
    }
}

/// What evaluated the points of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Processor {
    /// The cores of the CPU.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "CPU"))]
    Cpu,
    /// A CUDA device.
    #[cfg_attr(feature = "serde", serde(rename = "CUDA"))]
    Cuda,
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Processor::Cpu => "CPU",
            Processor::Cuda => "CUDA",
        })
    }
}

/// What a device computes with. The CPU computes in f64 whatever is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// f64 throughout.
    #[default]
    Double,
    /// Model and partials in f32 until the fit is near its end, then f64: the result has the same
    /// digits. The sums are in f64, or in pairs of f32 on cards that are slow in f64; on those most of
    /// the time is saved.
    Mixed,
    /// As `Mixed`, but f32 to the end for those fits of a batch whose parameters it leaves within a hundredth of a
    /// standard error; rounding alone moves them by less. The device tells them apart by the rounding of y
    /// and of the model's terms beside the scatter, by the condition of J, and by x: a column of a fit must cover a
    /// 64th of its largest magnitude. All other fits are as under `Mixed`: those that do not converge in
    /// f32, those under Tukey's loss and arctan's, and those that are not of a batch.
    Single,
}
