//! Access to the points of a fit, and creation of their evaluators.

use super::execution::{Execution, on_cpu};
use super::search::View;
use super::stats::Stats;
use crate::backend::cpu::{Cpu, Prepared};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::data::points::Points;
use crate::data::sigma::Spread;
use crate::error::{Error, Result};
use crate::normal::Arrow;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::Patience;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// Options of an evaluator for one stage of a search.
#[derive(Clone, Copy)]
pub(crate) struct EvaluatorOptions<'a> {
    pub(crate) model: &'a Prepared,
    pub(crate) view: View<'a>,
    /// Time limit and stop request of the passes.
    pub(crate) patience: Patience<'a>,
    /// If true, passes on the CPU run on the calling thread only.
    pub(crate) on_one_thread: bool,
}

/// The points of a fit.
pub(crate) trait Supply: Sync {
    /// Creates an evaluator of the points on the chosen backend.
    ///
    /// # Errors
    /// If a device fails that the caller requires.
    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
    ) -> Result<Box<dyn Evaluator + Send + 'e>>;

    /// Returns the structure of the normal equations; `None` if they are full.
    fn shape(&self) -> Option<Arc<Arrow>> {
        None
    }

    /// Returns the arithmetic of a stage whose result is only the starting point of the next stage.
    fn rough_arithmetic(&self) -> Arithmetic;

    /// Converts a failure of the device into the error for the user.
    fn failed(&self, error: DriverError) -> Error;

    /// Returns the number of different points, counted up to `enough`.
    fn distinct(&self, enough: usize) -> usize;

    /// Returns true if passes run on a device.
    fn is_on_device(&self) -> bool;

    /// Returns the known scatter of a single observation.
    fn spread(&self) -> Spread;

    /// Returns the statistics of the backend: processor, memory, seconds.
    fn stats(&self, evaluator: &dyn Evaluator) -> Stats;
}

/// Points in memory.
pub(crate) struct InMemory<'a> {
    pub(crate) points: &'a Points<'a>,
    execution: &'a Execution,
    /// Counts as measurements; computed at the first use.
    measured: OnceLock<Option<Points<'a>>>,
}

impl<'a> InMemory<'a> {
    pub(crate) fn new(points: &'a Points<'a>, execution: &'a Execution) -> InMemory<'a> {
        InMemory { points, execution, measured: OnceLock::new() }
    }
}

impl Supply for InMemory<'_> {
    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
    ) -> Result<Box<dyn Evaluator + Send + 'e>> {
        let View { loss, arithmetic, start, plain, .. } = options.view;
        let measured = match plain {
            true => self.measured.get_or_init(|| self.points.as_measurements()).as_ref(),
            false => None,
        };
        let points = measured.unwrap_or(self.points);
        let cpu = Cpu::new(options.model, points, loss, start).within(options.patience);
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
