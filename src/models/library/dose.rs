//! Dose-response curves: the Hill function and the logistic curves with four and five parameters.
//!
//! `x` is the dose itself, as in the usual 4PL, and may be 0; only for [`LOGISTIC4_LOG`] it is the decimal logarithm of
//! the dose. In all models `ec50` is the dose halfway between the two levels.

use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Hill function: the response is 0 without a dose and approaches `emax` at large doses.
    hill HILL ["x"] Step
    formula "emax/(1 + (x/ec50)^(-hill))"
    parameters {
        emax: any "the response to a large dose",
        ec50: width "the dose of half of it, in units of x",
        hill: width "the steepness: 1 where one molecule binds by itself",
    }
    derived {
        ec10 = "ec50*9^(-1/hill)" "the dose of a tenth of emax",
        ec90 = "ec50*9^(1/hill)" "the dose of nine tenths of emax",
        log10_ec50 = "log10(ec50)" "the decimal logarithm of ec50",
        slope_at_ec50 = "emax*hill/(4*ec50)" "the slope over the dose at ec50",
    }
    estimate from_zero
}

define! {
    /// Four-parameter logistic curve (4PL) over the dose, which may be 0. If the response falls with the dose, `hill`
    /// is negative. The curve stays the same if bottom and top are exchanged and the sign of `hill` changes; in the
    /// initial guess `top` is the larger level.
    logistic4 LOGISTIC4 ["x"] Curve
    formula "bottom + (top - bottom)/(1 + (x/ec50)^(-hill))"
    parameters {
        bottom: any "the response without a dose, to a large one for hill < 0",
        top: any "the response to a large dose, without one for hill < 0",
        ec50: width "the dose halfway between them, in units of x",
        hill: any "the steepness, and its direction",
    }
    derived {
        span = "top - bottom" "the range of responses",
        ec10 = "ec50*9^(-1/hill)" "the dose a tenth of the way from bottom to top",
        ec90 = "ec50*9^(1/hill)" "the dose nine tenths of the way",
        log10_ec50 = "log10(ec50)" "the decimal logarithm of ec50",
        slope_at_ec50 = "(top - bottom)*hill/(4*ec50)" "the slope over the dose at ec50",
    }
    estimate four
}

define! {
    /// Four-parameter logistic curve over the decimal logarithm of the dose.
    logistic4_log LOGISTIC4_LOG ["x"] Curve
    formula "bottom + (top - bottom)/(1 + 10^(hill*(log_ec50 - x)))"
    parameters {
        bottom: any "the response without a dose, to a large one for hill < 0",
        top: any "the response to a large dose, without one for hill < 0",
        log_ec50: any "the decimal logarithm of the dose halfway between them",
        hill: any "the steepness, and its direction",
    }
    derived {
        span = "top - bottom" "the range of responses",
        ec50 = "10^log_ec50" "the dose halfway",
        ec10 = "10^(log_ec50 - log10(9)/hill)" "the dose a tenth of the way from bottom to top",
        ec90 = "10^(log_ec50 + log10(9)/hill)" "the dose nine tenths of the way",
        slope_at_ec50 = "(top - bottom)*hill*ln(10)/4" "the slope over the logarithm at ec50",
    }
    estimate four_of_logarithm
}

define! {
    /// Five-parameter logistic curve (5PL) over the dose, which may be 0. `ec50` is the dose halfway between the levels
    /// for any asymmetry. In contrast to the 4PL, curves with a positive and with a negative `hill` are different.
    logistic5 LOGISTIC5 ["x"] Curve
    formula "bottom + (top - bottom)" "/(1 + (2^(1/asymmetry) - 1)*(x/ec50)^(-hill))^asymmetry"
    parameters {
        bottom: any "the response without a dose, to a large one for hill < 0",
        top: any "the response to a large dose, without one for hill < 0",
        ec50: width "the dose halfway between them, in units of x",
        hill: any "the steepness, and its direction",
        asymmetry: width "1 for a curve that is symmetric over ln(x)",
    }
    derived {
        span = "top - bottom" "the range of responses",
        log10_ec50 = "log10(ec50)" "the decimal logarithm of ec50",
        inflection = "ec50*(asymmetry*(2^(1/asymmetry) - 1))^(1/hill)"
            "where it is steepest over ln(x)",
    }
    estimate five
}

