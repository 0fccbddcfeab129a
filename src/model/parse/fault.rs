//! Errors in a formula, and their messages.

use super::operation::Operation;
use super::tokens::{Token, TokenKind};
use crate::error::quote::{nearest, visible};

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
