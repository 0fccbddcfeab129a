//! Numbers with as many digits as mean something.

/// `value` with `digits` significant digits: in plain notation from 10⁻⁴ to below 10⁷, else with an
/// exponent.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    // Taken from the rounded text, so that 9.9999 with three digits counts as 10.
    let exponent: i32 = scientific.split('e').nth(1).and_then(|e| e.parse().ok()).unwrap_or(0);
    match exponent {
        -4..=6 => {
            let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
            format!("{value:.decimals$}")
        }
        _ => scientific,
    }
}

/// `value` with six significant digits at most, without zeros at the end.
pub(super) fn trimmed(value: f64) -> String {
    let text = significant(value, 6);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_keep_their_significant_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1.00"),
            (-1234.5, "-1234"),
            (0.000_123_456, "0.000123"),
            (0.000_012_345, "1.23e-5"),
            (9.9999, "10.0"),
            (1e200, "1.00e200"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value, 3), text);
        }
    }
}
