//! Tests that points left out have no effect on normal equations, by machine code and by the interpreter.

use super::assembled::{MODELS, Model, normal, sets};
use super::{Sums, kernels};
use crate::Sigma;
use crate::backend::cpu::kernels::Kernels;
use crate::data::Data;
use crate::data::loss::Loss;
use crate::data::points::Points;

/// Tests points that are left out and whose numbers are not finite, huge or negative, in pieces of which few or most points
/// are used: machine code and interpreter compute the bits of the same data with ordinary numbers at these points.
#[test]
fn numbers_of_points_left_out_have_no_effect() {
    const HOSTILE: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3e12, -1e300, 0.0];
    for n in [9, 519, 4103, 40_003] {
        let sums = Sums::new(n);
        let counts: Vec<f64> = sums.y.iter().map(|y| (9.0 * y - 6.0).max(0.0).round()).collect();
        let is_used = |i: usize| i % 97 != 8 && (i / 4096 != 1 || i.is_multiple_of(3));
        let mask: Vec<bool> = (0..n).map(is_used).collect();
        let hostile = |values: &[f64], first: usize| -> Vec<f64> {
            let number =
                |(i, &v): (usize, &f64)| if mask[i] { v } else { HOSTILE[(i + first) % 6] };
            values.iter().enumerate().map(number).collect()
        };
        let [x, y, count, sigma] = [&sums.x, &sums.y, &counts, &sums.sigma]
            .map(|values| [values.clone(), hostile(values, n)]);
        let x = [x[0].clone(), hostile(&sums.x, n + 1)];
        for kernels in sets() {
            let bits = |which: usize, estimate: usize, model: (usize, Model), often: bool| {
                let y = if estimate == 0 { &count[which] } else { &y[which] };
                let mut data = Data::new(&x[which], y).expect("data");
                if estimate % 2 == 1 {
                    data = data.sigma(Sigma::Relative(&sigma[which])).expect("sigma");
                }
                let data = data.mask(&mask).expect("a mask");
                let mut points = Points::validate(&data).expect("points");
                if estimate == 0 {
                    points.count_events().expect("counts");
                }
                let losses = [Loss::Linear; 3].into_iter().chain(Loss::robust(0.3));
                let loss = losses.into_iter().nth(estimate).expect("a loss");
                let (bits, made) = normal(&points, loss, model, kernels, often);
                assert_eq!(made > 0, often);
                // The payload of a NaN is not specified.
                let is_nan = |bits: u64| f64::from_bits(bits).is_nan();
                bits.into_iter().map(|b| if is_nan(b) { u64::MAX } else { b }).collect::<Vec<_>>()
            };
            for (name, count, model) in MODELS {
                for estimate in 0..8 {
                    let expected = bits(0, estimate, (count, model), false);
                    for (which, often) in [(0, true), (1, false), (1, true)] {
                        let found = bits(which, estimate, (count, model), often);
                        let of = format!("{}, {n} points, {name}", kernels.name);
                        assert_eq!(found, expected, "{of}, estimate {estimate}: {which}, {often}");
                    }
                }
            }
        }
    }
}

/// Compares the sums of masked points with those of the same points without the ones left out, for weights, losses and
/// counts, and a custom loss.
#[test]
fn masked_points_have_the_sums_of_the_others() {
    let n = 9001;
    let sums = Sums::new(n);
    let mask: Vec<bool> = (0..n).map(|i| i % 7 != 3 && i / 4096 != 1).collect();
    let used = |values: &[f64]| -> Vec<f64> {
        values.iter().zip(&mask).filter(|(_, used)| **used).map(|(v, _)| *v).collect()
    };
    let counts: Vec<f64> = sums.y.iter().map(|y| (9.0 * y - 6.0).max(0.0).round()).collect();
    let custom = Loss::custom(0.3, |u| u * u / (u.abs() + 1.0)).expect("a formula");
    let losses = [Loss::Linear, custom].into_iter().chain(Loss::robust(0.3));
    let (_, count, model) = MODELS[0];
    let numbers = |loss: Loss, kind: usize, is_masked: bool, kernels: &'static Kernels| {
        let part = |values: &[f64]| if is_masked { values.to_vec() } else { used(values) };
        let y = part(if kind == 2 { &counts } else { &sums.y });
        let (x, sigma) = (part(&sums.x), part(&sums.sigma));
        let mut data = Data::new(&x, &y).expect("data");
        if kind == 1 {
            data = data.sigma(Sigma::Absolute(&sigma)).expect("sigma");
        }
        if is_masked {
            data = data.mask(&mask).expect("a mask");
        }
        let mut points = Points::validate(&data).expect("points");
        if kind == 2 {
            points.count_events().expect("counts");
        }
        let bits = normal(&points, loss, (count, model), kernels, true).0;
        bits.into_iter().map(f64::from_bits).collect::<Vec<f64>>()
    };
    let counted = (Loss::Linear, 2);
    let kinds = losses.flat_map(|loss| [(loss, 0), (loss, 1)]).chain([counted]);
    for (loss, kind) in kinds {
        for kernels in kernels::available() {
            let [masked, few] = [true, false].map(|masked| numbers(loss, kind, masked, kernels));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-11 * (a.abs() + 1.0);
            let set = kernels.name;
            assert!(masked.iter().zip(&few).all(close), "{set}, {loss:?}: {masked:?}, {few:?}");
        }
    }
}
