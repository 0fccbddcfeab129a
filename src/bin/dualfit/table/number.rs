//! The number that a field of a text table is.

/// What stands where a value is missing, in lower case.
const MISSING: [&str; 13] =
    ["", "na", "n/a", "#n/a", "null", "none", "nil", "-", "--", "---", "?", "missing", "."];

/// The number, NaN for a missing one; `None` for what is neither.
pub(super) fn number(field: &[u8], decimal_comma: bool) -> Option<f64> {
    let text = unquoted(std::str::from_utf8(field).ok()?);
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    if MISSING.contains(&text.to_lowercase().as_str()) {
        return Some(f64::NAN);
    }
    if decimal_comma && text.contains(',') && !text.contains('.') {
        return text.replacen(',', ".", 1).parse().ok();
    }
    // Fortran's exponents of double precision.
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    begins.then(|| text.replacen(['d', 'D'], "e", 1).parse().ok())?
}

/// Without the spaces around it, and the quotes that stand behind such spaces.
pub(super) fn unquoted(field: &str) -> &str {
    let text = field.trim();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.map_or(text, str::trim)
}

/// What to do about a field that is no number.
pub(super) fn remedy(field: &str) -> &'static str {
    let text = field.trim();
    let digits = |c: char| c.is_ascii_digit();
    if text.contains(',') && text.contains(digits) {
        "decimals are written with a point, or say --decimal-comma"
    } else if text.starts_with(digits) && text.ends_with(|c: char| c.is_alphabetic() || c == '%') {
        "write the number alone; units belong in the header"
    } else {
        "correct it, or write NA where a value is missing"
    }
}

#[cfg(test)]
mod tests {
    use super::{number, remedy};

    #[test]
    fn fields_are_numbers_missing_or_neither() {
        let read = |text: &str| number(text.as_bytes(), false);
        assert_eq!(read(" -1.5e3 "), Some(-1500.0));
        assert_eq!(read("1.5D-03"), Some(0.0015));
        assert_eq!(read("inf"), Some(f64::INFINITY));
        for missing in ["", "NaN", "NA", "null", "#N/A", " - "] {
            assert!(read(missing).is_some_and(f64::is_nan), "{missing}");
        }
        for wrong in ["12,5", "1 2", "abc", "Dd", "12 V", "1e", "0x10"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(" \"1.5\""), Some(1.5));
        assert_eq!(number(b"12,5", true), Some(12.5));
        assert_eq!(number(b"1.234,5", true), None);
    }

    #[test]
    fn each_kind_of_mistake_has_its_remedy() {
        assert!(remedy("12,5").contains("--decimal-comma"));
        assert!(remedy("12 mV").contains("units"));
        assert!(remedy("broken").contains("NA"));
    }
}
