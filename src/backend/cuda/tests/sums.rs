//! Tests of the normal equations and the R factor for up to 32 parameters. They agree with the CPU and with the
//! definition for every number of points and blocks, and the bits do not depend on the order of threads.

use super::passes::{
    Passes, SIZES, Sample, bits, decay, difference, exponentials, kinds, parameters, spec, squared,
    with_all_partials,
};
use crate::backend::cpu::{Cpu, Prepared};
use crate::backend::cuda::source::{Arithmetic, Storage};
use crate::data::Data;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::sigma::Sigma;
use crate::model::program::Program;
use crate::normal::{Influence, Normal, RFactor, pair};
use crate::solver::evaluator::Evaluator;
use crate::support::losses::{rho, robust};

/// Returns the sums of the CPU: the normal equations with their cost, and the R factor.
pub(super) fn on_cpu(
    program: &Program,
    sample: &Sample,
    loss: Loss,
    (params, columns): (&[f64], &[f64]),
) -> (Vec<f64>, Vec<f64>) {
    let n = params.len();
    let (mut normal, mut factor) = (Normal::zero(n), RFactor::zero(n));
    if !sample.y.is_empty() {
        let sigma: Option<Vec<f64>> =
            sample.weight.as_ref().map(|w| w.iter().map(|w| 1.0 / w).collect());
        let data = Data::new(&sample.x, &sample.y).expect("data");
        let data = match &sigma {
            Some(sigma) => data.sigma(Sigma::Absolute(sigma)).expect("sigma"),
            None => data.sigma(Sigma::Constant(1.0 / sample.constant_weight)).expect("sigma"),
        };
        let points = Points::validate(&data).expect("points");
        assert_eq!(points.units.row, 1.0);
        let free: Vec<usize> = (0..n).collect();
        let prepared = Prepared::traced(program.clone().into(), &free);
        let mut cpu = Cpu::new(&prepared, &points, loss, params);
        cpu.normal(params, columns, &mut normal).expect("normal equations");
        cpu.factor(params, columns, &mut factor).expect("a factor");
    }
    normal.products.push(normal.cost);
    (normal.products, factor.r)
}

/// Covers every number of points, grids smaller and larger than the work, weighted and unweighted points.
#[test]
fn sums_are_those_of_the_cpu() {
    let with_kinds = |n| kinds(n).iter().map(move |&kind| (n, kind));
    for (n, kind) in [1, 3, 5, 8, 9, 11, 16, 24, 32].into_iter().flat_map(with_kinds) {
        let program = exponentials(n);
        let spec = spec(&program, Loss::Linear, Storage::F64, Arithmetic::Double);
        let Some(mut device) = Passes::on(&spec, kind) else { return };
        let (params, columns) = parameters(n);
        let at = (params.as_slice(), columns.as_slice());
        for (c, size) in SIZES.into_iter().enumerate() {
            let sample = Sample::new(size, c % 2 == 0);
            device.upload(&sample);
            let (normal, factor) = on_cpu(&program, &sample, Loss::Linear, at);
            for blocks in [1, 3, 35] {
                let mut seen = [Vec::new(), Vec::new()];
                for seed in [0, 11 + c as u64] {
                    device.set_seed(seed);
                    let found = [device.normal(blocks, at, 0.1), device.factor(blocks, at, 0.0)];
                    for (seen, found) in seen.iter_mut().zip(&found) {
                        assert!(seen.is_empty() || *seen == bits(found), "{n} {size} {blocks}");
                        *seen = bits(found);
                    }
                    let error = difference(&found[0], &normal, n + 1);
                    assert!(error <= 1e-12, "normal: {n} {size} {blocks}: {error:e}");
                    let r = &found[1];
                    let products = squared(&factor, n + 1);
                    let error = difference(&squared(r, n + 1), &products, n + 1);
                    assert!(error <= 1e-11, "factor: {n} {size} {blocks}: {error:e}");
                    let below = |m: &usize| m % (n + 1) > m / (n + 1);
                    assert!((0..r.len()).filter(below).all(|m| r[m] == 0.0));
                }
            }
        }
    }
}

