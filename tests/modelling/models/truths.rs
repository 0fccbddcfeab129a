//! Simulated data: one entry per model.

use dualfit::models;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Columns of independent variables, and parameters in the order of the model.
pub(crate) type Experiment = (Vec<Vec<f64>>, Vec<f64>);

/// A model and how a plausible experiment with it is drawn.
pub(crate) struct Truth {
    pub(crate) name: &'static str,
    /// Draws one.
    pub(crate) draw: fn(&mut StdRng) -> Experiment,
}

pub(crate) fn between(rng: &mut StdRng, low: f64, high: f64) -> f64 {
    rng.random_range(low..high)
}

/// Equal chances for equal ratios.
pub(crate) fn log_between(rng: &mut StdRng, low: f64, high: f64) -> f64 {
    between(rng, low.ln(), high.ln()).exp()
}

pub(crate) fn sign(rng: &mut StdRng) -> f64 {
    if rng.random_range(0..2) == 0 { -1.0 } else { 1.0 }
}

/// 60 to 200 points between two values, in no order: half the time in equal steps, else at random.
pub(crate) fn spread(rng: &mut StdRng, low: f64, high: f64) -> Vec<f64> {
    let n = rng.random_range(60..=200);
    let even = rng.random_range(0..2) == 0;
    let mut x: Vec<f64> = (0..n)
        .map(|i| if even { f64::from(i) / f64::from(n - 1) } else { rng.random_range(0.0..1.0) })
        .map(|u| low + (high - low) * u)
        .collect();
    for i in (1..x.len()).rev() {
        x.swap(i, rng.random_range(0..=i));
    }
    x
}

/// A size of either sign over three decades.
fn size(rng: &mut StdRng) -> f64 {
    sign(rng) * log_between(rng, 0.1, 100.0)
}

/// x around a peak within a range of a random place and scale; its center and width.
fn peak(rng: &mut StdRng, narrowest: f64, widest: f64) -> (Vec<f64>, f64, f64) {
    let (middle, scale) = (between(rng, -50.0, 50.0), log_between(rng, 0.01, 100.0));
    let x = spread(rng, middle - scale, middle + scale);
    let center = middle + scale * between(rng, -0.5, 0.5);
    (x, center, scale * between(rng, narrowest, widest))
}

/// Points over the plane: a grid or at random, at least 8 × 8 and at most 14 × 14.
fn plane(rng: &mut StdRng) -> (Vec<Vec<f64>>, f64, f64) {
    let (side, even) = (rng.random_range(8..=14), rng.random_range(0..2) == 0);
    let (scale_x, scale_y) = (log_between(rng, 0.1, 100.0), log_between(rng, 0.1, 100.0));
    let mut columns = vec![Vec::new(), Vec::new()];
    for i in 0..side * side {
        let grid = |k: i32| 2.0 * f64::from(k) / f64::from(side - 1) - 1.0;
        let x = if even { grid(i % side) } else { between(rng, -1.0, 1.0) };
        let y = if even { grid(i / side) } else { between(rng, -1.0, 1.0) };
        columns[0].push(x * scale_x);
        columns[1].push(y * scale_y);
    }
    (columns, scale_x, scale_y)
}

fn rectangle(rng: &mut StdRng) -> Experiment {
    let scale = log_between(rng, 0.1, 100.0);
    let (first, last) = (between(rng, 0.15, 0.35) * scale, between(rng, 0.6, 0.85) * scale);
    let mut slope = || between(rng, 0.04, 0.12) * scale;
    let slopes = [slope(), slope()];
    (vec![spread(rng, 0.0, scale)], vec![size(rng), first, slopes[0], last, slopes[1]])
}

fn step(rng: &mut StdRng) -> Experiment {
    let (x, center, width) = peak(rng, 0.05, 0.3);
    (vec![x], vec![size(rng), center, width])
}

