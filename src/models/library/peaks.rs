//! Symmetric peaks.

use crate::data::points::Observations;
use crate::models::estimate::peak::Peak;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::model::define;
use std::f64::consts::{LN_2, PI};

/// Distance from the center, in half widths at half maximum, up to which points are compared with a shape.
const REACH: f64 = 3.5;

define! {
    /// Gaussian: a normal distribution.
    gaussian GAUSSIAN ["x"] Peak
    formula "amplitude/(sigma*sqrt(2*pi))*exp(-((x - center)/sigma)^2/2)"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: width "the standard deviation",
    }
    derived {
        fwhm = "2*sqrt(2*ln(2))*sigma" "full width at half maximum",
        height = "amplitude/(sigma*sqrt(2*pi))" "the value at the center",
    }
    estimate |points| {
        let [center, half, height] = symmetric(points, |u| (-LN_2 * u * u).exp());
        let sigma = half / (2.0 * LN_2).sqrt();
        vec![height * sigma * (2.0 * PI).sqrt(), center, sigma]
    }
}

define! {
    /// Lorentzian, a Cauchy distribution: a line broadened by its lifetime or by collisions.
    lorentzian LORENTZIAN ["x"] Peak
    formula "amplitude/(pi*sigma*(1 + ((x - center)/sigma)^2))"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: width "the half width at half maximum",
    }
    derived {
        fwhm = "2*sigma" "full width at half maximum",
        height = "amplitude/(pi*sigma)" "the value at the center",
    }
    estimate |points| {
        let [center, half, height] = symmetric(points, |u| 1.0 / (1.0 + u * u));
        vec![height * PI * half, center, half]
    }
}

define! {
    /// Voigt profile, the convolution of a Gaussian and a Lorentzian: a line that is broadened by
    /// thermal motion and by its lifetime. Faddeeva's function computes it to full precision.
    voigt VOIGT ["x"] Peak
    formula "amplitude*voigt(x - center, sigma, gamma)"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: positive "the standard deviation of the Gaussian",
        gamma: positive "the half width at half maximum of the Lorentzian",
    }
    derived {
        fwhm = "1.0692*gamma + sqrt(0.86639*gamma^2 + 8*ln(2)*sigma^2)"
            "full width at half maximum, to 0.03 % (E. E. Whiting, J. Quant. Spectrosc. Radiat. Transfer 8, 1968; J. J. Olivero and R. L. Longbothum, ibid. 17, 1977)",
        height = "amplitude*voigt(0, sigma, gamma)" "the value at the center",
    }
    estimate |points| {
        let [center, half, gauss, lorentz] = mixed(points);
        let (gauss, lorentz) = (gauss * half * (PI / LN_2).sqrt(), lorentz * PI * half);
        let (sigma, gamma) = parts_of_voigt(half, gauss, lorentz);
        vec![gauss + lorentz, center, sigma, gamma]
    }
}

define! {
    /// Sum of a Gaussian and a Lorentzian of the same width, an approximation of the Voigt profile. `sigma` is the
    /// half width at half maximum of both.
    pseudo_voigt PSEUDO_VOIGT ["x"] Peak
    formula "amplitude/sigma*((1 - fraction)*sqrt(ln(2)/pi)*exp(-ln(2)*((x - center)/sigma)^2)"
        " + fraction/(pi*(1 + ((x - center)/sigma)^2)))"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: width "the half width at half maximum",
        fraction: between(0.0, 1.0) "the Lorentzian's share of the area",
    }
    derived {
        fwhm = "2*sigma" "full width at half maximum",
        height = "amplitude/sigma*((1 - fraction)*sqrt(ln(2)/pi) + fraction/pi)"
            "the value at the center",
    }
    estimate |points| {
        let [center, half, gauss, lorentz] = mixed(points);
        let (gauss, lorentz) = (gauss * half * (PI / LN_2).sqrt(), lorentz * PI * half);
        vec![gauss + lorentz, center, half, lorentz / (gauss + lorentz)]
    }
}

