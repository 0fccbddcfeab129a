//! Saturation curves: enzyme kinetics and adsorption.

use super::growth::power;
use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Reaction speed of an enzyme as a function of the concentration of its substrate (Michaelis and Menten, 1913).
    michaelis_menten MICHAELIS_MENTEN ["x"] Curve
    formula "vmax*x/(km + x)"
    parameters {
        vmax: any "the speed at saturation",
        km: width "the concentration of half of it, in units of x",
    }
    derived {
        initial_slope = "vmax/km" "the slope at x = 0",
        x90 = "9*km" "the concentration of nine tenths of vmax",
    }
    estimate |points| {
        let [vmax, km] = filling(points);
        tame([vmax, km])
    }
}

define! {
    /// Langmuir isotherm: amount adsorbed in a single layer on a surface as a function of the pressure or concentration
    /// above the surface (Langmuir, 1918).
    langmuir LANGMUIR ["x"] Curve
    formula "qmax*affinity*x/(1 + affinity*x)"
    parameters {
        qmax: any "what the full layer holds",
        affinity: positive "the constant of the equilibrium, per unit of x",
    }
    derived {
        initial_slope = "qmax*affinity" "the slope at x = 0, Henry's constant",
        half = "1/affinity" "the x of half the layer",
    }
    estimate |points| {
        let [qmax, half] = filling(points);
        tame([qmax, 1.0 / half])
    }
}

define! {
    /// Freundlich isotherm of an uneven surface: a root of the concentration (Freundlich, 1906), for x ≥ 0.
    freundlich FREUNDLICH ["x"] Curve
    formula "capacity*x^(1/n)"
    parameters {
        capacity: any "the value at x = 1",
        n: width "how uneven the surface is; 1 for a straight line",
    }
    derived { exponent = "1/n" "the slope where both axes are logarithmic" }
    estimate uneven
}

/// Estimates the level of saturation and the x at half of it.
fn filling(points: &Observations) -> [f64; 2] {
    let sketch = Sketch::of(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let halves = SearchAxis::logarithmic(1e-2 * low, 1e2 * high, 100);
    let found = search(&sketch, [halves], 1, |&[half], x, out| out[0] = x / (half + x));
    [found.factors[0] * sketch.y_unit, found.at[0] * sketch.x_unit]
}

fn uneven(points: &Observations) -> Vec<f64> {
    let law = power(points);
    let &[capacity, exponent] = law.as_slice() else { return tame([1.0, 1.0]) };
    tame([capacity, 1.0 / exponent.max(1e-3)])
}
