//! Model and evaluation settings of passes.

use super::pass_cache::PassKey;
use super::question::Terms;
use crate::backend::cpu::{Cpu, Prepared, Scratch};
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::solver::patience::Patience;

/// Model and evaluation settings of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Evaluated<'a> {
    pub(crate) model: &'a Prepared,
    pub(crate) loss: Loss,
    /// Upper limit of the weight of a point, in row units.
    pub(crate) most_weight: f64,
    /// Starting point of the fit; it sets the typical sizes of the parameters.
    pub(crate) start: &'a [f64],
    /// Time limit and cancellation of the passes.
    pub(crate) patience: Patience<'a>,
}

impl Evaluated<'_> {
    /// Returns the cache key of a pass at these parameters.
    pub(crate) fn key(&self, params: &[f64], columns: &[f64]) -> PassKey {
        let Evaluated { loss, most_weight, .. } = *self;
        PassKey { loss, most_weight, params: params.to_vec(), columns: columns.to_vec() }
    }

    pub(crate) fn terms(&self) -> Terms {
        let Evaluated { loss, most_weight, start, .. } = *self;
        Terms { loss, most_weight, start: start.to_vec() }
    }

    /// Calls `work` with an evaluator of `points`. The evaluator uses `scratch` and returns it afterwards.
    pub(crate) fn on<R>(
        &self,
        scratch: &mut Scratch,
        points: &Points<'_>,
        work: impl FnOnce(&mut Cpu<'_>) -> R,
    ) -> R {
        let Evaluated { model, loss, most_weight, start, patience } = *self;
        let cpu = Cpu::of_part(std::mem::take(scratch), model, points, loss, start);
        let mut cpu = cpu.within(patience).with_weights_of(most_weight);
        let done = work(&mut cpu);
        *scratch = cpu.into_scratch();
        done
    }
}
