//! Tests of single precision for storage, arithmetic and sums.

use super::passes::{
    Passes, Sample, difference, exponentials, parameters, spec, squared, with_all_partials,
};
use super::sums::on_cpu;
use crate::backend::cuda::source::{Arithmetic, Storage};
use crate::data::loss::Loss;
use crate::model::program::Program;

const PAIRS: Arithmetic = Arithmetic::Single { compensated: true };
const MIXED: Arithmetic = Arithmetic::Single { compensated: false };

/// Returns a sample whose numbers are representable in f32.
fn rounded(size: usize) -> Sample {
    let mut sample = Sample::new(size, false);
    sample.x.iter_mut().chain(&mut sample.y).for_each(|v| *v = f64::from(*v as f32));
    sample
}

#[test]
fn values_stored_in_single_precision_lose_nothing() {
    let program = exponentials(5);
    let spec = spec(&program, Loss::Linear, Storage::F32, Arithmetic::Double);
    let Some(mut device) = Passes::new(&spec) else { return };
    let (params, columns) = parameters(5);
    let at = (params.as_slice(), columns.as_slice());
    for size in [1, 129, 1000] {
        let sample = rounded(size);
        device.upload(&sample);
        let (normal, _) = on_cpu(&program, &sample, Loss::Linear, at);
        let error = difference(&device.normal(3, at, 0.1), &normal, 6);
        assert!(error <= 1e-12, "{size}: {error:e}");
    }
}

/// The error is at most the rounding of the model in f32.
#[test]
fn models_in_single_precision() {
    for (n, loss) in [(5, Loss::Linear), (9, Loss::Linear), (5, Loss::Cauchy { scale: 0.7 })] {
        let program = exponentials(n);
        let (params, columns) = parameters(n);
        let at = (params.as_slice(), columns.as_slice());
        for arithmetic in [PAIRS, MIXED] {
            let spec = spec(&program, loss, Storage::F32, arithmetic);
            let Some(mut device) = Passes::new(&spec) else { return };
            let sample = rounded(1000);
            device.upload(&sample);
            let (normal, factor) = on_cpu(&program, &sample, loss, at);
            let error = difference(&device.normal(3, at, 0.1), &normal, n + 1);
            assert!(error <= 3e-7, "{n} {arithmetic:?} {loss:?}: {error:e}");
            let found = squared(&device.factor(3, at, 0.0), n + 1);
            let error = difference(&found, &squared(&factor, n + 1), n + 1);
            assert!(error <= 3e-7, "{n} {arithmetic:?} {loss:?}: {error:e}");
        }
    }
}

/// If the model has no rounding, only the error of the sums remains: below 2⁻⁴² in pairs of
/// floats; a single float would have about 1e-5.
#[test]
fn sums_in_pairs_of_floats_are_nearly_those_of_doubles() {
    for n in [2, 9] {
        // Numbers with few bits: every value and partial is representable in f32.
        let model = |x: &[crate::Var], p: &[crate::Var]| {
            let power = |j: usize| if j & 1 == 0 { x[0] * x[0] } else { x[0] };
            let term = |(j, &p): (usize, &crate::Var)| p * power(j) * (0.5f64).powi(j as i32);
            p.iter().enumerate().skip(1).map(term).fold(p[0], |sum, term| sum + term)
        };
        let program = with_all_partials(&Program::trace(1, n, model).expect("a trace"));
        for (arithmetic, tolerance) in [(PAIRS, 2f64.powi(-42)), (MIXED, 1e-14)] {
            let spec = spec(&program, Loss::Linear, Storage::F32, arithmetic);
            let Some(mut device) = Passes::new(&spec) else { return };
            let size = 60_000;
            let x: Vec<f64> = (0..size).map(|i| f64::from(40 + i * 7919 % 61) / 64.0).collect();
            let y = (0..size).map(|i| f64::from(i * 31 % 1021) / 512.0).collect();
            let sample = Sample { x, y, weight: None, constant_weight: 1.0, scale: 1.0 };
            device.upload(&sample);
            let at: (&[f64], &[f64]) = (&vec![0.5; n], &vec![0.25; n]);
            let (normal, _) = on_cpu(&program, &sample, Loss::Linear, at);
            let error = difference(&device.normal(2, at, 0.1), &normal, n + 1);
            assert!(error <= tolerance, "{n} {arithmetic:?}: {error:e}");
        }
    }
}
