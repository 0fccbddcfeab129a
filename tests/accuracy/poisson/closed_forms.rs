//! Maxima that are known without a fit, and ones found another way.

use super::{counts, decay, draw};
use dualfit::{CurveFit, Data, Fit, Termination};
use nalgebra_0_34::{Matrix3, Vector3};
use rand::SeedableRng;
use rand::rngs::StdRng;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{found:e}, not {expected:e}");
}

/// Counts of a decay.
fn drawn(n: usize, seed: u64, [a, b, c]: [f64; 3]) -> (Vec<f64>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(seed);
    let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
    let y = x.iter().map(|x| draw(&mut random, a * (-b * x).exp() + c)).collect();
    (x, y)
}

/// The half deviance of single points against mpmath, to a few units in the last place.
#[test]
fn the_deviance_of_a_point_has_all_its_digits() {
    let table = include_str!("../../data/poisson_deviance.csv");
    let unit = counts(CurveFit::new(|x, [a]| a * x).fix("p0"));
    let (mut rows, mut worst) = (0, 0.0f64);
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let numbers: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        let [f, y, half] = numbers[..] else { panic!("{line}") };
        let fit = unit.fit(Data::new(&[f], &[y]).unwrap(), [1.0]).unwrap();
        let off = (fit.cost() - half).abs();
        assert!(off <= 4e-15 * half, "{line}: {:e}", fit.cost());
        worst = if half > 0.0 { worst.max(off / half) } else { worst };
        rows += 1;
    }
    println!("{rows} deviances, {worst:.1e} off at worst");
    assert!(rows > 300, "{rows}");
}

#[test]
fn a_constant_is_the_mean_from_any_start() {
    let constant = counts(CurveFit::new(|x, [a]| a + 0.0 * x));
    let (x, y) = drawn(200, 1, [20.0, 0.5, 1.0]);
    let mean = y.iter().sum::<f64>() / 200.0;
    for start in [1e-100, 1e-6, 0.1, 3.0, 1e3, 1e8] {
        let fit = constant.fit(Data::new(&x, &y).unwrap(), [start]).unwrap();
        assert!(fit.converged(), "{start}: {}", fit.termination());
        // A single step from 1e3 has the rounding error of 1e3.
        near(fit.params()[0], mean, 1e-12);
        near(fit.std_errors()[0], (mean / 200.0).sqrt(), 1e-12);
    }
}

#[test]
fn a_slope_is_the_ratio_of_sums() {
    let slope = counts(CurveFit::new(|x, [a]| a * x));
    let mut random = StdRng::seed_from_u64(2);
    // At x = 0 nothing is expected and nothing is counted.
    let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| draw(&mut random, 0.7 * x)).collect();
    let fit = slope.fit(Data::new(&x, &y).unwrap(), [5.0]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    let (sum_x, sum_y) = (x.iter().sum::<f64>(), y.iter().sum::<f64>());
    near(fit.params()[0], sum_y / sum_x, 1e-13);
    near(fit.std_errors()[0], sum_y.sqrt() / sum_x, 1e-12);
}

/// Half the deviance less what depends on y alone, its gradient and its Hessian, written by hand.
fn by_hand(x: &[f64], y: &[f64], p: Vector3<f64>) -> (f64, Vector3<f64>, Matrix3<f64>) {
    let (mut cost, mut gradient, mut hessian) = (0.0, Vector3::zeros(), Matrix3::zeros());
    for (&x, &y) in x.iter().zip(y) {
        let e = (-p[1] * x).exp();
        let f = p[0] * e + p[2];
        let df = Vector3::new(e, -p[0] * x * e, 1.0);
        let mut second = Matrix3::zeros();
        second[(0, 1)] = -x * e;
        second[(1, 0)] = -x * e;
        second[(1, 1)] = p[0] * x * x * e;
        cost += f - y * f.ln();
        gradient += (1.0 - y / f) * df;
        hessian += df * df.transpose() * (y / f / f) + second * (1.0 - y / f);
    }
    (cost, gradient, hessian)
}

