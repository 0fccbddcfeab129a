//! Units of the parameters of a traced model, derived from the units of its variables and its value.
//!
//! A unit is a vector of exponents: one for each independent variable, one for the model's value, and the power of ten
//! that constants contribute. Products add these vectors and powers multiply them. The operands of sums, comparisons
//! and choices must have the same unit, and the arguments of most functions must be dimensionless. Each of these
//! conditions is a linear equation in the units of the parameters. The equations determine the units of most
//! parameters: in `a*exp(-E/(8.314*x))`, E has the unit of x and is about 8.314·x if the exponent is about 1.
//!
//! Numbers in sums may have any unit. They count as dimensionless only if this does not contradict other equations.

use super::op::{Binary, Id, Node, Unary};
use super::program::Program;
use std::collections::BTreeMap;

/// Coefficients below this count as rounding errors.
const ZERO: f64 = 1e-9;

/// The unit of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Exponents of the independent variables.
    pub(crate) columns: Vec<f64>,
    /// Exponent of the model's value.
    pub(crate) value: f64,
    /// Decimal logarithm of the factor that constants contribute to the usual value of the parameter: 9 for w in
    /// `exp(-x/(1e-9*w))`, because w is about 1e9·x.
    pub(crate) decade: f64,
}

impl Unit {
    /// Returns true if the unit is 1 (dimensionless).
    pub(crate) fn is_none(&self) -> bool {
        self.value == 0.0 && self.columns.iter().all(|exponent| *exponent == 0.0)
    }

    /// Returns true if the units are equal, apart from the power of ten.
    pub(crate) fn is_equal(&self, other: &Unit) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() < ZERO;
        let columns = self.columns.iter().zip(&other.columns);
        near(self.value, other.value) && columns.into_iter().all(|(&a, &b)| near(a, b))
    }

    /// Returns the independent variable if the unit is its power with this exponent and nothing else.
    pub(crate) fn single_column(&self, exponent: f64) -> Option<usize> {
        let mut used = (0..self.columns.len()).filter(|&k| self.columns[k] != 0.0);
        let column = used.next()?;
        let whole = self.value == 0.0 && used.next().is_none();
        (whole && (self.columns[column] - exponent).abs() < ZERO).then_some(column)
    }
}

/// Computes the unit of each parameter of a program; `None` if the program does not determine it.
pub(crate) fn of_params(program: &Program) -> Vec<Option<Unit>> {
    let mut system = System {
        params: program.params.len(),
        columns: program.columns.len(),
        ..System::default()
    };
    let mut quantities: Vec<Quantity> = Vec::with_capacity(program.nodes.len());
    for &node in &program.nodes {
        let quantity = system.quantity(node, &quantities);
        quantities.push(quantity);
    }
    if let Some(&output) = program.outputs.first() {
        let value = system.single(system.params + system.columns, 1.0);
        system.equate(&quantities[output as usize], &Quantity::Unit(value));
    }
    system.solve()
}

/// The unit of a node: coefficients of the parameters' units, then exponents of the variables, of the value and of 10.
/// A power with a variable exponent, such as xⁿ, has the entries of its base under the key of the exponent's node. All
/// other entries have the key `None`. The summands of xⁿ + kⁿ must agree in the entries of each key, therefore x and k
/// have the same unit.
type Form = BTreeMap<Option<Id>, Vec<f64>>;

/// Knowledge about the unit of a node.
#[derive(Clone, Debug)]
enum Quantity {
    Unit(Form),
    /// The logarithm of a quantity of this unit.
    Log(Form),
    /// A constant. As a factor it contributes a power of ten; in a sum it takes the unit of the other operand.
    Number(f64),
    Unknown,
}

/// Linear equations in the units of the parameters. A row has the entries of a [`Form`] that must be dimensionless.
#[derive(Default)]
struct System {
    params: usize,
    columns: usize,
    equations: Vec<Vec<f64>>,
    /// Equations that are used only if they do not contradict the others.
    weak: Vec<Vec<f64>>,
}

impl System {
    /// Creates a form with a single coefficient or exponent.
    fn single(&self, place: usize, value: f64) -> Form {
        let mut entries = vec![0.0; self.params + self.columns + 2];
        entries[place] = value;
        Form::from([(None, entries)])
    }

    /// Returns a dimensionless quantity.
    fn pure(&self) -> Quantity {
        Quantity::Unit(self.single(0, 0.0))
    }

