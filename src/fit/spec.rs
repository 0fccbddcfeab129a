//! Specification of a fit without its points and its start.

use super::point_source::{EvaluatorOptions, PointEvaluator, PointSource, View};
use super::priors::{Prior, WithPriors};
use crate::backend::cpu::Prepared;
use crate::data::loss::{Estimator, Loss};
use crate::error::Result;
use crate::solver::observe::{Observer, Patience, Stopper};
use crate::solver::options::Options;
use std::borrow::Cow;
use std::sync::Arc;

/// Specification of a fit. Single fits, batches, streams, joint fits and parts share it. Arrays have one value per
/// parameter.
#[derive(Clone)]
pub(crate) struct FitSpec<'a> {
    pub(crate) prepared: Cow<'a, Prepared>,
    pub(crate) names: &'a [String],
    pub(crate) bounds: &'a [(f64, f64)],
    /// Parameters that do not occur in the model.
    pub(crate) unused: Vec<bool>,
    /// Typical sizes of the parameters; NaN if unknown.
    pub(crate) scales: &'a [f64],
    pub(crate) priors: &'a [Prior],
    pub(crate) loss: Loss,
    pub(crate) estimator: Estimator,
    pub(crate) options: Options,
    /// Receives every step of a fit. In a batch it only stops fits.
    pub(crate) observer: Option<Arc<Observer>>,
    /// If true, passes on the CPU run on the calling thread only, because the other threads have their own fits.
    pub(crate) on_one_thread: bool,
}

impl FitSpec<'_> {
    pub(crate) fn observer(&self) -> Option<&Observer> {
        self.observer.as_deref()
    }

    /// Returns true if the observer stops the fit.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.is_cancelled())
    }

    /// Creates an evaluator of the points for `view`, with the rows of the priors in units of `row_unit`.
    ///
    /// # Errors
    /// The failure of a device that the caller requires.
    pub(crate) fn evaluator<'e>(
        &'e self,
        source: &'e dyn PointSource,
        view: &View<'_>,
        row_unit: f64,
    ) -> Result<PointEvaluator<'e>> {
        let stopper = self.observer.as_ref().map(|observer| observer as &dyn Stopper);
        let patience = Patience { until: view.until, stopper };
        let (model, on_one_thread) = (&*self.prepared, self.on_one_thread);
        let points =
            source.evaluator(&EvaluatorOptions { model, patience, on_one_thread }, view)?;
        // A plain view serves only to find a starting point; its row unit differs from that of the priors.
        if self.priors.is_empty() || view.plain {
            return Ok(points);
        }
        let with_priors = WithPriors::new(points, self.priors, &self.prepared.free, row_unit);
        Ok(PointEvaluator::Other(Box::new(with_priors)))
    }
}
