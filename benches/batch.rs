//! Batches of 10,000 fits of a two-dimensional Gaussian with five parameters to 15 × 15, 10 × 10 and 5 × 5 pixels with
//! Poisson noise on the CPU, compared with a loop over the `levenberg-marquardt` crate with a hand-written Jacobian on
//! one core, in the same run. Both use the same starting points; before the timing, the costs are compared.
//! For fits with `etol`, the distance from the minimum is printed in standard errors.
//! Then, if there is a device, a million of these fits run on it.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dualfit::device::Device;
use dualfit::{Backend, BatchData, BatchFit, CurveFit, Options, Precision, Start, models};
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra_0_34::storage::Owned;
use nalgebra_0_34::{Const, Dyn, OMatrix, SVector};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};
use std::hint::black_box;
use std::time::Duration;

const FITS: usize = 10_000;
/// Pixels per side, and width of a spot in pixels.
const IMAGES: [(usize, f64); 3] = [(15, 2.0), (10, 1.6), (5, 1.0)];
/// Value of `etol`: fraction of a standard error.
const ETOL: f64 = 0.01;

/// Problem of one spot for `levenberg-marquardt`: amplitude, centre, width, background.
struct Spot<'a> {
    side: usize,
    y: &'a [f64],
    p: SVector<f64, 5>,
}

impl Spot<'_> {
    fn pixel(&self, i: usize) -> (f64, [f64; 5]) {
        let [a, x0, y0, s, b] = self.p.into();
        let (dx, dy) = ((i % self.side) as f64 - x0, (i / self.side) as f64 - y0);
        let e = (-(dx * dx + dy * dy) / (2.0 * s * s)).exp();
        let (u, square) = (a * e / (s * s), dx * dx + dy * dy);
        (a * e + b, [e, u * dx, u * dy, u * square / s, 1.0])
    }
}

impl LeastSquaresProblem<f64, Dyn, Const<5>> for Spot<'_> {
    type ParameterStorage = Owned<f64, Const<5>>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Const<5>>;

    fn set_params(&mut self, p: &SVector<f64, 5>) {
        self.p = *p;
    }

    fn params(&self) -> SVector<f64, 5> {
        self.p
    }

    fn residuals(&self) -> Option<OMatrix<f64, Dyn, Const<1>>> {
        let residual = |i: usize, _| self.pixel(i).0 - self.y[i];
        Some(OMatrix::<f64, Dyn, Const<1>>::from_fn(self.y.len(), residual))
    }

    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, Const<5>>> {
        let mut jacobian = OMatrix::<f64, Dyn, Const<5>>::zeros(self.y.len());
        for i in 0..self.y.len() {
            let (_, partials) = self.pixel(i);
            partials.iter().enumerate().for_each(|(j, v)| jacobian[(i, j)] = *v);
        }
        Some(jacobian)
    }
}

/// Simulates spots with centres in a square of `spread` pixels about the middle. Returns images and starting points.
fn spots(side: usize, width: f64, spread: f64) -> (Vec<f64>, Vec<[f64; 5]>) {
    let (mut random, pixels) = (StdRng::seed_from_u64(4), side * side);
    let (mut stack, mut starts) = (Vec::with_capacity(FITS * pixels), Vec::new());
    let middle = 0.5 * (side - 1) as f64;
    for _ in 0..FITS {
        let mut about = |middle: f64, width: f64| middle + width * (random.random::<f64>() - 0.5);
        let (a, x, y) = (about(100.0, 40.0), about(middle, spread), about(middle, spread));
        let p = [a, x, y, width * about(1.0, 0.3), 10.0];
        starts.push([p[0] * about(1.0, 0.4), middle, middle, width, 8.0]);
        let spot = Spot { side, y: &[], p: p.into() };
        for i in 0..pixels {
            stack
                .push(Poisson::new(spot.pixel(i).0).map_or(0.0, |noise| noise.sample(&mut random)));
        }
    }
    (stack, starts)
}

fn rival(side: usize, y: &[f64], start: &[f64; 5]) -> SVector<f64, 5> {
    let problem = Spot { side, y, p: (*start).into() };
    LevenbergMarquardt::new().minimize(problem).0.p
}

fn pixels(side: usize) -> (Vec<f64>, Vec<f64>) {
    (0..side * side).map(|i| ((i % side) as f64, (i / side) as f64)).unzip()
}

fn model() -> CurveFit {
    CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    })
}

