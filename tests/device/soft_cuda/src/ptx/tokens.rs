//! Words, marks and numbers of a text of PTX, each with its line.

use super::{PtxError, Result};
use crate::program::Type;

/// The most that a count, a size or a number of bytes may be.
pub(super) const MOST: usize = 1 << 30;

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name, a number, or an opcode with its suffixes.
    Word(&'a str),
    /// What stands between quotation marks.
    Quoted,
    Mark(char),
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy)]
struct Placed<'a> {
    token: Token<'a>,
    line: u32,
    start: usize,
    end: usize,
}

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A whole one; a negative one in two's complement.
    Whole(u64),
    /// The bits of an `f32`.
    Single(u32),
    /// The bits of an `f64`.
    Double(u64),
}

impl Number {
    /// Its bits as a value of that type, or nothing if it is not one.
    pub(super) fn bits(self, of: Type) -> Option<u64> {
        match (self, of) {
            (Number::Single(bits), Type::F32 | Type::B32) => Some(u64::from(bits)),
            (Number::Double(bits), Type::F64 | Type::B64) => Some(bits),
            (Number::Whole(value), Type::Pred) => Some(u64::from(value != 0)),
            (Number::Whole(value), of) if !of.is_float() => {
                Some(value & (u64::MAX >> (64 - 8 * of.bytes())))
            }
            _ => None,
        }
    }
}

/// The tokens of a text, read one after the other.
pub(super) struct Tokens<'a> {
    text: &'a str,
    all: Vec<Placed<'a>>,
    at: usize,
    last_line: u32,
}

/// Whether a byte may be part of a word.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// The first place from `at` on where the bytes do not fit, or the end.
fn skip_while(bytes: &[u8], at: usize, fits: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|&byte| !fits(byte)).map_or(bytes.len(), |length| at + length)
}

/// The end of the word at that place; `::` joins two words (`shared::cta`).
fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let mut end = skip_while(bytes, start, is_of_word);
    while let Some([b':', b':', next]) = bytes.get(end..end.saturating_add(3)) {
        if !is_of_word(*next) {
            break;
        }
        end = skip_while(bytes, end + 2, is_of_word);
    }
    end
}

impl<'a> Tokens<'a> {
    /// Splits a text.
    pub(super) fn new(text: &'a str) -> Result<Tokens<'a>> {
        let bytes = text.as_bytes();
        let (mut all, mut at, mut line) = (Vec::new(), 0, 1_u32);
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            let rest = bytes.get(at..).unwrap_or_default();
            if byte.is_ascii_whitespace() {
                at += 1;
                line = line.saturating_add(u32::from(byte == b'\n'));
            } else if rest.starts_with(b"//") {
                at = skip_while(bytes, at, |byte| byte != b'\n');
            } else if rest.starts_with(b"/*") {
                let inner = rest.get(2..).unwrap_or_default();
                let Some(length) = inner.windows(2).position(|pair| pair == b"*/") else {
                    return Err(PtxError { line, what: "a comment does not end".to_string() });
                };
                let newlines = inner.iter().take(length).filter(|&&byte| byte == b'\n').count();
                line = line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
                at += length + 4;
            } else if byte == b'"' {
                at = skip_while(bytes, at + 1, |byte| byte != b'"' && byte != b'\n') + 1;
                if bytes.get(at - 1) != Some(&b'"') {
                    return Err(PtxError { line, what: "a quotation does not end".to_string() });
                }
                all.push(Placed { token: Token::Quoted, line, start, end: at });
            } else if is_of_word(byte) {
                at = end_of_word(bytes, at);
                let word = text.get(start..at).unwrap_or_default();
                all.push(Placed { token: Token::Word(word), line, start, end: at });
            } else if byte.is_ascii_graphic() {
                at += 1;
                let token = Token::Mark(char::from(byte));
                all.push(Placed { token, line, start, end: at });
            } else {
                let what = format!("a byte of {byte} is not understood");
                return Err(PtxError { line, what });
            }
        }
        Ok(Tokens { text, all, at: 0, last_line: line })
    }

