//! Bright spots anywhere on images, without a start.

use crate::models::truths::{between, log_between};
use dualfit::{BatchData, CurveFit, Start, models};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};
use std::time::Instant;

const SIDE: usize = 64;
const IMAGES: usize = 990;

#[test]
fn spots_anywhere_on_images_are_found() {
    let pixel = |f: fn(usize) -> usize| (0..SIDE * SIDE).map(|i| f(i) as f64).collect::<Vec<f64>>();
    let (px, py) = (pixel(|i| i % SIDE), pixel(|i| i / SIDE));
    let (mut stack, mut truths, mut brightest) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..IMAGES as u64 {
        let mut rng = StdRng::seed_from_u64(seed);
        let sigma = log_between(&mut rng, 0.9, 6.0);
        let height = log_between(&mut rng, 8.0, 100.0);
        let (x, y) = (between(&mut rng, 3.0, 60.0), between(&mut rng, 3.0, 60.0));
        let offset = between(&mut rng, 0.0, 100.0);
        let first = stack.len();
        for i in 0..SIDE * SIDE {
            let r2 = (px[i] - x).powi(2) + (py[i] - y).powi(2);
            let normal: f64 = StandardNormal.sample(&mut rng);
            stack.push(offset + height * (-r2 / (2.0 * sigma * sigma)).exp() + normal);
        }
        let volume = |height: f64, sigma: f64| height * 2.0 * std::f64::consts::PI * sigma * sigma;
        truths.push([volume(height, sigma), x, y, sigma, offset]);
        let own = &stack[first..];
        let top = (0..own.len()).max_by(|&i, &j| own[i].total_cmp(&own[j])).unwrap();
        brightest.push([volume(own[top] - offset, 2.0), px[top], py[top], 2.0, offset]);
    }
    let data = BatchData::shared([&px, &py], &stack).unwrap();
    let model = models::gaussian2d("") + models::constant("");
    let spot = CurveFit::parse(&model.formula().unwrap(), ["x", "y"]).unwrap();
    let library = CurveFit::from(model);
    let best = library.fit_batch(&data, &truths).unwrap();
    let report = |name: &str, fits: dualfit::BatchFit, seconds: f64| -> usize {
        let lost: Vec<usize> = (0..IMAGES)
            .filter(|&i| {
                let (own, best) = (fits.fit(i), best.fit(i));
                !own.converged() || own.cost() > best.cost() * (1.0 + 1e-6)
            })
            .collect();
        println!("{name}: {} of {IMAGES} lost, {:.1} ms {lost:?}", lost.len(), 1e3 * seconds);
        lost.len()
    };
    let begun = Instant::now();
    let fits = library.fit_batch(&data, &brightest).unwrap();
    report("from the brightest pixel", fits, begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let fits = library.fit_batch(&data, Start::Guess).unwrap();
    let guessed = report("the library's model", fits, begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let fits = spot.fit_batch(&data, Start::Guess).unwrap();
    let searched = report("its formula", fits, begun.elapsed().as_secs_f64());
    assert!(guessed <= 2 && searched <= 2, "{guessed} and {searched} of {IMAGES} lost");
}
