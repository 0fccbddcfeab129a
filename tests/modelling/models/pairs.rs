//! Sums of two and three of the library's models at random positions, with the guesses of the models and as formulas without.

use crate::models::anonymous::is_warned;
use crate::models::truths::{between, log_between, sign};
use dualfit::{BatchData, CurveFit, Data, Start, models};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::PI;

/// A model, and draws of its parameters for data from 0 to 10. Peaks have areas here whose heights are of order one.
type Term = (&'static str, fn(&mut StdRng) -> Vec<f64>);

fn height(rng: &mut StdRng) -> f64 {
    log_between(rng, 0.5, 5.0)
}

fn peak(rng: &mut StdRng) -> [f64; 3] {
    let width = log_between(rng, 0.2, 1.2);
    [height(rng) * width * 2.5, between(rng, 1.0, 9.0), width]
}

const TERMS: [Term; 13] = [
    ("gaussian", |rng| peak(rng).to_vec()),
    ("lorentzian", |rng| peak(rng).to_vec()),
    ("pseudo_voigt", |rng| [&peak(rng)[..], &[between(rng, 0.2, 0.8)]].concat()),
    ("lognormal", |rng| {
        vec![5.0 * height(rng), between(rng, 0.7, 6.0).ln(), between(rng, 0.2, 0.7)]
    }),
    ("skewed_gaussian", |rng| [&peak(rng)[..], &[sign(rng) * between(rng, 1.0, 5.0)]].concat()),
    ("split_lorentzian", |rng| {
        let [area, center, sigma] = peak(rng);
        vec![area, center, sigma, sigma * log_between(rng, 0.4, 2.5)]
    }),
    ("exponential", |rng| vec![height(rng), log_between(rng, 0.5, 8.0)]),
    ("sine", |rng| vec![height(rng), 2.0 * PI * between(rng, 0.1, 1.5), between(rng, -PI, PI)]),
    ("damped_sine", |rng| {
        let frequency = 2.0 * PI * between(rng, 0.2, 1.5);
        vec![height(rng), frequency, between(rng, -PI, PI), log_between(rng, 2.0, 8.0)]
    }),
    ("step_erf", step),
    ("step_logistic", step),
    ("step_atan", step),
    ("power_law", |rng| vec![height(rng), between(rng, 0.3, 2.0)]),
];

fn step(rng: &mut StdRng) -> Vec<f64> {
    vec![height(rng), between(rng, 1.5, 8.5), log_between(rng, 0.1, 0.8)]
}

/// Sums with the guesses that come with the library's models, or their formulas alone.
#[derive(Clone, Copy)]
enum From {
    Library,
    Formula,
}

/// Results of fits of sums of terms and a constant, at random positions.
#[derive(Debug, Default)]
struct Count {
    total: usize,
    wrong: usize,
    silent: usize,
}

impl Count {
    fn add(&mut self, from: From, terms: &[&Term], seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        let letters = ["a_", "b_", "c_"];
        let text: Vec<String> = terms
            .iter()
            .zip(letters)
            .map(|((name, _), letter)| format!("{name}({letter})"))
            .collect();
        let sum = models::parse(&format!("{} + constant", text.join(" + "))).unwrap();
        let library = CurveFit::from(sum.clone());
        let mut truth: Vec<f64> = terms.iter().flat_map(|(_, draw)| draw(&mut rng)).collect();
        truth.push(between(&mut rng, -2.0, 2.0));
        let curve = match from {
            From::Library => library,
            From::Formula => {
                let curve = CurveFit::parse(&sum.formula().unwrap(), ["x"]).unwrap();
                // A formula has its parameters in the order in which they occur.
                let place = |name| library.parameters().iter().position(|own| own == name).unwrap();
                truth = curve.parameters().iter().map(|name| truth[place(name)]).collect();
                curve
            }
        };
        let x: Vec<f64> = (0..200).map(|i| 10.0 * (f64::from(i) + 0.5) / 200.0).collect();
        let program = curve.program().unwrap();
        let clean: Vec<f64> = x.iter().map(|x| program.evaluate(&[*x], &truth)).collect();
        let mean = clean.iter().sum::<f64>() / 200.0;
        let scatter = (clean.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 200.0).sqrt();
        let noise = [0.01, 0.05][rng.random_range(0..2)] * scatter;
        let mut noisy = |y: &f64| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            y + noise * normal
        };
        let y: Vec<f64> = clean.iter().map(&mut noisy).collect();
        let data = || Data::new(&x, &y).unwrap();
        let best = curve.fit(data(), &truth).unwrap();
        let found = curve.fit(data(), Start::Guess).unwrap();
        self.total += 1;
        if found.cost() > best.cost() * (1.0 + 1e-4) {
            self.wrong += 1;
            self.silent += usize::from(!is_warned(&found));
            println!(
                "    {} {seed}: cost {} of the best, {}, truth {truth:.3?}, found {:.3?} {:?} {:?}",
                text.join(" + "),
                found.cost() / best.cost(),
                if is_warned(&found) { "warned" } else { "SILENT" },
                found.params(),
                found.termination(),
                found.start_search(),
            );
        }
    }

    /// `most`: the parts of the fits that may be wrong, and wrong without a warning.
    fn judge(&self, what: &str, most: [f64; 2]) {
        let Count { total, wrong, silent } = self;
        assert!(
            *total > 0 && *wrong as f64 <= most[0] * *total as f64,
            "{what}: {wrong} of {total}"
        );
        assert!(*silent as f64 <= most[1] * *total as f64, "{what}: {silent} without a warning");
    }
}