fn newton(x: &[f64], y: &[f64], start: [f64; 3]) -> Vector3<f64> {
    let mut p = Vector3::from(start);
    for _ in 0..100 {
        let (cost, gradient, hessian) = by_hand(x, y, p);
        let step = hessian.lu().solve(&gradient).unwrap();
        let mut part = 1.0;
        let most = cost + 1e-12 * cost.abs();
        let falls = |part: f64| by_hand(x, y, p - part * step).0 <= most;
        while part > 1e-3 && !falls(part) {
            part *= 0.5;
        }
        p -= part * step;
    }
    p
}

/// Σ(1 − y/f)∇f by each parameter over what its terms add up to.
fn score(fit: &Fit, x: &[f64], y: &[f64]) -> f64 {
    let [a, b, c] = fit.params() else { panic!() };
    let (mut sums, mut sizes) = ([0.0f64; 3], [0.0f64; 3]);
    for (&x, &y) in x.iter().zip(y) {
        let e = (-b * x).exp();
        let r = 1.0 - y / (a * e + c);
        for (j, d) in [e, -a * x * e, 1.0].into_iter().enumerate() {
            sums[j] += r * d;
            sizes[j] += (r * d).abs();
        }
    }
    sums.iter().zip(sizes).map(|(s, size)| s.abs() / size).fold(0.0, f64::max)
}

#[test]
fn a_decay_ends_where_newtons_method_does_and_the_score_vanishes() {
    for (seed, scale) in [(3, 2.0), (4, 10.0), (5, 300.0), (6, 3e6)] {
        let truth = [2.0 * scale, 0.5, 0.3 * scale];
        let (x, y) = drawn(300, seed, truth);
        let fit = decay().fit(Data::new(&x, &y).unwrap(), [scale, 0.8, 0.5 * scale]).unwrap();
        assert!(fit.converged(), "{scale}: {}", fit.termination());
        let oracle = newton(&x, &y, truth);
        for (j, p) in oracle.iter().enumerate() {
            // The solver's last full step is at most 1e-8 of each parameter.
            near(fit.params()[j], *p, 1e-8);
        }
        let score = score(&fit, &x, &y);
        println!("counts around {scale}: score {score:.1e}, {} evaluations", fit.evaluations());
        // Remainder of this step, relative to the scatter of y.
        assert!(score <= 1e-7, "{scale}: {score:e}");
        let mut information = Matrix3::zeros();
        for &x in &x {
            let e = (-oracle[1] * x).exp();
            let df = Vector3::new(e, -oracle[0] * x * e, 1.0);
            information += df * df.transpose() / (oracle[0] * e + oracle[2]);
        }
        let covariance = information.try_inverse().unwrap();
        for (j, error) in fit.std_errors().iter().enumerate() {
            near(*error, covariance[(j, j)].sqrt(), 1e-6);
        }
        // Up to what depends on y alone, the reported deviance is that of the hand-written cost.
        let saturated: f64 = y.iter().map(|&y| if y > 0.0 { y - y * y.ln() } else { 0.0 }).sum();
        let deviance = 2.0 * (by_hand(&x, &y, oracle).0 - saturated);
        // The difference of the two has lost the digits of each.
        let off = (fit.chi_square() - deviance).abs();
        assert!(off <= 1e-9 * deviance + 1e-14 * saturated.abs(), "{scale}: {off:e}");
        near(fit.aic(), fit.chi_square() + 6.0, 1e-15);
        near(fit.bic(), fit.chi_square() + 3.0 * 300f64.ln(), 1e-15);
        assert_eq!(fit.r_squared(), None);
    }
}

#[test]
fn nothing_counted_anywhere_means_a_rate_of_zero() {
    let (x, y) = ([0.0, 1.0, 2.0, 3.0], [0.0; 4]);
    for model in [
        CurveFit::new(|x, [a]| a + 0.0 * x),
        CurveFit::new(|x, [a]| a + 0.0 * x).bound("p0", 0.0..),
        CurveFit::new(|x, [a]| a * (-x).exp()).bound("p0", 0.0..),
    ] {
        let model = counts(model);
        let fit = model.fit(Data::new(&x, &y).unwrap(), [3.0]).unwrap();
        assert!(fit.converged(), "{}", fit.termination());
        assert!(fit.params()[0].abs() < 1e-12, "{:?}", fit.params());
        assert!(fit.cost() >= 0.0 && fit.cost() < 1e-11, "{}", fit.cost());
    }
}

