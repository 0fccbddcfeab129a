//! Results of a batch of fits: flat arrays, and views of single fits.

pub(crate) mod arrays;
mod derived;
pub(crate) mod device;
pub(crate) mod engine;
mod errors;
pub(crate) mod message;
mod pipeline;
pub(crate) mod place;
pub(crate) mod request;
pub(crate) mod residual_tests;
#[cfg(feature = "json")]
mod saved;
mod simd_batch;
mod singly;
pub(crate) mod status;
mod summary;
mod tied;
mod workspace;

use super::distributions::sum_upper;
use super::lack_of_fit::REJECTED;
use super::propagated::{Formula, Propagated};
use crate::backend::Processor;
use crate::data::loss::LARGEST_DEVIANCE;
use crate::fit::batch::message::BatchParts;
use crate::solver::bounds::Side;
use crate::solver::termination::Termination;
use arrays::Arrays;
use device::DeviceRun;
use status::FitStatus;
use std::fmt;

/// Results of many independent fits, in flat arrays with one row per fit. `Display` prints a summary.
///
/// All numbers of a fit that was not made (see [`FitStatus`]) are NaN, including the parameters: a starting point is
/// never returned as a result.
#[derive(Clone)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "json", serde(try_from = "saved::SavedBatch", into = "saved::SavedBatch"))]
pub struct BatchFit {
    pub(crate) names: Vec<String>,
    pub(crate) fixed: Vec<bool>,
    pub(crate) arrays: Arrays,
    /// Names and formulas of derived quantities. Quantities from [`derive`](crate::CurveFit::derive) follow those of
    /// the model.
    pub(crate) derived: Vec<(String, Formula)>,
    /// Number of derived quantities of the model, at the beginning of `derived`.
    pub(crate) derived_by_model: usize,
    /// Number of parameters with a prior.
    pub(crate) priors: usize,
    pub(crate) chi_square: ChiSquareOf,
    /// For each fit, true if its residuals are correlated; empty if this was not tested.
    pub(crate) correlated: Vec<bool>,
    pub(crate) seconds: f64,
    pub(crate) threads: usize,
    pub(crate) made: Made,
}

/// Distribution of the chi-square of correct fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum ChiSquareOf {
    /// No known distribution: the scatter is unknown, or the loss is robust.
    #[default]
    Scatter,
    /// Chi-square distribution: sigma is absolute.
    Errors,
    /// Distribution of a sum of deviances of counts.
    Counts,
}

/// Report on the backend of a batch.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Made {
    /// Reason for the choice of the backend, in one sentence.
    pub(crate) reason: String,
    /// Name of the device that computed the batch, and its report.
    pub(crate) device: Option<(String, DeviceRun)>,
    /// Workers that computed fits of the batch.
    #[cfg_attr(feature = "json", serde(default))]
    pub(crate) parts: Option<BatchParts>,
}

impl Made {
    /// Combines the report with the report of the fits that follow.
    pub(crate) fn followed_by(self, other: Made) -> Made {
        let device = match (self.device, other.device) {
            (Some((name, course)), Some((_, more))) => Some((name, course.followed_by(more))),
            (one, other) => one.or(other),
        };
        Made { device, ..self }
    }
}

impl BatchFit {
    /// Number of fits.
    pub fn n_fits(&self) -> usize {
        self.arrays.statuses.len()
    }

    /// Number of parameters of the model, including fixed parameters.
    pub fn n_params(&self) -> usize {
        self.names.len()
    }

    /// Names of the parameters, in order.
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

    /// Effective number of points of each fit, the sum of their weights; as
    /// [`Fit::effective_points`](crate::Fit::effective_points). The summary counts the fits for which a single fit
    /// would have a [warning](crate::Warning::FewPointsCount).
    pub fn effective_points(&self) -> &[f64] {
        &self.arrays.weights
    }

    /// Status of each fit.
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

    /// The covariance matrix of a fit's parameters, n_params × n_params. `None` if the covariances
    /// were not kept (see [`CurveFit::keep_covariance`](crate::CurveFit::keep_covariance)) or the index is out of
    /// range.
    pub fn covariance(&self, fit: usize) -> Option<&[f64]> {
        let square = self.n_params() * self.n_params();
        let from = fit.checked_mul(square)?;
        self.arrays.covariances.get(from..from.checked_add(square)?).filter(|c| !c.is_empty())
    }

