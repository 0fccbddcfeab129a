//! Intervals and bands of nominally 95 % cover the truth in 93 to 97 of 100 simulated fits; where a bound
//! may be active, in as many as theory says.

use dualfit::result::{NewPoint, ProfileEnd};
use dualfit::{CurveFit, Data, Fit, GlobalFit, Sigma};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const FITS: u64 = 2000;
const TRUE: [f64; 3] = [5.0, 0.6, 1.0];
const SIGMA: f64 = 0.15;
/// Values of x at which bands are checked: at both ends of the data, between, and beyond.
const AT: [f64; 4] = [0.0, 1.7, 6.0, 9.0];

fn truth(x: f64) -> f64 {
    TRUE[0] * (-TRUE[1] * x).exp() + TRUE[2]
}

/// For each fit: whether band (4 places), prediction (4), t interval (3) and profile interval (3) cover.
/// Every second fit has profiles.
fn one(seed: u64, absolute: bool) -> [bool; 14] {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1_000_003 * seed + 17);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x: Vec<f64> = (0..24).map(|i| 0.25 * f64::from(i)).collect();
    // Errors that grow with x, known where they are absolute.
    let sigma: Vec<f64> =
        x.iter().map(|x| if absolute { SIGMA * (1.0 + 0.2 * x) } else { SIGMA }).collect();
    let y: Vec<f64> = x.iter().zip(&sigma).map(|(&x, s)| truth(x) + s * normal()).collect();
    let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let data = Data::new(&x, &y).unwrap();
    let data = if absolute { data.sigma(Sigma::Absolute(&sigma)).unwrap() } else { data };
    let fit = curve.fit(data.clone(), TRUE).unwrap();
    assert!(fit.converged(), "{seed}");
    let there = AT.map(|x| if absolute { SIGMA * (1.0 + 0.2 * x) } else { SIGMA });
    let new = if absolute { NewPoint::Each(&there) } else { NewPoint::Fitted };
    let band = fit.confidence_band(&AT, 0.95).unwrap();
    let prediction = fit.prediction_band(&AT, 0.95, new).unwrap();
    let intervals = fit.confidence_intervals(0.95).unwrap();
    let mut covered = [false; 14];
    for k in 0..4 {
        let exact = truth(AT[k]);
        covered[k] = band.lower[k] <= exact && exact <= band.upper[k];
        let observed = exact + there[k] * normal();
        covered[4 + k] = prediction.lower[k] <= observed && observed <= prediction.upper[k];
    }
    for k in 0..3 {
        covered[8 + k] = intervals[k].0 <= TRUE[k] && TRUE[k] <= intervals[k].1;
        if seed % 2 == 1 {
            continue;
        }
        let profile = curve.profile_to(&fit, data.clone(), &format!("p{k}"), 0.95).unwrap();
        let found = profile.interval(0.95).unwrap();
        covered[11 + k] = found.lower <= TRUE[k] && TRUE[k] <= found.upper;
    }
    covered
}

fn coverage(absolute: bool) {
    let all: Vec<[bool; 14]> = (0..FITS).into_par_iter().map(|seed| one(seed, absolute)).collect();
    for k in 0..14 {
        let fits = if k < 11 { FITS } else { FITS / 2 };
        let part = all.iter().filter(|covered| covered[k]).count() as f64 / fits as f64;
        println!("absolute {absolute}, {k}: {part}");
        assert!((0.93..=0.97).contains(&part), "absolute {absolute}, {k}: {part}");
    }
}

#[test]
fn bands_and_intervals_cover_where_the_scatter_is_estimated() {
    coverage(false);
}

#[test]
fn bands_and_intervals_cover_where_sigma_is_known() {
    coverage(true);
}

/// Points of decays of one rate on levels of a fifth of their amplitudes, one column per set.
fn sets(seed: u64, amplitudes: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x: Vec<f64> = (0..24).map(|i| 0.25 * f64::from(i)).collect();
    let level = |a: f64, x: f64| a * ((-TRUE[1] * x).exp() + 0.2);
    let one = |&a: &f64| x.iter().map(|&x| level(a, x) + SIGMA * normal()).collect();
    let y = amplitudes.iter().map(one).collect();
    (x, y)
}

