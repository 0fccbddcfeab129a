//! Where a joint fit begins: what is given, and what each set finds for itself.

use super::in_set;
use super::layout::JointLayout;
use crate::curve_fit::start::CompleteStart;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::{Error, Result};
use std::collections::HashMap;

impl JointLayout {
    /// What of a start can be said to be wrong before the data are seen.
    pub(super) fn check_start(&self, start: &Start) -> Result<()> {
        match start {
            Start::Values(values) => self.checked(values).map(|_| ()),
            Start::Named(pairs) => self.check_names(pairs),
            Start::Guess => Ok(()),
        }
    }

    /// A complete start, one value per parameter, inside the bounds, and how long it took to find what
    /// was not given of it.
    pub(super) fn found(&self, start: &Start, points: &[Points<'_>]) -> Result<CompleteStart> {
        let pairs: &[(String, f64)] = match start {
            Start::Values(values) => return Ok(CompleteStart::given(self.checked(values)?)),
            Start::Named(pairs) => pairs,
            Start::Guess => &[],
        };
        let given = self.given(pairs);
        let first = self.of_each_set(&given, points)?;
        // With one value for what is shared the linear ones of each set are others.
        let common = self.common_values(&first);
        let begun = given.iter().zip(common).map(|(given, common)| given.or(common));
        let begun: Vec<Option<f64>> = begun.collect();
        let second = self.of_each_set(&begun, points)?;
        let mut found = vec![0.0; self.names.len()];
        for (member, own) in self.members.iter().zip(&second) {
            member.params.iter().zip(&own.values).for_each(|(&k, &value)| found[k] = value);
        }
        let took = first.iter().chain(&second).map(|found| found.took).sum();
        let solved = self.solved_by_all(&first);
        Ok(CompleteStart { values: self.checked(&found)?, solved, took })
    }

    /// Positions of the parameters that every set that has them solved for.
    fn solved_by_all(&self, found: &[CompleteStart]) -> Vec<usize> {
        let mut linear = vec![None; self.names.len()];
        for (member, own) in self.members.iter().zip(found) {
            for (i, &k) in member.params.iter().enumerate() {
                linear[k] = Some(linear[k].unwrap_or(true) && own.solved.contains(&i));
            }
        }
        (0..linear.len()).filter(|&k| linear[k] == Some(true)).collect()
    }

    /// For each set a complete start of its own parameters.
    fn of_each_set(
        &self,
        given: &[Option<f64>],
        points: &[Points<'_>],
    ) -> Result<Vec<CompleteStart>> {
        let each = self.members.iter().zip(points).enumerate();
        let each = each.map(|(set, (member, points))| {
            let names = member.curve.names.iter().zip(&member.params);
            let own = names.filter(|(name, _)| !member.curve.ties.iter().any(|t| t.name == **name));
            let own = own.filter_map(|(name, &k)| Some((name.clone(), given[k]?))).collect();
            member.curve.found(&Start::Named(own), points).map_err(in_set(set))
        });
        each.collect()
    }

    /// For each parameter that several sets have the median of what they found for it.
    fn common_values(&self, found: &[CompleteStart]) -> Vec<Option<f64>> {
        let mut values = vec![Vec::new(); self.names.len()];
        for (member, own) in self.members.iter().zip(found) {
            member.params.iter().zip(&own.values).for_each(|(&k, &value)| values[k].push(value));
        }
        let median = |mut of: Vec<f64>| {
            of.sort_by(f64::total_cmp);
            (of.len() > 1).then(|| of[of.len() / 2])
        };
        values.into_iter().map(median).collect()
    }

    /// One value per parameter where one is given: by its joint name or, if not, by that of the model.
    fn given(&self, pairs: &[(String, f64)]) -> Vec<Option<f64>> {
        // Of a name that is said twice the first counts.
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

    /// `start` if it has one value per parameter, inside the bounds.
    fn checked(&self, start: &[f64]) -> Result<Vec<f64>> {
        if start.len() != self.names.len() {
            let (expected, got) = (self.names.len(), start.len());
            return Err(Error::ParameterCount { expected, got, names: self.names.clone() });
        }
        let mut checked = start.to_vec();
        for (set, member) in self.members.iter().enumerate() {
            let own: Vec<f64> = member.params.iter().map(|&k| start[k]).collect();
            let own = member.curve.checked_start(&own).map_err(in_set(set))?;
            member.params.iter().zip(own).for_each(|(&k, value)| checked[k] = value);
        }
        Ok(checked)
    }
}