    /// Returns the form of a number that is a factor: its power of ten.
    fn factor(&self, number: f64) -> Option<Form> {
        let decade = number.abs().log10();
        decade.is_finite().then(|| self.single(self.params + self.columns + 1, decade))
    }

    fn quantity(&mut self, node: Node, known: &[Quantity]) -> Quantity {
        let of = |id: Id| &known[id as usize];
        match node {
            Node::Const(bits) => Quantity::Number(f64::from_bits(bits)),
            Node::Column(i) => Quantity::Unit(self.single(self.params + i as usize, 1.0)),
            Node::Param(i) => Quantity::Unit(self.single(i as usize, 1.0)),
            Node::Unary(op, a) => self.function(op, of(a)),
            Node::Binary(Binary::Mul, a, b) => self.product(of(a), of(b), 1.0),
            Node::Binary(Binary::Div, a, b) => self.product(of(a), of(b), -1.0),
            Node::Binary(Binary::Pow, a, b) => self.power(of(a), (b, of(b))),
            Node::Binary(Binary::And | Binary::Or, ..) => self.pure(),
            Node::Binary(op, a, b) => self.sum(op, of(a), of(b)),
            Node::Select(_, a, b) => self.sum(Binary::Max, of(a), of(b)),
        }
    }

    fn function(&mut self, op: Unary, argument: &Quantity) -> Quantity {
        match (op, argument) {
            (Unary::Neg, Quantity::Number(number)) => Quantity::Number(-number),
            (Unary::Neg | Unary::Abs, _) => argument.clone(),
            (Unary::Sqrt, _) => self.powered(argument, 0.5),
            (Unary::Cbrt, _) => self.powered(argument, 1.0 / 3.0),
            (Unary::Ln | Unary::Log2 | Unary::Log10, Quantity::Unit(form)) => {
                Quantity::Log(form.clone())
            }
            (Unary::Floor | Unary::Ceil | Unary::Round, _) => argument.clone(),
            (Unary::Not, _) => self.pure(),
            _ => {
                self.without_unit(argument);
                self.pure()
            }
        }
    }

    /// Computes the unit of a·b (`sign` = 1) or of a/b (`sign` = −1). If a factor is a logarithm, its argument counts
    /// as dimensionless unless another equation contradicts this.
    fn product(&mut self, a: &Quantity, b: &Quantity, sign: f64) -> Quantity {
        let mut form = |quantity: &Quantity| match quantity {
            Quantity::Unit(form) => Some(form.clone()),
            Quantity::Number(number) => self.factor(*number),
            Quantity::Log(argument) => {
                self.weak.extend(argument.values().cloned());
                Some(self.single(0, 0.0))
            }
            Quantity::Unknown => None,
        };
        match (form(a), form(b)) {
            (Some(a), Some(b)) => Quantity::Unit(combined(&a, &b, sign)),
            _ => Quantity::Unknown,
        }
    }

    /// Computes the unit of a power with a constant exponent.
    fn powered(&self, base: &Quantity, exponent: f64) -> Quantity {
        match base {
            Quantity::Number(number) => Quantity::Number(number.powf(exponent)),
            Quantity::Unit(form) => Quantity::Unit(combined(&self.single(0, 0.0), form, exponent)),
            Quantity::Log(_) | Quantity::Unknown => Quantity::Unknown,
        }
    }

    /// Computes the unit of a power. `id`: the node of the exponent.
    fn power(&mut self, base: &Quantity, (id, exponent): (Id, &Quantity)) -> Quantity {
        if let Quantity::Number(exponent) = exponent {
            return self.powered(base, *exponent);
        }
        self.without_unit(exponent);
        match base {
            Quantity::Unit(form) if form.keys().all(Option::is_none) => {
                let pure = self.single(0, 0.0).into_iter();
                Quantity::Unit(pure.chain(form.values().map(|f| (Some(id), f.clone()))).collect())
            }
            Quantity::Number(_) => self.pure(),
            _ => Quantity::Unknown,
        }
    }

