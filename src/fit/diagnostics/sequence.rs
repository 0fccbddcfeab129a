//! Statistics of a sequence of residuals: patterns and deviations from normality.

use crate::fit::distributions::normal_two_sided;
use crate::math;

/// Maximum number of residuals for which the distribution of runs is computed exactly.
const EXACT: usize = 2000;

/// Runs test of Wald and Wolfowitz: a test whether signs change as often as random signs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunsTest {
    /// Number of residuals above 0. Residuals of exactly 0 are left out.
    pub positive: usize,
    /// Number of residuals below 0.
    pub negative: usize,
    /// Number of runs: maximal sequences of residuals with one sign.
    pub runs: usize,
    /// Expected number of runs for signs in random order.
    pub expected: f64,
    /// Two-sided p-value, 2 × the smaller tail. It is small if residuals alternate, or if they drift because the model
    /// misses a trend. Exact up to 2,000 residuals, from the normal approximation beyond. NaN if all signs are equal.
    pub p_value: f64,
}

/// Returns the median absolute value; NaN for an empty slice.
pub(super) fn median_size(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let middle = sizes.len().div_ceil(2).saturating_sub(1)..(sizes.len() / 2 + 1).min(sizes.len());
    let (sum, count) = (sizes[middle.clone()].iter().sum::<f64>(), middle.len());
    sum / count as f64
}

/// Computes the runs test of residuals in order.
pub(super) fn runs_test(residuals: &[f64]) -> RunsTest {
    let signs: Vec<bool> =
        residuals.iter().filter(|r| **r != 0.0 && !r.is_nan()).map(|r| *r > 0.0).collect();
    let positive = signs.iter().filter(|sign| **sign).count();
    let negative = signs.len() - positive;
    let changes = signs.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let runs = if signs.is_empty() { 0 } else { 1 + changes };
    let (a, b, n) = (positive as f64, negative as f64, signs.len() as f64);
    let expected = if signs.is_empty() { 0.0 } else { 1.0 + 2.0 * a * b / n };
    let p_value = if positive == 0 || negative == 0 {
        f64::NAN
    } else if signs.len() <= EXACT {
        exact(positive, negative, runs)
    } else {
        let variance = (expected - 1.0) * (expected - 2.0) / (n - 1.0);
        normal_two_sided((runs as f64 - expected) / variance.sqrt())
    };
    RunsTest { positive, negative, runs, expected, p_value }
}

/// Returns 2 × the smaller tail of the distribution of runs, at most 1.
fn exact(a: usize, b: usize, runs: usize) -> f64 {
    let mut factorials = vec![0.0; a + b + 1];
    for k in 1..factorials.len() {
        factorials[k] = factorials[k - 1] + math::ln(k as f64);
    }
    let choose = |n: usize, k: usize| match n.checked_sub(k) {
        Some(rest) => factorials[n] - factorials[k] - factorials[rest],
        None => f64::NEG_INFINITY,
    };
    let all = choose(a + b, a);
    let ways = |x: usize, y: usize| math::exp(choose(a - 1, x) + choose(b - 1, y) - all);
    // Runs of both signs alternate: k of each, or k of one sign and k + 1 of the sign that begins and ends.
    let probability = |r: usize| match (r / 2, r % 2) {
        (k, 0) => 2.0 * ways(k - 1, k - 1),
        (k, _) => ways(k, k - 1) + ways(k - 1, k),
    };
    let below: f64 = (2..=runs).map(probability).sum();
    let above: f64 = (runs..=a + b).map(probability).sum();
    (2.0 * below.min(above)).min(1.0)
}

/// Returns Σ(rᵢ − rᵢ₋₁)²/Σrᵢ², which is independent of the unit of r.
pub(super) fn durbin_watson(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let changes: f64 = residuals.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    changes / squares
}

/// Returns skewness and excess kurtosis.
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let central = |k: i32| values.iter().map(|v| (v - mean).powi(k)).sum::<f64>() / n;
    let variance = central(2);
    (central(3) / (variance * variance.sqrt()), central(4) / (variance * variance) - 3.0)
}

#[cfg(test)]
mod tests {
    use super::{durbin_watson, exact, moments, runs_test};

    #[test]
    fn runs_are_counted_as_all_orders_have_them() {
        // Count the runs in every order of `a` plus signs and `b` minus signs.
        let (a, b) = (5, 7);
        let mut counts = [0.0; 13];
        for bits in 0u32..1 << (a + b) {
            if bits.count_ones() as usize == a {
                let changes =
                    (0..a + b - 1).filter(|i| bits >> i & 1 != bits >> (i + 1) & 1).count();
                counts[1 + changes] += 1.0;
            }
        }
        let all: f64 = counts.iter().sum();
        for runs in 2..=11 {
            let below: f64 = counts[..=runs].iter().sum();
            let above: f64 = counts[runs..].iter().sum();
            let expected = (2.0 * below.min(above) / all).min(1.0);
            let found = exact(a, b, runs);
            assert!((found - expected).abs() < 1e-13, "{runs}: {found} {expected}");
        }
    }

    #[test]
    fn exact_and_normal_tests_agree_for_many() {
        // Two sequences of the same kind: 2000 signs (exact test) and 2001 signs (normal approximation).
        let signs = |n: usize| -> Vec<f64> {
            (0..n).map(|i| if (i * i / 7) % 3 == 0 { 1.0 } else { -0.5 }).collect()
        };
        let (one, two) = (runs_test(&signs(2000)), runs_test(&signs(2001)));
        assert!(
            (one.p_value.ln() - two.p_value.ln()).abs() < 0.1 * one.p_value.ln().abs().max(1.0),
            "{one:?} {two:?}"
        );
    }

    #[test]
    fn one_sign_and_nothing_have_no_test() {
        assert!(runs_test(&[1.0, 2.0, 0.0]).p_value.is_nan());
        assert_eq!(runs_test(&[]).runs, 0);
        assert_eq!(durbin_watson(&[1.0, -1.0, 1.0, -1.0]), 3.0);
        let (skewness, kurtosis) = moments(&[-1.0, 0.0, 0.0, 1.0]);
        assert_eq!((skewness, kurtosis), (0.0, -1.0));
    }
}
