//! Passes over single sets, and over several small sets in lanes.

use crate::backend::cpu::simd_batch::SimdBatch;
use crate::fit::point_source::PointEvaluator;
use crate::normal::{Normal, RFactor};
use crate::solver::outcome::Fault;

/// Maximum relative change of a sum due to the order of additions.
const ORDER: f64 = 1e-12;

/// Evaluator of one set.
pub(super) struct SetEvaluator<'e> {
    /// Index of the set in the joint fit.
    pub(super) set: usize,
    pub(super) evaluator: PointEvaluator<'e>,
    /// Position of each parameter of the model among the parameters of the joint fit.
    pub(super) params: &'e [usize],
    /// Position of each free parameter of the model among the free parameters of the joint fit.
    pub(super) free: &'e [usize],
    /// Factor that converts rows to the row unit (power of two that multiplies all rows) of the joint fit.
    pub(super) factor: f64,
    /// Buffers for the set's own parameters, columns and sums.
    pub(super) own: Vec<f64>,
    pub(super) columns: Vec<f64>,
    pub(super) normal: Normal,
}

impl SetEvaluator<'_> {
    pub(super) fn take_params(&mut self, params: &[f64]) {
        self.own.iter_mut().zip(self.params).for_each(|(own, &k)| *own = params[k]);
    }

    pub(super) fn take(&mut self, params: &[f64], columns: &[f64]) {
        self.take_params(params);
        self.columns.iter_mut().zip(self.free).for_each(|(own, &j)| *own = columns[j]);
    }

    /// Computes the normal equations at the current parameters.
    fn sum(&mut self) -> Result<(), (usize, Fault)> {
        let SetEvaluator { evaluator, own, columns, normal, .. } = self;
        evaluator.normal(own, columns, normal).map_err(|fault| (self.set, fault))
    }

    /// Returns the cost of the set, in the joint row unit.
    pub(super) fn cost(&self) -> f64 {
        self.normal.cost * self.factor * self.factor
    }
}

/// Sets that a thread evaluates together.
pub(super) struct SetGroup<'e> {
    pub(super) sets: Vec<SetEvaluator<'e>>,
    /// Points of the sets, one lane per set, if the sets are small.
    pub(super) abreast: Option<SimdBatch>,
}

impl SetGroup<'_> {
    /// Computes the normal equations of all sets. `worthless`: minimum cost at which the trial is rejected, so that its
    /// products are not needed.
    ///
    /// # Errors
    /// The index and fault of the first set that fails.
    pub(super) fn normal(
        &mut self,
        params: &[f64],
        columns: &[f64],
        worthless: f64,
    ) -> Result<(), (usize, Fault)> {
        self.sets.iter_mut().for_each(|set| set.take(params, columns));
        // The evaluation in lanes does not support scaled columns.
        let has_units = self.sets.iter().any(|set| set.columns.iter().any(|&c| c != 1.0));
        let mut abreast = self.abreast.as_mut().filter(|_| !has_units);
        if let Some(abreast) = &mut abreast {
            let trial = |lane: usize| self.sets.get(lane).map(|set| set.own.as_slice());
            abreast.evaluate(std::array::from_fn(trial));
        }
        let mut cost = 0.0;
        for (lane, set) in self.sets.iter_mut().enumerate() {
            let summed =
                abreast.as_ref().is_some_and(|abreast| abreast.read(lane, &mut set.normal));
            if !summed {
                if worthless < f64::INFINITY {
                    // The tolerance is needed because the joint cost is summed in another order.
                    let left = (worthless - cost) / (set.factor * set.factor);
                    set.evaluator.expect_below(left * (1.0 + ORDER));
                }
                set.sum()?;
            }
            cost += set.cost();
        }
        Ok(())
    }

    /// Computes the R factors of all sets, in their own row units.
    ///
    /// # Errors
    /// The errors of [`normal`](Self::normal).
    pub(super) fn factors(
        &mut self,
        params: &[f64],
        columns: &[f64],
    ) -> Result<Vec<RFactor>, (usize, Fault)> {
        let factor = |set: &mut SetEvaluator<'_>| {
            set.take(params, columns);
            let mut factor = RFactor::zero(set.columns.len());
            let made = set.evaluator.factor(&set.own, &set.columns, &mut factor);
            made.map(|()| factor).map_err(|fault| (set.set, fault))
        };
        self.sets.iter_mut().map(factor).collect()
    }
}
