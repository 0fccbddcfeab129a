//! Asymmetric peaks.

use super::peaks::{parts_of_voigt, widths};
use crate::data::points::Observations;
use crate::model::scalar::Scalar;
use crate::models::estimate::peak::Peak;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::model::define;
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI, SQRT_2};

/// Distance from the center, in half widths of the same side, up to which points are compared with a shape.
const REACH: f64 = 4.0;
/// Minimum fraction of a skewed Voigt profile's width that the initial guess assigns to the Gaussian.
const LEAST_GAUSSIAN: f64 = 0.3;

define! {
    /// Convolution of a normal and an exponential distribution, with the tail on the right: a peak of a chromatogram
    /// (E. Grushka, Anal. Chem. 44, 1972). It does not overflow for a small `gamma` or for points far away
    /// (as in Y. Kalambet et al., J. Chemometrics 25, 2011).
    exponential_gaussian EXPONENTIAL_GAUSSIAN ["x"] Peak
    formula "amplitude*gamma/2*if(x - center < gamma*sigma^2,"
        " exp(-((x - center)/sigma)^2/2)"
        "*erfcx(max(gamma*sigma - (x - center)/sigma, 0)/sqrt(2)),"
        " exp(min(gamma*(center - x) + (gamma*sigma)^2/2, 0))"
        "*erfc(min(gamma*sigma - (x - center)/sigma, 0)/sqrt(2)))"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the mean of the Gaussian",
        sigma: width "the standard deviation of the Gaussian",
        gamma: width "the rate of the exponential, one over its mean",
    }
    derived {
        tau = "1/gamma" "the length of the tail",
        mean = "center + 1/gamma" "the center of mass",
        deviation = "sqrt(sigma^2 + 1/gamma^2)" "the standard deviation of the whole",
    }
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.skewed_window(REACH);
        let half = (peak.left + peak.right) / 2.0;
        let sigma = peak.left.min(half) / (2.0 * LN_2).sqrt();
        let at = |x: f64| x / window.x_unit;
        let axes = [
            SearchAxis::linear(at(peak.center - 1.5 * peak.left), at(peak.center + 0.3 * peak.right), 11),
            widths(&window, sigma),
            SearchAxis::logarithmic(at(0.1 * half), at(5.0 * half), 11),
        ];
        let found = search(&window, axes, 1, |&[center, sigma, tau], x, out| {
            out[0] = exponential_gauss((x - center) / sigma, sigma / tau);
        });
        let [center, sigma, tau] = found.at.map(|v| v * window.x_unit);
        vec![found.factors[0] * window.y_unit * 2.0 * tau, center, sigma, 1.0 / tau]
    }
}

define! {
    /// Product of a normal density and a cumulative normal distribution (A. Azzalini, Scand. J. Statist. 12, 1985).
    skewed_gaussian SKEWED_GAUSSIAN ["x"] Peak
    formula "amplitude/(sigma*sqrt(2*pi))*exp(-((x - center)/sigma)^2/2)"
        "*erfc(-gamma*(x - center)/(sigma*sqrt(2)))"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the Gaussian; not of the maximum unless `gamma` is 0",
        sigma: width "the standard deviation of the Gaussian",
        gamma: any "the skewness: positive with a long tail on the right, 0 for a Gaussian",
    }
    derived {
        mean = "center + sigma*gamma*sqrt(2/(pi*(1 + gamma^2)))" "the center of mass",
        deviation = "sigma*sqrt(1 - 2*gamma^2/(pi*(1 + gamma^2)))"
            "the standard deviation of the whole",
    }
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.skewed_window(REACH);
        let axes = [
            between_sides(&window, &peak, 13),
            widths(&window, peak.left.max(peak.right) / (2.0 * LN_2).sqrt()),
            SearchAxis::linear(-6.0, 6.0, 13),
        ];
        let found = search(&window, axes, 1, |&[center, sigma, gamma], x, out| {
            let u = (x - center) / sigma;
            out[0] = (-0.5 * u * u).exp() * Scalar::erfc(-gamma * u * FRAC_1_SQRT_2);
        });
        let [center, sigma, gamma] = found.at;
        let (x, y) = (window.x_unit, window.y_unit);
        let area = found.factors[0] * y * sigma * x * (2.0 * PI).sqrt();
        vec![area, center * x, sigma * x, gamma]
    }
}

