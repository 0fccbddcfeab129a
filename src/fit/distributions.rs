//! Tails and quantiles of the distributions for intervals and tests.
//!
//! A level is the probability inside an interval: 0.95 leaves 0.05 outside. All equations are solved for the smaller of
//! both probabilities, so that a level of 1 − 1e-12 is as accurate as 0.5. Quantiles of Student's t and of the normal
//! distribution are square roots of quantiles of F and chi-square with one degree of freedom; therefore their levels
//! are two-sided.

pub(crate) mod incomplete;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::math;
use incomplete::{Tails, beta, gamma};

/// Checks the level of an interval.
///
/// # Errors
/// [`Error::BadOption`] if `level` is not strictly between 0 and 1.
pub(crate) fn check_level(level: f64) -> Result<()> {
    let requirement = "a probability between 0 and 1, such as 0.95";
    match level > 0.0 && level < 1.0 {
        true => Ok(()),
        false => Err(Error::BadOption { name: "level", value: level, requirement }),
    }
}

/// Returns the half width of a two-sided interval in standard errors: the quantile of Student's t with `dof` degrees of
/// freedom, or of the normal distribution for `None`. NaN for 0 degrees of freedom.
pub(crate) fn half_width(level: f64, dof: Option<f64>) -> f64 {
    joint(level, 1.0, dof).sqrt()
}

/// Returns the quantile of a sum of `count` squared deviates: `count` times the quantile of F(count, dof), or the
/// quantile of chi-square for `None`. NaN for 0 degrees of freedom.
pub(crate) fn joint(level: f64, count: f64, dof: Option<f64>) -> f64 {
    match dof {
        Some(dof) => count * f_quantile(level, count, dof),
        None => chi_square_quantile(level, count),
    }
}

/// Returns the quantile of F(d1, d2) at the probability `level`.
pub(crate) fn f_quantile(level: f64, d1: f64, d2: f64) -> f64 {
    if !(d1 > 0.0 && d2 > 0.0) {
        return f64::NAN;
    }
    quantile(level, |f| f_tails(f, d1, d2))
}

/// Returns the quantile of chi-square with `d` degrees of freedom at the probability `level`.
pub(crate) fn chi_square_quantile(level: f64, d: f64) -> f64 {
    if d > 0.0 { d * quantile(level, |x| gamma(0.5 * d, 0.5 * d * x)) } else { f64::NAN }
}

/// Returns the probability that a variable of F(d1, d2) exceeds `f`.
pub(crate) fn f_upper(f: f64, d1: f64, d2: f64) -> f64 {
    upper(f, |f| f_tails(f, d1, d2))
}

/// Returns the probability that a variable of chi-square with `d` degrees of freedom exceeds `x`.
pub(crate) fn chi_square_upper(x: f64, d: f64) -> f64 {
    upper(x, |x| gamma(0.5 * d, 0.5 * x))
}

/// Returns the probability that a sum of `terms` squared deviates exceeds `x`. Each term has the given mean and
/// variance; the fit has removed `rank` squared standard normal deviates from the sum. The sum is approximated by a
/// multiple of a chi-square variable with the same mean and variance.
pub(crate) fn sum_upper(x: f64, [mean, variance]: [f64; 2], terms: usize, rank: usize) -> f64 {
    let (terms, rank) = (terms as f64, rank as f64);
    let (mean, variance) = (terms * mean - rank, terms * variance - 2.0 * rank);
    let unit = variance / (2.0 * mean);
    match unit > 0.0 && mean > 0.0 {
        true => chi_square_upper(x / unit, mean / unit),
        false => f64::NAN,
    }
}

/// Returns the probability that a standard normal variable is farther from 0 than `z`.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    math::erfc(z.abs() * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns the probability that a standard normal variable does not exceed `z`.
pub(crate) fn normal_lower(z: f64) -> f64 {
    0.5 * math::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns the quantile of the standard normal distribution at the probability `p`, from 0 to 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    match p {
        _ if p > 0.5 => -normal_quantile(1.0 - p),
        0.5 => 0.0,
        0.0 => f64::NEG_INFINITY,
        _ => -half_width(1.0 - 2.0 * p, None),
    }
}

fn upper(at: f64, tails: impl Fn(f64) -> Tails) -> f64 {
    match at {
        _ if at.is_nan() => f64::NAN,
        _ if at <= 0.0 => 1.0,
        f64::INFINITY => 0.0,
        _ => tails(at).upper,
    }
}

/// Returns the tails of F(d1, d2). With x = d2/(d2 + d1 f), the upper tail is I_x(d2/2, d1/2).
fn f_tails(f: f64, d1: f64, d2: f64) -> Tails {
    let ratio = d1 * f / d2;
    let (x, y) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
    let found = beta(0.5 * d2, 0.5 * d1, x, y);
    Tails { lower: found.upper, upper: found.lower, slope: found.slope }
}

/// Returns the positive argument with the lower tail `level`. Newton's method solves for the logarithm of the smaller
/// tail as a function of the logarithm of the argument, within a bracket of arguments known to be too small and too
/// large.
fn quantile(level: f64, tails: impl Fn(f64) -> Tails) -> f64 {
    let rest = 1.0 - level;
    let from_above = rest <= level;
    let (mut low, mut high) = (-700.0, 700.0);
    let mut at = 0.0;
    for _ in 0..200 {
        let Tails { lower, upper, slope } = tails(math::exp(at));
        // The excess is positive if the argument is too small; its derivative is negative.
        let (excess, steep) = match from_above {
            true => (math::ln(upper / rest), slope / upper),
            false => (math::ln(level / lower), slope / lower),
        };
        let newton = at + (excess / steep).clamp(-2.0, 2.0);
        // Newton's method squares its error: after a step of 1e-9 only rounding remains.
        if (newton - at).abs() <= 1e-9 {
            return math::exp(newton);
        }
        if excess > 0.0 {
            low = at;
        } else {
            high = at;
        }
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        at = next;
    }
    math::exp(at)
}
