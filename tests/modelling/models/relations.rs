//! Areas, heights and widths as the library states them, against quadrature of the values.

use crate::models::truths::{experiment, program};
use dualfit::{CurveFit, models};
use std::collections::HashMap;
use std::f64::consts::PI;

/// ∫ f over the whole line by the double exponential transformation (Takahasi and Mori, 1974), on
/// either side of `center`, where f may have a kink.
fn integral(f: impl Fn(f64) -> f64, center: f64, scale: f64) -> f64 {
    let step = 1.0 / 64.0;
    let mut sum = 0.0;
    for i in -320..=320 {
        let t = step * f64::from(i);
        let u = (PI / 2.0 * t.sinh()).exp();
        let weight = u * PI / 2.0 * t.cosh() * step;
        if u > 1e-250 && weight < 1e250 {
            sum += weight * (f(center + scale * u) + f(center - scale * u));
        }
    }
    sum * scale
}

/// The place between `inside`, where f is above `level`, and `outside`, where it is not.
fn crossing(f: impl Fn(f64) -> f64, level: f64, mut inside: f64, mut outside: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (inside + outside);
        if f(middle) > level { inside = middle } else { outside = middle }
    }
    0.5 * (inside + outside)
}

/// The position of the maximum of f within ±`reach`: a scan, then golden sections.
fn maximum(f: impl Fn(f64) -> f64, center: f64, reach: f64) -> f64 {
    let at = |i: i32| center + reach * f64::from(i) / 2000.0;
    let best = (-2000..=2000).max_by(|&a, &b| f(at(a)).total_cmp(&f(at(b)))).unwrap();
    let (mut low, mut high) = (at(best - 1), at(best + 1));
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..80 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if f(a) > f(b) { high = b } else { low = a }
    }
    0.5 * (low + high)
}

/// Derived quantities of the library for these parameters.
fn derived(name: &str, params: &[f64]) -> HashMap<String, f64> {
    let model = models::by_name(name).unwrap();
    let names = model.parameters();
    let value = |formula: &str| {
        let none: [&str; 0] = [];
        let parsed = CurveFit::parse(formula, none).unwrap();
        let place = |n: &String| names.iter().position(|name| name == n).unwrap();
        let ordered: Vec<f64> = parsed.parameters().iter().map(|n| params[place(n)]).collect();
        parsed.program().unwrap().evaluate::<f64>(&[], &ordered)
    };
    model.derived().iter().map(|(name, formula)| (name.clone(), value(formula))).collect()
}

fn close(name: &str, what: &str, stated: f64, found: f64, tolerance: f64) {
    assert!(
        (stated - found).abs() <= tolerance * found.abs().max(1e-300),
        "{name}: {what} is stated as {stated}, the values give {found}"
    );
}

/// Models of one peak whose `amplitude` is the area, and how well the quadrature knows it.
const AREAS: [(&str, f64); 11] = [
    ("gaussian", 1e-10),
    ("lorentzian", 1e-9),
    ("voigt", 1e-9),
    ("pseudo_voigt", 1e-9),
    ("pearson7", 1e-6),
    ("exponential_gaussian", 1e-9),
    ("skewed_gaussian", 1e-9),
    ("skewed_voigt", 1e-8),
    ("pearson4", 1e-6),
    ("split_lorentzian", 1e-9),
    ("students_t", 1e-6),
];

#[test]
fn amplitudes_are_areas() {
    for (name, tolerance) in AREAS {
        let program = program(name);
        for seed in 0..20 {
            let (_, params, _) = experiment(name, seed);
            let scale = if name == "students_t" { 1.0 } else { params[2] };
            let area = integral(|x| program.evaluate(&[x], &params), params[1], scale);
            // The exponents of algebraic tails near 1/2 leave an area beyond any x.
            if matches!(name, "pearson7") && params[3] < 1.0
                || name == "students_t" && params[2] < 1.0
            {
                continue;
            }
            close(name, "the area", params[0], area, tolerance);
        }
    }
    let (program, name) = (program("lognormal"), "lognormal");
    for seed in 0..20 {
        let (_, params, _) = experiment(name, seed);
        // Far from its center the density vanishes, and exp(t) may overflow.
        let of_logarithm = |t: f64| match (t - params[1]).abs() < 100.0 * params[2] {
            true => t.exp() * program.evaluate(&[t.exp()], &params),
            false => 0.0,
        };
        close(name, "the area", params[0], integral(of_logarithm, params[1], params[2]), 1e-9);
    }
}