define! {
    /// Product of a Voigt profile and a cumulative normal distribution: a line with a tail of any size on one side.
    /// `skew` corresponds to `gamma` of [`skewed_gaussian`].
    skewed_voigt SKEWED_VOIGT ["x"] Peak
    formula "amplitude*voigt(x - center, sigma, gamma)"
        "*erfc(-skew*(x - center)/(sigma*sqrt(2)))"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of Voigt's profile; not of the maximum unless `skew` is 0",
        sigma: width "the standard deviation of the Gaussian",
        gamma: positive "the half width at half maximum of the Lorentzian",
        skew: any "the skewness: positive with a long tail on the right, 0 for Voigt's profile",
    }
    derived {}
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.skewed_window(2.0 * REACH);
        let axes = [
            between_sides(&window, &peak, 13),
            widths(&window, peak.left.max(peak.right)),
            SearchAxis::linear(-5.0, 5.0, 11),
        ];
        // A Gaussian and a Lorentzian of the same half width, both skewed.
        let found = search(&window, axes, 2, |&[center, half, skew], x, out| {
            let u = (x - center) / half;
            let side = Scalar::erfc(-skew * u);
            out.copy_from_slice(&[(-LN_2 * u * u).exp() * side, side / (1.0 + u * u)]);
        });
        let [center, half, skew] = found.at;
        let [gauss, lorentz] = [(PI / LN_2).sqrt(), PI].map(|area| area * half * window.x_unit);
        let (gauss, lorentz) = (gauss * found.factors[0], lorentz * found.factors[1]);
        let half = half * window.x_unit;
        let (sigma, gamma) = parts_of_voigt(half, gauss, lorentz);
        // The cost has another minimum near `sigma` = 0: a Lorentzian without a Gaussian, whose skew has no effect.
        let sum = sigma + gamma;
        let (sigma, gamma) = if sigma < LEAST_GAUSSIAN * sum {
            (LEAST_GAUSSIAN * sum, sum - LEAST_GAUSSIAN * sum)
        } else {
            (sigma, gamma)
        };
        let skew = skew * sigma * SQRT_2 / half;
        vec![(gauss + lorentz) * window.y_unit, center * window.x_unit, sigma, gamma, skew]
    }
}

