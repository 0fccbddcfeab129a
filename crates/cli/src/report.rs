//! Report of a fit: data and model, the library's report, and confidence intervals.

use crate::model::Model;
use crate::output::{BAD, DOUBTFUL, GOOD, TITLE, note, styled};
use crate::points::{Points, left_out};
use crate::refusal::{Outcome, in_our_words};
use crate::words::{aligned, counted, on_a_line, percent, significant};
use dualfit::error::UncertaintyError;
use dualfit::{CurveFit, Data, Error, Fit};

/// Returns two lines: the data and the model.
pub(crate) fn heading(points: &Points<'_>, model: &Model) -> String {
    let Points { table, roles, .. } = points;
    let x: Vec<String> = roles.inputs.x.iter().map(|&column| table.called(column)).collect();
    let mut data = format!(
        "{}: {} over {}, {}",
        table.name,
        table.called(roles.y),
        x.join(" and "),
        counted(points.y.len(), "point")
    );
    if let Some(sigma) = roles.inputs.sigma {
        data += &format!(", sigma {}", sigma.said(table));
    }
    if points.has_covariance() {
        data += ", with a covariance matrix";
    }
    if !roles.inputs.x_sigma.is_empty() {
        let said = roles.inputs.x_sigma.iter().map(|sigma| sigma.said(table));
        data += &format!(", sigma of x {}", said.collect::<Vec<_>>().join(" and "));
    }
    let left_out = left_out(points.missing, points.outside);
    if !left_out.is_empty() {
        data += &format!("; {left_out}");
    }
    format!("{data}\nmodel: {}\n", on_a_line(&model.text))
}

/// Returns the library's report with colours and a newline at the end.
pub(crate) fn coloured(fit: &Fit) -> String {
    let text = in_our_words(&fit.to_string());
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        lines.push(match line {
            _ if i == 0 => styled(if fit.converged() { GOOD } else { BAD }, line),
            _ if line.starts_with("parameter ") || line.starts_with("derived ") => {
                styled(TITLE, line)
            }
            _ if line.starts_with("warning:") => styled(DOUBTFUL, line),
            _ => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

/// Confidence intervals of the parameters.
pub(crate) struct Intervals {
    names: Vec<String>,
    pub(crate) level: f64,
    pub(crate) method: &'static str,
    /// Lower and upper limit of each parameter; NaN if a limit is not known.
    pub(crate) ends: Vec<(f64, f64)>,
}

impl Intervals {
    /// Computes intervals from the standard errors.
    pub(crate) fn new(fit: &Fit, level: f64) -> Outcome<Intervals> {
        let ends = fit.confidence_intervals(level)?;
        Ok(Intervals { names: fit.names().to_vec(), level, method: "standard errors", ends })
    }

    /// Computes intervals from the profile of each free parameter; intervals of other parameters are NaN.
    pub(crate) fn profiled(
        curve: &CurveFit,
        fit: &Fit,
        data: &Data<'_>,
        level: f64,
    ) -> dualfit::Result<Intervals> {
        let mut ends = Vec::new();
        for name in fit.names() {
            ends.push(match curve.profile_to(fit, data, name, level) {
                Err(Error::Uncertainty(UncertaintyError::NoProfile { .. })) => (f64::NAN, f64::NAN),
                Err(why) => return Err(why),
                Ok(profile) => match profile.better() {
                    None => profile.interval(level).map(|found| (found.lower, found.upper))?,
                    Some(better) => {
                        note(format!(
                            "the profile of {name} came upon a better minimum; fit again with --start {}",
                            start_of(better)
                        ));
                        (f64::NAN, f64::NAN)
                    }
                },
            });
        }
        Ok(Intervals { names: fit.names().to_vec(), level, method: "profiles", ends })
    }

    /// Formats the intervals as a table, with an empty line before it.
    pub(crate) fn table(&self) -> String {
        let Intervals { names, level, method, ends } = self;
        let titles = ["parameter", "from", "to"].map(String::from);
        let number = |value: f64| match value.is_nan() {
            true => String::from("-"),
            false => significant(value, 7),
        };
        let row = |(name, &(low, high)): (&String, &(f64, f64))| {
            vec![name.clone(), number(low), number(high)]
        };
        let rows: Vec<Vec<String>> = names.iter().zip(ends).map(row).collect();
        let mut text = format!("\n{} % confidence intervals, from {method}\n", percent(*level));
        for line in aligned(&titles, &rows) {
            text += &format!("{line}\n");
        }
        text
    }
}

/// Formats a fit's parameters in the syntax of `--start`.
pub(crate) fn start_of(fit: &Fit) -> String {
    let pairs = fit.names().iter().zip(fit.params());
    pairs.map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>().join(",")
}
