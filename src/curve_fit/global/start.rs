//! Starting point of a joint fit: given values, and values computed for each set.

use super::layout::{JointLayout, SetMember, SetPoints};
use super::refused;
use crate::curve_fit::CurveFit;
use crate::curve_fit::global::bad_sets::{BadSets, all_good, of_each};
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::start::{Finder, Solvers};
use crate::data::start::Start;
use crate::error::{Error, Result};
use crate::fit::start_search::StartSearch;
use crate::host::Instant;
use crate::threads;
use std::collections::HashMap;
use std::sync::Arc;

impl JointLayout {
    /// Checks a start without the data.
    pub(super) fn check_start(&self, start: &Start) -> Result<()> {
        match start {
            Start::Values(values) if values.len() != self.names.len() => {
                let (expected, got) = (self.names.len(), values.len());
                Err(Error::ParameterCount { expected, got, names: self.names.clone() })
            }
            Start::Values(values) => {
                let checked = self.checked(values);
                checked.map(|_| ()).map_err(|bad| refused(bad, self.members.len()))
            }
            Start::Named(pairs) => self.check_names(pairs),
            Start::Guess => Ok(()),
        }
    }

    /// Returns a complete start, with one value per parameter inside the bounds, and the time for the computation of
    /// missing values.
    ///
    /// # Errors
    /// Errors in the starts of some sets.
    pub(super) fn found(
        &self,
        start: &Start,
        sets: &[SetPoints<'_, '_>],
    ) -> std::result::Result<CompleteStart, BadSets> {
        let pairs: &[(String, f64)] = match start {
            Start::Values(values) => return self.checked(values).map(CompleteStart::given),
            Start::Named(pairs) => pairs,
            Start::Guess => &[],
        };
        let begun = Instant::now();
        let mut given = self.given(pairs);
        let solvers = self.solvers();
        let in_sample = self.searched_in_sample(&given, sets, &solvers);
        let in_sample = in_sample.map_err(|error| BadSets::from([(sets[0].set, error)]))?;
        let mut searches: Vec<StartSearch> = in_sample.iter().map(|found| found.search).collect();
        let values = in_sample.map(|found| found.values);
        if let Some(values) = &values {
            self.unknown_of_several_sets(&given, sets)
                .into_iter()
                .for_each(|k| given[k] = values[k]);
        }
        let known = values.as_deref();
        let mut found = self.of_each_set((&given, known), sets, &solvers)?;
        let solved = self.solved_by_all(sets, &found);
        if found.iter().all(|found| found.took.is_zero()) && searches.is_empty() {
            let values = self.checked(&self.joined(sets, &found))?;
            return Ok(CompleteStart { solved, ..CompleteStart::given(values) });
        }
        searches.extend(found.iter().filter_map(|own| own.search));
        let open = self.unknown_of_several_sets(&given, sets);
        if !open.is_empty() {
            // The other shared parameters get their common values, and a second pass solves for the linear parameters.
            let common = self.common_values(sets, &found);
            open.into_iter().for_each(|k| given[k] = common[k]);
            found = self.of_each_set((&given, known), sets, &solvers)?;
            searches.extend(found.iter().filter_map(|own| own.search));
        }
        let values = self.checked(&self.joined(sets, &found))?;
        // The cost of another minimum of some sets, relative to the cost of all sets.
        let points: usize = sets.iter().map(|set| set.points.used).sum();
        for search in &mut searches {
            let part = search.points.min(points) as f64 / points as f64;
            search.next_cost_ratio = search.next_cost_ratio.map(|ratio| 1.0 + part * (ratio - 1.0));
        }
        // The report covers the searches of all passes.
        let search = StartSearch::of_sets(searches.into_iter());
        Ok(CompleteStart { values, solved, took: begun.elapsed(), search })
    }

    /// Returns the values of all sets; for a parameter of several sets, the value of the last set.
    fn joined(&self, sets: &[SetPoints<'_, '_>], found: &[CompleteStart]) -> Vec<f64> {
        let mut all = vec![f64::NAN; self.names.len()];
        for (set, own) in sets.iter().zip(found) {
            set.member.params.iter().zip(&own.values).for_each(|(&k, &value)| all[k] = value);
        }
        all
    }

    /// Returns the positions of the linear parameters that were solved for in every set that contains them.
    fn solved_by_all(&self, sets: &[SetPoints<'_, '_>], found: &[CompleteStart]) -> Vec<usize> {
        let mut linear = vec![None; self.names.len()];
        for (set, own) in sets.iter().zip(found) {
            for (i, &k) in set.member.params.iter().enumerate() {
                linear[k] = Some(linear[k].unwrap_or(true) && own.solved.contains(&i));
            }
        }
        (0..linear.len()).filter(|&k| linear[k] == Some(true)).collect()
    }

