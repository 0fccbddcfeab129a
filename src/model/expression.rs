//! A model that was read from a formula: its program with the names of its parameters.

use super::program::Program;
use super::scalar::Scalar;
use super::var::Var;
use crate::error::Result;

/// A formula with its independent variables and its parameters, created by
/// [`parse`](Expression::parse). It computes the same bits as a closure with the same operations: operands keep
/// the order in which they were written, and nothing is reassociated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression(pub(crate) Program);

impl Expression {
    /// Returns the independent variables, in the order of their declaration.
    pub(crate) fn variables(&self) -> &[String] {
        &self.0.columns
    }

    /// Returns the parameters, in the order of their first occurrence in the text.
    pub(crate) fn parameters(&self) -> &[String] {
        &self.0.params
    }

    /// Returns the formula with other names of its parameters.
    pub(crate) fn renamed(&self, params: Vec<String>) -> Expression {
        Expression(Program { params, ..self.0.clone() })
    }

    /// Replaces parameters by the formulas of the same names in `known`. This formula and the formulas in `known` have
    /// no independent variables.
    ///
    /// # Errors
    /// None in practice: tracing fails only if the closure panics or uses a variable of another trace, and this one,
    /// which evaluates formulas, does neither.
    pub(crate) fn substituted(&self, known: &[(String, Expression)]) -> Result<Expression> {
        let formula = |name: &String| known.iter().find(|(known, _)| known == name).map(|(_, f)| f);
        if !self.parameters().iter().any(|name| formula(name).is_some()) {
            return Ok(self.clone());
        }
        let mut params: Vec<String> = Vec::new();
        let mut place = |name: &String| {
            params.iter().position(|known| known == name).unwrap_or_else(|| {
                params.push(name.clone());
                params.len() - 1
            })
        };
        let own = |name: &String| match formula(name) {
            Some(formula) => formula.parameters().iter().map(&mut place).collect(),
            None => vec![place(name)],
        };
        let places: Vec<Vec<usize>> = self.parameters().iter().map(own).collect();
        let program = Program::trace(0, params.len(), |_, p| {
            let named = self.parameters().iter().zip(&places).map(|(name, places)| {
                let own: Vec<Var> = places.iter().map(|&k| p[k]).collect();
                formula(name).map_or_else(|| own[0], |formula| formula.evaluate(&[], &own))
            });
            self.evaluate(&[], &named.collect::<Vec<Var>>())
        })?;
        Ok(Expression(program).renamed(params))
    }

    /// Evaluates the formula at a point. `x`: one value per variable; `p`: one per parameter. Missing values
    /// count as NaN; extra values are ignored.
    pub(crate) fn evaluate<S: Scalar>(&self, x: &[S], p: &[S]) -> S {
        self.0.evaluate(x, p)
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
        let e = Expression::parse("b*sin(w*t) + a*exp + β_1*pi - b + e^sin", &["t", "u"]).unwrap();
        assert_eq!(e.variables(), ["t", "u"]);
        assert_eq!(e.parameters(), ["b", "w", "a", "exp", "β_1", "sin"]);
        let e = Expression::parse("e + pi + x", &["e", "x"]).unwrap();
        assert!(e.parameters().is_empty());
        assert_eq!(e.evaluate(&[10.0, 100.0], &[]), 110.0 + std::f64::consts::PI);
        let e = Expression::parse("if(x < 1, if, exp) + min", &["x"]).unwrap();
        assert_eq!(e.parameters(), ["if", "exp", "min"]);
    }

    #[test]
    fn e_is_a_number_only_as_the_base_of_a_power() {
        let close = |text: &str, expected: f64| {
            let found = value(text, 2.0, &[]);
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        };
        close("e^x", 2f64.exp());
        close("e ** -x + 1", (-2f64).exp() + 1.0);
        close("3*e^(x/4)^2", 3.0 * 0.25f64.exp());
        for text in ["e", "x + e", "e*x", "(e)^x", "x^e", "-e", "max(e, x)"] {
            let error = Expression::parse(text, &["x"]).unwrap_err().to_string();
            assert!(error.contains("Euler's number"), "{text}: {error}");
        }
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

    /// Evaluates the test formula as a closure of a user would, for any scalar.
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

    /// Asserts that the formula and the closure give the same program.
    fn same(text: &str, closure: impl FnOnce(Var, Var) -> Var) {
        let Expression(said) = Expression::parse(text, &["x", "a"]).unwrap();
        let done = Program::trace(2, 0, |x, _| closure(x[0], x[1])).unwrap();
        assert_eq!(said.to_string(), Program { columns: said.columns.clone(), ..done }.to_string());
    }

    #[test]
    fn integer_literals_are_powers_by_products() {
        for (text, n) in [("x^2", 2), ("x^-2", -2), ("x**(+3)", 3), ("x^((-(2)))", -2), ("x^0", 0)]
        {
            same(text, |x, _| x.powi(n));
        }
        same("pow(x, -4)", |x, _| x.powi(-4));
        same("x^a", |x, a| x.powf(a));
        for (text, exponent) in [
            ("x^2.0", 2.0),
            ("x^3.0", 3.0),
            ("x^(1+2)", 3.0),
            ("x^3000000000", 3e9),
            ("x^3^1", 3.0),
            ("pow(x, 0.5)", 0.5),
            ("x^-3^1", -3.0),
        ] {
            same(text, |x, _| x.powf(exponent));
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
