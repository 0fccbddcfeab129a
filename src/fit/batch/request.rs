//! Request for the fits of a batch.

use super::status::FitStatus;
use crate::backend::Precision;
use crate::data::batch::{BatchData, Starts};
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::fit::point_source::PointSource;
use crate::fit::search::SearchRequest;
use crate::fit::spec::FitSpec;
use crate::host::Instant;
use crate::solver::observe::Observer;
use crate::solver::options::Options;
use crate::solver::task::{Problem, Task, Work};
use crate::threads;

/// A validated batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchRequest<'a> {
    /// Settings of all fits. Their observer can only stop the batch; no further fit begins after that.
    pub(crate) spec: &'a FitSpec<'a>,
    pub(crate) data: &'a BatchData<'a>,
    pub(crate) starts: &'a Starts<'a>,
    /// Floating-point precision on devices.
    pub(crate) precision: Precision,
    /// Options of the first attempt.
    pub(crate) first_options: Options,
    /// Receives the progress of the batch.
    pub(crate) observer: Option<&'a Observer>,
    /// If true, starts outside the bounds are moved onto them.
    pub(crate) clamp_start: bool,
    /// If true, fits may have fewer points than free parameters.
    pub(crate) underdetermined: bool,
    pub(crate) begun: Instant,
}

impl<'a> BatchRequest<'a> {
    /// Returns the same request with `starts`.
    pub(crate) fn with_starts<'b>(&self, starts: Option<&'b Starts<'b>>) -> BatchRequest<'b>
    where
        'a: 'b,
    {
        BatchRequest { starts: starts.unwrap_or(self.starts), ..*self }
    }

    /// Returns the points of a fit if they are valid. `columns` and `y` are buffers for the points; without
    /// `y`, samples keep their type.
    pub(crate) fn points<'p>(
        &self,
        fit: usize,
        columns: &'p mut Vec<Values<'a>>,
        y: Option<&'p mut Vec<f64>>,
    ) -> std::result::Result<Points<'p>, FitStatus> {
        let mut points = Points::check(self.data.fit(fit, columns, y))?;
        if self.spec.estimator == Estimator::Poisson {
            points.count_events()?;
        }
        Ok(points)
    }

    /// Returns the time at which the time limit of a fit begins.
    pub(super) fn clock(&self) -> Instant {
        if self.spec.options.max_time.is_some() { Instant::now() } else { self.begun }
    }

    /// Returns the request for the search of a fit of these points.
    pub(super) fn search_request<'s>(
        &'s self,
        source: &'s dyn PointSource,
        fit: usize,
    ) -> SearchRequest<'s> {
        SearchRequest {
            spec: self.spec,
            source,
            options: self.spec.options,
            refined: false,
            sample: None,
            linear: self.starts.linear(fit),
            errors_in_x: !self.data.x_sigma.is_exact(),
        }
    }

    /// Returns the task of a minimisation in parallel with others, without an observer.
    pub(super) fn task<'t>(&'t self, problem: &'t Problem) -> Task<'t> {
        let (options, begun, work) = (&self.first_options, self.begun, Work::default());
        Task { problem, options, observer: None, begun, work, known: None }
    }

    /// Returns true if the batch has an observer or a cancel token.
    pub(super) fn is_watched(&self) -> bool {
        self.observer.is_some() || self.spec.observer.is_some()
    }
}

/// Returns true if `fits` fits keep all threads busy, one fit per thread.
pub(crate) fn fill_all_threads(fits: usize) -> bool {
    fits >= 2 * threads::count()
}
