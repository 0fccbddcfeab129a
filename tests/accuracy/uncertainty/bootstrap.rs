//! Bootstraps against closed forms, against SciPy's, and against simulation.

use dualfit::result::{BootstrapInterval, Replicates, Resample};
use dualfit::{Bootstrap, CurveFit, Data, Estimator, Fit, Loss, Matrix, Sigma};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use std::collections::HashMap;
use std::fs;

fn line() -> CurveFit {
    CurveFit::new(|x, [a, b]| a + b * x).names(["a", "b"])
}

fn resampled(curve: &CurveFit, data: &Data<'_>, how: Resample, n: usize) -> (Fit, Replicates) {
    let fit = curve.fit(data.clone(), vec![1.0; curve.parameters().len()]).unwrap();
    let replicates = curve.bootstrap(&fit, data.clone(), &Bootstrap::new(n).resample(how).seed(3));
    let replicates = replicates.unwrap();
    assert_eq!((replicates.len(), replicates.failed(), replicates.not_run()), (n, 0, 0));
    (fit, replicates)
}

/// Twenty points about a line, of errors that are far from normal.
fn points() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..20).map(|i| 0.02 * f64::from(i * i)).collect();
    let y = x.iter().enumerate().map(|(i, x)| 1.0 + 0.5 * x + 0.4 * (1.7 * i as f64).sin().powi(3));
    (x.clone(), y.collect())
}

/// Within four standard errors of a standard deviation of 40,000 values, of little excess kurtosis.
#[track_caller]
fn assert_near(found: &[f64], expected: &[f64]) {
    for (a, b) in found.iter().zip(expected) {
        assert!((a / b - 1.0).abs() < 4.0 / 80_000_f64.sqrt(), "{found:?} {expected:?}");
    }
}

const MANY: usize = 40_000;

#[test]
fn standard_errors_of_a_line_are_those_of_closed_forms() {
    let (x, y) = points();
    let data = Data::new(&x, &y).unwrap();
    // Normal errors of the estimated variance: the covariance of the fit itself.
    let (fit, replicates) = resampled(&line(), &data, Resample::Parametric, MANY);
    assert_near(&replicates.std_errors(), &fit.std_errors());
    // Residuals of leverage-corrected size: their variance in place of the estimated one.
    let (fit, replicates) = resampled(&line(), &data, Resample::Residuals, MANY);
    let judged = fit.diagnostics(&data).unwrap();
    let n = y.len() as f64;
    let corrected =
        judged.residuals.iter().zip(&judged.leverage).map(|(r, h)| r / (1.0 - h).sqrt());
    let corrected: Vec<f64> = corrected.collect();
    let mean = corrected.iter().sum::<f64>() / n;
    let variance = corrected.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
    let ratio = variance.sqrt() / fit.residual_std_error().unwrap();
    let expected: Vec<f64> = fit.std_errors().iter().map(|e| e * ratio).collect();
    assert_near(&replicates.std_errors(), &expected);
    // A bias of none, to its own standard error.
    for (bias, error) in replicates.bias().iter().zip(&expected) {
        assert!(bias.abs() < 4.0 * error / (MANY as f64).sqrt());
    }
    // Absolute errors, one for all and one for each, are those that are drawn.
    let sigma: Vec<f64> = x.iter().map(|x| 0.1 + 0.05 * x).collect();
    for sigma in [Sigma::Constant(0.7), Sigma::Absolute(&sigma), Sigma::Relative(&sigma)] {
        let data = data.clone().sigma(sigma).unwrap();
        let (fit, replicates) = resampled(&line(), &data, Resample::Parametric, MANY);
        assert_near(&replicates.std_errors(), &fit.std_errors());
    }
}

