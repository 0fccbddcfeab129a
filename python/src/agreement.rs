//! Comparison of a function's own values with those of its recording.

/// Relative difference that rounding may make. Terms that cancel leave more of it than single operations do.
const TOLERANCE: f64 = 1e-6;

/// Returns true if all `values` are those expected, to rounding of the largest finite one. NaN agrees with NaN, an infinity
/// with the same one.
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
