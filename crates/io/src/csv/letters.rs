//! Character encodings of text tables.

use std::borrow::Cow;

/// Characters of Windows-1252 for the bytes that have no letters in Latin-1; the others are equal.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes bytes as UTF-8 or, if they are not valid UTF-8, as Windows-1252.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let letter = |&byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(letter).collect()),
    }
}

/// Removes surrounding spaces, then surrounding quotes and the spaces inside them.
pub(super) fn unquoted(field: &str) -> &str {
    let text = field.trim();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_windows_are_read() {
        assert_eq!(decoded(b"\xb5m,\xb0C,\x80"), "µm,°C,€");
        assert_eq!(decoded("µ".as_bytes()), "µ");
    }
}
