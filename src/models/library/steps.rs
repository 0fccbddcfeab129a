//! Steps from one level to another, and rectangles of a rising and a falling step.

use crate::data::points::Observations;
use crate::model::scalar::Scalar;
use crate::models::estimate::peak::Peak;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::model::define;
use std::f64::consts::PI;

/// Maximum number of points for the comparison of shapes.
const MOST: usize = 400;

/// Defines a step of a given form: [`define`] with the parameters of all steps.
macro_rules! define_step {
    (
        $(#[doc = $text:literal])+
        $name:ident $constant:ident $form:ident
        formula $formula:literal
        derived $derived:tt
    ) => {
        define! {
            $(#[doc = $text])+
            $name $constant ["x"] Step
            formula $formula
            parameters {
                amplitude: any "the height of the step, in units of y",
                center: any "where half of it is reached",
                sigma: width "the width of the slope",
            }
            derived $derived
            estimate |points| step(points, $form)
        }
    };
}

/// Defines a rectangle of a given form: [`define`] with the parameters of all rectangles.
macro_rules! define_rectangle {
    (
        $(#[doc = $text:literal])+
        $name:ident $constant:ident $form:ident
        formula $($formula:literal)+
        derived { $($quantity:ident = $value:literal $said:literal)? }
    ) => {
        define! {
            $(#[doc = $text])+
            $name $constant ["x"] Peak
            formula $($formula)+
            parameters {
                amplitude: any "the height, in units of y",
                center1: any "where half of it is reached on the left",
                sigma1: width "the width of the slope on the left",
                center2: any "where half of it is left on the right",
                sigma2: width "the width of the slope on the right",
            }
            derived {
                midpoint = "(center1 + center2)/2" "the middle",
                $($quantity = $value $said,)?
            }
            estimate |points| rectangle(points, $form)
        }
    };
}

define_step! {
    /// Step from 0 to `amplitude` along a straight line of width `sigma`. The cost has a kink wherever an end of the
    /// line crosses a point. A fit can end at such a kink and then reports no progress.
    step_linear STEP_LINEAR RAMP
    formula "amplitude*clamp((x - center)/sigma + 0.5, 0, 1)"
    derived {}
}

define_step! {
    /// Step from 0 to `amplitude` along an error function: a sharp step measured with a Gaussian resolution of standard
    /// deviation `sigma`/√2.
    step_erf STEP_ERF ERROR_FUNCTION
    formula "amplitude*(1 + erf((x - center)/sigma))/2"
    derived { deviation = "sigma/sqrt(2)" "the standard deviation of the slope" }
}

define_step! {
    /// Step from 0 to `amplitude` along a logistic function, amplitude/(1 + exp(−(x − center)/sigma)).
    step_logistic STEP_LOGISTIC LOGISTIC
    formula "amplitude*(1 + tanh((x - center)/(2*sigma)))/2"
    derived {}
}

define_step! {
    /// Step from 0 to `amplitude` along an arc tangent.
    step_atan STEP_ATAN ARC_TANGENT
    formula "amplitude*(0.5 + atan((x - center)/sigma)/pi)"
    derived {}
}

define_rectangle! {
    /// Rectangle with straight flanks of widths `sigma1` and `sigma2`. For the kinks of the cost see [`step_linear`].
    rectangle_linear RECTANGLE_LINEAR RAMP
    formula "amplitude*(clamp((x - center1)/sigma1 + 0.5, 0, 1)"
        " - clamp((x - center2)/sigma2 + 0.5, 0, 1))"
    derived { area = "amplitude*(center2 - center1)" "the area, in units of y times x" }
}

define_rectangle! {
    /// Rectangle with error functions as flanks.
    rectangle_erf RECTANGLE_ERF ERROR_FUNCTION
    formula "amplitude*(erf((x - center1)/sigma1) - erf((x - center2)/sigma2))/2"
    derived { area = "amplitude*(center2 - center1)" "the area, in units of y times x" }
}

define_rectangle! {
    /// Rectangle with logistic functions as flanks.
    rectangle_logistic RECTANGLE_LOGISTIC LOGISTIC
    formula "amplitude*(tanh((x - center1)/(2*sigma1)) - tanh((x - center2)/(2*sigma2)))/2"
    derived { area = "amplitude*(center2 - center1)" "the area, in units of y times x" }
}

define_rectangle! {
    /// Rectangle with arc tangents as flanks. Its tails fall as 1/x; therefore the area is not finite unless both
    /// widths are equal.
    rectangle_atan RECTANGLE_ATAN ARC_TANGENT
    formula "amplitude*(atan((x - center1)/sigma1) - atan((x - center2)/sigma2))/pi"
    derived {}
}

/// Form of a step from 0 to 1 over u = (x − center)/sigma.
#[derive(Clone, Copy)]
struct StepForm {
    shape: fn(f64) -> f64,
    /// Similar form without kinks. Its cost has few minima, so a search with it leads near the right one.
    smooth: fn(f64) -> f64,
}

const RAMP: StepForm = StepForm {
    shape: |u| (u + 0.5).clamp(0.0, 1.0),
    // The error function with the same slope at the center.
    smooth: |u| (1.0 + Scalar::erf(u * PI.sqrt())) / 2.0,
};
const ERROR_FUNCTION: StepForm =
    StepForm { shape: |u| (1.0 + Scalar::erf(u)) / 2.0, smooth: |u| (1.0 + Scalar::erf(u)) / 2.0 };
const LOGISTIC: StepForm = StepForm {
    shape: |u| (1.0 + (u / 2.0).tanh()) / 2.0,
    smooth: |u| (1.0 + (u / 2.0).tanh()) / 2.0,
};
const ARC_TANGENT: StepForm =
    StepForm { shape: |u| 0.5 + u.atan() / PI, smooth: |u| 0.5 + u.atan() / PI };

/// Estimates height, center and width of a step.
fn step(points: &Observations, form: StepForm) -> Vec<f64> {
    let sketch = Sketch::of(points, MOST);
    let ((low, high), width) = (sketch.ends(), sketch.width());
    let widths = SearchAxis::logarithmic(0.5 * width / sketch.x.len().max(2) as f64, width, 11);
    let place = |limit: f64| (limit / sketch.x_unit).max(low).min(high);
    let axes = [SearchAxis::linear(place(points.center.0), place(points.center.1), 61), widths];
    let smooth = search(&sketch, axes, 1, |&[center, sigma], x, out| {
        out[0] = (form.smooth)((x - center) / sigma);
    });
    let [center, sigma] = smooth.at;
    let found =
        search(&sketch, [near(center, sigma), about(sigma)], 1, |&[center, sigma], x, out| {
            out[0] = (form.shape)((x - center) / sigma);
        });
    let [center, sigma] = found.at.map(|v| v * sketch.x_unit);
    vec![found.factors[0] * sketch.y_unit, center, sigma]
}

/// Estimates the height, and center and width of both flanks.
fn rectangle(points: &Observations, form: StepForm) -> Vec<f64> {
    let peak = Peak::of(points);
    let sketch = Sketch::of(points, MOST);
    let at = |x: f64| x / sketch.x_unit;
    let (left, right) = (at(peak.center - peak.left), at(peak.center + peak.right));
    let apart = right - left;
    let least = 0.3 * sketch.width() / sketch.x.len().max(2) as f64;
    let widths = SearchAxis::logarithmic(least.min(0.5 * apart), apart, 7);
    let around = |x: f64| SearchAxis::linear(x - 0.2 * apart, x + 0.2 * apart, 5);
    let axes = [around(left), widths, around(right), widths];
    let smooth = search(&sketch, axes, 1, |&[first, rise, last, fall], x, out| {
        out[0] = (form.smooth)((x - first) / rise) - (form.smooth)((x - last) / fall);
    });
    let [first, rise, last, fall] = smooth.at;
    let axes = [near(first, rise), about(rise), near(last, fall), about(fall)];
    let found = search(&sketch, axes, 1, |&[first, rise, last, fall], x, out| {
        out[0] = (form.shape)((x - first) / rise) - (form.shape)((x - last) / fall);
    });
    let [first, rise, last, fall] = found.at.map(|v| v * sketch.x_unit);
    vec![found.factors[0] * sketch.y_unit, first, rise, last, fall]
}

/// Returns centers within 0.4 `sigma` of an approximate center.
fn near(center: f64, sigma: f64) -> SearchAxis {
    SearchAxis::linear(center - 0.4 * sigma, center + 0.4 * sigma, 5)
}

/// Returns widths within a factor of 1.6 of an approximate width.
fn about(sigma: f64) -> SearchAxis {
    SearchAxis::logarithmic(sigma / 1.6, sigma * 1.6, 5)
}
