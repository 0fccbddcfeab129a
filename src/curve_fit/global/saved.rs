//! Saved form of a joint fit: the fit of all sets and, for each set, its model and the positions of its parameters.

use super::joint_fit::{JointFit, SetView};
use super::layout::of_sets;
use crate::data::sigma::Spread;
use crate::error::names::{check_distinct, check_shown, position};
use crate::error::saved::SavedError;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::saved::{SavedComponent, SavedFit, SavedTies, model_of, program_of};
use crate::model::Expression;
use crate::model::exact::{Exact, exact, plain};
use crate::model::json::{read, write};
use crate::model::native::Model;
use crate::model::saved::{SavedProgram, check_index, check_version, expect};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const VERSION: u32 = 1;

/// Serialized form of a joint fit.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename = "JointFit")]
pub(super) struct SavedJointFit {
    version: u32,
    fit: SavedFit,
    chi_squares: Vec<Exact>,
    sets: Vec<SavedSet>,
    /// Positions of the sets that could not be fitted, with the reasons.
    #[serde(default)]
    left_out: BTreeMap<usize, String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedSet {
    /// Program of the model; `None` for a native model, for which only `variables` is saved.
    model: Option<SavedProgram>,
    variables: usize,
    ties: SavedTies,
    components: Vec<SavedComponent>,
    names: Vec<String>,
    /// Position of each parameter of the set among the parameters of the joint fit.
    params: Vec<usize>,
    /// Names and formulas of derived quantities.
    derived: Vec<(String, SavedProgram)>,
    points: usize,
    spread: Spread,
}

impl JointFit {
    /// Returns the joint fit as JSON, with exact numbers and the models of its sets. The joint fit that
    /// [`from_json`](JointFit::from_json) restores has the same views of its sets and prints the same report. As in
    /// [`Fit::to_json`], native models are not saved, but all other parts of their sets are. `JointFit` implements the
    /// traits of `serde`, so that other formats can also be used.
    ///
    /// # Errors
    /// None in practice: every joint fit can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedJointFit::from(self.clone()), "joint fit")
    }

    /// Restores a joint fit from the output of [`to_json`](JointFit::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`] for text that is not a saved joint fit, an unknown version, arrays of wrong lengths, sets with
    /// parameters that the fit does not have, or damaged programs.
    pub fn from_json(text: &str) -> Result<JointFit> {
        read::<SavedJointFit>(text, "joint fit", VERSION)?.try_into()
    }
}

impl From<JointFit> for SavedJointFit {
    fn from(joint: JointFit) -> SavedJointFit {
        let formula = |(name, Expression(program)): (String, Expression)| (name, program.into());
        let set = |view: SetView| SavedSet {
            model: program_of(&view.model),
            variables: view.model.columns(),
            ties: SavedTies::of(&view.ties),
            components: view.components.iter().map(SavedComponent::of).collect(),
            names: view.names,
            params: view.params,
            derived: view.derived.into_iter().map(formula).collect(),
            points: view.points,
            spread: view.spread,
        };
        SavedJointFit {
            version: VERSION,
            fit: joint.fit.into(),
            chi_squares: exact(&joint.chi_squares),
            sets: joint.views.into_iter().map(set).collect(),
            left_out: joint.left_out,
        }
    }
}

impl TryFrom<SavedJointFit> for JointFit {
    type Error = Error;
    fn try_from(saved: SavedJointFit) -> Result<JointFit> {
        check_version("joint fit", saved.version, VERSION)?;
        let mut fit: Fit = saved.fit.try_into()?;
        expect("joint fit", "sets", saved.sets.len(), saved.chi_squares.len().max(1))?;
        // The view of a set is computed from these directions by matrix decompositions, which require finite values.
        if !fit.covariance.null.is_finite() {
            let message = "the directions that the data leave open are not finite".into();
            return Err(SavedError::Malformed { what: "joint fit", message }.into());
        }
        let (left_out, sets) = (saved.left_out, saved.sets.len());
        for &set in left_out.keys() {
            check_index("the saved joint fit", "set", set, sets)?;
        }
        let set = |saved| view(saved, &fit);
        let views = saved.sets.into_iter().map(set).collect::<Result<Vec<_>>>()?;
        // The joint model of many sets is native and is not saved; it is rebuilt from the models of the sets.
        let is_lost = |model: &Model| matches!(model, Model::Native(native) if native.lost);
        if is_lost(&fit.model) && !views.iter().any(|view| is_lost(&view.model)) {
            let sets = views.iter().map(|view| (view.model.clone(), view.params.clone()));
            let (columns, params) = (fit.model.columns(), fit.names().len());
            fit.model = of_sets(sets.collect(), (columns, params), vec![f64::NAN; params]);
        }
        Ok(JointFit { chi_squares: plain(&saved.chi_squares), views, fit, left_out })
    }
}

/// Restores the view of a saved set of the joint fit `fit`.
fn view(saved: SavedSet, fit: &Fit) -> Result<SetView> {
    let SavedSet { model, variables, ties, components, names, params, derived, .. } = saved;
    let (points, spread) = (saved.points, saved.spread);
    check_distinct(&names)?;
    expect("joint fit", "params of a set", params.len(), names.len())?;
    for (i, &k) in params.iter().enumerate() {
        check_index("a set of the saved joint fit", "parameter", k, fit.names().len())?;
        if params[..i].contains(&k) {
            let message = format!("two parameters of a set are parameter {k} of the joint fit");
            return Err(SavedError::Malformed { what: "joint fit", message }.into());
        }
    }
    let model = model_of(model, variables, names.len())?;
    // The joint model has the number of the set as an additional variable.
    let with_set = model.columns().saturating_add(1);
    expect("joint fit", "variables of a set", with_set, fit.model.columns())?;
    let formula = |(name, program): (String, SavedProgram)| -> Result<(String, Expression)> {
        let formula = Expression(program.try_into()?);
        for parameter in formula.parameters() {
            position(&names, parameter, "save the joint fit again")?;
        }
        Ok((name, formula))
    };
    let derived = derived.into_iter().map(formula).collect::<Result<Vec<_>>>()?;
    check_shown(names.iter().chain(derived.iter().map(|(name, _)| name)))?;
    let ties = Arc::new(ties.checked(&names)?);
    let component = |saved: SavedComponent| saved.checked(variables, names.len());
    let components = components.into_iter().map(component).collect::<Result<_>>()?;
    Ok(SetView { model, ties, components, names, params, derived, points, spread })
}
