//! Maximum likelihood for counts. Oracles: closed solutions, the score equations with hand-written
//! derivatives, simulation, and the Cramér-Rao bound.

use dualfit::{CurveFit, Data, Error, Estimator, Fit, Loss, Sigma};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Poisson};

fn counts(model: CurveFit) -> CurveFit {
    model.estimator(Estimator::Poisson)
}

fn draw(random: &mut StdRng, expected: f64) -> f64 {
    if expected > 0.0 { Poisson::new(expected).unwrap().sample(random) } else { 0.0 }
}

#[test]
fn a_constant_is_the_mean_and_a_slope_the_ratio_of_sums() {
    let x: Vec<f64> = (1..40).map(f64::from).collect();
    let y: Vec<f64> = (1..40).map(|i| f64::from((i * 7) % 11)).collect();
    let n = x.len() as f64;
    let (sx, sy) = (x.iter().sum::<f64>(), y.iter().sum::<f64>());
    let mean =
        counts(CurveFit::new(|x, [a]| a + 0.0 * x)).fit(Data::new(&x, &y).unwrap(), [1.0]).unwrap();
    assert!(mean.converged());
    assert!((mean.params()[0] - sy / n).abs() < 1e-12 * sy / n);
    // The information on a mean is n / mean.
    assert!((mean.std_errors()[0] - (sy / n / n).sqrt()).abs() < 1e-9);
    let slope =
        counts(CurveFit::new(|x, [a]| a * x)).fit(Data::new(&x, &y).unwrap(), [3.0]).unwrap();
    assert!((slope.params()[0] - sy / sx).abs() < 1e-12 * sy / sx);
    assert!((slope.std_errors()[0] - (sy / sx / sx).sqrt()).abs() < 1e-9);
    let deviance: f64 = x
        .iter()
        .zip(&y)
        .map(|(x, &y)| {
            let f = sy / sx * x;
            2.0 * (f - y + if y > 0.0 { y * (y / f).ln() } else { 0.0 })
        })
        .sum();
    assert!((slope.chi_square() - deviance).abs() < 1e-11 * deviance);
}

fn decay() -> CurveFit {
    counts(CurveFit::new(|t, [a, k, b]| a * (-k * t).exp() + b))
}

/// Σ (1 − y/f)·∂f for the decay, relative to Σ |∂f|.
fn scores(fit: &Fit, t: &[f64], y: &[f64]) -> [f64; 3] {
    let [a, k, b] = *fit.params() else { panic!("three parameters") };
    let (mut sums, mut sizes) = ([0.0; 3], [0.0; 3]);
    for (t, y) in t.iter().zip(y) {
        let e = (-k * t).exp();
        let f = a * e + b;
        for (j, d) in [e, -a * t * e, 1.0].into_iter().enumerate() {
            sums[j] += (1.0 - y / f) * d;
            sizes[j] += d.abs();
        }
    }
    std::array::from_fn(|j| sums[j] / sizes[j])
}

#[test]
fn the_scores_vanish_at_the_solution() {
    let mut random = StdRng::seed_from_u64(1);
    let t: Vec<f64> = (0..120).map(|i| 0.5 * f64::from(i)).collect();
    for peak in [3.0, 30.0, 3e3, 3e6] {
        let y: Vec<f64> =
            t.iter().map(|t| draw(&mut random, peak * (-0.1 * t).exp() + 0.1 * peak)).collect();
        let fit = decay().fit(Data::new(&t, &y).unwrap(), [0.5 * peak, 0.2, 0.2 * peak]).unwrap();
        assert!(fit.converged(), "{peak}: {}", fit.termination());
        for score in scores(&fit, &t, &y) {
            assert!(score.abs() < 1e-9, "{peak}: {score:e}");
        }
    }
}

/// Photons of a spot of width 1.4 on a background, 15 × 15 pixels.
fn spot() -> CurveFit {
    CurveFit::multivariate(|[x, y], [n, x0, y0, s, b]| {
        let square = s.powi(2);
        let area = 2.0 * std::f64::consts::PI * square;
        n / area * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * square)).exp() + b
    })
}

