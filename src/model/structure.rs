//! Structure of a traced model for the search for a starting point: additive terms, positions along variables, and
//! parameters of oscillating functions.

use super::op::{Binary, Id, Node, Unary};
use super::program::Program;
use crate::math::order::sort_few;

/// Relative difference below which phases count as equal.
const NEARLY: f64 = 1e-9;

/// Kind of a position along an independent variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// A value of the variable.
    Own,
    /// A distance from another position.
    Distance,
}

impl Program {
    /// Returns for each additive term of the model the elements of `params` that occur in the term. Terms that share a
    /// parameter are merged.
    pub(crate) fn terms(&self, params: &[usize]) -> Vec<Vec<usize>> {
        let mut terms: Vec<Vec<usize>> = Vec::new();
        for summand in self.outputs.first().map_or_else(Vec::new, |&output| self.summands(output)) {
            let occurs = self.params_below(&[summand]);
            let mut own: Vec<usize> = params.iter().copied().filter(|&i| occurs[i]).collect();
            let (shared, others): (Vec<_>, Vec<_>) =
                terms.into_iter().partition(|term| term.iter().any(|i| own.contains(i)));
            own.extend(shared.into_iter().flatten());
            own.sort_unstable();
            own.dedup();
            terms = others;
            if !own.is_empty() {
                terms.push(own);
            }
        }
        sort_few(&mut terms, Ord::cmp);
        terms
    }

