//! Character encodings of text tables, and the check that quotes are closed at the ends of fields. Without this check,
//! the reader of rows would interpret an unclosed quote as the start of a field of many lines and lose these rows.

use std::borrow::Cow;

/// Position of a byte in a field.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Line,
    Field,
    Inside,
    Quoted,
    /// After a quote that closes the field or is the first of a pair; a pair encodes one quote.
    Quote,
    /// After a closed field and spaces.
    Closed,
    Comment,
}

/// Error in the quotes of a field, with the position of its opening quote.
#[derive(Clone, Copy)]
pub(super) enum QuoteFault {
    NotClosed(u64),
    TextBehind(u64),
}

impl QuoteFault {
    pub(super) fn opened(self) -> u64 {
        match self {
            QuoteFault::NotClosed(at) | QuoteFault::TextBehind(at) => at,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            QuoteFault::NotClosed(_) => {
                "a quote opens here and is not closed; close it, or take it out"
            }
            QuoteFault::TextBehind(_) => {
                "a quote opens here, and text stands behind the one that closes it; close it at the end of the field, write quotes inside twice, or take them out"
            }
        }
    }
}

/// State machine that checks the quotes of a text byte by byte.
pub(super) struct QuoteCheck {
    delimiter: u8,
    comment: Option<u8>,
    state: At,
    opened: u64,
}

impl QuoteCheck {
    /// Creates a check that begins at the beginning of a row.
    pub(super) fn new(delimiter: u8, comment: Option<u8>) -> QuoteCheck {
        QuoteCheck { delimiter, comment, state: At::Line, opened: 0 }
    }

    /// Processes the next bytes, which begin at byte `at` of the text. Returns the index of the last end of a line in
    /// them.
    pub(super) fn pass(&mut self, bytes: &[u8], at: u64) -> Result<Option<usize>, QuoteFault> {
        let behind_lines = self.pass_lines(bytes);
        let mut last_end = behind_lines.checked_sub(1);
        for (i, &byte) in bytes.iter().enumerate().skip(behind_lines) {
            let ends_line = matches!(byte, b'\n' | b'\r');
            self.state = match self.state {
                At::Comment if byte == b'\n' => At::Line,
                At::Comment => At::Comment,
                At::Line if Some(byte) == self.comment => At::Comment,
                At::Quoted if byte == b'"' => At::Quote,
                At::Quoted => At::Quoted,
                At::Quote if byte == b'"' => At::Quoted,
                _ if ends_line => At::Line,
                _ if byte == self.delimiter => At::Field,
                At::Line | At::Field if byte == b'"' => {
                    self.opened = at + i as u64;
                    At::Quoted
                }
                At::Line | At::Field | At::Inside => At::Inside,
                At::Quote | At::Closed if matches!(byte, b' ' | b'\t') => At::Closed,
                At::Quote | At::Closed => return Err(QuoteFault::TextBehind(self.opened)),
            };
            if self.state == At::Line {
                last_end = Some(i);
            }
        }
        Ok(last_end)
    }

    /// Processes all complete lines at once if the bytes contain no quote and no quote is open before them. Returns the
    /// number of processed bytes.
    fn pass_lines(&mut self, bytes: &[u8]) -> usize {
        let is_open = matches!(self.state, At::Quoted | At::Quote | At::Closed);
        let end = match is_open || bytes.contains(&b'"') {
            true => None,
            false => bytes.iter().rposition(|&byte| byte == b'\n'),
        };
        end.map_or(0, |end| {
            self.state = At::Line;
            end + 1
        })
    }

    /// Ends the check at the end of the text.
    pub(super) fn end(&self) -> Result<(), QuoteFault> {
        match self.state {
            At::Quoted => Err(QuoteFault::NotClosed(self.opened)),
            _ => Ok(()),
        }
    }
}

/// Characters of Windows-1252 for the bytes 0x80 to 0x9f, the only bytes that can differ from Latin-1.
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
