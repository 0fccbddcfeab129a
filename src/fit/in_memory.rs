//! Points of a fit in memory.

use super::execution::{Execution, on_cpu};
use super::point_source::{EvaluatorOptions, PointEvaluator, PointSource, View};
use super::stats::Stats;
use crate::backend::cpu::{Cpu, Scratch};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::data::points::Points;
use crate::data::sigma::Spread;
use crate::error::{Error, Result};
use crate::solver::evaluator::Evaluator;
use std::collections::HashSet;
use std::sync::{Mutex, OnceLock};

/// Points in memory.
pub(crate) struct InMemory<'a> {
    pub(crate) points: &'a Points<'a>,
    execution: Execution,
    /// The points for plain least squares: without errors of x, and with counts as ordinary values of y. `None` if
    /// `points` already have this form. Computed at the first use.
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