/// A background that starts at 0, where most pixels are dark, finds its way.
#[test]
fn a_rate_that_starts_at_zero_moves() {
    let (x, y) = drawn(2000, 7, [3.0, 1.0, 0.05]);
    let model = decay().bounds([(0.0, 1e6), (0.0, 100.0), (0.0, 1e6)]);
    let from = |start: [f64; 3]| model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let (usual, dark) = (from([2.0, 0.8, 0.1]), from([2.0, 0.8, 0.0]));
    for fit in [&usual, &dark] {
        assert!(fit.converged(), "{}", fit.termination());
    }
    for j in 0..3 {
        let off = (usual.params()[j] - dark.params()[j]).abs() / usual.std_errors()[j];
        assert!(off < 1e-5, "parameter {j}: {off:e}");
    }
}

/// Tests an expectation of −0 at a point without events, whose weight is limited like that of +0.
#[test]
fn a_negative_slope_times_zero_is_no_negative_expectation() {
    let (x, y) = ([-5.0, -4.0, -3.0, -2.0, -1.0, 0.0], [11.0, 8.0, 5.0, 5.0, 1.0, 0.0]);
    let line = counts(CurveFit::new(|x, [slope]| slope * x));
    let fit = line.fit(Data::new(&x, &y).unwrap(), [-2.0]).unwrap();
    assert!(fit.converged(), "{fit}");
    near(fit.params()[0], y.iter().sum::<f64>() / x.iter().sum::<f64>(), 1e-9);
}

/// Tests a start at which a count lies 33 widths from a peak without background, where the expectation is 1e-241.
#[test]
fn a_count_far_from_a_narrow_peak_leaves_the_start_usable() {
    let x: Vec<f64> = (0..101).map(f64::from).collect();
    let peak = |x: f64, width: f64| 200.0 * (-0.5 * ((x - 50.0) / width).powi(2)).exp();
    let mut y: Vec<f64> = x.iter().map(|&x| peak(x, 8.0).round()).collect();
    y[0] = 1.0;
    let model = counts(CurveFit::new(|x, [height, center, width]| {
        let u = (x - center) / width;
        height * (-0.5 * u * u).exp()
    }));
    let data = Data::new(&x, &y).unwrap();
    let ends = [1.5, 9.0].map(|width| model.fit(&data, [100.0, 50.0, width]).unwrap());
    for (far, near_by) in ends[0].params().iter().zip(ends[1].params()) {
        near(*far, *near_by, 1e-6);
    }
    assert!(ends[0].converged(), "{}", ends[0]);
}

/// The information 1/f of one dark point without events must not hold what all others would change.
#[test]
fn one_dark_point_does_not_hold_a_background() {
    let line = counts(CurveFit::new(|x, [a, b]| a * x + b));
    let mut random = StdRng::seed_from_u64(10);
    let x: Vec<f64> = (0..60).map(f64::from).collect();
    let mut y: Vec<f64> = x.iter().map(|x| draw(&mut random, 0.5 * x + 4.0)).collect();
    y[0] = 0.0;
    let from = |b: f64| line.fit(Data::new(&x, &y).unwrap(), [0.3, b]).unwrap();
    let usual = from(2.0);
    assert!(usual.converged() && usual.params()[1] > 0.1, "{usual:?}");
    for dark in [0.0, 1e-300, 1e-30, 1e-12] {
        let fit = from(dark);
        println!(
            "{dark:e}: {:?}, {} evaluations, {}",
            fit.params(),
            fit.evaluations(),
            fit.termination()
        );
        assert!(fit.converged(), "{dark:e}: {}", fit.termination());
        for j in 0..2 {
            let off = (fit.params()[j] - usual.params()[j]).abs() / usual.std_errors()[j];
            assert!(off < 1e-5, "{dark:e}, parameter {j}: {off:e}");
        }
    }
}

