//! The bias of fits whose curve bends within the errors of x, against simulated experiments with known parameters.

use dualfit::{CurveFit, Data, Fit, GlobalFit, Sigma, Warning};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

const EXPERIMENTS: usize = 400;

/// Values of x, one column per variable, and y.
type Points = (Vec<Vec<f64>>, Vec<f64>);

/// Experiments with normal errors of these standard deviations about points of the curve.
fn experiments(
    x: &[Vec<f64>],
    curve: impl Fn(&[f64]) -> f64,
    (x_sigma, sigma): (&[f64], f64),
) -> Vec<Points> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let experiment = |_| {
        let of_point = |i: usize| curve(&x.iter().map(|c| c[i]).collect::<Vec<_>>());
        let y = (0..x[0].len()).map(|i| of_point(i) + sigma * normal()).collect();
        let noisy = x.iter().zip(x_sigma).map(|(column, error)| {
            let noisy: Vec<f64> = column.iter().map(|x| x + error * normal()).collect();
            noisy
        });
        (noisy.collect(), y)
    };
    (0..EXPERIMENTS).map(experiment).collect()
}

fn data<'a>((x, y): &'a Points, x_sigma: &'a [f64], sigma: Sigma<'a>) -> Data<'a> {
    let columns: Vec<&[f64]> = x.iter().map(Vec::as_slice).collect();
    let x_sigma: Vec<&[f64]> = x_sigma.chunks(1).collect();
    Data::new(columns, y).unwrap().sigma(sigma).unwrap().x_sigma(x_sigma).unwrap()
}

/// The reported bias of a parameter; 0 without a warning.
fn bias(fit: &Fit, parameter: &str) -> f64 {
    let of = |w: &Warning| match w {
        Warning::Biased { name, bias, ratio } if name == parameter => {
            assert!((ratio * fit.std_error(parameter).unwrap() / bias - 1.0).abs() < 1e-12);
            Some(*bias)
        }
        _ => None,
    };
    fit.warnings().iter().find_map(of).unwrap_or(0.0)
}

/// Mean of (value − truth)/error, and the parts of intervals of one and 1.96 standard errors that cover the truth.
fn scores(fits: &[Fit], truth: (&str, f64), corrected: bool) -> [f64; 3] {
    let z = fits.iter().map(|fit| {
        let value = fit.param(truth.0).unwrap() - if corrected { bias(fit, truth.0) } else { 0.0 };
        (value - truth.1) / fit.std_error(truth.0).unwrap()
    });
    let z: Vec<f64> = z.collect();
    let n = z.len() as f64;
    let within = |limit: f64| z.iter().filter(|z| z.abs() <= limit).count() as f64 / n;
    [z.iter().sum::<f64>() / n, within(1.0), within(1.96)]
}

fn grid(n: usize, range: f64) -> Vec<f64> {
    (0..n).map(|i| range * i as f64 / (n - 1) as f64).collect()
}

/// The amplitude of a sine is too large by about a standard error, and is not if the reported bias is subtracted. Relative
/// errors of a tenth have the same bias.
#[test]
fn the_bias_of_a_sine_is_reported() {
    let model = CurveFit::new(|x, [a, w, p]| a * (w * x + p).sin()).names(["a", "w", "p"]);
    let sines = experiments(&[grid(30, 6.0)], |x| (2.0 * x[0] + 0.5).sin(), (&[0.15], 0.1));
    for (x_sigma, sigma) in
        [([0.15], Sigma::Constant(0.1)), ([0.015], Sigma::Relative(&[0.01; 30]))]
    {
        let fit = |points| model.fit(data(points, &x_sigma, sigma), [1.0, 2.0, 0.5]).unwrap();
        let fits: Vec<Fit> = sines.iter().map(fit).filter(Fit::converged).collect();
        assert_eq!(fits.len(), EXPERIMENTS);
        let warned = fits.iter().filter(|fit| bias(fit, "a") > 0.0).count();
        let [plain, corrected] = [false, true].map(|c| scores(&fits, ("a", 1.0), c));
        println!("{warned} warned; mean, cover: {plain:.3?}, without the bias {corrected:.3?}");
        assert!(warned as f64 > 0.95 * EXPERIMENTS as f64, "{warned}");
        assert!(plain[0] > 0.7 && plain[2] < 0.9, "{plain:?}");
        assert!(corrected[0].abs() < 0.35, "{corrected:?}");
        assert!(corrected[1] > 0.58 && corrected[2] > 0.89, "{corrected:?}");
        for other in ["w", "p"] {
            assert!(fits.iter().all(|fit| bias(fit, other) == 0.0), "{other}");
        }
    }
}

