//! Saved form of a joint fit: the fit of all sets and, for each set, its model and the positions of its parameters.

use super::joint_fit::{JointFit, SetView};
use super::layout::of_sets;
use crate::data::sigma::Spread;
use crate::error::Result;
use crate::error::names::{check_distinct, check_shown};
use crate::fit::Fit;
use crate::fit::saved::{
    SavedComponent, SavedFit, components_of, expressions_of, formulas_of, model_of, program_of,
    programs_of, ties_of,
};
use crate::model::native::Model;
use crate::model::saved::SavedProgram;
use crate::saved::{Saved, check_index, exact, saved};
use std::collections::BTreeMap;
use std::sync::Arc;

saved! {
    /// Saved form of a joint fit.
    #[serde(rename = "JointFit")]
    "joint fit": struct SavedJointFit of joint: JointFit {
        fit: SavedFit = joint.fit.into(),
        #[serde(with = "exact")] chi_squares: Vec<f64>,
        sets: Vec<SavedSet> = joint.views.into_iter().map(SavedSet::from).collect(),
        /// Positions of the sets that could not be fitted, with the reasons.
        #[serde(default)] left_out: BTreeMap<usize, String>,
    }
}

saved! {
    /// Saved form of a [`SetView`]: the model and parameters of one set.
    struct SavedSet of view: SetView {
        /// Program of the model; `None` for a native model, of which only the number of `variables` is saved.
        model: Option<SavedProgram> = program_of(&view.model),
        variables: usize = view.model.columns(),
        ties: Vec<(String, String)> = formulas_of(&view.ties),
        components: Vec<SavedComponent> = components_of(&view.components),
        names: Vec<String>,
        /// Position of each parameter of the set among the parameters of the joint fit.
        params: Vec<usize>,
        /// Names and formulas of derived quantities.
        derived: Vec<(String, SavedProgram)> = programs_of(view.derived),
        points: usize,
        spread: Spread,
    }
}

impl JointFit {
    /// Returns the joint fit as JSON, with exact numbers and the models of its sets. The joint fit that
    /// [`from_json`](JointFit::from_json) restores has the same views of its sets and prints the same report. A native
    /// model is not saved, as in [`Fit::to_json`], but all other parts of its set are. `JointFit` implements the traits
    /// of `serde`, so other formats can also be used.
    ///
    /// # Errors
    /// No error in practice: every joint fit can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Returns the joint fit that [`to_json`](JointFit::to_json) wrote.
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for text that is not a saved joint fit, an unknown version, arrays of
    /// wrong lengths, sets with parameters that the fit does not have, or damaged programs.
    #[inline]
    pub fn from_json(text: &str) -> Result<JointFit> {
        JointFit::read(text)
    }
}

impl SavedJointFit {
    fn checked(self) -> Result<JointFit> {
        let SavedJointFit { fit, chi_squares, sets, left_out, .. } = self;
        let mut fit: Fit = fit.try_into()?;
        JointFit::expect("sets", sets.len(), chi_squares.len().max(1))?;
        // The fit of one set is computed by decompositions of the undetermined directions (`null`), which therefore
        // must be finite.
        if !fit.covariance.null.is_finite() {
            let message = "the directions that the data leave open are not finite";
            return Err(JointFit::malformed(message));
        }
        for &set in left_out.keys() {
            check_index("the saved joint fit", "set", set, sets.len())?;
        }
        let views = sets.into_iter().map(|set| view(set, &fit)).collect::<Result<Vec<_>>>()?;
        // The joint model of many sets is native and is not saved, but the models of the sets are.
        let is_lost = |model: &Model| matches!(model, Model::Native(native) if native.lost);
        if is_lost(&fit.model) && !views.iter().any(|view| is_lost(&view.model)) {
            let sets = views.iter().map(|view| (view.model.clone(), view.params.clone()));
            let (columns, params) = (fit.model.columns(), fit.names().len());
            fit.model = of_sets(sets.collect(), (columns, params), vec![f64::NAN; params]);
        }
        Ok(JointFit { chi_squares, views, fit, left_out })
    }
}

/// Restores the view of a saved set, for the joint fit that it belongs to.
fn view(saved: SavedSet, fit: &Fit) -> Result<SetView> {
    let SavedSet { model, variables, ties, components, names, params, derived, .. } = saved;
    let (points, spread) = (saved.points, saved.spread);
    check_distinct(&names)?;
    JointFit::expect("params of a set", params.len(), names.len())?;
    for (i, &k) in params.iter().enumerate() {
        check_index("a set of the saved joint fit", "parameter", k, fit.names().len())?;
        if params[..i].contains(&k) {
            let message = format!("two parameters of a set are parameter {k} of the joint fit");
            return Err(JointFit::malformed(message));
        }
    }
    let model = model_of(model, variables, names.len())?;
    // The joint fit's model has the set as a further variable.
    let with_set = model.columns().saturating_add(1);
    JointFit::expect("variables of a set", with_set, fit.model.columns())?;
    let derived = expressions_of(derived, &names, "save the joint fit again")?;
    check_shown(names.iter().chain(derived.iter().map(|(name, _)| name)))?;
    let ties = Arc::new(ties_of(ties, &names)?);
    let component = |saved: SavedComponent| saved.checked(variables, names.len());
    let components = components.into_iter().map(component).collect::<Result<_>>()?;
    Ok(SetView { model, ties, components, names, params, derived, points, spread })
}
