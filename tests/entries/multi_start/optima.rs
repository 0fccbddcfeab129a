//! Which ends are one optimum: neither rounding, nor tolerances, nor directions without effect make two of
//! one, and minima that differ stay apart.

use crate::multi_start::standard::*;
use dualfit::{CurveFit, Data, Estimator, Loss, MultiStart, Optima, Options, Sigma};

/// Numbers between −1 and 1 without pattern.
fn noise(i: usize) -> f64 {
    let z = (i as f64 + 1.0) * 0.754_877_666_246_692_8;
    2.0 * (97.0 * z * z).fract() - 1.0
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).bounds([
        (-20.0, 20.0),
        (0.0, 3.0),
        (-20.0, 20.0),
    ])
}

fn points(n: usize, noisy: f64) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 6.0 * i as f64 / n as f64).collect();
    let value = |(i, x): (usize, &f64)| 2.0 * (-0.8 * x).exp() + 0.5 + noisy * noise(i);
    let y = x.iter().enumerate().map(value).collect();
    (x, y)
}

fn search(model: &CurveFit, data: Data<'_>, start: &[f64], n: usize) -> Optima {
    let optima = model.multi_start(data, start, &MultiStart::new(n)).unwrap();
    assert_consistent(&optima);
    optima
}

/// The one minimum of a decay in these bounds, for any noise, number of points or tolerance.
#[test]
fn one_minimum_is_one_optimum() {
    for (n, noisy, tolerance) in [
        (30, 0.0, 1e-10),
        (30, 1e-12, 1e-10),
        (30, 1e-6, 1e-10),
        (30, 0.1, 1e-10),
        (30, 0.1, 1e-4),
        (30, 0.1, 1e-2),
        (30, 0.0, 1e-3),
        (20_000, 0.1, 1e-10),
        (20_000, 0.1, 1e-4),
    ] {
        let (x, y) = points(n, noisy);
        let options = Options::default().ftol(tolerance).xtol(tolerance);
        let starts = if n > 1000 { 12 } else { 100 };
        let data = Data::new(&x, &y).unwrap();
        let optima = search(&decay().options(options), data, &[1.0, 1.0, 0.0], starts);
        let near = |o: &&dualfit::result::Optimum| (o.params()[1] - 0.8).abs() < 0.2;
        let minima = optima.distinct().iter().filter(near).count();
        println!(
            "{n} {noisy:e} {tolerance:e}: {minima} of {}, {}",
            optima.distinct().len(),
            optima.best()
        );
        assert_eq!(minima, 1, "{n} points, noise {noisy:e}, tolerance {tolerance:e}\n{optima}");
    }
}

/// Units of y and of the parameters change nothing.
#[test]
fn units_do_not_matter() {
    let (x, y) = wave_data();
    let hits = |scale: f64| {
        let y: Vec<f64> = y.iter().map(|y| scale * y).collect();
        let model =
            wave().bounds([(-5.0 * scale, 5.0 * scale), (-5.0 * scale, 5.0 * scale), (0.5, 12.0)]);
        let start = [scale, scale, 2.0];
        let optima = search(&model, Data::new(&x, &y).unwrap(), &start, 40);
        optima
            .distinct()
            .iter()
            .map(|o| (o.trials().to_vec(), o.params()[2].to_bits()))
            .collect::<Vec<_>>()
    };
    // Powers of two: the same bits but for the scale.
    let one = hits(1.0);
    assert!(one.len() > 10);
    for scale in [2f64.powi(40), 2f64.powi(-40), 2f64.powi(500), 2f64.powi(-500)] {
        assert_eq!(hits(scale), one, "{scale:e}");
    }
}

#[test]
fn a_flat_valley_is_one_optimum_and_a_curved_one_is_many() {
    let (x, y) = points(40, 0.05);
    for y in [y, x.iter().map(|x| 3.0 * x + 1.0).collect()] {
        let data = || Data::new(&x, &y).unwrap();
        let bounds = [(-10.0, 10.0); 3];
        let straight = CurveFit::new(|x, [a, b, c]| (a + b) * x + c).bounds(bounds);
        let optima = search(&straight, data(), &[0.0; 3], 50);
        assert_eq!((optima.distinct().len(), optima.converged()), (1, 51), "{optima}");
        assert_eq!(optima.best().undetermined(), ["p0", "p1"]);
        let curved = CurveFit::new(|x, [a, b, c]| a * b * x + c).bounds(bounds);
        let optima = search(&curved, data(), &[1.0; 3], 50);
        assert!(optima.distinct().len() > 20);
        assert!(optima.distinct().iter().all(|o| (o.cost() - optima.best().cost()).abs() < 1e-9));
        assert_eq!(optima.best().undetermined(), ["p0", "p1"]);
        let unused = CurveFit::new(|x, [a, _, c]| a * x + c).bounds(bounds);
        assert_eq!(search(&unused, data(), &[1.0; 3], 50).distinct().len(), 1);
    }
}

