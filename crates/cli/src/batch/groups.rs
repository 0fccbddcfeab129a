//! `dualfit fit --by`: one fit of each group of rows, or one joint fit of all groups with shared parameters.

use super::results::{Files, Results};
use super::{Entry, fit_of};
use crate::arguments::FitArguments;
use crate::destinations;
use crate::fit::{check_band, check_level};
use crate::model::{Model, expect};
use crate::output::note;
use crate::points::{Points, Roles, Values};
use crate::predictions::{At, Predictions};
use crate::refusal::{Outcome, Refusal, refused_at};
use crate::table::Table;
use crate::watch::{clear_progress, counting, stop_on_interrupt};
use crate::words::{counted, listed};
use crate::written;
use dualfit::error::GlobalError;
use dualfit::{Error, GlobalFit, JointFit, threads};
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(asked: &FitArguments, column: &str) -> Outcome<u8> {
    let on_stdout = check(asked)?;
    let begun = Instant::now();
    let table = Table::open(&asked.file, &asked.table)?;
    let by = table.find(column)?;
    let roles = Roles::choose(&table, &asked.table, asked.y.as_deref(), Some(by))?;
    roles.hint_at_errors(&table);
    let new = At::read(&asked.at, asked.interval, &asked.table, &table, &roles.inputs.x)?;
    let mut model = Model::new(&asked.model, &table, &roles.inputs.x, &[roles.y])?;
    model.curve = model.curve.cancel_token(stop_on_interrupt());
    for name in &asked.share {
        expect("--share", name, model.curve.parameters(), &model.variables)?;
    }
    let groups = table.groups(by)?;
    let y = table.called(roles.y);
    let values = Values::read(&table, roles, &asked.table)?;
    let of_group = |group| values.points_of(groups.rows(group).iter().copied());
    let sets: Vec<Outcome<Points<'_>>> = (0..groups.len()).map(of_group).collect();
    let entry = |group: usize, outcome| {
        let (file, column) = (table.name.clone(), y.clone());
        Entry { file, column, group: Some(groups.labels()[group].clone()), outcome }
    };
    let (entries, joint): (Vec<Entry>, Option<JointFit>) = match &asked.share[..] {
        [] => {
            let count = counting(groups.len());
            threads::ready();
            let fitted = |(group, points): (usize, &Outcome<Points<'_>>)| {
                let points = points.as_ref().map_err(Clone::clone);
                let outcome = points.and_then(|points| fit_of(&model, points));
                count();
                entry(group, outcome)
            };
            (sets.par_iter().enumerate().map(fitted).collect(), None)
        }
        names => {
            if let Some(Err(refusal)) = sets.iter().find(|points| points.is_err()) {
                return Err(refusal.clone());
            }
            let sets: Vec<&Points<'_>> = sets.iter().flatten().collect();
            let data = sets.iter().map(|points| points.data());
            let data = data.collect::<dualfit::Result<Vec<_>>>()?;
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
    let predicted = |entry: &Entry, points: &Outcome<Points<'_>>| match (&new, entry.fit(), points)
    {
        (Some(new), Some(fit), Ok(points)) => new.predict(fit, points).map(Some),
        _ => Ok(None),
    };
    let predicted = entries.iter().zip(&sets).map(|(entry, points)| predicted(entry, points));
    let predictions = predicted.collect::<Outcome<Vec<Option<Predictions<'_>>>>>()?;
    let by = table.called(by);
    let joint = joint.as_ref();
    let results = Results {
        model: &model,
        entries: &entries,
        by: Some(by.clone()),
        joint,
        predictions,
        seconds,
    };
    let (out, predictions) = (asked.out.as_deref(), asked.at.predictions.as_deref());
    let files = Files { out, predictions };
    let code = results.end(files, asked.json, on_stdout)?;
    if let Some(path) = &asked.plot {
        let fitted = entries.iter().zip(&sets);
        let fitted = fitted.filter_map(|(entry, points)| {
            Some((entry.group.as_deref()?, points.as_ref().ok()?, entry.fit()?))
        });
        let fitted: Vec<_> = fitted.collect();
        let others = entries.len() - fitted.len();
        if others > 0 {
            note(format!("--plot: {} without a fit not drawn", counted(others, "group")));
        }
        written::picture_of_groups(path, &by, &fitted, asked)?;
    }
    Ok(code)
}

/// Checks the request before the table is read. Returns true if a result other than the report goes to standard output.
fn check(asked: &FitArguments) -> Outcome<bool> {
    let out = asked.out.as_deref();
    destinations::expect_form("--out", out, "the format", ["csv", "json"])?;
    let (plot, predictions) = (asked.plot.as_deref(), asked.at.predictions.as_deref());
    destinations::expect_form("--plot", plot, "the kind of picture", ["svg", "png"])?;
    check_band(asked)?;
    check_level("--interval", asked.interval)?;
    if let (Some(level), None) = (asked.interval, &asked.at.at) {
        return Err(Refusal::usage(format!(
            "--interval {level}: for groups it is the level of predictions; give --at, or fit one group alone with --range"
        )));
    }
    let new = asked.at.at.as_deref().map(Path::new);
    let inputs: Vec<&Path> = std::iter::once(asked.file.as_path()).chain(new).collect();
    let outputs = [("--out", out), ("--plot", plot), ("--predictions", predictions)];
    destinations::check(&inputs, &outputs, asked.json)
}

/// Converts an error of a joint fit. An error about a single group begins with the label of this group.
fn refused(mut why: Error, labels: &[String], sets: &[&Points<'_>]) -> Refusal {
    let in_group = |set: usize, error: &Error| {
        let refusal = refused_at(error, sets[set - 1]);
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
