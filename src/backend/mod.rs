//! Where points are evaluated: on the CPU, on a device, or chunk by chunk from a stream.

pub(crate) mod choice;
pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod stream;

/// Where points are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The one on which the fit is likely to end sooner; see [`Costs`](crate::Costs).
    #[default]
    Auto,
    /// All cores of the CPU.
    Cpu,
    /// The CUDA device of this number, counted from 0 as the driver does.
    Cuda(usize),
}

/// What a device computes with. The CPU computes in f64 whatever is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f64 throughout.
    #[default]
    Double,
    /// Model and partials in f32 until the fit is near its end, then f64: the result has the same
    /// digits. The sums are in f64, or in pairs of f32 on cards that are slow in f64; on those most of
    /// the time is saved.
    Mixed,
}
