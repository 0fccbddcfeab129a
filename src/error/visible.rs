//! Escapes of names for display in a report, a message or a picture.

use std::borrow::Cow;

/// Returns true if a character must be escaped for display: it ends a line, changes the text direction, is
/// invisible or is not allowed in XML.
pub(crate) fn is_unshowable(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let hidden =
        matches!(c, '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}');
    let none = matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffc}' | '\u{fffe}' | '\u{ffff}');
    c.is_control() || turns || hidden || none
}

/// Returns the text with unshowable characters written as `\n` or `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unshowable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_unshowable(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_cannot_be_shown_is_written_out() {
        for plain in ["", "a b", "T₂ / ms", "µ", "señal", "温度", "a\\b", "e\u{301}"] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(
            visible("a\nb\u{1}\u{202e}c\u{7f}\u{85}"),
            "a\\nb\\u{1}\\u{202e}c\\u{7f}\\u{85}"
        );
    }
}
