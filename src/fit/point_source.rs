//! Access to the points of a fit, and creation of their evaluators.

use super::execution::{Execution, on_cpu};
use super::stats::Stats;
use crate::backend::cpu::{Cpu, Prepared, Scratch};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::sigma::Spread;
use crate::error::{Error, Result};
use crate::normal::Arrow;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::Patience;
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

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
    /// If a device fails that the caller requires.
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

/// Points in memory.
pub(crate) struct InMemory<'a> {
    pub(crate) points: &'a Points<'a>,
    execution: Execution,
    /// Counts as measurements; computed at the first use.
    measured: OnceLock<Option<Points<'a>>>,
    /// Scratch memory that consecutive evaluators on the CPU reuse.
    scratch: Option<&'a Mutex<Scratch>>,
}

impl<'a> InMemory<'a> {
    pub(crate) fn new(points: &'a Points<'a>, execution: Execution) -> InMemory<'a> {
        InMemory { points, execution, measured: OnceLock::new(), scratch: None }
    }

    /// Creates the points of one fit of many, which runs on the CPU. Its evaluators reuse `scratch`.
    pub(crate) fn reusing(points: &'a Points<'a>, scratch: &'a Mutex<Scratch>) -> InMemory<'a> {
        let execution = Execution::on_cpu("one of many");
        InMemory { scratch: Some(scratch), ..InMemory::new(points, execution) }
    }
}

impl PointSource for InMemory<'_> {
    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
        view: &View<'_>,
    ) -> Result<PointEvaluator<'e>> {
        let View { loss, arithmetic, start, plain, .. } = *view;
        let measured = match plain {
            true => self.measured.get_or_init(|| self.points.as_measurements()).as_ref(),
            false => None,
        };
        let points = measured.unwrap_or(self.points);
        let cpu = match self.scratch {
            Some(scratch) => Cpu::reusing(scratch, options.model, points, loss, start),
            None => Cpu::new(options.model, points, loss, start),
        };
        let cpu = cpu.within(options.patience);
        let cpu = if options.on_one_thread { cpu.on_one_thread() } else { cpu };
        match plain {
            true => Ok(on_cpu(cpu, points)),
            false => self.execution.evaluator(cpu, points, (loss, arithmetic)),
        }
    }

    fn rough_arithmetic(&self) -> Arithmetic {
        self.execution.rough_arithmetic()
    }

    fn failed(&self, error: DriverError) -> Error {
        self.execution.failed(error)
    }

    fn distinct(&self, enough: usize) -> usize {
        distinct_points(self.points, enough)
    }

    fn spread(&self) -> Spread {
        self.points.spread()
    }

    fn is_on_device(&self) -> bool {
        self.execution.device.is_some()
    }

    fn stats(&self, evaluator: &dyn Evaluator) -> Stats {
        let loaded = self.execution.device.as_ref().map(|on| &on.loaded);
        self.execution.stats(loaded, evaluator)
    }
}

/// Returns the number of different points, counted up to `enough`.
pub(crate) fn distinct_points(points: &Points<'_>, enough: usize) -> usize {
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    for i in points.kept() {
        if seen.len() >= enough {
            break;
        }
        // Adding 0.0 turns −0 into +0.
        seen.insert(points.columns.iter().map(|c| (c.at(i) + 0.0).to_bits()).collect());
    }
    seen.len()
}
