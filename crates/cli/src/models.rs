//! `dualfit models`: the models of the library, and what there is to know of one.

use crate::output::{TITLE, print, styled};
use crate::refusal::refused;
use crate::refusal::{DONE, Outcome};
use crate::words::significant;
use dualfit::models;

/// The model that needs a degree, of which no list has a formula.
const POLYNOMIAL: [&str; 2] = ["polynomial(n)", "c0 + c1*x + … + cn*x^n"];

pub(crate) fn run(asked: Option<&str>) -> Outcome<u8> {
    print(&match asked {
        None => list()?,
        Some(text) => shown(text)?,
    })?;
    Ok(DONE)
}

fn list() -> Outcome<String> {
    let mut text = String::new();
    let mut rows = vec![POLYNOMIAL.map(String::from)];
    for name in models::names() {
        let formula = models::by_name(name).and_then(|model| model.formula());
        rows.push([name.into(), formula.map_err(|why| refused(&why))?]);
    }
    rows.sort();
    let width = rows.iter().map(|[name, _]| name.chars().count()).max().unwrap_or_default();
    for [name, formula] in &rows {
        text += &format!("{}  {formula}\n", styled(TITLE, format!("{name:width$}")));
    }
    text += "\nThey add, subtract, multiply, divide and nest, with prefixes for their parameters:\n\
             \"gaussian(g1_) + gaussian(g2_) + linear(bg_)\". `dualfit models NAME` shows one.\n";
    Ok(text)
}

fn shown(text: &str) -> Outcome<String> {
    let model = models::parse(text).map_err(|why| refused(&why))?;
    let formula = model.formula().map_err(|why| refused(&why))?;
    let mut said =
        format!("{} over {}\n  {formula}\n", styled(TITLE, &model), model.variables().join(", "));
    let bounds = model.bounds().into_iter().map(|(low, high)| range(low, high));
    let parameters = model.parameters().into_iter().zip(bounds).collect();
    for (title, rows) in [("parameters", parameters), ("derived", model.derived())] {
        let rows: Vec<(String, String)> = rows;
        let width = rows.iter().map(|(name, _)| name.chars().count()).max();
        if let Some(width) = width {
            said += &format!("\n{}\n", styled(TITLE, title));
            for (name, about) in rows {
                said += &format!("  {name:width$}  {about}\n");
            }
        }
    }
    Ok(said)
}

/// The range of a parameter in words; the least positive number stands for everything above 0.
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