/// Residuals in units of their sigmas: the spread of the refits grows with the errors where they are large.
#[test]
fn weighted_residuals_are_drawn_in_units_of_sigma() {
    let x: Vec<f64> = (0..400).map(|i| 0.01 * f64::from(i)).collect();
    let sigma: Vec<f64> = x.iter().map(|x| 0.02 * (1.0 + x * x)).collect();
    let error = |i: usize| 1.5_f64.sqrt() * ((0.618 * i as f64).fract() * 4.0 - 2.0);
    let y: Vec<f64> = (0..400).map(|i| 1.0 + 0.5 * x[i] + sigma[i] * error(i)).collect();
    for sigma in [Sigma::Absolute(&sigma), Sigma::Relative(&sigma)] {
        let data = Data::new(&x, &y).unwrap().sigma(sigma).unwrap();
        let (fit, replicates) = resampled(&line(), &data, Resample::Residuals, MANY);
        let scale = match sigma {
            // The residuals give the size of the errors, for every kind of sigma.
            Sigma::Absolute(_) => fit.residual_std_error().unwrap(),
            _ => 1.0,
        };
        let expected: Vec<f64> = fit.std_errors().iter().map(|e| e * scale).collect();
        for (a, b) in replicates.std_errors().iter().zip(&expected) {
            assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
        }
    }
}

#[test]
fn correlated_errors_counts_priors_and_errors_in_x_have_theirs() {
    let (x, y) = points();
    let of = |i: usize, j: usize| 0.04 * 0.6_f64.powi(i.abs_diff(j) as i32);
    let covariance = Matrix::from_fn(20, 20, of);
    let mask: Vec<bool> = (0..20).map(|i| i % 7 != 3).collect();
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Covariance(&covariance)).unwrap();
    let data = data.mask(&mask).unwrap();
    let (fit, replicates) = resampled(&line(), &data, Resample::Parametric, 10_000);
    for (a, b) in replicates.std_errors().iter().zip(fit.std_errors()) {
        assert!((a / b - 1.0).abs() < 0.03, "{a} {b}");
    }
    assert!(replicates.bca_intervals(0.9).is_ok());

    // The mean of n counts has the variance of one by n, and is the estimate.
    let counts = [3.0, 7.0, 4.0, 6.0, 5.0, 2.0, 9.0, 4.0];
    let level =
        CurveFit::new(|x, [m]| m + 0.0 * x).estimator(Estimator::Poisson).bound("p0", 0.0..);
    let at: Vec<f64> = (0..8).map(f64::from).collect();
    let data = Data::new(&at, &counts).unwrap();
    let (_, replicates) = resampled(&level, &data, Resample::Parametric, MANY);
    assert_near(&replicates.std_errors(), &[(5.0_f64 / 8.0).sqrt()]);
    let (_, replicates) = resampled(&level, &data, Resample::Pairs, MANY);
    let variance = counts.iter().map(|c| (c - 5.0_f64).powi(2)).sum::<f64>() / 8.0;
    assert_near(&replicates.std_errors(), &[(variance / 8.0).sqrt()]);

    // The errors of a fit with priors are those of points and prior together.
    let known = line().prior("b", 0.45, 0.02);
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.3)).unwrap();
    let (fit, replicates) = resampled(&known, &data, Resample::Parametric, 10_000);
    for (a, b) in replicates.std_errors().iter().zip(fit.std_errors()) {
        assert!((a / b - 1.0).abs() < 0.03, "{a} {b}");
    }
    // Pairs leave the prior's mean where it is, and so the mean of the refits where the fit is, but for what 20 points
    // of uneven leverage do; about the fitted value it would move by more than a standard error.
    let (fit, replicates) = resampled(&known, &data, Resample::Pairs, 10_000);
    for (bias, error) in replicates.bias().iter().zip(fit.std_errors()) {
        assert!(bias.abs() < 0.15 * error, "{bias} {error}");
    }

    // Errors in x of such a size that they count as much as those of y.
    let data = data.x_sigma(&[0.5]).unwrap();
    let (fit, replicates) = resampled(&line(), &data, Resample::Parametric, 10_000);
    for (a, b) in replicates.std_errors().iter().zip(fit.std_errors()) {
        assert!((a / b - 1.0).abs() < 0.04, "{a} {b}");
    }
    assert!(resampled(&line(), &data, Resample::Pairs, 2000).1.bca_intervals(0.9).is_ok());
}

