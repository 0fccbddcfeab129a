//! Spots to be fitted, with Poisson noise, and what theory says of them, from partials written by hand.

use nalgebra_0_34::{Matrix5, Vector5};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};

const SIDE: usize = 15;
pub(crate) const PIXELS: usize = SIDE * SIDE;
pub(crate) const FITS: usize = 10_000;
pub(crate) const NAMES: [&str; 5] = ["amplitude", "x", "y", "width", "background"];

pub(crate) fn pixel(i: usize) -> [f64; 2] {
    [(i % SIDE) as f64, (i / SIDE) as f64]
}

/// A spot's photons in a pixel, and their slopes by the parameters.
pub(crate) fn partials([x, y]: [f64; 2], &[a, x0, y0, s, b]: &[f64; 5]) -> (f64, [f64; 5]) {
    let (dx, dy) = (x - x0, y - y0);
    let square = dx * dx + dy * dy;
    let e = (-square / (2.0 * s * s)).exp();
    let u = a * e / (s * s);
    (a * e + b, [e, u * dx, u * dy, u * square / s, 1.0])
}

fn counts(random: &mut StdRng, p: &[f64; 5], stack: &mut Vec<u16>) {
    for i in 0..PIXELS {
        let expected = partials(pixel(i), p).0;
        stack.push(Poisson::new(expected).unwrap().sample(random) as u16);
    }
}

/// The same spot again and again.
pub(crate) fn repeats(truth: [f64; 5]) -> Vec<u16> {
    let (mut random, mut stack) = (StdRng::seed_from_u64(7), Vec::new());
    (0..FITS).for_each(|_| counts(&mut random, &truth, &mut stack));
    stack
}

/// Spots of all kinds, and starts that are some way off each.
pub(crate) fn various() -> (Vec<u16>, Vec<[f64; 5]>) {
    let (mut random, mut stack, mut starts) = (StdRng::seed_from_u64(11), Vec::new(), Vec::new());
    for _ in 0..FITS {
        let mut between = |low: f64, high: f64| random.random_range(low..high);
        let (a, s, b) = (between(30.0, 500.0), between(1.2, 2.5), between(3.0, 15.0));
        let truth = [a, between(6.0, 8.0), between(6.0, 8.0), s, b];
        starts.push([
            a * between(0.7, 1.4),
            truth[1] + between(-0.7, 0.7),
            truth[2] + between(-0.7, 0.7),
            s * between(0.8, 1.25),
            b * between(0.7, 1.4),
        ]);
        counts(&mut random, &truth, &mut stack);
    }
    (stack, starts)
}

/// Σ ∂f ∂fᵀ/f, and Σ (y/f − 1)·∂f.
pub(crate) fn information(p: &[f64; 5], y: &[f64]) -> (Matrix5<f64>, Vector5<f64>) {
    let (mut matrix, mut score) = (Matrix5::zeros(), Vector5::zeros());
    for (i, y) in y.iter().enumerate() {
        let (f, slopes) = partials(pixel(i), p);
        let slopes = Vector5::from(slopes);
        matrix += slopes * slopes.transpose() / f;
        score += slopes * (y / f - 1.0);
    }
    (matrix, score)
}

/// The least standard errors that unbiased estimates can have.
pub(crate) fn cramer_rao(truth: &[f64; 5]) -> [f64; 5] {
    let (matrix, _) = information(truth, &[0.0; PIXELS]);
    let inverse = matrix.try_inverse().expect("information on all parameters");
    std::array::from_fn(|j| inverse[(j, j)].sqrt())
}

/// The bias of the likelihood's maximum to the order of 1/counts, from the curvature of the model:
/// −½ I⁻¹ Σ (∂f/f)·tr(I⁻¹ ∂²f). This is Cox and Snell's expansion (1968) for a variance equal to the
/// expectation; Box (1971) has the form for least squares.
pub(crate) fn curvature_bias(truth: &[f64; 5]) -> [f64; 5] {
    let (matrix, _) = information(truth, &[0.0; PIXELS]);
    let inverse = matrix.try_inverse().expect("information on all parameters");
    let mut sum = Vector5::zeros();
    for i in 0..PIXELS {
        let slopes = |j: usize, h: f64| {
            let mut p = *truth;
            p[j] += h;
            Vector5::from(partials(pixel(i), &p).1)
        };
        let curvature: Vec<_> =
            (0..5).map(|j| (slopes(j, 1e-5) - slopes(j, -1e-5)) / 2e-5).collect();
        let trace = (inverse * Matrix5::from_columns(&curvature)).trace();
        let (f, slopes) = partials(pixel(i), truth);
        sum += Vector5::from(slopes) * (trace / f);
    }
    (inverse * sum * -0.5).into()
}
