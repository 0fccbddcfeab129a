//! Shared code of the tests of the pass kernels on the emulated device.

use crate::backend::cuda::driver::{Address, Driver};
use crate::backend::cuda::emulated::bench::{Bench, argument, argument_of};
use crate::backend::cuda::interface::{Size, inputs_by_value};
use crate::backend::cuda::source::{
    Arithmetic, Spec, Storage, Summation, THREADS, Weighting, translation_unit,
};
use crate::data::loss::{Estimator, Loss};
use crate::model::program::Program;
use crate::normal::{Influence, pair};

/// Numbers of points around the sizes of warps, blocks and tiles.
pub(super) const SIZES: [usize; 12] = [0, 1, 31, 32, 33, 127, 128, 129, 255, 257, 1000, 4099];

/// Returns compute capabilities of devices that sum up the products of `n` parameters differently.
pub(super) fn kinds(n: usize) -> &'static [(u32, u32)] {
    if n <= 8 { &[(9, 0)] } else { &[(8, 6), (9, 0)] }
}

/// Traces a sum of exponentials in one variable, with `n` parameters, and its partials.
pub(super) fn exponentials(n: usize) -> Program {
    let model = |x: &[crate::Var], p: &[crate::Var]| {
        let terms = p.chunks(2).map(|p| match p {
            [amplitude, rate] => *amplitude * (-*rate * x[0]).exp(),
            rest => rest[0] * (-x[0]).exp(),
        });
        terms.reduce(|sum, term| sum + term).expect("a term")
    };
    with_all_partials(&Program::trace(1, n, model).expect("a trace"))
}

pub(super) fn decay() -> Program {
    let model = |x: &[crate::Var], p: &[crate::Var]| p[0] * (-p[1] * x[0]).exp() + p[2];
    with_all_partials(&Program::trace(1, 3, model).expect("a trace"))
}

pub(super) fn with_all_partials(value: &Program) -> Program {
    let all: Vec<usize> = (0..value.params.len()).collect();
    value.with_partials(&all).expect("a replay")
}

/// Returns parameters and column factors for [`exponentials`].
pub(super) fn parameters(n: usize) -> (Vec<f64>, Vec<f64>) {
    let params =
        (0..n).map(|j| if j % 2 == 0 { 1.0 + 0.1 * j as f64 } else { 0.2 + 0.17 * j as f64 });
    let columns = (0..n).map(|j| [1.0, 0.5, 4.0][j % 3]);
    (params.collect(), columns.collect())
}

/// Points with one variable, responses and optional weights.
#[derive(Clone, Default)]
pub(super) struct Sample {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) weight: Option<Vec<f64>>,
    pub(super) constant_weight: f64,
    /// Scale of the loss.
    pub(super) scale: f64,
}

impl Sample {
    pub(super) fn new(n: usize, weighted: bool) -> Sample {
        let x: Vec<f64> = (0..n).map(|i| 5.0 * (i as f64 + 0.5) / n as f64).collect();
        let y = x.iter().map(|x| 2.0 * (-1.2 * x).exp() + 0.4 + 0.3 * (917.0 * x).sin()).collect();
        let weight = weighted.then(|| x.iter().map(|x| 1.0 / (0.4 + 0.3 * x)).collect());
        Sample { x, y, weight, constant_weight: 1.0, scale: 0.7 }
    }

    fn weighting(&self) -> Weighting {
        match &self.weight {
            Some(_) => Weighting::Each,
            None if self.constant_weight == 1.0 => Weighting::One,
            None => Weighting::Same,
        }
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weight.as_ref().map_or(self.constant_weight, |w| w[i])
    }
}

/// Compiled translation units on the emulated device, one for each weighting of the samples so far, and the current
/// sample.
pub(super) struct Passes<'a> {
    spec: Spec<'a>,
    summation: Summation,
    benches: Vec<(Weighting, Bench)>,
    seed: u64,
    data: Vec<u8>,
    points: usize,
    held: Vec<Address>,
}

/// Returns the specification of a model in one variable.
pub(super) fn spec(
    program: &Program,
    loss: Loss,
    storage: Storage,
    arithmetic: Arithmetic,
) -> Spec<'_> {
    let free = program.outputs.len() - 1;
    Spec {
        program,
        free,
        columns: vec![storage],
        response: storage,
        weights: Weighting::Same,
        loss,
        estimator: Estimator::LeastSquares,
        arithmetic,
    }
}

