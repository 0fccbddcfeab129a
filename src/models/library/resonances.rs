//! Resonances: line shapes and responses of oscillators.

use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::model::define;
use std::f64::consts::PI;

/// Maximum number of points of the sketch from which an initial guess is computed.
const MOST: usize = 400;

define! {
    /// Fano line shape of a resonance that interferes with a continuum (G. Breit and E. Wigner, Phys. Rev.
    /// 49, 1936; U. Fano, Phys. Rev. 124, 1961). It is 0 at `zero` and approaches `amplitude` far away.
    breit_wigner BREIT_WIGNER ["x"] Wave
    formula "amplitude*((q + 2*(x - center)/sigma)/hypot(1, 2*(x - center)/sigma))^2"
    parameters {
        amplitude: any "the level far away, in units of y",
        center: any "the position of the resonance",
        sigma: width "its full width",
        q: any "Fano's parameter: 0 for a dip, large for a Lorentzian",
    }
    derived {
        height = "amplitude*(1 + q^2)" "the value at the maximum",
        zero = "center - q*sigma/2" "where it is 0",
    }
    estimate |points| {
        let sketch = Sketch::of(points, MOST);
        let (low, high) = sketch.ends();
        let axes = [SearchAxis::linear(low, high, 61), half_widths(&sketch, 12)];
        // A (q + e)²/(1 + e²) = A + A (q² − 1)/(1 + e²) + 2 A q e/(1 + e²).
        let found = search(&sketch, axes, 3, |&[center, half], x, out| {
            let e = (x - center) / half;
            let line = 1.0 / (1.0 + e * e);
            out.copy_from_slice(&[1.0, line, e * line]);
        });
        let [center, half] = found.at.map(|v| v * sketch.x_unit);
        let level = found.factors[0] * sketch.y_unit;
        let (even, odd) = (found.factors[1] * sketch.y_unit, found.factors[2] * sketch.y_unit);
        // For A > 0 the complex number A (q + i)² = A (q² − 1) + 2 i A q has twice the angle of q + i. Therefore q
        // is the cotangent of half of its angle.
        let sign = if level < 0.0 { -1.0 } else { 1.0 };
        let angle = (sign * odd).atan2(sign * even) / 2.0;
        let q = (angle.cos() / angle.sin()).clamp(-1e3, 1e3);
        vec![sign * even.hypot(odd) / (1.0 + q * q), center, 2.0 * half, q]
    }
}

define! {
    /// Amplitude of a driven, damped oscillator as a function of the driving frequency x.
    damped_oscillator DAMPED_OSCILLATOR ["x"] Peak
    formula "amplitude/hypot(1 - (x/center)^2, 2*sigma*x/center)"
    parameters {
        amplitude: any "the response at rest, x = 0, in units of y",
        center: width "the frequency of the undamped oscillator",
        sigma: width "the damping over the critical one",
    }
    derived {
        quality = "1/(2*sigma)" "the quality factor",
        mode = "center*sqrt(max(1 - 2*sigma^2, 0))" "the position of the maximum",
        height = "amplitude/if(2*sigma^2 < 1, 2*sigma*sqrt(max(1 - sigma^2, 0.5)), 1)"
            "the value at the maximum",
        // At half of the maximum (1 − w)² + 4 sigma² w = 4 (amplitude/height)², a quadratic equation for
        // w = (x/center)².
        fwhm = "center*(sqrt(1 - 2*sigma^2 \
            + sqrt(if(2*sigma^2 < 1, 12*sigma^2*(1 - sigma^2), (1 - 2*sigma^2)^2 + 3))) \
            - sqrt(max(1 - 2*sigma^2 - sqrt(12*sigma^2*max(1 - sigma^2, 0.5)), 0)))"
            "full width at half maximum, from x = 0 if the response at rest is above half of the maximum",
    }
    estimate |points| {
        let sketch = Sketch::of(points, MOST);
        let (low, high) = sketch.ends();
        let low = low.abs().min(high.abs()).max(0.01 * high.abs().max(low.abs())).max(1e-6);
        let high = high.abs().max(2.0 * low);
        let axes = [SearchAxis::logarithmic(low, 1.5 * high, 81), SearchAxis::logarithmic(3e-3, 2.0, 13)];
        let found = search(&sketch, axes, 1, |&[center, sigma], x, out| {
            let u = x / center;
            out[0] = 1.0 / (1.0 - u * u).hypot(2.0 * sigma * u);
        });
        let [center, sigma] = found.at;
        vec![found.factors[0] * sketch.y_unit, center * sketch.x_unit, sigma]
    }
}

define! {
    /// Spectrum of a damped oscillator in thermal equilibrium, for example of phonons in neutron scattering. x: the
    /// energy or frequency; the probe loses it for x > 0 and gains it for x < 0. The spectrum is the difference of two
    /// Lorentzians at ±`center`, multiplied by the factor of detailed balance 1/(1 − exp(−x/gamma)). At x = 0 it is the
    /// limit for x → 0.
    damped_harmonic_oscillator DAMPED_HARMONIC_OSCILLATOR ["x"] Peak
    formula "4*amplitude*sigma*center/pi*if(x == 0, gamma, -x*bose(-x/gamma))"
        "/(((x - center)^2 + sigma^2)*((x + center)^2 + sigma^2))"
    parameters {
        amplitude: any "the area of either Lorentzian, in units of y times x",
        center: positive "the position of the Lorentzians, ±`center`",
        sigma: width "the half width at half maximum of each",
        gamma: width "the thermal energy kT, in units of x",
    }
    derived {
        undamped = "hypot(center, sigma)" "the frequency of the undamped oscillator",
        quality = "hypot(center, sigma)/(2*sigma)" "the quality factor",
        balance = "exp(center/gamma)" "the value at `center` over that at −`center`",
    }
    estimate |points| {
        let sketch = Sketch::of(points, MOST / 2);
        let (low, high) = sketch.ends();
        let far = low.abs().max(high.abs());
        let axes = [
            SearchAxis::linear(0.02 * far, far, 40),
            SearchAxis::logarithmic(0.01 * far, far, 9),
            SearchAxis::logarithmic(0.03 * far, 10.0 * far, 6),
        ];
        // In units of `far`, all values are about 1.
        let found = search(&sketch, axes, 1, |&[center, sigma, gamma], x, out| {
            let thermal = if x == 0.0 { gamma } else { -x / (-x / gamma).exp_m1() };
            let [left, right] = [x + center, x - center].map(|d| d * d + sigma * sigma);
            out[0] = sigma * center * thermal / (left * right);
        });
        let unit = sketch.x_unit;
        let [center, sigma, gamma] = found.at.map(|v| v * unit);
        vec![found.factors[0] * sketch.y_unit * PI / 4.0 * unit, center, sigma, gamma]
    }
}

/// Returns an axis of half widths. It begins at half the mean distance between points and ends at the width of the
/// range of x.
fn half_widths(sketch: &Sketch, places: usize) -> SearchAxis {
    let width = sketch.width();
    SearchAxis::logarithmic(0.5 * width / sketch.x.len().max(2) as f64, width, places)
}
