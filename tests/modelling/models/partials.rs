//! Partials of every model against finite differences of its values.

use crate::models::truths::{experiment, program};
use dualfit::models;
use dualfit::program::Dual;

/// The derivative by parameter `i`: central differences, extrapolated twice (Richardson); and how far
/// the last two stages differ.
fn differences(f: impl Fn(f64) -> f64, at: f64, scale: f64) -> (f64, f64) {
    let central = |h: f64| (f(at + h) - f(at - h)) / (2.0 * h);
    let h = 1e-3 * scale;
    let (a, b, c) = (central(h), central(h / 2.0), central(h / 4.0));
    let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
    let found = (16.0 * bc - ab) / 15.0;
    (found, (found - bc).abs())
}

#[test]
fn partials_are_those_of_the_values() {
    for name in models::names() {
        let program = program(name);
        let (mut checked, mut skipped) = (0, 0);
        for seed in 0..40 {
            let (columns, params, _) = experiment(name, seed);
            let at = |k: usize| columns.iter().map(|column| column[k]).collect::<Vec<f64>>();
            let values = (0..columns[0].len()).map(|k| program.evaluate(&at(k), &params).abs());
            let level = values.fold(0.0, f64::max);
            for point in 0..6 {
                let x = at(point * 7);
                for i in 0..params.len() {
                    let value = |v: f64| {
                        let mut params = params.clone();
                        params[i] = v;
                        program.evaluate(&x, &params)
                    };
                    let x: Vec<Dual<f64, 1>> = x.iter().map(|&x| Dual::constant(x)).collect();
                    let lane = |(k, &p): (usize, &f64)| Dual::variable(p, usize::from(k != i));
                    let p: Vec<Dual<f64, 1>> = params.iter().enumerate().map(lane).collect();
                    let exact = program.evaluate(&x, &p).partials[0];
                    // A center far from 0 moves by much less than itself.
                    let steps = (0..6).map(|k| 0.1_f64.powi(k) * params[i].abs().max(1e-9));
                    let tried = steps.map(|scale| {
                        let (found, spread) = differences(value, params[i], scale);
                        (found, spread + 1e-13 * level / scale / 1e-3)
                    });
                    let (found, spread) = tried.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                    // Kinks, as of a ramp, and curvature that the steps do not resolve.
                    if spread > 1e-5 * found.abs() + 1e-7 * level / params[i].abs() {
                        skipped += 1;
                        continue;
                    }
                    checked += 1;
                    let tolerance = 1e-7 * exact.abs() + 10.0 * spread;
                    assert!(
                        (exact - found).abs() <= tolerance,
                        "{name}, experiment {seed}: the partial by parameter {i} is {exact}, differences give {found} ± {spread}"
                    );
                }
            }
        }
        assert!(checked > 9 * skipped, "{name}: {checked} partials checked, {skipped} skipped");
    }
}
