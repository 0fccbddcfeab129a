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
        let given = self.given(pairs);
        let finders = self.solvers();
        let first = self.of_each_set(&given, sets, &finders)?;
        let solved = self.solved_by_all(sets, &first);
        if first.iter().all(|found| found.took.is_zero()) {
            let values = self.checked(&self.joined(sets, &first))?;
            return Ok(CompleteStart { solved, ..CompleteStart::given(values) });
        }
        // The shared parameters get their common values, and a second pass solves for the linear parameters again.
        let common = self.common_values(sets, &first);
        let both = given.iter().zip(common).map(|(given, common)| given.or(common));
        let second = self.of_each_set(&both.collect::<Vec<_>>(), sets, &finders)?;
        let values = self.checked(&self.joined(sets, &second))?;
        // The report covers the searches of both passes; in the second pass the shared parameters have given values.
        let search = StartSearch::of_sets(first.iter().chain(&second).filter_map(|own| own.search));
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

    /// Returns, for each set, a complete start of its parameters.
    fn of_each_set(
        &self,
        given: &[Option<f64>],
        sets: &[SetPoints<'_, '_>],
        solvers: &[Arc<Solvers>],
    ) -> std::result::Result<Vec<CompleteStart>, BadSets> {
        let on_one_thread = sets.len() >= 2 * threads::count();
        let found = |SetPoints { set, member, points }: &SetPoints<'_, '_>| {
            let curve = &*member.curve;
            let names = curve.names.iter().zip(&member.params);
            let own = names.filter(|(name, _)| !curve.ties.iter().any(|tie| tie.name == **name));
            let own = own.filter_map(|(name, &k)| Some((name.clone(), given[k]?))).collect();
            let mut finder = Finder::sharing(curve, &Start::Named(own), &solvers[*set])?;
            finder.on_one_thread = on_one_thread;
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
        let median = |mut of: Vec<f64>| {
            of.sort_by(f64::total_cmp);
            (of.len() > 1).then(|| of[of.len() / 2])
        };
        values.into_iter().map(median).collect()
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