    /// One fit of the batch.
    ///
    /// # Panics
    /// If the index is out of range; [`get`](BatchFit::get) then returns `None`.
    #[track_caller]
    pub fn fit(&self, fit: usize) -> BatchFitView<'_> {
        assert!(fit < self.n_fits(), "fit {fit} of a batch of {} fits", self.n_fits());
        BatchFitView { batch: self, index: fit }
    }

    /// One fit of the batch; `None` if the index is out of range.
    pub fn get(&self, fit: usize) -> Option<BatchFitView<'_>> {
        (fit < self.n_fits()).then_some(BatchFitView { batch: self, index: fit })
    }

    /// All fits, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BatchFitView<'_>> {
        (0..self.n_fits()).map(|index| BatchFitView { batch: self, index })
    }

    /// The values of the parameter or derived quantity `name`, one per fit; `None` for an unknown name.
    pub fn param(&self, name: &str) -> Option<impl ExactSizeIterator<Item = f64>> {
        Some(self.quantity(name)?.map(|found| found.value))
    }

    /// The standard errors of the parameter or derived quantity `name`, one per fit; `None` for an unknown name.
    pub fn std_error(&self, name: &str) -> Option<impl ExactSizeIterator<Item = f64>> {
        Some(self.quantity(name)?.map(|found| found.std_error))
    }

    /// Values and standard errors of the parameter or the derived quantity `name`, one per fit. The error of a quantity
    /// of several parameters needs their covariances, which a batch keeps after
    /// [`derive`](crate::CurveFit::derive) or [`keep_covariance`](crate::CurveFit::keep_covariance). Otherwise the
    /// error is NaN; this also applies to derived quantities of library models.
    ///
    /// ```
    /// use dualfit::{BatchData, CurveFit};
    /// let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    /// let decay = |rate: f64| x.iter().map(move |x| 3.0 * (-rate * x).exp());
    /// let stack: Vec<f64> = [0.5, 1.0, 2.0].into_iter().flat_map(decay).collect();
    /// let curve = CurveFit::parse("a*exp(-rate*x)", ["x"])?.derive("half_life", "ln(2)/rate");
    /// let batch = curve.fit_batch(BatchData::shared(&x, &stack)?, [1.0, 1.0])?;
    /// let half_lives: Vec<f64> = batch.param("half_life").unwrap().collect();
    /// assert!((half_lives[2] - 0.5 * 2f64.ln()).abs() < 1e-9);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn quantity(&self, name: &str) -> Option<impl ExactSizeIterator<Item = Propagated>> {
        let named = self.named(name)?;
        Some((0..self.n_fits()).map(move |fit| self.found(named, fit)))
    }

    /// The names of the derived quantities: those of the model, then those from
    /// [`derive`](crate::CurveFit::derive).
    pub fn derived_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.derived.iter().map(|(name, _)| name.as_str())
    }

    /// The quantities from [`derive`](crate::CurveFit::derive).
    pub(super) fn asked_for(&self) -> impl Iterator<Item = &str> {
        self.derived_names().skip(self.derived_by_model)
    }

    /// Number of converged fits.
    pub fn converged(&self) -> usize {
        self.arrays.statuses.iter().filter(|s| s.converged()).count()
    }

    /// Returns true for each fit that the data reject: it converged, and its
    /// [`chi_square_p_value`](BatchFitView::chi_square_p_value) is below 1e-4 or its residuals are correlated.
    /// Correlation is tested only if [`test_residuals`](crate::CurveFit::test_residuals) requested it; the p-value
    /// needs absolute sigma or counts.
    pub fn rejected(&self) -> Vec<bool> {
        self.iter().map(|fit| fit.is_rejected()).collect()
    }

    /// Index of the first fit that did not converge. Fits without a free parameter or without points do not count.
    pub fn first_bad(&self) -> Option<usize> {
        self.arrays.statuses.iter().position(|status| {
            !status.converged()
                && status.termination() != Some(Termination::AllFixed)
                && *status != FitStatus::TooFewPoints { points: 0 }
        })
    }

    /// Duration of the batch in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Hardware that computed the fits, or most of them.
    pub fn processor(&self) -> Processor {
        if self.made.device.is_some() { Processor::Cuda } else { Processor::Cpu }
    }

    /// Name of the device that computed fits, if any.
    pub fn device(&self) -> Option<&str> {
        self.made.device.as_ref().map(|(name, _)| name.as_str())
    }

    /// Reason for the choice of the backend, in one sentence.
    pub fn reason(&self) -> &str {
        &self.made.reason
    }

    /// Workers that computed the fits of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts). The other methods
    /// report the threads and the device of the leader.
    pub fn parts(&self) -> Option<&BatchParts> {
        self.made.parts.as_ref()
    }

    /// Number of fits that the CPU computed because a device's kernel could not decide their result; 0 without a
    /// device.
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

/// View of one fit of a [`BatchFit`]. [`Fit`](crate::Fit) documents the meaning of its numbers.
#[derive(Clone, Copy, Debug)]
pub struct BatchFitView<'a> {
    batch: &'a BatchFit,
    index: usize,
}