#[test]
fn few_photons_are_counted_without_bias_and_with_the_right_errors() {
    let truth = [300.0, 7.2, 6.8, 1.4, 1.0];
    let xs: Vec<f64> = (0..225).map(|i| f64::from(i % 15)).collect();
    let ys: Vec<f64> = (0..225).map(|i| f64::from(i / 15)).collect();
    let program = spot().program().unwrap();
    let expected: Vec<f64> =
        xs.iter().zip(&ys).map(|(&x, &y)| program.evaluate(&[x, y], &truth)).collect();
    let mut random = StdRng::seed_from_u64(20);
    let runs = 1500;
    let (mut found, mut errors, mut weighted) = (Vec::new(), [0.0; 5], 0.0);
    for _ in 0..runs {
        let z: Vec<f64> = expected.iter().map(|&f| draw(&mut random, f)).collect();
        let data = Data::new([&xs, &ys], &z).unwrap();
        let start = [250.0, 7.0, 7.0, 1.5, 1.2];
        let fit = counts(spot()).fit(data.clone(), start).unwrap();
        assert!(fit.converged(), "{}", fit.termination());
        (0..5).for_each(|j| errors[j] += fit.std_errors()[j] / f64::from(runs));
        found.push(fit.params().to_vec());
        // Neyman's weights, what least squares would have it.
        let sigma: Vec<f64> = z.iter().map(|z| z.max(1.0).sqrt()).collect();
        let least = spot().fit(data.sigma(Sigma::Absolute(&sigma)).unwrap(), start).unwrap();
        weighted += least.params()[0] / f64::from(runs);
    }
    let n = f64::from(runs);
    for j in 0..5 {
        let mean = found.iter().map(|p| p[j]).sum::<f64>() / n;
        let scatter = (found.iter().map(|p| (p[j] - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        println!(
            "parameter {j}: {mean:.4} ± {scatter:.4}, said {:.4}, truth {}",
            errors[j], truth[j]
        );
        // The bias of maximum likelihood is of order 1/photons: a tenth of an error at most here.
        assert!((mean - truth[j]).abs() < 0.1 * scatter, "parameter {j}: {mean} ± {scatter}");
        assert!(
            (errors[j] / scatter - 1.0).abs() < 0.05,
            "parameter {j}: {} said, {scatter}",
            errors[j]
        );
    }
    println!("least squares with weights 1/max(y, 1): {weighted:.1} photons");
    assert!(weighted < 0.97 * truth[0], "least squares is not biased: {weighted}");

    // Cramér-Rao: the inverse of the information at the truth, by differences of the model.
    let partial = |i: usize, j: usize| {
        let at = |h: f64| {
            let mut p = truth;
            p[j] += h;
            program.evaluate(&[xs[i], ys[i]], &p)
        };
        let h = 1e-5 * truth[j];
        (at(h) - at(-h)) / (2.0 * h)
    };
    let information: nalgebra_0_34::Matrix5<f64> = nalgebra_0_34::Matrix5::from_fn(|a, b| -> f64 {
        (0..225).map(|i| partial(i, a) * partial(i, b) / expected[i]).sum()
    });
    let bound = information.try_inverse().unwrap();
    for j in 0..5 {
        let least = bound[(j, j)].sqrt();
        assert!(
            (errors[j] / least - 1.0).abs() < 0.05,
            "parameter {j}: {} against {least}",
            errors[j]
        );
    }
}

#[test]
fn zeros_and_one_huge_count() {
    let t: Vec<f64> = (0..50).map(f64::from).collect();
    let nothing = vec![0.0; 50];
    let level = counts(CurveFit::new(|t, [u]| (u + 0.0 * t).exp()));
    let fit = level.fit(Data::new(&t, &nothing).unwrap(), [0.0]).unwrap();
    assert!(fit.cost() < 1e-6 && fit.params()[0] < -10.0, "{fit:?}");
    let mut one = vec![1.0; 50];
    one[20] = 1e12;
    let fit = level.fit(Data::new(&t, &one).unwrap(), [1.0]).unwrap();
    let mean = (1e12 + 49.0) / 50.0f64;
    assert!(fit.converged() && (fit.params()[0] - mean.ln()).abs() < 1e-10, "{fit:?}");
}

#[test]
fn what_has_no_place_among_counts_is_said() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let line = || counts(CurveFit::new(|x, [a, b]| a * x + b));
    let y = [1.0, 2.0, -1.0, 4.0];
    let error = line().fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap_err();
    assert_eq!(error, Error::NegativeCount { index: 2, value: -1.0 });
    let y = [1.0, 2.0, 1.0, 4.0];
    let data = Data::new(&x, &y).unwrap();
    let with_sigma = data.clone().sigma(Sigma::Constant(1.0)).unwrap();
    let error = line().fit(with_sigma, [1.0, 1.0]).unwrap_err();
    assert_eq!(error, Error::NotForCounts { what: "sigma" });
    let error = line().loss(Loss::Huber { scale: 1.0 }).fit(data.clone(), [1.0, 1.0]).unwrap_err();
    assert_eq!(error, Error::NotForCounts { what: "robust loss" });
    match line().fit(data.clone(), [1.0, -1.5]).unwrap_err() {
        Error::ModelNotPositiveAtStart { index: 0, value, .. } => assert_eq!(value, -1.5),
        other => panic!("{other}"),
    }
    // A trial that is not positive is a wall, not an end.
    let fit = line().fit(data, [5.0, 0.01]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    assert!(fit.to_string().contains("Poisson maximum likelihood"), "{fit}");
}
