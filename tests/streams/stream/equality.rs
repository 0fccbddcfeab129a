//! The fit in memory, and the same from chunks of any size.

use crate::stream::support::{linspace, noise};
use dualfit::source::SliceSource;
use dualfit::{CurveFit, Data, Fit, Stream};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Largest relative difference of parameters.
fn params_apart(a: &Fit, b: &Fit) -> f64 {
    let difference = |(p, q): (&f64, &f64)| (p - q).abs() / p.abs().max(q.abs());
    a.params().iter().zip(b.params()).map(difference).fold(0.0, f64::max)
}

/// Largest difference of parameters and of errors, relative to both the parameter and its error.
fn apart(a: &Fit, b: &Fit) -> f64 {
    let mut largest: f64 = 0.0;
    for i in 0..a.params().len() {
        let (p, q) = (a.params()[i], b.params()[i]);
        let (s, t) = (a.std_errors()[i], b.std_errors()[i]);
        largest = largest.max((p - q).abs() / p.abs().max(q.abs()));
        if s.is_finite() || t.is_finite() {
            largest = largest.max((s - t).abs() / s.abs().max(t.abs()));
        }
    }
    largest
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).names(["a", "b", "c"])
}

#[test]
fn chunks_of_any_size_give_the_fit_in_memory() {
    let n = 100_003;
    let x = linspace(0.0, 10.0, n);
    let e = noise(n, 0.1, 1);
    let y: Vec<f64> = x.iter().zip(&e).map(|(x, e)| 2.0 * (-0.5 * x).exp() + 0.3 + e).collect();
    let start = [2.5, 0.8, 0.1];
    let memory = decay().fit(Data::new(&x, &y).unwrap(), start).unwrap();
    println!("{memory}");
    for chunk in [7, 4096, 5000, 50_000, n] {
        for subsample in [false, true] {
            let stream = Stream::new(SliceSource::new(&x, &y).unwrap())
                .chunk_points(chunk)
                .subsample(subsample);
            let fit = decay().fit_stream(stream, start).unwrap();
            println!("{chunk} {subsample} {} {:?}", apart(&fit, &memory), fit.stats());
            if !subsample {
                assert_eq!(fit.params(), memory.params(), "chunks of {chunk}");
            }
            assert!(apart(&fit, &memory) < 1e-12, "chunks of {chunk}: {:e}", apart(&fit, &memory));
        }
    }
}

/// A million points, of which four lie on the peak.
fn narrow_peak(order: Order) -> (Vec<f64>, Vec<f64>) {
    let n = 1_000_000;
    let x = linspace(0.0, 1.0, n);
    let e = noise(n, 0.05, 3);
    let width = 2e-6;
    let value = |x: f64| 10.0 * (-0.5 * ((x - 0.6180339) / width).powi(2)).exp() + 1.0 + 0.5 * x;
    let mut points: Vec<(f64, f64)> = x.iter().zip(&e).map(|(&x, e)| (x, value(x) + e)).collect();
    if order == Order::Shuffled {
        points.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(9));
    }
    points.into_iter().unzip()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Sorted,
    Shuffled,
}

#[test]
fn a_peak_of_four_points_in_a_million_is_kept() {
    let peak =
        CurveFit::new(|x, [a, x0, s, b, m]| a * (-0.5 * ((x - x0) / s).powi(2)).exp() + b + m * x);
    for order in [Order::Sorted, Order::Shuffled] {
        let (x, y) = narrow_peak(order);
        let start = [8.0, 0.6180335, 2.5e-6, 0.9, 0.4];
        let memory = peak.fit(Data::new(&x, &y).unwrap(), start).unwrap();
        assert!(memory.converged() && (memory.params()[0] - 10.0).abs() < 1.0, "{memory}");
        for chunk in [7, 65_536, 1_000_000] {
            let stream = Stream::new(SliceSource::new(&x, &y).unwrap()).chunk_points(chunk);
            let fit = peak.fit_stream(stream, start).unwrap();
            let told = &fit.stats().stream.as_ref().unwrap().start;
            println!("{order:?}, {chunk}: {:e}, {told}", apart(&fit, &memory));
            assert!(apart(&fit, &memory) < 1e-12, "{order:?}, {chunk}: {:e}", apart(&fit, &memory));
        }
    }
}

#[test]
fn well_posed_fits_take_four_passes_at_most() {
    let n = 2_000_000;
    let x = linspace(0.0, 10.0, n);
    let e = noise(n, 0.1, 5);
    let sine = CurveFit::new(|x, [a, b, w, p, c]| a * (-b * x).exp() * (w * x + p).sin() + c);
    let lines = CurveFit::new(|x, [a, b]| a * x + b);
    type Value = fn(f64) -> f64;
    let cases: [(CurveFit, Value, Vec<f64>); 3] = [
        (decay(), |x| 2.0 * (-0.5 * x).exp() + 0.3, vec![2.5, 0.8, 0.1]),
        (
            sine,
            |x| 3.0 * (-0.2 * x).exp() * (2.5 * x + 0.4).sin() + 0.5,
            vec![2.5, 0.3, 2.4, 0.2, 0.0],
        ),
        (lines, |x| 0.3 * x - 2.0, vec![1.0, 1.0]),
    ];
    for (model, value, start) in cases {
        let y: Vec<f64> = x.iter().zip(&e).map(|(&x, e)| value(x) + e).collect();
        let memory = model.fit(Data::new(&x, &y).unwrap(), &start).unwrap();
        let fit = model.fit_stream(SliceSource::new(&x, &y).unwrap(), &start).unwrap();
        let stats = fit.stats().stream.as_ref().unwrap();
        println!("{} passes in memory, {stats}; {:e}", memory.stats().passes, apart(&fit, &memory));
        assert!(fit.converged() && stats.passes <= 4, "{stats}");
        // Errors are those of the last evaluation, which is at another point after another start.
        assert!(params_apart(&fit, &memory) < 1e-12, "{:e}", params_apart(&fit, &memory));
        assert!(apart(&fit, &memory) < 1e-8, "{:e}", apart(&fit, &memory));
    }
}