define! {
    /// Pearson type IV distribution (K. Pearson, Phil. Trans. R. Soc. A 186, 1895):
    /// [`pearson7`](super::peaks::pearson7) with different tails.
    pearson4 PEARSON4 ["x"] Peak
    formula "amplitude/(sigma*sqrt(pi))*exp(2*ln_gamma_re(expon, skew/2) - ln_gamma(expon)"
        " - ln_gamma(expon - 0.5) - expon*log1p(((x - center)/sigma)^2)"
        " - skew*atan((x - center)/sigma))"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position for `skew` = 0; the maximum is at `mode`",
        sigma: width "the scale of x",
        expon: between(0.501, 1000.0) "the exponent; the area is infinite at 0.5",
        skew: between(-1000.0, 1000.0) "the asymmetry: positive with a long tail on the left",
    }
    derived {
        mode = "center - sigma*skew/(2*expon)" "the position of the maximum",
        fwhm = "2*sigma*sqrt((2^(1/expon) - 1)*(1 + (skew/(2*expon))^2))*(1 + 0.0782*skew^2/((expon + 0.107)*(4*expon^2 \
            + skew^2) - 0.0359*skew^2))"
            "full width at half maximum, within 0.03 %: exact for `skew` = 0, else fitted to widths found by bisection",
        height = "amplitude/(sigma*sqrt(pi))*exp(2*ln_gamma_re(expon, skew/2) - ln_gamma(expon) \
            - ln_gamma(expon - 0.5) - expon*log1p((skew/(2*expon))^2) + skew*atan(skew/(2*expon)))"
            "the value at the maximum",
    }
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.skewed_window(2.0 * REACH);
        let half = window.x_unit.recip() * (peak.left + peak.right) / 2.0;
        let top = window.x_unit.recip() * peak.center;
        let axes = [
            SearchAxis::linear(top - 0.5 * half, top + 0.5 * half, 7),
            widths(&window, (peak.left + peak.right) / 2.0),
            SearchAxis::logarithmic(0.7, 20.0, 7),
            SearchAxis::linear(-2.0, 2.0, 9),
        ];
        // t is skew/(2·expon): the maximum is at u = −t, and near it the curve is √(1 + t²) times wider.
        let scale_of = |half: f64, m: f64, t: f64| {
            half / ((2.0_f64.powf(1.0 / m) - 1.0) * (1.0 + t * t)).sqrt()
        };
        let found = search(&window, axes, 1, |&[mode, half, m, t], x, out| {
            let u = (x - mode) / scale_of(half, m, t) - t;
            let log = ((1.0 + u * u) / (1.0 + t * t)).ln() + 2.0 * t * (u.atan() + t.atan());
            out[0] = (-m * log).exp();
        });
        let ([mode, half, m, t], unit) = (found.at, window.x_unit);
        let sigma = scale_of(half, m, t) * unit;
        // ∫ (1 + u²)^−m exp(−2mt atan u) du divided by the maximum of the integrand, by 200 steps in atan u.
        let angle = |i: u32| PI * ((f64::from(i) + 0.5) / 200.0 - 0.5);
        let part = |i: u32| {
            let a = angle(i);
            let cosine = a.cos();
            let log = -(1.0 + t * t).ln() + 2.0 * t * (a + t.atan());
            cosine.powf(2.0 * m - 2.0) * (-m * log).exp() * PI / 200.0
        };
        let area: f64 = (0..200).map(part).sum();
        let amplitude = found.factors[0] * window.y_unit * area * sigma;
        vec![amplitude, mode * unit + sigma * t, sigma, m, 2.0 * m * t]
    }
}

define! {
    /// Log-normal distribution for x > 0; its value is 0 elsewhere. `center` and `sigma` are the mean and the
    /// standard deviation of ln(x).
    lognormal LOGNORMAL ["x"] Peak
    formula "if(x > 0, amplitude/(max(x, 1e-300)*sigma*sqrt(2*pi))"
        "*exp(-((ln(max(x, 1e-300)) - center)/sigma)^2/2), 0)"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the logarithm of the median",
        sigma: width "the standard deviation of ln(x)",
    }
    derived {
        mode = "exp(center - sigma^2)" "the position of the maximum",
        mean = "exp(center + sigma^2/2)" "the center of mass",
        fwhm = "exp(center - sigma^2)*2*sinh(sqrt(2*ln(2))*sigma)" "full width at half maximum",
        height = "amplitude/(sigma*sqrt(2*pi))*exp(sigma^2/2 - center)" "the value at the maximum",
    }
    estimate |points| {
        let (low, high) = points.center;
        let peak = Peak::of(&Observations { center: (low.exp(), high.exp()), ..points.clone() });
        let window = peak.skewed_window(REACH);
        let unit = window.x_unit;
        let (low, high) = (peak.center - peak.left, peak.center + peak.right);
        let low = low.max(peak.center.abs() * 1e-3).max(1e-300) / unit;
        let high = (high / unit).max(2.0 * low);
        // Half height is at exp(mode ± sqrt(2 ln 2) sigma).
        let sigma = ((high / low).ln() / (8.0 * LN_2).sqrt()).max(1e-6);
        let axes = [SearchAxis::logarithmic(low, high, 15), SearchAxis::logarithmic(0.2 * sigma, 3.0 * sigma, 13)];
        let found = search(&window, axes, 1, |&[mode, sigma], x, out| {
            let u = (x.max(1e-300) / mode).ln() / sigma;
            out[0] = if x > 0.0 { (-0.5 * u * u).exp() } else { 0.0 };
        });
        let [mode, sigma] = found.at;
        let center = mode.ln() + unit.ln() + sigma * sigma;
        let height = found.factors[0] * window.y_unit;
        let area = height * sigma * (2.0 * PI).sqrt() * (center - 0.5 * sigma * sigma).exp();
        vec![area, center, sigma]
    }
}

