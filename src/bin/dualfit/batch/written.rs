//! The file with the results of a batch: CSV with a row per fit, or JSON.

use super::Entry;
use super::results::Results;
use crate::json::printed;
use crate::output::{is_stdout, put};
use crate::refusal::{Outcome, Refusal};
use csv::Writer;
use std::path::Path;

/// Whether the results can be written in the format that the file's name says.
pub(super) fn check(path: &Path) -> Outcome<()> {
    match extension(path).as_str() {
        "csv" | "json" => Ok(()),
        _ if is_stdout(path) => Ok(()),
        _ => Err(Refusal::usage(format!(
            "--out {}: the name says the format, so it ends in .csv or .json",
            path.display()
        ))),
    }
}

pub(super) fn write(path: &Path, results: &Results<'_>) -> Outcome<()> {
    match extension(path).as_str() {
        "json" => put(path, printed(&results.document())?.as_bytes()),
        _ => put(path, &rows(results).map_err(|why| Refusal::unwritten(path, &why.into()))?),
    }
}

fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase()
}

fn rows(results: &Results<'_>) -> csv::Result<Vec<u8>> {
    let names = results.model.curve.parameters();
    let mut table = Writer::from_writer(Vec::new());
    let mut header = ["file", "y", "converged"].map(String::from).to_vec();
    for name in names {
        header.extend([name.clone(), format!("{name}_error")]);
    }
    header.extend(
        ["points", "chi_square", "reduced_chi_square", "r_squared", "message"].map(String::from),
    );
    table.write_record(&header)?;
    for entry in results.entries {
        table.write_record(row(entry, names.len()))?;
    }
    table.into_inner().map_err(|why| why.into_error().into())
}

/// Empty fields where there is no number.
fn row(entry: &Entry, parameters: usize) -> Vec<String> {
    let number = |value: f64| if value.is_nan() { String::new() } else { format!("{value:?}") };
    let optional = |value: Option<f64>| value.map_or_else(String::new, number);
    let mut row = vec![entry.file.clone(), entry.column.clone(), entry.converged().to_string()];
    match &entry.outcome {
        Err(refusal) => {
            row.resize(row.len() + 2 * parameters + 4, String::new());
            row.push(refusal.message.clone());
        }
        Ok(fit) => {
            for (value, error) in fit.params().iter().zip(fit.std_errors()) {
                row.extend([number(*value), number(error)]);
            }
            row.extend([fit.points().to_string(), number(fit.chi_square())]);
            row.extend([optional(fit.reduced_chi_square()), optional(fit.r_squared())]);
            row.push(fit.termination().to_string());
        }
    }
    row
}