/// All sums of two with each of these seeds.
fn pairs(from: From, seeds: impl Iterator<Item = u64> + Clone) -> Count {
    let mut count = Count::default();
    for (i, first) in TERMS.iter().enumerate() {
        for second in &TERMS[i..] {
            seeds.clone().for_each(|seed| count.add(from, &[first, second], seed));
        }
    }
    println!("pairs: {count:?}");
    count
}

/// Three Gaussians, and three of all models drawn at random.
fn triples(from: From, step: usize) -> [Count; 2] {
    let mut gaussians = Count::default();
    let gaussian = &TERMS[0];
    for seed in (0..60).step_by(step) {
        gaussians.add(from, &[gaussian, gaussian, gaussian], seed);
    }
    let mut any = Count::default();
    for seed in (100..300).step_by(2 * step) {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut draw = || &TERMS[rng.random_range(0..TERMS.len())];
        any.add(from, &[draw(), draw(), draw()], seed);
    }
    println!("three Gaussians: {gaussians:?}, three models: {any:?}");
    [gaussians, any]
}

#[test]
fn sums_of_two_models_are_fitted_without_a_start() {
    pairs(From::Formula, (0..20).step_by(4)).judge("pairs as formulas", [0.005, 0.0]);
    pairs(From::Library, (2..20).step_by(4)).judge("pairs", [0.005, 0.0]);
}

#[test]
fn sums_of_three_models_are_fitted_without_a_start() {
    for from in [From::Formula, From::Library] {
        let [gaussians, any] = triples(from, 4);
        gaussians.judge("three Gaussians", [0.02, 0.0]);
        any.judge("three models", [0.1, 0.0]);
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_sums_are_fitted_without_a_start() {
    let counts = [From::Library, From::Formula].map(|from| (pairs(from, 0..20), triples(from, 1)));
    for (pairs, [gaussians, any]) in counts {
        pairs.judge("pairs", [0.005, 0.0]);
        gaussians.judge("three Gaussians", [0.005, 0.0]);
        any.judge("three models", [0.03, 0.0]);
    }
}

/// Two peaks whose guess takes them for one, with noise of their own in each fit; one response after the other.
fn two_peaks(fits: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    let curve = CurveFit::from(models::parse("gaussian(a_) + gaussian(b_)").unwrap());
    let program = curve.program().unwrap();
    let mut rng = StdRng::seed_from_u64(5);
    let stack = (0..fits).flat_map(|_| {
        let truth = [2.0, 1.25, 0.6, between(&mut rng, 1.0, 2.0), 8.75, 0.6];
        let noisy = x.iter().map(|x| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            program.evaluate(&[*x], &truth) + 0.01 * normal
        });
        noisy.collect::<Vec<_>>()
    });
    let stack = stack.collect();
    (x, stack)
}

/// A batch of few fits finds the start of each as a single fit does; one of many starts from a few results.
#[test]
fn sums_in_a_batch_are_fitted_as_alone() {
    let curve = CurveFit::from(models::parse("gaussian(a_) + gaussian(b_) + constant").unwrap());
    for fits in [1, 5, 24, 60] {
        let (x, stack) = two_peaks(fits);
        let batch = BatchData::shared(&x, &stack).unwrap();
        let batch = curve.fit_batch(batch, Start::Guess).unwrap();
        for (fit, y) in batch.iter().zip(stack.chunks(x.len())) {
            let alone = curve.fit(Data::new(&x, y).unwrap(), Start::Guess).unwrap();
            let what = format!("{fits}: {:?} {} {}", fit.params(), fit.cost(), alone.cost());
            assert!(fit.converged() && fit.cost() < alone.cost() * (1.0 + 1e-6), "{what}");
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4 * b.abs().max(1.0);
            assert!(
                fit.params().iter().zip(alone.params()).all(near),
                "{what} {:?}",
                alone.params()
            );
        }
    }
}
