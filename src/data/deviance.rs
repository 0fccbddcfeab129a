//! Moments of the deviance of a single count with a correct expectation.

use crate::math;
use std::sync::OnceLock;

/// Minimum expectation μ for the series in 1/μ, whose error is at most 1e-4 there.
const LARGE: f64 = 20.0;
/// Number of intervals of the table, of equal length in √μ, for μ up to `LARGE`. Linear interpolation of the moments
/// has an error of 1e-3.
const INTERVALS: usize = 512;
/// Excess over the expectation up to which counts are summed: larger counts have a probability below 1e-20.
const BEYOND: f64 = 70.0;

/// Maximum mean and maximum variance over all expectations.
pub(crate) const LARGEST_DEVIANCE: [f64; 2] = [1.1605, 2.4058];

/// Returns mean and variance of the deviance d = 2(μ − k + k·ln(k/μ)) of a Poisson variable k of expectation μ = `mu`.
/// For large expectations they approach 1 and 2, the moments of chi-square with one degree of freedom. For an
/// expectation of 0 they are 0.
///
/// The series for large μ come from the central moments of k, which are polynomials of μ.
pub(crate) fn expected_deviance(mu: f64) -> [f64; 2] {
    static TABLE: OnceLock<Vec<[f64; 2]>> = OnceLock::new();
    if mu >= LARGE {
        let u = mu.recip();
        let mean = 1.0 + u * (1.0 / 6.0 + u * (1.0 / 6.0 + u * (19.0 / 60.0)));
        return [mean, 2.0 + u * (2.0 / 3.0 + u * (4.0 / 3.0))];
    }
    let step = LARGE.sqrt() / INTERVALS as f64;
    let node = |i: usize| summed((i as f64 * step).powi(2));
    let table = TABLE.get_or_init(|| (0..=INTERVALS).map(node).collect());
    let place = mu.max(0.0).sqrt() / step;
    let i = (place as usize).min(INTERVALS - 1);
    let part = place - i as f64;
    [0, 1].map(|k| table[i][k] + part * (table[i + 1][k] - table[i][k]))
}

/// Computes mean and variance of the deviance as sums over k.
fn summed(mu: f64) -> [f64; 2] {
    if mu == 0.0 {
        return [0.0; 2];
    }
    let (mut mean, mut square) = (0.0, 0.0);
    let mut probability = math::exp(-mu);
    let mut k = 0.0;
    while k < mu + BEYOND {
        let log = if k == 0.0 { 0.0 } else { k * math::ln(k / mu) };
        let deviance = 2.0 * (mu - k + log);
        mean += probability * deviance;
        square += probability * deviance * deviance;
        k += 1.0;
        probability *= mu / k;
    }
    [mean, square - mean * mean]
}

#[cfg(test)]
mod tests {
    use super::expected_deviance;

    /// Compares with sums over the probabilities of SciPy 1.17.1 (`scipy.stats.poisson.pmf`).
    #[test]
    fn moments_are_those_of_the_distribution() {
        let recorded = [
            (1e-3, 0.013816896564699945, 0.13967563547875983),
            (0.01, 0.09224174603916087, 0.5242636707538878),
            (0.1, 0.4740978476599372, 0.8604017637471463),
            (0.5, 1.0070175690293757, 0.7296691168169196),
            (1.0, 1.1468056182452404, 1.3646018792800885),
            (3.0, 1.094585089529006, 2.405684666708107),
            (10.0, 1.0188285396938768, 2.087687493957343),
            (20.0, 1.0087966524606844, 2.037279725673999),
            (50.0, 1.0034026894797654, 2.013900476916305),
            (1000.0, 1.0001668336505762, 2.0006680039092926),
        ];
        for (mu, mean, variance) in recorded {
            let [m, v] = expected_deviance(mu);
            assert!((m - mean).abs() < 1e-3 && (v - variance).abs() < 1e-2, "{mu}: {m} {v}");
        }
        assert_eq!(expected_deviance(0.0), [0.0; 2]);
    }
}