fn mean_evaluations(fits: &BatchFit) -> f64 {
    fits.evaluations().iter().map(|&e| f64::from(e)).sum::<f64>() / FITS as f64
}

/// Returns the largest difference of a parameter between two batches, in standard errors.
fn farthest(fits: &BatchFit, from: &BatchFit) -> f64 {
    let distance = |((a, b), error): ((&f64, &f64), &f64)| ((a - b) / error).abs();
    let each = fits.params().iter().zip(from.params()).zip(from.std_errors()).map(distance);
    each.fold(0.0, f64::max)
}

fn batch(c: &mut Criterion) {
    for (side, width) in IMAGES {
        let (px, py) = pixels(side);
        let (stack, starts) = spots(side, width, width);
        let pixels = side * side;
        let spot = model().backend(Backend::Cpu);
        let data = BatchData::shared([&px, &py], &stack).unwrap();
        let fits = spot.fit_batch(&data, &starts).unwrap();
        for (i, start) in starts.iter().enumerate().filter(|(i, _)| fits.fit(*i).converged()) {
            let (ours, theirs) = (fits.fit(i), rival(side, &stack[i * pixels..][..pixels], start));
            let cost = |p: SVector<f64, 5>| {
                let spot = Spot { side, y: &stack[i * pixels..][..pixels], p };
                spot.residuals().unwrap().norm_squared() / 2.0
            };
            let best = cost(theirs) * (1.0 + 1e-9);
            assert!(ours.cost() <= best, "fit {i}: {} against {best}", ours.cost());
        }
        let quick = model().backend(Backend::Cpu).options(Options::default().etol(ETOL));
        let ended = quick.fit_batch(&data, &starts).unwrap();
        println!("{fits}{:.2} evaluations a fit", mean_evaluations(&fits));
        println!(
            "with etol of {ETOL} {:.2} evaluations, at most {:.1e} of an error away",
            mean_evaluations(&ended),
            farthest(&ended, &fits)
        );

        let mut group = c.benchmark_group(format!("10,000 Gaussians of {side} x {side}"));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        group.throughput(Throughput::Elements(FITS as u64));
        group.bench_function("dualfit, f64", |b| {
            b.iter(|| black_box(spot.fit_batch(&data, &starts).unwrap()));
        });
        group.bench_function("dualfit, f64, etol", |b| {
            b.iter(|| black_box(quick.fit_batch(&data, &starts).unwrap()));
        });
        group.bench_function("levenberg-marquardt", |b| {
            b.iter(|| {
                for (y, start) in stack.chunks(pixels).zip(&starts) {
                    black_box(rival(side, y, start));
                }
            });
        });
    }
}

/// Times fits of integer samples, and of images without a spot.
fn samples(c: &mut Criterion) {
    let (side, width) = IMAGES[0];
    let ((px, py), pixels) = (pixels(side), side * side);
    let (stack, starts) = spots(side, width, width);
    let spot = model().backend(Backend::Cpu);
    let fits = spot.fit_batch(BatchData::shared([&px, &py], &stack).unwrap(), &starts).unwrap();
    let mut group = c.benchmark_group("10,000 Gaussians of 15 x 15");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(FITS as u64));
    let counts: Vec<u16> = stack.iter().map(|&y| y as u16).collect();
    let data = BatchData::shared([&px, &py], &counts).unwrap();
    group.bench_function("dualfit, u16", |b| {
        b.iter(|| black_box(spot.fit_batch(&data, &starts).unwrap()));
    });
    let mut poisoned = stack.clone();
    let frames = poisoned.chunks_mut(pixels).enumerate().step_by(100);
    frames.for_each(|(i, frame)| match i / 100 % 3 {
        0 => frame[7] = f64::NAN,
        1 => frame.fill(0.0),
        _ => frame.fill(65_535.0),
    });
    let data = BatchData::shared([&px, &py], &poisoned).unwrap();
    let rest = spot.fit_batch(&data, &starts).unwrap();
    for i in (0..FITS).filter(|i| i % 100 != 0) {
        assert_eq!(rest.fit(i).params(), fits.fit(i).params(), "a neighbour of fit {i} reached it");
    }
    group.bench_function("dualfit, f64, one frame in a hundred poisoned", |b| {
        b.iter(|| black_box(spot.fit_batch(&data, &starts).unwrap()));
    });
}