define! {
    /// Pearson type VII distribution: a Lorentzian for `expon` = 1, nearly a Gaussian for a large `expon`.
    pearson7 PEARSON7 ["x"] Peak
    formula "amplitude*exp(ln_gamma(expon) - ln_gamma(expon - 0.5))/(sigma*sqrt(pi))"
        "*(1 + ((x - center)/sigma)^2)^(-expon)"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: width "the scale of x",
        expon: between(0.501, 1000.0) "the exponent; the area is infinite at 0.5",
    }
    derived {
        fwhm = "2*sigma*sqrt(2^(1/expon) - 1)" "full width at half maximum",
        height = "amplitude*exp(ln_gamma(expon) - ln_gamma(expon - 0.5))/(sigma*sqrt(pi))"
            "the value at the center",
    }
    estimate |points| {
        let [center, sigma, expon, height] = algebraic(points);
        vec![height * sigma * area_of_algebraic(expon), center, sigma, expon]
    }
}

define! {
    /// Moffat profile, for example of a star in a telescope (A. F. J. Moffat, Astron. Astrophys. 3, 1969).
    moffat MOFFAT ["x"] Peak
    formula "amplitude*(1 + ((x - center)/sigma)^2)^(-beta)"
    parameters {
        amplitude: any "the height, in units of y",
        center: any "the position of the maximum",
        sigma: width "the scale of x",
        beta: between(0.501, 1000.0) "the exponent; the area is infinite at 0.5",
    }
    derived {
        fwhm = "2*sigma*sqrt(2^(1/beta) - 1)" "full width at half maximum",
        height = "amplitude" "the value at the center",
        area = "amplitude*sigma*sqrt(pi)*exp(ln_gamma(beta - 0.5) - ln_gamma(beta))"
            "the area, in units of y times x",
    }
    estimate |points| {
        let [center, sigma, beta, height] = algebraic(points);
        vec![height, center, sigma, beta]
    }
}

define! {
    /// Student's t distribution with `sigma` degrees of freedom. It has no parameter for the scale of x: for
    /// peaks of any width use [`pearson7`].
    students_t STUDENTS_T ["x"] Peak
    formula "amplitude*exp(ln_gamma((sigma + 1)/2) - ln_gamma(sigma/2))/sqrt(sigma*pi)"
        "*(1 + (x - center)^2/sigma)^(-(sigma + 1)/2)"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: between(0.01, 1e6) "the degrees of freedom",
    }
    derived {
        fwhm = "2*sqrt(sigma*(2^(2/(sigma + 1)) - 1))" "full width at half maximum",
        height = "amplitude*exp(ln_gamma((sigma + 1)/2) - ln_gamma(sigma/2))/sqrt(sigma*pi)"
            "the value at the center",
    }
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.window(2.0 * REACH);
        let unit = window.x_unit;
        let axes = [around(&window, &peak), SearchAxis::logarithmic(0.1, 100.0, 13)];
        let found = search(&window, axes, 1, |&[center, nu], x, out| {
            out[0] = (1.0 + ((x - center) * unit).powi(2) / nu).powf(-(nu + 1.0) / 2.0);
        });
        let nu = found.at[1];
        let area = (nu * PI).sqrt() * (ln_gamma(nu / 2.0) - ln_gamma((nu + 1.0) / 2.0)).exp();
        vec![found.factors[0] * window.y_unit * area, found.at[0] * unit, nu]
    }
}

/// Estimates center, half width at half maximum and height of a peak of a known shape, which is 1 at 0 and 1/2
/// at ±1.
fn symmetric(points: &Observations, shape: fn(f64) -> f64) -> [f64; 3] {
    let peak = Peak::of(points);
    let window = peak.window(REACH);
    let axes = [around(&window, &peak), widths(&window, peak.half_width())];
    let found = search(&window, axes, 1, |&[center, half], x, out| {
        out[0] = shape((x - center) / half);
    });
    let [center, half] = found.at.map(|v| v * window.x_unit);
    [center, half, found.factors[0] * window.y_unit]
}

