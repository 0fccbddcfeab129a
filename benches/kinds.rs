//! Fits and batches of every kind of data, compared with plain data: weights, a mask, single precision, integers, robust
//! losses and counts. Each benchmark is a whole fit of a decay to 10⁶ points, or a batch of 10,000 spots of 15 × 15
//! pixels; all minimise the same curve. `evaluations` is printed for each fit, since losses need more of them.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dualfit::{BatchData, CurveFit, Data, Estimator, Loss, Sigma, Var};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::hint::black_box;

const POINTS: usize = 1_000_000;
const START: [f64; 3] = [80.0, 1.0, 5.0];
const FITS: usize = 10_000;
const SIDE: usize = 15;
const SPOT: [f64; 5] = [400.0, 7.0, 7.0, 1.5, 15.0];

/// Returns a deviate with mean 0 and standard deviation ½: the sum of three uniform deviates.
fn noise(rng: &mut StdRng) -> f64 {
    (0..3).map(|_| rng.random::<f64>()).sum::<f64>() - 1.5
}

/// Returns the robust losses with this scale; arctan and Tukey, which give outliers no influence, with three times it.
fn losses(scale: f64) -> [(&'static str, Loss); 5] {
    [
        ("huber", Loss::Huber { scale }),
        ("cauchy", Loss::Cauchy { scale }),
        ("soft_l1", Loss::SoftL1 { scale }),
        ("arctan", Loss::Arctan { scale: 3.0 * scale }),
        ("tukey", Loss::Tukey { scale: 3.0 * scale }),
    ]
}

fn fits(c: &mut Criterion) {
    let rng = &mut StdRng::seed_from_u64(47);
    let x: Vec<f64> = (0..POINTS).map(|i| 5e-6 * i as f64).collect();
    let curve = |x: &f64| 100.0 * (-1.3 * x).exp() + 10.0;
    let y: Vec<f64> = x.iter().map(|x| curve(x) + 4.0 * noise(rng)).collect();
    let counts: Vec<f64> = y.iter().map(|y| y.max(0.0).round()).collect();
    let single = [&x, &y].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
    let integers: Vec<u16> = counts.iter().map(|&y| y as u16).collect();
    let sigma: Vec<f64> = (0..POINTS).map(|i| 1.0 + 0.1 * (i % 7) as f64).collect();
    let mask: Vec<bool> = (0..POINTS).map(|i| i % 97 != 0).collect();
    let plain = Data::new(&x, &y).unwrap();
    let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);

    let mut group = c.benchmark_group("fit of 1e6 points");
    group.sample_size(30);
    let mut measure = |name: &str, curve: &CurveFit, data: &Data<'_>| {
        let fit = curve.fit(data, START).unwrap();
        assert!(fit.converged(), "{name}: {fit}");
        println!("{name}: {} evaluations", fit.evaluations());
        group.bench_function(name, |b| b.iter(|| black_box(curve.fit(data, START).unwrap())));
    };
    measure("plain", &decay, &plain);
    measure("sigma", &decay, &plain.clone().sigma(Sigma::Absolute(&sigma)).unwrap());
    measure("mask", &decay, &plain.clone().mask(&mask).unwrap());
    measure("f32", &decay, &Data::new(&single[0], &single[1]).unwrap());
    measure("u16", &decay, &Data::new(&x, &integers).unwrap());
    for (name, loss) in losses(3.0) {
        measure(name, &decay.clone().loss(loss), &plain);
    }
    let poisson = decay.clone().estimator(Estimator::Poisson);
    measure("poisson", &poisson, &Data::new(&x, &counts).unwrap());
    group.finish();
}

fn batches(c: &mut Criterion) {
    let rng = &mut StdRng::seed_from_u64(47);
    let pixels = SIDE * SIDE;
    let x: Vec<f64> = (0..pixels).map(|i| (i % SIDE) as f64).collect();
    let y: Vec<f64> = (0..pixels).map(|i| (i / SIDE) as f64).collect();
    let mut stack = Vec::with_capacity(FITS * pixels);
    for _ in 0..FITS {
        let place = [(); 2].map(|()| 6.0 + 2.0 * rng.random::<f64>());
        let amplitude = 300.0 + 200.0 * rng.random::<f64>();
        for (x, y) in x.iter().zip(&y) {
            let square = (x - place[0]).powi(2) + (y - place[1]).powi(2);
            let value = amplitude * (-square / (2.0 * 1.8 * 1.8)).exp() + 20.0;
            stack.push((value + 2.0 * value.sqrt() * noise(rng)).max(0.0).round());
        }
    }
    let mask: Vec<bool> = (0..pixels).map(|i| i != 100).collect();
    let sigma: Vec<f64> = (0..pixels).map(|i| 1.0 + 0.01 * i as f64).collect();
    let spot = CurveFit::multivariate(|[x, y]: [Var; 2], [a, x0, y0, s, b]: [Var; 5]| {
        let square = (x - x0) * (x - x0) + (y - y0) * (y - y0);
        a * (-square / (2.0 * s * s)).exp() + b
    });
    let plain = || BatchData::shared([&x[..], &y[..]], &stack).unwrap();

    let mut group = c.benchmark_group("batch of spots");
    group.sample_size(10).throughput(Throughput::Elements(FITS as u64));
    let mut measure = |name: &str, curve: &CurveFit, data: &BatchData<'_>| {
        group.bench_function(name, |b| b.iter(|| black_box(curve.fit_batch(data, SPOT).unwrap())));
    };
    measure("plain", &spot, &plain());
    measure("sigma", &spot, &plain().sigma(Sigma::Absolute(&sigma)).unwrap());
    measure("mask", &spot, &plain().mask(&mask).unwrap());
    for (name, loss) in losses(10.0).into_iter().take(2) {
        measure(name, &spot.clone().loss(loss), &plain());
    }
    measure("poisson", &spot.clone().estimator(Estimator::Poisson), &plain());
    group.finish();
}

criterion_group!(benches, fits, batches);
criterion_main!(benches);
