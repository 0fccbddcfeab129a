//! Search for the start of a joint fit: one search over a sample of the sets.
//!
//! The sets of the sample form one problem, whose model selects the parameters of each set by its number. The search is
//! that of a single fit. Its candidates include the results of short searches of each set alone, which find the set's
//! own parameters; the joint search finds the shared parameters, which a single set often does not determine.

use super::layout::{self, JointLayout, SetMember, SetPoints};
use super::start::median;
use crate::curve_fit::CurveFit;
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::search::FITTED_POINTS;
use crate::curve_fit::start::{Finder, Solvers};
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::sample::{data_of, drawn};
use crate::data::sigma::Weights;
use crate::data::start::Start;
use crate::error::Result;
use crate::fit::start_search::StartSearch;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Number of sets that are searched together.
const SEARCHED: usize = 8;

/// Some sets of a joint fit, as one problem.
struct Sample<'s> {
    /// The joint model of these sets.
    curve: CurveFit,
    /// For each parameter of `curve`, its position in the joint fit.
    places: Vec<usize>,
    sets: Vec<&'s SetPoints<'s, 's>>,
    /// For each set, the positions of its parameters in `curve`.
    params: Vec<Vec<usize>>,
}

/// Result of the search of a sample.
pub(super) struct FoundInSample {
    /// One value for each parameter of the joint fit; `None` for parameters of other sets.
    pub(super) values: Vec<Option<f64>>,
    pub(super) search: StartSearch,
}

impl JointLayout {
    /// Searches for the start of a sample of the sets. Returns `None` if no shared parameter must be searched for.
    ///
    /// # Errors
    /// Errors that do not depend on the starting point.
    pub(super) fn searched_in_sample(
        &self,
        given: &[Option<f64>],
        sets: &[SetPoints<'_, '_>],
        solvers: &[Arc<Solvers>],
    ) -> Result<Option<FoundInSample>> {
        let unknown = self.unknown_of_several_sets(given, sets);
        if unknown.is_empty() {
            return Ok(None);
        }
        let mut alone = Vec::new();
        for set in sampled(sets, &unknown) {
            if let Ok(found) = self.alone(set, given, &solvers[set.set]) {
                alone.push((set, found));
            }
        }
        if alone.len() < 2 || alone.iter().all(|(_, found)| found.search.is_none()) {
            return Ok(None);
        }
        let sample = self.sample(alone.iter().map(|(set, _)| *set).collect())?;
        let alone: Vec<Vec<f64>> = alone.into_iter().map(|(_, found)| found.values).collect();
        let columns = sample.columns();
        let points = sample.points(&columns)?;
        let candidates = sample.candidates(&alone);
        let known = sample.places.iter().enumerate().filter_map(|(i, &k)| {
            // The model of the sample does not use tied parameters, whose values may be NaN.
            let value = Some(candidates[0][i]).filter(|value| value.is_finite());
            let fixed = sample.curve.fixed[i].then_some(value.unwrap_or(0.0));
            Some((sample.curve.names[i].clone(), given[k].or(fixed)?))
        });
        let start = Start::Named(known.collect());
        let mut finder = Finder::new(&sample.curve, &start)?;
        finder.candidates = candidates;
        let found = finder.found(&points)?;
        let mut values = vec![None; self.names.len()];
        sample.places.iter().zip(&found.values).for_each(|(&k, &value)| values[k] = Some(value));
        Ok(found.search.map(|search| FoundInSample { values, search }))
    }

    /// Returns the free parameters of several sets that have no given value.
    pub(super) fn unknown_of_several_sets(
        &self,
        given: &[Option<f64>],
        sets: &[SetPoints<'_, '_>],
    ) -> BTreeSet<usize> {
        let mut count = vec![0; self.names.len()];
        sets.iter().flat_map(|set| &set.member.params).for_each(|&k| count[k] += 1);
        self.free.iter().copied().filter(|&k| count[k] > 1 && given[k].is_none()).collect()
    }

    /// Returns a start of one set, from a short search.
    fn alone(
        &self,
        SetPoints { member, points, .. }: &SetPoints<'_, '_>,
        given: &[Option<f64>],
        solvers: &Arc<Solvers>,
    ) -> Result<CompleteStart> {
        let short = CurveFit {
            search: member.curve.search.rounds(1_usize),
            ..CurveFit::clone(&member.curve)
        };
        Finder::sharing(&short, &member.named(given), solvers)?.found(points)
    }

