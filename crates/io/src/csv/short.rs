//! Fast parser of numbers with few digits, which are the most frequent ones.

/// Parses a number with few digits at the beginning of a text. Returns the number and the rest of the text. The number
/// is the quotient of two integers that f64 represents exactly, so that the division rounds correctly.
pub(super) fn short(text: &[u8], decimal: u8) -> Option<(f64, &[u8])> {
    /// Number of decimal digits that always fit into 64 bits.
    const MOST: usize = 19;
    const POWERS: [f64; MOST + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19,
    ];
    let (negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        text => (false, text),
    };
    let (mut number, mut rest) = digits(0, text);
    let (mut count, mut decimals) = (text.len() - rest.len(), 0);
    if let [sign, behind @ ..] = rest
        && *sign == decimal
    {
        (number, rest) = digits(number, behind);
        decimals = behind.len() - rest.len();
        count += decimals;
    }
    if !(1..=MOST).contains(&count) || number > 1 << f64::MANTISSA_DIGITS {
        return None;
    }
    let value = number as f64 / POWERS[decimals];
    Some((if negative { -value } else { value }, rest))
}

/// Appends the digits at the beginning of a text to a number. Returns the number and the rest of the text. The number
/// is meaningless if its digits do not fit into 64 bits.
fn digits(mut number: u64, mut text: &[u8]) -> (u64, &[u8]) {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    while let Some((eight, rest)) = text.split_first_chunk() {
        let digits = u64::from_le_bytes(*eight) ^ (0x30 * LOWEST);
        if (digits | (digits.wrapping_add(0x76 * LOWEST))) & (0x80 * LOWEST) != 0 {
            break;
        }
        // Combine digits to pairs, pairs to groups of four, and two groups to a number of eight digits. The first digit
        // is the lowest byte.
        let pairs = (10 * digits + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
        let fours = (100 * pairs + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
        let all = (10_000 * fours + (fours >> 32)) & 0xffff_ffff;
        number = number.wrapping_mul(100_000_000).wrapping_add(all);
        text = rest;
    }
    while let Some((byte, rest)) = text.split_first()
        && byte.is_ascii_digit()
    {
        number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        text = rest;
    }
    (number, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn short_numbers_have_the_bits_that_rust_reads(
            text in "-?[0-9]{0,21}(\\.[0-9]{0,21})?",
        ) {
            match short(text.as_bytes(), b'.') {
                Some((value, rest)) => {
                    prop_assert!(rest.is_empty());
                    prop_assert_eq!(Ok(value.to_bits()), text.parse::<f64>().map(f64::to_bits));
                }
                // Numbers with up to 15 characters are always parsed.
                None => prop_assert!(text.len() > 15 || text.parse::<f64>().is_err()),
            }
        }
    }
}
