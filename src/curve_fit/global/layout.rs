//! Which parameters a joint fit has, and which of them each set's model takes.

use super::derived::of_all;
use super::{GlobalFit, Models, Said, in_set};
use crate::curve_fit::CurveFit;
use crate::error::GlobalError;
use crate::error::names::{NameError, position};
use crate::error::{Error, Result};
use crate::model::native::Model;

/// The model of one set.
pub(super) struct Member {
    pub(super) curve: CurveFit,
    /// The position in the joint fit of each of the model's parameters.
    pub(super) params: Vec<usize>,
    /// Whether all sets have this model.
    pub(super) same: bool,
}

impl Member {
    pub(super) fn model(&self) -> Result<&Model> {
        self.curve.model.as_ref().map_err(Clone::clone)
    }

    /// For each free parameter of the model its position among the free ones of the joint fit, `free`.
    pub(super) fn free(&self, free: &[usize]) -> Vec<usize> {
        let own = self.curve.free_positions();
        own.iter().filter_map(|&i| free.iter().position(|&k| k == self.params[i])).collect()
    }
}

/// The parameters of a joint fit, in order of appearance, and who takes them.
pub(super) struct Layout {
    pub(super) names: Vec<String>,
    pub(super) bounds: Vec<(f64, f64)>,
    /// Positions of the free parameters.
    pub(super) free: Vec<usize>,
    /// One per set, at least one.
    pub(super) members: Vec<Member>,
}

impl Layout {
    pub(super) fn new(global: &GlobalFit, sets: usize) -> Result<Layout> {
        if sets == 0 {
            return Err(GlobalError::NoSets.into());
        }
        let mut layout =
            Layout { names: Vec::new(), bounds: Vec::new(), free: Vec::new(), members: Vec::new() };
        match &global.models {
            Models::Same { curve, shared } => {
                for name in shared {
                    position(&curve.names, name, "correct what is to be shared")?;
                }
                for set in 0..sets {
                    let names = curve.names.iter().map(|name| match shared.contains(name) {
                        true => Ok(name.clone()),
                        false => own_name(name, set, &curve.names),
                    });
                    layout.add(curve, names.collect::<Result<_>>()?, true);
                }
            }
            Models::Each(curves) if curves.len() != sets => {
                return Err(Error::LengthMismatch {
                    what: "sets".into(),
                    expected: curves.len(),
                    got: sets,
                    remedy: "give one set of points for each model",
                });
            }
            Models::Each(curves) => {
                for curve in curves {
                    layout.add(curve, curve.names.clone(), false);
                }
            }
        }
        layout.apply(&global.said)?;
        layout.agree()?;
        for (set, member) in layout.members.iter().enumerate() {
            member.model()?;
            member.curve.check().map_err(in_set(set))?;
        }
        layout.check_derived()?;
        layout.free = layout.common(|member, i| member.curve.free_positions().contains(&i));
        Ok(layout)
    }

    fn add(&mut self, curve: &CurveFit, names: Vec<String>, same: bool) {
        let mut place = |name: String| match self.names.iter().position(|n| *n == name) {
            Some(position) => position,
            None => {
                self.names.push(name);
                self.bounds.push((f64::NEG_INFINITY, f64::INFINITY));
                self.names.len() - 1
            }
        };
        let params: Vec<usize> = names.into_iter().map(&mut place).collect();
        for (&k, &(lower, upper)) in params.iter().zip(&curve.bounds) {
            let (l, u) = self.bounds[k];
            self.bounds[k] = (l.max(lower), u.min(upper));
        }
        self.members.push(Member { curve: curve.clone(), params, same });
    }

