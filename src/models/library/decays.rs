//! What fades: one exponential, sums of two and three, and the stretched one.

use crate::data::observations::Observations;
use crate::models::definition::{Definition, any, positive};
use crate::models::estimate::projection::{Axis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;

/// Falls by the factor e with every `decay` of x, towards 0.
pub(crate) static EXPONENTIAL: Definition = Definition {
    name: "exponential",
    variables: &["x"],
    formula: "amplitude*exp(-x/decay)",
    parameters: &[any("amplitude"), positive("decay")],
    derived: &[("rate", "1/decay"), ("half_life", "ln(2)*decay"), ("area", "amplitude*decay")],
    estimate: one,
};

/// The same towards a level that is not 0.
pub(crate) static EXPONENTIAL_OFFSET: Definition = Definition {
    name: "exponential_offset",
    variables: &["x"],
    formula: "amplitude*exp(-x/decay) + offset",
    parameters: &[any("amplitude"), positive("decay"), any("offset")],
    derived: &[
        ("rate", "1/decay"),
        ("half_life", "ln(2)*decay"),
        ("at_zero", "amplitude + offset"),
    ],
    estimate: to_a_level,
};

/// Two exponentials, the faster one first in a start that is found.
pub(crate) static BIEXPONENTIAL: Definition = Definition {
    name: "biexponential",
    variables: &["x"],
    formula: "amplitude1*exp(-x/decay1) + amplitude2*exp(-x/decay2)",
    parameters: &[any("amplitude1"), positive("decay1"), any("amplitude2"), positive("decay2")],
    derived: &[
        ("at_zero", "amplitude1 + amplitude2"),
        ("fraction1", "amplitude1/(amplitude1 + amplitude2)"),
        ("half_life1", "ln(2)*decay1"),
        ("half_life2", "ln(2)*decay2"),
        ("area", "amplitude1*decay1 + amplitude2*decay2"),
        ("mean_decay", "(amplitude1*decay1 + amplitude2*decay2)/(amplitude1 + amplitude2)"),
    ],
    estimate: two,
};

/// Three exponentials, the fastest one first in a start that is found.
pub(crate) static TRIEXPONENTIAL: Definition = Definition {
    name: "triexponential",
    variables: &["x"],
    formula: "amplitude1*exp(-x/decay1) + amplitude2*exp(-x/decay2) + amplitude3*exp(-x/decay3)",
    parameters: &[
        any("amplitude1"),
        positive("decay1"),
        any("amplitude2"),
        positive("decay2"),
        any("amplitude3"),
        positive("decay3"),
    ],
    derived: &[
        ("at_zero", "amplitude1 + amplitude2 + amplitude3"),
        ("area", "amplitude1*decay1 + amplitude2*decay2 + amplitude3*decay3"),
    ],
    estimate: three,
};

/// Kohlrausch's function: faster than an exponential at first and slower later where `beta` < 1.
pub(crate) static STRETCHED_EXPONENTIAL: Definition = Definition {
    name: "stretched_exponential",
    variables: &["x"],
    formula: "amplitude*exp(-(x/decay)^beta)",
    parameters: &[any("amplitude"), positive("decay"), positive("beta")],
    derived: &[
        ("half_life", "decay*ln(2)^(1/beta)"),
        ("mean_decay", "decay/beta*exp(ln_gamma(1/beta))"),
    ],
    estimate: stretched,
};

/// Lifetimes that these points can show.
fn lifetimes(points: &Sketch, places: usize) -> Axis {
    let width = points.width();
    Axis::logarithmic(width / 300.0, width * 30.0, places)
}

/// Sums of `N` exponentials: the decay and the amplitude of each. The decays are looked for along one
/// axis, in order: a set in another order is the same sum, and one with two equal ones is a shorter sum.
fn sum<const N: usize>(points: &Observations, places: usize) -> [[f64; 2]; N] {
    let sketch = Sketch::of(points, 512 >> N);
    let low = sketch.ends().0;
    let axes = [lifetimes(&sketch, places); N];
    let found = search(&sketch, axes, N, |decays, x, out| {
        let ordered = decays.windows(2).all(|pair| pair[0] < pair[1]);
        for (value, decay) in out.iter_mut().zip(decays) {
            *value = if ordered { (-(x - low) / decay).exp() } else { f64::NAN };
        }
    });
    std::array::from_fn(|i| {
        let decay = found.at[i];
        [from_origin(found.factors[i], low / decay) * sketch.y_unit, decay * sketch.x_unit]
    })
}

/// The amplitude at x = 0 from that at the first point, `lifetimes` later.
fn from_origin(factor: f64, lifetimes: f64) -> f64 {
    factor * lifetimes.exp()
}

fn one(points: &Observations) -> Vec<f64> {
    let [[amplitude, decay]] = sum(points, 80);
    tame([amplitude, decay])
}

fn two(points: &Observations) -> Vec<f64> {
    let [[a, s], [b, t]] = sum(points, 32);
    tame([a, s, b, t])
}

fn three(points: &Observations) -> Vec<f64> {
    let [[a, s], [b, t], [c, u]] = sum(points, 18);
    tame([a, s, b, t, c, u])
}

fn to_a_level(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let low = sketch.ends().0;
    let found = search(&sketch, [lifetimes(&sketch, 80)], 2, |&[decay], x, out| {
        out.copy_from_slice(&[(-(x - low) / decay).exp(), 1.0]);
    });
    let ([decay], y) = (found.at, sketch.y_unit);
    let amplitude = from_origin(found.factors[0], low / decay) * y;
    tame([amplitude, decay * sketch.x_unit, found.factors[1] * y])
}

fn stretched(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let axes = [lifetimes(&sketch, 32), Axis::logarithmic(0.1, 10.0, 24)];
    let found = search(&sketch, axes, 1, |&[decay, beta], x, out| {
        out[0] = (-(x / decay).powf(beta)).exp();
    });
    let [decay, beta] = found.at;
    tame([found.factors[0] * sketch.y_unit, decay * sketch.x_unit, beta])
}
