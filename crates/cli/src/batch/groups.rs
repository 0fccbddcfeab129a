//! `dualfit fit --by`: one fit of each group of rows, or one joint fit of all groups with shared parameters.

use super::results::Results;
use super::{Entry, fit_of};
use crate::arguments::FitArguments;
use crate::destinations;
use crate::model::{Model, expect};
use crate::points::{Points, Roles, Values};
use crate::refusal::{Outcome, Refusal, refused_at};
use crate::table::Table;
use crate::watch::{clear_progress, counting, stop_on_interrupt};
use crate::words::listed;
use dualfit::error::GlobalError;
use dualfit::{Error, GlobalFit, JointFit, threads};
use rayon::prelude::*;
use std::time::Instant;

pub(crate) fn run(asked: &FitArguments, column: &str) -> Outcome<u8> {
    let out = asked.out.as_deref();
    destinations::expect_form("--out", out, "the format", ["csv", "json"])?;
    let on_stdout = destinations::check(&[&asked.file], &[("--out", out)], asked.json)?;
    let begun = Instant::now();
    let table = Table::open(&asked.file, &asked.table)?;
    let by = table.find(column)?;
    let roles = Roles::choose(&table, &asked.table, asked.y.as_deref(), Some(by))?;
    roles.hint_at_errors(&table);
    let mut model = Model::new(&asked.model, &table, &roles.inputs.x, &[roles.y])?;
    model.curve = model.curve.cancel_token(stop_on_interrupt());
    for name in &asked.share {
        expect("--share", name, model.curve.parameters(), &model.variables)?;
    }
    let groups = table.groups(by)?;
    let y = table.called(roles.y);
    let values = Values::read(&table, roles, &asked.table)?;
    let points_of = |group| values.points_of(groups.rows(group).iter().copied());
    let entry = |group: usize, outcome| {
        let (file, column) = (table.name.clone(), y.clone());
        Entry { file, column, group: Some(groups.labels()[group].clone()), outcome }
    };
    let (entries, joint): (Vec<Entry>, Option<JointFit>) = match &asked.share[..] {
        [] => {
            let count = counting(groups.len());
            threads::ready();
            let fitted = |group: usize| {
                let outcome = points_of(group).and_then(|points| fit_of(&model, &points));
                count();
                entry(group, outcome)
            };
            ((0..groups.len()).into_par_iter().map(fitted).collect(), None)
        }
        names => {
            let sets = (0..groups.len()).map(points_of).collect::<Outcome<Vec<_>>>()?;
            let data = sets.iter().map(Points::data).collect::<dualfit::Result<Vec<_>>>()?;
            let joint = GlobalFit::new(&model.curve).share(names);
            let joint = joint.fit(data, model.start());
            let joint = joint.map_err(|why| refused(why, groups.labels(), &sets))?;
            let views =
                (0..groups.len()).filter_map(|group| joint.set(group).map(|fit| (group, fit)));
            (views.map(|(group, fit)| entry(group, Ok(fit))).collect(), Some(joint))
        }
    };
    clear_progress();
    let seconds = begun.elapsed().as_secs_f64();
    let by = Some(table.called(by));
    let results = Results { model: &model, entries: &entries, by, joint: joint.as_ref(), seconds };
    results.end(out, asked.json, on_stdout)
}

/// Converts an error of a joint fit. An error about a single group begins with the label of this group.
fn refused(mut why: Error, labels: &[String], sets: &[Points<'_>]) -> Refusal {
    let in_group = |set: usize, error: &Error| {
        let refusal = refused_at(error, &sets[set - 1]);
        let message = format!("{}: {}", labels[set - 1], refusal.message);
        Refusal { message, ..refusal }
    };
    match &mut why {
        Error::Global(GlobalError::InSet { set, error }) => in_group(*set, error),
        Error::Global(GlobalError::BadSets { bad, error, .. }) => {
            let first = in_group(bad[0], error);
            let message = format!(
                "{} of {} groups cannot be fitted: {}; {}; correct the rows or remove them from the file",
                bad.len(),
                sets.len(),
                listed(bad.iter().map(|set| labels[set - 1].as_str())),
                first.message
            );
            Refusal { message, ..first }
        }
        // The first variable of the joint model is the number of the set, from 1.
        Error::ModelNonFiniteAtStart { point, .. }
        | Error::PartialNonFiniteAtStart { point, .. }
        | Error::ModelNotPositiveAtStart { point, .. }
            if !point.0.is_empty() =>
        {
            let set = point.0.remove(0).value as usize;
            in_group(set, &why)
        }
        _ => why.into(),
    }
}
