//! Output files of a fit: the plot, and the fitted points with the values of the model.

use crate::arguments::FitArguments;
use crate::deviation::Deviation;
use crate::output::{is_stdout, put, put_table};
use crate::points::Points;
use crate::refusal::{Outcome, Refusal};
use dualfit::Fit;
use dualfit_plot::{FitPlot, PlotError, SetsPlot};
use std::path::Path;

/// Draws points, curve, band and residuals. The axes have the names of the columns.
pub(crate) fn picture(
    path: &Path,
    points: &Points<'_>,
    fit: &Fit,
    asked: &FitArguments,
) -> Outcome<()> {
    let Points { table, roles, .. } = points;
    let data = points.data()?;
    let x = roles.inputs.x.first().map_or_else(String::new, |&column| table.called(column));
    let mut plot = FitPlot::new(fit, &data).x_label(&x).y_label(&table.called(roles.y));
    plot = plot.residuals(true).log_x(asked.log_x).log_y(asked.log_y);
    plot = plot.components(asked.components);
    if let Some(level) = asked.band {
        plot = plot.band(level);
    }
    match is_stdout(path) {
        true => put(path, plot.to_svg().map_err(|why| undrawn("--plot", path, why))?.as_bytes()),
        false => plot.save(path).map_err(|why| undrawn("--plot", path, why)),
    }
}

/// Draws points, curve, band and residuals of each group in one chart. `by`: name of the column of the groups. `fits`:
/// label, points and fit of each group.
pub(crate) fn picture_of_groups(
    path: &Path,
    by: &str,
    fits: &[(&str, &Points<'_>, &Fit)],
    asked: &FitArguments,
) -> Outcome<()> {
    let mut plot = SetsPlot::new().residuals(true).log_x(asked.log_x).log_y(asked.log_y);
    if let Some((_, Points { table, roles, .. }, _)) = fits.first() {
        let x = roles.inputs.x.first().map_or_else(String::new, |&column| table.called(column));
        plot = plot.x_label(&x).y_label(&table.called(roles.y));
    }
    if let Some(level) = asked.band {
        plot = plot.band(level);
    }
    for (label, points, fit) in fits {
        // A label such as 3 needs the name of its column.
        let name = match label.parse::<f64>() {
            Ok(_) => format!("{by} {label}"),
            Err(_) => (*label).to_owned(),
        };
        plot = plot.set(&name, fit, points.data()?);
    }
    match is_stdout(path) {
        true => put(path, plot.to_svg().map_err(|why| undrawn("--plot", path, why))?.as_bytes()),
        false => plot.save(path).map_err(|why| undrawn("--plot", path, why)),
    }
}

/// Converts an error of a picture. `option`: the option that requested it.
pub(crate) fn undrawn(option: &str, path: &Path, why: PlotError) -> Refusal {
    match why {
        PlotError::NotWritten { message, .. } => {
            Refusal::file(format!("{}: cannot be written: {message}", path.display()))
        }
        PlotError::NotPositive { axis, value, .. } => Refusal::usage(format!(
            "{option} {}: {axis} is {value}, which a logarithmic axis cannot show; leave out --log-{axis}, or exclude the row with --range",
            path.display()
        )),
        PlotError::Columns { columns } => Refusal::usage(format!(
            "{option} {}: it draws models of one x, but --x names {columns}; leave out --plot, and use --residuals",
            path.display()
        )),
        PlotError::Fit(why) => {
            Refusal::usage(format!("{option} {}: {}", path.display(), Refusal::from(why).message))
        }
        why => Refusal::usage(format!("{option} {}: {why}", path.display())),
    }
}

/// Writes CSV with a row per point: independent variables, y, sigma if there is one, the model's value, and the
/// residual (y minus that value). Limits of the confidence band follow if its level is given, and components of a sum
/// if requested.
pub(crate) fn residuals(
    path: &Path,
    points: &Points<'_>,
    fit: &Fit,
    asked: &FitArguments,
) -> Outcome<()> {
    let Points { roles, .. } = points;
    let x = || points.x.iter().map(Vec::as_slice).collect::<Vec<&[f64]>>();
    let (model, residuals) = (fit.predict(x())?, fit.residuals(&points.data()?)?);
    let band = asked.band.map(|level| fit.confidence_band(x(), level)).transpose()?;
    let components = if asked.components { fit.components(x())? } else { Vec::new() };

    let name = |column: usize, what: &str| match points.table.has_name(column) {
        true => points.table.names[column].clone(),
        false => what.to_owned(),
    };
    let mut columns: Vec<(String, &[f64])> = roles
        .inputs
        .x
        .iter()
        .zip(x())
        .map(|(&column, values)| (name(column, "x"), values))
        .collect();
    columns.push((name(roles.y, "y"), &points.y));
    let sigma = roles.inputs.sigma.and_then(Deviation::column);
    if let (Some(column), Some(sigma)) = (sigma, &points.sigma) {
        columns.push((name(column, "sigma"), sigma));
    }
    columns.extend([("model".into(), &model[..]), ("residual".into(), &residuals)]);
    if let Some(band) = &band {
        columns.push(("band_lower".into(), &band.lower));
        columns.push(("band_upper".into(), &band.upper));
    }
    for component in &components {
        let name = component.name.trim_end_matches('_');
        columns.push((format!("component_{name}"), &component.values));
    }
    let header: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let row = |row: usize| columns.iter().map(|(_, values)| format!("{:?}", values[row])).collect();
    put_table(path, &header, (0..points.y.len()).map(row))
}
