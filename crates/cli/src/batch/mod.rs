//! `dualfit batch`: one model, many columns or tables, one fit of each.
//!
//! What is wrong with one table or column is told in its row of the results and harms no other. What is
//! wrong with the request, its model above all, ends the batch before the first fit.

mod results;

use crate::arguments::BatchArguments;
use crate::destinations;
use crate::model::Model;
use crate::output::{explain, extension, is_stdout, print, put};
use crate::points::{Points, Roles};
use crate::refusal::{DONE, NOT_CONVERGED, Outcome, Refusal, refused_at};
use crate::table::Table;
use crate::watch::{clear_progress, counting, stop_on_interrupt};
use crate::words::visible;
use dualfit::{Fit, shared};
use rayon::prelude::*;
use results::Results;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What is fitted, and what came of it.
pub(crate) struct Entry {
    pub(crate) file: String,
    /// The response; empty where not even the table could be read.
    pub(crate) column: String,
    pub(crate) outcome: Outcome<Fit>,
}

/// A fit that is still to be made.
struct Task {
    table: usize,
    roles: Roles,
}

pub(crate) fn run(asked: &BatchArguments) -> Outcome<u8> {
    let is_json = asked.out.as_deref().is_some_and(|path| extension(path) == "json");
    if let Some(path) = asked.out.as_deref().filter(|path| !is_stdout(path))
        && !["csv", "json"].contains(&extension(path).as_str())
    {
        return Err(Refusal::usage(format!(
            "--out {}: the name says the format, so it ends in .csv or .json",
            path.display()
        )));
    }
    let inputs: Vec<&Path> = asked.files.iter().map(PathBuf::as_path).collect();
    let on_stdout = destinations::check(&inputs, &[("--out", asked.out.as_deref())], asked.json)?;
    let begun = Instant::now();
    let token = stop_on_interrupt();
    let tables: Vec<Outcome<Table>> =
        asked.files.iter().map(|path| Table::open(path, &asked.table)).collect();
    let (mut models, mut tasks) = (Vec::new(), Vec::new());
    let mut entries: Vec<Option<Entry>> = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        let chosen = table.as_ref().map_err(Clone::clone).and_then(|table| {
            let (x, sigma) = Roles::of_points(table, &asked.table)?;
            let columns = responses(table, asked, &x, sigma)?;
            Ok((table, columns, x, sigma))
        });
        match chosen {
            Err(refusal) => {
                models.push(None);
                let file = name(&asked.files[i]);
                entries.push(Some(Entry { file, column: String::new(), outcome: Err(refusal) }));
            }
            Ok((table, columns, x, sigma)) => {
                let mut model = Model::new(&asked.model, table, &x, &columns)?;
                model.curve = model.curve.cancel_token(token.clone());
                models.push(Some(model));
                for y in columns {
                    let roles = Roles { x: x.clone(), y, sigma };
                    tasks.push((entries.len(), Task { table: i, roles }));
                    entries.push(None);
                }
            }
        }
    }
    let count = counting(tasks.len());
    shared::ready();
    let made: Vec<(usize, Entry)> = tasks
        .par_iter()
        .filter_map(|(at, task)| {
            let (table, model) = (tables[task.table].as_ref().ok()?, models[task.table].as_ref()?);
            let entry = fitted(task, table, model, asked);
            count();
            Some((*at, entry))
        })
        .collect();
    drop(count);
    clear_progress();
    for (at, entry) in made {
        entries[at] = Some(entry);
    }
    let entries: Vec<Entry> = entries.into_iter().flatten().collect();
    // If there is not one fit the first reason is what the user has to know.
    if entries.iter().all(|entry| entry.outcome.is_err())
        && let Some(Entry { outcome: Err(refusal), .. }) = entries.first()
    {
        return Err(refusal.clone());
    }
    let Some(model) = models.iter().flatten().next() else { return Ok(DONE) };
    let results = Results { model, entries: &entries, seconds: begun.elapsed().as_secs_f64() };
    if let Some(path) = &asked.out {
        let csv = || results.csv().map_err(|why| Refusal::unwritten(path, &why.into()));
        put(path, &if is_json { results.document().into_bytes() } else { csv()? })?;
    }
    match asked.json {
        true => print(&results.document())?,
        false if on_stdout => explain(&results.table(asked.out.as_deref())),
        false => print(&results.table(asked.out.as_deref()))?,
    }
    Ok(if results.converged() == entries.len() { DONE } else { NOT_CONVERGED })
}

fn name(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// The columns that are fitted, each once.
fn responses(
    table: &Table,
    asked: &BatchArguments,
    x: &[usize],
    sigma: Option<usize>,
) -> Outcome<Vec<usize>> {
    let free = |column: &usize| !x.contains(column) && sigma != Some(*column);
    if asked.y.is_empty() && asked.files.len() > 1 {
        return Ok(vec![Roles::choose(table, &asked.table, None)?.y]);
    }
    let mut columns: Vec<usize> = Vec::new();
    let all = [String::from("*")];
    let patterns = if asked.y.is_empty() { &all[..] } else { &asked.y };
    for pattern in patterns {
        let found = table.find_matching(pattern)?;
        // Of a pattern that matches x, as `*`, x is not meant.
        let named = !pattern.contains(['*', '?']);
        columns.extend(found.into_iter().filter(|column| named || free(column)));
    }
    let mut seen = Vec::new();
    columns.retain(|column| !seen.contains(column) && (seen.push(*column), true).1);
    match columns.is_empty() {
        false => Ok(columns),
        true => Err(Refusal::usage(format!(
            "{}: no column is left for y; is the --delimiter right?",
            table.name
        ))),
    }
}

fn fitted(task: &Task, table: &Table, model: &Model, asked: &BatchArguments) -> Entry {
    let outcome = Points::take(table, task.roles.clone(), &asked.table).and_then(|points| {
        let fit = points.data().and_then(|data| model.curve.fit(data, model.start()));
        fit.map_err(|why| refused_at(&why, &points))
    });
    Entry { file: table.name.clone(), column: table.called(task.roles.y), outcome }
}
