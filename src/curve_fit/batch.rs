//! Batches: many fits of one model in one call.

use super::CurveFit;
use super::device::BatchFitData;
use crate::curve_fit::ready::Ready;
use crate::data::batch::{BatchData, Starts};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Sigma;
use crate::error::{Error, Result};
use crate::fit::batch::arrays::{Arrays, BatchPart};
use crate::fit::batch::engine::run;
use crate::fit::batch::place::place;
use crate::fit::batch::request::BatchRequest;
use crate::fit::batch::request::fill_all_threads;
use crate::fit::batch::residual_tests::correlated;
use crate::fit::batch::{BatchFit, ChiSquareOf, Made, device};
use crate::fit::placement::{GivenDevice, Placement, names};
use crate::fit::propagated::Formula;
use crate::fit::retry::first_options;
use crate::fit::spec::FitSpec;
use crate::host::Instant;
use crate::model::Expression;
use crate::observe::span;
use crate::solver::observe::Observer;
use crate::threads;
use std::sync::Arc;

impl CurveFit {
    /// Fits the model to the data of every fit of a batch. Each result equals the result of [`fit`](CurveFit::fit) with
    /// the same points and starting point. `starts` contains one starting point for all fits, or one per fit. Starting
    /// values that are not given are computed from the points of each fit, or adapted from the results of a few fits.
    ///
    /// Names, bounds, fixed parameters, loss and options apply to all fits; limits apply to each fit separately.
    /// Fits run on all cores, and the results do not depend on the number of cores. The observer of
    /// [`observe`](CurveFit::observe) is called as fits finish.
    ///
    /// [`backend`](CurveFit::backend) selects the hardware. On a device, one kernel runs all fits, with up to 16 free
    /// parameters. Fits that the kernel cannot complete are rerun on the CPU: fits that need second derivatives or a
    /// restart, and fits with points of very different weights. Few fits with very many points run on the device one
    /// after the other, each as a single fit.
    /// [`BatchFit::reason`](crate::BatchFit::reason) returns the reason for the choice of the backend.
    ///
    /// An error in one fit is stored as its [`FitStatus`](crate::FitStatus) and does not affect the other fits.
    ///
    /// ```
    /// use dualfit::{BatchData, CurveFit};
    /// let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    /// let decay = |rate: f64| x.iter().map(move |x| 3.0 * (-rate * x).exp());
    /// let mut stack: Vec<f64> = [0.5, 1.0, 2.0].into_iter().flat_map(decay).collect();
    /// stack[2 * 40 + 7] = f64::NAN;
    ///
    /// let decay = CurveFit::new(|x, [a, r]| a * (-r * x).exp()).names(["amplitude", "rate"]);
    /// let batch = decay.fit_batch(BatchData::shared(&x, &stack)?, [1.0, 1.0])?;
    /// println!("{batch}"); // counts of terminations, and quartiles of the parameters
    /// assert!((batch.fit(0).params()[1] - 0.5).abs() < 1e-9);
    /// assert!((batch.params()[3] - 1.0).abs() < 1e-9); // fit 1, parameter 1
    /// assert_eq!(batch.statuses()[2], dualfit::FitStatus::BadData { point: 7 });
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors that concern the whole batch: an invalid model, invalid names, bounds or options, an invalid starting
    /// point for all fits, a number of columns or starting points that does not match the model, or a panic of the
    /// observer. If a device is required: also [`Error::CudaUnavailable`], [`Error::NotOnDevice`] and errors of the
    /// device. An empty batch is not an error.
    pub fn fit_batch<'d, 'a: 'd, 's>(
        &self,
        data: impl Into<BatchFitData<'d, 'a>>,
        starts: impl Into<Starts<'s>>,
    ) -> Result<BatchFit> {
        let (data, starts) = (data.into(), starts.into());
        let ((data, given), starts) = (data.parts(), &starts);
        let _span = span!(INFO, "batch", fits = data.n_fits(), parameters = self.names.len());
        let begun = Instant::now();
        self.check_whole(data, starts)?;
        let ready = self.ready(&self.free_positions())?;
        let spec = self.batch_spec(ready, data)?;
        let request = self.batch_request(&spec, data, starts, begun);
        let adapted = self.batch_starts(&request)?;
        let request = &request.with_starts(adapted.as_ref());
        let mut arrays = self.batch_arrays(request);
        let made = self.make_fits(request, ready, given, arrays.whole())?;
        self.batch_fit(request, ready, arrays, made)
    }

