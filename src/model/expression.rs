//! A model that arrived as text: its operations in postfix order, and their meaning over any scalar.
//!
//! Postfix order replaces the tree by a list: `a*x + 1` is `a x * 1 +`. Evaluating it is one loop
//! over a stack and dropping it frees one vector, so that neither recurses however long the text
//! was. Operands come off the stack in the order in which they were written and nothing is
//! reassociated: the result has the bits of the closure that says the same.

mod functions;

use super::op::{Binary, Unary};
use super::scalar::{Mask, Scalar};

/// A formula with its independent variables and its parameters, made by
/// [`parse`](Expression::parse).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(super) variables: Vec<String>,
    pub(super) parameters: Vec<String>,
    pub(super) operations: Vec<Operation>,
}

impl Expression {
    /// The independent variables, in the order in which they were declared.
    pub(crate) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The parameters, in the order in which they first appear in the text.
    pub(crate) fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// The value at a point. `x`: one value per variable; `p`: one per parameter. NaN where there
    /// are fewer than that; further ones are ignored.
    pub(crate) fn evaluate<S: Scalar>(&self, x: &[S], p: &[S]) -> S {
        let mut stack = Stack { values: Vec::new(), masks: Vec::new() };
        for &operation in &self.operations {
            if stack.apply(operation, x, p).is_none() {
                return S::from(f64::NAN);
            }
        }
        stack.scalar().unwrap_or_else(|| S::from(f64::NAN))
    }
}

/// One step of the evaluation: takes its operands from the stack and puts its result there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    /// A literal or a constant.
    Number(f64),
    /// The independent variable of this index.
    Variable(usize),
    /// The parameter of this index.
    Parameter(usize),
    /// A power that the text gives as an integer literal.
    PowerInteger(i32),
    /// A change of sign, or a function of one value.
    Unary(Unary),
    /// One of the four operations, or a function of two values.
    Binary(Binary),
    /// Lambert's W, the inverse of w·exp(w).
    LambertW,
    /// x, low, high: x limited to low..=high.
    Clamp,
    /// x, sigma, gamma: the Voigt profile of area 1.
    Voigt,
    /// Two values to a condition.
    Compare(Comparison),
    /// Both of two conditions.
    And,
    /// At least one of two conditions.
    Or,
    /// The opposite of a condition.
    Not,
    /// A condition and two values: the first where it holds, the second elsewhere.
    Select,
}

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

/// A value on the stack. Numbers of the text stay plain numbers until they meet a scalar.
#[derive(Clone, Copy)]
enum Value<S> {
    /// A number of the text, or what was computed from such alone.
    Number(f64),
    /// What depends on a variable or a parameter.
    Scalar(S),
}

impl<S: Scalar> Value<S> {
    /// The value as a scalar.
    fn scalar(self) -> S {
        match self {
            Value::Number(number) => S::from(number),
            Value::Scalar(scalar) => scalar,
        }
    }
}

/// Operands that wait for their operation. Values and conditions have a stack each.
struct Stack<S: Scalar> {
    values: Vec<Value<S>>,
    masks: Vec<S::Mask>,
}

impl<S: Scalar> Stack<S> {
    /// Takes the last value.
    fn scalar(&mut self) -> Option<S> {
        self.values.pop().map(Value::scalar)
    }

    /// Carries out one operation. None, which no parsed text leads to with enough `x` and `p`, if an
    /// operand is missing.
    fn apply(&mut self, operation: Operation, x: &[S], p: &[S]) -> Option<()> {
        let result = match operation {
            Operation::Number(number) => Value::Number(number),
            Operation::Variable(index) => Value::Scalar(*x.get(index)?),
            Operation::Parameter(index) => Value::Scalar(*p.get(index)?),
            Operation::PowerInteger(n) => match self.values.pop()? {
                Value::Number(a) => Value::Number(Scalar::powi(a, n)),
                Value::Scalar(a) => Value::Scalar(a.powi(n)),
            },
            Operation::Unary(function) => match self.values.pop()? {
                Value::Number(a) => Value::Number(function.apply(a)),
                Value::Scalar(a) => Value::Scalar(function.apply(a)),
            },
            Operation::Binary(function) => {
                let right = self.values.pop()?;
                match (self.values.pop()?, right) {
                    (Value::Number(a), Value::Number(b)) => Value::Number(function.apply(a, b)),
                    (a, b) => Value::Scalar(function.apply(a.scalar(), b.scalar())),
                }
            }
            Operation::LambertW => match self.values.pop()? {
                Value::Number(a) => Value::Number(functions::lambert_w(a)),
                Value::Scalar(a) => Value::Scalar(functions::lambert_w(a)),
            },
            Operation::Clamp => {
                let high = self.scalar()?;
                let low = self.scalar()?;
                Value::Scalar(self.scalar()?.clamp(low, high))
            }
            Operation::Voigt => {
                let gamma = self.scalar()?;
                let sigma = self.scalar()?;
                Value::Scalar(functions::voigt(self.scalar()?, sigma, gamma))
            }
            Operation::Select => {
                let no = self.scalar()?;
                let yes = self.scalar()?;
                Value::Scalar(self.masks.pop()?.select(yes, no))
            }
            Operation::Compare(_) | Operation::And | Operation::Or | Operation::Not => {
                let mask = self.condition(operation)?;
                self.masks.push(mask);
                return Some(());
            }
        };
        self.values.push(result);
        Some(())
    }

