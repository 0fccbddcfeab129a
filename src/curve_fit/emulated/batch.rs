//! Batches in the emulated kernel against the loop of single fits on the CPU.

use super::SHARED;
use crate::{Backend, BatchData, BatchFit, CurveFit, Data, FitStatus};

/// Noise that needs no generator: reproducible, without structure at these lengths.
fn noise(i: usize) -> f64 {
    let h = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((h ^ (h >> 32)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

fn abscissae(n: usize) -> Vec<f64> {
    (0..n).map(|i| 4.0 * i as f64 / n as f64).collect()
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

const START: [f64; 3] = [15.0, 0.7, 3.0];

/// Decays whose amplitude and rate differ from fit to fit.
fn decays(x: &[f64], fits: usize) -> Vec<f64> {
    let value = |f: usize, i: usize| {
        let (a, b) = (20.0 + 3.0 * noise(7 * f), 1.0 + 0.5 * noise(11 * f + 1));
        a * (-b * x[i]).exp() + 5.0 + noise(f * x.len() + i)
    };
    (0..fits).flat_map(|f| (0..x.len()).map(move |i| (f, i))).map(|(f, i)| value(f, i)).collect()
}

fn on_device(model: &CurveFit) -> Option<CurveFit> {
    let (_, device) = SHARED.as_ref()?;
    Some(CurveFit { device: Some(device.clone()), ..model.clone() })
}

/// Holds fit `i` of the batch to the single fit.
fn same(batch: &BatchFit, i: usize, fitter: &CurveFit, data: Data<'_>, start: &[f64]) {
    let single = fitter.clone().backend(Backend::Cpu).fit(data, start).unwrap();
    let view = batch.fit(i);
    assert_eq!(view.status().termination(), Some(single.termination()), "fit {i}");
    let close = |a: f64, b: f64, tolerance: f64, what: &str| {
        let equal = a.to_bits() == b.to_bits() || a == b || (a.is_nan() && b.is_nan());
        assert!(equal || (a - b).abs() <= tolerance * b.abs(), "fit {i}: {what} {a} against {b}");
    };
    for (a, b) in view.params().iter().zip(single.params()) {
        close(*a, *b, 1e-9, "parameter");
    }
    for (a, b) in view.std_errors().iter().zip(single.std_errors()) {
        close(*a, b, 1e-6, "error");
    }
    close(view.cost(), single.cost(), 1e-9, "cost");
    assert_eq!(view.degrees_of_freedom(), single.degrees_of_freedom());
    assert_eq!(batch.evaluations()[i] as usize, single.evaluations());
}

#[test]
fn decays_of_equal_length() {
    let Some(device) = on_device(&decay()) else { return };
    for (fits, points) in [(1, 4), (7, 13), (50, 25), (3, 1000)] {
        let x = abscissae(points);
        let stack = decays(&x, fits);
        let begun = std::time::Instant::now();
        let batch = device.fit_batch(BatchData::shared(&x, &stack).unwrap(), START).unwrap();
        println!("{fits} x {points}: {:?}, {:?} {batch}", begun.elapsed(), batch.made);
        for (i, y) in stack.chunks(points).enumerate() {
            same(&batch, i, &decay(), Data::new(&x, y).unwrap(), &START);
        }
        assert!(batch.statuses().iter().all(|s| matches!(s, FitStatus::Converged(_))));
    }
}
