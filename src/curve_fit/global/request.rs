//! Preparation and run of a joint fit.

use super::bad_sets::{BadSets, all_good, in_set, of_each};
use super::joint_fit::{JointFit, SetView};
use super::layout::{self, Asked, JointLayout, SetMember, SetPoints, overview_of};
use super::source::{JointSet, JointSource, same_models};
use crate::backend::cpu::Prepared;
use crate::curve_fit::parameters::told_of_ties;
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::ready::Ready;
use crate::data::Data;
use crate::data::sigma::Spread;
use crate::error::{Error, GlobalError, Result};
use crate::fit::engine::{Request, Spent};
use crate::fit::execution::Execution;
use crate::fit::in_memory::InMemory;
use crate::fit::propagated::Formula;
use crate::fit::spec::FitSpec;
use crate::host::Instant;
use crate::model::native::Model;
use crate::model::ties::Ties;
use std::borrow::Cow;
use std::sync::Arc;

/// Smallest ratio (2⁻³⁰⁰) of the row units of two sets whose squares can be added. A set with a small row unit has
/// large rows. If the ratio is below this limit, the sums of squares lose the rows of the other set by rounding.
const BESIDE: f64 = f64::from_bits((1023 - 300) << 52);

impl JointLayout {
    pub(super) fn check_columns(&self, data: &[Data<'_>]) -> Result<()> {
        self.members.iter().zip(data).enumerate().try_for_each(|(set, (member, data))| {
            member.model()?.expect_columns(data.columns.len()).map_err(in_set(set))
        })
    }

    /// Returns the points of the sets that are not left out.
    ///
    /// # Errors
    /// Errors in the points of some sets.
    pub(super) fn points<'s, 'a>(
        &'s self,
        data: &'a [Data<'_>],
    ) -> std::result::Result<Vec<SetPoints<'s, 'a>>, BadSets> {
        let kept = self.members.iter().zip(data).enumerate();
        let kept = kept.filter(|(_, (member, _))| !member.left_out);
        let each = of_each(kept.collect(), |(set, (member, data))| {
            let points = member.curve.validate(data).map_err(|error| (set, error))?;
            Ok(SetPoints { set, member, points })
        });
        let sets = all_good(each)?;
        let bad = outweighing(&sets);
        if bad.is_empty() { Ok(sets) } else { Err(bad) }
    }

    /// Checks the model of each set at the starting point.
    ///
    /// # Errors
    /// If the model of a set has no finite value.
    pub(super) fn check_values(
        &self,
        sets: &[SetPoints<'_, '_>],
        start: &[f64],
    ) -> std::result::Result<(), BadSets> {
        let each = of_each(sets.iter().collect(), |SetPoints { set, member, points }| {
            member.curve.check_value(&member.own(start), points).map_err(|error| (*set, error))
        });
        all_good(each).map(|_| ())
    }

