//! Tests of collected factors at the ends of the range: the evaluator's sums agree with the sums of the plain code, and
//! are finite if the sums of the plain code are finite.

use super::super::assembly::Assembled;
use super::super::code::Code;
use super::super::{Cpu, Prepared, PreparedForm};
use crate::Var;
use crate::data::Data;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::model::program::Program;
use crate::normal::{Normal, RFactor, Summary, pair};
use crate::solver::evaluator::Evaluator;
use std::sync::Arc;

const SIZES: [f64; 12] =
    [1.0, -2.5, 0.0, 5e-324, 1e-310, 1e-200, -1e-130, 3e-100, 1e-60, 1e60, 1e120, 1e200];

type Model = fn(&[Var], &[Var]) -> Var;

const MODELS: [(&str, Model); 5] = [
    ("gaussian", |x, p| p[0] * (-((x[0] - p[1]) / p[2]).powi(2) / 2.0).exp()),
    ("decay", |x, p| p[0] * (-p[1] * x[0]).exp() + p[2]),
    ("logistic", |x, p| p[0] / (1.0 + (-p[1] * (x[0] - p[2])).exp())),
    ("lorentzian", |x, p| p[0] / (1.0 + ((x[0] - p[1]) / p[2]).powi(2))),
    ("products", |x, p| p[0] * p[1] / p[2] * x[0] + p[0] * x[0] * x[0] / p[1]),
];

/// Returns the prepared model with collected factors and without them.
fn prepared(model: Model) -> [Prepared; 2] {
    let program = Program::trace(1, 3, model).expect("a trace");
    let program = program.with_partials(&[0, 1, 2]).expect("a replay");
    let collected = Arc::new(Assembled::from(Code::compile(&program)));
    let usual = Prepared::traced(program.into(), &[0, 1, 2]);
    let PreparedForm::Traced { plain, .. } = &usual.kind else { unreachable!("it is traced") };
    let kind = PreparedForm::Traced { collected, plain: plain.clone() };
    [usual.clone(), Prepared { kind, ..usual }]
}

/// Returns the sums at `params`, with columns scaled by the largest partials.
fn sums(prepared: &Prepared, points: &Points<'_>, params: &[f64]) -> (Normal, RFactor, Vec<f64>) {
    let mut cpu = Cpu::new(prepared, points, Loss::Linear, params);
    let mut sizes = vec![0.0; 3];
    cpu.magnitudes(params, &mut sizes).expect("magnitudes");
    let scale = |&m: &f64| if m > 1e-280 && m.is_finite() { 1.0 / m } else { 1.0 };
    let scales: Vec<f64> = sizes.iter().map(scale).collect();
    let (mut normal, mut factor) = (Normal::zero(3), RFactor::zero(3));
    cpu.normal(params, &scales, &mut normal).expect("normal equations");
    cpu.factor(params, &scales, &mut factor).expect("a factor");
    (normal, factor, sizes)
}

#[test]
fn sums_at_the_ends_of_the_range_are_those_of_the_plain_code() {
    let y: Vec<f64> = (0..20).map(|i| 1.0 + 0.1 * f64::from(i)).collect();
    let (mut finite, mut close) = (0, 0);
    for far in [1.0, 1e-160, 1e-60, 1e60, 1e160] {
        let mut x: Vec<f64> = (0..20).map(|i| 0.3 * f64::from(i) - 1.0).collect();
        x.iter_mut().step_by(3).for_each(|x| *x *= far);
        let data = Data::new(&x, &y).expect("data");
        let points = Points::validate(&data).expect("points");
        for (name, model) in MODELS {
            let both = prepared(model);
            for i in 0..SIZES.len().pow(3) {
                let params = [i % 12, i / 12 % 12, i / 144].map(|k| SIZES[k]);
                let [(a, f, _), (b, g, sizes)] = both.each_ref().map(|m| sums(m, &points, &params));
                let at = format!("{name} at {params:?}, x to {far:e}");
                assert!(a.is_finite() || !b.is_finite(), "{at}: {a:?}, not {b:?}");
                assert!(f.is_finite() || !g.is_finite(), "{at}: {f:?}, not {g:?}");
                if !b.is_finite() {
                    continue;
                }
                finite += 1;
                assert_eq!(a.cost.to_bits(), b.cost.to_bits(), "{at}: the value is another");
                if sizes.iter().any(|&m| m != 0.0 && m < 1e-200) {
                    continue;
                }
                close += 1;
                for k in 0..4 {
                    for j in 0..=k {
                        let at_pair = |j, k| b.products[pair(j, k)];
                        let size = (at_pair(j, j) * at_pair(k, k)).sqrt();
                        let off = (a.products[pair(j, k)] - at_pair(j, k)).abs();
                        assert!(off <= 1e-11 * size, "{at}: {j} {k}: {a:?}, not {b:?}");
                    }
                }
            }
        }
    }
    println!("{finite} finite sums, {close} compared");
    assert!(finite > 5_000 && close > 3_000, "{finite} finite sums, {close} compared");
}