impl<'a> BatchFitView<'a> {
    /// Number of the fit in the batch.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The parameters, in the order of the model.
    pub fn params(&self) -> &'a [f64] {
        self.row(&self.batch.arrays.params)
    }

    /// One standard error per parameter: 0 if the parameter was fixed, infinite if the data do not determine it, NaN if
    /// the error is not defined.
    pub fn std_errors(&self) -> &'a [f64] {
        self.row(&self.batch.arrays.errors)
    }

    /// The value of the parameter or derived quantity `name`.
    pub fn param(&self, name: &str) -> Option<f64> {
        self.quantity(name).map(|found| found.value)
    }

    /// The standard error of the parameter or derived quantity `name`.
    pub fn std_error(&self, name: &str) -> Option<f64> {
        self.quantity(name).map(|found| found.std_error)
    }

    /// The value and the standard error of the parameter or derived quantity `name`.
    pub fn quantity(&self, name: &str) -> Option<Propagated> {
        Some(self.batch.found(self.batch.named(name)?, self.index))
    }

    /// The covariance matrix, n_params × n_params, if it was kept.
    pub fn covariance(&self) -> Option<&'a [f64]> {
        self.batch.covariance(self.index)
    }

    /// Half the sum of squared weighted residuals, or of their loss.
    pub fn cost(&self) -> f64 {
        self.batch.arrays.costs[self.index]
    }

    /// Twice the cost.
    pub fn chi_square(&self) -> f64 {
        2.0 * self.cost()
    }

    /// Chi-square per degree of freedom; `None` without degrees of freedom.
    pub fn reduced_chi_square(&self) -> Option<f64> {
        let degrees = self.degrees_of_freedom();
        (degrees > 0).then(|| self.chi_square() / degrees as f64)
    }

    /// Probability of a χ² at least as large as the observed one, if the curve and sigma are right; see
    /// [`Fit::chi_square_p_value`](crate::Fit::chi_square_p_value). `None` unless there are degrees of freedom, the
    /// loss is linear, and sigma is absolute or y are counts.
    ///
    /// For counts it is an upper limit, because a batch does not store the fitted expectations. It is computed with the
    /// largest mean and variance of a deviance: 1.16, at an expectation of 1.3, and 2.41, at an expectation of 3.0.
    /// Therefore a fit of many counts is rejected only if its reduced deviance exceeds about 1.16; the usual value is
    /// 1.
    pub fn chi_square_p_value(&self) -> Option<f64> {
        let dof = self.degrees_of_freedom();
        if dof == 0 || !self.cost().is_finite() {
            return None;
        }
        let unit = match self.batch.chi_square {
            ChiSquareOf::Scatter => return None,
            ChiSquareOf::Errors => [1.0, 2.0],
            ChiSquareOf::Counts => LARGEST_DEVIANCE,
        };
        Some(sum_upper(self.chi_square(), unit, self.points() + self.batch.priors, self.rank()))
    }

    /// Returns true if the fit converged but the data reject it; see [`BatchFit::rejected`].
    pub fn is_rejected(&self) -> bool {
        let is_correlated = self.batch.correlated.get(self.index) == Some(&true);
        let is_unlikely = || self.chi_square_p_value().is_some_and(|p| p < REJECTED);
        self.converged() && (is_correlated || is_unlikely())
    }

    /// Status of the fit.
    pub fn status(&self) -> FitStatus {
        self.batch.arrays.statuses[self.index]
    }

    /// Status of the fit, as a sentence with the names of parameters.
    pub fn status_text(&self) -> String {
        self.status().with_names(&self.batch.names)
    }

    /// Reason why the iteration ended; `None` if the fit was not made.
    pub fn termination(&self) -> Option<Termination> {
        self.status().termination()
    }

    /// Returns true if the parameters are a minimum of the cost.
    pub fn converged(&self) -> bool {
        self.status().converged()
    }

    /// Number of used points.
    pub fn points(&self) -> usize {
        self.batch.arrays.points[self.index]
    }

    /// Effective number of points, the sum of their weights; see
    /// [`Fit::effective_points`](crate::Fit::effective_points).
    pub fn effective_points(&self) -> f64 {
        self.batch.arrays.weights[self.index]
    }

    /// Number of directions in the space of the free parameters that the data determine.
    pub fn rank(&self) -> usize {
        self.batch.arrays.ranks[self.index] as usize
    }

    /// Points plus priors minus rank, at least 0.
    pub fn degrees_of_freedom(&self) -> usize {
        (self.points() + self.batch.priors).saturating_sub(self.rank())
    }

    /// Accepted steps.
    pub fn iterations(&self) -> u32 {
        self.batch.arrays.iterations[self.index]
    }

    /// Evaluations of model and partials.
    pub fn evaluations(&self) -> u32 {
        self.batch.arrays.evaluations[self.index]
    }

    /// The positions of the parameters at a bound, each with the side of the bound.
    pub fn at_bound(&self) -> impl Iterator<Item = (usize, Side)> + 'a {
        let (batch, index) = (self.batch, self.index);
        (0..batch.n_params()).filter_map(move |i| Some((i, batch.side(index, i)?)))
    }

    fn row(&self, array: &'a [f64]) -> &'a [f64] {
        let width = self.batch.n_params();
        &array[self.index * width..(self.index + 1) * width]
    }
}
