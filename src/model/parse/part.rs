//! Infix operators, and the combination of their two operands.

use super::operation::Operation;
use super::tokens::Token;
use crate::model::op::Binary;
use crate::model::parse::tokens::FormulaFault;
use crate::model::var::VarMask;

/// Kind of a part of the formula: a number or a condition.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sort {
    /// A number.
    Value,
    /// A condition.
    Condition,
}

/// A part of the formula whose operations have been recorded.
#[derive(Clone, Copy)]
pub(super) struct ParsedPart {
    /// Number or condition.
    pub(super) sort: Sort,
    /// The part as an integer, if it is an integer literal.
    pub(super) integer: Option<i32>,
    /// Column of its first character.
    pub(super) column: usize,
}

/// Minimum binding power of the operators in the operand of a sign or in an exponent: only powers bind this tightly.
pub(super) const TIGHT: u8 = 7;
/// Minimum binding power of the operators in the operand of `not`: comparisons and operators that bind tighter.
pub(super) const NOT: u8 = 3;

/// Returns the binding power of an infix operator and its operation; `None` for other tokens.
pub(super) fn infix(token: &str) -> Option<(u8, Operation)> {
    use Operation::{Compare, Join};
    Some(match token {
        "or" | "||" => (1, Join(VarMask::or)),
        "and" | "&&" => (2, Join(VarMask::and)),
        "<" => (4, Compare(|a, b| a.lt(b))),
        "<=" => (4, Compare(|a, b| a.le(b))),
        ">" => (4, Compare(|a, b| a.gt(b))),
        ">=" => (4, Compare(|a, b| a.ge(b))),
        "==" => (4, Compare(|a, b| a.eq(b))),
        "!=" => (4, Compare(|a, b| !a.eq(b))),
        "+" => (5, Operation::Binary(Binary::Add)),
        "-" => (5, Operation::Binary(Binary::Sub)),
        "*" => (6, Operation::Binary(Binary::Mul)),
        "/" => (6, Operation::Binary(Binary::Div)),
        "^" | "**" => (TIGHT, Operation::Binary(Binary::Pow)),
        _ => return None,
    })
}

/// Checks that a part is of the required sort.
pub(super) fn want(sort: Sort, part: ParsedPart) -> Result<(), Box<FormulaFault>> {
    match sort {
        _ if part.sort == sort => Ok(()),
        Sort::Value => {
            let message = "expected a value but found a condition; write if(condition, a, b)";
            FormulaFault::at(part.column, message)
        }
        Sort::Condition => {
            FormulaFault::at(part.column, "expected a condition such as x < 1 but found a value")
        }
    }
}

/// Combines the two operands of an infix operator and checks their sorts.
pub(super) fn join(
    left: ParsedPart,
    operator: Token<'_>,
    operation: Operation,
    right: ParsedPart,
) -> Result<ParsedPart, Box<FormulaFault>> {
    let (from, to) = match operation {
        Operation::Join(_) => (Sort::Condition, Sort::Condition),
        Operation::Compare(_) if left.sort == Sort::Condition => {
            return FormulaFault::at(
                operator.column,
                "comparisons do not chain; write a < b && b < c",
            );
        }
        Operation::Compare(_) => (Sort::Value, Sort::Condition),
        _ => (Sort::Value, Sort::Value),
    };
    want(from, left)?;
    want(from, right)?;
    Ok(ParsedPart { sort: to, integer: None, column: left.column })
}
