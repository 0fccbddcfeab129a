//! Decays: one exponential, sums of two and three exponentials, and the stretched exponential.

use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Exponential decay to 0: the value falls by the factor e per `decay` of x. `amplitude` is the value at x = 0,
    /// even if the points begin at a larger x.
    exponential EXPONENTIAL ["x"] Curve
    formula "amplitude*exp(-x/decay)"
    parameters {
        amplitude: any "the value at x = 0",
        decay: width "the lifetime, in units of x",
    }
    derived {
        rate = "1/decay" "the part that goes per unit of x",
        half_life = "ln(2)*decay" "the x in which half of it goes",
        area = "amplitude*decay" "the integral from x = 0 on",
    }
    estimate one
}

define! {
    /// Exponential decay to a constant `offset`: the difference falls by the factor e per `decay` of x.
    exponential_offset EXPONENTIAL_OFFSET ["x"] Curve
    formula "amplitude*exp(-x/decay) + offset"
    parameters {
        amplitude: any "what goes, seen from x = 0",
        decay: width "the lifetime, in units of x",
        offset: any "what stays",
    }
    derived {
        rate = "1/decay" "the part that goes per unit of x",
        half_life = "ln(2)*decay" "the x in which half of what goes is gone",
        at_zero = "amplitude + offset" "the value at x = 0",
    }
    estimate to_a_level
}

define! {
    /// Sum of two exponentials, for example of two compartments or two kinds of emitters. In the initial guess the
    /// faster exponential is the first.
    biexponential BIEXPONENTIAL ["x"] Curve
    formula "amplitude1*exp(-x/decay1) + amplitude2*exp(-x/decay2)"
    parameters {
        amplitude1: any "the first part at x = 0",
        decay1: width "its lifetime, in units of x",
        amplitude2: any "the second part at x = 0",
        decay2: width "its lifetime",
    }
    derived {
        at_zero = "amplitude1 + amplitude2" "the value at x = 0",
        fraction1 = "amplitude1/(amplitude1 + amplitude2)" "the share of the first at x = 0",
        half_life1 = "ln(2)*decay1" "the x in which half of the first goes",
        half_life2 = "ln(2)*decay2" "the x in which half of the second goes",
        area = "amplitude1*decay1 + amplitude2*decay2" "the integral from x = 0 on",
        mean_decay = "(amplitude1*decay1 + amplitude2*decay2)/(amplitude1 + amplitude2)"
            "the lifetimes' mean, weighted with the amplitudes",
    }
    estimate two
}

define! {
    /// Sum of three exponentials. Points can separate them only if their lifetimes differ by factors. In the initial
    /// guess the fastest exponential is the first.
    triexponential TRIEXPONENTIAL ["x"] Curve
    formula "amplitude1*exp(-x/decay1) + amplitude2*exp(-x/decay2)" " + amplitude3*exp(-x/decay3)"
    parameters {
        amplitude1: any "the first part at x = 0",
        decay1: width "its lifetime, in units of x",
        amplitude2: any "the second part at x = 0",
        decay2: width "its lifetime",
        amplitude3: any "the third part at x = 0",
        decay3: width "its lifetime",
    }
    derived {
        at_zero = "amplitude1 + amplitude2 + amplitude3" "the value at x = 0",
        area = "amplitude1*decay1 + amplitude2*decay2 + amplitude3*decay3"
            "the integral from x = 0 on",
    }
    estimate three
}

define! {
    /// Stretched exponential of Kohlrausch, Williams and Watts, for x ≥ 0. For `beta` below 1 it decays faster than an
    /// exponential at first and slower later.
    stretched_exponential STRETCHED_EXPONENTIAL ["x"] Curve
    formula "amplitude*exp(-(x/decay)^beta)"
    parameters {
        amplitude: any "the value at x = 0",
        decay: width "the x at which the factor e is gone",
        beta: width "the stretching: 1 for an exponential",
    }
    derived {
        half_life = "decay*ln(2)^(1/beta)" "the x in which half of it goes",
        mean_decay = "decay/beta*exp(ln_gamma(1/beta))" "the integral from x = 0 on over the amplitude",
    }
    estimate stretched
}

/// Returns the lifetimes that the points can determine.
fn lifetimes(points: &Sketch, places: usize) -> SearchAxis {
    let width = points.width();
    SearchAxis::logarithmic(width / 300.0, width * 30.0, places)
}

/// Returns amplitude and decay of each of `N` exponentials. All decays are searched on the same axis, in ascending
/// order only: another order gives the same sum, and equal decays give a shorter sum.
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

/// Returns the amplitude at x = 0 from the amplitude at the first point, which is `lifetimes` later.
fn from_origin(factor: f64, lifetimes: f64) -> f64 {
    factor * lifetimes.exp()
}

fn one(points: &Observations) -> Vec<f64> {
    let [[amplitude, decay]] = sum(points, 64);
    tame([amplitude, decay])
}

fn two(points: &Observations) -> Vec<f64> {
    let [[a, s], [b, t]] = sum(points, 28);
    tame([a, s, b, t])
}

fn three(points: &Observations) -> Vec<f64> {
    let [[a, s], [b, t], [c, u]] = sum(points, 15);
    tame([a, s, b, t, c, u])
}

/// Returns amplitude and decay of each of two or three exponentials, the fastest first; `None` for other counts.
pub(in crate::models) fn several(points: &Observations, count: usize) -> Option<Vec<f64>> {
    match count {
        2 => Some(two(points)),
        3 => Some(three(points)),
        _ => None,
    }
}

fn to_a_level(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let low = sketch.ends().0;
    let found = search(&sketch, [lifetimes(&sketch, 64)], 2, |&[decay], x, out| {
        out.copy_from_slice(&[(-(x - low) / decay).exp(), 1.0]);
    });
    let ([decay], y) = (found.at, sketch.y_unit);
    let amplitude = from_origin(found.factors[0], low / decay) * y;
    tame([amplitude, decay * sketch.x_unit, found.factors[1] * y])
}

fn stretched(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let axes = [lifetimes(&sketch, 32), SearchAxis::logarithmic(0.1, 10.0, 16)];
    let found = search(&sketch, axes, 1, |&[decay, beta], x, out| {
        out[0] = (-(x / decay).powf(beta)).exp();
    });
    let [decay, beta] = found.at;
    tame([found.factors[0] * sketch.y_unit, decay * sketch.x_unit, beta])
}
