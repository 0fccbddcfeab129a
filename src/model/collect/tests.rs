//! Tests of collected partials: they need fewer operations, the value of the model stays the same to the last bit, and
//! the partials stay the same up to rounding. A running error analysis of the plain program bounds the rounding.

use super::{Collected, collect, is_safe, work};
use crate::Var;
use crate::model::op::{Binary, Id, Node, Unary};
use crate::model::program::Program;
use crate::model::tape::depends_on_point;
use crate::support::tree::{self, COLUMNS, PARAMS, same};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn traced(
    columns: usize,
    params: usize,
    model: impl FnOnce(&[Var], &[Var]) -> Var,
) -> [Program; 2] {
    let value = Program::trace(columns, params, model).expect("a trace");
    let all: Vec<usize> = (0..params).collect();
    let plain = value.with_partials(&all).expect("a replay");
    let collected = collect(&plain).program;
    [plain, collected]
}

/// Returns the number of operations and of divisions per point.
fn cost(program: &Program) -> (usize, usize) {
    let per_point = depends_on_point(&program.nodes);
    let nodes = program.nodes.iter().zip(per_point).filter(|(_, counts)| *counts).map(|(n, _)| n);
    let operations = nodes.clone().filter(|n| n.operands().next().is_some()).count();
    (operations, nodes.filter(|n| matches!(n, Node::Binary(Binary::Div, ..))).count())
}

#[test]
fn constant_factors_leave_the_points() {
    let gaussian = traced(2, 5, |x, p| {
        let square = (x[0] - p[1]).powi(2) + (x[1] - p[2]).powi(2);
        p[0] * (-square / (2.0 * p[3].powi(2))).exp() + p[4]
    });
    let decay = traced(1, 3, |x, p| p[0] * (-p[1] * x[0]).exp() + p[2]);
    let logistic = traced(1, 3, |x, p| p[0] / (1.0 + (-p[1] * (x[0] - p[2])).exp()));
    let lorentzian = traced(1, 3, |x, p| p[0] / (1.0 + ((x[0] - p[1]) / p[2]).powi(2)));
    let product = traced(1, 2, |x, p| p[0] * p[1] * x[0]);
    for (name, programs, costs) in [
        ("gaussian", gaussian, [(28, 4), (16, 1)]),
        ("decay", decay, [(8, 0), (7, 0)]),
        ("logistic", logistic, [(16, 4), (13, 4)]),
        ("lorentzian", lorentzian, [(18, 6), (12, 5)]),
        ("product", product, [(3, 0), (3, 0)]),
    ] {
        assert_eq!(programs.each_ref().map(cost), costs, "{name}");
    }
}

/// Returns the coefficients at the parameters `p`.
fn coefficients(of: &Collected, p: &[f64]) -> Vec<f64> {
    let outputs = of.coefficients.clone();
    Program { outputs, ..of.program.clone() }.outputs(&[0.0; COLUMNS], p)
}

/// Creates a program. Output 0 is x; output 1 is the last of the nodes `build`, which follow x, y, a, b, 3 and −1.
fn by_hand(build: &[Node]) -> Program {
    let mut nodes = vec![
        Node::Column(0),
        Node::Column(1),
        Node::Param(0),
        Node::Param(1),
        Node::Const(3f64.to_bits()),
        Node::Const((-1f64).to_bits()),
    ];
    nodes.extend(build);
    let names = || vec![String::new(); 2];
    let outputs = vec![0, nodes.len() as Id - 1];
    Program { columns: names(), params: names(), nodes, outputs, partials: vec![0] }
}

/// Tests each rule by itself: partials that need it, compared with values computed by hand.
#[test]
fn every_rule_keeps_the_value_of_a_partial() {
    let outputs = |build: &[Node]| {
        let plain = by_hand(build);
        let [x, p] = [[2.0, 5.0], [7.0, 4.0]];
        let collected = collect(&plain);
        assert!(coefficients(&collected, &p).iter().all(|&c| is_safe(c)));
        (plain.outputs(&x, &p)[1], collected.program.outputs(&x, &p)[1], cost(&collected.program).0)
    };
    let binary = |op, a, b| Node::Binary(op, a, b);
    use Binary::{Add, Div, Mul, Sub};
    let neg = |a| Node::Unary(Unary::Neg, a);
    for (what, build, value, operations) in [
        ("·a·b", vec![binary(Mul, 0, 2), binary(Mul, 6, 3)], 56.0, 1),
        ("/b", vec![binary(Div, 0, 3)], 0.5, 1),
        ("·a/b·3", vec![binary(Mul, 0, 2), binary(Div, 6, 3), binary(Mul, 7, 4)], 10.5, 1),
        ("b/x·a", vec![binary(Div, 3, 0), binary(Mul, 6, 2)], 14.0, 2),
        ("−(−x)·a", vec![neg(0), neg(6), binary(Mul, 7, 2)], 14.0, 1),
        ("−x", vec![binary(Mul, 0, 5)], -2.0, 1),
        ("ax + ax", vec![binary(Mul, 0, 2), binary(Add, 6, 6)], 28.0, 1),
        ("3x − x", vec![binary(Mul, 0, 4), binary(Sub, 6, 0)], 4.0, 1),
        ("(ax)/(by)", vec![binary(Mul, 0, 2), binary(Mul, 1, 3), binary(Div, 6, 7)], 0.7, 2),
        ("ax·by", vec![binary(Mul, 0, 2), binary(Mul, 1, 3), binary(Mul, 6, 7)], 280.0, 2),
        ("x − x", vec![binary(Mul, 0, 2), binary(Sub, 6, 6)], 0.0, 2),
        ("ax + by", vec![binary(Mul, 0, 2), binary(Mul, 1, 3), binary(Add, 6, 7)], 34.0, 3),
        ("where a < b", vec![binary(Binary::Lt, 2, 3), Node::Select(6, 0, 1)], 5.0, 1),
        (
            "where ax < b",
            vec![binary(Mul, 0, 2), binary(Binary::Lt, 6, 3), Node::Select(7, 0, 1)],
            5.0,
            3,
        ),
        ("a alone", vec![binary(Mul, 2, 3)], 28.0, 0),
    ] {
        let (plain, collected, cost) = outputs(&build);
        assert_eq!(plain, value, "{what}");
        assert!((collected - value).abs() <= 1e-15 * value.abs(), "{what}: {collected}");
        assert_eq!(cost, operations, "{what}");
    }
}