/// A peak of one point, that is expected a million million times too low, on a background.
#[test]
fn an_outlier_leaves_the_others_their_digits() {
    let peak = counts(CurveFit::new(|x, [a, b]| a * (-(40.0 * (x - 30.0)).powi(2)).exp() + b));
    let (x, mut y) = drawn(60, 12, [0.0, 1.0, 4.0]);
    let x: Vec<f64> = (0..x.len()).map(|i| i as f64).collect();
    for huge in [1e6, 1e9, 1e12] {
        y[30] = huge;
        let mean = (y.iter().sum::<f64>() - huge) / 59.0;
        for start in [[1e-7, 1e-7], [1e-3, 1.0], [0.0, 1e-5]] {
            let fit = peak.fit(Data::new(&x, &y).unwrap(), start).unwrap();
            println!(
                "{huge:e} from {start:?}: {:?}, {} evaluations",
                fit.params(),
                fit.evaluations()
            );
            assert!(fit.converged(), "{huge:e}, {start:?}: {}", fit.termination());
            near(fit.params()[0], huge - mean, 1e-12);
            near(fit.params()[1], mean, 1e-7);
        }
    }
}

#[test]
fn counts_of_any_size_fit() {
    let (x, y) = drawn(300, 8, [100.0, 0.5, 15.0]);
    let fit_at = |scale: f64| {
        let y: Vec<f64> = y.iter().map(|y| scale * y).collect();
        let start = [50.0 * scale, 0.8, 25.0 * scale];
        decay().fit(Data::new(&x, &y).unwrap(), start).unwrap()
    };
    let unit = fit_at(1.0);
    for scale in [1e-200, 1e-30, 1e-6, 1e6, 1e12, 1e200, 1e290] {
        let fit = fit_at(scale);
        assert!(fit.converged(), "{scale:e}: {}", fit.termination());
        for (j, unit_of) in [scale, 1.0, scale].into_iter().enumerate() {
            near(fit.params()[j] / unit_of, unit.params()[j], 1e-7);
            near(fit.std_errors()[j] / unit_of * scale.sqrt(), unit.std_errors()[j], 1e-6);
        }
    }
}

/// A rate that is the exponential of a parameter cannot reach 0, but it comes near.
#[test]
fn an_exponential_rate_of_nothing_comes_near_zero() {
    let level = counts(CurveFit::new(|x, [u]| (u + 0.0 * x).exp()));
    let (x, y) = ([0.0, 1.0, 2.0, 3.0], [0.0; 4]);
    let fit = level.fit(Data::new(&x, &y).unwrap(), [0.0]).unwrap();
    assert!(fit.cost() < 1e-6 && fit.params()[0] < -10.0, "{fit:?}");
}

/// Nothing is forgiven to an outlier, but it must not break the arithmetic.
#[test]
fn one_huge_count_is_fitted_as_it_is() {
    let constant = counts(CurveFit::new(|x, [a]| a + 0.0 * x));
    let (x, mut y) = drawn(225, 9, [0.0, 1.0, 0.5]);
    let level = counts(CurveFit::new(|x, [u]| (u + 0.0 * x).exp()));
    for huge in [1e6, 1e9, 1e12] {
        y[100] = huge;
        let mean = y.iter().sum::<f64>() / 225.0;
        let data = Data::new(&x, &y).unwrap();
        let fit = constant.fit(data.clone(), [0.5]).unwrap();
        assert!(fit.converged(), "{huge}: {}", fit.termination());
        near(fit.params()[0], mean, 1e-12);
        let fit = level.fit(data, [1.0]).unwrap();
        assert!(fit.converged(), "{huge}: {}", fit.termination());
        // Where the cost no longer changes: half its digits, a hundred-thousandth of the error.
        near(fit.params()[0], mean.ln(), 1e-8);
    }
}

#[test]
fn expectations_that_are_the_counts_are_an_exact_fit() {
    let line = counts(CurveFit::new(|x, [a, b]| a * x + b));
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * x + 7.0).collect();
    let fit = line.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    near(fit.params()[0], 3.0, 1e-13);
    near(fit.params()[1], 7.0, 1e-13);
}