    /// Computes the unit of a sum, a comparison or another function of two operands that must have the same unit.
    fn sum(&mut self, op: Binary, a: &Quantity, b: &Quantity) -> Quantity {
        // Sums of logarithms are logarithms of products and quotients.
        if let (Binary::Add | Binary::Sub, Quantity::Log(a), Quantity::Log(b)) = (op, a, b) {
            let sign = if op == Binary::Add { 1.0 } else { -1.0 };
            self.require(&combined(a, b, sign));
            return self.pure();
        }
        // A term added to a logarithm is dimensionless, such as m in ln(x) − m: another unit of x changes ln(x) only
        // by a number.
        if let (Binary::Add | Binary::Sub, Quantity::Log(_), Quantity::Unit(form))
        | (Binary::Add | Binary::Sub, Quantity::Unit(form), Quantity::Log(_)) = (op, a, b)
        {
            self.weak.extend(form.values().cloned());
        }
        self.equate(a, b);
        match (op, a, b) {
            (Binary::Lt | Binary::Le | Binary::Eq | Binary::Atan2, ..) => self.pure(),
            (_, Quantity::Unit(_), _) => a.clone(),
            (_, _, Quantity::Unit(_)) => b.clone(),
            (_, Quantity::Number(_), _) => b.clone(),
            _ => a.clone(),
        }
    }

    /// Requires that a quantity is dimensionless.
    fn without_unit(&mut self, quantity: &Quantity) {
        if let Quantity::Unit(form) = quantity {
            self.require(form);
        }
    }

    /// Requires that two quantities have the same unit.
    fn equate(&mut self, a: &Quantity, b: &Quantity) {
        match (a, b) {
            (Quantity::Unit(a), Quantity::Unit(b)) => self.require(&combined(a, b, -1.0)),
            (Quantity::Unit(form), Quantity::Number(number))
            | (Quantity::Number(number), Quantity::Unit(form)) => {
                if let Some(number) = self.factor(*number) {
                    self.weak.extend(combined(form, &number, -1.0).into_values());
                }
            }
            _ => {}
        }
    }

    /// Requires that a form is dimensionless.
    fn require(&mut self, form: &Form) {
        self.equations.extend(form.values().cloned());
    }

    /// Solves the equations by Gauss-Jordan elimination, one equation after the other. An equation whose coefficients
    /// vanish is redundant or contradicts earlier ones; it is skipped.
    fn solve(&self) -> Vec<Option<Unit>> {
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
        for equation in self.equations.iter().chain(&self.weak) {
            let mut row = equation.clone();
            for (pivot, known) in &rows {
                let factor = row[*pivot];
                subtract(&mut row, factor, known);
            }
            let largest = (0..self.params).max_by(|&i, &j| row[i].abs().total_cmp(&row[j].abs()));
            let Some(pivot) = largest.filter(|&i| row[i].abs() > ZERO) else { continue };
            let scale = row[pivot];
            row.iter_mut().for_each(|entry| *entry /= scale);
            for (_, known) in &mut rows {
                let factor = known[pivot];
                subtract(known, factor, &row);
            }
            rows.push((pivot, row));
        }
        let mut units = vec![None; self.params];
        for (pivot, row) in &rows {
            let (coefficients, unit) = row.split_at(self.params);
            if coefficients.iter().enumerate().all(|(i, c)| i == *pivot || c.abs() < ZERO) {
                let exponent = |e: &f64| if e.abs() < ZERO { 0.0 } else { -e };
                let exponents: Vec<f64> = unit.iter().map(exponent).collect();
                let (value, decade) = (exponents[self.columns], exponents[self.columns + 1]);
                let columns = exponents[..self.columns].to_vec();
                units[*pivot] = Some(Unit { columns, value, decade });
            }
        }
        units
    }
}

/// Subtracts `factor` times a row.
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    if factor != 0.0 {
        row.iter_mut().zip(other).for_each(|(entry, other)| *entry -= factor * other);
    }
}

