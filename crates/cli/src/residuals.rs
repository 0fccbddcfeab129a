//! The fitted points with what the model says of them, as CSV.

use crate::output::put;
use crate::points::{Points, Roles};
use crate::refusal::{Outcome, Refusal};
use crate::said::refused;
use crate::table::Table;
use csv::Writer;
use dualfit::Fit;
use std::path::Path;

/// One row per point: its independent variables, y, sigma if there is one, the model's value, the
/// residual, y minus that value, and the ends of the curve's confidence band if its level is given.
pub(crate) fn write(
    path: &Path,
    table: &Table,
    roles: &Roles,
    points: &Points,
    fit: &Fit,
    band: Option<f64>,
) -> Outcome<()> {
    let x = || points.x.iter().map(Vec::as_slice).collect::<Vec<&[f64]>>();
    let model = fit.predict(x()).map_err(|why| refused(&why))?;
    let band = band.map(|level| fit.confidence_band(x(), level)).transpose();
    let band = band.map_err(|why| refused(&why))?;
    let residuals = points.data().and_then(|data| fit.residuals(&data));
    let residuals = residuals.map_err(|why| refused(&why))?;

    let mut header: Vec<String> = roles.x.iter().map(|&column| name(table, column, "x")).collect();
    let mut columns = x();
    let mut add = |name: String, values| {
        header.push(name);
        columns.push(values);
    };
    add(name(table, roles.y, "y"), &points.y);
    if let (Some(column), Some(sigma)) = (roles.sigma, &points.sigma) {
        add(name(table, column, "sigma"), sigma);
    }
    add("model".into(), &model);
    add("residual".into(), &residuals);
    if let Some(band) = &band {
        add("band_lower".into(), &band.lower);
        add("band_upper".into(), &band.upper);
    }
    table_of(path, &header, &columns)
}

/// A column's name, or what it is where it has none.
fn name(table: &Table, column: usize, what: &str) -> String {
    match table.names().get(column) {
        Some(name) if *name != (column + 1).to_string() => name.clone(),
        _ => what.to_owned(),
    }
}

/// Writes columns of one length under their names.
fn table_of(path: &Path, header: &[String], columns: &[&[f64]]) -> Outcome<()> {
    let unwritten = |why: csv::Error| Refusal::unwritten(path, &why.into());
    let mut table = Writer::from_writer(Vec::new());
    table.write_record(header).map_err(unwritten)?;
    for row in 0..columns.first().map_or(0, |column| column.len()) {
        let fields = columns.iter().map(|column| format!("{:?}", column[row]));
        table.write_record(fields).map_err(unwritten)?;
    }
    let bytes = table.into_inner().map_err(|why| Refusal::unwritten(path, why.error()))?;
    put(path, &bytes)
}
