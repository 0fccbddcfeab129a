//! What a pass may be asked for: the normal equations, or the triangular factor.

use super::memo::{Answer, Sums, Unfinished};
use crate::backend::cpu::Cpu;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::streamed::Streamed as Device;
use crate::normal::{Grouped, Normal, RFactor, Summary};
use crate::solver::outcome::Fault;

/// A summary that passes make and that is kept.
pub(crate) trait Answered: Summary + Clone + Into<Answer> {
    /// Of no points, for `free` parameters.
    fn empty(free: usize) -> Self;

    /// The answer, if it is of this kind.
    fn of(answer: &Answer) -> Option<&Self>;

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

impl From<Normal> for Answer {
    fn from(normal: Normal) -> Answer {
        Answer::Normal(normal)
    }
}

impl From<RFactor> for Answer {
    fn from(factor: RFactor) -> Answer {
        Answer::Factor(factor)
    }
}

impl Answered for Normal {
    fn empty(free: usize) -> Normal {
        Normal::zero(free)
    }

    fn of(answer: &Answer) -> Option<&Normal> {
        if let Answer::Normal(normal) = answer { Some(normal) } else { None }
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

impl Answered for RFactor {
    fn empty(free: usize) -> RFactor {
        RFactor::zero(free)
    }

    fn of(answer: &Answer) -> Option<&RFactor> {
        if let Answer::Factor(factor) = answer { Some(factor) } else { None }
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
