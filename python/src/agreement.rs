//! Comparison of the values of a function with the values of its recording.

/// Tolerated relative difference from rounding. Cancellation of terms amplifies it beyond the error of one operation.
const TOLERANCE: f64 = 1e-6;

/// Returns true if each of `values` differs from the expected value by at most `TOLERANCE` times the largest finite
/// expected magnitude. NaN agrees with NaN, and an infinity with the same infinity.
pub(crate) fn agree(values: &[f64], expected: &[f64]) -> bool {
    let sizes = expected.iter().map(|value| value.abs()).filter(|size| size.is_finite());
    let allowed = TOLERANCE * sizes.fold(0.0, f64::max);
    let close = |(value, expected): (&f64, &f64)| {
        value == expected
            || (value.is_nan() && expected.is_nan())
            || (value - expected).abs() <= allowed
    };
    values.len() == expected.len() && values.iter().zip(expected).all(close)
}