/// Curves that hardly bend within the errors have no warning.
#[test]
fn gentle_curves_are_not_biased() {
    let sine = CurveFit::new(|x, [a, w, p]| a * (w * x + p).sin());
    let line = CurveFit::new(|x, [a, b]| a + b * x);
    let sines = experiments(&[grid(30, 6.0)], |x| (x[0] + 0.5).sin(), (&[0.1], 0.1));
    let lines = experiments(&[grid(30, 6.0)], |x| 1.0 + 2.0 * x[0], (&[0.5], 0.1));
    let is_biased = |fit: &Fit| fit.warnings().iter().any(|w| matches!(w, Warning::Biased { .. }));
    for points in &sines {
        let data = data(points, &[0.1], Sigma::Constant(0.1));
        assert!(!is_biased(&sine.fit(data, [1.0, 1.0, 0.5]).unwrap()));
    }
    for points in &lines {
        let data = data(points, &[0.5], Sigma::Constant(0.1));
        assert!(!is_biased(&line.fit(data, [1.0, 2.0]).unwrap()));
    }
}

/// A peak over two variables whose errors differ.
#[test]
fn the_bias_of_a_spot_is_reported() {
    let model = CurveFit::multivariate(|[x, y], [a, u, v, s]| {
        a * (-0.5 * ((x - u).powi(2) + (y - v).powi(2)) / (s * s)).exp()
    });
    let model = model.names(["a", "u", "v", "s"]);
    let (x, y) = (0..225).map(|i| (f64::from(i % 15), f64::from(i / 15))).unzip();
    let peak = |x: &[f64]| (-0.5 * ((x[0] - 7.2).powi(2) + (x[1] - 6.8).powi(2)) / 6.25).exp();
    let spots = experiments(&[x, y], peak, (&[0.3, 0.2], 0.05));
    let fit = |points| {
        let data = data(points, &[0.3, 0.2], Sigma::Constant(0.05));
        model.fit(data, [1.0, 7.0, 7.0, 2.5]).unwrap()
    };
    let fits: Vec<Fit> = spots.iter().map(fit).collect();
    for (name, truth, biased) in [("a", 1.0, true), ("u", 7.2, false)] {
        let [plain, corrected] = [false, true].map(|c| scores(&fits, (name, truth), c));
        println!("{name}: {plain:.3?}, without the bias {corrected:.3?}");
        assert!(!biased || plain[0].abs() > 0.4, "{name}: {plain:?}");
        assert!(corrected[0].abs() < 0.2, "{name}: {corrected:?}");
    }
}

/// A joint fit of two sets has the bias of one fit of all points; a set of its own parameters that of its own fit.
#[test]
fn joint_fits_report_the_same_bias() {
    let model = CurveFit::new(|x, [a, w, p]| a * (w * x + p).sin()).names(["a", "w", "p"]);
    let sines = experiments(&[grid(30, 6.0)], |x| (2.0 * x[0] + 0.5).sin(), (&[0.15], 0.1));
    let start = [1.0, 2.0, 0.5];
    for pair in sines[..10].chunks(2) {
        let sets = || [0, 1].map(|i| data(&pair[i], &[0.15], Sigma::Constant(0.1)));
        let joint = GlobalFit::new(&model).share(["a", "w", "p"]);
        let joint = joint.fit(sets(), start).unwrap();
        let both = |k: fn(&Points) -> &Vec<f64>| [&k(&pair[0])[..], &k(&pair[1])[..]].concat();
        let all: Points = (vec![both(|points| &points.0[0])], both(|points| &points.1));
        let whole = model.fit(data(&all, &[0.15], Sigma::Constant(0.1)), start).unwrap();
        let (found, expected) = (bias(joint.fit(), "a"), bias(&whole, "a"));
        assert!(expected > 0.0 && (found / expected - 1.0).abs() < 1e-6, "{found}, {expected}");
        let apart = GlobalFit::new(&model).fit(sets(), [start, start].concat()).unwrap();
        for (i, set) in sets().into_iter().enumerate() {
            let alone = model.fit(set, start).unwrap();
            let (found, expected) = (bias(&apart.set(i).unwrap(), "a"), bias(&alone, "a"));
            assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found}, {expected}");
        }
    }
}
