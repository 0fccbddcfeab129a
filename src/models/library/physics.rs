//! Laws of physics: temperature dependence of rates, radiation, and forces between atoms.

use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Rate of a reaction as a function of the absolute temperature (Arrhenius, 1889). x: the temperature in K.
    arrhenius ARRHENIUS ["x"] Curve
    formula "amplitude*exp(-energy/(8.31446261815324*x))"
    parameters {
        amplitude: any "the rate without a barrier",
        energy: any "the activation energy in J/mol",
    }
    derived {
        ln_amplitude = "ln(amplitude)" "the logarithm of the amplitude",
        energy_ev = "energy/96485.33212331" "the energy in eV per particle",
        rate_298 = "amplitude*exp(-energy/(8.31446261815324*298.15))" "the rate at 25 °C",
    }
    estimate activated
}

define! {
    /// Planck's law: spectral radiance of a black body in W/(m² sr µm). x: the wavelength in µm.
    planck PLANCK ["x"] Peak
    formula "amplitude*1.1910429723971884e8" "/(x^5*expm1(14387.768775039337/(x*temperature)))"
    parameters {
        amplitude: any "the emissivity, times whatever the instrument adds",
        temperature: width "the temperature in K",
    }
    derived {
        peak_wavelength = "2897.771955185173/temperature" "the wavelength of the maximum in µm (Wien)",
        exitance = "amplitude*5.670374419184431e-8*temperature^4"
            "what leaves the surface in W/m² (Stefan and Boltzmann)",
    }
    estimate radiated
}

define! {
    /// Potential energy of two atoms as a function of their distance: a repulsion x⁻¹² and an attraction x⁻⁶.
    lennard_jones LENNARD_JONES ["x"] Curve
    formula "4*depth*((sigma/x)^12 - (sigma/x)^6)"
    parameters {
        depth: any "the depth of the minimum",
        sigma: positive "the distance at which the energy is 0, in units of x",
    }
    derived {
        distance = "2^(1/6)*sigma" "the distance of the minimum",
        stiffness = "72*depth/(2^(1/3)*sigma^2)" "the second derivative at the minimum",
    }
    estimate two_powers
}

define! {
    /// Potential energy of a bond as a function of its length (Morse, 1929); 0 at infinite length.
    morse MORSE ["x"] Curve
    formula "depth*((1 - exp(-(x - center)/width))^2 - 1)"
    parameters {
        depth: any "the depth of the minimum",
        center: any "the length at the minimum",
        width: width "the reach of the force, in units of x: 1/a in Morse's form",
    }
    derived {
        stiffness = "2*depth/width^2" "the second derivative at the minimum",
        zero = "center - width*ln(2)" "the length at which the energy is 0",
    }
    estimate bond
}

fn activated(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of_positive(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let spread = if high > low { 1.0 / low - 1.0 / high } else { 1.0 };
    let [rising, falling] = [1.0, -1.0].map(|sign| {
        let temperatures = SearchAxis::logarithmic(1e-2 / spread, 100.0 / spread, 80);
        // The exponential is scaled so that its maximum is 1.
        let origin = if sign > 0.0 { high } else { low };
        let mut found = search(&sketch, [temperatures], 1, |&[t], x, out| {
            out[0] = (-sign * t * (1.0 / x - 1.0 / origin)).exp();
        });
        found.at[0] *= sign;
        found.factors[0] *= (found.at[0] / origin).exp();
        found
    });
    let found = rising.or(falling);
    let energy = found.at[0] * sketch.x_unit * 8.31446261815324;
    tame([found.factors[0] * sketch.y_unit, energy])
}

/// Estimates amplitude and temperature. Only temperatures whose peak is between a tenth of the shortest and ten times
/// the longest wavelength are tried.
fn radiated(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of_positive(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    // The radiation constant divided by the temperature is a wavelength, about 5x the wavelength of the peak.
    let waves = SearchAxis::logarithmic(0.5 * low, 50.0 * high, 100);
    let found = search(&sketch, [waves], 1, |&[wave], x, out| {
        // The value at the peak is about 21 for every temperature.
        let part = wave / x;
        out[0] = part.powi(5) / part.exp_m1();
    });
    let wave = found.at[0] * sketch.x_unit;
    let temperature = 14387.768775039337 / wave;
    let factor = found.factors[0] * sketch.y_unit;
    tame([factor * wave.powi(5) / 1.1910429723971884e8, temperature])
}

fn two_powers(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of_positive(points, 256);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let found =
        search(&sketch, [SearchAxis::logarithmic(0.2 * low, high, 100)], 1, |&[sigma], x, out| {
            let part = (sigma / x).powi(6);
            out[0] = 4.0 * part * (part - 1.0);
        });
    tame([found.factors[0] * sketch.y_unit, found.at[0] * sketch.x_unit])
}

fn bond(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let ((low, high), reach) = (sketch.ends(), sketch.width());
    let centers = SearchAxis::linear(low - 0.5 * reach, high, 37);
    let widths = SearchAxis::logarithmic(reach / 100.0, reach * 3.0, 16);
    let found = search(&sketch, [centers, widths], 1, |&[center, width], x, out| {
        let part = (-(x - center) / width).exp();
        out[0] = part * (part - 2.0);
    });
    let ([center, width], unit) = (found.at, sketch.x_unit);
    tame([found.factors[0] * sketch.y_unit, center * unit, width * unit])
}
