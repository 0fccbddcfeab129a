//! Rounding of values according to their errors: 1.2345678 ± 0.0123 is 1.235(12).
//!
//! Errors have two significant digits, as is usual in physics; the value ends at the same decimal place.

/// Maximum number of digits of a value after its first digit. If the last digit of the error is further right, the
/// error is below the precision of the value.
const DIGITS: i32 = 15;

/// Returns a value with its error in parentheses, in units of the last digit: `1.235(12)` or `1.235(12)e-9`. If the
/// decimal point is between the two digits of the error, it is written: `12.3(4.5)`. `None` if the error is not a
/// positive number, or too small to be visible in the value.
pub(crate) fn rounded(value: f64, error: f64) -> Option<String> {
    if !(error > 0.0 && error.is_finite() && value.is_finite()) {
        return None;
    }
    let (error_digits, error_exponent) = decimal(error, 2)?;
    // Exponent of the last digit.
    let last = error_exponent - 1;
    let (value_digits, value_exponent) = in_units(value, last)?;
    let first = value_exponent.max(error_exponent);
    if first - last > DIGITS {
        return None;
    }
    let exponent = if (-4..=6).contains(&first) && last <= 0 { 0 } else { first };
    let decimals = (exponent - last).max(0) as usize;
    let sign = if value < 0.0 && value_digits.bytes().any(|b| b != b'0') { "-" } else { "" };
    let last_digits = match decimals {
        1 => with_point(&error_digits, decimals),
        _ => error_digits,
    };
    let power = if exponent == 0 { String::new() } else { format!("e{exponent}") };
    Some(format!("{sign}{}({last_digits}){power}", with_point(&value_digits, decimals)))
}

/// Returns `count` significant digits of a positive number, and the exponent of the first digit.
fn decimal(value: f64, count: usize) -> Option<(String, i32)> {
    let text = format!("{value:.*e}", count.saturating_sub(1));
    let (digits, exponent) = text.split_once('e')?;
    Some((digits.replace('.', ""), exponent.parse().ok()?))
}

/// Returns the digits of a number's magnitude, rounded to a multiple of 10 to the power `last`, and the exponent of
/// the first digit.
fn in_units(value: f64, last: i32) -> Option<(String, i32)> {
    let magnitude = value.abs();
    let nothing = || ("0".to_owned(), last);
    if magnitude == 0.0 {
        return Some(nothing());
    }
    let (_, exponent) = decimal(magnitude, 17)?;
    if exponent >= last {
        let (mut digits, first) = decimal(magnitude, (exponent - last) as usize + 1)?;
        // If 9.9996 was rounded to 10.000, one more digit is needed to reach `last`.
        digits.extend((exponent..first).map(|_| '0'));
        return Some((digits, first));
    }
    // Less than one unit: half a unit or more is rounded to one unit.
    let half = exponent == last - 1 && decimal(magnitude, 17)?.0.as_str() >= "5";
    Some(if half { ("1".to_owned(), last) } else { nothing() })
}

fn with_point(digits: &str, decimals: usize) -> String {
    if decimals == 0 {
        return digits.to_owned();
    }
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, part) = padded.split_at(padded.len() - decimals);
    format!("{whole}.{part}")
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn values_end_where_their_errors_do() {
        let cases = [
            (1.2345678, 0.0123, "1.235(12)"),
            (-1.2345678, 0.0996, "-1.23(10)"),
            (0.0123456, 0.000_12, "0.01235(12)"),
            (12.3, 4.5, "12.3(4.5)"),
            (123.4, 45.6, "123(46)"),
            (0.3, 1.2, "0.3(1.2)"),
            (0.03, 12.0, "0(12)"),
            (-0.03, 12.0, "0(12)"),
            (0.6, 12.0, "1(12)"),
            (6.02214e23, 1.5e18, "6.022140(15)e23"),
            (1.602e-19, 3.4e-22, "1.6020(34)e-19"),
            (12345.6, 789.0, "1.235(79)e4"),
            (9.9996, 0.001, "9.9996(10)"),
            (9.99996, 0.001, "10.0000(10)"),
            (5e-324, 1e-320, "0.0(1.0)e-320"),
            (1e308, 1e307, "1.00(10)e308"),
            (0.0, 0.25, "0.00(25)"),
        ];
        for (value, error, text) in cases {
            let found = rounded(value, error).expect("an error");
            assert_eq!(found, text, "{value} ± {error}");
        }
        for (value, error) in [(1.0, 0.0), (1.0, f64::NAN), (1.0, f64::INFINITY), (1.0, 1e-30)] {
            assert!(rounded(value, error).is_none(), "{value} ± {error}");
        }
    }
}