/// Returns doses from a tenth of the smallest to 10 times the largest dose of the points.
fn doses(points: &Sketch, places: usize) -> SearchAxis {
    let low = points.least_positive();
    let high = points.ends().1.max(low);
    SearchAxis::logarithmic(0.1 * low, 10.0 * high, places)
}

/// Returns slopes that points can distinguish from a flat line and from a jump.
fn slopes(places: usize) -> SearchAxis {
    SearchAxis::logarithmic(0.1, 30.0, places)
}

/// Returns the response between 0 and 1. `ratio`: dose divided by the dose at half the response.
fn response(ratio: f64, hill: f64) -> f64 {
    1.0 / (1.0 + ratio.max(0.0).powf(-hill))
}

fn from_zero(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let found = search(&sketch, [doses(&sketch, 32), slopes(16)], 1, |&[ec50, hill], x, out| {
        out[0] = response(x / ec50, hill);
    });
    let [ec50, hill] = found.at;
    tame([found.factors[0] * sketch.y_unit, ec50 * sketch.x_unit, hill])
}

/// Returns bottom, top and the sign of the slope. `factors`: the levels without a dose and at a large dose, in units
/// of `unit`.
fn levels(factors: &[f64], unit: f64) -> (f64, f64, f64) {
    let (none, full) = (factors[0] * unit, factors[1] * unit);
    if none <= full { (none, full, 1.0) } else { (full, none, -1.0) }
}

fn four(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let [bottom, top, ec50, hill] = four_of(&sketch);
    tame([bottom * sketch.y_unit, top * sketch.y_unit, ec50 * sketch.x_unit, hill])
}

/// Returns bottom, top, the dose halfway and the slope, in units of the sketch.
fn four_of(sketch: &Sketch) -> [f64; 4] {
    let found = search(sketch, [doses(sketch, 32), slopes(16)], 2, |&[ec50, hill], x, out| {
        let share = response(x / ec50, hill);
        out.copy_from_slice(&[1.0 - share, share]);
    });
    let [ec50, hill] = found.at;
    let (bottom, top, sign) = levels(&found.factors, 1.0);
    [bottom, top, ec50, sign * hill]
}

fn four_of_logarithm(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let ((low, high), width, unit) = (sketch.ends(), sketch.width(), sketch.x_unit);
    let middles = SearchAxis::linear(low - 0.3 * width, high + 0.3 * width, 32);
    let slopes = SearchAxis::logarithmic(0.3 / width, 200.0 / width, 16);
    let found = search(&sketch, [middles, slopes], 2, |&[middle, slope], x, out| {
        let share = 1.0 / (1.0 + 10_f64.powf(slope * (middle - x)));
        out.copy_from_slice(&[1.0 - share, share]);
    });
    let [middle, slope] = found.at;
    let (bottom, top, sign) = levels(&found.factors, sketch.y_unit);
    tame([bottom, top, middle * unit, sign * slope / unit])
}

/// Returns an initial guess near the 4PL curve. Curves with positive and with negative `hill` are two families; in the
/// guess, `hill` is positive if the 4PL curve rises with the dose, and negative if it falls.
fn five(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 64);
    let [_, _, middle, slope] = four_of(&Sketch::of(points, 128));
    let (sign, slope) = (slope.signum(), slope.abs());
    let doses = SearchAxis::logarithmic(0.1 * middle, 10.0 * middle, 11);
    let slopes = SearchAxis::logarithmic(0.2 * slope, 5.0 * slope, 9);
    let axes = [doses, slopes, SearchAxis::logarithmic(0.1, 10.0, 9)];
    let found = search(&sketch, axes, 2, |&[ec50, hill, asymmetry], x, out| {
        let half = (2_f64.ln() / asymmetry).exp_m1();
        let ratio = (x / ec50).max(0.0);
        let share = (1.0 + half * ratio.powf(-sign * hill)).powf(-asymmetry);
        out.copy_from_slice(&[1.0 - share, share]);
    });
    let ([ec50, hill, asymmetry], y) = (found.at, sketch.y_unit);
    let [bottom, top] = [found.factors[0] * y, found.factors[1] * y];
    tame([bottom, top, ec50 * sketch.x_unit, sign * hill, asymmetry])
}
