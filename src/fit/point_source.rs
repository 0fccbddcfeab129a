//! Access to the points of a fit, and creation of their evaluators.

use super::stats::Stats;
use crate::backend::cpu::{Cpu, Prepared};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::data::loss::Loss;
use crate::data::sigma::Spread;
use crate::error::{Error, Result};
use crate::host::Instant;
use crate::normal::Arrow;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::Patience;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Options of an evaluator that all stages of a search share.
#[derive(Clone, Copy)]
pub(crate) struct EvaluatorOptions<'a> {
    pub(crate) model: &'a Prepared,
    /// Time limit and stop request of the passes.
    pub(crate) patience: Patience<'a>,
    /// If true, passes on the CPU run on the calling thread only.
    pub(crate) on_one_thread: bool,
}

/// Options of a stage's evaluator.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) loss: Loss,
    pub(crate) arithmetic: Arithmetic,
    /// Starting point of the search; it sets the scale of the parameters.
    pub(crate) start: &'a [f64],
    /// Time at which passes are interrupted.
    pub(crate) until: Option<Instant>,
    /// If true, the CPU evaluates the points as measurements with exact x, for any estimator and backend of the fit.
    pub(crate) plain: bool,
}

impl<'a> View<'a> {
    /// Creates a view in f64 without a time limit.
    pub(crate) fn of(loss: Loss, start: &'a [f64]) -> View<'a> {
        View { loss, arithmetic: Arithmetic::Double, start, until: None, plain: false }
    }
}

/// The points of a fit: in memory, in a stream, in several data sets, or distributed.
pub(crate) trait PointSource: Send + Sync {
    /// Creates an evaluator of the points on the chosen backend.
    ///
    /// # Errors
    /// The failure of a device that the caller requires.
    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
        view: &View<'_>,
    ) -> Result<PointEvaluator<'e>>;

    /// Returns the structure of the normal equations; `None` if they are full.
    fn shape(&self) -> Option<Arc<Arrow>> {
        None
    }

    /// Returns the arithmetic of a stage whose result is only the starting point of the next stage.
    fn rough_arithmetic(&self) -> Arithmetic {
        Arithmetic::Double
    }

    /// Converts a failure of the device into the error for the user.
    fn failed(&self, error: DriverError) -> Error;

    /// Returns the number of different points, counted up to `enough`.
    fn distinct(&self, enough: usize) -> usize;

    /// Returns true if passes run on a device.
    fn is_on_device(&self) -> bool {
        false
    }

    /// Returns the known scatter of a single observation.
    fn spread(&self) -> Spread;

    /// Returns the statistics of the backend: processor, memory, seconds.
    fn stats(&self, evaluator: &dyn Evaluator) -> Stats;
}

/// Evaluator of the points of a fit. An evaluator on the CPU is not boxed, so that the fits of a batch do not allocate.
#[expect(
    clippy::large_enum_variant,
    reason = "a box for each fit of a batch costs more than the size"
)]
pub(crate) enum PointEvaluator<'e> {
    Cpu(Cpu<'e>),
    Other(Box<dyn Evaluator + Send + 'e>),
}

impl<'e> Deref for PointEvaluator<'e> {
    type Target = dyn Evaluator + 'e;
    fn deref(&self) -> &(dyn Evaluator + 'e) {
        match self {
            PointEvaluator::Cpu(cpu) => cpu,
            PointEvaluator::Other(evaluator) => &**evaluator,
        }
    }
}

impl<'e> DerefMut for PointEvaluator<'e> {
    fn deref_mut(&mut self) -> &mut (dyn Evaluator + 'e) {
        match self {
            PointEvaluator::Cpu(cpu) => cpu,
            PointEvaluator::Other(evaluator) => &mut **evaluator,
        }
    }
}
