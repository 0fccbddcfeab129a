//! Errors under a robust loss. If the size of the errors of y is unknown, they are as large as parameters
//! scatter from one set of points to the next, and intervals of nominally 95 % cover the truth in 93 to 97 of
//! 100 sets, those of profiles too, for every loss and every number of outliers. If it is known, intervals of
//! data with outliers cover as well, and those of normal errors cover a little more.

use super::support::{TRUTH, decay, log_cosh, welsch};
use dualfit::{BatchData, Data, Loss, Sigma};
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
    /// One in five has a standard deviation of ten.
    Outliers,
    /// Student's t of three degrees of freedom.
    HeavyTails,
}

impl Errors {
    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let normal: f64 = StandardNormal.sample(random);
        match self {
            Errors::Normal => normal,
            Errors::Contaminated => normal * if random.random_bool(0.1) { 10.0 } else { 1.0 },
            Errors::Outliers => normal * if random.random_bool(0.2) { 10.0 } else { 1.0 },
            Errors::HeavyTails => StudentT::new(3.0).expect("a distribution").sample(random),
        }
    }
}

/// The losses with their usual constants, which give 95 % of the efficiency of least squares where errors are
/// normal. `unit`: the standard deviation of y in the units of residuals.
fn losses(unit: f64) -> [Loss; 7] {
    [
        Loss::SoftL1 { scale: 1.345 * unit },
        Loss::Huber { scale: 1.345 * unit },
        Loss::Cauchy { scale: 2.385 * unit },
        Loss::Arctan { scale: 3.0 * unit },
        Loss::Tukey { scale: 4.685 * unit },
        welsch(2.985 * unit),
        log_cosh(1.205 * unit),
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
        for loss in losses(SIGMA) {
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

/// The parts of sets whose intervals of one standard error and of 95 % (1.96 standard errors) cover the truth, the
/// smallest and the largest of the three parameters. Sigma is given.
fn coverage_with_known_sigma((x, y): &(Vec<f64>, Vec<f64>), loss: Loss) -> [(f64, f64); 2] {
    let data = BatchData::shared(x, y).expect("data").sigma(Sigma::Constant(SIGMA)).expect("sigma");
    let batch = decay().loss(loss).fit_batch(data, TRUTH).expect("fits");
    let ended: Vec<usize> = (0..FITS).filter(|&fit| batch.statuses()[fit].converged()).collect();
    assert!(ended.len() > FITS - FITS / 100, "{loss:?}: {} converged", ended.len());
    [1.0, 1.96].map(|most| {
        let part = |k: usize| {
            let z = |fit: usize| {
                (batch.params()[3 * fit + k] - TRUTH[k]) / batch.std_errors()[3 * fit + k]
            };
            ended.iter().filter(|&&fit| z(fit).abs() < most).count() as f64 / ended.len() as f64
        };
        let parts = [part(0), part(1), part(2)];
        (parts.iter().copied().fold(1.0, f64::min), parts.iter().copied().fold(0.0, f64::max))
    })
}

#[test]
fn known_errors_grow_with_outliers() {
    let all_errors = [Errors::Normal, Errors::Contaminated, Errors::Outliers, Errors::HeavyTails];
    for (points, errors) in
        all_errors.map(|errors| (100, errors)).into_iter().chain([(30, Errors::Outliers)])
    {
        let all = sets(points, errors);
        for loss in losses(1.0) {
            let [one, most] = coverage_with_known_sigma(&all, loss);
            let what = format!("{points} {errors:?} {loss:?}: {one:?} {most:?}");
            println!("{what}");
            assert!(one.0 > 0.64 && most.0 > 0.93, "{what}");
            // Too long for normal errors, as the loss counts fewer points than there are.
            assert!(one.1 < 0.78 && most.1 < 0.99, "{what}");
        }
    }
}

/// A profile's limits are where the cost has risen by as much as the loss makes of one standard error.
#[test]
fn profiles_cover_as_well() {
    let (x, y) = sets(100, Errors::Contaminated);
    for loss in losses(SIGMA) {
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
