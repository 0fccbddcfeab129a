//! What the sets' models derive from their parameters, under names of the joint fit.

use super::layout::Member;
use crate::model::Expression;

/// A quantity of the joint fit.
pub(super) struct Asked<'v> {
    pub(super) name: String,
    pub(super) formula: &'v Expression,
    /// The parameter of the joint fit that each name of the formula is.
    pub(super) places: Vec<usize>,
}

/// The quantities of all sets. What has one value for all, since its parameters are shared, comes once
/// and keeps its name; of the others the set, counted from 1, is a part of it. `names`: those of the
/// joint fit's parameters.
pub(super) fn of_all<'v>(members: &'v [Member], names: &[String]) -> Vec<Asked<'v>> {
    let mut all: Vec<(usize, Asked<'v>, bool)> = Vec::new();
    for (set, member) in members.iter().enumerate() {
        for (name, formula) in &member.curve.derived {
            let own = |name: &String| member.curve.names.iter().position(|n| n == name);
            let own: Option<Vec<usize>> = formula.parameters().iter().map(own).collect();
            let Some(own) = own else { continue };
            let places: Vec<usize> = own.iter().map(|&i| member.params[i]).collect();
            // A parameter that is a set's own has another name in the joint fit.
            let is_common =
                own.iter().zip(&places).all(|(&i, &k)| member.curve.names[i] == names[k]);
            let known = |(_, asked, _): &(usize, Asked<'_>, bool)| {
                asked.name == *name && asked.places == places && asked.formula == formula
            };
            if !(is_common && all.iter().any(known)) {
                all.push((set, Asked { name: name.clone(), formula, places }, is_common));
            }
        }
    }
    // Models of their own may call different quantities by one name.
    let one = |name: &str| all.iter().filter(|(_, asked, _)| asked.name == name).count() == 1;
    let plain: Vec<bool> =
        all.iter().map(|(_, asked, is_common)| *is_common && one(&asked.name)).collect();
    let named = all.into_iter().zip(plain).map(|((set, asked, _), plain)| match plain {
        true => asked,
        false => Asked { name: format!("{}_{}", asked.name, set + 1), ..asked },
    });
    named.collect()
}
