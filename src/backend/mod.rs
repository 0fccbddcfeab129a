//! Where points are evaluated: the seam between the solver, which sees summaries, and the points.

pub(crate) mod choice;
pub(crate) mod cpu;
pub(crate) mod cuda;
mod evaluator;

pub(crate) use evaluator::{BadPoint, DeviceUse, Evaluator, Fault};

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