    /// The next token, which stays the next.
    pub(super) fn peek(&self) -> Token<'a> {
        self.all.get(self.at).map_or(Token::End, |placed| placed.token)
    }

    /// The token after the next.
    pub(super) fn peek_second(&self) -> Token<'a> {
        self.all.get(self.at + 1).map_or(Token::End, |placed| placed.token)
    }

    /// Takes the next token.
    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    /// The line of the next token.
    pub(super) fn line(&self) -> u32 {
        self.all.get(self.at).map_or(self.last_line, |placed| placed.line)
    }

    /// How many commas stand before the next closing brace, if it is near.
    pub(super) fn commas_in_braces(&self) -> usize {
        let near = self.all.get(self.at..).unwrap_or_default().iter().take(16);
        let within = near.take_while(|placed| placed.token != Token::Mark('}'));
        within.filter(|placed| placed.token == Token::Mark(',')).count()
    }

    /// The number of the next token.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// The text from the token of that number to the next `;`, or a part of it, on one line.
    pub(super) fn text_from(&self, place: usize) -> String {
        let few = self.all.get(place..).unwrap_or_default().iter().take(40);
        let kept = few.take_while(|placed| placed.token != Token::Mark(';'));
        let (first, last) = kept.fold((None, 0), |(first, _), placed| {
            (Some(first.unwrap_or(placed.start)), placed.end)
        });
        let text = first.and_then(|first| self.text.get(first..last)).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(200).collect()
    }

    /// An error at the next token.
    pub(super) fn error(&self, what: impl Into<String>) -> PtxError {
        PtxError { line: self.line(), what: what.into() }
    }

    /// An error that says what stands in place of what was expected.
    pub(super) fn unexpected(&self, expected: &str) -> PtxError {
        let found = match self.peek() {
            Token::Word(word) => format!("`{}`", word.chars().take(100).collect::<String>()),
            Token::Quoted => "a quotation".to_string(),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end of the text".to_string(),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    /// Takes that mark if it is the next token.
    pub(super) fn accept(&mut self, mark: char) -> bool {
        let found = self.peek() == Token::Mark(mark);
        self.at += usize::from(found);
        found
    }

    /// Takes that word if it is the next token.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes that mark, which must be next.
    pub(super) fn expect(&mut self, mark: char) -> Result<()> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    /// Takes that word, which must be next.
    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    /// Takes a quotation, which must be next. Returns what it quotes.
    pub(super) fn quoted(&mut self) -> Result<&'a str> {
        let Token::Quoted = self.peek() else { return Err(self.unexpected("a quotation")) };
        let placed = self.all.get(self.at);
        let text = placed.and_then(|placed| self.text.get(placed.start + 1..placed.end - 1));
        self.at += 1;
        Ok(text.unwrap_or_default())
    }

    /// Takes a word.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        let Token::Word(word) = self.peek() else { return Err(self.unexpected("a word")) };
        self.at += 1;
        Ok(word)
    }

    /// Takes a name: a word that is no number and no directive.
    pub(super) fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Token::Word(word) if !word.starts_with(|c: char| c == '.' || c.is_ascii_digit()) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Whether the next token begins a number.
    pub(super) fn is_at_number(&self) -> bool {
        match self.peek() {
            Token::Mark('-') => true,
            Token::Word(word) => word.starts_with(|c: char| c.is_ascii_digit()),
            _ => false,
        }
    }

    /// Takes a number.
    pub(super) fn number(&mut self) -> Result<Number> {
        let is_negative = self.accept('-');
        let Token::Word(word) = self.peek() else { return Err(self.unexpected("a number")) };
        let number = match (number_of(word), is_negative) {
            (Some(Number::Whole(value)), true) if value <= 1 << 63 => {
                Number::Whole(value.wrapping_neg())
            }
            (Some(number), false) => number,
            _ => return Err(self.unexpected("a number")),
        };
        self.at += 1;
        Ok(number)
    }

    /// Takes a whole number from 0 to [`MOST`].
    pub(super) fn count(&mut self) -> Result<usize> {
        let error = self.unexpected("a number of moderate size");
        match self.number()? {
            Number::Whole(value) => {
                usize::try_from(value).ok().filter(|&count| count <= MOST).ok_or(error)
            }
            _ => Err(error),
        }
    }

    /// Takes what is added to an address, of 32 bits with a sign; 0 if there is nothing.
    pub(super) fn addition(&mut self) -> Result<i64> {
        if !self.accept('+') && self.peek() != Token::Mark('-') {
            return Ok(0);
        }
        let error = self.unexpected("a whole number of 32 bits");
        match self.number()? {
            Number::Whole(value) => {
                i32::try_from(value.cast_signed()).map(i64::from).map_err(|_| error)
            }
            _ => Err(error),
        }
    }
}

/// Reads a number without a sign.
fn number_of(word: &str) -> Option<Number> {
    let prefix = word.get(..2).unwrap_or_default();
    let digits = word.get(2..).unwrap_or_default();
    let hexadecimal = |digits: &str, length: usize| {
        let is_plain = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
        u64::from_str_radix(digits, 16).ok().filter(|_| is_plain)
    };
    if prefix.eq_ignore_ascii_case("0d") {
        return hexadecimal(digits, 16).map(Number::Double);
    }
    if prefix.eq_ignore_ascii_case("0f") {
        return hexadecimal(digits, 8)
            .and_then(|bits| u32::try_from(bits).ok())
            .map(Number::Single);
    }
    let word = word.strip_suffix('U').unwrap_or(word);
    let digits = word.get(2..).unwrap_or_default();
    let (digits, radix) = match prefix {
        "0x" | "0X" => (digits, 16),
        "0b" | "0B" => (digits, 2),
        _ if word.len() > 1 && word.starts_with('0') => (word, 8),
        _ => (word, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(Number::Whole)
}

/// The type of that name, without its dot.
pub(super) fn type_of(word: &str) -> Option<Type> {
    Some(match word {
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
