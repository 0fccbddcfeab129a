//! Parser of formulas: text to [`Expression`], by precedence climbing (a Pratt parser).
//!
//! ```text
//! formula    = value ;                                   (* the whole text *)
//! value      = term { ( "+" | "-" ) term } ;
//! term       = unary { ( "*" | "/" ) unary } ;
//! unary      = ( "+" | "-" ) unary | power ;
//! power      = operand [ ( "^" | "**" ) unary ] ;        (* right associative: x^y^z = x^(y^z) *)
//! operand    = number | name | call | "(" value ")" ;
//! call       = function "(" value { "," value } ")"
//!            | ( "if" | "where" | "select" ) "(" condition "," value "," value ")" ;
//! condition  = both { ( "||" | "or" ) both } ;
//! both       = opposite { ( "&&" | "and" ) opposite } ;
//! opposite   = ( "!" | "not" ) opposite | comparison ;
//! comparison = value ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) value | "(" condition ")" ;
//! number     = ( digits [ "." [ digits ] ] | "." digits ) [ ( "e" | "E" ) [ "+" | "-" ] digits ] ;
//! name       = ( letter | "_" ) { letter | "_" | digit } ;  (* letters of any alphabet *)
//! ```
//!
//! Therefore `-x^2` is −(x²), `2^-x` needs no parentheses, and `!` applies to a whole comparison. `log` is the
//! natural logarithm, as in NumPy and MATLAB. A name followed by `(` is a function. Any other name is a
//! declared variable, else the constant `pi`, else a parameter. `e` is Euler's number as the base of a power, as in
//! `e^x`; elsewhere it is an error, because it may be meant as a parameter.
//!
//! An exponent written as an integer (`2`, `-2`, `(2)`, also in `pow(x, 2)`) is computed by products,
//! any other (`2.0`, `1/2`, `n`) by the power function. Multiplication needs an explicit `*`.
//!
//! A text may be malicious: nesting is limited to [`MAX_DEPTH`] and length to [`MAX_LENGTH`].

mod operation;
mod part;
pub(crate) mod tokens;

use super::expression::Expression;
use super::op::{Binary, Id, Unary};
use super::program::Program;
use super::tape::{self, TapeId};
use super::var::Var;
use crate::error::Error;
use crate::model::parse::tokens::replace_names;
use crate::model::parse::tokens::{FormulaFault, clip, quote};
use crate::model::tape::without_dead_code;
use operation::{Operation, Stack};
use part::{NOT, ParsedPart, Sort, TIGHT, infix, join, want};
use std::collections::{HashMap, HashSet};
pub(crate) use tokens::is_name;
use tokens::{Token, TokenKind, Tokens};

/// Maximum nesting of parentheses, calls, signs and exponents. Each level takes a few stack
/// frames; the worst text needs less than half of a Rust thread's 2 MiB stack, even without optimisation.
const MAX_DEPTH: usize = 200;

/// Maximum length of a text, in characters.
const MAX_LENGTH: usize = 1_000_000;

impl Expression {
    /// Parses a formula in the declared `variables`; every other name in it becomes a parameter.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Parse`] with the column, the token found and the token expected if the text is not a formula.
    pub(crate) fn parse(text: &str, variables: &[&str]) -> Result<Expression, Error> {
        let length = text.chars().count();
        if length > MAX_LENGTH {
            let message =
                format!("the text has {length} characters; at most {MAX_LENGTH} are read");
            return Err(Error::Parse { message, column: 1, text: clip(text) });
        }
        let (parsed, tape) = tape::record(|tape| {
            Parser::new(text, variables).and_then(|parser| parser.formula(tape))
        });
        let parsed = parsed.and_then(|(value, params)| {
            nearly_variable(text, variables, &params)?;
            Ok((value, params))
        });
        let (value, params) = parsed.map_err(|fault| {
            let FormulaFault { column, message } = *fault;
            Error::Parse { message, column, text: text.to_owned() }
        })?;
        let value = value.ok_or(Error::ForeignVariable)?;
        let (nodes, outputs) = without_dead_code(&tape.nodes.list, &[value]);
        let columns = variables.iter().map(|&name| name.to_owned()).collect();
        Ok(Expression(Program { columns, params, nodes, outputs, partials: Vec::new() }))
    }
}

/// Rejects a parameter that differs from an unused variable in case only, for example `T` if the variable is `t`.
fn nearly_variable(
    text: &str,
    variables: &[&str],
    parameters: &[String],
) -> Result<(), Box<FormulaFault>> {
    let mut occurring = HashSet::new();
    replace_names(text, |name| {
        occurring.insert(name);
        None
    });
    for variable in variables.iter().filter(|variable| !occurring.contains(*variable)) {
        let same = |name: &&String| name.to_lowercase() == variable.to_lowercase();
        let Some(name) = parameters.iter().find(same) else { continue };
        let mut tokens = Tokens::new(text);
        let mut column = 1;
        while let Ok(token) = tokens.next()
            && token.kind != TokenKind::End
        {
            if token.text == name {
                column = token.column;
                break;
            }
        }
        let message = format!(
            "{} is no variable, but {variable}, which does not occur, is one; write {variable}, or call the parameter otherwise",
            quote(name)
        );
        return FormulaFault::at(column, message);
    }
    Ok(())
}

