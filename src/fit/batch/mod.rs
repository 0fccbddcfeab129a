//! What a batch of fits found: flat arrays, and a view of each fit.

pub(crate) mod arrays;
pub(crate) mod device;
pub(crate) mod engine;
mod errors;
mod pipeline;
pub(crate) mod place;
mod simd_batch;
pub(crate) mod status;
mod summary;
mod tied;
pub(crate) mod view;
mod workspace;

use crate::backend::Processor;
use crate::solver::bounds::Side;
use arrays::Arrays;
use device::DeviceRun;
use status::FitStatus;
use std::fmt;
use view::BatchFitView;

/// The results of many independent fits, in flat arrays with one row per fit; `Display` prints a
/// summary.
///
/// Numbers of a fit that was not made (see [`FitStatus`]) are NaN, its parameters too: no start is
/// handed back as a result.
#[derive(Clone)]
pub struct BatchFit {
    pub(crate) names: Vec<String>,
    pub(crate) fixed: Vec<bool>,
    pub(crate) arrays: Arrays,
    pub(crate) seconds: f64,
    pub(crate) threads: usize,
    pub(crate) made: Made,
}

/// Where a batch was made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// One sentence.
    pub(crate) reason: String,
    /// The name of the device that made it, and how that went.
    pub(crate) device: Option<(String, DeviceRun)>,
}

impl BatchFit {
    /// Number of fits.
    pub fn n_fits(&self) -> usize {
        self.arrays.statuses.len()
    }

    /// Number of parameters of the model, fixed ones included.
    pub fn n_params(&self) -> usize {
        self.names.len()
    }

    /// The parameters' names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All parameters, n_fits × n_params, row-major.
    pub fn params(&self) -> &[f64] {
        &self.arrays.params
    }

    /// All standard errors, n_fits × n_params, row-major; as [`Fit::std_errors`](crate::Fit::std_errors).
    pub fn std_errors(&self) -> &[f64] {
        &self.arrays.errors
    }

    /// The cost of each fit: half the sum of squared weighted residuals, or of their loss.
    pub fn costs(&self) -> &[f64] {
        &self.arrays.costs
    }

    /// How many points of each fit count, by their weights; as
    /// [`Fit::effective_points`](crate::Fit::effective_points). Where they are few for a single fit's
    /// [warning](crate::Warning::FewPointsCount), the summary says of how many fits that is so.
    pub fn effective_points(&self) -> &[f64] {
        &self.arrays.weights
    }

    /// How each fit ended.
    pub fn statuses(&self) -> &[FitStatus] {
        &self.arrays.statuses
    }

    /// Accepted steps of each fit.
    pub fn iterations(&self) -> &[u32] {
        &self.arrays.iterations
    }

    /// Evaluations of model and partials by each fit.
    pub fn evaluations(&self) -> &[u32] {
        &self.arrays.evaluations
    }

    /// The covariance matrix of a fit's parameters, n_params × n_params; `None` if the covariances
    /// were not kept (see [`CurveFit::keep_covariance`](crate::CurveFit::keep_covariance)) or there is
    /// no such fit.
    pub fn covariance(&self, fit: usize) -> Option<&[f64]> {
        let square = self.n_params() * self.n_params();
        let from = fit.checked_mul(square)?;
        self.arrays.covariances.get(from..from.checked_add(square)?).filter(|c| !c.is_empty())
    }

    /// One fit of the batch.
    ///
    /// # Panics
    /// If there is no such fit, as indexing does; [`get`](BatchFit::get) returns `None` there.
    #[track_caller]
    pub fn fit(&self, fit: usize) -> BatchFitView<'_> {
        assert!(fit < self.n_fits(), "fit {fit} of a batch of {} fits", self.n_fits());
        BatchFitView { batch: self, index: fit }
    }

    /// One fit of the batch, if there is such a fit.
    pub fn get(&self, fit: usize) -> Option<BatchFitView<'_>> {
        (fit < self.n_fits()).then_some(BatchFitView { batch: self, index: fit })
    }

    /// All fits, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BatchFitView<'_>> {
        (0..self.n_fits()).map(|index| BatchFitView { batch: self, index })
    }

    /// The values of the parameter called `name`, one per fit.
    pub fn param(&self, name: &str) -> Option<impl ExactSizeIterator<Item = f64>> {
        let at = self.names.iter().position(|n| n == name)?;
        let width = self.n_params();
        Some((0..self.n_fits()).map(move |fit| self.arrays.params[fit * width + at]))
    }

    /// How many fits converged.
    pub fn converged(&self) -> usize {
        self.arrays.statuses.iter().filter(|s| s.converged()).count()
    }

    /// The first fit that did not converge, if there is one.
    pub fn first_bad(&self) -> Option<usize> {
        self.arrays.statuses.iter().position(|s| !s.converged() && *s != FitStatus::Fixed)
    }

    /// Seconds that the batch took.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// What made the fits, or most of them.
    pub fn processor(&self) -> Processor {
        if self.made.device.is_some() { Processor::Cuda } else { Processor::Cpu }
    }

    /// Name of the device that made them, if one did.
    pub fn device(&self) -> Option<&str> {
        self.made.device.as_ref().map(|(name, _)| name.as_str())
    }

    /// Why they were made there, in one sentence.
    pub fn reason(&self) -> &str {
        &self.made.reason
    }

    /// Fits that the kernel of a device could not decide and the CPU made; 0 where there was no device.
    pub fn left_to_cpu(&self) -> usize {
        self.made.device.as_ref().map_or(0, |(_, course)| course.by_host)
    }

    pub(crate) fn side(&self, fit: usize, parameter: usize) -> Option<Side> {
        self.arrays.sides.get(fit * self.n_params() + parameter).copied().flatten()
    }
}

impl fmt::Debug for BatchFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchFit")
            .field("names", &self.names)
            .field("n_fits", &self.n_fits())
            .field("converged", &self.converged())
            .field("seconds", &self.seconds)
            .finish_non_exhaustive()
    }
}
