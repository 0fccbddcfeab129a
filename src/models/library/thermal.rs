//! Distributions of particles in thermal equilibrium over the energy x, with kT in units of x.

use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

/// Maximum number of points for the comparison of shapes.
const MOST: usize = 256;

define! {
    /// Fermi-Dirac distribution, for example of electrons in a metal: an edge that falls from `amplitude` to 0 over a
    /// few `kt`. For a rising edge use [`step_logistic`](super::steps::step_logistic).
    fermi_dirac FERMI_DIRAC ["x"] Step
    formula "amplitude*fermi((x - center)/kt)"
    parameters {
        amplitude: any "the value far below `center`, in units of y",
        center: any "where half of it is left: the chemical potential",
        kt: width "the thermal energy kT, in units of x",
    }
    derived {
        fall = "2*ln(9)*kt" "the distance from 90 % to 10 % of `amplitude`",
        temperature_ev = "kt/8.617333262145179e-5" "the temperature in K, for x in eV",
    }
    estimate |points| {
        let sketch = Sketch::of(points, MOST);
        let ((low, high), width) = (sketch.ends(), sketch.width());
        let least = 0.1 * width / sketch.x.len().max(2) as f64;
        let axes = [SearchAxis::linear(low, high, 61), SearchAxis::logarithmic(least, width, 13)];
        let edge = |&[center, kt]: &[f64; 2], x: f64| 1.0 / (((x - center) / kt).exp() + 1.0);
        let alone = search(&sketch, axes, 1, |at, x, out| out[0] = edge(at, x));
        // If a background was estimated from points before the edge, it is too high. Therefore a fit with an additional
        // constant is tried.
        let raised =
            search(&sketch, axes, 2, |at, x, out| out.copy_from_slice(&[edge(at, x), 1.0]));
        let found = if raised.cost < 0.25 * alone.cost { raised } else { alone };
        let [center, kt] = found.at.map(|v| v * sketch.x_unit);
        tame([found.factors[0] * sketch.y_unit, center, kt])
    }
}

define! {
    /// Bose-Einstein distribution: occupation numbers, for example of phonons. It has a pole at `center`.
    bose_einstein BOSE_EINSTEIN ["x"] Curve
    formula "amplitude*bose((x - center)/kt)"
    parameters {
        amplitude: any "the factor of the occupation, in units of y",
        center: any "where it is infinite: the chemical potential",
        kt: width "the thermal energy kT, in units of x",
    }
    derived {
        temperature_ev = "kt/8.617333262145179e-5" "the temperature in K, for x in eV",
    }
    estimate |points| {
        let sketch = Sketch::of(points, MOST);
        let ((low, high), width) = (sketch.ends(), sketch.width());
        let step = width / sketch.x.len().max(2) as f64;
        let energies = SearchAxis::logarithmic(0.03 * width, 10.0 * width, 13);
        let occupation = |x: f64, center: f64, kt: f64| 1.0 / ((x - center) / kt).exp_m1();
        // The pole is below all points or between them.
        let below = SearchAxis::logarithmic(0.03 * step, 2.0 * width, 31);
        let mut outside = search(&sketch, [below, energies], 1, |&[gap, kt], x, out| {
            out[0] = occupation(x, low - gap, kt);
        });
        outside.at[0] = low - outside.at[0];
        let inside = SearchAxis::linear(low + 0.5 * step, high, 160);
        let inside = search(&sketch, [inside, energies], 1, |&[center, kt], x, out| {
            out[0] = occupation(x, center, kt);
        });
        let found = outside.or(inside);
        let [center, kt] = found.at.map(|v| v * sketch.x_unit);
        tame([found.factors[0] * sketch.y_unit, center, kt])
    }
}
