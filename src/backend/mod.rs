//! Backends for the evaluation of points: the CPU, CUDA devices, and streams that are read in chunks.

pub(crate) mod choice;
pub(crate) mod cpu;
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "parts of the backend that only an opened device uses")
)]
pub(crate) mod cuda;
pub(crate) mod stream;

use crate::backend::choice::Devices;
use std::fmt;

/// Backend that evaluates the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The backend with the smaller estimated time; see [`Costs`](crate::device::Costs).
    #[default]
    Auto,
    /// All cores of the CPU.
    Cpu,
    /// The given CUDA devices. The points of a large fit and the fits of a batch are divided among them. If a device
    /// fails, the other devices do its work. A stream uses the first device only. [`Backend::cuda`] takes a number or
    /// a list.
    Cuda(Devices),
}

impl Backend {
    /// Selects one CUDA device by its number or several by a list of numbers: `Backend::cuda(0)`,
    /// `Backend::cuda([0, 1])`. Numbers begin at 0, as in the driver.
    pub fn cuda(devices: impl Into<Devices>) -> Backend {
        Backend::Cuda(devices.into())
    }
}

/// Hardware that evaluated the points of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Processor {
    /// The cores of the CPU.
    #[default]
    #[cfg_attr(feature = "json", serde(rename = "CPU"))]
    Cpu,
    /// A CUDA device.
    #[cfg_attr(feature = "json", serde(rename = "CUDA"))]
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

/// Floating-point precision on devices. The CPU always computes in f64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// f64 throughout.
    #[default]
    Double,
    /// Model and partials in f32 until the fit has nearly converged, then in f64; the result has the same digits. The
    /// sums are in f64, or in pairs of f32 on cards that are slow in f64. `Mixed` saves the most time on such cards.
    Mixed,
    /// As `Mixed`, but a fit of a batch stays in f32 if rounding changes its parameters by at most a hundredth of a
    /// standard error. The device decides by three criteria: the rounding of y and of the model's terms relative to the
    /// scatter; the condition of J; and the range of x, which in each column of the fit must be at least 1/64 of the
    /// largest magnitude. All other fits use `Mixed`: fits that do not converge
    /// in f32, fits with the Tukey or arctan loss, and fits outside of batches.
    Single,
}
