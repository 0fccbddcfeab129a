//! Check that quotes are closed at the ends of fields. The reader of rows takes an open quote for the beginning of a
//! field of many lines, and these rows would be lost.

/// Position of a byte in a field.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Line,
    Field,
    Inside,
    Quoted,
    /// Behind a quote that may close the field, or be the first of two that stand for one.
    Quote,
    /// Behind a closed field and spaces.
    Closed,
    Comment,
}

/// Error in the quotes of a field that is opened at a byte.
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

/// Follows a text byte by byte.
pub(super) struct QuoteCheck {
    delimiter: u8,
    comment: Option<u8>,
    state: At,
    opened: u64,
}

impl QuoteCheck {
    /// From the beginning of a row on.
    pub(super) fn new(delimiter: u8, comment: Option<u8>) -> QuoteCheck {
        QuoteCheck { delimiter, comment, state: At::Line, opened: 0 }
    }

    /// Takes the next bytes, which begin at byte `at`. Where among them the last line ends, if one does.
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

    /// Takes all whole lines at once, if no quote stands in the bytes or is open before them: how many bytes they are.
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

    /// At the end of the text.
    pub(super) fn end(&self) -> Result<(), QuoteFault> {
        match self.state {
            At::Quoted => Err(QuoteFault::NotClosed(self.opened)),
            _ => Ok(()),
        }
    }
}
