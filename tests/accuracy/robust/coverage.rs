//! Errors under a robust loss, where the size of the errors of y is unknown: they are as large as parameters
//! scatter from one set of points to the next, and intervals of nominally 95 % cover the truth in 93 to 97 of
//! 100 sets, those of profiles too, whatever the loss and however many outliers there are.

use super::support::{TRUTH, decay, log_cosh, welsch};
use dualfit::{BatchData, Data, Loss};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const FITS: usize = 2000;
const SIGMA: f64 = 0.05;

/// Errors of y, in units of [`SIGMA`].
#[derive(Clone, Copy, Debug)]
enum Errors {
    Normal,
    /// One in ten has a standard deviation of ten.
    Contaminated,
    /// Student's t of three degrees of freedom.
    HeavyTails,
}

impl Errors {
    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let normal: f64 = StandardNormal.sample(random);
        match self {
            Errors::Normal => normal,
            Errors::Contaminated => normal * if random.random_bool(0.1) { 10.0 } else { 1.0 },
            Errors::HeavyTails => StudentT::new(3.0).expect("a distribution").sample(random),
        }
    }
}

/// The losses with their usual constants, which give 95 % of the efficiency of least squares where errors are
/// normal; their scales are in the units of y.
fn losses() -> [Loss; 7] {
    [
        Loss::SoftL1 { scale: 1.345 * SIGMA },
        Loss::Huber { scale: 1.345 * SIGMA },
        Loss::Cauchy { scale: 2.385 * SIGMA },
        Loss::Arctan { scale: 3.0 * SIGMA },
        Loss::Tukey { scale: 4.685 * SIGMA },
        welsch(2.985 * SIGMA),
        log_cosh(1.205 * SIGMA),
    ]
}

/// x, and y of many sets of points one after the other.
fn sets(points: usize, errors: Errors) -> (Vec<f64>, Vec<f64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(points as u64);
    let [a, b, c] = TRUTH;
    let x: Vec<f64> = (0..points).map(|i| 6.0 * i as f64 / points as f64).collect();
    let truth = |&x: &f64| a * (-b * x).exp() + c;
    let y = (0..FITS).flat_map(|_| x.iter().map(truth).collect::<Vec<_>>());
    let y = y.map(|y| y + SIGMA * errors.draw(&mut random)).collect();
    (x, y)
}

#[test]
fn errors_are_those_of_simulated_fits() {
    // With Student's t of 97.5 %.
    for (points, t, errors) in [
        (30, 2.0518, Errors::Normal),
        (30, 2.0518, Errors::Contaminated),
        (100, 1.9847, Errors::Normal),
        (100, 1.9847, Errors::Contaminated),
        (100, 1.9847, Errors::HeavyTails),
    ] {
        let (x, y) = sets(points, errors);
        let data = || BatchData::shared(&x, &y).expect("data");
        for loss in losses() {
            let model = decay().loss(loss);
            let batch = model.fit_batch(data(), TRUTH).expect("fits");
            for k in 0..3 {
                let (mut squares, mut covered, mut fits) = (0.0, 0, 0);
                for fit in (0..FITS).filter(|&fit| batch.statuses()[fit].converged()) {
                    let error = batch.std_errors()[3 * fit + k];
                    let z = (batch.params()[3 * fit + k] - TRUTH[k]) / error;
                    assert!(error.is_finite(), "{errors:?} {loss:?} {fit}");
                    squares += z * z;
                    covered += usize::from(z.abs() < t);
                    fits += 1;
                }
                let part = covered as f64 / fits as f64;
                let rms = (squares / fits as f64).sqrt();
                let what = format!("{points} {errors:?} {loss:?} {k}: {fits} {rms:.3} {part:.4}");
                println!("{what}");
                assert!(fits > FITS - FITS / 100 && (0.93..=0.97).contains(&part), "{what}");
                assert!(points < 100 || (0.97..1.06).contains(&rms), "{what}");
            }
        }
    }
}

/// A profile's limits are where the cost has risen by as much as the loss makes of one standard error.
#[test]
fn profiles_cover_as_well() {
    let (x, y) = sets(100, Errors::Contaminated);
    for loss in losses() {
        let model = decay().loss(loss);
        let covers = |y: &[f64]| {
            let data = Data::new(&x, y).expect("data");
            let fit = model.fit(data.clone(), TRUTH).expect("a fit");
            let profile = model.profile_to(&fit, data, "b", 0.95).expect("a profile");
            let found = profile.interval(0.95).expect("an interval");
            found.lower <= TRUTH[1] && TRUTH[1] <= found.upper
        };
        let sets: Vec<&[f64]> = y.chunks(x.len()).take(FITS / 2).collect();
        let part = sets.par_iter().filter(|y| covers(y)).count() as f64 / sets.len() as f64;
        println!("{loss:?}: {part:.4}");
        assert!((0.93..=0.97).contains(&part), "{loss:?}: {part:.4}");
    }
}
