//! Tests of the block interpreter: every instruction set computes the same bits as the recorded program.

#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod assembled;
mod collected;
mod gathered;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod left_out;

use super::assembly::Assembled;
use super::code::{BLOCK, Code};
use super::kernels::{self, Kernels};
use super::machine::{Block, Inputs, Machine, Uniforms};
use super::{Cpu, Prepared};
use crate::data::Data;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::sigma::Sigma;
use crate::data::values::Values;
use crate::model::program::Program;
use crate::normal::{Normal, RFactor, Summary, pair};
use crate::solver::evaluator::Evaluator;
use crate::support::losses::{rho, robust};
use crate::support::tree;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

use tree::{COLUMNS, PARAMS, Tree, any_number, same};

fn program(tree: &Tree) -> Program {
    let value = Program::trace(COLUMNS, PARAMS, |x, p| tree.evaluate(x, p)).expect("a trace");
    value.with_partials(&[0, 1, 2]).expect("a replay")
}

/// Returns all outputs at all points of `blocks`, one vector per output.
fn interpret(
    code: &Assembled,
    kernels: &Kernels,
    columns: &[Values<'_>],
    blocks: &[Block<'_>],
    lengths: &[usize],
    params: &[f64],
) -> Vec<Vec<f64>> {
    let mut machine = Machine::default();
    // The result must not depend on the previous numbers of a register.
    machine.reserve(code.registers + 1, columns.len());
    for lanes in machine.registers.iter_mut().flatten() {
        lanes.0.fill(f64::NAN);
    }
    let mut uniforms = Vec::new();
    code.uniforms(params, &mut uniforms);
    machine.broadcast(code, Uniforms::OfOne(&uniforms), BLOCK);
    let mut outputs = vec![Vec::new(); code.outputs.len()];
    for (&block, &len) in blocks.iter().zip(lengths) {
        let inputs = Inputs::new(columns, block, len);
        machine.load(&inputs);
        machine.run(code, kernels, Uniforms::OfOne(&uniforms), &inputs);
        for (output, &source) in outputs.iter_mut().zip(&code.outputs) {
            output.extend_from_slice(machine.source(source, &inputs));
        }
    }
    outputs
}

/// Returns consecutive blocks over `n` points, and their lengths.
fn runs(n: usize) -> (Vec<Block<'static>>, Vec<usize>) {
    let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
    let lengths = starts.iter().map(|s| BLOCK.min(n - s)).collect();
    (starts.into_iter().map(Block::Run).collect(), lengths)
}

/// Asserts that every instruction set computes the same bits as the program at all points.
fn check(
    program: &Program,
    columns: &[Values<'_>],
    n: usize,
    params: &[f64],
) -> Result<(), String> {
    let at = |i: usize| columns.iter().map(|c| c.at(i)).collect::<Vec<f64>>();
    let expected: Vec<Vec<f64>> = (0..n).map(|i| program.outputs(&at(i), params)).collect();
    // Every other point first, then the rest, so that blocks skip points.
    let order: Vec<usize> = (0..n).step_by(2).chain((1..n).step_by(2)).collect();
    let picked: Vec<&[usize]> = order.chunks(BLOCK).collect();
    let picked_lengths: Vec<usize> = picked.iter().map(|p| p.len()).collect();
    let picked: Vec<Block<'_>> = picked.into_iter().map(Block::Picked).collect();
    let (runs, lengths) = runs(n);
    let in_order: Vec<usize> = (0..n).collect();
    for (kernels, often) in kernels::available().into_iter().flat_map(|k| [(k, false), (k, true)]) {
        let code = Assembled::from(Code::compile(program));
        if often {
            code.be_worthwhile();
        }
        for (blocks, lengths, index) in
            [(&runs, &lengths, &in_order), (&picked, &picked_lengths, &order)]
        {
            let found = interpret(&code, kernels, columns, blocks, lengths, params);
            for (o, values) in found.iter().enumerate() {
                for (&v, &i) in values.iter().zip(index) {
                    if !same(v, expected[i][o]) {
                        return Err(format!(
                            "{}, machine code {often}: output {o} at {:?} {params:?} is {v:e}, not {:e}\n{program}",
                            kernels.name,
                            at(i),
                            expected[i][o]
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns a configuration with a fixed seed, so that failures are reproducible. `PROPTEST_CASES` can raise the number
/// of cases.
fn config() -> ProptestConfig {
    let (rng_seed, others) = (RngSeed::Fixed(20_240_609), ProptestConfig::default());
    ProptestConfig { cases: others.cases.max(400), rng_seed, failure_persistence: None, ..others }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_instruction_set_gives_the_bits_of_the_program(
        tree in tree::tree(6, any_number()),
        params in [any_number(), any_number(), any_number()],
        x in proptest::collection::vec([any_number(), any_number()], 1..600),
    ) {
        let program = program(&tree);
        let columns: [Vec<f64>; COLUMNS] = std::array::from_fn(|c| x.iter().map(|x| x[c]).collect());
        let values = columns.each_ref().map(Values::from);
        check(&program, &values, x.len(), &params).map_err(TestCaseError::fail)?;
        let single = columns.each_ref().map(|c| c.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        let mixed = [Values::from(&single[0]), Values::from(&columns[1])];
        check(&program, &mixed, x.len(), &params).map_err(TestCaseError::fail)?;
    }
}

/// Tests every function on a grid over its whole range, in blocks whose lanes need different branches.
#[test]
fn every_function_has_the_same_bits_in_every_lane() {
    let mut grid: Vec<f64> = tree::SPECIAL.to_vec();
    for k in -1074..=1023 {
        let power = 2f64.powi(k);
        grid.extend([power, -power, 1.37 * power, -1.91 * power]);
    }
    grid.extend((-4000..4000).map(|i| 0.0113 * f64::from(i)));
    let reversed: Vec<f64> = grid.iter().rev().copied().collect();
    let columns = [Values::from(&grid), Values::from(&reversed)];
    for &op in tree::Unary::ALL {
        let program = program(&Tree::Unary(op, Box::new(Tree::X(0))));
        check(&program, &columns, grid.len(), &[0.0; PARAMS]).unwrap_or_else(|e| panic!("{e}"));
    }
    for &op in tree::Binary::ALL {
        for ab in [[Tree::X(0), Tree::X(1)], [Tree::X(0), Tree::P(0)], [Tree::P(0), Tree::X(0)]] {
            for p in [2.0, -3.0, 0.5, 0.0, -0.0, f64::INFINITY, 5e-324, 1.7] {
                let program = program(&Tree::Binary(op, Box::new(ab.clone())));
                check(&program, &columns, 1500, &[p; PARAMS]).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}

/// Data for the sums: points, weights, and a mask.
struct Sums {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Vec<f64>,
    mask: Vec<bool>,
}

impl Sums {
    fn new(n: usize) -> Sums {
        let x: Vec<f64> = (0..n).map(|i| 5.0 * i as f64 / n as f64).collect();
        let y = x.iter().map(|x| 2.0 * (-1.2 * x).exp() + 0.4 + 0.1 * (917.0 * x).sin()).collect();
        let sigma = x.iter().map(|x| 0.05 + 0.03 * x).collect();
        let mask = (0..n).map(|i| i % 7 != 3).collect();
        Sums { x, y, sigma, mask }
    }

    /// Returns the data in five variants: plain, weighted, weighted and masked, in single precision, and with constant
    /// sigma.
    fn kinds<'a>(&'a self, single: &'a [Vec<f32>; 2]) -> Vec<Data<'a>> {
        let plain = || Data::new(&self.x, &self.y).expect("data");
        let weighted = || plain().sigma(Sigma::Relative(&self.sigma)).expect("sigma");
        vec![
            plain(),
            weighted(),
            weighted().mask(&self.mask).expect("a mask"),
            Data::new(&single[0], &single[1]).expect("data"),
            plain().sigma(Sigma::Constant(0.2)).expect("sigma"),
        ]
    }
}

/// Returns the linear loss and the robust losses.
fn losses() -> impl Iterator<Item = Loss> {
    [Loss::Linear].into_iter().chain(robust(0.7))
}

fn decay() -> Program {
    let model = |x: &[crate::Var], p: &[crate::Var]| p[0] * (-p[1] * x[0]).exp() + p[2];
    let value = Program::trace(1, 3, model).expect("a trace");
    value.with_partials(&[0, 1, 2]).expect("a replay")
}

const PARAMETERS: [f64; 3] = [1.9, 1.1, 0.5];
const SCALES: [f64; 3] = [1.0, 0.25, 4.0];

/// Returns the normal equations and the R factor of the decay.
fn sums(points: &Points<'_>, loss: Loss, kernels: &'static Kernels, n: usize) -> (Normal, RFactor) {
    let prepared = Prepared::traced(decay().into(), &[0, 1, 2]);
    let mut cpu = Cpu::new(&prepared, points, loss, &[]).with_kernels(kernels);
    let (mut normal, mut factor) = (Normal::zero(3), RFactor::zero(3));
    // Two passes, to detect an effect of state from the first pass.
    for _ in 0..2 {
        cpu.normal(&PARAMETERS, &SCALES, &mut normal).expect("normal equations");
        cpu.factor(&PARAMETERS, &SCALES, &mut factor).expect("a factor");
    }
    assert!(normal.is_finite(), "{n} points, {loss:?}");
    (normal, factor)
}

#[test]
fn every_instruction_set_sums_to_the_same_bits() {
    for n in [1, 7, 8, 255, 256, 257, 600, 4096, 9001] {
        let data = Sums::new(n);
        let single = [&data.x, &data.y].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        for (kind, data) in data.kinds(&single).iter().enumerate() {
            let points = Points::validate(data).expect("points");
            for loss in losses() {
                let mut seen: BTreeMap<Vec<u64>, &str> = BTreeMap::new();
                for kernels in kernels::available() {
                    let (normal, factor) = sums(&points, loss, kernels, n);
                    let numbers = normal.products.iter().chain([&normal.cost]).chain(&factor.r);
                    seen.insert(numbers.map(|v| v.to_bits()).collect(), kernels.name);
                }
                assert_eq!(seen.len(), 1, "{n} points, kind {kind}, {loss:?}: {:?}", seen.values());
            }
        }
    }
}

/// Tests that the cost of residuals far below the scale is half the sum of their squares, to the last digits.
#[test]
fn small_residuals_cost_alike_under_every_loss() {
    let data = Sums::new(300);
    let data = Data::new(&data.x, &data.y).expect("data");
    let points = Points::validate(&data).expect("points");
    let cost = |loss| sums(&points, loss, kernels::detect(), 300).0.cost;
    let plain = cost(Loss::Linear);
    for scale in [1e3, 1e6, 1e12] {
        for loss in Loss::robust(scale) {
            // The relative difference is of the order of z, the largest (r/C)².
            let largest = 2.0 * plain / scale / scale;
            let found = cost(loss);
            assert!((found / plain - 1.0).abs() < largest + 1e-14, "{loss:?}: {found} {plain}");
        }
    }
}

#[test]
fn sums_are_those_of_the_definition() {
    let n = 5000;
    let data = Sums::new(n);
    let single = [&data.x, &data.y].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
    let program = decay();
    for (kind, data) in data.kinds(&single).iter().enumerate() {
        let points = Points::validate(data).expect("points");
        for loss in losses() {
            let (normal, factor) = sums(&points, loss, kernels::detect(), n);
            // Sums over rows: the gradient, the cost, the influence, and JᵀJ with the factors of both floors.
            let (mut cost, mut gradient, mut influence) = (0.0, [0.0; 3], [0.0; 5]);
            let mut products = [[[0.0; 3]; 3]; 2];
            for i in points.kept() {
                let outputs = program.outputs(&[data.columns[0].at(i)], &PARAMETERS);
                let weight = points.weight(i);
                let r = (outputs[0] - data.y.at(i)) * weight;
                let c = loss.scale().unwrap_or(1.0);
                let z = (r / c) * (r / c);
                let [value, first, second] = rho(loss, z);
                let curvature = first + 2.0 * z * second;
                cost += 0.5 * c * c * value;
                let square = curvature.max(f64::EPSILON);
                let added = [first, (first * r).powi(2), curvature, curvature.powi(2), square];
                if loss != Loss::Linear {
                    influence.iter_mut().zip(added).for_each(|(sum, value)| *sum += value);
                }
                let row: [f64; 3] = std::array::from_fn(|j| outputs[1 + j] * weight * SCALES[j]);
                for j in 0..3 {
                    gradient[j] += first * row[j] * r;
                    for k in 0..3 {
                        for (f, floor) in [super::ITERATION_FLOOR, 0.0].into_iter().enumerate() {
                            let square = curvature.max(floor * first).max(f64::EPSILON);
                            products[f][j][k] += square * row[j] * row[k];
                        }
                    }
                }
            }
            let near = |a: f64, b: f64, size: f64| (a - b).abs() <= 1e-11 * size;
            assert!(near(normal.cost, cost, cost), "{kind} {loss:?}: {} {cost}", normal.cost);
            for (found, sum) in factor.influence.sums().into_iter().zip(influence) {
                assert!(near(found, sum, influence[0].max(sum)), "{kind} {loss:?}: {found} {sum}");
            }
            for j in 0..3 {
                let size = (products[0][j][j] * 2.0 * cost).sqrt();
                let found = normal.products[pair(j, 3)];
                assert!(near(found, gradient[j], size), "{kind} {loss:?}: {found} {gradient:?}");
                for k in j..3 {
                    let product = normal.products[pair(j, k)];
                    let size = (products[0][j][j] * products[0][k][k]).sqrt();
                    assert!(near(product, products[0][j][k], size), "{kind} {loss:?}: JᵀJ {j} {k}");
                    let squared: f64 = (0..=j).map(|i| factor.at(i, j) * factor.at(i, k)).sum();
                    let size = (products[1][j][j] * products[1][k][k]).sqrt();
                    assert!(near(squared, products[1][j][k], size), "{kind} {loss:?}: RᵀR {j} {k}");
                }
            }
        }
    }
}