/// Detects a factor out of range even if the product that contains it has an ordinary size.
#[test]
fn products_on_the_way_to_a_coefficient_are_watched() {
    let times = |op, a, b| Node::Binary(op, a, b);
    let collected = collect(&by_hand(&[
        times(Binary::Mul, 0, 2),
        times(Binary::Mul, 6, 3),
        times(Binary::Div, 7, 2),
    ]));
    let usable = |p: [f64; 2]| coefficients(&collected, &p).iter().all(|&c| is_safe(c));
    assert!(usable([2.0, 3.0]) && usable([1e-90, 1e90]));
    assert!(!usable([1e-70, 1e-70]), "a·b is 1e-140, a·b/a is not");
    assert!(!usable([0.0, 1.0]) && !usable([f64::NAN, 1.0]) && !usable([1.0, f64::INFINITY]));
    // Constants whose product is subnormal are not collected.
    let [plain, collected] = traced(1, 1, |x, p| p[0] * x[0] * x[0] * 1e-160 * 1e-162 * 1e200);
    let (x, p) = ([1e150], [1.0]);
    let [a, b] = [plain.outputs(&x, &p)[1], collected.outputs(&x, &p)[1]];
    assert!((a - b).abs() <= 1e-15 * a.abs(), "{a:e} {b:e}");
}

/// Returns the value of each node of the plain program at a point, and a bound of its rounding error.
fn with_errors(program: &Program, x: &[f64], p: &[f64]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::with_capacity(program.nodes.len());
    for &node in &program.nodes {
        let operands: Vec<(f64, f64)> = node.operands().map(|id| all[id as usize]).collect();
        let apply = |v: &[f64]| match node {
            Node::Const(bits) => f64::from_bits(bits),
            Node::Column(c) => x[c as usize],
            Node::Param(k) => p[k as usize],
            Node::Unary(op, _) => op.apply(v[0]),
            Node::Binary(op, ..) => op.apply(v[0], v[1]),
            Node::Select(..) => [v[2], v[1]][usize::from(v[0] != 0.0)],
        };
        let values: Vec<f64> = operands.iter().map(|o| o.0).collect();
        let value = apply(&values);
        let mut error = 0.0;
        if !operands.is_empty() {
            error = 2.0 * f64::EPSILON * value.abs() + f64::MIN_POSITIVE;
        }
        // Effect of a shift of one operand by its own error.
        for (k, &(v, e)) in operands.iter().enumerate() {
            let moved = [v - e, v + e].map(|v| {
                let mut values = values.clone();
                values[k] = v;
                (apply(&values) - value).abs()
            });
            error += moved[0].max(moved[1]);
        }
        all.push((value, error));
    }
    all
}

fn config() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(20_261_121);
    ProptestConfig { cases: 4000, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_programs_keep_their_values_and_partials(
        tree in tree::tree(6, tree::ordinary()),
        params in [tree::ordinary(), tree::ordinary(), tree::ordinary()],
        x in [tree::ordinary(), tree::ordinary()],
    ) {
        let value = Program::trace(COLUMNS, PARAMS, |x, p| tree.evaluate(x, p)).expect("a trace");
        let plain = value.with_partials(&[0, 1, 2]).expect("a replay");
        let collected = collect(&plain);
        prop_assert!(work(&collected.program.nodes) <= work(&plain.nodes));
        let (a, b) = (plain.outputs(&x, &params), collected.program.outputs(&x, &params));
        prop_assert!(same(a[0], b[0]), "{} {}", a[0], b[0]);
        if coefficients(&collected, &params).iter().all(|&c| is_safe(c)) {
            let bounds = with_errors(&plain, &x, &params);
            for (k, &o) in plain.outputs.iter().enumerate().skip(1) {
                let bound = 8.0 * bounds[o as usize].1;
                if a[k].is_finite() && bound.is_finite() {
                    let off = (a[k] - b[k]).abs();
                    prop_assert!(off <= bound, "{k}: {} {} {bound:e}\n{plain}\n{}", a[k], b[k], collected.program);
                }
            }
        }
    }
}