/// The R factor of well-conditioned columns is unique up to the signs of its rows.
#[test]
fn factors_are_those_of_the_cpu() {
    let program = decay();
    let spec = spec(&program, Loss::Linear, Storage::F64, Arithmetic::Double);
    let Some(mut device) = Passes::new(&spec) else { return };
    let sample = Sample::new(1000, true);
    device.upload(&sample);
    let at: (&[f64], &[f64]) = (&[1.9, 1.1, 0.5], &[1.0, 0.25, 4.0]);
    let (_, expected) = on_cpu(&program, &sample, Loss::Linear, at);
    // Column factors only scale the columns of the R factor.
    for units in
        [[1.0, 1.0, 1.0], [1e170, 1.0, 1e-170], [1e-160, 1e150, 1e-150], [1e-300, 1e300, 1.0]]
    {
        let columns: [f64; 3] = std::array::from_fn(|j| at.1[j] * units[j]);
        let found = device.factor(5, (at.0, &columns), 0.0);
        for j in 0..4 {
            let unit = if j < 3 { units[j] } else { 1.0 };
            let column = |r: &[f64]| (0..=j).map(|i| r[j * 4 + i].abs()).collect::<Vec<f64>>();
            let size = column(&expected).iter().map(|v| v * v).sum::<f64>().sqrt();
            for (a, b) in column(&found).iter().zip(column(&expected)) {
                assert!((a / unit - b).abs() <= 1e-11 * size, "column {j} {units:?}: {a} {b}");
            }
        }
    }
}

/// Covers a duplicate column, a column of zeros, and a column that is the sum of others.
#[test]
fn dependent_columns_leave_nothing_on_the_diagonal() {
    let model = |x: &[crate::Var], p: &[crate::Var]| {
        let e = (-x[0]).exp();
        (p[0] + p[1]) * e + p[2] * x[0] + p[3] * (e + x[0]) + p[4] * x[0] * 0.0
    };
    let program = with_all_partials(&Program::trace(1, 5, model).expect("a trace"));
    let spec = spec(&program, Loss::Linear, Storage::F64, Arithmetic::Double);
    let Some(mut device) = Passes::new(&spec) else { return };
    device.upload(&Sample::new(1000, false));
    for blocks in [1, 7] {
        let r = device.factor(blocks, (&[1.0; 5], &[1.0; 5]), 0.0);
        let at = |i: usize, j: usize| r[j * 6 + i];
        for j in [1, 3] {
            let size = (0..=j).map(|i| at(i, j) * at(i, j)).sum::<f64>().sqrt();
            assert!(at(j, j).abs() <= 1e-13 * size, "column {j}: {:e}", at(j, j));
        }
        assert!((0..5).all(|i| at(i, 4) == 0.0));
    }
}

/// Computes products and cost by the definition.
fn by_definition(
    program: &Program,
    sample: &Sample,
    loss: Loss,
    (params, columns): (&[f64], &[f64]),
    floor: f64,
) -> Vec<f64> {
    let k = params.len() + 1;
    let mut sums = vec![0.0; pair(0, k) + 1];
    for i in 0..sample.y.len() {
        let outputs = program.outputs(&[sample.x[i]], params);
        let weight = sample.weight(i);
        let r = (outputs[0] - sample.y[i]) * weight;
        let c = loss.scale().unwrap_or(1.0);
        let z = (r / c) * (r / c);
        let [value, first, second] = rho(loss, z);
        let s = (first + 2.0 * z * second).max(floor * first).max(f64::EPSILON).sqrt();
        let mut row: Vec<f64> =
            (0..k - 1).map(|j| outputs[1 + j] * weight * s * columns[j]).collect();
        row.push(r * first / s);
        for j in 0..k {
            for i in 0..=j {
                sums[pair(i, j)] += row[i] * row[j];
            }
        }
        sums[pair(0, k)] += 0.5 * c * c * value;
    }
    sums
}

