//! The structure of a traced model as far as a search for its parameters needs it: additive terms, and parameters of
//! oscillating functions.

use super::op::{Binary, Id, Node, Unary};
use super::program::Program;

impl Program {
    /// The additive terms of the model: for each the parameters, out of `params`, that occur in it. Terms that share one
    /// of them are one term.
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
        terms.sort_unstable();
        terms
    }

    /// For each parameter whether it occurs in the argument of a sine, cosine, tangent or Bessel function.
    pub(crate) fn oscillating(&self) -> Vec<bool> {
        let is_periodic = |op: Unary| {
            matches!(op, Unary::Sin | Unary::Cos | Unary::Tan | Unary::J0 | Unary::J1)
        };
        let arguments: Vec<Id> = self
            .nodes
            .iter()
            .filter_map(|&node| match node {
                Node::Unary(op, argument) if is_periodic(op) => Some(argument),
                _ => None,
            })
            .collect();
        self.params_below(&arguments)
    }

    /// For each parameter whether it is subtracted from, or compared with, a function of the variables alone, as the
    /// position of a peak or a step is.
    pub(crate) fn positions(&self) -> Vec<bool> {
        let mut found = vec![false; self.params.len()];
        let depends = self.dependencies();
        let varies = |id: Id| depends[id as usize] == (true, false);
        let is_constant = |id: Id| depends[id as usize] == (false, true);
        for &node in &self.nodes {
            let Node::Binary(Binary::Sub | Binary::Lt | Binary::Le, a, b) = node else { continue };
            let position = match () {
                () if varies(a) && is_constant(b) => b,
                () if varies(b) && is_constant(a) => a,
                () => continue,
            };
            let occurs = self.params_below(&[position]);
            found.iter_mut().zip(occurs).for_each(|(found, occurs)| *found |= occurs);
        }
        found
    }

    /// For each node whether it depends on variables, and whether on parameters.
    fn dependencies(&self) -> Vec<(bool, bool)> {
        let mut depends: Vec<(bool, bool)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = (matches!(node, Node::Column(_)), matches!(node, Node::Param(_)));
            let of_operands = node.operands().map(|id| depends[id as usize]);
            depends.push(of_operands.fold(own, |a, b| (a.0 || b.0, a.1 || b.1)));
        }
        depends
    }

    /// The nodes whose sum is this one. A factor that all of them share, and a function of the sum, are not looked into.
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

    /// For each parameter whether one of these nodes depends on it.
    fn params_below(&self, nodes: &[Id]) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        nodes.iter().for_each(|&id| needed[id as usize] = true);
        let mut occurs = vec![false; self.params.len()];
        // Operands are earlier nodes.
        for (id, node) in self.nodes.iter().enumerate().rev() {
            if !needed[id] {
                continue;
            }
            node.operands().for_each(|operand| needed[operand as usize] = true);
            if let Node::Param(i) = node {
                occurs[*i as usize] = true;
            }
        }
        occurs
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(terms("a*exp(-b*x) - c*exp(-d*x) + e0"), [vec!["a", "b"], vec!["c", "d"], vec!["e0"]]);
        assert_eq!(terms("a*exp(-b*x) + c*sin(b*x)"), [["a", "b", "c"]]);
        assert_eq!(terms("x"), Vec::<Vec<String>>::new());
    }

    #[test]
    fn positions_are_subtracted_from_variables() {
        let positions = |text: &str| -> Vec<String> {
            let Expression(program) = Expression::parse(text, &["x"]).unwrap();
            let found = program.positions();
            let all: Vec<usize> = (0..found.len()).filter(|&i| found[i]).collect();
            names(text, &all)
        };
        assert_eq!(positions("a*exp(-((x - m)/w)^2) + where(x < t, b, c)"), ["m", "t"]);
        assert_eq!(positions("v*x/(k + x)"), Vec::<String>::new());
    }

    #[test]
    fn parameters_of_periodic_functions_oscillate() {
        let Expression(program) = Expression::parse("a*exp(-g*x)*sin(w*x + p) + c*j1(k*x)", &["x"]).unwrap();
        let oscillating = program.oscillating();
        let found: Vec<&str> = program.params.iter().zip(oscillating).filter(|(_, is)| *is).map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, ["w", "p", "k"]);
    }
}
