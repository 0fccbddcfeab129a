//! Inverse of a formula with respect to one of its parameters: p₁ from the value of g(p₁, p₂, …) and the other
//! parameters.

use super::expression::Expression;
use super::op::{Binary, Id, Node, Unary};
use super::program::Program;
use super::var::Var;

/// Returns the expression of a parameter in terms of the other parameters and of the formula's value, whose name is
/// `value`. `pivot`: index of the parameter in the formula. The parameter values `at` determine the branch of a root.
///
/// Returns `None` if the parameter occurs more than once, or in the argument of an operation without an inverse.
pub(crate) fn inverse(
    formula: &Expression,
    pivot: usize,
    value: &str,
    at: &[f64],
) -> Option<Expression> {
    let program = &formula.0;
    let steps = way_to(program, pivot)?;
    let part = |id: Id| Program { outputs: vec![id], ..program.clone() };
    let known = |step: &Step| step.other.map(|id| part(id).evaluate::<f64>(&[], at));
    if steps.iter().any(|step| !step.has_inverse(known(step))) {
        return None;
    }
    let signs: Vec<f64> =
        steps.iter().map(|step| part(step.operand).evaluate::<f64>(&[], at).signum()).collect();
    // The value takes the position of the parameter.
    let mut names = formula.parameters().to_vec();
    names[pivot] = value.to_owned();
    let traced = Program::trace(0, names.len(), |_, p| {
        let inverted = |value: Var, (step, &sign): (&Step, &f64)| {
            step.inverted(value, step.other.map(|id| part(id).evaluate(&[], p)), sign)
        };
        steps.iter().zip(&signs).fold(p[pivot], inverted)
    });
    let inverse = Expression(traced.ok()?).renamed(names);
    // A root does not have all numbers as values; therefore test that the inverse reproduces the parameter at `at`.
    let mut given = at.to_vec();
    given[pivot] = formula.evaluate(&[], at);
    let found = inverse.evaluate(&[], &given);
    ((found - at[pivot]).abs() <= 1e-9 * at[pivot].abs()).then_some(inverse)
}

/// An operation on the path from the value to the parameter.
struct Step {
    node: Node,
    /// The operand that contains the parameter.
    operand: Id,
    /// The other operand. `other_first` is true if it is the first.
    other: Option<Id>,
    other_first: bool,
}

/// Returns the operations from the value to the parameter, if there is exactly one path.
fn way_to(program: &Program, pivot: usize) -> Option<Vec<Step>> {
    let mut contains = vec![false; program.nodes.len()];
    for (i, node) in program.nodes.iter().enumerate() {
        let own = matches!(*node, Node::Param(k) if k as usize == pivot);
        contains[i] = own || node.operands().any(|id| contains[id as usize]);
    }
    let square = |id: Id| Node::Binary(Binary::Mul, id, id);
    let (mut id, mut steps) = (program.outputs[0], Vec::new());
    loop {
        let node = program.nodes[id as usize];
        let step = match node {
            Node::Param(k) if k as usize == pivot => return Some(steps),
            Node::Unary(_, a) => Step { node, operand: a, other: None, other_first: false },
            // A square is a product of a number with itself.
            Node::Binary(Binary::Mul, a, b) if a == b => {
                Step { node, operand: a, other: None, other_first: false }
            }
            // A cube is a product of a number with its square.
            Node::Binary(Binary::Mul, a, b) if program.nodes[b as usize] == square(a) => {
                Step { node, operand: a, other: None, other_first: false }
            }
            Node::Binary(Binary::Mul, a, b) if program.nodes[a as usize] == square(b) => {
                Step { node, operand: b, other: None, other_first: false }
            }
            Node::Binary(_, a, b) if contains[a as usize] != contains[b as usize] => {
                let first = contains[b as usize];
                let (operand, other) = if first { (b, a) } else { (a, b) };
                Step { node, operand, other: Some(other), other_first: first }
            }
            _ => return None,
        };
        if !contains[step.operand as usize] {
            return None;
        }
        id = step.operand;
        steps.push(step);
    }
}

