//! Magnetisation that returns to equilibrium: how T1 is measured.
//!
//! `x` is the time after the pulse, except in [`VARIABLE_FLIP_ANGLE`]; `t1` has its unit.

use crate::data::observations::Observations;
use crate::models::definition::{Definition, any, positive};
use crate::models::estimate::projection::{Axis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;

/// Recovery after an inversion pulse; `inversion` is 2 where the pulse is perfect.
pub(crate) static INVERSION_RECOVERY: Definition = Definition {
    name: "inversion_recovery",
    variables: &["x"],
    formula: "m0*(1 - inversion*exp(-x/t1))",
    parameters: &[any("m0"), any("inversion"), positive("t1")],
    derived: &[
        ("rate", "1/t1"),
        ("null_time", "t1*ln(inversion)"),
        ("efficiency", "inversion/2"),
        ("at_zero", "m0*(1 - inversion)"),
    ],
    estimate: signed,
};

/// The same where only magnitudes are measured.
pub(crate) static INVERSION_RECOVERY_MAGNITUDE: Definition = Definition {
    name: "inversion_recovery_magnitude",
    variables: &["x"],
    formula: "abs(m0*(1 - inversion*exp(-x/t1)))",
    parameters: &[positive("m0"), positive("inversion"), positive("t1")],
    derived: &[("rate", "1/t1"), ("null_time", "t1*ln(inversion)"), ("efficiency", "inversion/2")],
    estimate: magnitude,
};

/// Recovery from nothing, after a saturation pulse.
pub(crate) static SATURATION_RECOVERY: Definition = Definition {
    name: "saturation_recovery",
    variables: &["x"],
    formula: "-m0*expm1(-x/t1)",
    parameters: &[any("m0"), positive("t1")],
    derived: &[("rate", "1/t1"), ("half_time", "ln(2)*t1"), ("initial_slope", "m0/t1")],
    estimate: from_nothing,
};

/// The spoiled gradient echo in its steady state over the flip angle, x in radians; `t1` is in units of
/// the repetition time.
pub(crate) static VARIABLE_FLIP_ANGLE: Definition = Definition {
    name: "variable_flip_angle",
    variables: &["x"],
    formula: "-m0*sin(x)*expm1(-1/t1)/(1 - exp(-1/t1)*cos(x))",
    parameters: &[any("m0"), positive("t1")],
    derived: &[("ernst_angle", "acos(exp(-1/t1))"), ("rate", "1/t1")],
    estimate: by_angle,
};

/// Times that these points can show.
fn times(points: &Sketch) -> Axis {
    Axis::logarithmic(points.width() / 300.0, points.width() * 30.0, 80)
}

/// Equilibrium, inversion and T1 of points with a sign, in units of the sketch, and what is left over.
fn recovery(sketch: &Sketch) -> ([f64; 3], f64) {
    let found = search(sketch, [times(sketch)], 2, |&[t1], x, out| {
        out.copy_from_slice(&[1.0, (-x / t1).exp()]);
    });
    let [t1] = found.at;
    let m0 = found.factors[0];
    let inversion = if m0 == 0.0 { 2.0 } else { -found.factors[1] / m0 };
    ([m0, inversion, t1], found.cost)
}

fn signed(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let ([m0, inversion, t1], _) = recovery(&sketch);
    tame([m0 * sketch.y_unit, inversion, t1 * sketch.x_unit])
}

/// Magnitudes get their signs back: the first k of them were negative, for the k that leaves least over.
fn magnitude(points: &Observations) -> Vec<f64> {
    let mut sketch = Sketch::of(points, 64);
    let mut best = recovery(&sketch);
    for k in 0..sketch.y.len() {
        sketch.y[k] = -sketch.y[k];
        let here = recovery(&sketch);
        let ([m0, inversion, _], cost) = here;
        if cost < best.1 && m0 > 0.0 && inversion > 0.0 {
            best = here;
        }
    }
    let ([m0, inversion, t1], _) = best;
    tame([m0.abs() * sketch.y_unit, inversion.abs(), t1 * sketch.x_unit])
}

fn from_nothing(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let found = search(&sketch, [times(&sketch)], 1, |&[t1], x, out| {
        out[0] = -(-x / t1).exp_m1();
    });
    tame([found.factors[0] * sketch.y_unit, found.at[0] * sketch.x_unit])
}

fn by_angle(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let found = search(&sketch, [Axis::logarithmic(1e-2, 1e5, 120)], 1, |&[t1], x, out| {
        let (angle, rest) = (x * sketch.x_unit, (-1.0 / t1).exp());
        out[0] = -angle.sin() * (-1.0 / t1).exp_m1() / (1.0 - rest * angle.cos());
    });
    tame([found.factors[0] * sketch.y_unit, found.at[0]])
}
