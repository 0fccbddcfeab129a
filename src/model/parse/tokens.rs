//! Tokenizer: splits a formula into numbers, names and symbols, with the column of each.

use crate::error::quote::{nearest, visible};
use crate::model::parse::operation::Operation;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A number, and its value as an integer if it is written as one and fits into `i32`.
    Number(f64, Option<i32>),
    /// A name or one of the words `and`, `or`, `not`.
    Name,
    /// An operator, parenthesis or comma.
    Symbol,
    /// The end of the text; its own text is empty.
    End,
}

/// A token of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    /// Kind of the token.
    pub(crate) kind: TokenKind,
    /// Characters of the token.
    pub(crate) text: &'a str,
    /// Column of its first character, from 1.
    pub(crate) column: usize,
}

impl Token<'_> {
    /// The end of an empty text.
    pub(super) const END: Token<'static> = Token { kind: TokenKind::End, text: "", column: 1 };
}

/// The tokens of a text, read one at a time.
pub(crate) struct Tokens<'a> {
    /// The unread text.
    rest: &'a str,
    /// Column of the first character of `rest`, from 1.
    column: usize,
}

/// Operators and punctuation. A symbol precedes its own prefixes.
const SYMBOLS: [&str; 18] = [
    "**", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "^", "(", ")", ",", "<", ">", "!",
];

impl<'a> Tokens<'a> {
    /// Creates a tokenizer for `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Tokens { rest: text, column: 1 }
    }

    /// Returns the next token; after the last token [`TokenKind::End`], with the column behind the last token.
    ///
    /// # Errors
    ///
    /// Returns an error for a character that cannot start a token, or a number that is too large.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, Box<FormulaFault>> {
        let text = self.rest.trim_start();
        let Some(first) = text.chars().next() else {
            return Ok(Token { kind: TokenKind::End, text: "", column: self.column });
        };
        let spaces = &self.rest[..self.rest.len() - text.len()];
        let column = self.column + spaces.chars().count();
        let number = number_length(text);
        let (kind, length) = if number > 0 {
            let digits = &text[..number];
            let value = digits.parse().unwrap_or(f64::INFINITY);
            if value == f64::INFINITY {
                return FormulaFault::at(
                    column,
                    format!("the number {} is too large", quote(digits)),
                );
            }
            (TokenKind::Number(value, digits.parse().ok()), number)
        } else if starts_name(first) {
            (TokenKind::Name, text.find(|c| !continues_name(c)).unwrap_or(text.len()))
        } else if let Some(symbol) = SYMBOLS.iter().find(|&&symbol| text.starts_with(symbol)) {
            (TokenKind::Symbol, symbol.len())
        } else {
            let shown = first.escape_debug();
            let remedy = remedy(text);
            return FormulaFault::at(column, format!("`{shown}` is not part of a formula{remedy}"));
        };
        let (text, rest) = text.split_at(length);
        self.rest = rest;
        self.column = column + text.chars().count();
        Ok(Token { kind, text, column })
    }
}

/// Returns advice for a text whose first character cannot start a token.
fn remedy(text: &str) -> &'static str {
    let mut characters = text.chars();
    let (first, second) = (characters.next().unwrap_or_default(), characters.next());
    match first {
        '=' => "; write what follows y = only, or == to compare",
        '~' => "; write what follows y ~ only",
        '&' => "; write && or the word and",
        '|' => "; write || or the word or, and abs(x) for |x|",
        '−' | '–' => "; write -",
        '×' | '·' | '⋅' => "; write *",
        '÷' => "; write /",
        '²' => "; write ^2",
        '³' => "; write ^3",
        '≤' => "; write <=",
        '≥' => "; write >=",
        '≠' => "; write !=",
        '[' | ']' | '{' | '}' => "; group with ( and )",
        '.' if second.is_some_and(starts_name) => "; write functions without a module: exp(x)",
        '.' if matches!(second, Some('^' | '*' | '/')) => {
            "; write ^, * and / without a point, they apply to each point of the data"
        }
        '.' => "; a number has digits before or after its point",
        _ => "",
    }
}

