//! Fraction of fits from a model's initial guess that end where fits from the truth end, and of right fits with a false warning.

use crate::models::truths::{experiment, measured, program};
use dualfit::{CurveFit, Data, Fit, Start, Warning, models};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const DRAWS: u64 = 100;
const ENOUGH: usize = 95;

/// Returns true if a fit says that the data reject its curve.
fn is_rejected(fit: &Fit) -> bool {
    let rejects =
        |w: &Warning| matches!(w, Warning::Rejected { .. } | Warning::CorrelatedResiduals { .. });
    fit.warnings().iter().any(rejects)
}

/// Compares the fit from the start that is found with that from the truth. Adds the latter to `alarms` if it warns that the data
/// reject it.
///
/// # Errors
/// If the former is worse.
fn attempt(
    name: &str,
    (curve, program): (&CurveFit, &dualfit::program::Program),
    seed: u64,
    alarms: &AtomicUsize,
) -> Result<(), String> {
    let (columns, truth, mut rng) = experiment(name, seed);
    let y = measured(program, &columns, &truth, (0.02, 0.05), &mut rng);
    let data = || Data::new(columns.iter().collect::<Vec<_>>(), &y).unwrap();
    let best = curve.fit(data(), &truth).map_err(|e| format!("from the truth: {e}"))?;
    alarms.fetch_add(usize::from(is_rejected(&best)), Ordering::Relaxed);
    let start = curve.start(data(), Start::Guess).map_err(|e| e.to_string())?;
    let fit = curve.fit(data(), &start).map_err(|e| e.to_string())?;
    // The cost of a ramp has a kink wherever its ends cross a point. Fits stop at one or the other,
    // and say that they make no progress, also from the truth.
    let ramp = name.ends_with("_linear");
    let tolerance = if ramp { 1e-3 } else { 1e-6 };
    if (fit.converged() || ramp) && fit.cost() <= best.cost() * (1.0 + tolerance) {
        return Ok(());
    }
    let (how, cost) = (fit.termination(), fit.cost() / best.cost());
    Err(format!(
        "{seed}: {} points, {how:?}, cost {cost} of the best ({:?})\n      truth {truth:?}\n      start {start:?}\n      ended {:?}\n      best  {:?}",
        y.len(),
        best.termination(),
        fit.params(),
        best.params()
    ))
}

#[test]
fn starts_lead_where_the_truth_leads() {
    let alarms = AtomicUsize::new(0);
    let run = |name: &&str| {
        let begun = Instant::now();
        let (curve, program) = (CurveFit::from(models::by_name(name).unwrap()), program(name));
        let results =
            (0..DRAWS).into_par_iter().map(|seed| attempt(name, (&curve, &program), seed, &alarms));
        let results: Vec<_> = results.collect();
        let bad: Vec<String> = results.into_iter().filter_map(Result::err).collect();
        let good = DRAWS as usize - bad.len();
        let seconds = begun.elapsed().as_secs_f64();
        let mut lines = format!("{name:28} {good:4} of {DRAWS}  {seconds:6.2} s\n");
        if good < ENOUGH {
            bad.iter().take(3).for_each(|line| lines += &format!("    {line}\n"));
        }
        (good, lines)
    };
    let rows: Vec<(usize, String)> = models::names().iter().map(run).collect();
    let table: String = rows.iter().map(|(_, lines)| lines.as_str()).collect();
    assert!(rows.iter().all(|(good, _)| *good >= ENOUGH), "too few successes:\n{table}");
    println!("{table}");
    let (alarms, fits) = (alarms.into_inner(), DRAWS as usize * rows.len());
    println!("{alarms} of {fits} right fits are said to be wrong");
    assert!(alarms * 1000 <= fits, "{alarms} of {fits}");
}

/// Points at uneven distances show frequencies beyond half a period for each point.
#[test]
fn sines_of_few_uneven_points_are_found() {
    let sine = CurveFit::from(models::sine(""));
    for (slow, fast) in [(0.5, 3.0), (3.0, 6.0), (6.0, 12.0)] {
        let mut wrong = 0;
        for seed in 0..DRAWS {
            let mut random = StdRng::seed_from_u64(seed);
            let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
            let x: Vec<f64> = (0..12).map(|_| draw(0.0, 10.0)).collect();
            let periods = draw(slow, fast);
            let truth = [draw(0.5, 3.0), 2.0 * PI * periods / 10.0, draw(-PI, PI)];
            let mut noisy = |x: &f64| {
                let normal: f64 = StandardNormal.sample(&mut random);
                truth[0] * ((truth[1] * x + truth[2]).sin() + 0.05 * normal)
            };
            let y: Vec<f64> = x.iter().map(&mut noisy).collect();
            let data = Data::new(&x, &y).unwrap();
            let best = sine.fit(&data, truth).unwrap();
            let fit = sine.fit(&data, Start::Guess).unwrap();
            wrong += usize::from(fit.cost() > 1.001 * best.cost());
        }
        println!("{slow} to {fast} periods: {wrong} of {DRAWS} wrong");
        assert!(wrong <= 2, "{slow} to {fast} periods: {wrong} of {DRAWS} wrong");
    }
}

/// A start with hardly a Gaussian ends in a minimum of a Lorentzian alone, with R² of 0.999.
#[test]
fn skewed_voigt_profiles_are_found() {
    let (voigt, curve) = (CurveFit::from(models::skewed_voigt("")), program("skewed_voigt"));
    let x: Vec<f64> = (0..200).map(|i| -12.0 + 24.0 * f64::from(i) / 199.0).collect();
    let mut random = StdRng::seed_from_u64(10);
    for _ in 0..150 {
        let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
        let truth =
            [draw(1.0, 5.0), draw(-1.0, 1.0), draw(0.3, 2.0), draw(0.1, 2.0), draw(-4.0, 4.0)];
        let y: Vec<f64> = x.iter().map(|x| curve.evaluate(&[*x], &truth)).collect();
        let fit = voigt.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
        let r_squared = fit.r_squared().unwrap();
        assert!(1.0 - r_squared < 1e-9, "R² {r_squared}, truth {truth:?}, {:?}", fit.params());
    }
}