impl<'a> Passes<'a> {
    /// Compiles the kernels for a device of compute capability 9.0. Returns `None` if there is no C++ compiler.
    pub(super) fn new(spec: &Spec<'a>) -> Option<Passes<'a>> {
        Passes::on(spec, (9, 0))
    }

    /// As [`new`](Passes::new), for a device of this compute capability.
    pub(super) fn on(spec: &Spec<'a>, capability: (u32, u32)) -> Option<Passes<'a>> {
        let summation = Summation::of(spec, capability);
        let benches = vec![(spec.weights, Bench::new(&translation_unit(spec, summation))?)];
        let (spec, data, held) = (spec.clone(), Vec::new(), Vec::new());
        Some(Passes { spec, summation, benches, seed: 0, data, points: 0, held })
    }

    /// Returns the bench for the weighting of the current sample.
    fn bench(&self) -> &Bench {
        &self.benches.last().expect("one at least").1
    }

    fn turn_to(&mut self, weights: Weighting) {
        if let Some(found) = self.benches.iter().position(|(w, _)| *w == weights) {
            let found = self.benches.remove(found);
            self.benches.push(found);
        } else {
            self.spec.weights = weights;
            let bench =
                Bench::new(&translation_unit(&self.spec, self.summation)).expect("a compiler");
            self.benches.push((weights, bench));
        }
        self.bench().device.set_seed(self.seed);
    }

    fn numbers(&mut self, values: &[f64], storage: Storage) -> Address {
        let address = match storage {
            Storage::F32 => {
                self.bench().put(&values.iter().map(|&v| v as f32).collect::<Vec<f32>>())
            }
            _ => self.bench().put(values),
        };
        self.held.push(address);
        address
    }

    /// Replaces the points.
    pub(super) fn upload(&mut self, sample: &Sample) {
        let held = std::mem::take(&mut self.held);
        held.into_iter().for_each(|address| self.bench().device.release(address));
        self.turn_to(sample.weighting());
        let storage = self.spec.response;
        let (x, y) = (self.numbers(&sample.x, storage), self.numbers(&sample.y, storage));
        let weight = sample.weight.as_ref().map_or(Address(0), |w| self.numbers(w, Storage::F64));
        self.points = sample.y.len();
        self.data = argument_of(&[x, y, weight]);
        self.data.extend(argument_of(&[sample.constant_weight, sample.scale]));
        self.data.extend(argument(self.points as i64));
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.bench().device.set_seed(seed);
    }

    /// Returns the inputs of a pass as an argument, and the addresses of inputs in device memory.
    fn inputs(&self, (params, columns): (&[f64], &[f64])) -> (Vec<u8>, Vec<Address>) {
        let size = Size { columns: 1, params: params.len(), free: columns.len() };
        if inputs_by_value(size) {
            return (argument_of(&[params, columns].concat()), Vec::new());
        }
        let held = vec![self.bench().put(params), self.bench().put(columns)];
        (argument_of(&held), held)
    }

    /// Runs `normal` or `factor` and returns its `size` numbers. All other memory is filled with NaN
    /// before.
    fn pass(
        &self,
        kernel: &str,
        size: usize,
        blocks: u32,
        at: (&[f64], &[f64]),
        floor: f64,
    ) -> Vec<f64> {
        let bench = self.bench();
        let (inputs, held) = self.inputs(at);
        let partial = bench.put(&vec![f64::NAN; blocks as usize * size]);
        let (ticket, out) = (bench.put(&[0u32]), bench.put(&vec![f64::NAN; size]));
        let mut arguments = vec![self.data.clone(), inputs, argument(floor)];
        arguments.extend([partial, ticket, out].map(argument));
        bench.launch(kernel, blocks, THREADS as u32, &arguments).unwrap();
        assert_eq!(bench.take::<u32>(ticket, 1), [0], "the ticket of {kernel}");
        let result = bench.take(out, size);
        held.into_iter().chain([partial, ticket, out]).for_each(|a| bench.device.release(a));
        result
    }

    /// Returns the sums of `normal`: products, then the cost.
    pub(super) fn normal(&self, blocks: u32, at: (&[f64], &[f64]), floor: f64) -> Vec<f64> {
        self.pass("normal", pair(0, self.spec.free + 1) + 1, blocks, at, floor)
    }

    /// Returns R in column-major order and the sums of the influence.
    pub(super) fn factor(&self, blocks: u32, at: (&[f64], &[f64]), floor: f64) -> Vec<f64> {
        let k = self.spec.free + 1;
        self.pass("factor", k * k + Influence::SUMS, blocks, at, floor)
    }

    /// Returns the sums of the kernels `rows` and `gram`, `chunk` points at a time.
    pub(super) fn chunked(
        &self,
        (chunk, blocks, splits): (usize, u32, u32),
        at: (&[f64], &[f64]),
        floor: f64,
    ) -> Vec<f64> {
        let (bench, k) = (self.bench(), self.spec.free + 1);
        let (sums, groups) = (pair(0, k) + 1, k.div_ceil(32));
        let pairs = groups * (groups + 1) / 2;
        let stride = chunk + 3;
        let (inputs, held) = self.inputs(at);
        let matrix = bench.put(&vec![f64::NAN; stride * k]);
        let cost = bench.put(&vec![f64::NAN; chunk]);
        let partial = bench.put(&vec![f64::NAN; splits as usize * sums]);
        let (tickets, out) = (bench.put(&vec![0u32; pairs]), bench.put(&vec![0.0f64; sums]));
        for first in (0..self.points.max(1)).step_by(chunk) {
            let count = chunk.min(self.points - first) as i64;
            let mut arguments = vec![self.data.clone(), inputs.clone(), argument(floor)];
            arguments.extend([first as i64, count, stride as i64].map(argument));
            arguments.extend([matrix, cost].map(argument));
            bench.launch("rows", blocks, THREADS as u32, &arguments).unwrap();
            let mut arguments = [matrix, cost].map(argument).to_vec();
            arguments.extend([count, stride as i64, i64::from(splits)].map(argument));
            arguments.extend([partial, tickets, out].map(argument));
            bench.launch("gram", pairs as u32 * splits, THREADS as u32, &arguments).unwrap();
        }
        assert!(bench.take::<u32>(tickets, pairs).iter().all(|&t| t == 0), "tickets of gram");
        let result = bench.take(out, sums);
        let held = held.into_iter().chain([matrix, cost, partial, tickets, out]);
        held.for_each(|address| bench.device.release(address));
        result
    }
}

/// Returns the bits of numbers.
pub(super) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Returns the products RᵀR of a factor in the packed layout of sums, without a cost.
pub(super) fn squared(r: &[f64], k: usize) -> Vec<f64> {
    let mut products = Vec::new();
    for j in 0..k {
        for i in 0..=j {
            products.push((0..=i).map(|m| r[i * k + m] * r[j * k + m]).sum());
        }
    }
    products
}

/// Returns the largest difference of two sets of products, relative to the lengths of the two columns. Costs are
/// also compared if both sets have one.
pub(super) fn difference(found: &[f64], expected: &[f64], k: usize) -> f64 {
    let mut worst: f64 = 0.0;
    let mut compare = |found: f64, expected: f64, size: f64| {
        let error = (found - expected).abs();
        // NaN is not a small difference; equal values have no difference even if the size is 0.
        let relative = if error == 0.0 { 0.0 } else { error / size };
        worst = if relative >= worst || relative.is_nan() { relative } else { worst };
        assert!(!worst.is_nan(), "{found} in place of {expected}");
    };
    // Under a loss and for counts, nothing uses the last product, which is defined only for squares.
    let last = (k - 1, k - 1);
    let half_square = 0.5 * expected[pair(k - 1, k - 1)];
    let is_like = |cost: &f64| (cost - half_square).abs() <= 1e-9 * half_square;
    let of_squares = expected.get(pair(0, k)).is_none_or(is_like);
    for j in 0..k {
        for i in (0..=j).filter(|&i| (i, j) != last || of_squares) {
            let square = |i: usize| found[pair(i, i)].max(expected[pair(i, i)]);
            let size = (square(i) * square(j)).sqrt();
            compare(found[pair(i, j)], expected[pair(i, j)], size);
        }
    }
    if let (Some(&a), Some(&b)) = (found.get(pair(0, k)), expected.get(pair(0, k))) {
        compare(a, b, b);
    }
    worst
}