/// The models whose truths are in this file.
pub(crate) static HERE: &[Truth] = &[
    Truth { name: "constant", draw: |rng| (vec![spread(rng, 0.0, 10.0)], vec![size(rng)]) },
    Truth {
        name: "linear",
        draw: |rng| (vec![spread(rng, -5.0, 10.0)], vec![size(rng), size(rng)]),
    },
    Truth {
        name: "quadratic",
        draw: |rng| (vec![spread(rng, -5.0, 10.0)], vec![size(rng), size(rng), size(rng)]),
    },
    Truth {
        name: "gaussian",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.4);
            (vec![x], vec![size(rng), center, sigma])
        },
    },
    Truth {
        name: "lorentzian",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.4);
            (vec![x], vec![size(rng), center, sigma])
        },
    },
    Truth {
        name: "voigt",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.2);
            (vec![x], vec![size(rng), center, sigma, sigma * log_between(rng, 0.2, 3.0)])
        },
    },
    Truth {
        name: "pseudo_voigt",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.3);
            (vec![x], vec![size(rng), center, sigma, between(rng, 0.1, 0.9)])
        },
    },
    Truth {
        name: "pearson7",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.1, 0.3);
            (vec![x], vec![size(rng), center, sigma, between(rng, 0.8, 4.0)])
        },
    },
    Truth {
        name: "moffat",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.1, 0.3);
            (vec![x], vec![size(rng), center, sigma, between(rng, 0.8, 4.0)])
        },
    },
    Truth {
        name: "students_t",
        draw: |rng| {
            let center = between(rng, -3.0, 3.0);
            let x = spread(rng, -10.0, 10.0);
            (vec![x], vec![size(rng), center, log_between(rng, 0.5, 10.0)])
        },
    },
    Truth {
        name: "exponential_gaussian",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.15);
            let center = center - sigma;
            (vec![x], vec![size(rng), center, sigma, 1.0 / (sigma * between(rng, 0.7, 3.0))])
        },
    },
    Truth {
        name: "skewed_gaussian",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.1, 0.3);
            (vec![x], vec![size(rng), center, sigma, sign(rng) * between(rng, 1.0, 6.0)])
        },
    },
    Truth {
        name: "skewed_voigt",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.1, 0.2);
            let (gamma, skew) =
                (sigma * between(rng, 0.3, 1.5), sign(rng) * between(rng, 1.0, 4.0));
            (vec![x], vec![size(rng), center, sigma, gamma, skew])
        },
    },
    Truth {
        name: "pearson4",
        draw: |rng| {
            let (x, center, half) = peak(rng, 0.07, 0.15);
            let (expon, tilt) = (between(rng, 1.0, 3.0), sign(rng) * between(rng, 0.2, 1.0));
            let sigma = half / ((2_f64.powf(1.0 / expon) - 1.0) * (1.0 + tilt * tilt)).sqrt();
            (vec![x], vec![size(rng), center, sigma, expon, 2.0 * expon * tilt])
        },
    },
    Truth {
        name: "lognormal",
        draw: |rng| {
            let scale = log_between(rng, 0.1, 1000.0);
            let center = scale.ln() + between(rng, -0.5, 0.5);
            (vec![spread(rng, 0.0, 4.0 * scale)], vec![size(rng), center, between(rng, 0.1, 0.8)])
        },
    },
    Truth {
        name: "split_lorentzian",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.2);
            (vec![x], vec![size(rng), center, sigma, sigma * log_between(rng, 0.3, 3.0)])
        },
    },
    Truth {
        name: "doniach",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.05, 0.2);
            (vec![x], vec![size(rng), center, sigma, between(rng, 0.05, 0.5)])
        },
    },
    Truth {
        name: "breit_wigner",
        draw: |rng| {
            let (x, center, sigma) = peak(rng, 0.1, 0.4);
            (vec![x], vec![size(rng), center, sigma, sign(rng) * between(rng, 0.3, 4.0)])
        },
    },
    Truth {
        name: "damped_oscillator",
        draw: |rng| {
            let center = log_between(rng, 0.1, 1000.0);
            let high = between(rng, 1.4, 2.5) * center;
            let x = spread(rng, 0.2 * center, high);
            (vec![x], vec![size(rng), center, log_between(rng, 0.03, 0.4)])
        },
    },
    Truth {
        name: "damped_harmonic_oscillator",
        draw: |rng| {
            let center = log_between(rng, 0.1, 1000.0);
            let x = spread(rng, -2.0 * center, 2.0 * center);
            let (sigma, gamma) = (between(rng, 0.08, 0.4), between(rng, 0.7, 4.0));
            (vec![x], vec![size(rng), center, sigma * center, gamma * center])
        },
    },
    Truth {
        name: "sine",
        draw: |rng| {
            let scale = log_between(rng, 0.01, 100.0);
            let start = scale * between(rng, -2.0, 2.0);
            let frequency = 2.0 * std::f64::consts::PI * between(rng, 0.7, 12.0) / scale;
            let x = spread(rng, start, start + scale);
            (vec![x], vec![size(rng), frequency, between(rng, -3.0, 3.0)])
        },
    },
    Truth {
        name: "damped_sine",
        draw: |rng| {
            let scale = log_between(rng, 0.01, 100.0);
            let frequency = 2.0 * std::f64::consts::PI * between(rng, 2.0, 12.0) / scale;
            let decay = scale * between(rng, 0.2, 1.0);
            let x = spread(rng, 0.0, scale);
            (vec![x], vec![size(rng), frequency, between(rng, -3.0, 3.0), decay])
        },
    },
    Truth { name: "step_linear", draw: step },
    Truth { name: "step_erf", draw: step },
    Truth { name: "step_logistic", draw: step },
    Truth { name: "step_atan", draw: step },
    Truth { name: "rectangle_linear", draw: rectangle },
    Truth { name: "rectangle_erf", draw: rectangle },
    Truth { name: "rectangle_logistic", draw: rectangle },
    Truth { name: "rectangle_atan", draw: rectangle },
    Truth {
        name: "gaussian2d",
        draw: |rng| {
            let (mut columns, scale, scale_y) = plane(rng);
            // A round spot needs one scale for both axes.
            columns[1].iter_mut().for_each(|y| *y *= scale / scale_y);
            let (x, y) = (between(rng, -0.5, 0.5) * scale, between(rng, -0.5, 0.5) * scale);
            (columns, vec![size(rng), x, y, between(rng, 0.2, 0.5) * scale])
        },
    },
    Truth {
        name: "gaussian2d_elliptic",
        draw: |rng| {
            let (columns, scale_x, scale_y) = plane(rng);
            let (x, y) = (between(rng, -0.5, 0.5) * scale_x, between(rng, -0.5, 0.5) * scale_y);
            let (along, across) =
                (between(rng, 0.2, 0.5) * scale_x, between(rng, 0.2, 0.5) * scale_y);
            (columns, vec![size(rng), x, y, along, across])
        },
    },
    Truth {
        name: "gaussian2d_rotated",
        draw: |rng| {
            let (mut columns, scale, scale_y) = plane(rng);
            columns[1].iter_mut().for_each(|y| *y *= scale / scale_y);
            let (x, y) = (between(rng, -0.4, 0.4) * scale, between(rng, -0.4, 0.4) * scale);
            let (along, across) = (between(rng, 0.4, 0.6) * scale, between(rng, 0.2, 0.3) * scale);
            (columns, vec![size(rng), x, y, along, across, between(rng, -1.5, 1.5)])
        },
    },
];

