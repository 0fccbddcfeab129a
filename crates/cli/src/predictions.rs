//! `--at`: the fitted curve at new x, with standard errors, confidence intervals of the curve and prediction intervals
//! of new observations. Points outside the fitted ones are marked.

use crate::arguments::TableArguments;
use crate::arguments::analyses::AtArguments;
use crate::arguments::words::number;
use crate::output::{note, put_table};
use crate::points::Points;
use crate::refusal::{Outcome, Refusal};
use crate::table::Table;
use crate::words::{aligned, counted, percent, significant, visible};
use dualfit::error::UncertaintyError;
use dualfit::result::{Band, NewPoint};
use dualfit::{Error, Fit};
use serde_json::{Value, json};
use std::path::Path;

/// Default level of the intervals.
const LEVEL: f64 = 0.95;
/// Maximum number of rows on the terminal if all rows are also written to a file.
const MOST_ROWS: usize = 20;

/// The requested points and intervals.
pub(crate) struct At {
    /// Name and values of each independent variable.
    variables: Vec<(String, Vec<f64>)>,
    level: f64,
    /// Standard deviation of new observations, if it was given.
    sigma: Option<f64>,
}

impl At {
    /// Resolves the options; `None` without `--at`. `x`: columns of the independent variables of `table`.
    pub(crate) fn read(
        asked: &AtArguments,
        level: Option<f64>,
        text: &TableArguments,
        table: &Table,
        x: &[usize],
    ) -> Outcome<Option<At>> {
        let Some(at) = &asked.at else { return Ok(None) };
        let values = match numbers(at) {
            Some(points) => of_numbers(at, &points, x.len())?,
            None if at == "-" || Path::new(at).exists() => of_file(at, text, table, x)?,
            None => {
                return Err(Refusal::usage(format!(
                    "--at {at}: it is neither finite numbers, such as 0,5,10, nor a file with columns of x"
                )));
            }
        };
        if let Some(sigma) = asked.at_sigma.filter(|sigma| !(*sigma > 0.0 && sigma.is_finite())) {
            return Err(Refusal::usage(format!(
                "--at-sigma {sigma}: a standard deviation is positive and finite"
            )));
        }
        let names = x.iter().map(|&column| table.called(column));
        let variables = names.zip(values).collect();
        Ok(Some(At { variables, level: level.unwrap_or(LEVEL), sigma: asked.at_sigma }))
    }

