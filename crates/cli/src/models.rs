//! `dualfit models`: list of the library models, and description of one model.

use crate::output::{TITLE, print, styled};
use crate::refusal::{DONE, Outcome, misread};
use crate::words::significant;
use dualfit::models;

/// Library models that take numbers as arguments, with their formulas. `models::names` does not list them.
const OF_NUMBERS: [[&str; 2]; 2] = [
    ["polynomial(n)", "c0 + c1*x + … + cn*x^n"],
    ["spline(x0, …, xn)", "s0*B0(x) + … + sn*Bn(x), cubic B-splines with knots at x0, …, xn"],
];

pub(crate) fn run(asked: Option<&str>) -> Outcome<u8> {
    print(&match asked {
        None => list()?,
        Some(text) => shown(text)?,
    })?;
    Ok(DONE)
}

fn list() -> Outcome<String> {
    let mut rows: Vec<(String, String)> = OF_NUMBERS.map(|row| row.map(String::from).into()).into();
    for name in models::names() {
        rows.push((name.into(), models::by_name(name)?.formula()?));
    }
    rows.sort();
    let text = lines("", &rows, |name| styled(TITLE, name));
    Ok(text
        + "\nThey add, subtract, multiply, divide and nest, with prefixes for their parameters:\n\
           \"gaussian(g1_) + gaussian(g2_) + linear(bg_)\". `dualfit models NAME` shows one.\n")
}

fn shown(text: &str) -> Outcome<String> {
    let model = models::parse(text).map_err(|why| misread("dualfit models", &why))?;
    let (title, formula) = (styled(TITLE, &model), model.formula()?);
    let mut said = format!("{title} over {}\n  {formula}\n", model.variables().join(", "));
    let bounds = model.bounds().into_iter().map(|(low, high)| range(low, high));
    let parameters: Vec<_> = model.parameters().into_iter().zip(bounds).collect();
    for (title, rows) in [("parameters", parameters), ("derived", model.derived())] {
        if !rows.is_empty() {
            said += &format!("\n{}\n{}", styled(TITLE, title), lines("  ", &rows, |name| name));
        }
    }
    Ok(said)
}

/// Formats rows of a styled name and its description, one per line.
fn lines(before: &str, rows: &[(String, String)], style: impl Fn(String) -> String) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let line = |(name, about): &(String, String)| {
        format!("{before}{}  {about}\n", style(format!("{name:width$}")))
    };
    rows.iter().map(line).collect()
}

/// Describes the range of a parameter; a lower bound of `f64::MIN_POSITIVE` is shown as "above 0".
fn range(low: f64, high: f64) -> String {
    let number =
        |value: f64| if value == value.round() { value.to_string() } else { significant(value, 6) };
    match (low, high) {
        (f64::NEG_INFINITY, f64::INFINITY) => "any".into(),
        (f64::MIN_POSITIVE, f64::INFINITY) => "above 0".into(),
        (low, f64::INFINITY) => format!("{} or more", number(low)),
        (f64::NEG_INFINITY, high) => format!("{} or less", number(high)),
        (low, high) => format!("{} to {}", number(low), number(high)),
    }
}