/// Computes the form of a·bᶠ with f = `factor`.
fn combined(a: &Form, b: &Form, factor: f64) -> Form {
    let mut sum = a.clone();
    for (key, entries) in b {
        let own = sum.entry(*key).or_insert_with(|| vec![0.0; entries.len()]);
        subtract(own, -factor, entries);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Expression;

    /// Exponent of x, exponent of the value, decade.
    type Exponents = (f64, f64, f64);

    /// Returns the units of the parameters of a formula over x.
    fn units(text: &str) -> Vec<(String, Option<Exponents>)> {
        let Expression(program) = Expression::parse(text, &["x"]).unwrap();
        let round = |v: f64| (1e6 * v).round() / 1e6;
        let shown = |unit: Unit| (round(unit.columns[0]), round(unit.value), round(unit.decade));
        let units = of_params(&program).into_iter().map(|unit| unit.map(shown));
        program.params.iter().cloned().zip(units).collect()
    }

    /// Asserts the exponents of x and of the value; powers of ten are not compared.
    fn assert_units(text: &str, expected: &[(&str, f64, f64)]) {
        let found = units(text);
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for (name, x, value) in expected {
            let unit = found.iter().find(|(own, _)| own == name).and_then(|(_, unit)| *unit);
            let Some(unit) = unit else { panic!("{text}: {name} of {found:?}") };
            assert_eq!((unit.0, unit.1), (*x, *value), "{text}: {name}");
        }
    }

    #[test]
    fn sums_functions_and_powers_determine_units() {
        assert_units("a*exp(-b*x) + c", &[("a", 0.0, 1.0), ("b", -1.0, 0.0), ("c", 0.0, 1.0)]);
        assert_units("v*x/(k + x)", &[("v", 0.0, 1.0), ("k", 1.0, 0.0)]);
        assert_units("v*x^n/(k^n + x^n)", &[("v", 0.0, 1.0), ("k", 1.0, 0.0), ("n", 0.0, 0.0)]);
        assert_units("a*exp(-(x/t)^b)", &[("a", 0.0, 1.0), ("t", 1.0, 0.0), ("b", 0.0, 0.0)]);
        assert_units("a*exp(-((x - m)/w)^2)", &[("a", 0.0, 1.0), ("m", 1.0, 0.0), ("w", 1.0, 0.0)]);
        assert_units("a*sin(w*x + p)", &[("a", 0.0, 1.0), ("w", -1.0, 0.0), ("p", 0.0, 0.0)]);
        assert_units("a/(1 + b*x^2)", &[("a", 0.0, 1.0), ("b", -2.0, 0.0)]);
        assert_units(
            "a/(x*s)*exp(-((ln(max(x, 1e-300)) - m)/s)^2/2)",
            &[("a", 1.0, 1.0), ("s", 0.0, 0.0), ("m", 0.0, 0.0)],
        );
        assert_units("sqrt(a^2 + b*x)", &[("a", 0.0, 1.0), ("b", -1.0, 2.0)]);
        assert_units(
            "where(x < t, a, a + s*(x - t))",
            &[("t", 1.0, 0.0), ("a", 0.0, 1.0), ("s", -1.0, 1.0)],
        );
        assert_units(
            "a*log(x/b) + c*(log(x) - log(d))",
            &[("a", 0.0, 1.0), ("b", 1.0, 0.0), ("c", 0.0, 1.0), ("d", 1.0, 0.0)],
        );
        assert_units("a*x^b", &[("a", 0.0, 1.0), ("b", 0.0, 0.0)]);
    }

    #[test]
    fn constants_count_as_powers_of_ten() {
        let decade = |text: &str, name: &str| {
            units(text).into_iter().find(|(own, _)| own == name).unwrap().1.unwrap().2
        };
        assert!((decade("a*exp(-E/(8.314*x))", "E") - 8.314_f64.log10()).abs() < 1e-5);
        assert!(
            (decade("a*sin(2*pi*f*x)", "f") + (2.0 * std::f64::consts::PI).log10()).abs() < 1e-5
        );
        assert!((decade("a*exp(-(x/(1e-9*w))^2)", "w") - 9.0).abs() < 1e-5);
        // The number has the unit of x.
        assert_units("a*exp(-b*(x + 273.15))", &[("a", 0.0, 1.0), ("b", -1.0, 0.0)]);
    }

    #[test]
    fn what_the_program_leaves_open_has_no_unit() {
        let of = |text: &str, name: &str| {
            units(text).into_iter().find(|(own, _)| own == name).unwrap().1
        };
        // Only the unit of the product a·b is determined.
        assert_eq!(of("exp(-a*b*x)", "a"), None);
        assert_eq!(of("c*exp(-a*b*x)", "c"), Some((0.0, 1.0, 0.0)));
        // A contradiction is left out, not solved.
        assert_eq!(of("a*(x + x^2)*exp(-b*x)", "b"), Some((-1.0, 0.0, 0.0)));
        assert_eq!(of("unused*0 + x", "unused"), None);
    }
}
