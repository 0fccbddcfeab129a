//! Lesson 15: a decay convolved with the response of an instrument: light after a pulse of finite length.
//!
//! The measured signal is the decay convolved with the response of the instrument, which was measured before. The value
//! of a convolution at a point depends on other points, so the model is called for all channels at once. The first
//! argument is the number of channels.

use dualfit::{CurveFit, Data, Sigma};
use std::error::Error;

/// Width of a channel, in nanoseconds.
const WIDTH: f64 = 0.05;
/// Amplitudes and lifetimes of two dyes, background.
const TRUTH: [f64; 5] = [900.0, 0.9, 400.0, 3.5, 12.0];

/// Returns the response of the instrument to the pulse, one value per channel, with sum 1.
fn response() -> Vec<f64> {
    let seen = |t: f64| (-((t - 0.5) / 0.12).powi(2) / 2.0).exp() + 0.02 * (-t / 0.8).exp();
    let all: Vec<f64> = (0..80).map(|i| seen(WIDTH * f64::from(i))).collect();
    let total: f64 = all.iter().sum();
    all.into_iter().map(|part| part / total).collect()
}

/// Computes the decay at times `t`, convolved with this response.
fn through(response: &[f64], t: &[f64], p: &[f64], out: &mut [f64]) {
    let &[first, tau1, second, tau2, background] = p else { return };
    let decay: Vec<f64> =
        t.iter().map(|t| first * (-t / tau1).exp() + second * (-t / tau2).exp()).collect();
    out.fill(background);
    for (k, part) in response.iter().enumerate().take(t.len()) {
        out[k..].iter_mut().zip(&decay).for_each(|(out, decay)| *out += part * decay);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let channels = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(400);
    let response = response();
    let t: Vec<f64> = (0..channels).map(|i| WIDTH * f64::from(i)).collect();
    let mut y = vec![0.0; t.len()];
    through(&response, &t, &TRUTH, &mut y);
    // The standard deviation of a count is its square root.
    let sigma: Vec<f64> = y.iter().map(|y| y.sqrt()).collect();
    for (i, (y, sigma)) in y.iter_mut().zip(&sigma).enumerate() {
        *y += 1.4 * sigma * (37.0 * i as f64).sin();
    }

    let names = ["amplitude1", "lifetime1", "amplitude2", "lifetime2", "background"];
    let model = move |t: &[f64], p: &[f64], out: &mut [f64]| through(&response, t, p, out);
    let decay =
        CurveFit::native_arrays(5, model).names(names).bounds(names.map(|_| (0.0, f64::INFINITY)));
    let data = Data::new(&t, &y)?.sigma(Sigma::Absolute(&sigma))?;
    let fit = decay.fit(data, [500.0, 0.5, 500.0, 5.0, 0.0])?;
    println!("{fit}\n");

    println!("               truth     deviations from it");
    for ((name, truth), k) in names.into_iter().zip(TRUTH).zip(0..) {
        let deviations = (fit.params()[k] - truth) / fit.std_errors()[k];
        println!("{name:<12} {truth:>7.1} {deviations:>12.2}");
    }
    Ok(())
}