/// Estimates center, half width, and the heights of a Gaussian and a Lorentzian; both heights have the same sign.
pub(super) fn mixed(points: &Observations) -> [f64; 4] {
    let peak = Peak::of(points);
    let window = peak.window(2.0 * REACH);
    let axes = [around(&window, &peak), widths(&window, peak.half_width())];
    let found = search(&window, axes, 2, |&[center, half], x, out| {
        let u = (x - center) / half;
        out[0] = (-LN_2 * u * u).exp();
        out[1] = 1.0 / (1.0 + u * u);
    });
    let [center, half] = found.at.map(|v| v * window.x_unit);
    let sum = found.factors[0] + found.factors[1];
    let share = if sum == 0.0 { 0.5 } else { (found.factors[1] / sum).clamp(0.02, 0.98) };
    let height = sum * window.y_unit;
    [center, half, height * (1.0 - share), height * share]
}

/// Returns σ and γ of the Voigt profile that approximates the sum of a Gaussian and a Lorentzian with the same half
/// width and these areas (P. Thompson, D. E. Cox and J. B. Hastings, J. Appl. Cryst. 20, 1987).
pub(super) fn parts_of_voigt(half: f64, gauss: f64, lorentz: f64) -> (f64, f64) {
    let sum = gauss + lorentz;
    let n = if sum == 0.0 { 0.5 } else { (lorentz / sum).clamp(0.0, 1.0) };
    let of_lorentz = 0.72928 * n + 0.19289 * n * n + 0.07783 * n * n * n;
    let of_gauss = (1.0 - 0.74417 * n - 0.24781 * n * n - 0.00810 * n * n * n).max(1e-3).sqrt();
    (half * of_gauss / (2.0 * LN_2).sqrt(), half * of_lorentz)
}

/// Estimates center, scale, exponent and height of a peak (1 + u²)^−m.
fn algebraic(points: &Observations) -> [f64; 4] {
    let peak = Peak::of(points);
    let window = peak.window(2.0 * REACH);
    let exponents = SearchAxis::logarithmic(0.7, 20.0, 7);
    let axes = [around(&window, &peak), widths(&window, peak.half_width()), exponents];
    let found = search(&window, axes, 1, |&[center, half, m], x, out| {
        let u = (x - center) / half;
        out[0] = (1.0 + u * u * (2.0_f64.powf(1.0 / m) - 1.0)).powf(-m);
    });
    let [center, half, m] = found.at;
    let scale = half / (2.0_f64.powf(1.0 / m) - 1.0).sqrt();
    let unit = window.x_unit;
    [center * unit, scale * unit, m, found.factors[0] * window.y_unit]
}

/// Returns ∫ (1 + u²)^−m du.
fn area_of_algebraic(m: f64) -> f64 {
    PI.sqrt() * (ln_gamma(m - 0.5) - ln_gamma(m)).exp()
}

fn ln_gamma(x: f64) -> f64 {
    crate::model::scalar::Scalar::ln_gamma(x)
}

/// Returns centers within 0.6 half widths of the highest point, in units of the window.
pub(super) fn around(window: &Sketch, peak: &Peak) -> SearchAxis {
    let (center, reach) = (peak.center / window.x_unit, peak.half_width() / window.x_unit);
    SearchAxis::linear(center - 0.6 * reach, center + 0.6 * reach, 9)
}

/// Returns widths from 0.4 to 2.5 times `width`, in units of the window.
pub(super) fn widths(window: &Sketch, width: f64) -> SearchAxis {
    let width = width / window.x_unit;
    SearchAxis::logarithmic(0.4 * width, 2.5 * width, 9)
}
