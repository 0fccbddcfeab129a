//! What grows: without limit, by a power, and towards a capacity.

use crate::data::observations::Observations;
use crate::models::definition::{Definition, any, positive};
use crate::models::estimate::projection::{Axis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;

/// Grows by the factor e with every 1/`rate` of x.
pub(crate) static GROWTH: Definition = Definition {
    name: "growth",
    variables: &["x"],
    formula: "amplitude*exp(rate*x)",
    parameters: &[any("amplitude"), any("rate")],
    derived: &[("doubling", "ln(2)/rate")],
    estimate: unlimited,
};

/// A power of x, a straight line where both axes are logarithmic; for x > 0.
pub(crate) static POWER_LAW: Definition = Definition {
    name: "power_law",
    variables: &["x"],
    formula: "amplitude*x^exponent",
    parameters: &[any("amplitude"), any("exponent")],
    derived: &[("doubling_factor", "2^exponent")],
    estimate: power,
};

/// Verhulst's function: growth in proportion to what is there and to what is missing.
pub(crate) static LOGISTIC_GROWTH: Definition = Definition {
    name: "logistic_growth",
    variables: &["x"],
    formula: "capacity/(1 + exp(-rate*(x - midpoint)))",
    parameters: &[any("capacity"), any("rate"), any("midpoint")],
    derived: &[
        ("max_slope", "capacity*rate/4"),
        ("doubling", "ln(2)/rate"),
        ("at_zero", "capacity/(1 + exp(rate*midpoint))"),
    ],
    estimate: |points| sigmoid(points, |u| 1.0 / (1.0 + (-u).exp())),
};

/// Gompertz' function: growth whose rate itself fades.
pub(crate) static GOMPERTZ: Definition = Definition {
    name: "gompertz",
    variables: &["x"],
    formula: "capacity*exp(-exp(-rate*(x - midpoint)))",
    parameters: &[any("capacity"), any("rate"), any("midpoint")],
    derived: &[
        ("max_slope", "capacity*rate/e"),
        ("lag", "midpoint - 1/rate"),
        ("at_zero", "capacity*exp(-exp(rate*midpoint))"),
    ],
    estimate: |points| sigmoid(points, |u| (-(-u).exp()).exp()),
};

/// The cumulative distribution of Weibull times a capacity; for x >= 0.
pub(crate) static WEIBULL: Definition = Definition {
    name: "weibull",
    variables: &["x"],
    formula: "-capacity*expm1(-(x/scale)^shape)",
    parameters: &[any("capacity"), positive("scale"), positive("shape")],
    derived: &[("half", "scale*ln(2)^(1/shape)"), ("mean", "scale*exp(ln_gamma(1 + 1/shape))")],
    estimate: weibull,
};

fn unlimited(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let (low, high) = sketch.ends();
    let found = [1.0, -1.0].map(|sign| {
        let rates = Axis::logarithmic(1e-2 / sketch.width(), 300.0 / sketch.width(), 60);
        // Of size 1 where it is largest.
        let origin = if sign > 0.0 { high } else { low };
        let mut found = search(&sketch, [rates], 1, |&[rate], x, out| {
            out[0] = (sign * rate * (x - origin)).exp();
        });
        found.at[0] *= sign;
        found.factors[0] *= (-found.at[0] * origin).exp();
        found
    });
    let [rising, falling] = found;
    let found = rising.or(falling);
    tame([found.factors[0] * sketch.y_unit, found.at[0] / sketch.x_unit])
}

/// Amplitude and exponent of a power of x.
pub(super) fn power(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of_positive(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let found = search(&sketch, [Axis::linear(-10.0, 10.0, 161)], 1, |&[exponent], x, out| {
        // Of size 1 where it is largest.
        let origin = if exponent > 0.0 { high } else { low };
        out[0] = (x / origin).powf(exponent);
    });
    let exponent = found.at[0];
    let origin = if exponent > 0.0 { high } else { low } * sketch.x_unit;
    tame([found.factors[0] * sketch.y_unit * origin.powf(-exponent), exponent])
}

/// Capacity, rate and midpoint of a step `shape((x - midpoint)*rate)` that goes from 0 to 1.
fn sigmoid(points: &Observations, shape: fn(f64) -> f64) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let ((low, high), width) = (sketch.ends(), sketch.width());
    let midpoints = Axis::linear(low - 0.5 * width, high + 0.5 * width, 41);
    let rates = Axis::logarithmic(0.5 / width, 300.0 / width, 24);
    let [rising, falling] = [1.0, -1.0].map(|sign| {
        let mut found = search(&sketch, [midpoints, rates], 1, |&[midpoint, rate], x, out| {
            out[0] = shape(sign * rate * (x - midpoint));
        });
        found.at[1] *= sign;
        found
    });
    let found = rising.or(falling);
    let [midpoint, rate] = found.at;
    tame([found.factors[0] * sketch.y_unit, rate / sketch.x_unit, midpoint * sketch.x_unit])
}

fn weibull(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let axes = [Axis::logarithmic(0.1 * low, 10.0 * high, 40), Axis::logarithmic(0.1, 20.0, 24)];
    let found = search(&sketch, axes, 1, |&[scale, shape], x, out| {
        out[0] = -(-(x / scale).powf(shape)).exp_m1();
    });
    let [scale, shape] = found.at;
    tame([found.factors[0] * sketch.y_unit, scale * sketch.x_unit, shape])
}
