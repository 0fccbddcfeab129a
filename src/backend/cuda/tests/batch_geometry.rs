//! Tests of the batch kernel alone: every number of lanes, and sample indices above 2³².

use crate::CurveFit;
use crate::backend::cuda::batch::unit::{BatchShape, batch_unit, bench_bytes};
use crate::backend::cuda::driver::{Address, Driver, Queue};
use crate::backend::cuda::emulated::bench::{Bench, argument};
use crate::backend::cuda::interface::COUNTS;
use crate::backend::cuda::source::{Arithmetic, Spec, Storage, Weighting};
use crate::data::loss::{Estimator, Loss};
use crate::model::program::Program;

const POINTS: usize = 20;
const FITS: usize = 24;
const PARAMS: usize = 3;

fn program() -> Program {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).program().unwrap()
}

fn spec(program: &Program, response: Storage) -> Spec<'_> {
    Spec {
        program,
        free: PARAMS,
        columns: vec![Storage::F64],
        response,
        weights: Weighting::One,
        loss: Loss::Linear,
        estimator: Estimator::LeastSquares,
        arithmetic: Arithmetic::Double,
    }
}

/// Returns a sample of fit `fit` at `x`, a count from 0 to 200.
fn sample(fit: usize, x: f64) -> u8 {
    let ripple = (37.0 * x + fit as f64).sin();
    (150.0 * (-(0.5 + 0.02 * fit as f64) * x).exp() + 20.0 + 3.0 * ripple) as u8
}

fn abscissae() -> Vec<f64> {
    (0..POINTS).map(|i| 0.2 * i as f64).collect()
}

/// Returns the address `bytes` bytes before `address`.
fn before(address: Address, bytes: u64) -> Address {
    Address(address.0.wrapping_sub(bytes))
}

/// Runs the kernel on `FITS` fits, which begin with fit number `first` of the batch, and returns its parameters and
/// counts. The counter starts at `first`, therefore no other fits run.
fn run(bench: &Bench, shape: BatchShape, blocks: u32, first: u64) -> (Vec<f64>, Vec<u32>) {
    let x = abscissae();
    let stack: Vec<u8> = (0..FITS).flat_map(|fit| x.iter().map(move |&x| sample(fit, x))).collect();
    let samples = bench.room::<u32>(stack.len() / 4);
    bench.device.upload(samples, &stack, Queue::Work).unwrap();
    let params = bench.room::<f64>(FITS * PARAMS);
    let errors = bench.room::<f64>(FITS * PARAMS);
    let costs = bench.room::<f64>(FITS);
    let counts = bench.room::<u32>(FITS * COUNTS);
    let start = bench.put(&[100.0, 1.0, 10.0]);
    let (lower, upper) = (bench.put(&[f64::NEG_INFINITY; 3]), bench.put(&[f64::INFINITY; 3]));
    let x = bench.put(&x);
    let ones = 1f64.to_bits();
    let data = [x.0, before(samples, first * POINTS as u64).0, 0, ones, ones, POINTS as u64];
    let places = [0, 0, 0, start.0, lower.0, upper.0, 0, 0];
    let switches = [first + FITS as u64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2000];
    let row = 8 * PARAMS as u64;
    let rules = [1e-10, 1e-10, 1e-12, 0.0, 1.0, 0.1].map(f64::to_bits);
    let results = [
        before(params, first * row).0,
        before(errors, first * row).0,
        before(costs, first * 8).0,
        0,
        0,
        before(counts, first * 4 * COUNTS as u64).0,
    ];
    let words = [&data[..], &places, &switches, &rules, &[0, 1, 2, 0], &results].concat();
    let batch = bench.put(&words);
    let next = bench.put(&[first]);
    let arguments = [argument(batch), argument(next), argument(Address(0))];
    bench.launch("make_fits", blocks, shape.threads as u32, &arguments).unwrap();
    let numbers = [
        bench.take::<f64>(params, FITS * PARAMS),
        bench.take::<f64>(errors, FITS * PARAMS),
        bench.take::<f64>(costs, FITS),
    ];
    let counted = bench.take::<u32>(counts, FITS * COUNTS);
    for address in [samples, params, errors, costs, counts, start, lower, upper, x, batch, next] {
        bench.device.release(address);
    }
    (numbers.concat(), counted)
}

/// Checks that all fits converged.
fn assert_converged(counts: &[u32]) {
    for fit in counts.chunks(COUNTS) {
        let [reason, rank] = [fit[0] & 0xffff, fit[0] >> 16];
        assert!((1..=4).contains(&reason), "{fit:?}");
        assert_eq!((fit[1], rank), (POINTS as u32, 3));
    }
}

#[test]
fn every_number_of_lanes_finds_the_same_minima_and_no_grid_changes_a_bit() {
    let program = program();
    let spec = spec(&program, Storage::U8);
    let mut first: Option<Vec<f64>> = None;
    for lanes in [2, 4, 8, 16, 32] {
        for threads in [32, 128] {
            let shape = BatchShape { lanes, threads };
            if shape.fits() * bench_bytes(&spec) > 48 << 10 {
                continue;
            }
            let Some(bench) = Bench::new(&batch_unit(&spec, shape)) else { return };
            let (numbers, counts) = run(&bench, shape, 1, 0);
            assert_converged(&counts);
            for (blocks, seed) in [(1, 3), (5, 0), (3, 1)] {
                bench.device.set_seed(seed);
                assert_eq!(run(&bench, shape, blocks, 0), (numbers.clone(), counts.clone()));
            }
            let expected = first.get_or_insert_with(|| numbers.clone());
            for (a, b) in numbers.iter().zip(expected.iter()) {
                assert!((a - b).abs() <= 1e-9 * b.abs(), "{lanes} lanes: {a} against {b}");
            }
        }
    }
    // One lane per fit, for a model that is small enough for 32 fits in a block.
    let line = CurveFit::new(|x, [a]| a * x).program().unwrap();
    let spec = Spec { free: 1, ..self::spec(&line, Storage::U8) };
    let shape = BatchShape { lanes: 1, threads: 32 };
    assert!(shape.fits() * bench_bytes(&spec) <= 48 << 10, "{} bytes", bench_bytes(&spec));
    assert!(Bench::new(&batch_unit(&spec, shape)).is_some());
}

#[test]
fn samples_beyond_the_third_thousand_million_are_found() {
    let program = program();
    let spec = spec(&program, Storage::U8);
    let shape = BatchShape::new(POINTS, bench_bytes(&spec)).unwrap();
    let Some(bench) = Bench::new(&batch_unit(&spec, shape)) else { return };
    let (numbers, counts) = run(&bench, shape, 3, 0);
    assert_converged(&counts);
    // 3e9 samples, 4.6e9 samples, and more fits than a 32-bit number can count precede these fits.
    for before in [150_000_000, 230_000_000, 5_000_000_000] {
        assert_eq!(run(&bench, shape, 3, before), (numbers.clone(), counts.clone()), "{before}");
    }
}