/// The mean of a sample drawn with replacement has the variance of the sample, with n in the place of n − 1, by n;
/// under a robust loss whole points carry their weight along.
#[test]
fn pairs_of_a_constant_are_samples_of_a_mean() {
    let (x, y) = points();
    let level = CurveFit::new(|x, [m]| m + 0.0 * x);
    let (fit, replicates) = resampled(&level, &Data::new(&x, &y).unwrap(), Resample::Pairs, MANY);
    let n = y.len() as f64;
    let variance = y.iter().map(|y| (y - fit.params()[0]).powi(2)).sum::<f64>() / n;
    assert_near(&replicates.std_errors(), &[(variance / n).sqrt()]);

    // One point in 20 far out is drawn up to several times, and still pulls as one weak point each time.
    let mut far = y.clone();
    far[19] = 1e6;
    let robust = level.loss(Loss::Huber { scale: 0.3 });
    let (fit, replicates) =
        resampled(&robust, &Data::new(&x, &far).unwrap(), Resample::Pairs, 4000);
    let spread = replicates.std_errors()[0];
    assert!(
        spread < 2.0 && (fit.params()[0] - replicates.quantity("p0").unwrap().estimate()) == 0.0
    );
}

#[test]
fn intervals_are_those_of_scipy() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/uncertainty/bootstrap.csv");
    let text = fs::read_to_string(path).unwrap();
    let rows = || text.lines().skip(2).map(|row| row.split(',').collect::<Vec<_>>());
    let number = |text: &str| text.parse::<f64>().unwrap();
    let mut made: HashMap<String, Replicates> = HashMap::new();
    for case in ["skew", "line"] {
        let points = rows().filter(|row| row[0] == "data" && row[1] == case);
        let (x, y): (Vec<f64>, Vec<f64>) =
            points.map(|row| (number(row[2]), number(row[3]))).unzip();
        let curve = if case == "line" { line() } else { CurveFit::new(|x, [m]| m + 0.0 * x) };
        let data = Data::new(&x, &y).unwrap();
        made.insert(case.into(), resampled(&curve, &data, Resample::Pairs, 100_000).1);
    }
    let mut compared = 0;
    for row in rows().filter(|row| row[0] == "interval") {
        let (case, name) = match row[1] {
            "skew" => ("skew", "p0"),
            "slope" => ("line", "b"),
            _ => ("line", "a"),
        };
        let quantity = made[case].quantity(name).unwrap();
        let level = number(row[3]);
        let BootstrapInterval { lower, upper, lower_error, upper_error } = match row[2] {
            "BCa" => quantity.bca_interval(level).unwrap(),
            _ => quantity.percentile_interval(level).unwrap(),
        };
        // SciPy's ends are means of 20.
        for (end, error, k) in [(lower, lower_error, 4), (upper, upper_error, 5)] {
            let theirs = number(row[k + 2]) / 20_f64.sqrt();
            let apart = (end - number(row[k])) / error.hypot(theirs);
            assert!(apart.abs() < 4.0, "{row:?}: {end} ± {error}, {apart}");
            compared += 1;
        }
    }
    assert_eq!(compared, 24);
}