#[test]
fn stated_areas_are_those_of_the_values() {
    for name in ["moffat", "rectangle_linear", "rectangle_erf", "rectangle_logistic"] {
        let program = program(name);
        for seed in 0..20 {
            let (_, params, _) = experiment(name, seed);
            if name == "moffat" && params[3] < 1.0 {
                continue;
            }
            let stated = derived(name, &params)["area"];
            let value = |x: f64| program.evaluate(&[x], &params);
            let (area, tolerance) = if name == "moffat" {
                (integral(value, params[1], params[2]), 1e-6)
            } else {
                // No kink of a ramp lies at the middle of a cell for all of them at once.
                let (low, high) = (params[1] - 40.0 * params[2], params[3] + 40.0 * params[4]);
                let cells = 400_000;
                let width = (high - low) / f64::from(cells);
                let middle = |i: i32| low + width * (f64::from(i) + 0.5);
                ((0..cells).map(|i| value(middle(i)) * width).sum(), 1e-7)
            };
            close(name, "the area", stated, area, tolerance);
        }
    }
}

#[test]
fn heights_and_widths_are_those_of_the_values() {
    let mut seen = 0;
    for name in models::names() {
        let model = models::by_name(name).unwrap();
        let has = |what: &str| model.derived().iter().any(|(n, _)| n == what);
        if model.variables().len() != 1 || !has("height") {
            continue;
        }
        seen += 1;
        let program = program(name);
        for seed in 0..20 {
            let (columns, params, _) = experiment(name, seed);
            let stated = derived(name, &params);
            let sign = stated["height"].signum();
            let value = |x: f64| sign * program.evaluate(&[x], &params);
            let low = columns[0].iter().copied().fold(f64::INFINITY, f64::min);
            let high = columns[0].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let top = maximum(value, 0.5 * (low + high), 0.6 * (high - low));
            close(name, "the height", stated["height"], sign * value(top), 1e-6);
            if let Some(mode) = stated.get("mode") {
                assert!((mode - top).abs() < 1e-4 * (high - low), "{name}: {mode} {top}");
            }
            if let Some(fwhm) = stated.get("fwhm") {
                let half = value(top) / 2.0;
                let right = crossing(value, half, top, top + 20.0 * (high - low));
                // An oscillator has frequencies above 0 only; its width begins there if it is above half of its maximum.
                let oscillates = name == "damped_oscillator";
                let far = if oscillates { 0.0 } else { top - 20.0 * (high - low) };
                let left = crossing(value, half, top, far);
                let tolerance = if matches!(name, "voigt" | "pearson4") { 3e-4 } else { 1e-6 };
                close(name, "the width", *fwhm, right - left, tolerance);
            }
        }
    }
    assert!(seen >= 11, "{seen} models with a height");
}

#[test]
fn means_and_deviations_are_moments() {
    for name in ["exponential_gaussian", "skewed_gaussian"] {
        let program = program(name);
        for seed in 0..20 {
            let (_, params, _) = experiment(name, seed);
            let stated = derived(name, &params);
            let density = |x: f64| program.evaluate(&[x], &params) / params[0];
            let from = |x: f64| x - params[1];
            let mean = params[1] + integral(|x| from(x) * density(x), params[1], params[2]);
            let about = |x: f64| (x - mean).powi(2) * density(x);
            let deviation = integral(about, params[1], params[2]).sqrt();
            assert!((stated["mean"] - mean).abs() < 1e-8 * params[2], "{name}");
            close(name, "the deviation", stated["deviation"], deviation, 1e-8);
        }
    }
}

#[test]
fn volumes_and_heights_of_spots() {
    for name in ["gaussian2d", "gaussian2d_elliptic", "gaussian2d_rotated"] {
        let program = program(name);
        let (_, params, _) = experiment(name, 3);
        let stated = derived(name, &params);
        let value = |x: f64, y: f64| program.evaluate(&[x, y], &params);
        close(name, "the height", stated["height"], value(params[1], params[2]), 1e-12);
        let sigma = params[3].max(*params.get(4).unwrap_or(&0.0));
        let cells = 400;
        let width = 16.0 * sigma / f64::from(cells);
        let at = |center: f64, i: i32| center + width * (f64::from(i) + 0.5) - 8.0 * sigma;
        let row =
            |j: i32| (0..cells).map(|i| value(at(params[1], i), at(params[2], j))).sum::<f64>();
        let volume = (0..cells).map(row).sum::<f64>() * width * width;
        close(name, "the volume", params[0], volume, 1e-10);
    }
}

#[test]
fn what_a_resonance_states() {
    for seed in 0..20 {
        let (_, params, _) = experiment("breit_wigner", seed);
        let (program, stated) = (program("breit_wigner"), derived("breit_wigner", &params));
        let value = |x: f64| program.evaluate(&[x], &params);
        assert!(value(stated["zero"]).abs() < 1e-20 * params[0].abs());
        let top = params[1] + params[2] / (2.0 * params[3]);
        close("breit_wigner", "the height", stated["height"], value(top), 1e-12);
        assert!(value(top * 1.0001).abs() <= value(top).abs());
    }
}