/// An infix operator whose right operand is incomplete.
#[derive(Clone, Copy)]
struct Pending<'a> {
    left: ParsedPart,
    operator: Token<'a>,
    power: u8,
    operation: Operation,
}

/// State of the parser: the tokens around the current position, and the parts parsed so far. The operations of the
/// parts are recorded on the innermost tape of this thread.
struct Parser<'a> {
    /// The tokens after `current`.
    tokens: Tokens<'a>,
    previous: Token<'a>,
    current: Token<'a>,
    pending: Vec<Pending<'a>>,
    depth: usize,
    /// The variable, constant or parameter of each name seen so far.
    names: HashMap<&'a str, Var>,
    parameters: Vec<String>,
    stack: Stack,
}

impl<'a> Parser<'a> {
    /// Creates a parser before the first token.
    fn new(text: &'a str, variables: &[&'a str]) -> Result<Self, Box<FormulaFault>> {
        let mut parser = Parser {
            tokens: Tokens::new(text),
            previous: Token::END,
            current: Token::END,
            pending: Vec::new(),
            depth: 0,
            names: HashMap::new(),
            parameters: Vec::new(),
            stack: Stack::default(),
        };
        for (index, &name) in variables.iter().enumerate() {
            if !is_name(name) || matches!(name, "and" | "or" | "not") {
                let message = format!("the variable {} has no valid name", quote(name));
                return FormulaFault::at(
                    1,
                    message + "; use letters, digits and _, a letter first",
                );
            }
            if parser.names.insert(name, Var::column(index as u32)).is_some() {
                return FormulaFault::at(
                    1,
                    format!("the variable {} is declared twice", quote(name)),
                );
            }
        }
        parser.names.entry("pi").or_insert(Var::from(std::f64::consts::PI));
        parser.advance()?;
        Ok(parser)
    }

    /// Parses the whole text. Returns the node of its value on the tape, and its parameters.
    fn formula(mut self, tape: TapeId) -> Result<(Option<Id>, Vec<String>), Box<FormulaFault>> {
        if self.current.kind == TokenKind::End {
            return FormulaFault::at(
                1,
                "the expression is empty; expected a formula such as a*x + b",
            );
        }
        let formula = self.expression(0)?;
        let Token { kind, text, column } = self.current;
        match (kind, text) {
            (TokenKind::End, _) => {}
            (_, ")") => return FormulaFault::at(column, "found `)` but no `(` is open"),
            // Only a comma is possible here: any other token either continues a formula or was rejected.
            _ => {
                let message = "found `,` outside a function's arguments (decimals have a point)";
                return FormulaFault::at(column, message);
            }
        }
        want(Sort::Value, formula)?;
        Ok((self.stack.value().node(tape), self.parameters))
    }

    /// Parses a chain of operands and infix operators that bind at least as tightly as `floor`. An operator waits in
    /// `pending` until its right operand is complete. The operand is complete when the next operator does not bind
    /// tighter or the chain ends.
    fn expression(&mut self, floor: u8) -> Result<ParsedPart, Box<FormulaFault>> {
        let outer = self.pending.len();
        let mut part = self.operand()?;
        loop {
            let next = infix(self.current.text).filter(|&(power, _)| power >= floor);
            while let Some(&Pending { left, operator, power, operation }) = self.pending.last()
                && self.pending.len() > outer
                && next.is_none_or(|(next_power, _)| power >= next_power)
            {
                self.pending.pop();
                part = join(left, operator, operation, part)?;
                self.stack.apply(operation);
            }
            let Some((power, operation)) = next else {
                self.refuse_juxtaposition()?;
                return Ok(part);
            };
            let operator = self.current;
            self.advance()?;
            if power == TIGHT {
                let exponent = self.nested(TIGHT)?;
                part = join(part, operator, operation, exponent)?;
                self.power(exponent);
            } else {
                self.pending.push(Pending { left: part, operator, power, operation });
                part = self.operand()?;
            }
        }
    }

    /// Parses an [`expression`](Self::expression) one nesting level deeper.
    fn nested(&mut self, floor: u8) -> Result<ParsedPart, Box<FormulaFault>> {
        if self.depth == MAX_DEPTH {
            let column = self.current.column;
            return FormulaFault::at(column, format!("more than {MAX_DEPTH} levels of nesting"));
        }
        self.depth += 1;
        let part = self.expression(floor)?;
        self.depth -= 1;
        Ok(part)
    }

    /// Parses a number, a name, a call, a parenthesis, or one of these after a sign or a `not`.
    fn operand(&mut self) -> Result<ParsedPart, Box<FormulaFault>> {
        let token = self.current;
        let mut part = ParsedPart { sort: Sort::Value, integer: None, column: token.column };
        match (token.kind, token.text) {
            (TokenKind::Number(value, integer), _) => {
                self.advance()?;
                self.stack.push(Var::from(value));
                part.integer = integer;
            }
            (_, sign @ ("-" | "+")) => {
                self.advance()?;
                let inner = self.nested(TIGHT)?;
                want(Sort::Value, inner)?;
                part.integer = inner.integer;
                if sign == "-" {
                    self.stack.apply(Operation::Unary(Unary::Neg));
                    part.integer = inner.integer.and_then(i32::checked_neg);
                }
            }
            (_, "!" | "not") => {
                self.advance()?;
                let inner = self.nested(NOT)?;
                want(Sort::Condition, inner)?;
                self.stack.apply(Operation::Not);
                part.sort = Sort::Condition;
            }
            (_, "(") => {
                self.advance()?;
                part = ParsedPart { column: token.column, ..self.nested(0)? };
                self.close(token)?;
            }
            (TokenKind::Name, name) if !matches!(name, "and" | "or") => {
                self.advance()?;
                if self.current.text == "(" {
                    self.call(token)?;
                } else {
                    let value = self.name(token)?;
                    self.stack.push(value);
                }
            }
            _ => return FormulaFault::no_value(self.previous, token),
        }
        Ok(part)
    }

    /// Returns the meaning of a name that is not a call.
    fn name(&mut self, token: Token<'a>) -> Result<Var, Box<FormulaFault>> {
        let name = token.text;
        if let Some(&known) = self.names.get(name) {
            return Ok(known);
        }
        if name == "e" {
            if matches!(self.current.text, "^" | "**") {
                return Ok(Var::from(std::f64::consts::E));
            }
            let message = "`e` could be a parameter or Euler's number 2.718…: name a parameter otherwise, such as e0; the number is exp(1)";
            return FormulaFault::at(token.column, message);
        }
        if ["inf", "infinity", "nan"].iter().any(|word| name.eq_ignore_ascii_case(word)) {
            let message = format!("`{name}` is not a number that a model can be fitted with");
            return FormulaFault::at(token.column, message);
        }
        let parameter = Var::param(self.parameters.len() as u32);
        self.parameters.push(name.to_owned());
        self.names.insert(name, parameter);
        Ok(parameter)
    }

    /// Parses a call, from its opening parenthesis to its closing one.
    fn call(&mut self, callee: Token<'a>) -> Result<(), Box<FormulaFault>> {
        let named = |&(name, _): &(&str, Operation)| name == callee.text;
        let Some((_, function)) = Operation::functions().find(named) else {
            return FormulaFault::no_function(callee, self.names.contains_key(callee.text));
        };
        let open = self.current;
        self.advance()?;
        let mut count = 0;
        while count > 0 || self.current.text != ")" {
            let argument = self.nested(0)?;
            count += 1;
            let conditional = matches!(function, Operation::Select) && count == 1;
            want(if conditional { Sort::Condition } else { Sort::Value }, argument)?;
            match function {
                Operation::Binary(Binary::Pow) if count == 2 => self.power(argument),
                Operation::Binary(_) if count >= 2 => self.stack.apply(function),
                _ => {}
            }
            if self.current.text != "," {
                break;
            }
            self.advance()?;
        }
        self.close(open)?;
        if !matches!(function, Operation::Binary(_)) {
            self.stack.apply(function);
        }
        let of = |what| format!("3 arguments ({what})");
        let (enough, takes) = match function {
            Operation::Unary(_) | Operation::One(_) => (count == 1, "1 argument".into()),
            Operation::Binary(Binary::Min | Binary::Max) => {
                (count >= 2, "two or more arguments".into())
            }
            Operation::Binary(_) | Operation::Two(_) => (count == 2, "2 arguments".into()),
            Operation::Three(_, what) => (count == 3, of(what)),
            _ => (count == 3, of("condition, value where it holds, value elsewhere")),
        };
        if enough {
            return Ok(());
        }
        FormulaFault::at(callee.column, format!("`{}` takes {takes}, not {count}", callee.text))
    }

    /// Raises the second-last value of the stack to the power of the last, which is `exponent`.
    fn power(&mut self, exponent: ParsedPart) {
        if let Some(n) = exponent.integer {
            self.stack.value();
            let power = self.stack.value().powi(n);
            self.stack.push(power);
        } else {
            self.stack.apply(Operation::Binary(Binary::Pow));
        }
    }

    /// Consumes the `)` that belongs to `open`.
    fn close(&mut self, open: Token<'a>) -> Result<(), Box<FormulaFault>> {
        match self.current.text {
            ")" => self.advance(),
            _ => FormulaFault::not_closed(open, self.current),
        }
    }

    /// Rejects a value directly after a value.
    fn refuse_juxtaposition(&self) -> Result<(), Box<FormulaFault>> {
        match (self.current.kind, self.current.text) {
            (_, "and" | "or") => Ok(()),
            (TokenKind::Number(..) | TokenKind::Name, _) | (_, "(" | "!") => {
                FormulaFault::no_operator(self.previous, self.current)
            }
            _ => Ok(()),
        }
    }

    /// Reads the next token into `current`.
    fn advance(&mut self) -> Result<(), Box<FormulaFault>> {
        self.previous = self.current;
        self.current = self.tokens.next()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
