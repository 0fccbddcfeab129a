//! A spot of few photons, drawn and fitted many times: the mean of the parameters, their scatter, and
//! the error bars.

use super::{counts, draw};
use dualfit::{CurveFit, Data, Sigma};
use nalgebra_0_34::{Matrix5, Vector5};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::f64::consts::PI;

const SIDE: usize = 15;
const FITS: usize = 1500;
/// Photons of the spot, its centre and width, photons of the background per pixel: 5 per pixel in all.
const TRUTH: [f64; 5] = [450.0, 7.2, 6.9, 2.0, 3.0];
const START: [f64; 5] = [400.0, 7.0, 7.0, 2.3, 2.0];

fn spot() -> CurveFit {
    CurveFit::multivariate(|[x, y], [n, x0, y0, s, b]| {
        let r2 = (x - x0).powi(2) + (y - y0).powi(2);
        n / (2.0 * PI * s.powi(2)) * (-r2 / (2.0 * s.powi(2))).exp() + b
    })
}

fn pixels() -> [Vec<f64>; 2] {
    let at = |f: fn(usize) -> usize| (0..SIDE * SIDE).map(|i| f(i) as f64).collect();
    [at(|i| i % SIDE), at(|i| i / SIDE)]
}

/// The mean and the standard deviation of each parameter, and the mean of its reported errors.
struct Scatter {
    mean: Vector5<f64>,
    deviation: Vector5<f64>,
    error: Vector5<f64>,
}

/// Of fits to the same draws, by `model` with the sigma that `sigma` makes of counts.
fn scatter(what: &str, model: &CurveFit, sigma: Option<fn(f64) -> f64>) -> Scatter {
    let [x, y] = pixels();
    let program = spot().program().unwrap();
    let rate: Vec<f64> =
        x.iter().zip(&y).map(|(x, y)| program.evaluate(&[*x, *y], &TRUTH)).collect();
    let mut random = StdRng::seed_from_u64(11);
    let (mut sum, mut square, mut error) = (Vector5::zeros(), Vector5::zeros(), Vector5::zeros());
    for _ in 0..FITS {
        let z: Vec<f64> = rate.iter().map(|&rate| draw(&mut random, rate)).collect();
        let sigma: Option<Vec<f64>> = sigma.map(|sigma| z.iter().map(|&z| sigma(z)).collect());
        let mut data = Data::new([&x, &y], &z).unwrap();
        if let Some(sigma) = &sigma {
            data = data.sigma(Sigma::Absolute(sigma)).unwrap();
        }
        let fit = model.fit(data, START).unwrap();
        assert!(fit.converged(), "{what}: {}", fit.termination());
        let off = Vector5::from_column_slice(fit.params()) - Vector5::from(TRUTH);
        sum += off;
        square += off.component_mul(&off);
        error += Vector5::from_column_slice(&fit.std_errors());
    }
    let n = FITS as f64;
    let off = sum / n;
    let deviation = (square / n - off.component_mul(&off)).map(f64::sqrt);
    let s = Scatter { mean: off + Vector5::from(TRUTH), deviation, error: error / n };
    println!("{what}: mean {:.4?}", s.mean.as_slice());
    println!("  deviation {:.4?}, errors {:.4?}", s.deviation.as_slice(), s.error.as_slice());
    s
}

/// The square roots of the diagonal of the inverse Fisher information, by differences of the model.
fn cramer_rao() -> Vector5<f64> {
    let [x, y] = pixels();
    let program = spot().program().unwrap();
    let mut information = Matrix5::zeros();
    for (&x, &y) in x.iter().zip(&y) {
        let at = [x, y];
        let partials = Vector5::from_fn(|j, _| {
            let (mut up, mut down) = (TRUTH, TRUTH);
            let h = 1e-5 * TRUTH[j];
            up[j] += h;
            down[j] -= h;
            (program.evaluate(&at, &up) - program.evaluate(&at, &down)) / (2.0 * h)
        });
        information += partials * partials.transpose() / program.evaluate(&at, &TRUTH);
    }
    information.try_inverse().unwrap().diagonal().map(f64::sqrt)
}

#[test]
fn likelihood_is_unbiased_with_the_error_bars_of_the_bound() {
    let s = scatter("Poisson", &counts(spot()), None);
    let bound = cramer_rao();
    println!("  Cramér-Rao {:.4?}", bound.as_slice());
    for j in 0..5 {
        let off = (s.mean[j] - TRUTH[j]).abs();
        // Four standard errors of the mean, and the bias of a nonlinear estimate, of second order.
        assert!(off <= (4.0 / (FITS as f64).sqrt() + 0.02) * bound[j], "bias of {j}: {off}");
        // Four standard errors of a standard deviation are 7 %.
        assert!((s.error[j] / s.deviation[j] - 1.0).abs() < 0.07, "error bar of {j}");
        assert!((s.deviation[j] / bound[j] - 1.0).abs() < 0.08, "scatter of {j}");
    }
}

#[test]
fn weights_from_the_counts_lose_photons_that_likelihood_keeps() {
    let weighted = scatter("weights 1/max(y, 1)", &spot(), Some(|z| z.max(1.0).sqrt()));
    let plain = scatter("no weights", &spot(), None);
    let bound = cramer_rao();
    // The background is low by many standard errors of the mean.
    let off = TRUTH[4] - weighted.mean[4];
    assert!(off > 0.3 && off > 2.0 * bound[4], "{off}");
    // Without weights precision is lost, and error bars that take all pixels alike are wrong.
    assert!(plain.error[1] < 0.8 * plain.deviation[1], "{}", plain.error[1]);
    assert!(plain.deviation[0] > 1.05 * bound[0], "{}", plain.deviation[0] / bound[0]);
}
