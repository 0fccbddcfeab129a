//! Growth: exponential, as a power of x, and to a capacity.

use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Exponential growth: the value rises by the factor e per 1/`rate` of x. It falls if the rate is negative.
    growth GROWTH ["x"] Curve
    formula "amplitude*exp(rate*x)"
    parameters {
        amplitude: any "the value at x = 0",
        rate: any "the relative growth per unit of x",
    }
    derived { doubling = "ln(2)/rate" "the x in which it doubles" }
    estimate unlimited
}

define! {
    /// Power of x, for x > 0: a straight line if both axes are logarithmic.
    power_law POWER_LAW ["x"] Curve
    formula "amplitude*x^exponent"
    parameters {
        amplitude: any "the value at x = 1",
        exponent: any "the slope where both axes are logarithmic",
    }
    derived { doubling_factor = "2^exponent" "what doubling x multiplies the value by" }
    estimate power
}

define! {
    /// Logistic growth (Verhulst): the growth is proportional to the value and to its difference from the capacity. The
    /// curve falls if the rate is negative.
    logistic_growth LOGISTIC_GROWTH ["x"] Step
    formula "capacity/(1 + exp(-rate*(x - midpoint)))"
    parameters {
        capacity: any "the level that it ends at",
        rate: any "the relative growth per unit of x where there is little",
        midpoint: any "the x of half the capacity, where it is steepest",
    }
    derived {
        max_slope = "capacity*rate/4" "the slope at the midpoint",
        doubling = "ln(2)/rate" "the x in which it doubles where there is little",
        at_zero = "capacity/(1 + exp(rate*midpoint))" "the value at x = 0",
    }
    estimate |points| sigmoid(points, |u| 1.0 / (1.0 + (-u).exp()))
}

define! {
    /// Gompertz function: growth with a relative rate that decreases exponentially. The lag is defined as by Zwietering
    /// (Appl. Environ. Microbiol. 56 (1990) 1875).
    gompertz GOMPERTZ ["x"] Step
    formula "capacity*exp(-exp(-rate*(x - midpoint)))"
    parameters {
        capacity: any "the level that it ends at",
        rate: any "how fast the relative growth fades, per unit of x",
        midpoint: any "the x of capacity/e, where it is steepest",
    }
    derived {
        max_slope = "capacity*rate*exp(-1)" "the slope at the midpoint",
        lag = "midpoint - 1/rate" "where the steepest tangent leaves 0",
        at_zero = "capacity*exp(-exp(rate*midpoint))" "the value at x = 0",
    }
    estimate |points| sigmoid(points, |u| (-(-u).exp()).exp())
}

define! {
    /// Cumulative Weibull distribution times a capacity, `capacity·(1 − exp(−(x/scale)^shape))`, for x ≥ 0.
    weibull WEIBULL ["x"] Step
    formula "-capacity*expm1(-(x/scale)^shape)"
    parameters {
        capacity: any "the level that it ends at",
        scale: width "the x at which all but 1/e of it is reached",
        shape: width "1 for an exponential approach, more for a delayed one",
    }
    derived {
        half = "scale*ln(2)^(1/shape)" "the x of half the capacity",
        mean = "scale*exp(ln_gamma(1 + 1/shape))" "the mean of the distribution",
    }
    estimate weibull_start
}

fn unlimited(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let (low, high) = sketch.ends();
    let found = [1.0, -1.0].map(|sign| {
        let rates = SearchAxis::logarithmic(1e-2 / sketch.width(), 300.0 / sketch.width(), 60);
        // The shape has its maximum 1 at this end.
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

/// Estimates amplitude and exponent of a power of x.
pub(super) fn power(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of_positive(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let found =
        search(&sketch, [SearchAxis::linear(-10.0, 10.0, 161)], 1, |&[exponent], x, out| {
            // The shape has its maximum 1 at this end.
            let origin = if exponent > 0.0 { high } else { low };
            out[0] = (x / origin).powf(exponent);
        });
    let exponent = found.at[0];
    let origin = if exponent > 0.0 { high } else { low } * sketch.x_unit;
    tame([found.factors[0] * sketch.y_unit * origin.powf(-exponent), exponent])
}

/// Estimates capacity, rate and midpoint of a step; `shape((x - midpoint)*rate)` is between 0 and 1.
fn sigmoid(points: &Observations, shape: fn(f64) -> f64) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let ((low, high), width) = (sketch.ends(), sketch.width());
    let midpoints = SearchAxis::linear(low - 0.5 * width, high + 0.5 * width, 33);
    let rates = SearchAxis::logarithmic(0.5 / width, 300.0 / width, 16);
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

fn weibull_start(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let axes = [
        SearchAxis::logarithmic(0.1 * low, 10.0 * high, 32),
        SearchAxis::logarithmic(0.1, 20.0, 16),
    ];
    let found = search(&sketch, axes, 1, |&[scale, shape], x, out| {
        out[0] = -(-(x / scale).powf(shape)).exp_m1();
    });
    let [scale, shape] = found.at;
    tame([found.factors[0] * sketch.y_unit, scale * sketch.x_unit, shape])
}
