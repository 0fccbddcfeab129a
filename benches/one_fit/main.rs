//! One fit on the CPU compared with the `levenberg-marquardt` crate with a hand-written Jacobian, in the same run:
//! a·exp(−b·x) + c at 1e3 to 1e7 points (`levenberg-marquardt` up to 1e6), and a damped sine of five parameters at 1e6.
//! Both use the same starting point; before the timing, the benchmark checks that both reach the same minimum.
//!
//! Also 30 and 100 points, with a model that is traced for each fit and with one that is reused, and 1e6 points that are
//! in memory but not in a cache. For many points, two limits are measured: memory (a sum over the same arrays) and
//! arithmetic (the passes of a fit as a hand-written loop).
//!
//! Then the same decay on CUDA device 0 at 1e3 to 1e8 points, from host memory and with resident data, a damped sine,
//! and ten peaks of 31 parameters. Without a device, the reason for skipping is printed. `DUALFIT_BENCH_POINTS` limits
//! the points of these fits, for small or slow cards.

mod by_hand;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dualfit::device::Device;
use dualfit::{Backend, CurveFit, Data, Fit, Var, curve_fit};
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra_0_34::storage::Owned;
use nalgebra_0_34::{Const, Dyn, OMatrix, SVector};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Normal};
use std::hint::black_box;
use std::time::Duration;

/// A model with its partials, for `levenberg-marquardt`.
trait Model<const P: usize>: Copy {
    fn value(self, x: f64, p: &SVector<f64, P>) -> f64;
    fn partials(self, x: f64, p: &SVector<f64, P>) -> [f64; P];
}

#[derive(Clone, Copy)]
struct Decay;

impl Model<3> for Decay {
    fn value(self, x: f64, p: &SVector<f64, 3>) -> f64 {
        p[0] * (-p[1] * x).exp() + p[2]
    }

    fn partials(self, x: f64, p: &SVector<f64, 3>) -> [f64; 3] {
        let e = (-p[1] * x).exp();
        [e, -p[0] * x * e, 1.0]
    }
}

#[derive(Clone, Copy)]
struct DampedSine;

impl Model<5> for DampedSine {
    fn value(self, x: f64, p: &SVector<f64, 5>) -> f64 {
        p[0] * (-p[1] * x).exp() * (p[2] * x + p[3]).sin() + p[4]
    }

    fn partials(self, x: f64, p: &SVector<f64, 5>) -> [f64; 5] {
        let e = (-p[1] * x).exp();
        let (s, c) = (p[2] * x + p[3]).sin_cos();
        [e * s, -p[0] * x * e * s, p[0] * x * e * c, p[0] * e * c, 1.0]
    }
}

/// A fit as a problem of `levenberg-marquardt`.
struct Rival<'a, M, const P: usize> {
    model: M,
    x: &'a [f64],
    y: &'a [f64],
    p: SVector<f64, P>,
}

impl<M: Model<P>, const P: usize> LeastSquaresProblem<f64, Dyn, Const<P>> for Rival<'_, M, P> {
    type ParameterStorage = Owned<f64, Const<P>>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Const<P>>;

    fn set_params(&mut self, p: &SVector<f64, P>) {
        self.p = *p;
    }

    fn params(&self) -> SVector<f64, P> {
        self.p
    }

    fn residuals(&self) -> Option<OMatrix<f64, Dyn, Const<1>>> {
        let residual = |i: usize, _: usize| self.model.value(self.x[i], &self.p) - self.y[i];
        Some(OMatrix::<f64, Dyn, Const<1>>::from_fn(self.x.len(), residual))
    }

    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, Const<P>>> {
        let mut jacobian = OMatrix::<f64, Dyn, Const<P>>::zeros(self.x.len());
        for (i, &x) in self.x.iter().enumerate() {
            for (j, partial) in self.model.partials(x, &self.p).into_iter().enumerate() {
                jacobian[(i, j)] = partial;
            }
        }
        Some(jacobian)
    }
}

fn rival<M: Model<P>, const P: usize>(model: M, x: &[f64], y: &[f64], p0: [f64; P]) -> Vec<f64> {
    let problem = Rival { model, x, y, p: SVector::from(p0) };
    let (end, report) = LevenbergMarquardt::new().minimize(problem);
    assert!(report.termination.was_successful());
    end.p.as_slice().to_vec()
}

/// Simulates points: x from 0 to 10, y of the model with normal noise of standard deviation 0.1.
fn data<M: Model<P>, const P: usize>(model: M, truth: [f64; P], n: usize) -> (Vec<f64>, Vec<f64>) {
    let truth = SVector::from(truth);
    noisy(|x| model.value(x, &truth), n)
}

