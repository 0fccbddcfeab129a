//! Fraction of fits of sums of rates from their initial guess that end where fits from the truth end.

use crate::models::truths::{between, log_between, measured, spread};
use dualfit::program::Program;
use dualfit::{CurveFit, Data, models};
use rand::SeedableRng;
use rand::rngs::StdRng;

type Draw = fn(&mut StdRng) -> (Vec<f64>, Vec<f64>);

fn two(rng: &mut StdRng) -> (Vec<f64>, Vec<f64>) {
    let (slow, amplitude) = (between(rng, 3.0, 10.0), log_between(rng, 1.0, 100.0));
    let (fast, share) = (slow / between(rng, 8.0, 20.0), between(rng, 0.5, 2.0));
    (spread(rng, 0.0, 20.0), vec![share * amplitude, fast, amplitude, slow])
}

/// Of each its area over its width and the height of the background, its place among 0 to 20, and its width.
fn two_peaks(rng: &mut StdRng) -> [[f64; 3]; 2] {
    let mut peak =
        |low, high| [between(rng, 2.0, 4.0), between(rng, low, high), between(rng, 0.6, 1.2)];
    [peak(5.0, 8.5), peak(12.0, 15.0)]
}

const SUMS: [(&str, Draw); 8] = [
    ("exponential + constant", |rng| {
        let height = log_between(rng, 0.1, 100.0);
        let offset = height * between(rng, -5.0, 5.0);
        (spread(rng, 0.0, 10.0), vec![height, log_between(rng, 0.3, 5.0), offset])
    }),
    ("exponential + linear", |rng| {
        let (height, share) = (log_between(rng, 0.1, 100.0), between(rng, -5.0, 5.0));
        let params = vec![height, log_between(rng, 0.3, 2.0), 0.05 * height, share * height];
        (spread(rng, 0.0, 10.0), params)
    }),
    ("exponential(a_) + exponential(b_)", two),
    ("biexponential + constant", |rng| {
        let (x, mut params) = two(rng);
        params.push(params[2] * between(rng, -1.0, 1.0));
        (x, params)
    }),
    ("logistic_growth + constant", |rng| {
        let (rate, middle) = (log_between(rng, 0.8, 5.0), between(rng, 3.0, 7.0));
        let params = vec![log_between(rng, 0.1, 100.0), rate, middle, between(rng, -3.0, 3.0)];
        (spread(rng, 0.0, 10.0), params)
    }),
    ("gaussian(a_) + gaussian(b_) + exponential", |rng| {
        let (peaks, height) = (two_peaks(rng), log_between(rng, 0.1, 100.0));
        let background = [between(rng, 0.5, 2.0) * height, log_between(rng, 3.0, 20.0)];
        let peaks = peaks.map(|[share, center, sigma]| [share * height * sigma, center, sigma]);
        (spread(rng, 0.0, 20.0), [&peaks[0][..], &peaks[1], &background].concat())
    }),
    ("gaussian(a_) + gaussian(b_) + power_law", |rng| {
        let (peaks, height) = (two_peaks(rng), log_between(rng, 0.1, 100.0));
        let background = [between(rng, 0.5, 2.0) * height, -between(rng, 0.3, 1.5)];
        let peaks = peaks.map(|[share, center, sigma]| [share * height * sigma, center, sigma]);
        (spread(rng, 0.5, 20.0), [&peaks[0][..], &peaks[1], &background].concat())
    }),
    ("diode + constant", |rng| {
        let (nvt, i0) = (between(rng, 0.025, 0.06), log_between(rng, 1e-15, 1e-8));
        let top = nvt * (log_between(rng, 1e-4, 1e-1) / i0).ln();
        (spread(rng, -0.2, top), vec![i0, nvt, 1e-3])
    }),
];

fn leads(curve: &CurveFit, program: &Program, draw: Draw, seed: u64) -> bool {
    let mut rng = StdRng::seed_from_u64(1000 + seed);
    let (x, truth) = draw(&mut rng);
    let columns = [x];
    let y = measured(program, &columns, &truth, (0.02, 0.03), &mut rng);
    let data = || Data::new(&columns[0], &y).unwrap();
    let best = curve.fit(data(), &truth).unwrap();
    let fit = curve.fit(data(), dualfit::Start::Guess).unwrap();
    fit.converged() && fit.cost() <= best.cost() * (1.0 + 1e-6)
}

#[test]
fn starts_of_sums_lead_where_the_truth_leads() {
    for (text, draw) in SUMS {
        let curve = CurveFit::from(models::parse(text).unwrap());
        let program = curve.program().unwrap();
        let good = (0..100).filter(|&seed| leads(&curve, &program, draw, seed)).count();
        println!("{text:36} {good:3} of 100");
        assert!(good >= 95, "{text}: {good} of 100");
    }
}
