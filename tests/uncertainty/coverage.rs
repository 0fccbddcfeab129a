//! Intervals and bands of nominally 95 % cover the truth in 93 to 97 of 100 simulated fits.

use dualfit::{CurveFit, Data, NewPoint, Sigma};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const FITS: u64 = 2000;
const TRUE: [f64; 3] = [5.0, 0.6, 1.0];
const SIGMA: f64 = 0.15;
/// Where bands are looked at: at both ends of the data, between, and beyond.
const AT: [f64; 4] = [0.0, 1.7, 6.0, 9.0];

fn truth(x: f64) -> f64 {
    TRUE[0] * (-TRUE[1] * x).exp() + TRUE[2]
}

/// For each fit: whether band (4 places), prediction (4), t interval (3) and profile interval (3) cover.
fn one(seed: u64, absolute: bool) -> [bool; 14] {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
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
        let profile = curve.profile_to(&fit, data.clone(), &format!("p{k}"), 0.95).unwrap();
        let found = profile.interval(0.95).unwrap();
        covered[11 + k] = found.lower <= TRUE[k] && TRUE[k] <= found.upper;
    }
    covered
}

fn coverage(absolute: bool) {
    let all: Vec<[bool; 14]> =
        (0..FITS).into_par_iter().map(|seed| one(1_000_003 * seed + 17, absolute)).collect();
    for k in 0..14 {
        let part = all.iter().filter(|covered| covered[k]).count() as f64 / FITS as f64;
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