/// Simulates points as [`data`].
fn noisy(curve: impl Fn(f64) -> f64, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(20_261_121);
    let noise = Normal::new(0.0, 0.1).expect("a positive deviation");
    let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / (n - 1) as f64).collect();
    let y = x.iter().map(|&x| curve(x) + noise.sample(&mut random)).collect();
    (x, y)
}

fn same_minimum(ours: &Fit, theirs: &[f64]) {
    assert!(ours.converged());
    for (a, b) in ours.params().iter().zip(theirs) {
        assert!((a - b).abs() < 1e-5 * b.abs(), "{:?} against {theirs:?}", ours.params());
    }
}

/// Times small fits with a new model, and with a model that is reused.
fn small(c: &mut Criterion) {
    let start = [2.5, 0.8, 0.1];
    let model = |x: Var, [a, b, c]: [Var; 3]| a * (-b * x).exp() + c;
    let kept = CurveFit::new(model);
    let mut group = c.benchmark_group("decay, few points");
    for n in [30, 100] {
        let (x, y) = data(Decay, [2.0, 0.5, 0.3], n);
        same_minimum(&curve_fit(model, &x, &y, start).unwrap(), &rival(Decay, &x, &y, start));
        group.bench_function(BenchmarkId::new("dualfit, new model", n), |b| {
            b.iter(|| curve_fit(model, black_box(&x), black_box(&y), start));
        });
        group.bench_function(BenchmarkId::new("dualfit, kept model", n), |b| {
            b.iter(|| kept.fit(Data::new(black_box(&x), black_box(&y)).unwrap(), start));
        });
        group.bench_function(BenchmarkId::new("levenberg-marquardt", n), |b| {
            b.iter(|| rival(Decay, black_box(&x), black_box(&y), start));
        });
    }
    group.finish();
}

fn decay(c: &mut Criterion) {
    let start = [2.5, 0.8, 0.1];
    let model = |x: Var, [a, b, c]: [Var; 3]| a * (-b * x).exp() + c;
    let mut group = c.benchmark_group("decay, 3 parameters");
    for n in [1_000, 100_000, 1_000_000, 10_000_000] {
        let (x, y) = data(Decay, [2.0, 0.5, 0.3], n);
        group.sample_size(if n >= 1_000_000 { 10 } else { 50 });
        group.measurement_time(Duration::from_secs(if n > 1_000_000 { 6 } else { 4 }));
        group.bench_function(BenchmarkId::new("dualfit", n), |b| {
            b.iter(|| curve_fit(model, black_box(&x), black_box(&y), start));
        });
        if n >= 100_000 {
            let passes = curve_fit(model, &x, &y, start).unwrap().stats().passes;
            let of = |what| BenchmarkId::new(format!("{what}, {passes} passes"), n);
            group.bench_function(of("limit of memory"), |b| {
                b.iter(|| (0..passes).map(|_| by_hand::sum(black_box(&x), &y)).sum::<f64>());
            });
            group.bench_function(of("limit of arithmetic"), |b| {
                b.iter(|| {
                    (0..passes).map(|_| by_hand::decay(black_box(&x), &y, start)[9]).sum::<f64>()
                });
            });
        }
        if n == 1_000_000 {
            // Together, the copies exceed the caches: each fit reads its points from memory.
            let copies = vec![(x.clone(), y.clone()); 40];
            let mut next = (0..copies.len()).cycle();
            group.bench_function(BenchmarkId::new("dualfit, points outside the caches", n), |b| {
                b.iter(|| {
                    let (x, y) = &copies[next.next().unwrap_or(0)];
                    curve_fit(model, black_box(x), black_box(y), start)
                });
            });
        }
        if n <= 1_000_000 {
            same_minimum(&curve_fit(model, &x, &y, start).unwrap(), &rival(Decay, &x, &y, start));
            group.bench_function(BenchmarkId::new("levenberg-marquardt", n), |b| {
                b.iter(|| rival(Decay, black_box(&x), black_box(&y), start));
            });
        }
    }
    group.finish();
}