    /// Predicts with a fit to `points`.
    pub(crate) fn predict(&self, fit: &Fit, points: &Points<'_>) -> Outcome<Predictions<'_>> {
        let x = || self.variables.iter().map(|(_, x)| x.as_slice()).collect::<Vec<&[f64]>>();
        let curve = fit.confidence_band(x(), self.level)?;
        let new = self.sigma.map_or(NewPoint::Fitted, NewPoint::Constant);
        let (prediction, unknown) = match fit.prediction_band(x(), self.level, new) {
            Ok(band) => (Some(band), None),
            Err(Error::Uncertainty(UncertaintyError::NewPointUnknown { reason, .. })) => {
                (None, Some(reason))
            }
            Err(why) => return Err(why.into()),
        };
        let mut outside = vec![false; curve.center.len()];
        for ((_, x), fitted) in self.variables.iter().zip(&points.x) {
            let low = fitted.iter().copied().fold(f64::INFINITY, f64::min);
            let high = fitted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (outside, x) in outside.iter_mut().zip(x) {
                *outside |= !(low..=high).contains(x);
            }
        }
        Ok(Predictions { at: self, curve, prediction, unknown, outside })
    }
}

/// Parses points separated by commas, each with one number per variable, separated by colons: `0,5,10` or `1:2,3:4`.
/// Returns `None` if the text does not consist of numbers.
fn numbers(text: &str) -> Option<Vec<Vec<f64>>> {
    let point = |point: &str| point.split(':').map(|value| number(value).ok()).collect();
    text.split(',').map(point).collect()
}

/// Returns the values of each of `count` variables.
fn of_numbers(text: &str, points: &[Vec<f64>], count: usize) -> Outcome<Vec<Vec<f64>>> {
    match points.iter().find(|point| point.len() != count) {
        None => Ok((0..count).map(|k| points.iter().map(|point| point[k]).collect()).collect()),
        Some(point) => Err(Refusal::usage(format!(
            "--at {text}: a point has {} for {}; write points as in --at {}",
            counted(point.len(), "value"),
            counted(count, "independent variable"),
            ["1:2,3:4", "0,5,10"][usize::from(count == 1)]
        ))),
    }
}

/// Reads the variables from a table: the columns with the names of x or, if one of the tables has no names, the first
/// columns.
fn of_file(
    path: &str,
    text: &TableArguments,
    table: &Table,
    x: &[usize],
) -> Outcome<Vec<Vec<f64>>> {
    let new = table.open_another(Path::new(path), text)?;
    let named = x.iter().all(|&column| table.has_name(column))
        && (0..new.names.len()).any(|column| new.has_name(column));
    let columns: Vec<usize> = match named {
        true => x.iter().map(|&column| new.find(&table.names[column])).collect::<Outcome<_>>()?,
        false if new.names.len() >= x.len() => (0..x.len()).collect(),
        false => {
            return Err(Refusal::usage(format!(
                "--at {path}: it has {} for {}",
                counted(new.names.len(), "column"),
                counted(x.len(), "independent variable")
            )));
        }
    };
    for (&column, &of_points) in columns.iter().zip(x) {
        if new.origin(column).is_some() || table.origin(of_points).is_some() {
            return Err(Refusal::usage(format!(
                "--at {path}: {} has dates or times, which are read as seconds since the first of a table; give seconds as numbers: --at 0,3600",
                table.called(of_points)
            )));
        }
    }
    let mut values = new.columns(&columns)?;
    let missing = |row: usize| columns.iter().zip(&values).find(|(_, x)| !x[row].is_finite());
    let rows = values[0].len();
    let complete: Vec<bool> = (0..rows).map(|row| missing(row).is_none()).collect();
    if let Some(row) = complete.iter().position(|complete| !complete)
        && !text.skip_missing
        && let Some((&column, _)) = missing(row)
    {
        let (place, called) = (new.place(row, column), new.called(column));
        return Err(Refusal::usage(format!(
            "{place}: {called} has no finite value; fill it in, or say --skip-missing"
        )));
    }
    for x in &mut values {
        let mut complete = complete.iter();
        x.retain(|_| complete.next().is_some_and(|complete| *complete));
    }
    Ok(values)
}

/// Predictions of one fit; one value per point in each array.
pub(crate) struct Predictions<'a> {
    at: &'a At,
    curve: Band,
    prediction: Option<Band>,
    /// Reason why there are no prediction intervals.
    unknown: Option<&'static str>,
    /// True for each point outside the range of a fitted variable.
    outside: Vec<bool>,
}

