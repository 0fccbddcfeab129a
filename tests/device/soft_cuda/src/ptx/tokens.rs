//! Tokens of a PTX text, each with its line.

use super::{PtxError, Result};
use crate::program::Type;

/// Maximum of a count, of a size, and of a number of bytes.
pub(super) const MOST: usize = 1 << 30;

/// Token of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name, a number, or an opcode with its suffixes.
    Word(&'a str),
    /// A text in quotation marks.
    Quoted,
    Mark(char),
    /// The end of the text.
    End,
}

/// Token with its line, and its range of bytes in the text.
#[derive(Clone, Copy)]
struct Placed<'a> {
    token: Token<'a>,
    line: u32,
    start: usize,
    end: usize,
}

/// Number in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer; in two's complement if negative.
    Whole(u64),
    /// The bits of an `f32`.
    Single(u32),
    /// The bits of an `f64`.
    Double(u64),
}

impl Number {
    /// Returns the bits of the number as a value of type `of`, or `None` if it is not a value of that type.
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

/// Tokens of a text, with the position of the next one.
pub(super) struct Tokens<'a> {
    text: &'a str,
    all: Vec<Placed<'a>>,
    at: usize,
    last_line: u32,
}

/// Returns true if a byte may be part of a word.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// Returns the position of the first byte from `at` on for which `fits` is false, or the end.
fn skip_while(bytes: &[u8], at: usize, fits: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|&byte| !fits(byte)).map_or(bytes.len(), |length| at + length)
}

/// Returns the end of the word at `start`; `::` joins two words (`shared::cta`).
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
    /// Splits a text into tokens.
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

    /// Returns the next token without taking it.
    pub(super) fn peek(&self) -> Token<'a> {
        self.all.get(self.at).map_or(Token::End, |placed| placed.token)
    }

    /// Returns the token after the next one, without taking either.
    pub(super) fn peek_second(&self) -> Token<'a> {
        self.all.get(self.at + 1).map_or(Token::End, |placed| placed.token)
    }

    /// Takes and returns the next token.
    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    /// Returns the line of the next token.
    pub(super) fn line(&self) -> u32 {
        self.all.get(self.at).map_or(self.last_line, |placed| placed.line)
    }

    /// Returns the number of commas before the next closing brace, among at most 16 tokens.
    pub(super) fn commas_in_braces(&self) -> usize {
        let near = self.all.get(self.at..).unwrap_or_default().iter().take(16);
        let within = near.take_while(|placed| placed.token != Token::Mark('}'));
        within.filter(|placed| placed.token == Token::Mark(',')).count()
    }

    /// Returns the index of the next token.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Returns the text from token `place` to the next `;` on one line, at most 40 tokens and 200 characters.
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

    /// Creates an error at the next token.
    pub(super) fn error(&self, what: impl Into<String>) -> PtxError {
        PtxError { line: self.line(), what: what.into() }
    }

    /// Creates an error that names the expected item and the next token.
    pub(super) fn unexpected(&self, expected: &str) -> PtxError {
        let found = match self.peek() {
            Token::Word(word) => format!("`{}`", word.chars().take(100).collect::<String>()),
            Token::Quoted => "a quotation".to_string(),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end of the text".to_string(),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    /// Takes `mark` if it is the next token. Returns true if it was taken.
    pub(super) fn accept(&mut self, mark: char) -> bool {
        let found = self.peek() == Token::Mark(mark);
        self.at += usize::from(found);
        found
    }

    /// Takes `word` if it is the next token. Returns true if it was taken.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes `mark`, which must be the next token.
    pub(super) fn expect(&mut self, mark: char) -> Result<()> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    /// Takes `word`, which must be the next token.
    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    /// Takes a quoted text, which must be the next token. Returns it without the quotation marks.
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

    /// Takes a name: a word that is neither a number nor a directive.
    pub(super) fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Token::Word(word) if !word.starts_with(|c: char| c == '.' || c.is_ascii_digit()) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Returns true if the next token begins a number.
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

    /// Takes an integer from 0 to [`MOST`].
    pub(super) fn count(&mut self) -> Result<usize> {
        let error = self.unexpected("a number of moderate size");
        match self.number()? {
            Number::Whole(value) => {
                usize::try_from(value).ok().filter(|&count| count <= MOST).ok_or(error)
            }
            _ => Err(error),
        }
    }

    /// Takes the offset of an address, a signed integer of 32 bits. Returns 0 if there is no offset.
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

/// Returns the type with that name, which is given without its dot.
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