/// Computes the influence sums of a loss by the definition.
fn influence_by_definition(
    program: &Program,
    sample: &Sample,
    loss: Loss,
    params: &[f64],
) -> [f64; Influence::SUMS] {
    let c = loss.scale().unwrap_or(1.0);
    let mut sums = [0.0; Influence::SUMS];
    for i in 0..sample.y.len() {
        let outputs = program.outputs(&[sample.x[i]], params);
        let r = (outputs[0] - sample.y[i]) * sample.weight(i);
        let z = (r / c).powi(2);
        let [_, first, second] = rho(loss, z);
        let (psi, slope) = (first * r, first + 2.0 * z * second);
        let added = [first, psi * psi, slope, slope * slope, slope.max(f64::EPSILON)];
        sums.iter_mut().zip(added).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Covers every loss with either floor, in registers, in tiles and in tensor cores.
#[test]
fn losses_are_those_of_the_definition() {
    let robust = robust(0.7);
    for (n, losses) in [(3, &robust[..]), (9, &robust[2..3]), (9, &robust[5..])] {
        let program = if n == 3 { decay() } else { exponentials(n) };
        let (params, columns) = parameters(n);
        let at = (params.as_slice(), columns.as_slice());
        let with_kinds = |&loss| kinds(n).iter().map(move |&kind| (loss, kind));
        for (loss, kind) in losses.iter().flat_map(with_kinds) {
            let spec = spec(&program, loss, Storage::F64, Arithmetic::Double);
            let Some(mut device) = Passes::on(&spec, kind) else { return };
            for (size, weighted) in [(33, false), (1000, true)] {
                let mut sample = Sample::new(size, weighted);
                sample.constant_weight = 1.5;
                // Outliers cover every branch of the losses.
                sample.y.iter_mut().step_by(9).for_each(|y| *y += 30.0);
                device.upload(&sample);
                let (normal, factor) = on_cpu(&program, &sample, loss, at);
                for blocks in [1, 4] {
                    let error = difference(&device.normal(blocks, at, 0.1), &normal, n + 1);
                    assert!(error <= 1e-12, "{loss:?} {n} {size}: {error:e}");
                    let found = device.factor(blocks, at, 0.0);
                    let exact = influence_by_definition(&program, &sample, loss, at.0);
                    let sums = &found[(n + 1) * (n + 1)..];
                    let near =
                        |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(exact[0]);
                    assert!(
                        sums.iter().zip(&exact).all(near),
                        "{loss:?} {n} {size}: {sums:?} {exact:?}"
                    );
                    let found = squared(&found, n + 1);
                    let error = difference(&found, &squared(&factor, n + 1), n + 1);
                    assert!(error <= 1e-11, "{loss:?} {n} {size}: {error:e}");
                    for floor in [0.1, 0.0] {
                        let sums = by_definition(&program, &sample, loss, at, floor);
                        let error = difference(&device.normal(blocks, at, floor), &sums, n + 1);
                        assert!(error <= 1e-11, "{loss:?} {n} {size} {floor}: {error:e}");
                    }
                }
            }
        }
    }
}

/// A single number that is not finite, in a variable or a response, always reaches the sums.
#[test]
fn what_is_not_finite_reaches_the_sums() {
    for n in [3, 9] {
        let program = exponentials(n);
        let (params, columns) = parameters(n);
        let at = (params.as_slice(), columns.as_slice());
        let losses = [Loss::Linear, Loss::Huber { scale: 0.7 }, Loss::Tukey { scale: 0.7 }];
        let with_kinds = |loss| kinds(n).iter().map(move |&kind| (loss, kind));
        for (loss, kind) in losses.into_iter().flat_map(with_kinds) {
            let spec = spec(&program, loss, Storage::F64, Arithmetic::Double);
            let Some(mut device) = Passes::on(&spec, kind) else { return };
            for (place, value) in [(0, f64::NAN), (200, f64::INFINITY), (299, f64::NAN)] {
                for in_x in [true, false] {
                    let mut sample = Sample::new(300, false);
                    // exp(-x) of -inf is not finite.
                    if in_x {
                        sample.x[place] = -value
                    } else {
                        sample.y[place] = value
                    }
                    device.upload(&sample);
                    for blocks in [1, 2, 9] {
                        let sums = device.normal(blocks, at, 0.1);
                        let finite = |m: usize| sums[m].is_finite();
                        assert!(!finite(pair(n, n)), "{n} {loss:?} {place} {in_x} {blocks}");
                        assert!(
                            !in_x || !(0..n).any(|j| finite(pair(j, j))),
                            "{n} {loss:?} {place}"
                        );
                        let r = device.factor(blocks, at, 0.0);
                        let spoilt = |j: usize| (0..=j).any(|i| !r[j * (n + 1) + i].is_finite());
                        assert!(spoilt(n), "{n} {loss:?} {place} {in_x} {blocks}");
                        assert!(!in_x || (0..n).all(spoilt), "{n} {loss:?} {place} {blocks}");
                    }
                }
            }
        }
    }
}