    /// Creates the problem of these sets.
    fn sample<'s>(&self, sets: Vec<&'s SetPoints<'s, 's>>) -> Result<Sample<'s>> {
        let places: BTreeSet<usize> =
            sets.iter().flat_map(|set| set.member.params.iter().copied()).collect();
        let places: Vec<usize> = places.into_iter().collect();
        let own = |set: &&SetPoints<'_, '_>| -> Vec<usize> {
            set.member.params.iter().map(|k| places.partition_point(|other| other < k)).collect()
        };
        let params: Vec<Vec<usize>> = sets.iter().map(own).collect();
        let member = |(set, params): (&&SetPoints<'_, '_>, &Vec<usize>)| SetMember {
            curve: set.member.curve.clone(),
            params: params.clone(),
            same: set.member.same,
            left_out: false,
        };
        let members: Vec<SetMember> = sets.iter().zip(&params).map(member).collect();
        let names: Vec<String> = places.iter().map(|&k| self.names[k].clone()).collect();
        let models = members.iter().map(|member| member.curve.effective_model());
        let models = models.collect::<Result<Vec<_>>>()?;
        let model = layout::joint_model(&members, &models.iter().collect::<Vec<_>>(), &names)?;
        let first = &self.members[0].curve;
        let scales = layout::scales_of_all(&members, names.len());
        let curve = CurveFit {
            bounds: places.iter().map(|&k| self.bounds[k]).collect(),
            fixed: places.iter().map(|k| !self.free.contains(k)).collect(),
            scales,
            priors: layout::priors_of_all(&members),
            loss: first.loss,
            estimator: first.estimator,
            options: first.options,
            search: first.search,
            observer: first.observer.clone(),
            cancel: first.cancel.clone(),
            underdetermined: true,
            ..CurveFit::with_names(Ok(model), names)
        };
        Ok(Sample { curve, places, sets, params })
    }
}

impl Sample<'_> {
    /// Returns the number of the set, the independent variables, y and, unless all points have equal weight, sigma of a
    /// sample of the points of each set, which are equally many.
    fn columns(&self) -> Vec<Vec<f64>> {
        let weighted = !self.sets.iter().all(|set| matches!(set.points.sigma, Weights::Equal));
        let variables = self.sets[0].points.columns.len();
        let mut columns = vec![Vec::new(); 2 + variables + usize::from(weighted)];
        for (s, SetPoints { points, .. }) in self.sets.iter().enumerate() {
            let most = FITTED_POINTS / self.sets.len();
            for i in drawn(points, most).0 {
                let x = points.columns.iter().map(|column| column.at(i));
                let sigma = points.units.row / points.weight(i);
                let row = std::iter::once((s + 1) as f64).chain(x).chain([points.y.at(i), sigma]);
                columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            }
        }
        columns
    }

    /// Returns the points of these columns.
    fn points<'c>(&self, columns: &'c [Vec<f64>]) -> Result<Points<'c>> {
        let first = &self.sets[0].points;
        let weights = |sigma: Option<&'c [f64]>| match sigma {
            Some(sigma) => Weights::Each { sigma, absolute: first.is_absolute() },
            None => Weights::Equal,
        };
        let infinite_x = self.sets.iter().any(|set| set.points.infinite_x);
        let data = data_of(columns, 1 + first.columns.len(), weights, infinite_x)?;
        let mut points = Points::validate(&data)?;
        if first.estimator == Estimator::Poisson {
            points.count_events()?;
        }
        Ok(points)
    }

    /// Returns candidates with the own parameters that each set found alone: one with the shared parameters of each
    /// set, and, first, one with the medians of the shared parameters. `alone`: parameters of each set.
    fn candidates(&self, alone: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut all = vec![Vec::new(); self.places.len()];
        for (params, values) in self.params.iter().zip(alone) {
            params.iter().zip(values).for_each(|(&i, &value)| all[i].push(value));
        }
        let medians: Vec<f64> = all.into_iter().map(median).collect();
        let of_set = |(params, values): (&Vec<usize>, &Vec<f64>)| {
            let mut candidate = medians.clone();
            params.iter().zip(values).for_each(|(&i, &value)| candidate[i] = value);
            candidate
        };
        let of_sets = self.params.iter().zip(alone).map(of_set);
        std::iter::once(medians.clone()).chain(of_sets).collect()
    }
}

/// Returns about [`SEARCHED`] sets, evenly spaced, and further sets for `unknown` parameters that these do not have.
fn sampled<'s>(
    sets: &'s [SetPoints<'s, 's>],
    unknown: &BTreeSet<usize>,
) -> Vec<&'s SetPoints<'s, 's>> {
    let count = sets.len().min(SEARCHED);
    let mut chosen: BTreeSet<usize> =
        (0..count).map(|k| k * (sets.len() - 1) / (count - 1).max(1)).collect();
    let mut open = unknown.clone();
    let mut covers = |set: usize| {
        let before = open.len();
        sets[set].member.params.iter().for_each(|k| {
            open.remove(k);
        });
        open.len() < before
    };
    for &set in &chosen {
        covers(set);
    }
    chosen.extend((0..sets.len()).filter(|&set| covers(set)));
    chosen.into_iter().map(|set| &sets[set]).collect()
}
