//! Parser for composites such as `gaussian(g1_) + gaussian(g2_) + linear(bg_)`.
//!
//! ```text
//! composite = sum ;                                     (* the whole text *)
//! sum       = product { ( "+" | "-" ) product } ;
//! product   = factor { ( "*" | "/" ) factor } ;
//! factor    = [ "-" ] operand [ "of" factor ] ;         (* `f of g` is f(g(x)) *)
//! operand   = number | "(" sum ")" | model [ "(" { [ "-" ] number "," } [ prefix ] ")" ] ;
//! ```

use super::model::Model;
use super::{by_name, polynomial, spline};
use crate::error::{Error, Result};
use crate::model::parse::tokens::{FormulaFault, quote};
use crate::model::parse::tokens::{Token, TokenKind, Tokens};

/// Maximum depth of nested parentheses, signs and `of`.
const DEEPEST: usize = 100;

/// Parses a composite: names of library models with prefixes for their parameters, combined by + − * /,
/// parentheses, numbers and `of` (nesting).
///
/// ```
/// use dualfit::models;
/// let model = models::parse("gaussian(g1_) + gaussian(g2_) + polynomial(2, bg_)")?;
/// assert_eq!(model.parameters().len(), 9);
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Parse`] with the column of the error if the text is not valid.
pub fn parse(text: &str) -> Result<Model> {
    let mut tokens = Tokens::new(text);
    let parsed = tokens.next().and_then(|current| {
        let mut parser = CompositeParser { tokens, current, depth: 0 };
        let model = parser.sum()?;
        match parser.current.kind {
            TokenKind::End => Ok(model),
            _ => parser.unexpected("expected + - * / or the end"),
        }
    });
    parsed.map_err(|fault| {
        let FormulaFault { column, message } = *fault;
        Error::Parse { message, column, text: text.to_owned() }
    })
}

struct CompositeParser<'a> {
    /// Tokens after `current`.
    tokens: Tokens<'a>,
    current: Token<'a>,
    depth: usize,
}

/// A numeric argument before the prefix.
struct Argument {
    value: f64,
    /// The value if it was written as a whole number.
    whole: Option<i32>,
    column: usize,
}

impl Argument {
    fn as_degree(&self) -> Parsed<usize> {
        match self.whole.and_then(|degree| usize::try_from(degree).ok()) {
            Some(degree) => Ok(degree),
            None => FormulaFault::at(self.column, "expected a whole number as degree"),
        }
    }
}

type Parsed<T> = std::result::Result<T, Box<FormulaFault>>;

impl<'a> CompositeParser<'a> {
    fn sum(&mut self) -> Parsed<Model> {
        let mut model = self.product()?;
        loop {
            model = match self.current.text {
                "+" => model + self.after(CompositeParser::product)?,
                "-" => model - self.after(CompositeParser::product)?,
                _ => return Ok(model),
            };
        }
    }

    fn product(&mut self) -> Parsed<Model> {
        let mut model = self.factor()?;
        loop {
            model = match self.current.text {
                "*" => model * self.after(CompositeParser::factor)?,
                "/" => model / self.after(CompositeParser::factor)?,
                _ => return Ok(model),
            };
        }
    }

    fn factor(&mut self) -> Parsed<Model> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("more than {DEEPEST} levels of nesting");
            return FormulaFault::at(self.current.column, message);
        }
        let mut model = match self.current.text {
            "-" => {
                self.advance()?;
                match self.current.kind {
                    TokenKind::Number(value, _) => self.after(|_| Ok(Model::number(-value)))?,
                    _ => -self.factor()?,
                }
            }
            _ => self.operand()?,
        };
        if self.current.text == "of" {
            model = model.of(self.after(CompositeParser::factor)?);
        }
        self.depth -= 1;
        Ok(model)
    }

    fn operand(&mut self) -> Parsed<Model> {
        let token = self.current;
        match (token.kind, token.text) {
            (TokenKind::Number(value, _), _) => {
                self.advance()?;
                Ok(Model::number(value))
            }
            (_, "(") => {
                let model = self.after(CompositeParser::sum)?;
                self.close()?;
                Ok(model)
            }
            (TokenKind::Name, name) => {
                self.advance()?;
                let (numbers, prefix) = self.arguments()?;
                let model = match (name, &numbers[..]) {
                    ("polynomial", [degree]) => polynomial(degree.as_degree()?, ""),
                    ("polynomial", _) => {
                        let message =
                            "`polynomial` needs a degree: polynomial(3) or polynomial(3, bg_)";
                        return FormulaFault::at(token.column, message);
                    }
                    ("spline", []) => {
                        let message = "`spline` needs its knots: spline(0, 2.5, 5, 10) or spline(0, 2.5, 5, 10, bg_)";
                        return FormulaFault::at(token.column, message);
                    }
                    ("spline", knots) => {
                        spline(knots.iter().map(|knot| knot.value).collect::<Vec<_>>(), "")
                    }
                    (_, [_, ..]) => {
                        let message = format!("`{name}` takes a prefix only: {name}(a_)");
                        return FormulaFault::at(token.column, message);
                    }
                    _ => by_name(name),
                };
                match model {
                    Ok(model) => Ok(model.prefixed(prefix)),
                    Err(error) => FormulaFault::at(token.column, error.to_string()),
                }
            }
            _ => self.unexpected("expected a model such as gaussian(g_)"),
        }
    }

    /// Parses the numbers and the prefix in the parentheses after the name of a model.
    fn arguments(&mut self) -> Parsed<(Vec<Argument>, &'a str)> {
        let (mut numbers, mut prefix) = (Vec::new(), "");
        if self.current.text != "(" {
            return Ok((numbers, prefix));
        }
        self.advance()?;
        while self.current.text == "-" || matches!(self.current.kind, TokenKind::Number(..)) {
            let column = self.current.column;
            let negative = self.current.text == "-";
            if negative {
                self.advance()?;
            }
            let TokenKind::Number(value, whole) = self.current.kind else {
                return self.unexpected("expected a number");
            };
            self.advance()?;
            numbers.push(match negative {
                true => Argument { value: -value, whole: None, column },
                false => Argument { value, whole, column },
            });
            if self.current.text != "," {
                self.close()?;
                return Ok((numbers, prefix));
            }
            self.advance()?;
        }
        if self.current.kind == TokenKind::Name {
            prefix = self.current.text;
            self.advance()?;
        }
        self.close()?;
        Ok((numbers, prefix))
    }

    fn after<T>(&mut self, next: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.advance()?;
        next(self)
    }

    fn close(&mut self) -> Parsed<()> {
        match self.current.text {
            ")" => self.advance(),
            _ => self.unexpected("expected `)`"),
        }
    }

    fn advance(&mut self) -> Parsed<()> {
        self.current = self.tokens.next()?;
        Ok(())
    }

    fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        let found = match self.current.kind {
            TokenKind::End => "the text ends".to_owned(),
            _ => format!("found {}", quote(self.current.text)),
        };
        FormulaFault::at(self.current.column, format!("{expected} but {found}"))
    }
}
