//! What peaks stand on: a constant, a straight line.

use crate::data::observations::Observations;
use crate::models::definition::{Definition, any};

/// The same value everywhere.
pub(crate) static CONSTANT: Definition = Definition {
    name: "constant",
    variables: &["x"],
    formula: "c",
    parameters: &[any("c")],
    derived: &[],
    estimate: |points| vec![mean(&points.y)],
};

/// A straight line.
pub(crate) static LINEAR: Definition = Definition {
    name: "linear",
    variables: &["x"],
    formula: "slope*x + intercept",
    parameters: &[any("slope"), any("intercept")],
    derived: &[],
    estimate: line,
};

fn mean(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    values.iter().map(|v| v / count).sum()
}

/// Slope and intercept of the line of least squares; a level one if all x are equal.
fn line(points: &Observations) -> Vec<f64> {
    let (x, y) = (mean(points.x()), mean(&points.y));
    let about = |(a, b): (&f64, &f64)| ((a - x) * (b - y), (a - x) * (a - x));
    let (products, squares) = points
        .x()
        .iter()
        .zip(&points.y)
        .map(about)
        .fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    vec![slope, y - slope * x]
}
