//! Building blocks of initial guesses. These functions do not panic; the caller of an estimate corrects values that
//! overflow.

pub(crate) mod peak;
mod polynomial;
pub(crate) mod projection;
pub(crate) mod sketch;
pub(crate) mod surface;

pub(crate) use polynomial::polynomial_fit;

/// Largest value of an initial guess; a model can double it without overflow.
const LARGEST: f64 = 1e300;

/// Replaces NaN by 1 and infinite values by ±`LARGEST`.
pub(crate) fn tame<const N: usize>(values: [f64; N]) -> Vec<f64> {
    let tame = |v: f64| if v.is_nan() { 1.0 } else { v.clamp(-LARGEST, LARGEST) };
    values.map(tame).to_vec()
}

/// Returns the mean; 0 without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    values.iter().map(|v| v / count).sum()
}

/// Returns the median; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn starts_are_finite() {
        let tamed = super::tame([f64::NAN, f64::NEG_INFINITY, -2.5]);
        assert_eq!(tamed, [1.0, -1e300, -2.5]);
    }
}