    /// What was said of the parameters of the joint fit, and what follows for each set's.
    fn apply(&mut self, said: &[Said]) -> Result<()> {
        let mut fixed = vec![false; self.names.len()];
        for said in said {
            let (Said::Bound(name, _) | Said::Fixed(name)) = said;
            let k = position(&self.names, name, "correct what is said of it")?;
            match said {
                Said::Bound(_, ends) => self.bounds[k] = *ends,
                Said::Fixed(_) => fixed[k] = true,
            }
        }
        for member in &self.members {
            let own = member.params.iter().zip(&member.curve.fixed);
            own.for_each(|(&k, &is_fixed)| fixed[k] |= is_fixed);
        }
        for member in &mut self.members {
            let bounds: Vec<(f64, f64)> = member.params.iter().map(|&k| self.bounds[k]).collect();
            let is_fixed: Vec<bool> = member.params.iter().map(|&k| fixed[k]).collect();
            if bounds != member.curve.bounds || is_fixed != member.curve.fixed {
                // Partials are by free parameters, which may be others now.
                let curve = CurveFit { bounds, fixed: is_fixed, ..member.curve.clone() };
                member.curve = curve.changed();
            }
        }
        Ok(())
    }

    /// What must be the same for all sets.
    fn agree(&self) -> Result<()> {
        let first = &self.members[0];
        let columns = |member: &Member| member.model().map(Model::columns).ok();
        for (set, member) in self.members.iter().enumerate() {
            let differs =
                |what, remedy| Err(GlobalError::Differs { set: set + 1, what, remedy }.into());
            if member.curve.loss != first.curve.loss {
                return differs("its loss", "set one loss for all models");
            }
            if member.curve.estimator != first.curve.estimator {
                return differs("its estimator", "fit counts and other data one after the other");
            }
            if columns(member) != columns(first) {
                return differs("its number of independent variables", "give all models the same");
            }
        }
        Ok(())
    }

    /// # Errors
    /// [`NameError::Taken`] if a quantity that a set derives is called as something else is.
    fn check_derived(&self) -> Result<()> {
        let mut taken: Vec<(String, String)> = self
            .names
            .iter()
            .map(|name| (name.clone(), format!("the parameter `{name}`")))
            .collect();
        for asked in of_all(&self.members, &self.names) {
            let of: Vec<&str> = asked.places.iter().map(|&k| self.names[k].as_str()).collect();
            let what = format!("a derived quantity of {}", of.join(", "));
            if let Some((name, first)) = taken.iter().find(|(name, _)| *name == asked.name) {
                return Err(NameError::taken(name, first, &what, "rename one of them"));
            }
            taken.push((asked.name, what));
        }
        Ok(())
    }

    /// Positions of the parameters that `has` one of the models' own, by its position there.
    fn common(&self, has: impl Fn(&Member, usize) -> bool) -> Vec<usize> {
        let any = |&k: &usize| {
            self.members.iter().any(|member| {
                let own = member.params.iter().position(|&own| own == k);
                own.is_some_and(|i| has(member, i))
            })
        };
        (0..self.names.len()).filter(any).collect()
    }

    /// For each parameter whether no model depends on it. `models`: those of the sets, with the formulas of
    /// tied parameters in their places.
    pub(super) fn unused(&self, models: &[&Model]) -> Result<Vec<bool>> {
        let mut used = vec![false; self.names.len()];
        for (member, model) in self.members.iter().zip(models) {
            for (i, &k) in member.params.iter().enumerate() {
                used[k] |= match model {
                    Model::Traced(program) => program.uses(i),
                    Model::Native(_) => true,
                };
            }
        }
        if !self.free.is_empty() && self.free.iter().all(|&k| !used[k]) {
            let names = self.free.iter().map(|&k| self.names[k].clone()).collect();
            return Err(Error::NoParameterDependence { names });
        }
        Ok(used.into_iter().map(|used| !used).collect())
    }
}

/// What a set's own parameter is called among those of all sets.
///
/// # Errors
/// [`NameError::Taken`] if another parameter of the model has that name: a value by it would be of
/// both.
fn own_name(name: &str, set: usize, names: &[String]) -> Result<String> {
    let own = format!("{name}_{}", set + 1);
    if names.contains(&own) {
        let first = format!("`{name}` of set {}", set + 1);
        let second = format!("the model's parameter `{own}`");
        return Err(NameError::taken(&own, &first, &second, "rename one of them"));
    }
    Ok(own)
}
