//! What the estimates of starts are made of. Nothing here panics; what overflows is put right where
//! an estimate is used.

mod polynomial;

pub(crate) use polynomial::polynomial_fit;

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
