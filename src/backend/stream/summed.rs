//! What a pass may be asked for: the normal equations, or the triangular factor.

use super::pass_cache::{PassResult, Sums, Unfinished};
use crate::backend::cpu::Cpu;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::streamed::Streamed as Device;
use crate::normal::{Grouped, Normal, RFactor, Summary};
use crate::solver::outcome::Fault;

/// A summary that passes make and that is kept.
pub(crate) trait Summed: Summary + Clone + Into<PassResult> {
    /// Of no points, for `free` parameters.
    fn empty(free: usize) -> Self;

    /// The result, if it is of this kind.
    fn of(result: &PassResult) -> Option<&Self>;

    /// Sums of a pass that was stopped, if they are of this kind.
    fn resumed(unfinished: Unfinished) -> Option<(Grouped<Self>, u64)>;

    /// Sums of a pass that is stopped.
    fn unfinished(sums: Grouped<Self>) -> Sums;

    /// Adds the points of an evaluator.
    fn add(
        cpu: &mut Cpu<'_>,
        params: &[f64],
        columns: &[f64],
        sums: &mut Grouped<Self>,
    ) -> Result<(), Fault>;

    /// Begins a pass on a device.
    fn begin(device: &mut Device, params: &[f64], columns: &[f64]) -> Result<(), DriverError>;

    /// Becomes what the pass on the device gave.
    fn finish(&mut self, device: &mut Device) -> Result<(), DriverError>;
}

impl From<Normal> for PassResult {
    fn from(normal: Normal) -> PassResult {
        PassResult::Normal(normal)
    }
}

impl From<RFactor> for PassResult {
    fn from(factor: RFactor) -> PassResult {
        PassResult::Factor(factor)
    }
}

impl Summed for Normal {
    fn empty(free: usize) -> Normal {
        Normal::zero(free)
    }

    fn of(result: &PassResult) -> Option<&Normal> {
        if let PassResult::Normal(normal) = result { Some(normal) } else { None }
    }

    fn resumed(Unfinished { sums, next, .. }: Unfinished) -> Option<(Grouped<Normal>, u64)> {
        if let Sums::Normal(sums) = sums { Some((sums, next)) } else { None }
    }

    fn unfinished(sums: Grouped<Normal>) -> Sums {
        Sums::Normal(sums)
    }

    fn add(
        cpu: &mut Cpu<'_>,
        params: &[f64],
        columns: &[f64],
        sums: &mut Grouped<Normal>,
    ) -> Result<(), Fault> {
        cpu.add_normal(params, columns, sums)
    }

    fn begin(device: &mut Device, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        device.begin_normal(params, columns)
    }

    fn finish(&mut self, device: &mut Device) -> Result<(), DriverError> {
        device.finish_normal(self)
    }
}

impl Summed for RFactor {
    fn empty(free: usize) -> RFactor {
        RFactor::zero(free)
    }

    fn of(result: &PassResult) -> Option<&RFactor> {
        if let PassResult::Factor(factor) = result { Some(factor) } else { None }
    }

    fn resumed(Unfinished { sums, next, .. }: Unfinished) -> Option<(Grouped<RFactor>, u64)> {
        if let Sums::Factor(sums) = sums { Some((sums, next)) } else { None }
    }

    fn unfinished(sums: Grouped<RFactor>) -> Sums {
        Sums::Factor(sums)
    }

    fn add(
        cpu: &mut Cpu<'_>,
        params: &[f64],
        columns: &[f64],
        sums: &mut Grouped<RFactor>,
    ) -> Result<(), Fault> {
        cpu.add_factor(params, columns, sums)
    }

    fn begin(device: &mut Device, params: &[f64], columns: &[f64]) -> Result<(), DriverError> {
        device.begin_factor(params, columns)
    }

    fn finish(&mut self, device: &mut Device) -> Result<(), DriverError> {
        device.finish_factor(self)
    }
}
