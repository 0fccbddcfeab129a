//! The words and signs of a text.

use super::{PtxError, Result};
use crate::program::Type;

/// A text in words and signs, and how far it has been read.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    all: Vec<(&'a str, u32)>,
    at: usize,
}

fn is_of_word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || b"_$%.".contains(&letter)
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Tokens<'a> {
        let (mut all, mut line, mut rest) = (Vec::new(), 1, text);
        while let Some(&first) = rest.as_bytes().first() {
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else if is_of_word(first) {
                rest.bytes().position(|b| !is_of_word(b)).unwrap_or(rest.len())
            } else {
                rest.chars().next().map_or(1, char::len_utf8)
            };
            let (token, behind) = rest.split_at(length);
            let says_something = !token.starts_with("//") && !token.starts_with("/*");
            if says_something && !first.is_ascii_whitespace() {
                all.push((token, line));
            }
            line += token.bytes().filter(|&b| b == b'\n').count() as u32;
            rest = behind;
        }
        Tokens { all, at: 0 }
    }

    pub(super) fn line(&self) -> u32 {
        let last = self.at.min(self.all.len().saturating_sub(1));
        self.all.get(last).map_or(1, |&(_, line)| line)
    }

    /// An error at the last word that was read.
    pub(super) fn error(&self, what: impl Into<String>) -> PtxError {
        let last = self.at.saturating_sub(1);
        let line = self.all.get(last).map_or(1, |&(_, line)| line);
        PtxError { line, what: what.into() }
    }

    /// The next word; nothing at the end.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.all.get(self.at).map(|&(token, _)| token)
    }

    /// The word after the next.
    pub(super) fn second(&self) -> Option<&'a str> {
        self.all.get(self.at + 1).map(|&(token, _)| token)
    }

    /// Reads the next word.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    /// Reads the next word, which must be there.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        self.next().ok_or_else(|| self.error("the text ends here"))
    }

    pub(super) fn accept(&mut self, wanted: &str) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, wanted: &str) -> Result<()> {
        let found = self.word()?;
        match found == wanted {
            true => Ok(()),
            false => Err(self.error(format!("`{wanted}` is expected, not `{found}`"))),
        }
    }

    /// Passes over what is left of the line of the last word.
    pub(super) fn skip_line(&mut self) {
        let line = self.all.get(self.at.saturating_sub(1)).map_or(1, |&(_, line)| line);
        while self.all.get(self.at).is_some_and(|&(_, other)| other == line) {
            self.at += 1;
        }
    }

    /// The bits of a number: whole, of f64 (`0d…`) or of f32 (`0f…`).
    pub(super) fn number(&mut self) -> Result<u64> {
        let negative = self.accept("-");
        let word = self.word()?;
        let bits = number(word).ok_or_else(|| self.error(format!("`{word}` is no number")))?;
        Ok(if negative { bits.wrapping_neg() } else { bits })
    }

    /// A whole number that counts something.
    pub(super) fn count(&mut self) -> Result<usize> {
        const MOST: u64 = 1 << 30;
        let count = self.number()?;
        let count = Some(count).filter(|&count| count <= MOST).map(|count| count as usize);
        count.ok_or_else(|| self.error("that is too large a number"))
    }

    /// What stands before a name: `.align 8 .b64` and words that say nothing here. The alignment, where it is said, and
    /// the type.
    pub(super) fn kind(&mut self) -> Result<(Option<usize>, Type)> {
        let mut alignment = None;
        loop {
            let word = self.word()?;
            match (word, word.strip_prefix('.').and_then(kind)) {
                (".align", _) => {
                    let bytes = self.count()?;
                    if !bytes.is_power_of_two() {
                        return Err(self.error("an alignment is a power of two"));
                    }
                    alignment = Some(bytes);
                }
                (".ptr" | ".global" | ".shared" | ".const" | ".local", _) => {}
                (_, Some(kind)) => return Ok((alignment, kind)),
                _ => return Err(self.error(format!("`{word}` is no type"))),
            }
        }
    }
}

/// A number in one of the forms of PTX.
fn number(word: &str) -> Option<u64> {
    let word = word.strip_suffix('U').unwrap_or(word);
    let radix = |from: usize, radix| u64::from_str_radix(word.get(from..)?, radix).ok();
    match word.get(..2) {
        Some("0x" | "0X" | "0d" | "0D" | "0f" | "0F") => radix(2, 16),
        _ => radix(0, 10),
    }
}

/// The type of that name.
pub(super) fn kind(name: &str) -> Option<Type> {
    Some(match name {
        "b8" => Type::B8,
        "b16" => Type::B16,
        "b32" => Type::B32,
        "b64" => Type::B64,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "pred" => Type::Pred,
        _ => return None,
    })
}