define! {
    /// Lorentzian with separate widths on both sides.
    split_lorentzian SPLIT_LORENTZIAN ["x"] Peak
    formula "2*amplitude/(pi*(sigma + sigma_r))"
        "/(1 + ((x - center)/if(x < center, sigma, sigma_r))^2)"
    parameters {
        amplitude: any "the area, in units of y times x",
        center: any "the position of the maximum",
        sigma: width "the half width at half maximum on the left",
        sigma_r: width "the half width at half maximum on the right",
    }
    derived {
        fwhm = "sigma + sigma_r" "full width at half maximum",
        height = "2*amplitude/(pi*(sigma + sigma_r))" "the value at the center",
    }
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.skewed_window(REACH);
        let axes = [
            between_sides(&window, &peak, 9),
            widths(&window, peak.left),
            widths(&window, peak.right),
        ];
        let found = search(&window, axes, 1, |&[center, left, right], x, out| {
            let u = (x - center) / if x < center { left } else { right };
            out[0] = 1.0 / (1.0 + u * u);
        });
        let [center, left, right] = found.at.map(|v| v * window.x_unit);
        vec![found.factors[0] * window.y_unit * PI * (left + right) / 2.0, center, left, right]
    }
}

define! {
    /// Asymmetric line of photoelectrons from the core levels of a metal (S. Doniach and
    /// M. Šunjić, J. Phys. C 3, 1970), in the scale of lmfit. Its area is infinite for `gamma` > 0.
    doniach DONIACH ["x"] Peak
    formula "amplitude*sigma^(gamma - 1)"
        "*cos(pi*gamma/2 + (1 - gamma)*atan((x - center)/sigma))"
        "/hypot(1, (x - center)/sigma)^(1 - gamma)"
    parameters {
        amplitude: any "the size, in units of y times x to the power of 1 − `gamma`",
        center: any "the position of the line; the maximum is at `mode`",
        sigma: width "the half width at half maximum for `gamma` = 0",
        gamma: between(0.0, 0.95) "the asymmetry: 0 for a Lorentzian; its tail is on the left",
    }
    derived {
        mode = "center - sigma*tan(pi*gamma/(2*(2 - gamma)))" "the position of the maximum",
        height = "amplitude*sigma^(gamma - 1)*cos(pi*gamma/(2*(2 - gamma)))^(2 - gamma)"
            "the value at the maximum",
    }
    estimate |points| {
        let peak = Peak::of(points);
        let window = peak.skewed_window(2.0 * REACH);
        let axes = [
            between_sides(&window, &peak, 9),
            widths(&window, peak.left.min(peak.right)),
            SearchAxis::linear(0.0, 0.8, 9),
        ];
        let found = search(&window, axes, 1, |&[center, sigma, gamma], x, out| {
            let u = (x - center) / sigma;
            let power = (1.0_f64).hypot(u).powf(1.0 - gamma);
            out[0] = (PI * gamma / 2.0 + (1.0 - gamma) * u.atan()).cos() / power;
        });
        let [center, sigma, gamma] = found.at;
        let sigma = sigma * window.x_unit;
        let amplitude = found.factors[0] * window.y_unit * sigma.powf(1.0 - gamma);
        vec![amplitude, center * window.x_unit, sigma, gamma]
    }
}

/// Returns exp(−u²/2) erfcx((k − u)/√2), which is 2/γ times the density; k = γσ.
fn exponential_gauss(u: f64, k: f64) -> f64 {
    let z = (k - u) * FRAC_1_SQRT_2;
    if z > 0.0 {
        (-0.5 * u * u).exp() * Scalar::erfcx(z)
    } else {
        (k * (0.5 * k - u)).exp() * Scalar::erfc(z)
    }
}

/// Returns the search axis of the center, in units of the window: from one half width on the left of the peak to
/// one half width on the right.
pub(super) fn between_sides(window: &Sketch, peak: &Peak, places: usize) -> SearchAxis {
    let at = |x: f64| x / window.x_unit;
    SearchAxis::linear(at(peak.center - peak.left), at(peak.center + peak.right), places)
}
