//! The computing part of the page "Fit in the browser": requests and replies are JSON texts.
//!
//! A `table` request describes a pasted table, a `models` request lists the library, and a `fit` request returns the
//! parameters, the picture and the code of a fit. The reply to a request that cannot be
//! fulfilled is `{"error": message}`. The page calls [`reply`] in a Web Worker through the functions of `exports`.

mod code;
pub mod exports;
mod fit;
mod model;

use dualfit::models;
use dualfit_io::{CsvOptions, Table};
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;

/// Number of rows that a description of a table contains.
const PREVIEW_ROWS: usize = 5;

#[derive(Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Describe a table. `name` is the file's name.
    Table { text: String, name: String },
    /// List the models of the library with one independent variable.
    Models,
    /// Fit a model to columns of a table.
    Fit(fit::Fitting),
}

/// Returns the reply to a request. Both are JSON texts.
pub fn reply(request: &str) -> String {
    let found = serde_json::from_str(request).map_err(Box::from).and_then(result);
    found.unwrap_or_else(|why: Box<dyn Error>| json!({ "error": why.to_string() })).to_string()
}

fn result(request: Request) -> Result<Value, Box<dyn Error>> {
    match request {
        Request::Table { text, name } => table(&read(&text, &name)?),
        Request::Models => library(),
        Request::Fit(fitting) => fitting.run(),
    }
}

/// Reads a pasted table; the layout is detected.
fn read(text: &str, name: &str) -> Result<Table, Box<dyn Error>> {
    if text.trim().is_empty() {
        return Err("the table is empty; paste rows of numbers".into());
    }
    Ok(Table::from_reader(name, text.as_bytes(), CsvOptions::detected())?)
}

/// Returns names and first rows of the columns.
fn table(table: &Table) -> Result<Value, Box<dyn Error>> {
    let columns = (0..table.names().len()).map(|column| {
        let words = table.words(column)?;
        let first: Vec<_> = words.iter().take(PREVIEW_ROWS).collect();
        Ok(json!({ "name": called(table, column), "rows": words.len(), "first": first }))
    });
    Ok(json!({ "columns": columns.collect::<dualfit_io::Result<Vec<_>>>()? }))
}

/// Returns a column's name for axes and lists: `column 1` if it has no name.
fn called(table: &Table, column: usize) -> String {
    match table.has_names() {
        true => table.names()[column].clone(),
        false => format!("column {}", column + 1),
    }
}

fn library() -> Result<Value, Box<dyn Error>> {
    let mut listed = Vec::new();
    for name in models::names() {
        let model = models::by_name(name)?;
        if model.variables().len() == 1 {
            listed.push(json!({ "name": name, "formula": model.formula()? }));
        }
    }
    Ok(json!({ "models": listed }))
}
