//! Oscillations over x.

use crate::data::observations::Observations;
use crate::models::definition::define;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use std::f64::consts::PI;

/// Points in which frequencies are compared: neighbours are averaged, and so the fastest oscillation
/// that is found has two of these means per period.
const MOST: usize = 512;

define! {
    /// A sine; `frequency` is angular, in radians per unit of x. Add a [`constant`](crate::models::constant)
    /// for an oscillation about another level than 0.
    sine SINE ["x"] Wave
    formula "amplitude*sin(frequency*x + shift)"
    parameters {
        amplitude: any "the amplitude, in units of y",
        frequency: any "the angular frequency: 2π over the period",
        shift: any "the phase at x = 0, in radians",
    }
    derived { period = "2*pi/frequency" "the length of one oscillation, in units of x" }
    estimate |points| {
        let [amplitude, frequency, shift, _] = oscillation(points, false);
        vec![amplitude, frequency, shift]
    }
}

define! {
    /// A sine that fades from x = 0 on; `frequency` is angular, in radians per unit of x.
    damped_sine DAMPED_SINE ["x"] Wave
    formula "amplitude*exp(-x/decay)*sin(frequency*x + shift)"
    parameters {
        amplitude: any "the amplitude at x = 0, in units of y",
        frequency: any "the angular frequency: 2π over the period",
        shift: any "the phase at x = 0, in radians",
        decay: width "the x in which it fades by the factor e",
    }
    derived {
        period = "2*pi/frequency" "the length of one oscillation, in units of x",
        rate = "1/decay" "the rate of fading",
        quality = "abs(frequency)*decay/2" "the quality factor",
    }
    estimate |points| oscillation(points, true).to_vec()
}

/// Amplitude, frequency, phase and decay: the periodogram of least squares over frequencies at
/// distances of a quarter of what the range resolves (N. R. Lomb, Astrophys. Space Sci. 39, 1976), the
/// phase from the factors of sine and cosine.
fn oscillation(points: &Observations, fading: bool) -> [f64; 4] {
    let sketch = Sketch::of(points, MOST);
    let (low, width) = (sketch.ends().0, sketch.width());
    let resolved = 2.0 * PI / width;
    let fastest = 0.5 * sketch.x.len().max(2) as f64;
    let frequencies =
        SearchAxis::linear(0.25 * resolved, fastest * resolved, (4.0 * fastest) as usize);
    let shapes = |frequency: f64, decay: f64, x: f64, out: &mut [f64]| {
        let (sine, cosine) = (frequency * x).sin_cos();
        let left = if fading { (-(x - low) / decay).exp() } else { 1.0 };
        out.copy_from_slice(&[left * sine, left * cosine]);
    };
    let (frequency, decay, factors) = if fading {
        let axes = [frequencies, SearchAxis::logarithmic(0.05 * width, 10.0 * width, 6)];
        let found = search(&sketch, axes, 2, |&[w, decay], x, out| shapes(w, decay, x, out));
        (found.at[0], found.at[1], found.factors)
    } else {
        let found = search(&sketch, [frequencies], 2, |&[w], x, out| shapes(w, 1.0, x, out));
        (found.at[0], 1.0, found.factors)
    };
    let at_zero = if fading { (low / decay).exp() } else { 1.0 };
    let amplitude = factors[0].hypot(factors[1]) * sketch.y_unit * at_zero;
    let shift = factors[1].atan2(factors[0]);
    [amplitude, frequency / sketch.x_unit, shift, decay * sketch.x_unit]
}
