//! The picture of a fit: points, curve, band and residuals.

use crate::points::{Points, Roles};
use crate::refusal::{FILE, Outcome, Refusal};
use crate::said::refused;
use crate::table::Table;
use dualfit::plot::FitPlot;
use dualfit::{Error, Fit, PlotError};
use std::path::Path;

/// Refuses a file of which the name says no kind of picture, before a long fit.
pub(crate) fn check(path: &Path) -> Outcome<()> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match extension.to_lowercase().as_str() {
        "svg" | "png" => Ok(()),
        _ => Err(Refusal::usage(format!(
            "--plot {}: the name says the kind of picture, so it ends in .svg or .png",
            path.display()
        ))),
    }
}

/// Axes are called as the columns are.
pub(crate) fn write(
    path: &Path,
    table: &Table,
    roles: &Roles,
    points: &Points,
    fit: &Fit,
    band: Option<f64>,
) -> Outcome<()> {
    let data = points.data().map_err(|why| refused(&why))?;
    let x = roles.x.first().map_or_else(String::new, |&column| table.called(column));
    let mut plot = FitPlot::new(fit, &data).x_label(&x).y_label(&table.called(roles.y));
    plot = plot.residuals(true);
    if let Some(level) = band {
        plot = plot.band(level);
    }
    plot.save(path).map_err(|why| match &why {
        Error::Plot(PlotError::NotWritten { message, .. }) => Refusal {
            message: format!("{}: cannot be written: {message}", path.display()),
            code: FILE,
        },
        _ => Refusal::usage(format!("--plot {}: {}", path.display(), refused(&why).message)),
    })
}