impl Step {
    /// Returns true if the operation can be inverted. `other`: the value of the other operand.
    fn has_inverse(&self, other: Option<f64>) -> bool {
        use Unary::{Cbrt, Exp, Exp2, ExpM1, Ln, Ln1p, Log2, Log10, Neg, Sqrt};
        match self.node {
            Node::Unary(op, _) => {
                matches!(op, Neg | Exp | Exp2 | ExpM1 | Ln | Ln1p | Log2 | Log10 | Sqrt | Cbrt)
            }
            Node::Binary(Binary::Add | Binary::Sub, ..) => true,
            Node::Binary(Binary::Mul | Binary::Div | Binary::Pow, ..) => other != Some(0.0),
            _ => false,
        }
    }

    /// Computes the operand from the value of the operation. `sign`: the sign of the operand.
    fn inverted(&self, value: Var, other: Option<Var>, sign: f64) -> Var {
        match (self.node, other) {
            (Node::Unary(op, _), _) => match op {
                Unary::Neg => -value,
                Unary::Exp => value.ln(),
                Unary::Exp2 => value.log2(),
                Unary::ExpM1 => value.ln_1p(),
                Unary::Ln => value.exp(),
                Unary::Ln1p => value.exp_m1(),
                Unary::Log2 => value.exp2(),
                Unary::Log10 => (value * std::f64::consts::LN_10).exp(),
                Unary::Sqrt => value * value,
                Unary::Cbrt => value * value * value,
                _ => Var::from(f64::NAN),
            },
            (Node::Binary(Binary::Mul, a, b), None) if a == b => value.sqrt() * sign,
            (Node::Binary(Binary::Mul, ..), None) => value.cbrt(),
            (Node::Binary(op, ..), Some(other)) => match (op, self.other_first) {
                (Binary::Add, _) => value - other,
                (Binary::Sub, false) => value + other,
                (Binary::Sub, true) => other - value,
                (Binary::Mul, _) => value / other,
                (Binary::Div, false) => value * other,
                (Binary::Div, true) => other / value,
                (Binary::Pow, false) => value.powf(other.recip()),
                (Binary::Pow, true) => value.ln() / other.ln(),
                _ => Var::from(f64::NAN),
            },
            _ => Var::from(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_the_value_is_the_parameter() {
        let at = [0.7, 2.0, 0.3];
        for text in [
            "ln(2)/k",
            "2*sqrt(2*ln(2))*k",
            "a*k",
            "a/k",
            "k/a",
            "k^2",
            "k*k + c",
            "k^3",
            "k^-1.5",
            "a^k",
            "c - exp(-k*a)",
            "sqrt(k) + a",
            "-log10(k/c)",
            "expm1(k)",
            "log1p(k)*c",
            "2*pi/k - a",
            "a*sqrt(pi)*k + ln(c)",
        ] {
            let formula = Expression::parse(text, &[]).unwrap();
            let values: Vec<f64> =
                formula.parameters().iter().map(|name| at["kac".find(name).unwrap()]).collect();
            let pivot = formula.parameters().iter().position(|name| name == "k").unwrap();
            let inverse =
                inverse(&formula, pivot, "q", &values).unwrap_or_else(|| panic!("{text}"));
            for k in [0.5, 0.7, 0.9] {
                let mut given = values.clone();
                given[pivot] = k;
                let q = formula.evaluate(&[], &given);
                given[pivot] = q;
                let found: f64 = inverse.evaluate(&[], &given);
                assert!((found - k).abs() < 1e-12, "{text}: {found}, not {k}");
            }
        }
        for text in ["k + exp(k)", "sin(k)", "max(k, a)", "if(k > a, 1, 2)"] {
            let formula = Expression::parse(text, &[]).unwrap();
            let values = vec![0.7; formula.parameters().len()];
            let pivot = formula.parameters().iter().position(|name| name == "k").unwrap();
            assert!(inverse(&formula, pivot, "q", &values).is_none(), "{text}");
        }
        // The branch of a root follows from the parameter.
        let square = Expression::parse("k^2", &[]).unwrap();
        let root = inverse(&square, 0, "q", &[-3.0]).unwrap();
        assert_eq!(root.evaluate::<f64>(&[], &[16.0]), -4.0);
    }
}