    /// The result of an operation that yields a condition.
    fn condition(&mut self, operation: Operation) -> Option<S::Mask> {
        if let Operation::Compare(comparison) = operation {
            let right = self.scalar()?;
            return Some(comparison.apply(self.scalar()?, right));
        }
        let last = self.masks.pop()?;
        Some(match operation {
            Operation::And => self.masks.pop()?.and(last),
            Operation::Or => self.masks.pop()?.or(last),
            _ => last.not(),
        })
    }
}

impl Comparison {
    /// Whether a compares with b like that.
    fn apply<S: Scalar>(self, a: S, b: S) -> S::Mask {
        match self {
            Comparison::Less => a.lt(b),
            Comparison::LessEqual => a.le(b),
            Comparison::Greater => a.gt(b),
            Comparison::GreaterEqual => a.ge(b),
            Comparison::Equal => a.eq(b),
            Comparison::NotEqual => a.eq(b).not(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, x: f64, p: &[f64]) -> f64 {
        Expression::parse(text, &["x"]).unwrap_or_else(|e| panic!("{e}")).evaluate(&[x], p)
    }

    #[test]
    fn names_are_variables_constants_or_parameters() {
        let e = Expression::parse("b*sin(w*t) + a*exp + β_1*pi - b + e*sin", &["t", "u"]).unwrap();
        assert_eq!(e.variables(), ["t", "u"]);
        assert_eq!(e.parameters(), ["b", "w", "a", "exp", "β_1", "sin"]);
        let e = Expression::parse("e + pi + x", &["e", "x"]).unwrap();
        assert!(e.parameters().is_empty());
        assert_eq!(e.evaluate(&[10.0, 100.0], &[]), 110.0 + std::f64::consts::PI);
        let e = Expression::parse("if(x < 1, if, exp) + min", &["x"]).unwrap();
        assert_eq!(e.parameters(), ["if", "exp", "min"]);
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        let x = 3.0;
        assert_eq!(value("-x^2", x, &[]), -9.0);
        assert_eq!(value("2^-x", x, &[]), 0.125);
        assert_eq!(value("2^-x^2 * 512", x, &[]), 1.0);
        assert_eq!(value("2^x^2", x, &[]), 512.0);
        assert_eq!(value("2 ** x ** 2", x, &[]), 512.0);
        assert_eq!(value("(2^x)^2", x, &[]), 64.0);
        assert_eq!(value("20 - x - 4", x, &[]), 13.0);
        assert_eq!(value("24 / x / 4 * 2", x, &[]), 4.0);
        assert_eq!(value("2*-x + --x - +x", x, &[]), -6.0);
        assert_eq!(value("1.5e1*x+.5-1.", x, &[]), 44.5);
    }

    #[test]
    fn conditions_choose() {
        let text = "if(x < 0 || x > 5 && !(x == 7), 1, if(not x <= 2 and x != 3, 2, 3))";
        for (x, expected) in
            [(-1.0, 1.0), (6.0, 1.0), (7.0, 2.0), (4.0, 2.0), (3.0, 3.0), (1.0, 3.0)]
        {
            assert_eq!(value(text, x, &[]), expected, "{x}");
        }
        assert_eq!(value("where((x + 1)*2 >= 8, 1, 2)", 3.0, &[]), 1.0);
        assert_eq!(value("select(((x)) > (3) or (x < 0), 1, 2)", 3.0, &[]), 2.0);
        assert_eq!(value("if(x > 0, x, ln(x))", 2.0, &[]), 2.0);
        assert_eq!(value("if(x != x, 1, 2)", f64::NAN, &[]), 1.0);
        assert_eq!(value("if(!x < 1, 1, 2)", 0.0, &[]), 2.0);
    }

    /// The closure that a user would write, for any scalar.
    fn by_hand<T: Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
        let third = 1.0 / 3.0;
        let peak = a * (-((x - b) / c).powi(2) / 2.0).exp();
        peak + T::from(2.0 * 0.1) * x - x.powi(-3) + x.powf(third) - x.powf(2.0) / 7.0 * 3.0
    }

    #[test]
    fn the_bits_are_those_of_the_closure() {
        let text = "a*exp(-((x-b)/c)^2/2) + 2*0.1*x - x^-3 + x**(1/3) - x^2.0/7*3";
        let e = Expression::parse(text, &["x"]).unwrap();
        for i in 1..200 {
            let (x, p) = (0.37 * f64::from(i), [1.7, 20.3, 9.1]);
            assert_eq!(e.evaluate(&[x], &p).to_bits(), by_hand(x, p).to_bits(), "{x}");
        }
    }

    #[test]
    fn integer_literals_are_powers_by_products() {
        let operations = |text| Expression::parse(text, &["x"]).unwrap().operations;
        let by_products = |n| [Operation::Variable(0), Operation::PowerInteger(n)];
        for (text, n) in [("x^2", 2), ("x^-2", -2), ("x**(+3)", 3), ("x^((-(2)))", -2), ("x^0", 0)]
        {
            assert_eq!(operations(text), by_products(n), "{text}");
        }
        assert_eq!(operations("pow(x, -4)"), by_products(-4));
        for text in ["x^2.0", "x^(1+1)", "x^a", "x^3000000000", "x^2^1", "pow(x, 0.5)", "x^-2^1"] {
            assert_eq!(operations(text).last(), Some(&Operation::Binary(Binary::Pow)), "{text}");
        }
    }

    #[test]
    fn missing_values_give_nan() {
        let e = Expression::parse("a*x + y", &["x", "y"]).unwrap();
        assert!(e.evaluate(&[1.0], &[1.0]).is_nan());
        assert!(e.evaluate(&[1.0, 1.0], &[]).is_nan());
        assert_eq!(e.evaluate(&[1.0, 2.0, 9.0], &[3.0, 9.0]), 5.0);
    }
}
