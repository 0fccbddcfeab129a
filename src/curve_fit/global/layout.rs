//! Layout of a joint fit: the mapping between its parameters and the parameters of each set, and the joint model,
//! points and derived quantities.

use super::bad_sets::{BadSets, in_set};
use crate::curve_fit::CurveFit;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::data::summary::Moments;
use crate::data::summary::Overview;
use crate::error::names::{NameError, position};
use crate::error::{Error, GlobalError, Result};
use crate::fit::priors::Prior;
use crate::model::Expression;
use crate::model::native::{ArrayCalls, Calls, Model, Native};
use crate::model::program::Program;
use crate::model::var::Var;
use crate::normal::Arrow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of sets for which the joint model is one program that selects the parameters or the value of a set.
const MOST_TRACED: usize = 32;

#[derive(Clone, Debug)]
pub(super) enum Models {
    /// One model for all sets, with the names of the shared parameters.
    Same { curve: Arc<CurveFit>, shared: Vec<String> },
    /// One model per set; equal names mean the same parameter.
    Each(Vec<Arc<CurveFit>>),
}

/// Setting of a parameter of the joint fit.
#[derive(Clone, Debug)]
pub(super) enum JointSetting {
    Bound(String, (f64, f64)),
    Fixed(String),
}

/// The model of one set.
pub(super) struct SetMember {
    pub(super) curve: Arc<CurveFit>,
    /// The position in the joint fit of each of the model's parameters.
    pub(super) params: Vec<usize>,
    /// True if all sets have this model.
    pub(super) same: bool,
    /// True if the set is left out of the fit.
    pub(super) left_out: bool,
}

/// A set that is fitted, with its points.
pub(super) struct SetPoints<'s, 'a> {
    /// Position of the set among all sets.
    pub(super) set: usize,
    pub(super) member: &'s SetMember,
    pub(super) points: Points<'a>,
}

impl SetMember {
    pub(super) fn model(&self) -> Result<&Model> {
        self.curve.model.as_ref().map_err(Clone::clone)
    }

    /// Selects the values of the model's parameters from the values of all parameters of the joint fit.
    pub(super) fn own(&self, all: &[f64]) -> Vec<f64> {
        self.params.iter().map(|&k| all[k]).collect()
    }

    /// Returns the `given` values of the model's parameters by name, except for tied parameters.
    pub(super) fn named(&self, given: &[Option<f64>]) -> Start {
        let names = self.curve.names.iter().zip(&self.params);
        let names = names.filter(|(name, _)| !self.curve.ties.iter().any(|tie| tie.name == **name));
        Start::Named(names.filter_map(|(name, &k)| Some((name.clone(), given[k]?))).collect())
    }

    /// Returns, for each free parameter of the model, its position among the free parameters of the joint fit. `place`
    /// contains this position for each parameter of the joint fit.
    pub(super) fn free(&self, place: &[usize]) -> Vec<usize> {
        self.curve.free_positions().iter().map(|&i| place[self.params[i]]).collect()
    }
}

/// The parameters of a joint fit, in order of appearance, and the models of the sets.
pub(super) struct JointLayout {
    pub(super) names: Vec<String>,
    /// The position of each name.
    index: HashMap<String, usize>,
    pub(super) bounds: Vec<(f64, f64)>,
    /// Positions of the free parameters: first the parameters that only the first set has, then those that only the
    /// second set has, and so on; last the parameters of several sets.
    pub(super) free: Vec<usize>,
    /// Block structure of `free`, if there are several sets: one block for each set, and the common parameters.
    pub(super) shape: Option<Arc<Arrow>>,
    /// Models of the sets, at least one.
    pub(super) members: Vec<SetMember>,
}

