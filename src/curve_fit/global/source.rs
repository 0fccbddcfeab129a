//! The points of all sets of a joint fit.

use super::evaluator::JointEvaluator;
use super::layout::SetPoints;
use super::sets::{SetEvaluator, SetGroup};
use crate::backend::cpu::simd_batch::{MOST_POINTS, Manner, SimdBatch};
use crate::backend::cpu::{PARALLEL_WORK, Prepared};
use crate::backend::cuda::driver::DriverError;
use crate::curve_fit::global::bad_sets::of_each;
use crate::curve_fit::ready::Ready;
use crate::data::loss::{Estimator, Loss};
use crate::data::scaling::Units;
use crate::data::sigma::{Spread, Weights};
use crate::error::{Error, Result};
use crate::fit::in_memory::InMemory;
use crate::fit::point_source::{EvaluatorOptions, PointEvaluator, PointSource, View};
use crate::fit::stats::Stats;
use crate::normal::abreast::ABREAST;
use crate::normal::{Arrow, Normal};
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::Patience;
use std::collections::HashMap;
use std::sync::Arc;

/// Fixed cost of a set, in element operations.
const SET_WORK: usize = 4000;

/// One set with its model.
pub(super) struct JointSet<'a> {
    /// Index of the set in the joint fit.
    pub(super) set: usize,
    /// Equal for sets whose models have the same code.
    pub(super) model: usize,
    pub(super) source: InMemory<'a>,
    pub(super) prepared: &'a Prepared,
    /// Position of each parameter of the model among the parameters of the joint fit.
    pub(super) params: &'a [usize],
    /// Position of each free parameter of the model among the free parameters of the joint fit.
    pub(super) free: Vec<usize>,
    /// Starting values of the parameters of the set's model.
    pub(super) start: Vec<f64>,
    /// Row unit (power of two that multiplies all rows) of the joint fit, divided by the row unit of the set.
    pub(super) factor: f64,
}

/// Points and models of all sets, at least one.
pub(super) struct JointSource<'a> {
    pub(super) sets: Vec<JointSet<'a>>,
    /// Block structure of the free parameters; `None` if they form a single block.
    pub(super) shape: Option<Arc<Arrow>>,
}

impl JointSet<'_> {
    /// Returns the parameters of the set's model.
    fn own(&self, params: &[f64]) -> Vec<f64> {
        self.params.iter().map(|&k| params[k]).collect()
    }

    /// Returns true if the set has few points and can be evaluated in lanes: ordinary units, exact x, no correlations.
    fn is_small(&self) -> bool {
        let points = self.source.points;
        points.len() <= MOST_POINTS
            && points.units == Units::ORDINARY
            && points.x_sigma.is_exact()
            && points.correlation.is_none()
            && !self.free.is_empty()
    }

    /// Returns true if all points have the same weight and `points` points are used.
    fn has_equal(&self, points: usize) -> bool {
        let own = self.source.points;
        own.used == points && matches!(own.sigma, Weights::Equal)
    }

    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
        view: &View<'_>,
    ) -> Result<SetEvaluator<'e>> {
        let view = View { start: &self.start, ..*view };
        let options = EvaluatorOptions { model: self.prepared, ..*options };
        Ok(SetEvaluator {
            set: self.set,
            evaluator: self.source.evaluator(&options, &view)?,
            params: self.params,
            free: &self.free,
            factor: self.factor,
            own: self.start.clone(),
            columns: vec![1.0; self.free.len()],
            normal: Normal::zero(self.free.len()),
        })
    }
}

/// Returns, for each set, the index of the first set whose model has the same code. A native model equals only itself.
pub(super) fn same_models(sets: &[SetPoints<'_, '_>], ready: &[&Arc<Ready>]) -> Vec<usize> {
    let (mut by_place, mut by_code) = (HashMap::new(), HashMap::new());
    let first = |(member, SetPoints { set, .. }): (usize, &SetPoints<'_, '_>)| {
        let Some(printed) = &ready[*set].printed else { return member };
        // The code of a model that several sets share is compared once.
        *by_place
            .entry(Arc::as_ptr(printed))
            .or_insert_with(|| *by_code.entry(printed.program.code()).or_insert(member))
    };
    sets.iter().enumerate().map(first).collect()
}

