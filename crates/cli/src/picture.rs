//! The picture of a fit: points, curve, band and residuals.

use crate::output::{extension, is_stdout, put};
use crate::points::{Points, Roles};
use crate::refusal::{FILE, Outcome, Refusal};
use crate::said::refused;
use crate::table::Table;
use dualfit::plot::FitPlot;
use dualfit::{Error, Fit, PlotError};
use std::path::Path;

/// Refuses a file of which the name says no kind of picture, before a long fit.
pub(crate) fn check(path: &Path) -> Outcome<()> {
    if is_stdout(path) {
        return Ok(());
    }
    match extension(path).as_str() {
        "svg" | "png" => Ok(()),
        _ => Err(Refusal::usage(format!(
            "--plot {}: the name says the kind of picture, so it ends in .svg or .png",
            path.display()
        ))),
    }
}

/// What is drawn, and how.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// The probability of the confidence band.
    pub(crate) band: Option<f64>,
    /// Whether the horizontal axis is logarithmic.
    pub(crate) log_x: bool,
    /// Whether the vertical one is.
    pub(crate) log_y: bool,
}

/// Axes are called as the columns are.
pub(crate) fn write(
    path: &Path,
    table: &Table,
    roles: &Roles,
    points: &Points,
    fit: &Fit,
    look: Look,
) -> Outcome<()> {
    let data = points.data().map_err(|why| refused(&why))?;
    let x = roles.x.first().map_or_else(String::new, |&column| table.called(column));
    let mut plot = FitPlot::new(fit, &data).x_label(&x).y_label(&table.called(roles.y));
    plot = plot.residuals(true).log_x(look.log_x).log_y(look.log_y);
    if let Some(level) = look.band {
        plot = plot.band(level);
    }
    let saved = match is_stdout(path) {
        true => plot.to_svg().map(Some),
        false => plot.save(path).map(|()| None),
    };
    let on_stdout = saved.map_err(|why| match &why {
        Error::Plot(PlotError::NotWritten { message, .. }) => Refusal {
            message: format!("{}: cannot be written: {message}", path.display()),
            code: FILE,
        },
        _ => Refusal::usage(format!("--plot {}: {}", path.display(), refused(&why).message)),
    })?;
    on_stdout.map_or(Ok(()), |svg| put(path, svg.as_bytes()))
}
