//! Return of magnetisation to equilibrium, for the measurement of T1.
//!
//! `x` is the time after the pulse, except in [`VARIABLE_FLIP_ANGLE`]; `t1` has its unit.

use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Recovery after an inversion pulse, for signals with their sign. x: the inversion time.
    inversion_recovery INVERSION_RECOVERY ["x"] Curve
    formula "m0*(1 - inversion*exp(-x/t1))"
    parameters {
        m0: any "the signal at equilibrium",
        inversion: any "2 where the pulse is perfect, 1 where it only saturates",
        t1: width "the longitudinal relaxation time, in units of x",
    }
    derived {
        rate = "1/t1" "the relaxation rate R1",
        null_time = "t1*ln(inversion)" "the inversion time without a signal",
        efficiency = "inversion/2" "the part of the magnetisation that was inverted",
        at_zero = "m0*(1 - inversion)" "the signal right after the pulse",
    }
    estimate signed
}

define! {
    /// Recovery after an inversion pulse, for magnitudes without a sign. Near the null the mean of
    /// the noise is not 0: leave such points out if there are many.
    inversion_recovery_magnitude INVERSION_RECOVERY_MAGNITUDE ["x"] Curve
    formula "abs(m0*(1 - inversion*exp(-x/t1)))"
    parameters {
        m0: positive "the signal at equilibrium",
        inversion: positive "2 where the pulse is perfect",
        t1: width "the longitudinal relaxation time, in units of x",
    }
    derived {
        rate = "1/t1" "the relaxation rate R1",
        null_time = "t1*ln(inversion)" "the inversion time without a signal",
        efficiency = "inversion/2" "the part of the magnetisation that was inverted",
    }
    estimate magnitude
}

define! {
    /// Recovery from 0 after a saturation pulse: `m0·(1 − exp(−x/t1))`.
    saturation_recovery SATURATION_RECOVERY ["x"] Curve
    formula "-m0*expm1(-x/t1)"
    parameters {
        m0: any "the signal at equilibrium",
        t1: width "the longitudinal relaxation time, in units of x",
    }
    derived {
        rate = "1/t1" "the relaxation rate R1",
        half_time = "ln(2)*t1" "the time to half of m0",
        initial_slope = "m0/t1" "the slope at x = 0",
    }
    estimate from_nothing
}

define! {
    /// Signal of a spoiled gradient echo in the steady state, `m0·sin x·(1 − E)/(1 − E·cos x)` with
    /// E = exp(−1/t1). x: the flip angle in radians.
    variable_flip_angle VARIABLE_FLIP_ANGLE ["x"] Curve
    formula "-m0*sin(x)*expm1(-1/t1)/(1 - exp(-1/t1)*cos(x))"
    parameters {
        m0: any "the signal at equilibrium, with what T2* leaves of it",
        t1: width "the longitudinal relaxation time, in units of the repetition time",
    }
    derived {
        ernst_angle = "acos(exp(-1/t1))" "the angle of the largest signal, in radians",
        rate = "1/t1" "the relaxation rate per repetition",
    }
    estimate by_angle
}

/// Returns the relaxation times that the points can determine.
fn times(points: &Sketch, places: usize) -> SearchAxis {
    SearchAxis::logarithmic(points.width() / 300.0, points.width() * 30.0, places)
}

fn signed(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let found = search(&sketch, [times(&sketch, 64)], 2, |&[t1], x, out| {
        out.copy_from_slice(&[1.0, (-x / t1).exp()]);
    });
    let ([t1], m0) = (found.at, found.factors[0]);
    let inversion = if m0 == 0.0 { 2.0 } else { -found.factors[1] / m0 };
    tame([m0 * sketch.y_unit, inversion, t1 * sketch.x_unit])
}

fn magnitude(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let axes = [times(&sketch, 32), SearchAxis::linear(0.2, 3.0, 15)];
    let found = search(&sketch, axes, 1, |&[t1, inversion], x, out| {
        out[0] = (1.0 - inversion * (-x / t1).exp()).abs();
    });
    let [t1, inversion] = found.at;
    tame([found.factors[0].abs() * sketch.y_unit, inversion, t1 * sketch.x_unit])
}

fn from_nothing(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let found = search(&sketch, [times(&sketch, 64)], 1, |&[t1], x, out| {
        out[0] = -(-x / t1).exp_m1();
    });
    tame([found.factors[0] * sketch.y_unit, found.at[0] * sketch.x_unit])
}

fn by_angle(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let found = search(&sketch, [SearchAxis::logarithmic(1e-2, 1e5, 120)], 1, |&[t1], x, out| {
        let (angle, rest) = (x * sketch.x_unit, (-1.0 / t1).exp());
        out[0] = -angle.sin() * (-1.0 / t1).exp_m1() / (1.0 - rest * angle.cos());
    });
    tame([found.factors[0] * sketch.y_unit, found.at[0]])
}
