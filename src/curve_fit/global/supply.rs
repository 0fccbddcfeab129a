//! The points of all sets, each where it is computed.

use super::evaluator::{JointEvaluator, SetEvaluator};
use crate::backend::cpu::Prepared;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::data::loss::Loss;
use crate::data::sigma::Spread;
use crate::error::{Error, Result};
use crate::fit::search::View;
use crate::fit::stats::Stats;
use crate::fit::supply::{EvaluatorOptions, InMemory, Supply};
use crate::normal::{Arrow, Normal};
use crate::solver::evaluator::Evaluator;
use crate::solver::patience::Patience;
use std::sync::Arc;

/// One set with its model.
pub(super) struct JointSet<'a> {
    pub(super) supply: InMemory<'a>,
    pub(super) prepared: &'a Prepared,
    /// The position in the joint fit of each of the model's parameters.
    pub(super) params: &'a [usize],
    /// The position among the free parameters of the joint fit of each of the model's free ones.
    pub(super) free: Vec<usize>,
    /// Where the set's own parameters start.
    pub(super) start: Vec<f64>,
    /// By which rows are multiplied: the joint row unit over the set's own.
    pub(super) factor: f64,
}

/// All sets, at least one.
pub(super) struct JointSupply<'a> {
    pub(super) sets: Vec<JointSet<'a>>,
    /// Which free parameters meet, unless all do.
    pub(super) shape: Option<Arc<Arrow>>,
}

impl JointSet<'_> {
    /// The set's own parameters.
    fn own(&self, params: &[f64]) -> Vec<f64> {
        self.params.iter().map(|&k| params[k]).collect()
    }
}

impl JointSupply<'_> {
    /// For each set twice its part of the cost at `params`.
    pub(super) fn chi_squares(&self, params: &[f64], loss: Loss) -> Result<Vec<f64>> {
        let each = self.sets.iter().map(|set| {
            let own = set.own(params);
            let (model, patience) = (set.prepared, Patience::default());
            let view = View::of(loss, &set.start);
            let options = EvaluatorOptions { model, view, patience, on_one_thread: false };
            let n = set.free.len();
            let mut normal = Normal::zero(n);
            let mut evaluator = set.supply.evaluator(&options)?;
            // The fit has ended here: a set that cannot be evaluated any more has no number.
            let cost = match evaluator.normal(&own, &vec![1.0; n], &mut normal) {
                Ok(()) => normal.cost,
                Err(_) => f64::NAN,
            };
            let unit = set.supply.points.units.row;
            Ok(2.0 * (cost / unit / unit))
        });
        each.collect()
    }
}

impl Supply for JointSupply<'_> {
    fn evaluator<'e>(&'e self, options: &EvaluatorOptions<'e>) -> Result<Box<dyn Evaluator + 'e>> {
        let part = |set: &'e JointSet<'_>| {
            let view = View { start: &set.start, ..options.view };
            Ok(SetEvaluator {
                evaluator: set.supply.evaluator(&EvaluatorOptions {
                    model: set.prepared,
                    view,
                    ..*options
                })?,
                params: set.params,
                free: &set.free,
                factor: set.factor,
                own: set.start.clone(),
                columns: vec![1.0; set.free.len()],
                normal: Normal::zero(set.free.len()),
            })
        };
        let parts = self.sets.iter().map(part).collect::<Result<Vec<_>>>()?;
        let shape = self.shape.clone();
        Ok(Box::new(JointEvaluator { parts, shape, worthless: f64::INFINITY }))
    }

    fn shape(&self) -> Option<Arc<Arrow>> {
        self.shape.clone()
    }

    fn rough_arithmetic(&self) -> Arithmetic {
        Arithmetic::Double
    }

    fn failed(&self, error: DriverError) -> Error {
        let on_device = self.sets.iter().find(|set| set.supply.is_on_device());
        on_device.unwrap_or(&self.sets[0]).supply.failed(error)
    }

    fn distinct(&self, enough: usize) -> usize {
        let mut found = 0;
        for set in &self.sets {
            if found >= enough {
                break;
            }
            found += set.supply.distinct(enough - found);
        }
        found
    }

    fn spread(&self) -> Spread {
        let first = self.sets[0].supply.spread();
        match self.sets.iter().all(|set| set.supply.spread() == first) {
            true => first,
            false => Spread::Own,
        }
    }

    fn is_on_device(&self) -> bool {
        self.sets.iter().any(|set| set.supply.is_on_device())
    }

    fn stats(&self, evaluator: &dyn Evaluator) -> Stats {
        let on_device = self.sets.iter().find(|set| set.supply.is_on_device());
        on_device.unwrap_or(&self.sets[0]).supply.stats(evaluator)
    }
}