/// Returns true for each interval of a tied model's parameters, of a derived quantity, and for bands and predictions,
/// if it covers the true value for the amplitude `a`: a, b, c = a/5, a·b, the curve and an observation at 1.7.
fn covered(fit: &Fit, a: f64, observed: f64) -> [bool; 6] {
    let intervals = fit.confidence_intervals(0.95).unwrap();
    let half = (intervals[0].1 - intervals[0].0) / (2.0 * fit.std_errors()[0]);
    let truths = [("a", a), ("b", TRUE[1]), ("c", 0.2 * a)];
    let [p, q, r] = truths.map(|(name, truth)| {
        let (lower, upper) = intervals[fit.names().iter().position(|n| n == name).unwrap()];
        lower <= truth && truth <= upper
    });
    let area = fit.propagate("a*b").unwrap();
    let derived = (area.value - a * TRUE[1]).abs() <= half * area.std_error;
    let exact = a * ((-TRUE[1] * 1.7).exp() + 0.2);
    let band = fit.confidence_band(&[1.7], 0.95).unwrap();
    let prediction = fit.prediction_band(&[1.7], 0.95, NewPoint::Fitted).unwrap();
    let curve = band.lower[0] <= exact && exact <= band.upper[0];
    let new = prediction.lower[0] <= exact + observed && exact + observed <= prediction.upper[0];
    [p, q, r, derived, curve, new]
}

fn within(all: &[Vec<bool>], what: &str) {
    for k in 0..all[0].len() {
        let part = all.iter().filter(|one| one[k]).count() as f64 / all.len() as f64;
        assert!((0.935..=0.965).contains(&part), "{what}, {k}: {part}");
    }
}

#[test]
fn tied_parameters_and_sets_of_joint_fits_are_covered() {
    let tied = CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap().tie("c", "0.2*a");
    let amplitudes = [5.0, 2.0, 3.5];
    let joint = GlobalFit::new(&tied).share(["b"]);
    let each = |seed: u64| -> [Vec<bool>; 2] {
        let (x, y) = sets(777_767 * seed + 5, &amplitudes);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(91 * seed + 3);
        let mut new = || -> f64 {
            let e: f64 = StandardNormal.sample(&mut rng);
            SIGMA * e
        };
        let data = |set: usize| Data::new(&x, &y[set]).unwrap();
        let alone = tied.fit(data(0), [("a", 5.0), ("b", 0.6)]).unwrap();
        let fit = joint.fit((0..3).map(data), [("a", 4.0), ("b", 0.6)]).unwrap();
        assert!(alone.converged() && fit.converged(), "{seed}");
        let sets = (0..3).flat_map(|set| covered(&fit.set(set).unwrap(), amplitudes[set], new()));
        let sets = sets.collect();
        [covered(&alone, amplitudes[0], new()).to_vec(), sets]
    };
    // Three standard deviations of a fraction of 2500 that is 0.95 are 0.013.
    let all: Vec<[Vec<bool>; 2]> = (0..2500).into_par_iter().map(each).collect();
    for (k, what) in ["a fit with a tie", "a joint fit with ties"].into_iter().enumerate() {
        within(&all.iter().map(|one| one[k].clone()).collect::<Vec<_>>(), what);
    }
}

/// The normal distribution's density.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Its integral between two limits, by Simpson's rule.
fn normal_between(lower: f64, upper: f64) -> f64 {
    let (lower, upper) = (lower.clamp(-9.0, 9.0), upper.clamp(-9.0, 9.0));
    let (n, h) = (400, (upper - lower) / 400.0);
    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
    (0..=n).map(|i| weight(i) * density(lower + h * f64::from(i))).sum::<f64>() * h / 3.0
}

