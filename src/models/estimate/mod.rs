//! What the estimates of starts are made of. Nothing here panics; what overflows is put right where
//! an estimate is used.

pub(crate) mod peak;
mod polynomial;
pub(crate) mod projection;
pub(crate) mod sketch;
pub(crate) mod surface;

pub(crate) use polynomial::polynomial_fit;

/// The largest value of a start: a model may still double it.
const LARGEST: f64 = 1e300;

/// Values as a start may have them: what is not a number is 1, what is infinite is large.
pub(crate) fn tame<const N: usize>(values: [f64; N]) -> Vec<f64> {
    let tame = |v: f64| if v.is_nan() { 1.0 } else { v.clamp(-LARGEST, LARGEST) };
    values.map(tame).to_vec()
}

/// The mean of values; 0 of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    values.iter().map(|v| v / count).sum()
}

/// The value with as many below as above it; 0 of none.
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
