//! Binding and turnover that fill up: enzymes and surfaces.

use super::growth::power;
use crate::data::observations::Observations;
use crate::models::definition::{Definition, any, positive};
use crate::models::estimate::projection::{Axis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;

/// The speed of an enzyme over the concentration of its substrate.
pub(crate) static MICHAELIS_MENTEN: Definition = Definition {
    name: "michaelis_menten",
    variables: &["x"],
    formula: "vmax*x/(km + x)",
    parameters: &[any("vmax"), positive("km")],
    derived: &[("initial_slope", "vmax/km"), ("x90", "9*km")],
    estimate: |points| {
        let [vmax, km] = filling(points);
        tame([vmax, km])
    },
};

/// What one layer of a surface holds over the pressure or the concentration above it.
pub(crate) static LANGMUIR: Definition = Definition {
    name: "langmuir",
    variables: &["x"],
    formula: "qmax*affinity*x/(1 + affinity*x)",
    parameters: &[any("qmax"), positive("affinity")],
    derived: &[("initial_slope", "qmax*affinity"), ("half", "1/affinity")],
    estimate: |points| {
        let [qmax, half] = filling(points);
        tame([qmax, 1.0 / half])
    },
};

/// What an uneven surface holds: a power of the concentration; for x >= 0.
pub(crate) static FREUNDLICH: Definition = Definition {
    name: "freundlich",
    variables: &["x"],
    formula: "capacity*x^(1/n)",
    parameters: &[any("capacity"), positive("n")],
    derived: &[("exponent", "1/n")],
    estimate: uneven,
};

/// The level of saturation and the x of half of it.
fn filling(points: &Observations) -> [f64; 2] {
    let sketch = Sketch::of(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let halves = Axis::logarithmic(1e-2 * low, 1e2 * high, 100);
    let found = search(&sketch, [halves], 1, |&[half], x, out| out[0] = x / (half + x));
    [found.factors[0] * sketch.y_unit, found.at[0] * sketch.x_unit]
}

fn uneven(points: &Observations) -> Vec<f64> {
    let law = power(points);
    let &[capacity, exponent] = law.as_slice() else { return tame([1.0, 1.0]) };
    tame([capacity, 1.0 / exponent.max(1e-3)])
}