/// With other seeds the ends of intervals scatter as their standard errors say.
#[test]
fn the_errors_of_ends_are_right() {
    let (x, y) = points();
    let data = Data::new(&x, &y).unwrap();
    let fit = line().fit(data.clone(), [1.0, 1.0]).unwrap();
    let ends = |seed| {
        let how = Bootstrap::new(1000).resample(Resample::Pairs).seed(seed);
        let b = line().bootstrap(&fit, data.clone(), &how).unwrap().quantity("b").unwrap();
        let (p, q) = (b.percentile_interval(0.9).unwrap(), b.bca_interval(0.9).unwrap());
        [
            (p.lower, p.lower_error),
            (p.upper, p.upper_error),
            (q.lower, q.lower_error),
            (q.upper, q.upper_error),
        ]
    };
    let all: Vec<[(f64, f64); 4]> = (0..400).into_par_iter().map(ends).collect();
    for k in 0..4 {
        let n = all.len() as f64;
        let mean = all.iter().map(|ends| ends[k].0).sum::<f64>() / n;
        let spread = (all.iter().map(|e| (e[k].0 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let said = all.iter().map(|ends| ends[k].1).sum::<f64>() / n;
        println!("end {k}: {spread:.3e}, said {said:.3e}");
        assert!((said / spread - 1.0).abs() < 0.15, "end {k}: {spread} {said}");
    }
}

const TRUE: [f64; 2] = [2.0, 1.0];
const SETS: u64 = 500;

/// For each set of 30 points about a decay, whether the true lifetime lies [below, above] an interval of each kind.
fn misses(errors: fn(&mut Xoshiro256PlusPlus, f64) -> f64, how: Resample) -> [[f64; 2]; 2] {
    let x: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    let curve = CurveFit::parse("a*exp(-b*x)", ["x"]).unwrap().derive("life", "1/b");
    let one = |seed: u64| {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1_000_003 * seed + 5);
        let truth = |x: f64| TRUE[0] * (-TRUE[1] * x).exp();
        let y: Vec<f64> = x.iter().map(|&x| truth(x) + errors(random, truth(x))).collect();
        let data = Data::new(&x, &y).unwrap();
        let fit = curve.fit(data.clone(), TRUE).unwrap();
        let how = Bootstrap::new(1999).resample(how).seed(seed);
        let life = curve.bootstrap(&fit, data, &how).unwrap().quantity("life").unwrap();
        [life.percentile_interval(0.95), life.bca_interval(0.95)].map(|found| {
            let found = found.unwrap();
            [1.0 < found.lower, 1.0 > found.upper]
                .map(|missed| u32::from(missed) as f64 / SETS as f64)
        })
    };
    let all: Vec<[[f64; 2]; 2]> = (0..SETS).into_par_iter().map(one).collect();
    let sum = |m: usize, s: usize| all.iter().map(|found| found[m][s]).sum();
    [[sum(0, 0), sum(0, 1)], [sum(1, 0), sum(1, 1)]]
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    StandardNormal.sample(random)
}

/// Of 500 sets, 95 % with a standard deviation of 1 %. For 30 points and normal errors intervals fall short by
/// about z(1 + z²)/(4n)·2φ(z), 1.5 %, for they know nothing of Student's t.
#[test]
fn intervals_cover_the_lifetime_of_a_decay() {
    let even = |random: &mut Xoshiro256PlusPlus, _: f64| 0.2 * normal(random);
    let skew = |random: &mut Xoshiro256PlusPlus, _: f64| {
        let exponential: f64 = Exp1.sample(random);
        0.2 * (exponential - 1.0)
    };
    for (name, how, errors) in [
        ("normal", Resample::Parametric, even as fn(&mut Xoshiro256PlusPlus, f64) -> f64),
        ("normal", Resample::Residuals, even),
        ("skew", Resample::Residuals, skew),
    ] {
        let found = misses(errors, how);
        println!("{name} {how:?}: percentile {:?}, BCa {:?}", found[0], found[1]);
        for [below, above] in found {
            assert!((0.915..=0.965).contains(&(1.0 - below - above)), "{name} {how:?} {found:?}");
        }
    }
}

/// Errors that are large where the curve is: pairs know it, and residuals, of which each may be anywhere, do not. Some
/// ten of the 30 points count, too few to tell how skew errors are, so that BCa intervals of pairs fall short.
#[test]
fn pairs_cover_where_errors_are_uneven() {
    let uneven = |random: &mut Xoshiro256PlusPlus, f: f64| 0.15 * f * normal(random);
    let [pairs, residuals] = [Resample::Pairs, Resample::Residuals].map(|how| misses(uneven, how));
    println!("pairs {pairs:?}, residuals {residuals:?}");
    let covered = |[below, above]: [f64; 2]| 1.0 - below - above;
    assert!((0.9..=0.965).contains(&covered(pairs[0])), "{pairs:?}");
    assert!((0.84..=0.965).contains(&covered(pairs[1])), "{pairs:?}");
    for (pairs, residuals) in pairs.into_iter().zip(residuals) {
        assert!(covered(residuals) < covered(pairs) - 0.04, "{residuals:?}");
    }
}
