//! Diffusion and adsorption: water in tissue, molecules in a focus, layers of a gas on a surface.

use super::decays::several;
use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Intravoxel incoherent motion (Le Bihan et al., Radiology 168 (1988) 497): diffusion signal of tissue in which
    /// some of the water flows. x: the b value.
    ivim IVIM ["x"] Curve
    formula "s0*((1 - fraction)*exp(-x*diffusion) + fraction*exp(-x*pseudo_diffusion))"
    parameters {
        s0: any "the signal at b = 0",
        fraction: between(0.0, 1.0) "the part that flows, the perfusion fraction",
        diffusion: positive "the diffusion coefficient, per unit of x",
        pseudo_diffusion: positive "the faster coefficient of what flows",
    }
    derived {
        perfusion = "fraction*pseudo_diffusion" "what is in proportion to the blood flow",
        initial_slope = "-s0*((1 - fraction)*diffusion + fraction*pseudo_diffusion)"
            "the slope at x = 0",
    }
    estimate flowing
}

define! {
    /// Fluorescence correlation of molecules that diffuse through a Gaussian focus (Aragón and Pecora, J. Chem. Phys.
    /// 64 (1976) 1791). x: the lag. Fix the `aspect` of the focus: a calibration determines it better than such points.
    fcs_diffusion FCS_DIFFUSION ["x"] Curve
    formula "1/(number*(1 + x/time)*sqrt(1 + x/(aspect^2*time)))"
    parameters {
        number: width "the mean number of molecules in the focus",
        time: width "the time to diffuse across it, in units of x",
        aspect: between(1.0, 30.0) "the length of the focus over its width, commonly 3 to 8",
    }
    derived { at_zero = "1/number" "the correlation at lag 0" }
    estimate focused
}

define! {
    /// BET isotherm: layers of a gas on a surface (Brunauer, Emmett and Teller, J. Am. Chem. Soc. 60 (1938) 309). x:
    /// the pressure divided by the saturation pressure; the theory is valid from about 0.05 to 0.35.
    bet BET ["x"] Curve
    formula "monolayer*c*x/((1 - x)*(1 + (c - 1)*x))"
    parameters {
        monolayer: any "what one layer holds",
        c: width "the constant that grows with the heat of adsorption",
    }
    derived { completed = "1/(1 + sqrt(c))" "the x at which one layer is there" }
    estimate layered
}

fn flowing(points: &Observations) -> Vec<f64> {
    let found = several(points, 2).unwrap_or_default();
    let &[fast, fast_time, slow, slow_time] = found.as_slice() else { return tame([1.0; 4]) };
    let s0 = fast + slow;
    let fraction = if s0 == 0.0 { 0.5 } else { (fast / s0).clamp(0.01, 0.99) };
    tame([s0, fraction, 1.0 / slow_time, 1.0 / fast_time])
}

fn focused(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 128);
    let low = sketch.least_positive();
    let high = sketch.ends().1.max(low);
    let axes = [
        SearchAxis::logarithmic(0.1 * low, 10.0 * high, 60),
        SearchAxis::logarithmic(1.0, 20.0, 9),
    ];
    let found = search(&sketch, axes, 1, |&[time, aspect], x, out| {
        out[0] = 1.0 / ((1.0 + x / time) * (1.0 + x / (aspect * aspect * time)).sqrt());
    });
    let [time, aspect] = found.at;
    tame([1.0 / (found.factors[0] * sketch.y_unit), time * sketch.x_unit, aspect])
}

fn layered(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let found = search(&sketch, [SearchAxis::logarithmic(1e-2, 1e5, 90)], 1, |&[c], x, out| {
        let x = x * sketch.x_unit;
        out[0] = c * x / ((1.0 - x) * (1.0 + (c - 1.0) * x));
    });
    tame([found.factors[0] * sketch.y_unit, found.at[0]])
}