    /// Checks settings, data and starting points.
    ///
    /// # Errors
    /// Errors in settings or data that concern the whole batch.
    pub(super) fn check_whole(&self, data: &BatchData<'_>, starts: &Starts<'_>) -> Result<()> {
        self.check_batch(data, starts)?;
        match starts.of_all(self.names.len()) {
            Some(start) => self.checked_start(start).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Performs the checks of [`check_whole`](Self::check_whole), except those of the values of starting points.
    pub(super) fn check_batch(&self, data: &BatchData<'_>, starts: &Starts<'_>) -> Result<()> {
        let model = self.model.as_ref().map_err(Clone::clone)?;
        self.check()?;
        data.check_layout()?;
        if self.estimator == Estimator::Poisson && !data.x_sigma.is_exact() {
            return Err(Error::NotForCounts { what: "x_sigma" });
        }
        if self.estimator == Estimator::Poisson && data.sigma != Sigma::Unknown {
            return Err(Error::NotForCounts { what: "sigma" });
        }
        data.x_sigma.check_beside(data.sigma)?;
        self.check_priors(data.sigma.is_absolute() || self.estimator == Estimator::Poisson)?;
        model.expect_columns(data.columns.len())?;
        starts.check(data.n_fits(), self.names.len())
    }

    /// Returns the specification of the fits of a validated batch.
    ///
    /// # Errors
    /// The errors of [`spec`](Self::spec).
    pub(super) fn batch_spec<'a>(
        &'a self,
        ready: &'a Ready,
        data: &BatchData<'_>,
    ) -> Result<FitSpec<'a>> {
        let stopper = self.cancel.clone().map(|token| Arc::new(token) as Arc<Observer>);
        let spec = self.spec(ready, &self.free_positions(), &data.x_sigma, stopper)?;
        Ok(FitSpec { on_one_thread: fill_all_threads(data.n_fits()), ..spec })
    }