    /// Returns the elements of `params` that do not occur in the model if parameter `amplitude` is 0: those of the term
    /// of which it is a factor. `amplitude` itself is not among them.
    pub(crate) fn lost_without(&self, amplitude: usize, params: &[usize]) -> Vec<usize> {
        let mut vanishes: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let zero = |id: Id| vanishes[id as usize];
            let is_zero = match *node {
                Node::Param(i) => i as usize == amplitude,
                Node::Unary(Unary::Neg, a) | Node::Binary(Binary::Div, a, _) => zero(a),
                Node::Binary(Binary::Mul, a, b) => zero(a) || zero(b),
                Node::Binary(Binary::Add | Binary::Sub, a, b) => zero(a) && zero(b),
                _ => false,
            };
            vanishes.push(is_zero);
        }
        let outputs = &self.outputs[..self.outputs.len().min(1)];
        let all = self.params_below(outputs);
        let left = self.params_below_without(outputs, |id| vanishes[id as usize]);
        params.iter().copied().filter(|&k| k != amplitude && all[k] && !left[k]).collect()
    }

    /// Returns one value per parameter: true if it occurs in the argument of a sine, cosine, tangent or Bessel
    /// function.
    pub(crate) fn oscillating(&self) -> Vec<bool> {
        self.params_below(&self.periodic_arguments())
    }

    /// Returns the arguments of oscillating functions.
    fn periodic_arguments(&self) -> Vec<Id> {
        let argument = |&node: &Node| match node {
            Node::Unary(Unary::Sin | Unary::Cos | Unary::Tan | Unary::J0 | Unary::J1, argument) => {
                Some(argument)
            }
            _ => None,
        };
        self.nodes.iter().filter_map(argument).collect()
    }

    /// Returns the phase per unit of parameter `i` at each point, up to a constant, if the parameter is a frequency:
    /// if it occurs as p·g(x) in the argument of an oscillating function. `points`: the independent variables at each
    /// point.
    pub(crate) fn phase_of(&self, i: usize, points: &[Vec<f64>]) -> Option<Vec<f64>> {
        self.periodic_arguments().into_iter().find_map(|argument| {
            let program = self.part(argument);
            if !program.uses(i) {
                return None;
            }
            // Two sets of values of the other parameters are tested; they may change the phase by a constant only.
            let change = |other: f64, from: f64, to: f64| -> Vec<f64> {
                let mut params: Vec<f64> =
                    (0..self.params.len()).map(|k| other + k as f64).collect();
                let mut at = |x: &[f64], value: f64| {
                    params[i] = value;
                    program.evaluate(x, &params)
                };
                points.iter().map(|x| at(x, to) - at(x, from)).collect()
            };
            let (phase, twice, shifted) =
                (change(1.3, 0.0, 1.0), change(1.3, 0.0, 2.0), change(2.9, 0.0, 1.0));
            let size = phase.iter().fold(0.0, |most: f64, p| most.max(p.abs()));
            let near = |a: f64, b: f64| (a - b).abs() <= NEARLY * size;
            let first = points.first().map_or(0.0, |_| phase[0] - shifted[0]);
            let linear = phase.iter().zip(&twice).all(|(p, t)| near(2.0 * p, *t));
            let fixed = phase.iter().zip(&shifted).all(|(p, s)| near(p - s, first));
            let varies = phase.iter().any(|p| !near(*p, phase[0]));
            (varies && linear && fixed).then_some(phase)
        })
    }

    /// Returns one value per parameter. If the parameter is a position: its kind, and the node from which it is
    /// subtracted or with which it is compared; otherwise `None`. The node is a function of the variables alone
    /// (`Own`), or such a function with parameters subtracted or added (`Distance`).
    pub(crate) fn positions(&self) -> Vec<Option<(Position, Id)>> {
        let mut found = vec![None; self.params.len()];
        let depends = self.dependencies();
        let is_constant = |id: Id| depends[id as usize] == (false, true);
        // True for nodes that are a function of the variables with parameters subtracted or added.
        let mut shifted = vec![false; self.nodes.len()];
        for (id, &node) in self.nodes.iter().enumerate() {
            let varies = |id: Id| depends[id as usize] == (true, false);
            let Node::Binary(op, a, b) = node else { continue };
            if !matches!(op, Binary::Add | Binary::Sub | Binary::Lt | Binary::Le) {
                continue;
            }
            let is_shifted = |id: Id| varies(id) || shifted[id as usize];
            let (variable, position) = match () {
                () if is_shifted(a) && is_constant(b) => (a, b),
                () if is_shifted(b) && is_constant(a) => (b, a),
                () => continue,
            };
            if op == Binary::Add && varies(variable) {
                continue;
            }
            shifted[id] = true;
            let kind = if varies(variable) { Position::Own } else { Position::Distance };
            for (found, occurs) in found.iter_mut().zip(self.params_below(&[position])) {
                if occurs && found.is_none() {
                    *found = Some((kind, variable));
                }
            }
        }
        found
    }

    /// Returns the program whose value is the given node.
    pub(crate) fn part(&self, node: Id) -> Program {
        Program { outputs: vec![node], ..self.clone() }.value_only()
    }

    /// Returns the values at `n` points.
    pub(crate) fn values(&self, columns: &[Vec<f64>], n: usize, params: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; columns.len()];
        let at = |i: usize| {
            x.iter_mut().zip(columns).for_each(|(x, column)| *x = column[i]);
            self.evaluate(&x, params)
        };
        (0..n).map(at).collect()
    }

    /// Returns two bools per node: dependence on variables and dependence on parameters. The condition of a selection
    /// does not count: the value is one of the two parts.
    fn dependencies(&self) -> Vec<(bool, bool)> {
        let mut depends: Vec<(bool, bool)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = (matches!(node, Node::Column(_)), matches!(node, Node::Param(_)));
            let of_operand = |id: Id| depends[id as usize];
            let either = |a: (bool, bool), b: (bool, bool)| (a.0 || b.0, a.1 || b.1);
            depends.push(match node {
                Node::Select(_, a, b) => either(of_operand(*a), of_operand(*b)),
                _ => node.operands().map(of_operand).fold(own, either),
            });
        }
        depends
    }

    /// Returns the nodes whose sum, up to signs, is `node`. Products and functions of sums are not expanded.
    fn summands(&self, node: Id) -> Vec<Id> {
        let (mut open, mut found) = (vec![node], Vec::new());
        while let Some(id) = open.pop() {
            match self.nodes[id as usize] {
                Node::Binary(Binary::Add | Binary::Sub, a, b) => open.extend([b, a]),
                Node::Unary(Unary::Neg, a) => open.push(a),
                _ => found.push(id),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Position;
    use crate::model::Expression;

    fn names(text: &str, of: &[usize]) -> Vec<String> {
        let Expression(program) = Expression::parse(text, &["x"]).unwrap();
        of.iter().map(|&i| program.params[i].clone()).collect()
    }

    #[test]
    fn terms_are_summands_without_common_parameters() {
        let terms = |text: &str| -> Vec<Vec<String>> {
            let Expression(program) = Expression::parse(text, &["x"]).unwrap();
            let all: Vec<usize> = (0..program.params.len()).collect();
            program.terms(&all).iter().map(|term| names(text, term)).collect()
        };
        assert_eq!(
            terms("a*exp(-b*x) - c*exp(-d*x) + e0"),
            [vec!["a", "b"], vec!["c", "d"], vec!["e0"]]
        );
        assert_eq!(terms("a*exp(-b*x) + c*sin(b*x)"), [["a", "b", "c"]]);
        assert_eq!(terms("x"), Vec::<Vec<String>>::new());
    }

    #[test]
    fn positions_are_subtracted_from_variables() {
        let positions = |text: &str, kind: Position| -> Vec<String> {
            let Expression(program) = Expression::parse(text, &["x"]).unwrap();
            let found = program.positions();
            let is = |i: &usize| found[*i].is_some_and(|(found, _)| found == kind);
            let all: Vec<usize> = (0..found.len()).filter(is).collect();
            names(text, &all)
        };
        use Position::{Distance, Own};
        assert_eq!(positions("a*exp(-((x - m)/w)^2) + where(x < t, b, c)", Own), ["m", "t"]);
        assert_eq!(positions("v*x/(k + x)", Own), Vec::<String>::new());
        assert_eq!(positions("1/(1 + (x - c)^2) + 1/(1 + (x - c - d)^2)", Own), ["c"]);
        assert_eq!(positions("1/(1 + (x - c)^2) + 1/(1 + (x - c - d)^2)", Distance), ["d"]);
    }

    #[test]
    fn an_amplitude_takes_the_parameters_of_its_term_along() {
        let lost = |text: &str, amplitude: &str| {
            let Expression(program) = Expression::parse(text, &["x"]).unwrap();
            let all: Vec<usize> = (0..program.params.len()).collect();
            let amplitude = program.params.iter().position(|name| name == amplitude).unwrap();
            let lost = program.lost_without(amplitude, &all);
            lost.iter().map(|&i| program.params[i].clone()).collect::<Vec<_>>().join(" ")
        };
        let two = "a*exp(-b*x) - c/s*exp(-((x - m)/s)^2/2) + y0";
        assert_eq!(lost(two, "a"), "b");
        assert_eq!(lost(two, "c"), "s m");
        assert_eq!(lost(two, "y0"), "");
        assert_eq!(lost(two, "m"), "");
        // A rate that another term shares stays.
        assert_eq!(lost("a*exp(-k*x) + c*exp(-k*x - d*x)", "c"), "d");
        assert_eq!(lost("a*(b*x + c) + d", "a"), "b c");
        assert_eq!(lost("(a*exp(-b*x) + a*c)/(1 + d*x) + f", "a"), "b c d");
        assert_eq!(lost("a + b*x", "b"), "");
    }

    #[test]
    fn parameters_of_periodic_functions_oscillate() {
        let Expression(program) =
            Expression::parse("a*exp(-g*x)*sin(w*x + p) + c*j1(k*x)", &["x"]).unwrap();
        let oscillating = program.oscillating();
        let found: Vec<&str> = program
            .params
            .iter()
            .zip(oscillating)
            .filter(|(_, is)| *is)
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(found, ["w", "p", "k"]);
    }
}