/// A cost with two minima that lie as close as one likes: y = p⁴ − 2hp², which is least at ±√h.
#[test]
fn close_minima_stay_apart_while_the_data_tell_them_apart() {
    for h in [1.0, 1e-2, 1e-4] {
        let model = CurveFit::new(move |_, [p]| (p * p - h) / h).bound("p0", -1.0..=2.0);
        let (x, y) = ([0.0, 1.0], [0.0, 0.0]);
        let optima = search(&model, Data::new(&x, &y).unwrap(), &[0.3], 20);
        let [low, high] = optima.distinct() else { panic!("{optima}") };
        for end in [low, high] {
            assert!(within(end.params()[0].abs(), h.sqrt(), 1e-6), "{optima}");
        }
        assert!(low.params()[0] * high.params()[0] < 0.0);
    }
    // Where sigma says that the data cannot tell ±0.1 from 0, the slope there still can.
    let model = CurveFit::new(|_, [p]| p * p - 0.01).bound("p0", -1.0..=2.0);
    let data = Data::new(&[0.0, 1.0], &[0.0, 0.0]).unwrap().sigma(Sigma::Constant(0.2)).unwrap();
    assert_eq!(search(&model, data, &[0.3], 20).distinct().len(), 2);
}

/// Two groups of values under Cauchy's loss have two minima, found again by golden sections.
#[test]
fn robust_losses_have_optima_of_their_own() {
    let x: Vec<f64> = (0..30).map(f64::from).collect();
    let y: Vec<f64> =
        (0..30).map(|i| if i % 3 == 0 { 10.0 } else { 0.0 } + 0.5 * noise(i)).collect();
    let model = CurveFit::new(|x, [p]| p + 0.0 * x)
        .loss(Loss::Cauchy { scale: 1.0 })
        .bound("p0", -5.0..=15.0);
    let optima = search(&model, Data::new(&x, &y).unwrap(), &[4.0], 40);
    let cost = |p: f64| y.iter().map(|y| 0.5 * ((p - y) * (p - y)).ln_1p()).sum::<f64>();
    let golden = |mut low: f64, mut high: f64| {
        for _ in 0..80 {
            let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
            if cost(a) < cost(b) { high = b } else { low = a }
        }
        low
    };
    for (optimum, p) in optima.distinct().iter().zip([golden(-2.0, 2.0), golden(8.0, 12.0)]) {
        assert!((optimum.params()[0] - p).abs() < 1e-6, "{optima}");
        assert!(within(optimum.cost(), cost(p), 1e-10));
    }
    assert_eq!(optima.distinct().len(), 2, "{optima}");
}

/// Counts: a peak on a background, from starts that mostly miss it. The likelihood's equations hold.
#[test]
fn counts_are_searched_too() {
    let x: Vec<f64> = (0..100).map(f64::from).collect();
    let mean = |x: f64| 3.0 + 40.0 * (-0.5 * ((x - 71.0) / 2.0).powi(2)).exp();
    let y: Vec<f64> = (0..100).map(|i| (mean(x[i]) + 1.5 * noise(i)).round().max(0.0)).collect();
    let model = CurveFit::new(|x, [b, h, m]| b + h * (-0.5 * ((x - m) / 2.0).powi(2)).exp())
        .names(["background", "height", "position"])
        .bounds([(0.1, 20.0), (0.0, 200.0), (0.0, 99.0)])
        .estimator(Estimator::Poisson);
    let start = [5.0, 10.0, 20.0];
    let alone = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let optima = search(&model, Data::new(&x, &y).unwrap(), &start, 64);
    println!("{optima}");
    assert!(alone.cost() > 2.0 * optima.best().cost());
    let p = optima.best().params();
    assert!((p[2] - 71.0).abs() < 0.5);
    // Σ (y/f − 1) ∂f/∂b = 0 and the same for h.
    let bell = |x: f64| (-0.5 * ((x - p[2]) / 2.0).powi(2)).exp();
    let score = |partial: &dyn Fn(f64) -> f64| {
        let term = |(x, y): (&f64, &f64)| (y / (p[0] + p[1] * bell(*x)) - 1.0) * partial(*x);
        x.iter().zip(&y).map(term).sum::<f64>()
    };
    assert!(score(&|_| 1.0).abs() < 1e-5 && score(&bell).abs() < 1e-5);
}