/// Returns the length in bytes of the number at the beginning of `text`; 0 if `text` does not begin with a number.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
        if end == 1 {
            return 0;
        }
    }
    if end > 0 && text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// Returns true if a name may start with `c`.
fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns true if a name may contain `c` after its first character.
fn continues_name(c: char) -> bool {
    starts_name(c) || c.is_ascii_digit()
}

/// Returns true if the whole of `text` is one name.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(starts_name) && text.chars().all(continues_name)
}

/// Returns the formula with each name replaced by the result of `replace`; a name stays if the result is `None`.
/// Functions and `and`, `or`, `not` are not replaced. The text from an invalid token on stays unchanged.
pub(crate) fn replace_names<'a>(
    text: &'a str,
    mut replace: impl FnMut(&'a str) -> Option<String>,
) -> String {
    let mut tokens = Tokens::new(text);
    let mut next = || tokens.next().ok().filter(|token| token.kind != TokenKind::End);
    let (mut out, mut written) = (String::with_capacity(text.len()), 1);
    let mut characters = text.chars();
    let mut current = next();
    while let Some(Token { kind, text: word, column }) = current {
        out.extend(characters.by_ref().take(column - written));
        let length = word.chars().count();
        characters.by_ref().take(length).for_each(drop);
        written = column + length;
        current = next();
        let called = current.is_some_and(|token| token.text == "(");
        let plain = kind == TokenKind::Name && !called && !matches!(word, "and" | "or" | "not");
        match if plain { replace(word) } else { None } {
            Some(other) => out.push_str(&other),
            None => out.push_str(word),
        }
    }
    out.extend(characters);
    out
}

// Errors in a formula, and their messages.

/// An error in a formula. It is boxed in results, because the parser can recurse hundreds of levels deep
/// and each level must need little stack.
#[derive(Debug, PartialEq)]
pub(crate) struct FormulaFault {
    /// Column of the error, from 1.
    pub(crate) column: usize,
    /// Message with the text found and the text expected.
    pub(crate) message: String,
}

impl FormulaFault {
    /// Returns an error as a result.
    pub(crate) fn at<T>(column: usize, message: impl Into<String>) -> Result<T, Box<FormulaFault>> {
        Err(Box::new(FormulaFault { column, message: message.into() }))
    }

    /// Returns the error for `found` at the position of a value.
    pub(super) fn no_value<T>(
        previous: Token<'_>,
        found: Token<'_>,
    ) -> Result<T, Box<FormulaFault>> {
        let place = match previous.kind {
            TokenKind::End => String::new(),
            _ => format!(" after {}", quote(previous.text)),
        };
        let what = found_text(found);
        FormulaFault::at(found.column, format!("expected a value{place} but {what}"))
    }

    /// Returns the error for `found` at the position of the `)` that closes `open`.
    pub(super) fn not_closed<T>(open: Token<'_>, found: Token<'_>) -> Result<T, Box<FormulaFault>> {
        let what = found_text(found);
        let message = format!("missing `)` for the `(` at column {}; {what}", open.column);
        FormulaFault::at(found.column, message)
    }

    /// Returns the error for two adjacent values without an operator.
    pub(super) fn no_operator<T>(
        left: Token<'_>,
        right: Token<'_>,
    ) -> Result<T, Box<FormulaFault>> {
        let (before, after) = (quote(left.text), quote(right.text));
        let mut message = format!("no operator between {before} and {after}");
        if !matches!(right.text, "not" | "!") {
            let whole = |text| if matches!(text, "(" | ")") { "(…)".into() } else { clip(text) };
            message += &format!("; to multiply, write {}*{}", whole(left.text), whole(right.text));
        }
        FormulaFault::at(right.column, message)
    }