/// Times fits of a million spots in the middle half of their images, with a start at the brightest pixel and without.
fn without_starts(c: &mut Criterion) {
    const MANY: usize = 1_000_000;
    let (side, width) = IMAGES[0];
    let (px, py) = pixels(side);
    let (stack, _) = spots(side, width, 0.5 * (side - 1) as f64);
    let stack: Vec<u16> = stack.iter().map(|&y| y as u16).collect();
    let start = |image: &[u16]| {
        let brightest = (0..image.len()).max_by_key(|&i| image[i]).unwrap_or(0);
        [f64::from(image[brightest]) - 10.0, px[brightest], py[brightest], width, 10.0]
    };
    let starts: Vec<[f64; 5]> = stack.chunks(side * side).map(start).collect();
    let copies = MANY / FITS;
    let stack = stack.repeat(copies);
    let starts: Vec<[f64; 5]> = starts.iter().copied().cycle().take(MANY).collect();
    let data = BatchData::shared([&px, &py], &stack).unwrap();
    let spot = model().backend(Backend::Cpu);
    let library =
        CurveFit::from(models::gaussian2d("") + models::constant("")).backend(Backend::Cpu);
    let best = spot.fit_batch(&data, &starts).unwrap();
    for (name, fits) in [
        ("no start", spot.fit_batch(&data, Start::Guess).unwrap()),
        ("the library's model", library.fit_batch(&data, Start::Guess).unwrap()),
    ] {
        let worse = |i: &usize| fits.fit(*i).cost() > best.fit(*i).cost() * (1.0 + 1e-6);
        println!(
            "{name}: {} of {MANY} worse than from the brightest pixel, {:.2} evaluations a fit against {:.2}",
            (0..MANY).filter(worse).count(),
            mean_evaluations(&fits) / copies as f64,
            mean_evaluations(&best) / copies as f64
        );
    }
    let mut group = c.benchmark_group("1,000,000 Gaussians of 15 x 15 with and without starts");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(MANY as u64));
    group.bench_function("from the brightest pixel", |b| {
        b.iter(|| black_box(spot.fit_batch(&data, &starts).unwrap()));
    });
    group.bench_function("without a start", |b| {
        b.iter(|| black_box(spot.fit_batch(&data, Start::Guess).unwrap()));
    });
    group.bench_function("the library's model without a start", |b| {
        b.iter(|| black_box(library.fit_batch(&data, Start::Guess).unwrap()));
    });
}

/// Times a million fits, enough to occupy a device, from host memory and with resident data.
fn on_device(c: &mut Criterion) {
    const MANY: usize = 1_000_000;
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(reason) => {
            println!("SKIP (batches on a device): {reason}");
            return;
        }
    };
    println!("{device}");
    let (side, width) = IMAGES[0];
    let (px, py) = pixels(side);
    let (stack, starts) = spots(side, width, width);
    let spot = model().backend(Backend::cuda(0));
    let copies = MANY / FITS;
    let starts: Vec<[f64; 5]> = starts.iter().copied().cycle().take(MANY).collect();
    let doubles = stack.repeat(copies);
    let counts: Vec<u16> = doubles.iter().map(|&y| y as u16).collect();
    let (doubles, counts) =
        (BatchData::shared([&px, &py], &doubles), BatchData::shared([&px, &py], &counts));
    let mut group = c.benchmark_group("1,000,000 Gaussians of 15 x 15 on a device");
    group.sample_size(10).throughput(Throughput::Elements(MANY as u64));
    for (name, data) in [("f64", doubles.unwrap()), ("u16", counts.unwrap())] {
        let fits = spot.fit_batch(&data, &starts).unwrap();
        println!("{fits}{}", fits.reason());
        assert_eq!(fits.converged(), MANY, "{fits}");
        group.bench_function(format!("{name}, from the host"), |b| {
            b.iter(|| black_box(spot.fit_batch(&data, &starts).unwrap()));
        });
        let there = device.upload_batch(&data).unwrap();
        for precision in [Precision::Mixed, Precision::Single] {
            let spot = spot.clone().precision(precision);
            assert_eq!(spot.fit_batch(&there, &starts).unwrap().converged(), MANY);
            group.bench_function(format!("{name}, resident, {precision:?}"), |b| {
                b.iter(|| black_box(spot.fit_batch(&there, &starts).unwrap()));
            });
        }
        group.bench_function(format!("{name}, resident"), |b| {
            b.iter(|| black_box(spot.fit_batch(&there, &starts).unwrap()));
        });
    }
}

criterion_group!(benches, batch, samples, without_starts, on_device);
criterion_main!(benches);
