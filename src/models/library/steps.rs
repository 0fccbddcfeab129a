//! From one level to another, and there and back.

use crate::data::observations::Observations;
use crate::model::scalar::Scalar;
use crate::models::definition::define;
use crate::models::estimate::peak::Peak;
use crate::models::estimate::projection::{Axis, search};
use crate::models::estimate::sketch::Sketch;
use std::f64::consts::PI;

/// Points in which shapes are compared.
const MOST: usize = 400;

define! {
    /// From 0 to `amplitude` along a straight line, which takes one `sigma`.
    step_linear STEP_LINEAR ["x"] Step
    formula "amplitude*clamp((x - center)/sigma + 0.5, 0, 1)"
    parameters {
        amplitude: any "the height of the step, in units of y",
        center: any "where half of it is reached",
        sigma: width "the width of the slope",
    }
    derived {}
    estimate |points| step(points, ramp)
}

define! {
    /// From 0 to `amplitude` along an error function: a sharp step seen with a Gaussian resolution of
    /// the standard deviation `sigma`/√2.
    step_erf STEP_ERF ["x"] Step
    formula "amplitude*(1 + erf((x - center)/sigma))/2"
    parameters {
        amplitude: any "the height of the step, in units of y",
        center: any "where half of it is reached",
        sigma: width "the width of the slope",
    }
    derived { deviation = "sigma/sqrt(2)" "the standard deviation of the slope" }
    estimate |points| step(points, error_function)
}

define! {
    /// From 0 to `amplitude` along a logistic function, amplitude/(1 + exp(−(x − center)/sigma)).
    step_logistic STEP_LOGISTIC ["x"] Step
    formula "amplitude*(1 + tanh((x - center)/(2*sigma)))/2"
    parameters {
        amplitude: any "the height of the step, in units of y",
        center: any "where half of it is reached",
        sigma: width "the width of the slope",
    }
    derived {}
    estimate |points| step(points, logistic)
}

define! {
    /// From 0 to `amplitude` along an arc tangent.
    step_atan STEP_ATAN ["x"] Step
    formula "amplitude*(0.5 + atan((x - center)/sigma)/pi)"
    parameters {
        amplitude: any "the height of the step, in units of y",
        center: any "where half of it is reached",
        sigma: width "the width of the slope",
    }
    derived {}
    estimate |points| step(points, arc_tangent)
}

define! {
    /// Up and down again along straight lines, each of which takes its `sigma`.
    rectangle_linear RECTANGLE_LINEAR ["x"] Peak
    formula "amplitude*(clamp((x - center1)/sigma1 + 0.5, 0, 1)"
        " - clamp((x - center2)/sigma2 + 0.5, 0, 1))"
    parameters {
        amplitude: any "the height, in units of y",
        center1: any "where half of it is reached on the left",
        sigma1: width "the width of the slope on the left",
        center2: any "where half of it is left on the right",
        sigma2: width "the width of the slope on the right",
    }
    derived {
        midpoint = "(center1 + center2)/2" "the middle",
        area = "amplitude*(center2 - center1)" "the area, in units of y times x",
    }
    estimate |points| rectangle(points, ramp)
}

define! {
    /// Up and down again along error functions.
    rectangle_erf RECTANGLE_ERF ["x"] Peak
    formula "amplitude*(erf((x - center1)/sigma1) - erf((x - center2)/sigma2))/2"
    parameters {
        amplitude: any "the height, in units of y",
        center1: any "where half of it is reached on the left",
        sigma1: width "the width of the slope on the left",
        center2: any "where half of it is left on the right",
        sigma2: width "the width of the slope on the right",
    }
    derived {
        midpoint = "(center1 + center2)/2" "the middle",
        area = "amplitude*(center2 - center1)" "the area, in units of y times x",
    }
    estimate |points| rectangle(points, error_function)
}

define! {
    /// Up and down again along logistic functions.
    rectangle_logistic RECTANGLE_LOGISTIC ["x"] Peak
    formula "amplitude*(tanh((x - center1)/(2*sigma1)) - tanh((x - center2)/(2*sigma2)))/2"
    parameters {
        amplitude: any "the height, in units of y",
        center1: any "where half of it is reached on the left",
        sigma1: width "the width of the slope on the left",
        center2: any "where half of it is left on the right",
        sigma2: width "the width of the slope on the right",
    }
    derived {
        midpoint = "(center1 + center2)/2" "the middle",
        area = "amplitude*(center2 - center1)" "the area, in units of y times x",
    }
    estimate |points| rectangle(points, logistic)
}

fn ramp(u: f64) -> f64 {
    (u + 0.5).clamp(0.0, 1.0)
}

fn error_function(u: f64) -> f64 {
    (1.0 + Scalar::erf(u)) / 2.0
}

fn logistic(u: f64) -> f64 {
    (1.0 + (u / 2.0).tanh()) / 2.0
}

fn arc_tangent(u: f64) -> f64 {
    0.5 + u.atan() / PI
}

/// Height, center and width of a step of a known shape, 0 far on the left and 1 far on the right.
fn step(points: &Observations, shape: fn(f64) -> f64) -> Vec<f64> {
    let sketch = Sketch::of(points, MOST);
    let ((low, high), width) = (sketch.ends(), sketch.width());
    let widths = Axis::logarithmic(0.5 * width / sketch.x.len().max(2) as f64, width, 11);
    let axes = [Axis::linear(low, high, 61), widths];
    let found = search(&sketch, axes, 1, |&[center, sigma], x, out| {
        out[0] = shape((x - center) / sigma);
    });
    let [center, sigma] = found.at.map(|v| v * sketch.x_unit);
    vec![found.factors[0] * sketch.y_unit, center, sigma]
}

/// Height, center and width of both steps.
fn rectangle(points: &Observations, shape: fn(f64) -> f64) -> Vec<f64> {
    let peak = Peak::of(points);
    let sketch = Sketch::of(points, MOST);
    let at = |x: f64| x / sketch.x_unit;
    let (left, right) = (at(peak.center - peak.left), at(peak.center + peak.right));
    let apart = right - left;
    let least = 0.3 * sketch.width() / sketch.x.len().max(2) as f64;
    let widths = Axis::logarithmic(least.min(0.5 * apart), apart, 7);
    let near = |x: f64| Axis::linear(x - 0.2 * apart, x + 0.2 * apart, 5);
    let axes = [near(left), widths, near(right), widths];
    let found = search(&sketch, axes, 1, |&[first, rise, last, fall], x, out| {
        out[0] = shape((x - first) / rise) - shape((x - last) / fall);
    });
    let [first, rise, last, fall] = found.at.map(|v| v * sketch.x_unit);
    vec![found.factors[0] * sketch.y_unit, first, rise, last, fall]
}