    pub(super) fn request(
        &self,
        sets: &[SetPoints<'_, '_>],
        start: CompleteStart,
        spent: Spent,
        left_out: &BadSets,
    ) -> Result<JointFit> {
        let begun = Instant::now();
        let first = &self.members[0].curve;
        let whole = overview_of(sets)?;
        let priors = layout::priors_of_all(&self.members);
        for (set, member) in self.members.iter().enumerate() {
            member.curve.check_priors(whole.absolute).map_err(in_set(set))?;
        }
        if whole.used + priors.len() < self.free.len() && !first.underdetermined {
            let parameters = self.free.len();
            return Err(Error::TooFewPoints { points: whole.used, parameters });
        }
        let ready = self.members.iter().enumerate().map(|(set, member)| {
            let free = member.curve.free_positions();
            member.curve.ready(&free).map_err(in_set(set))
        });
        let ready = ready.collect::<Result<Vec<_>>>()?;
        let programs: Vec<&Model> = ready.iter().map(|ready| &ready.model).collect();
        let unused = self.unused(&programs)?;
        let ties: Vec<(&Ties, &[usize])> = self
            .members
            .iter()
            .zip(&ready)
            .map(|(member, ready)| (&*ready.ties, member.params.as_slice()))
            .collect();
        let ties = Arc::new(Ties::joined(&ties, &self.names)?);
        let CompleteStart { values: mut start, solved: linear, search, .. } = start;
        ties.complete(&mut start);
        let each = sets.iter().map(|SetPoints { set, points, .. }| {
            ready[*set].prepared(&points.x_sigma).map_err(in_set(*set))
        });
        let each = each.collect::<Result<Vec<_>>>()?;
        let models = same_models(sets, &ready);
        let reason = Execution::of_joint_fit(&first.wanted(None))?.reason;
        let mut place = vec![usize::MAX; self.names.len()];
        self.free.iter().enumerate().for_each(|(j, &k)| place[k] = j);
        let sets: Vec<JointSet<'_>> = sets
            .iter()
            .zip(&each)
            .zip(models)
            .map(|((SetPoints { set, member, points }, prepared), model)| JointSet {
                set: *set,
                model,
                source: InMemory::new(points, Execution::on_cpu(reason.clone())),
                prepared,
                params: &member.params,
                free: member.free(&place),
                start: member.own(&start),
                factor: whole.units.row / points.units.row,
            })
            .collect();
        let source = Arc::new(JointSource { sets, shape: self.shape.clone() });
        let model = layout::joint_model(&self.members, &programs, &self.names)?;
        let prepared = match &model {
            Model::Traced(program) => Prepared::traced(program.clone(), &self.free),
            Model::Native(native) => Prepared::native(native, &self.free, &self.bounds),
        };
        let scales = layout::scales_of_all(&self.members, self.names.len());
        let prepare_time = begun.elapsed();
        let watch = first.watch_after(search).map(|observer| told_of_ties(observer, &ties));
        let spec = FitSpec {
            prepared: Cow::Owned(prepared),
            names: &self.names,
            bounds: &self.bounds,
            unused,
            scales: &scales,
            priors: &priors,
            loss: first.loss,
            estimator: first.estimator,
            options: first.options,
            observer: watch,
            on_one_thread: false,
        };
        let request = Request {
            spec,
            model: &model,
            source: source.clone(),
            points: whole,
            start,
            fixed: place.iter().map(|&j| j == usize::MAX).collect(),
            ties,
            components: Arc::default(),
            derived: &[],
            starts_refined: false,
            sample: None,
            linear,
            prepare_time,
            spent,
        };
        let mut fit = request.fit()?;
        for Asked { name, formula, places } in layout::derived_of_all(&self.members, &self.names) {
            fit.add_derived(name, Formula { expression: formula.clone(), places });
        }
        let mut views: Vec<SetView> =
            self.members.iter().zip(ready).map(view_without_points).collect();
        for set in &source.sets {
            let points = set.source.points;
            (views[set.set].points, views[set.set].spread) = (points.used, points.spread());
        }
        let mut chi_squares = vec![f64::NAN; views.len()];
        let found = source.chi_squares(&fit.params, first.loss)?;
        source.sets.iter().zip(found).for_each(|(set, found)| chi_squares[set.set] = found);
        let left_out = left_out.iter().map(|(&set, error)| (set, error.to_string())).collect();
        Ok(JointFit { fit, chi_squares, views, left_out })
    }
}

fn view_without_points((member, ready): (&SetMember, &Arc<Ready>)) -> SetView {
    SetView {
        model: ready.model.clone(),
        ties: ready.ties.clone(),
        components: member.curve.components.clone(),
        names: member.curve.names.clone(),
        params: member.params.clone(),
        derived: member.curve.derived.clone(),
        points: 0,
        spread: Spread::Own,
    }
}

/// Returns the sets whose rows outweigh those of the other sets. A set outweighs the others if its row unit is below 1
/// and less than [`BESIDE`] times the row units of at least half of the sets. A small row unit means large rows.
fn outweighing(sets: &[SetPoints<'_, '_>]) -> BadSets {
    let unit = |set: &SetPoints<'_, '_>| set.points.units.row;
    if sets.iter().all(|set| unit(set) >= 1.0) {
        return BadSets::new();
    }
    let mut units: Vec<f64> = sets.iter().map(unit).collect();
    units.sort_by(f64::total_cmp);
    let usual = units[units.len() / 2];
    let bad = sets.iter().filter(|set| unit(set) < 1.0 && unit(set) < BESIDE * usual);
    bad.map(|set| {
        let points = &set.points;
        let row = |i: usize| points.y.at(i).abs() * points.weight(i);
        let index = points.kept().max_by(|&i, &j| row(i).total_cmp(&row(j))).unwrap_or_default();
        (set.set, GlobalError::Outweighs { index, value: points.y.at(index) }.into())
    })
    .collect()
}
