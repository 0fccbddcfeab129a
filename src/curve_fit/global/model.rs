//! The models of all sets as one, with the set as a further independent variable.

use super::layout::Member;
use crate::error::Result;
use crate::model::native::{Model, Native};
use crate::model::program::Program;
use crate::model::var::Var;
use std::sync::Arc;

/// The model of a joint fit, which predicts: its first independent variable is the set, counted from
/// 1, the others are those of the `models`, one per set, with the formulas of tied parameters in their
/// places. Passes do not run it.
pub(super) fn joint(members: &[Member], models: &[&Model], names: &[String]) -> Result<Model> {
    let columns = 1 + models[0].columns();
    let programs = models.iter().map(|model| match model {
        Model::Traced(program) => Some(program),
        Model::Native(_) => None,
    });
    let Some(programs) = programs.collect::<Option<Vec<_>>>() else {
        return Ok(native(members, models, columns, names.len()));
    };
    let trace = |x: &[Var], p: &[Var]| {
        let (set, x) = (x[0], &x[1..]);
        let own = |member: &Member| -> Vec<Var> { member.params.iter().map(|&k| p[k]).collect() };
        if members[0].same {
            let mut params = own(&members[members.len() - 1]);
            for (s, member) in members.iter().enumerate().rev().skip(1) {
                for (chosen, &k) in params.iter_mut().zip(&member.params) {
                    // Shared by all sets from here on.
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

/// Typical sizes of all parameters, NaN where they are not known.
pub(super) fn scales(members: &[Member], params: usize) -> Vec<f64> {
    let mut scales = vec![f64::NAN; params];
    for member in members {
        let own = member.params.iter().zip(&member.curve.scales);
        own.for_each(|(&k, &scale)| scales[k] = scales[k].max(scale));
    }
    scales
}

fn native(members: &[Member], models: &[&Model], columns: usize, params: usize) -> Model {
    let sets: Vec<(Model, Vec<usize>)> =
        members.iter().zip(models).map(|(m, &model)| (model.clone(), m.params.clone())).collect();
    let scales = scales(members, params);
    let value = move |x: &[f64], p: &[f64]| {
        let set = (x[0].round().max(1.0) as usize).min(sets.len()) - 1;
        let (model, own) = &sets[set];
        let own: Vec<f64> = own.iter().map(|&k| p[k]).collect();
        match model {
            Model::Traced(program) => program.evaluate(&x[1..], &own),
            Model::Native(native) => (native.value)(&x[1..], &own),
        }
    };
    let (value, lost) = (Arc::new(value), false);
    Model::Native(Native { value, jacobian: None, columns, params, scales, lost })
}