    /// Returns the error for a name before a parenthesis that is not a function. `known`: the name is a variable,
    /// constant or parameter.
    pub(super) fn no_function<T>(callee: Token<'_>, known: bool) -> Result<T, Box<FormulaFault>> {
        let name = quote(callee.text);
        let message = if known {
            format!("{name} is not a function")
        } else {
            let functions: Vec<_> = Operation::functions().map(|(name, _)| name).collect();
            match nearest(callee.text, functions.iter().copied()) {
                Some(meant) => format!("unknown function {name} (did you mean `{meant}`?)"),
                None => {
                    format!("unknown function {name}; known functions are {}", functions.join(", "))
                }
            }
        };
        let product = format!("; to multiply, write {}*(…)", clip(callee.text));
        FormulaFault::at(callee.column, message + &product)
    }
}

/// Describes an unexpected token.
fn found_text(found: Token<'_>) -> String {
    match found.kind {
        TokenKind::End => "the expression ends".to_owned(),
        _ => format!("found {}", quote(found.text)),
    }
}

/// Truncates a text, which may be very long, to 40 characters.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", visible(&text[..end])),
        None => visible(text).into_owned(),
    }
}

/// Truncates a text by [`clip`] and encloses it in backticks.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", clip(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        let mut tokens = Tokens::new(text);
        let next = || tokens.next().ok().map(|t| t.text).filter(|t| !t.is_empty());
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn numbers_end_where_they_stop_being_numbers() {
        for text in ["1", ".5", "1.", "1.5", "1e3", "1.e3", ".5e-3", "1.5E+3", "007"] {
            assert_eq!(texts(text), [text]);
        }
        assert_eq!(texts("2x"), ["2", "x"]);
        assert_eq!(texts("2e"), ["2", "e"]);
        assert_eq!(texts("2e+x"), ["2", "e", "+", "x"]);
        assert_eq!(texts("1.2.3"), ["1.2", ".3"]);
        assert_eq!(texts("2exp"), ["2", "exp"]);
        let kind = |text| Tokens::new(text).next().unwrap().kind;
        assert_eq!(kind("12"), TokenKind::Number(12.0, Some(12)));
        assert_eq!(kind("2.0"), TokenKind::Number(2.0, None));
        assert_eq!(kind("3000000000"), TokenKind::Number(3e9, None));
    }

    #[test]
    fn columns_count_characters() {
        let mut tokens = Tokens::new("α\u{3000}** _β1 ");
        let mut next = || tokens.next().map(|t| (t.text, t.column)).unwrap();
        assert_eq!(next(), ("α", 1));
        assert_eq!(next(), ("**", 3));
        assert_eq!(next(), ("_β1", 6));
        assert_eq!(next(), ("", 9));
        assert_eq!(next(), ("", 9));
    }

    #[test]
    fn what_is_no_token_is_named() {
        let error = |text| Tokens::new(text).next().unwrap_err();
        assert!(error(" = 1").message.ends_with("; write what follows y = only, or == to compare"));
        assert_eq!(error(" = 1").column, 2);
        assert_eq!(error("\u{0}").message, "`\\0` is not part of a formula");
        assert_eq!(error("1e999").message, "the number `1e999` is too large");
        assert!(error(".").message.ends_with("digits before or after its point"));
        assert!(error("²").message.ends_with("write ^2"));
    }
}

#[cfg(test)]
mod names_tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_nothing_else() {
        let prefix = |name: &str| (name != "x").then(|| format!("g_{name}"));
        assert_eq!(
            replace_names("a*exp (-x/β1) + 2e3*e1 - if(x < 1 and not b > 2, 1, exp)", prefix),
            "g_a*exp (-x/g_β1) + 2e3*g_e1 - if(x < 1 and not g_b > 2, 1, g_exp)"
        );
        assert_eq!(replace_names("  x  ", prefix), "  x  ");
        assert_eq!(replace_names("", prefix), "");
    }
}