    /// Returns the request for the fits of a validated batch.
    pub(super) fn batch_request<'a>(
        &'a self,
        spec: &'a FitSpec<'a>,
        data: &'a BatchData<'a>,
        starts: &'a Starts<'a>,
        begun: Instant,
    ) -> BatchRequest<'a> {
        BatchRequest {
            spec,
            data,
            starts,
            precision: self.precision,
            first_options: first_options(&self.options, spec.prepared.free.len()),
            observer: self.observer.as_deref(),
            clamp_start: self.clamp_start,
            underdetermined: self.underdetermined,
            begun,
        }
    }

    /// Allocates the arrays for the results.
    pub(super) fn batch_arrays(&self, request: &BatchRequest<'_>) -> Arrays {
        let has_bound = |&i: &usize| self.bounds[i].0.is_finite() || self.bounds[i].1.is_finite();
        let bounded =
            request.starts.is_bounded() || request.spec.prepared.free.iter().any(has_bound);
        let (fits, width) = (request.data.n_fits(), self.names.len());
        Arrays::new(fits, width, bounded, self.wants_covariances())
    }

    /// Creates the batch from its results.
    ///
    /// # Errors
    /// No error after [`check_batch`](Self::check_batch), which checks the names in formulas.
    pub(super) fn batch_fit(
        &self,
        request: &BatchRequest<'_>,
        ready: &Ready,
        mut arrays: Arrays,
        made: Made,
    ) -> Result<BatchFit> {
        arrays.tie(&ready.ties);
        if !(self.keep_covariance || self.asks_for_derived()) {
            arrays.covariances = Vec::new();
        }
        let derived = |(name, formula): &(String, Expression)| {
            Ok((name.clone(), Formula::of(formula, &self.names)?))
        };
        let derived = self.derived.iter().map(derived).collect::<Result<_>>()?;
        let mut batch = BatchFit {
            names: self.names.clone(),
            derived,
            derived_by_model: self.derived_by_model,
            fixed: (0..self.names.len())
                .map(|i| !request.spec.prepared.free.contains(&i))
                .collect(),
            arrays,
            priors: self.priors.len(),
            chi_square: match self.estimator {
                Estimator::Poisson => ChiSquareOf::Counts,
                _ if self.loss == Loss::Linear && request.data.sigma.is_absolute() => {
                    ChiSquareOf::Errors
                }
                _ => ChiSquareOf::Scatter,
            },
            correlated: Vec::new(),
            seconds: 0.0,
            threads: threads::count(),
            made,
        };
        if self.test_residuals {
            batch.correlated = correlated(request, &batch);
        }
        batch.seconds = request.begun.elapsed().as_secs_f64();
        Ok(batch)
    }

    /// Runs all fits of a request on the required or the fastest backend, and computes missing starts.
    pub(super) fn make_fits(
        &self,
        request: &BatchRequest<'_>,
        ready: &Ready,
        given: Option<GivenDevice<'_>>,
        out: BatchPart<'_>,
    ) -> Result<Made> {
        let sought = request.starts.sought();
        let found = sought.map(|start| self.found_starts(request, start, &mut *out.statuses));
        let found = found.transpose()?;
        let request = request.with_starts(found.as_ref());
        let (wanted, covariances) = (self.wanted(given), !out.covariances.is_empty());
        let Placement { reason, device } =
            place(&wanted, covariances, ready.printed.as_ref(), &request)?;
        let mut reason = reason.into_owned();
        let Some(on) = device else {
            run(&request, out)?;
            return Ok(Made { reason, device: None, parts: None });
        };
        let course = device::run(&request, &on, out)?;
        for taken_over in &course.moved {
            reason = format!("{reason}; {taken_over}");
        }
        if let Some(failed) = &course.failed {
            reason = format!("{reason}; the device failed: {failed}");
        }
        let name = names(on.devices.iter().map(|(device, _)| device));
        Ok(Made { reason, device: Some((name, course)), parts: None })
    }

    /// Returns true if covariance matrices are needed: for the caller, or for errors of tied parameters and of derived
    /// quantities.
    fn wants_covariances(&self) -> bool {
        self.keep_covariance || !self.ties.is_empty() || self.asks_for_derived()
    }

    /// Returns true if there are derived quantities in addition to the predefined ones of the model.
    fn asks_for_derived(&self) -> bool {
        self.derived.len() > self.derived_by_model
    }

    /// Tests the residuals of all fits of a batch for autocorrelation, as [`Fit`](crate::Fit) does;
    /// [`BatchFit::rejected`](crate::BatchFit::rejected) then returns the fits with correlated residuals, whose
    /// curve does not describe the data. The test needs one pass that evaluates the model on the CPU. Off by default.
    #[must_use]
    pub fn test_residuals(mut self, test: bool) -> CurveFit {
        self.test_residuals = test;
        self
    }

    /// If true, a batch stores the covariance matrix of every fit, n_params² numbers each, for
    /// [`BatchFit::covariance`](crate::BatchFit::covariance). True by default if there are quantities from
    /// [`derive`](CurveFit::derive).
    #[must_use]
    pub fn keep_covariance(mut self, keep: bool) -> CurveFit {
        self.keep_covariance = keep;
        self
    }
}