impl JointLayout {
    /// Creates the layout of `sets` sets, some of which are left out.
    pub(super) fn new(
        models: &Models,
        settings: &[JointSetting],
        sets: usize,
        left_out: &BadSets,
    ) -> Result<JointLayout> {
        if sets == 0 {
            return Err(GlobalError::NoSets.into());
        }
        let mut layout = JointLayout {
            names: Vec::new(),
            index: HashMap::new(),
            bounds: Vec::new(),
            free: Vec::new(),
            shape: None,
            members: Vec::new(),
        };
        match models {
            Models::Same { curve, shared } => {
                for name in shared {
                    position(&curve.names, name, "correct the name in GlobalFit::share")?;
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
        left_out.keys().for_each(|&set| layout.members[set].left_out = true);
        layout.apply(settings)?;
        layout.agree()?;
        for (set, member) in layout.members.iter().enumerate() {
            member.model()?;
            member.curve.check().map_err(in_set(set))?;
        }
        layout.check_derived()?;
        layout.order();
        Ok(layout)
    }

    fn add(&mut self, curve: &Arc<CurveFit>, names: Vec<String>, same: bool) {
        let mut place = |name: String| {
            *self.index.entry(name).or_insert_with_key(|name| {
                self.names.push(name.clone());
                self.bounds.push((f64::NEG_INFINITY, f64::INFINITY));
                self.names.len() - 1
            })
        };
        let params: Vec<usize> = names.into_iter().map(&mut place).collect();
        for (&k, &(lower, upper)) in params.iter().zip(&curve.bounds) {
            let (l, u) = self.bounds[k];
            self.bounds[k] = (l.max(lower), u.min(upper));
        }
        self.members.push(SetMember { curve: curve.clone(), params, same, left_out: false });
    }

    /// Returns the position of the parameter called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`] with this remedy, if there is no such parameter.
    pub(super) fn position(&self, name: &str, remedy: &str) -> Result<usize> {
        match self.index.get(name) {
            Some(&k) => Ok(k),
            None => position(&self.names, name, remedy),
        }
    }

    /// Applies the settings of the parameters of the joint fit to the parameters of each set.
    fn apply(&mut self, settings: &[JointSetting]) -> Result<()> {
        let mut fixed = vec![false; self.names.len()];
        for setting in settings {
            let (JointSetting::Bound(name, _) | JointSetting::Fixed(name)) = setting;
            let k =
                self.position(name, "correct the name in GlobalFit::bound or GlobalFit::fix")?;
            match setting {
                JointSetting::Bound(_, ends) => self.bounds[k] = *ends,
                JointSetting::Fixed(_) => fixed[k] = true,
            }
        }
        for member in &self.members {
            let own = member.params.iter().zip(&member.curve.fixed);
            own.for_each(|(&k, &is_fixed)| fixed[k] |= is_fixed);
        }
        let mut before: Option<Arc<CurveFit>> = None;
        for member in &mut self.members {
            let bounds: Vec<(f64, f64)> = member.params.iter().map(|&k| self.bounds[k]).collect();
            let is_fixed: Vec<bool> = member.params.iter().map(|&k| fixed[k]).collect();
            let is_so = |curve: &CurveFit| bounds == curve.bounds && is_fixed == curve.fixed;
            if is_so(&member.curve) {
                continue;
            }
            let known = before.take().filter(|before| member.same && is_so(before));
            // The model must be prepared again, because its partials depend on which parameters are free.
            let changed = || {
                let curve = CurveFit::clone(&member.curve);
                Arc::new(CurveFit { bounds, fixed: is_fixed, ..curve }.changed())
            };
            member.curve = known.unwrap_or_else(changed);
            before = Some(member.curve.clone());
        }
        Ok(())
    }

    /// Checks the settings that must be the same for all sets.
    fn agree(&self) -> Result<()> {
        let first = &self.members[0];
        let columns = |member: &SetMember| member.model().map(Model::columns).ok();
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

    /// Checks the names of derived quantities.
    ///
    /// # Errors
    /// [`NameError::Taken`] if a derived quantity has the name of a parameter or of another derived quantity.
    fn check_derived(&self) -> Result<()> {
        let mut taken: HashMap<String, String> = HashMap::new();
        for asked in derived_of_all(&self.members, &self.names) {
            let of: Vec<&str> = asked.places.iter().map(|&k| self.names[k].as_str()).collect();
            let what = format!("a derived quantity of {}", of.join(", "));
            let parameter = self.index.get(&asked.name);
            let parameter = parameter.map(|_| format!("the parameter `{}`", asked.name));
            if let Some(first) = parameter.as_ref().or_else(|| taken.get(&asked.name)) {
                return Err(NameError::taken(&asked.name, first, &what, "rename one of them"));
            }
            taken.insert(asked.name, what);
        }
        Ok(())
    }

    /// Orders the free parameters by set, as `free` describes, and computes the block structure.
    fn order(&mut self) {
        let mut sets = vec![0; self.names.len()];
        let free = |member: &SetMember| -> Vec<usize> {
            let free = member.curve.free_positions().into_iter().filter(|_| !member.left_out);
            free.map(|i| member.params[i]).collect()
        };
        let each: Vec<Vec<usize>> = self.members.iter().map(free).collect();
        each.iter().flatten().for_each(|&k| sets[k] += 1);
        let own = |free: &Vec<usize>| free.iter().copied().filter(|&k| sets[k] == 1).collect();
        let own: Vec<Vec<usize>> = each.iter().map(own).collect();
        let common: Vec<usize> = (0..sets.len()).filter(|&k| sets[k] > 1).collect();
        if own.len() > 1 {
            self.shape = Some(Arc::new(Arrow::of(own.iter().map(Vec::len), common.len())));
        }
        self.free = own.into_iter().flatten().chain(common).collect();
    }

    /// Returns, for each parameter, true if no model depends on this parameter. `models`: the models of the sets, in
    /// which formulas replace tied parameters.
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

/// Returns the name in the joint fit of a parameter that belongs to one set only.
///
/// # Errors
/// [`NameError::Taken`] if another parameter of the model has this name, which would be
/// ambiguous.
fn own_name(name: &str, set: usize, names: &[String]) -> Result<String> {
    let own = format!("{name}_{}", set + 1);
    if names.contains(&own) {
        let first = format!("`{name}` of set {}", set + 1);
        let second = format!("the model's parameter `{own}`");
        return Err(NameError::taken(&own, &first, &second, "rename one of them"));
    }
    Ok(own)
}

/// Returns the overview of the points of all sets, of which there must be at least one. The joint row unit (a power of
/// two by which rows are multiplied) is that of the set with the largest rows. The scatter is the sum of the scatters
/// of the sets, each about its own mean.
pub(super) fn overview_of(sets: &[SetPoints<'_, '_>]) -> Result<Overview> {
    let smallest = |unit: f64, set: &SetPoints<'_, '_>| unit.min(set.points.units.row);
    let row = sets.iter().fold(f64::INFINITY, smallest);
    let (first, summary) = (sets[0].points.overview(), Moments::default());
    let mut whole = Overview { used: 0, omitted: 0, ignored: 0, summary, ..first };
    for SetPoints { set, points, .. } in sets {
        let own = points.overview();
        if own.absolute != whole.absolute {
            let (what, remedy) =
                ("whether its sigma is absolute", "say Sigma::Absolute of all sets or of none");
            return Err(GlobalError::Differs { set: set + 1, what, remedy }.into());
        }
        whole.used += own.used;
        whole.omitted += own.omitted;
        whole.ignored += own.ignored;
        whole.summary = whole.summary.beside(own.summary, row / own.units.row);
        whole.errors_in_x |= own.errors_in_x;
    }
    if whole.errors_in_x {
        whole.summary.scatter = 0.0;
    }
    whole.units.row = row;
    Ok(whole)
}

/// A derived quantity of the joint fit.
pub(super) struct Asked<'v> {
    pub(super) name: String,
    pub(super) formula: &'v Expression,
    /// Position in the joint fit of each parameter of the formula.
    pub(super) places: Vec<usize>,
}

/// Returns the derived quantities of all sets. A quantity that depends only on shared parameters appears once and keeps
/// its name, unless another quantity has the same name. The names of all other quantities end with the number of the
/// set, counted from 1. `names`: the names of the parameters of the joint fit.
pub(super) fn derived_of_all<'v>(members: &'v [SetMember], names: &[String]) -> Vec<Asked<'v>> {
    let mut all: Vec<(usize, Asked<'v>, bool)> = Vec::new();
    // Number of quantities with each name, and positions in `all` of quantities with equal names and parameters.
    let mut count: HashMap<&str, usize> = HashMap::new();
    let mut known: HashMap<(&str, Vec<usize>), Vec<usize>> = HashMap::new();
    for (set, member) in members.iter().enumerate() {
        for (name, formula) in &member.curve.derived {
            let own = |name: &String| member.curve.names.iter().position(|n| n == name);
            let own: Option<Vec<usize>> = formula.parameters().iter().map(own).collect();
            let Some(own) = own else { continue };
            let places: Vec<usize> = own.iter().map(|&i| member.params[i]).collect();
            // A parameter of a single set has another name in the joint fit.
            let is_common =
                own.iter().zip(&places).all(|(&i, &k)| member.curve.names[i] == names[k]);
            let alike = known.entry((name, places.clone())).or_default();
            if !(is_common && alike.iter().any(|&at| all[at].1.formula == formula)) {
                alike.push(all.len());
                *count.entry(name).or_default() += 1;
                all.push((set, Asked { name: name.clone(), formula, places }, is_common));
            }
        }
    }
    // Sets with different models may have different quantities with the same name.
    let one = |name: &str| count.get(name) == Some(&1);
    let plain: Vec<bool> =
        all.iter().map(|(_, asked, is_common)| *is_common && one(&asked.name)).collect();
    let named = all.into_iter().zip(plain).map(|((set, asked, _), plain)| match plain {
        true => asked,
        false => Asked { name: format!("{}_{}", asked.name, set + 1), ..asked },
    });
    named.collect()
}

/// Returns the model of a joint fit, used for predictions only, not for passes over the points. Its first independent
/// variable is the number of the set, counted from 1; the others are the variables of the `models`, which are one model
/// per set, with formulas in place of tied parameters.
pub(super) fn joint_model(
    members: &[SetMember],
    models: &[&Model],
    names: &[String],
) -> Result<Model> {
    let columns = 1 + models[0].columns();
    let programs = models.iter().map(|model| match model {
        Model::Traced(program) => Some(program),
        Model::Native(_) => None,
    });
    let programs = programs.collect::<Option<Vec<_>>>();
    let Some(programs) = programs.filter(|_| members.len() <= MOST_TRACED) else {
        return Ok(native(members, models, columns, names.len()));
    };
    let trace = |x: &[Var], p: &[Var]| {
        let (set, x) = (x[0], &x[1..]);
        let own =
            |member: &SetMember| -> Vec<Var> { member.params.iter().map(|&k| p[k]).collect() };
        if members[0].same {
            let mut params = own(&members[members.len() - 1]);
            for (s, member) in members.iter().enumerate().rev().skip(1) {
                for (chosen, &k) in params.iter_mut().zip(&member.params) {
                    // True if all later sets have this parameter.
                    let is_shared = members[s + 1..].iter().all(|m| m.params.contains(&k));
                    if !is_shared {
                        *chosen = set.le(s as f64 + 1.5).select(p[k], *chosen);
                    }
                }
            }
            programs[0].evaluate(x, &params)
        } else {
            let values =
                members.iter().zip(&programs).map(|(m, program)| program.evaluate(x, &own(m)));
            let values: Vec<Var> = values.collect();
            let last = values[values.len() - 1];
            let choose =
                |chosen, (s, &value): (usize, &Var)| set.le(s as f64 + 1.5).select(value, chosen);
            values.iter().enumerate().rev().skip(1).fold(last, choose)
        }
    };
    let mut program = Program::trace(columns, names.len(), trace)?;
    let mut set = "set".to_owned();
    while programs[0].columns.contains(&set) || names.contains(&set) {
        set.push('_');
    }
    program.columns = std::iter::once(set).chain(programs[0].columns.clone()).collect();
    program.params = names.to_vec();
    Ok(Model::Traced(Arc::new(program)))
}

/// Returns at most one prior for each parameter of the fitted sets. If several sets have a prior for the same
/// parameter, the prior of the first of these sets is returned.
pub(super) fn priors_of_all(members: &[SetMember]) -> Vec<Prior> {
    let mut all: BTreeMap<usize, Prior> = BTreeMap::new();
    let kept = members.iter().filter(|member| !member.left_out);
    let taken: HashSet<usize> = kept.flat_map(|member| member.params.iter().copied()).collect();
    for member in members {
        for prior in &member.curve.priors {
            let param = member.params[prior.param];
            if !taken.contains(&param) {
                continue;
            }
            all.entry(param).or_insert(Prior { param, ..*prior });
        }
    }
    all.into_values().collect()
}

/// Returns the typical size of each parameter: the largest value among the sets, or NaN if no set has a value.
pub(super) fn scales_of_all(members: &[SetMember], params: usize) -> Vec<f64> {
    let mut scales = vec![f64::NAN; params];
    for member in members {
        let own = member.params.iter().zip(&member.curve.scales);
        own.for_each(|(&k, &scale)| scales[k] = scales[k].max(scale));
    }
    scales
}

/// Version of [`joint_model`] for many sets or for models that are not traced: evaluates the model of each set at the
/// points of this set.
fn native(members: &[SetMember], models: &[&Model], columns: usize, params: usize) -> Model {
    let sets = members.iter().zip(models).map(|(m, &model)| (model.clone(), m.params.clone()));
    of_sets(sets.collect(), (columns, params), scales_of_all(members, params))
}

/// Creates the joint model from the models of the sets and the positions of their parameters in the joint fit.
pub(super) fn of_sets(
    sets: Vec<(Model, Vec<usize>)>,
    (columns, params): (usize, usize),
    scales: Vec<f64>,
) -> Model {
    let value = move |x: &[&[f64]], p: &[f64], out: &mut [f64]| {
        let set_of = |x: f64| (x.round().max(1.0) as usize).min(sets.len()) - 1;
        let mut of_set: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..out.len()).for_each(|i| of_set.entry(set_of(x[0][i])).or_default().push(i));
        for (set, points) in of_set {
            let (model, own) = &sets[set];
            let own: Vec<f64> = own.iter().map(|&k| p[k]).collect();
            let picked = |column: &&[f64]| points.iter().map(|&i| column[i]).collect();
            let columns: Vec<Vec<f64>> = x[1..].iter().map(picked).collect();
            let values = model.values(&columns, points.len(), &own);
            points.iter().zip(values).for_each(|(&i, value)| out[i] = value);
        }
    };
    let calls = ArrayCalls { value: Arc::new(value), jacobian: None, parallel: true };
    Model::Native(Native { calls: Calls::Arrays(calls), columns, params, scales, lost: false })
}