/// The truths of all files.
fn all() -> impl Iterator<Item = &'static Truth> {
    HERE.iter().chain(crate::models::rates::HERE)
}

/// The truth of a model; every name needs one.
pub(crate) fn of(name: &str) -> &'static Truth {
    let found = all().find(|truth| truth.name == name);
    found.unwrap_or_else(|| panic!("`{name}` has no entry in tests/models/truths.rs"))
}

/// Experiment number `seed` with a model: x, the parameters, and the generator for the noise.
pub(crate) fn experiment(name: &str, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>, StdRng) {
    let mut rng = StdRng::seed_from_u64(1000 + seed);
    let (columns, params) = (of(name).draw)(&mut rng);
    (columns, params, rng)
}

/// The values of a model with normal errors, whose standard deviation is a part between `low` and `high` of the range of the
/// values.
pub(crate) fn measured(
    program: &dualfit::program::Program,
    columns: &[Vec<f64>],
    truth: &[f64],
    (low, high): (f64, f64),
    rng: &mut StdRng,
) -> Vec<f64> {
    let at = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
    let clean: Vec<f64> = (0..columns[0].len()).map(|i| program.evaluate(&at(i), truth)).collect();
    let least = clean.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = clean.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = if largest > least { largest - least } else { largest.abs() };
    let sigma = between(rng, low, high) * range;
    let noisy = |y: &f64| {
        let normal: f64 = StandardNormal.sample(rng);
        y + sigma * normal
    };
    clean.iter().map(noisy).collect()
}

/// The program of a model by name.
pub(crate) fn program(name: &str) -> dualfit::program::Program {
    models::by_name(name).unwrap().curve().unwrap().program().unwrap()
}

#[test]
fn every_model_has_a_truth_and_every_truth_a_model() {
    for name in models::names() {
        let model = models::by_name(name).unwrap();
        let (columns, params, _) = experiment(name, 0);
        assert_eq!(columns.len(), model.variables().len(), "{name}");
        assert_eq!(params.len(), model.parameters().len(), "{name}");
    }
    for truth in all() {
        assert!(models::names().contains(&truth.name), "{}", truth.name);
    }
}
