//! The regularised incomplete beta and gamma functions, accurate for parameters from 1/2 to 1e9.
//!
//! Both are a density times a continued fraction or a series. The density loses digits by cancellation: ln Γ of
//! 1e9 is 2e10, and a difference of such logarithms is not accurate enough for a tail. In Loader's form (Fast and
//! accurate computation of binomial probabilities, 2000) the large parts cancel analytically. The remaining Stirling
//! errors and deviances are small and accurate.

use crate::math;
use std::f64::consts::PI;

/// Maximum number of terms or steps. The necessary number grows as √a: 1e5 for a = 1e9.
const MOST_TERMS: usize = 2_000_000;
/// Relative size of a term below which the sum ends.
const SMALL: f64 = 1e-17;
/// Replacement for a zero denominator in a continued fraction.
const TINY: f64 = 1e-300;

/// Probabilities of a continuous distribution below and above a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tails {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// The density with respect to the logarithm of the argument.
    pub(crate) slope: f64,
}

/// Returns I_x(a, b) as `lower`, and its complement as `upper`. `y` is 1 − x; it is passed separately because the
/// difference would lose the digits of a small y. The slope is xᵃyᵇ/B(a, b).
pub(crate) fn beta(a: f64, b: f64, x: f64, y: f64) -> Tails {
    let n = a + b;
    let exponent = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y);
    let slope = math::exp(exponent) * (a / n * b / (2.0 * PI)).sqrt();
    let (lower, upper) = if x <= (a + 1.0) / (n + 2.0) {
        let part = (slope * beta_fraction(a, b, x, y)).min(1.0);
        (part, 1.0 - part)
    } else {
        let part = (slope * beta_fraction(b, a, y, x)).min(1.0);
        (1.0 - part, part)
    };
    Tails { lower, upper, slope }
}

/// Returns P(a, x) as `lower` and Q(a, x) as `upper`; the slope is xᵃe⁻ˣ/Γ(a).
pub(crate) fn gamma(a: f64, x: f64) -> Tails {
    let slope = math::exp(-stirling_error(a) - deviance(a, x)) * (a / (2.0 * PI)).sqrt();
    let (lower, upper) = if x < a + 1.0 {
        let part = (slope / a * gamma_series(a, x)).min(1.0);
        (part, 1.0 - part)
    } else {
        let part = (slope * gamma_fraction(a, x)).min(1.0);
        (1.0 - part, part)
    };
    Tails { lower, upper, slope }
}

/// Returns I_x(a, b) divided by xᵃyᵇ/B(a, b): the even part of the usual continued fraction (Didonato and Morris,
/// ACM TOMS 18, 1992, section 4) by Lentz's method. It uses `y` instead of 1 − x; the full fraction would need a
/// difference of numbers of size a.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let middle = a * y - b * x + 1.0;
    let mut result = safe(a * middle / (a + 1.0));
    let (mut c, mut d) = (result, 0.0);
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let step = a + 2.0 * m - 1.0;
        let part = m * (b - m) * x / step;
        let above = (a + m - 1.0) / step * (a + b + m - 1.0) * part * x;
        let below = m + part + (a + m) * (middle + m * (1.0 + y)) / (step + 2.0);
        d = 1.0 / safe(below + above * d);
        c = safe(below + above / c);
        result *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    1.0 / result
}

/// Returns 1 + x/(a + 1) + x²/((a + 1)(a + 2)) + … (DLMF 8.11.4).
fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..MOST_TERMS {
        term *= x / (a + k as f64);
        sum += term;
        if term < SMALL * sum {
            break;
        }
    }
    sum
}

/// Returns Γ(a, x)/(xᵃe⁻ˣ) by Lentz's method (DLMF 8.9.2, contracted).
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / safe(b);
    let mut result = d;
    for k in 1..MOST_TERMS {
        let k = k as f64;
        b += 2.0;
        d = 1.0 / safe(b - k * (k - a) * d);
        c = safe(b - k * (k - a) / c);
        result *= d * c;
        if (d * c - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    result
}

/// Returns ln Γ(a + 1) − (a + ½) ln a + a − ½ ln 2π.
fn stirling_error(a: f64) -> f64 {
    if a < 15.0 {
        let half_log = 0.5 * math::ln(2.0 * PI);
        return math::ln_gamma(a + 1.0) - (a + 0.5) * math::ln(a) + a - half_log;
    }
    let q = 1.0 / (a * a);
    let series = 1.0 / 1680.0 - q * (1.0 / 1188.0 - q * (691.0 / 360_360.0 - q / 156.0));
    (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q * series))) / a
}

/// Returns a ln(a/m) + m − a, which is small if m is near a.
fn deviance(a: f64, m: f64) -> f64 {
    if m == 0.0 || m == f64::INFINITY {
        return f64::INFINITY;
    }
    let difference = a - m;
    if difference.abs() >= 0.1 * (a + m) {
        return a * math::ln(a / m) - difference;
    }
    // With v = (a − m)/(a + m), ln(a/m) = 2 atanh v.
    let v = difference / (a + m);
    let mut sum = difference * v;
    let mut power = 2.0 * a * v;
    for k in 1..100 {
        power *= v * v;
        let term = power / f64::from(2 * k + 1);
        sum += term;
        if term.abs() <= SMALL * sum {
            break;
        }
    }
    sum
}