impl Predictions<'_> {
    /// Prints a note if there are no prediction intervals.
    pub(crate) fn note_what_is_unknown(&self) {
        if let Some(reason) = self.unknown {
            note(format!(
                "--at: there are no prediction intervals: {reason}; give the standard deviation of new observations with --at-sigma"
            ));
        }
    }

    /// Returns one row per point: x, the curve, its standard error, and the ends of the intervals.
    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let Predictions { at, curve, prediction, outside, .. } = self;
        (0..outside.len()).map(move |i| {
            let x = at.variables.iter().map(|(_, x)| format!("{}", x[i]));
            let center = [significant(curve.center[i], 7), significant(curve.std_errors[i], 3)];
            let bands = std::iter::once(curve).chain(prediction);
            let ends = bands.flat_map(|band| [band.lower[i], band.upper[i]]);
            let ends = ends.map(|end| significant(end, 5));
            let outside = if outside[i] { "outside the data" } else { "" };
            x.chain(center).chain(ends).chain([outside.to_owned()]).collect()
        })
    }

    /// Returns the entry `predictions` of the document.
    pub(crate) fn document(&self) -> Value {
        let Predictions { at, curve, prediction, outside, .. } = self;
        let point = |i: usize| {
            json!({
                "x": at.variables.iter().map(|(_, x)| x[i]).collect::<Vec<_>>(),
                "value": curve.center[i],
                "std_error": curve.std_errors[i],
                "confidence": [curve.lower[i], curve.upper[i]],
                "prediction": prediction.as_ref().map(|band| [band.lower[i], band.upper[i]]),
                "extrapolated": outside[i],
            })
        };
        json!({ "level": at.level, "points": (0..outside.len()).map(point).collect::<Value>() })
    }

    fn header(&self) -> Vec<String> {
        let x = self.at.variables.iter().map(|(name, _)| name.as_str());
        let values = ["model", "std_error", "confidence_lower", "confidence_upper"];
        let last = ["prediction_lower", "prediction_upper", "extrapolated"];
        x.chain(values).chain(last).map(String::from).collect()
    }

    fn records(&self) -> impl Iterator<Item = Vec<String>> {
        let Predictions { at, curve, prediction, outside, .. } = self;
        let number = |value: f64| if value.is_nan() { String::new() } else { format!("{value:?}") };
        (0..outside.len()).map(move |i| {
            let mut row: Vec<String> = at.variables.iter().map(|(_, x)| number(x[i])).collect();
            let values = [curve.center[i], curve.std_errors[i], curve.lower[i], curve.upper[i]];
            row.extend(values.map(number));
            row.extend(match prediction {
                Some(band) => [number(band.lower[i]), number(band.upper[i])],
                None => [String::new(), String::new()],
            });
            row.push(outside[i].to_string());
            row
        })
    }
}

/// Predictions of one fit, or of the fits of all groups.
pub(crate) struct Reported<'a> {
    /// Name of the column of the groups.
    pub(crate) by: Option<&'a str>,
    /// Predictions of each fit, with the label of its group.
    pub(crate) fits: Vec<(Option<&'a str>, &'a Predictions<'a>)>,
}

impl Reported<'_> {
    /// Formats the predictions as a table, with an empty line and a title before it. `file`: the file that receives all
    /// rows, if there is one.
    pub(crate) fn table(&self, file: Option<&Path>) -> String {
        let Some((_, first)) = self.fits.first() else { return String::new() };
        let x = first.at.variables.iter().map(|(name, _)| name.as_str());
        let mut titles: Vec<&str> = self.by.into_iter().chain(x).collect();
        titles.extend(["curve", "std. error", "curve from", "to"]);
        if first.prediction.is_some() {
            titles.extend(["observation from", "to"]);
        }
        titles.push("");
        let titles: Vec<String> = titles.into_iter().map(String::from).collect();
        let rows = self.fits.iter().flat_map(|(group, predictions)| {
            let group = group.map(|label| visible(label).into_owned());
            predictions.rows().map(move |row| group.clone().into_iter().chain(row).collect())
        });
        let mut rows: Vec<Vec<String>> = rows.collect();
        let all = rows.len();
        rows.truncate(file.map_or(all, |_| MOST_ROWS));
        let lines = aligned(&titles, &rows).join("\n");
        let more = match all - rows.len() {
            0 => String::new(),
            more => format!("and {more} more, all in the file\n"),
        };
        format!("\npredictions, {} % intervals\n{lines}\n{more}", percent(first.at.level))
    }

    /// Writes the predictions as CSV.
    pub(crate) fn write(&self, path: &Path) -> Outcome<()> {
        let header = self.fits.first().map(|(_, first)| first.header()).unwrap_or_default();
        let header: Vec<String> = self.by.map(String::from).into_iter().chain(header).collect();
        let rows = self.fits.iter().flat_map(|(group, predictions)| {
            let group = group.map(String::from);
            predictions.records().map(move |row| group.clone().into_iter().chain(row).collect())
        });
        put_table(path, &header, rows)
    }
}
