//! Oscillations.

use crate::data::points::Observations;
use crate::models::estimate::projection::{BestPlace, SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::model::define;
use std::f64::consts::PI;

/// Maximum number of points for the comparison of frequencies. With more points, neighbours are averaged; the fastest
/// detectable oscillation then has two averages per period.
const MOST: usize = 512;

define! {
    /// Sine wave; `frequency` is angular, in radians per unit of x. Add a [`constant`](crate::models::constant)
    /// for an oscillation about a level other than 0.
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
    /// Sine wave with an amplitude that decays exponentially; `frequency` is angular, in radians per unit of x.
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

/// Maximum frequency for unevenly spaced points, relative to the maximum for evenly spaced points.
const BEYOND: f64 = 8.0;
/// Faster oscillations are tried if slower ones leave more than this fraction of the sum of squares.
const POOR: f64 = 0.1;

/// Estimates amplitude, frequency, phase and decay from the least-squares periodogram (N. R. Lomb, Astrophys. Space
/// Sci. 39, 1976). Neighbouring frequencies differ by a quarter of 2π/width, where width is the range of x; the phase
/// follows from the factors of sine and cosine. Unevenly spaced points distinguish more frequencies than evenly spaced
/// ones: up to two points per period at their smallest distance, but at most `BEYOND` times as many. The higher
/// frequencies are tried if lower ones do not describe the points.
fn oscillation(points: &Observations, fading: bool) -> [f64; 4] {
    let sketch = Sketch::of(points, MOST);
    let (low, width) = (sketch.ends().0, sketch.width());
    let resolved = 2.0 * PI / width;
    let even = 0.5 * sketch.x.len().max(2) as f64;
    let shapes = |frequency: f64, decay: f64, x: f64, out: &mut [f64]| {
        let (sine, cosine) = (frequency * x).sin_cos();
        let left = if fading { (-(x - low) / decay).exp() } else { 1.0 };
        out.copy_from_slice(&[left * sine, left * cosine]);
    };
    // Searches from `slowest` to `fastest`, both in units of `resolved`: in periods over the range of x.
    let between = |slowest: f64, fastest: f64| {
        let places = (4.0 * (fastest - slowest)).ceil() as usize + 1;
        let frequencies = SearchAxis::linear(slowest * resolved, fastest * resolved, places);
        if fading {
            let axes = [frequencies, SearchAxis::logarithmic(0.05 * width, 10.0 * width, 6)];
            search(&sketch, axes, 2, |&[w, decay], x, out| shapes(w, decay, x, out))
        } else {
            let found = search(&sketch, [frequencies], 2, |&[w], x, out| shapes(w, 1.0, x, out));
            BestPlace { at: [found.at[0], 1.0], factors: found.factors, cost: found.cost }
        }
    };
    let mut found = between(0.25, even);
    let gaps = sketch.x.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0);
    let fastest = (0.5 * width / gaps.fold(width, f64::min)).min(BEYOND * even);
    let squares: f64 = sketch.y.iter().map(|y| y * y).sum();
    if fastest > 2.0 * even && found.cost > POOR * squares {
        found = found.or(between(even, fastest));
    }
    let BestPlace { at: [frequency, decay], factors, .. } = found;
    let at_zero = if fading { (low / decay).exp() } else { 1.0 };
    let amplitude = factors[0].hypot(factors[1]) * sketch.y_unit * at_zero;
    let shift = factors[1].atan2(factors[0]);
    [amplitude, frequency / sketch.x_unit, shift, decay * sketch.x_unit]
}
