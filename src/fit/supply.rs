//! Where the points of a fit are, and who evaluates them there.

use super::execution::Execution;
use super::stats::Stats;
use crate::backend::cpu::{Cpu, Prepared, kernels};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::backend::{Evaluator, Patience};
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::sigma::Spread;
use crate::error::{Error, Result};

/// What a stage of a fit asks of the points.
pub(crate) struct EvaluatorWish<'a> {
    pub(crate) model: &'a Prepared,
    /// Where the fit starts, which says how large parameters are.
    pub(crate) start: &'a [f64],
    pub(crate) loss: Loss,
    pub(crate) arithmetic: Arithmetic,
    /// Whether passes on the CPU are left to the calling thread.
    pub(crate) on_one_thread: bool,
    /// How long passes may go on.
    pub(crate) patience: Patience<'a>,
}

/// The points of a fit.
pub(crate) trait Supply: Sync {
    /// The points under a loss, where the fit is computed.
    ///
    /// # Errors
    /// What a device that was asked for refused.
    fn evaluator<'e>(&'e self, wish: &EvaluatorWish<'e>) -> Result<Box<dyn Evaluator + 'e>>;

    /// What a stage computes with that only says where the next one begins.
    fn rough_arithmetic(&self) -> Arithmetic;

    /// What a user should see of a failure of the device.
    fn failed(&self, error: DriverError) -> Error;

    /// Number of different points, counted up to `enough`.
    fn distinct(&self, enough: usize) -> usize;

    /// Whether passes run on a device.
    fn is_on_device(&self) -> bool;

    /// What is known of how far a single observation scatters.
    fn spread(&self) -> Spread;

    /// Where the work was done, and what it took there.
    fn stats(&self, evaluator: &dyn Evaluator) -> Stats;
}

/// Points in memory.
pub(crate) struct InMemory<'a> {
    pub(crate) points: &'a Points<'a>,
    pub(crate) execution: &'a Execution<'a>,
}

impl Supply for InMemory<'_> {
    fn evaluator<'e>(&'e self, wish: &EvaluatorWish<'e>) -> Result<Box<dyn Evaluator + 'e>> {
        let cpu = Cpu::new(wish.model, self.points, wish.loss, wish.start);
        let mut cpu = cpu.within(wish.patience);
        if wish.on_one_thread {
            cpu = cpu.on_one_thread();
        }
        self.execution.evaluator(cpu, self.points, (wish.loss, wish.arithmetic))
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
        let on = self.execution.device.as_ref();
        let used = evaluator.device();
        let failed = used.as_ref().and_then(|u| u.failed.as_ref());
        let reason = &self.execution.reason;
        Stats {
            backend: if on.is_some() && failed.is_none() { "CUDA" } else { "CPU" },
            instruction_set: match on {
                Some(on) if failed.is_none() => on.architecture(),
                _ => kernels::detect().name.to_owned(),
            },
            reason: match failed {
                None => reason.clone(),
                Some(failed) => {
                    format!("{reason}; the CPU went on where the device failed: {failed}")
                }
            },
            device: on.map(|on| on.device.properties().name.clone()),
            threads: evaluator.threads(),
            upload_seconds: on.map_or(0.0, |on| on.upload_seconds),
            compile_seconds: on.map_or(0.0, |on| on.compile_seconds),
            kernels: on.map(|on| on.origin),
            scratch_bytes: evaluator.scratch_bytes(),
            device_bytes: used.as_ref().map_or(0, |u| u.bytes),
            chunks: used.as_ref().map_or(1, |u| u.chunks),
            ..Stats::default()
        }
    }
}

/// Number of different points, counted up to `enough`.
pub(crate) fn distinct_points(points: &Points<'_>, enough: usize) -> usize {
    let mut seen: Vec<Vec<f64>> = Vec::new();
    for i in points.kept() {
        if seen.len() >= enough {
            break;
        }
        let same = |x: &Vec<f64>| points.columns.iter().zip(x).all(|(c, &v)| c.at(i) == v);
        if !seen.iter().any(same) {
            seen.push(points.columns.iter().map(|c| c.at(i)).collect());
        }
    }
    seen.len()
}
