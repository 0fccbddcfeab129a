//! `dualfit batch`: one model, and one fit for each of many columns or tables.
//!
//! An error in one table or column appears in its row of the results and does not affect the others. An error in the
//! request, mainly in the model, ends the batch before the first fit.

pub(crate) mod groups;
mod results;

use crate::arguments::BatchArguments;
use crate::destinations;
use crate::model::Model;
use crate::points::{Inputs, Points, Roles};
use crate::refusal::{DONE, Outcome, Refusal, refused_at};
use crate::table::Table;
use crate::watch::{clear_progress, counting, stop_on_interrupt};
use crate::words::visible;
use dualfit::{Fit, threads};
use rayon::prelude::*;
use results::{Files, Results};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// One fit of a batch: its data and its result.
pub(crate) struct Entry {
    pub(crate) file: String,
    /// Name of the response; empty if the table could not be read.
    pub(crate) column: String,
    /// Label of the group, if the rows are a group.
    pub(crate) group: Option<String>,
    pub(crate) outcome: Outcome<Fit>,
}

/// A pending fit.
struct Task<'a> {
    table: &'a Table,
    model: Arc<Model>,
    roles: Roles,
}

pub(crate) fn run(asked: &BatchArguments) -> Outcome<u8> {
    let out = asked.out.as_deref();
    destinations::expect_form("--out", out, "the format", ["csv", "json"])?;
    let inputs: Vec<&Path> = asked.files.iter().map(PathBuf::as_path).collect();
    let on_stdout = destinations::check(&inputs, &[("--out", out)], asked.json)?;
    let begun = Instant::now();
    let token = stop_on_interrupt();
    let tables: Vec<Outcome<Table>> =
        asked.files.iter().map(|path| Table::open(path, &asked.table)).collect();
    let (mut first, mut tasks) = (None, Vec::new());
    for (path, table) in asked.files.iter().zip(&tables) {
        let chosen = table.as_ref().map_err(Clone::clone).and_then(|table| {
            let inputs = Inputs::choose(table, &asked.table, None)?;
            let columns = responses(table, asked, &inputs)?;
            Ok((table, columns, inputs))
        });
        match chosen {
            Err(refusal) => {
                let file = visible(&path.display().to_string()).into_owned();
                let outcome = Err(refusal);
                tasks.push(Err(Box::new(Entry {
                    file,
                    column: String::new(),
                    group: None,
                    outcome,
                })));
            }
            Ok((table, columns, inputs)) => {
                let mut model = Model::new(&asked.model, table, &inputs.x, &columns)?;
                model.curve = model.curve.cancel_token(token.clone());
                let model = Arc::new(model);
                first.get_or_insert_with(|| model.clone());
                tasks.extend(columns.into_iter().map(|y| {
                    let roles = Roles { inputs: inputs.clone(), y };
                    Ok(Task { table, model: model.clone(), roles })
                }));
            }
        }
    }
    let count = counting(tasks.iter().filter(|task| task.is_ok()).count());
    threads::ready();
    let fitted = |task: Result<Task, Box<Entry>>| match task {
        Err(refused) => *refused,
        Ok(task) => {
            let entry = fitted(&task, asked);
            count();
            entry
        }
    };
    let entries: Vec<Entry> = tasks.into_par_iter().map(fitted).collect();
    clear_progress();
    let Some(model) = first else {
        // No table could be read.
        return entries.into_iter().find_map(|entry| entry.outcome.err()).map_or(Ok(DONE), Err);
    };
    let seconds = begun.elapsed().as_secs_f64();
    let (by, joint, predictions) = (None, None, Vec::new());
    let results = Results { model: &model, entries: &entries, by, joint, predictions, seconds };
    results.end(Files { out, predictions: None }, asked.json, on_stdout)
}

/// Returns the columns to fit, without duplicates.
fn responses(table: &Table, asked: &BatchArguments, inputs: &Inputs) -> Outcome<Vec<usize>> {
    if asked.y.is_empty() && asked.files.len() > 1 {
        return Ok(vec![Roles::choose(table, &asked.table, None, None)?.y]);
    }
    let mut columns: Vec<usize> = Vec::new();
    let all = [String::from("*")];
    let patterns = if asked.y.is_empty() { &all[..] } else { &asked.y };
    for pattern in patterns {
        let found = table.find_matching(pattern)?;
        // A pattern such as `*` does not include x and the errors.
        let named = !pattern.contains(['*', '?']);
        columns.extend(found.into_iter().filter(|column| named || !inputs.uses(*column)));
    }
    let mut seen = HashSet::new();
    columns.retain(|column| seen.insert(*column));
    match columns.is_empty() {
        false => Ok(columns),
        true => Err(Refusal::usage(format!(
            "{}: no column is left for y; is the --delimiter right?",
            table.name
        ))),
    }
}

fn fitted(Task { table, model, roles }: &Task<'_>, asked: &BatchArguments) -> Entry {
    let roles = roles.clone();
    let column = table.called(roles.y);
    let roles = roles.checked(table, &asked.table);
    let points = roles.and_then(|roles| Points::take(table, roles, &asked.table));
    let outcome = points.and_then(|points| fit_of(model, &points));
    Entry { file: table.name.clone(), column, group: None, outcome }
}

fn fit_of(model: &Model, points: &Points<'_>) -> Outcome<Fit> {
    let fit = points.data().and_then(|data| model.curve.fit(data, model.start()));
    fit.map_err(|why| refused_at(&why, points))
}
