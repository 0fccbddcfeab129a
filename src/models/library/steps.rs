//! From one level to another, and there and back.

use crate::data::observations::Observations;
use crate::model::scalar::Scalar;
use crate::models::definition::define;
use crate::models::estimate::peak::Peak;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use std::f64::consts::PI;

/// Points in which shapes are compared.
const MOST: usize = 400;

/// A step along a form: [`define`] with the parameters that all steps have.
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

/// Up and down again along a form: [`define`] with the parameters that all rectangles have.
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
    /// From 0 to `amplitude` along a straight line, which takes one `sigma`. The cost of a ramp has a
    /// kink wherever one of its ends crosses a point: a fit may end there, and says that it makes no
    /// progress.
    step_linear STEP_LINEAR RAMP
    formula "amplitude*clamp((x - center)/sigma + 0.5, 0, 1)"
    derived {}
}

define_step! {
    /// From 0 to `amplitude` along an error function: a sharp step seen with a Gaussian resolution of
    /// the standard deviation `sigma`/√2.
    step_erf STEP_ERF ERROR_FUNCTION
    formula "amplitude*(1 + erf((x - center)/sigma))/2"
    derived { deviation = "sigma/sqrt(2)" "the standard deviation of the slope" }
}

define_step! {
    /// From 0 to `amplitude` along a logistic function, amplitude/(1 + exp(−(x − center)/sigma)).
    step_logistic STEP_LOGISTIC LOGISTIC
    formula "amplitude*(1 + tanh((x - center)/(2*sigma)))/2"
    derived {}
}

define_step! {
    /// From 0 to `amplitude` along an arc tangent.
    step_atan STEP_ATAN ARC_TANGENT
    formula "amplitude*(0.5 + atan((x - center)/sigma)/pi)"
    derived {}
}

define_rectangle! {
    /// Up and down again along straight lines, each of which takes its `sigma`; about its kinks see
    /// [`step_linear`].
    rectangle_linear RECTANGLE_LINEAR RAMP
    formula "amplitude*(clamp((x - center1)/sigma1 + 0.5, 0, 1)"
        " - clamp((x - center2)/sigma2 + 0.5, 0, 1))"
    derived { area = "amplitude*(center2 - center1)" "the area, in units of y times x" }
}

define_rectangle! {
    /// Up and down again along error functions.
    rectangle_erf RECTANGLE_ERF ERROR_FUNCTION
    formula "amplitude*(erf((x - center1)/sigma1) - erf((x - center2)/sigma2))/2"
    derived { area = "amplitude*(center2 - center1)" "the area, in units of y times x" }
}

define_rectangle! {
    /// Up and down again along logistic functions.
    rectangle_logistic RECTANGLE_LOGISTIC LOGISTIC
    formula "amplitude*(tanh((x - center1)/(2*sigma1)) - tanh((x - center2)/(2*sigma2)))/2"
    derived { area = "amplitude*(center2 - center1)" "the area, in units of y times x" }
}

define_rectangle! {
    /// Up and down again along arc tangents. Its tails fall as 1/x, so that it has no area unless both slopes
    /// are equally wide.
    rectangle_atan RECTANGLE_ATAN ARC_TANGENT
    formula "amplitude*(atan((x - center1)/sigma1) - atan((x - center2)/sigma2))/pi"
    derived {}
}

/// How a step goes from 0 to 1 over u = (x − center)/sigma.
#[derive(Clone, Copy)]
struct StepForm {
    shape: fn(f64) -> f64,
    /// One without kinks that is like it: it has few minima, and so leads near the right one.
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

/// Height, center and width of a step.
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

/// Height, center and width of both steps.
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

/// Centers by one that is nearly right.
fn near(center: f64, sigma: f64) -> SearchAxis {
    SearchAxis::linear(center - 0.4 * sigma, center + 0.4 * sigma, 5)
}

/// Widths by one that is nearly right.
fn about(sigma: f64) -> SearchAxis {
    SearchAxis::logarithmic(sigma / 1.6, sigma * 1.6, 5)
}