/// Returns the points of several small sets of one model, one lane per set; `None` if the sets cannot be evaluated in
/// lanes.
fn abreast(sets: &[JointSet<'_>], view: &View<'_>) -> Option<SimdBatch> {
    let first = &sets[0];
    let points = first.source.points;
    let is_alike = |set: &JointSet<'_>| {
        set.model == first.model
            && set.source.points.estimator == points.estimator
            && set.is_small()
    };
    if sets.len() < 2 || view.plain || !sets.iter().all(is_alike) {
        return None;
    }
    let has_equal = sets.iter().all(|set| set.has_equal(points.used));
    // Shorter sets would be filled up with points of weight 0, but the likelihood of counts supports no weights.
    if points.estimator == Estimator::Poisson && !has_equal {
        return None;
    }
    let (loss, estimator) = (view.loss, points.estimator);
    let manner = Manner { loss, estimator, shared: false, weighted: !has_equal };
    let mut abreast = SimdBatch::new(first.prepared, points.columns.len(), manner)?;
    let lanes = sets.iter().enumerate();
    lanes.for_each(|(lane, set)| abreast.load(lane, set.source.points));
    Some(abreast)
}

impl JointSource<'_> {
    /// Returns true if a pass takes longer than waking up threads.
    fn is_worth_threads(&self) -> bool {
        let work = |set: &JointSet<'_>| {
            Some(SET_WORK + set.prepared.work_of_a_point()? * set.source.points.len())
        };
        let whole: Option<usize> = self.sets.iter().map(work).sum();
        whole.is_none_or(|whole| whole > PARALLEL_WORK)
    }

    /// Returns 2x the cost of each set at `params`.
    pub(super) fn chi_squares(&self, params: &[f64], loss: Loss) -> Result<Vec<f64>> {
        let chi_square = |set: &JointSet<'_>| {
            let own = set.own(params);
            let (model, patience) = (set.prepared, Patience::default());
            let view = View::of(loss, &set.start);
            let options = EvaluatorOptions { model, patience, on_one_thread: false };
            let n = set.free.len();
            let mut normal = Normal::zero(n);
            let mut evaluator = set.source.evaluator(&options, &view)?;
            // The fit has already ended; a set that cannot be evaluated is NaN instead of an error.
            let cost = match evaluator.normal(&own, &vec![1.0; n], &mut normal) {
                Ok(()) => normal.cost,
                Err(_) => f64::NAN,
            };
            let unit = set.source.points.units.row;
            Ok(2.0 * (cost / unit / unit))
        };
        of_each(self.sets.iter().collect(), chi_square).into_iter().collect()
    }
}

impl PointSource for JointSource<'_> {
    fn evaluator<'e>(
        &'e self,
        options: &EvaluatorOptions<'e>,
        view: &View<'_>,
    ) -> Result<PointEvaluator<'e>> {
        let group = |sets: &'e [JointSet<'_>]| {
            let each =
                sets.iter().map(|set| set.evaluator(options, view)).collect::<Result<_>>()?;
            Ok(SetGroup { sets: each, abreast: abreast(sets, view) })
        };
        let groups = self.sets.chunks(ABREAST).map(group).collect::<Result<Vec<_>>>()?;
        let parallel = groups.len() > 1 && !options.on_one_thread && self.is_worth_threads();
        let (shape, worthless) = (self.shape.clone(), f64::INFINITY);
        let joint = JointEvaluator { groups, shape, parallel, worthless };
        Ok(PointEvaluator::Other(Box::new(joint)))
    }

    fn shape(&self) -> Option<Arc<Arrow>> {
        self.shape.clone()
    }

    fn failed(&self, error: DriverError) -> Error {
        self.sets[0].source.failed(error)
    }

    fn distinct(&self, enough: usize) -> usize {
        let mut found = 0;
        for set in &self.sets {
            if found >= enough {
                break;
            }
            found += set.source.distinct(enough - found);
        }
        found
    }

    fn spread(&self) -> Spread {
        let first = self.sets[0].source.spread();
        match self.sets.iter().all(|set| set.source.spread() == first) {
            true => first,
            false => Spread::Own,
        }
    }

    fn stats(&self, evaluator: &dyn Evaluator) -> Stats {
        self.sets[0].source.stats(evaluator)
    }
}