fn damped_sine(c: &mut Criterion) {
    let start = [1.5, 0.4, 2.9, 0.6, 0.1];
    let model = |x: Var, [a, b, w, p, c]: [Var; 5]| a * (-b * x).exp() * (w * x + p).sin() + c;
    let n = 1_000_000;
    let (x, y) = data(DampedSine, [2.0, 0.3, 3.0, 0.5, 0.3], n);
    same_minimum(&curve_fit(model, &x, &y, start).unwrap(), &rival(DampedSine, &x, &y, start));
    let mut group = c.benchmark_group("damped sine, 5 parameters");
    group.sample_size(10);
    group.bench_function(BenchmarkId::new("dualfit", n), |b| {
        b.iter(|| curve_fit(model, black_box(&x), black_box(&y), start));
    });
    group.bench_function(BenchmarkId::new("levenberg-marquardt", n), |b| {
        b.iter(|| rival(DampedSine, black_box(&x), black_box(&y), start));
    });
    group.finish();
}

/// Times a model on a device, from host memory and with resident data.
fn on_device(
    c: &mut Criterion,
    device: &Device,
    name: &str,
    model: &CurveFit,
    (x, y): (&[f64], &[f64]),
    start: &[f64],
) {
    let (n, data) = (x.len(), Data::new(x, y).unwrap());
    let uploaded = match device.upload(&data) {
        Ok(uploaded) => uploaded,
        Err(reason) => {
            println!("SKIP ({name}, {n} points): {reason}");
            return;
        }
    };
    let (host, resident) =
        (model.fit(data.clone(), start).unwrap(), model.fit(&uploaded, start).unwrap());
    same_minimum(&host, resident.params());
    let cpu = model.clone().backend(Backend::Cpu);
    same_minimum(&host, cpu.fit(data.clone(), start).unwrap().params());
    let mut group = c.benchmark_group(name);
    group.sample_size(if n >= 10_000_000 { 10 } else { 30 });
    group.bench_function(BenchmarkId::new("device, from the host", n), |b| {
        b.iter(|| model.fit(black_box(data.clone()), start));
    });
    group.bench_function(BenchmarkId::new("device, resident", n), |b| {
        b.iter(|| model.fit(black_box(&uploaded), start));
    });
    group.bench_function(BenchmarkId::new("CPU", n), |b| {
        b.iter(|| cpu.fit(black_box(data.clone()), start));
    });
    group.finish();
}

fn device(c: &mut Criterion) {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(reason) => {
            println!("SKIP (fits on a device): {reason}");
            return;
        }
    };
    println!("{device}");
    let most = std::env::var("DUALFIT_BENCH_POINTS").ok().and_then(|most| most.parse().ok());
    let most = most.unwrap_or(usize::MAX);
    let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::cuda(0));
    let numbers = [1_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    for n in numbers.into_iter().filter(|n| *n <= most) {
        let (x, y) = data(Decay, [2.0, 0.5, 0.3], n);
        on_device(c, &device, "decay on a device", &model, (&x, &y), &[2.5, 0.8, 0.1]);
    }
    let model = CurveFit::new(|x, [a, b, w, p, c]| a * (-b * x).exp() * (w * x + p).sin() + c);
    let model = model.backend(Backend::cuda(0));
    let (x, y) = data(DampedSine, [2.0, 0.3, 3.0, 0.5, 0.3], most.min(1_000_000));
    let start = [1.5, 0.4, 2.9, 0.6, 0.1];
    on_device(c, &device, "damped sine on a device", &model, (&x, &y), &start);
    peaks_on_device(c, &device, most.min(1_000_000));
}

/// Ten Gaussian peaks on a background: 31 parameters, whose products do not fit into the registers of a thread.
fn peaks_on_device(c: &mut Criterion, device: &Device, n: usize) {
    let model = CurveFit::new(|x, p: [Var; 31]| {
        let peak = |p: &[Var]| p[0] * (-((x - p[1]) / p[2]).powi(2)).exp();
        p[..30].chunks(3).fold(p[30], |sum, p| sum + peak(p))
    });
    let truth: [f64; 31] = std::array::from_fn(|j| match (j, j % 3) {
        (30, _) => 0.5,
        (_, 0) => 1.0 + 0.1 * j as f64,
        (_, 1) => 0.5 + (j / 3) as f64,
        _ => 0.3,
    });
    let peak = |x: f64, p: &[f64]| p[0] * (-((x - p[1]) / p[2]).powi(2)).exp();
    let curve = |x| truth[..30].chunks(3).map(|p| peak(x, p)).sum::<f64>() + truth[30];
    let (x, y) = noisy(curve, n);
    let start = truth.map(|value| 1.02 * value);
    let model = model.backend(Backend::cuda(0));
    on_device(c, device, "ten peaks on a device", &model, (&x, &y), &start);
}

criterion_group!(benches, small, decay, damped_sine, device);
criterion_main!(benches);
