//! The slim kernel computes exponentials and quotients without branches, and gives NaN for unusual arguments, so that the
//! fit leaves the kernel. A comparison with NaN is false; it could select another branch of the model instead.

use crate::model::op::{Binary, Id, Node, Unary};

/// Returns true if no NaN of an exponential or a quotient can be lost in a comparison: the value of node `value` is then
/// NaN, too.
pub(super) fn reaches_value(nodes: &[Node], value: Id) -> bool {
    let sources = (0..nodes.len() as Id).filter(|&id| {
        matches!(nodes[id as usize], Node::Unary(Unary::Exp, _) | Node::Binary(Binary::Div, ..))
    });
    sources.into_iter().all(|source| {
        let (compared, forced) = consequences(nodes, source);
        !compared || forced[value as usize]
    })
}

/// Returns true if a comparison depends on node `source`, and for each node whether it is NaN if `source` is.
fn consequences(nodes: &[Node], source: Id) -> (bool, Vec<bool>) {
    use Binary::{And, Eq, Le, Lt, Or};
    let mut depends: Vec<bool> = Vec::with_capacity(nodes.len());
    let mut forced: Vec<bool> = Vec::with_capacity(nodes.len());
    let mut compared = false;
    for (id, node) in (0..).zip(nodes) {
        let of = |ids: &[bool], id: Id| ids[id as usize];
        let here = id == source || node.operands().any(|id| of(&depends, id));
        let is_nan = match *node {
            _ if id == source => true,
            Node::Unary(Unary::Not, _) | Node::Binary(Lt | Le | Eq | And | Or, ..) => {
                compared |= here;
                false
            }
            Node::Select(mask, a, b) => {
                compared |= of(&depends, mask);
                of(&forced, a) && of(&forced, b)
            }
            _ => node.operands().any(|id| of(&forced, id)),
        };
        depends.push(here);
        forced.push(is_nan);
    }
    (compared, forced)
}

#[cfg(test)]
mod tests {
    use super::reaches_value;
    use crate::CurveFit;

    #[test]
    fn a_nan_that_a_comparison_loses_is_found() {
        let models = [
            ("a*exp(-k*x)", true),
            ("where(x < k, a, exp(-k*x))", true),
            ("where(exp(k*x) > 1, 0, a)", false),
            ("where(x/k < 1, a, 2*a)", false),
            // The value itself is NaN.
            ("exp(k*x) + where(exp(k*x) > 1, 0, a)", true),
            ("where(a/k < x, a/k, x*(a/k))", true),
            ("a*(x/k)**2/(1 + (x/k)**2)", true),
        ];
        for (formula, expected) in models {
            let fit = CurveFit::parse(formula, ["x"]).unwrap();
            let program = fit.program().unwrap();
            let free: Vec<usize> = (0..program.params.len()).collect();
            let program = program.with_partials(&free).unwrap();
            assert_eq!(reaches_value(&program.nodes, program.outputs[0]), expected, "{formula}");
        }
    }
}