    /// Returns the solvers of each set's model; sets of the same model share them.
    fn solvers(&self) -> Vec<Arc<Solvers>> {
        let mut known: HashMap<*const CurveFit, Arc<Solvers>> = HashMap::new();
        let of = |member: &SetMember| known.entry(Arc::as_ptr(&member.curve)).or_default().clone();
        self.members.iter().map(of).collect()
    }

    /// Returns, for each set, a complete start of its parameters. `values`: values of some sets, which are candidates
    /// of all sets of the same model.
    fn of_each_set(
        &self,
        (given, values): (&[Option<f64>], Option<&[Option<f64>]>),
        sets: &[SetPoints<'_, '_>],
        solvers: &[Arc<Solvers>],
    ) -> std::result::Result<Vec<CompleteStart>, BadSets> {
        let on_one_thread = sets.len() >= 2 * threads::count();
        let of_set = |set: &SetPoints<'_, '_>| {
            let own = set.member.params.iter().map(|&k| values.and_then(|values| values[k]));
            Some((set.set, own.collect::<Option<Vec<f64>>>()?))
        };
        let known: Vec<(usize, Vec<f64>)> = sets.iter().filter_map(of_set).collect();
        let found = |SetPoints { set, member, points }: &SetPoints<'_, '_>| {
            let start = member.named(given);
            let mut finder = Finder::sharing(&member.curve, &start, &solvers[*set])?;
            finder.on_one_thread = on_one_thread;
            let is_alike = |other: &&(usize, Vec<f64>)| member.same || other.0 == *set;
            let of_sets = known.iter().filter(is_alike);
            finder.candidates = of_sets.map(|(_, values)| values.clone()).collect();
            finder.found(points)
        };
        all_good(of_each(sets.iter().collect(), |set| found(set).map_err(|error| (set.set, error))))
    }

    /// Returns, for each parameter that several sets contain, the median of the values found for these sets.
    fn common_values(
        &self,
        sets: &[SetPoints<'_, '_>],
        found: &[CompleteStart],
    ) -> Vec<Option<f64>> {
        let mut values = vec![Vec::new(); self.names.len()];
        for (set, own) in sets.iter().zip(found) {
            set.member
                .params
                .iter()
                .zip(&own.values)
                .for_each(|(&k, &value)| values[k].push(value));
        }
        values.into_iter().map(|of| (of.len() > 1).then(|| median(of))).collect()
    }

    /// Returns the given value of each parameter, by its name in the joint fit or else by its name in the model.
    fn given(&self, pairs: &[(String, f64)]) -> Vec<Option<f64>> {
        // If a name occurs twice, its first value applies.
        let said: HashMap<&str, f64> =
            pairs.iter().rev().map(|(name, value)| (name.as_str(), *value)).collect();
        let value = |name: &String| said.get(name.as_str()).copied();
        let mut given: Vec<Option<f64>> = self.names.iter().map(value).collect();
        for member in &self.members {
            for (name, &k) in member.curve.names.iter().zip(&member.params) {
                given[k] = given[k].or_else(|| value(name));
            }
        }
        given
    }

    fn check_names(&self, pairs: &[(String, f64)]) -> Result<()> {
        let of_a_model = |name| self.members.iter().any(|m| m.curve.names.contains(name));
        for (name, value) in pairs {
            if let Err(unknown) = self.position(name, "correct the name in the start")
                && !of_a_model(name)
            {
                return Err(unknown);
            }
            if !value.is_finite() {
                let (name, value) = (name.clone(), *value);
                return Err(Error::NonFiniteParameter { what: "start", name, value });
            }
        }
        Ok(())
    }

    /// Returns `start`, which has one value per parameter, if it is inside the bounds of the fitted sets. Parameters of
    /// sets that are left out are NaN.
    fn checked(&self, start: &[f64]) -> std::result::Result<Vec<f64>, BadSets> {
        let mut checked = vec![f64::NAN; start.len()];
        let kept = self.members.iter().enumerate().filter(|(_, member)| !member.left_out);
        let each = kept.map(|(set, member)| {
            let own =
                member.curve.checked_start(&member.own(start)).map_err(|error| (set, error))?;
            member.params.iter().zip(own).for_each(|(&k, value)| checked[k] = value);
            Ok(())
        });
        all_good(each.collect::<Vec<_>>())?;
        Ok(checked)
    }
}

/// Returns the median; of an even number of values, the larger of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