/// A line with known errors, its slope at least 0 and in truth `true_slope` of its standard errors above.
///
/// Without the bound the estimates are normal with correlation ρ. The slope's is negative, and the bound
/// active, with probability Φ(−δ). The intercept is then that of the fit with the slope fixed at 0: its
/// error is √(1 − ρ²) of the other, it is off by −ρδ errors of the other, and it does not depend on the
/// slope's. Where the bound is not active, the intercept is as it was, given the slope.
fn line_at_a_bound(true_slope: f64) {
    const Z: f64 = 1.959_963_984_540_054;
    const FITS: u64 = 4000;
    let x: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i)).collect();
    let (n, s, q) = (12.0, x.iter().sum::<f64>(), x.iter().map(|x| x * x).sum::<f64>());
    let determinant = n * q - s * s;
    let error = SIGMA * (n / determinant).sqrt();
    let rho = -s / (n * q).sqrt();
    let line = CurveFit::parse("a + b*x", ["x"]).unwrap().bound("b", 0.0..);
    // For each fit: active; a covered; b covered by its interval; b covered by its profile.
    let one = |seed: u64| -> [bool; 4] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(424_243 * seed + 29);
        let b = true_slope * error;
        let y: Vec<f64> = x
            .iter()
            .map(|x| {
                let e: f64 = StandardNormal.sample(&mut rng);
                1.0 + b * x + SIGMA * e
            })
            .collect();
        let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(SIGMA)).unwrap();
        let fit = line.fit(data.clone(), [1.0, 0.1]).unwrap();
        let covers = |(lower, upper): (f64, f64), truth: f64| lower <= truth && truth <= upper;
        let intervals = fit.confidence_intervals(0.95).unwrap();
        let active = !fit.at_bound().is_empty();
        assert_eq!(active, intervals[1].0.is_nan());
        let profile = seed.is_multiple_of(4).then(|| {
            let profile = line.profile_to(&fit, data, "b", 0.95).unwrap().interval(0.95).unwrap();
            assert!(!active || profile.lower_end == ProfileEnd::Bound);
            covers((profile.lower, profile.upper), b)
        });
        [active, covers(intervals[0], 1.0), covers(intervals[1], b), profile.unwrap_or(false)]
    };
    let all: Vec<[bool; 4]> = (0..FITS).into_par_iter().map(one).collect();
    let expect = |k: usize, fits: u64, expected: f64, what: &str| {
        let part = all.iter().filter(|one| one[k]).count() as f64 / fits as f64;
        let deviation = (expected * (1.0 - expected) / fits as f64).sqrt();
        println!("{what}, {true_slope}: {part}, in theory {expected}");
        assert!((part - expected).abs() < 3.0 * deviation, "{what}: {part}, in theory {expected}");
    };
    let d = true_slope;
    expect(0, FITS, normal_between(-9.0, -d), "bound active");
    let root = (1.0 - rho * rho).sqrt();
    let held = normal_between(-Z + rho * d / root, Z + rho * d / root);
    let steps = 2000;
    let h = (d + 9.0) / f64::from(steps);
    let free = (0..steps).map(|i| {
        let z = h * (f64::from(i) + 0.5) - d;
        h * density(z) * normal_between((-Z - rho * z) / root, (Z - rho * z) / root)
    });
    let free: f64 = free.sum();
    expect(1, FITS, normal_between(-9.0, -d) * held + free, "a");
    // An interval there is where the slope is positive.
    expect(2, FITS, normal_between((-Z).max(-d), Z), "b");
    // A profile's region at the bound holds all slopes up to where the cost has risen: it covers a slope of 0
    // always, and one of d errors where (d − ẑ)² − ẑ² is at most z², for estimates of ẑ < 0.
    let least = (0.5 * (d - Z * Z / d.max(1e-300))).clamp(-9.0, 0.0);
    let below = if d == 0.0 { normal_between(-9.0, 0.0) } else { normal_between(least - d, -d) };
    expect(3, FITS / 4, below + normal_between((-Z).max(-d), Z), "b by its profile");
}

#[test]
fn a_parameter_at_its_bound_in_half_of_the_fits_is_covered_as_theory_says() {
    line_at_a_bound(0.0);
}

#[test]
fn a_parameter_near_its_bound_is_covered_as_theory_says() {
    line_at_a_bound(1.0);
}
