//! Statistics of the computation of a fit.

use super::start_search::StartSearch;
use super::stream::stats::StreamStats;
use crate::backend::Processor;
use crate::backend::cuda::cache::Origin as KernelOrigin;
use std::fmt;

/// Statistics of a fit: backend, counts, seconds and memory.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Stats {
    /// Processor that evaluated the points; if a device failed, the last processor.
    #[cfg_attr(feature = "json", serde(alias = "backend"))]
    pub processor: Processor,
    /// The instruction set of the kernels: `AVX-512`, `AVX2 and FMA`, `NEON` or `baseline`; for a device its
    /// architecture, such as `sm_90`.
    pub instruction_set: String,
    /// Name of the device, if one was used or tried.
    pub device: Option<String>,
    /// Reason for the choice of the processor, and failures of devices, as text.
    pub reason: String,
    /// Number of threads of a pass.
    pub threads: usize,
    /// Evaluations of model and partials over all points by the solver, summed over all runs and stages.
    pub evaluations: usize,
    /// Passes over all points: evaluations, factorisations of the Jacobian, and additional passes for a start with
    /// extreme partials.
    pub passes: usize,
    /// Accepted steps, summed over all runs and stages.
    pub iterations: usize,
    /// True if a second run with another scaling, start or first step was made.
    pub retried: bool,
    /// Operations per point and pass, including the operations of the partials; `None` for native models.
    pub operations: Option<usize>,
    /// Seconds for tracing and preparing the model, 0 if it was ready from an earlier fit.
    pub prepare_seconds: f64,
    /// Seconds for checking the data; for a stream, seconds of the first pass and of the start from a sample.
    pub validate_seconds: f64,
    /// Seconds for finding the starting values that the caller did not supply, and for the fit of a sample.
    #[cfg_attr(feature = "json", serde(default))]
    pub start_seconds: f64,
    /// Seconds for copying the points to a device; 0 on the CPU or for resident points.
    pub upload_seconds: f64,
    /// Seconds for compiling the kernels of a device, or reading them from the cache, and loading them; 0 if they were
    /// already loaded.
    pub compile_seconds: f64,
    /// Origin of a device's kernels.
    pub kernels: Option<KernelOrigin>,
    /// Seconds in the solver.
    pub solve_seconds: f64,
    /// Seconds for the covariance.
    pub covariance_seconds: f64,
    /// Bytes of host memory used in addition to the data.
    pub scratch_bytes: usize,
    /// Maximum number of bytes allocated on a device, including data; 0 on the CPU.
    pub device_bytes: usize,
    /// Number of chunks in which a device processes the points in each pass; 1 if all points stay in its memory.
    pub chunks: usize,
    /// Number of points of the sample that was fitted first; its result is the start of the fit of all points. 0 if the
    /// fit of all points began at the caller's start.
    #[cfg_attr(feature = "json", serde(default))]
    pub subsample_points: usize,
    /// Result of the search for the start and its reliability; `None` if no search was made.
    #[cfg_attr(feature = "json", serde(default))]
    pub start_search: Option<StartSearch>,
    /// Statistics of the passes over a stream; `None` if the points were in memory.
    pub stream: Option<StreamStats>,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.prepare_seconds
            + self.validate_seconds
            + self.start_seconds
            + self.upload_seconds
            + self.compile_seconds
            + self.solve_seconds
            + self.covariance_seconds;
        let place = match (&self.device, self.processor) {
            (Some(name), Processor::Cuda) => format!("CUDA ({name}, {})", self.instruction_set),
            _ => format!(
                "{} ({}, {} thread{})",
                self.processor,
                self.instruction_set,
                self.threads,
                if self.threads == 1 { "" } else { "s" }
            ),
        };
        write!(
            f,
            "{place}, {} evaluations, {} passes, {:.3} ms",
            self.evaluations,
            self.passes,
            1e3 * total
        )?;
        match self.subsample_points {
            0 => Ok(()),
            points => write!(f, ", after a fit of {points} points"),
        }
    }
}
