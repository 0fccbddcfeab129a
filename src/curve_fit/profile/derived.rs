//! Profile of a derived quantity: the quantity replaces one parameter of its formula.
//!
//! If q = g(p₁, p₂, …), the model is rewritten in terms of q, p₂, …, where p₁ is tied to the inverse of g. Refits fix
//! q like any other parameter. Therefore bounds, losses and native models work as in the fit.

use super::Profile;
use crate::curve_fit::CurveFit;
use crate::curve_fit::lost_model::check_same_fit;
use crate::data::Data;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::Fit;
use crate::model::Expression;
use crate::model::inverse::inverse;
use crate::model::ties::Tie;

impl CurveFit {
    /// Computes the profile of the quantity `name` to a level.
    ///
    /// # Errors
    /// [`UncertaintyError::NoProfile`] if the formula cannot be solved for any free parameter without bounds and
    /// priors; the errors of [`profile_to`](Self::profile_to).
    pub(super) fn profile_of_derived(
        &self,
        fit: &Fit,
        data: &Data<'_>,
        (name, formula): (&str, &Expression),
        level: f64,
    ) -> Result<Profile> {
        check_same_fit(self, fit, data)?;
        let (curve, start) = self.in_terms_of(name, formula, fit)?;
        let mut profile = curve.profile_to(&curve.fit(data, start)?, data, name, level)?;
        let width = self.names.len();
        profile.nodes.iter_mut().for_each(|node| node.params.truncate(width));
        if let Some(better) = &mut profile.better {
            **better = self.fit(data, &better.params[..width])?;
        }
        Ok(profile)
    }

    /// Returns the model with the quantity as its last parameter, and the values of all parameters in `fit`.
    fn in_terms_of(
        &self,
        name: &str,
        formula: &Expression,
        fit: &Fit,
    ) -> Result<(CurveFit, Vec<f64>)> {
        let formula = formula.substituted(&self.tied_expressions()?)?;
        let place = |name: &String| self.names.iter().position(|known| known == name);
        let places: Vec<usize> = formula.parameters().iter().filter_map(place).collect();
        let at: Vec<f64> = places.iter().map(|&k| fit.params[k]).collect();
        let free = self.free_positions();
        let is_open = |&(_, &k): &(usize, &usize)| {
            let unbounded = self.bounds[k] == (f64::NEG_INFINITY, f64::INFINITY);
            unbounded && free.contains(&k) && !self.priors.iter().any(|prior| prior.param == k)
        };
        let mut pivots = places.iter().enumerate().filter(is_open);
        let found = pivots.find_map(|(i, &k)| Some((k, inverse(&formula, i, name, &at)?)));
        let Some((pivot, expression)) = found else {
            let reason = "no free parameter without bounds and priors occurs once in its formula";
            let remedy = "write the model in terms of the quantity, and profile that parameter";
            return Err(
                UncertaintyError::NoProfile { name: name.to_owned(), reason, remedy }.into()
            );
        };
        let mut curve = CurveFit { guess: None, ..self.clone() };
        curve.add_parameter(name);
        curve = curve.changed();
        curve.derived.clear();
        let text = format!("the inverse of `{name}`");
        curve.ties.push(Tie { name: self.names[pivot].clone(), text, expression });
        let mut start = fit.params.clone();
        start.push(formula.evaluate(&[], &at));
        Ok((curve, start))
    }
}
