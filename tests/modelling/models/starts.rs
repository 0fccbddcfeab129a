//! How often the start that a model finds leads where the truth leads.

use crate::models::truths::{between, experiment, program};
use dualfit::{CurveFit, Data, Start, models};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::time::Instant;

const DRAWS: u64 = 100;
const ENOUGH: usize = 95;

/// What a fit from the start that is found came to; what went wrong, if it did.
fn attempt(
    name: &str,
    curve: &CurveFit,
    program: &dualfit::program::Program,
    seed: u64,
) -> Result<(), String> {
    let (columns, truth, mut rng) = experiment(name, seed);
    let at = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
    let clean: Vec<f64> = (0..columns[0].len()).map(|i| program.evaluate(&at(i), &truth)).collect();
    let low = clean.iter().copied().fold(f64::INFINITY, f64::min);
    let high = clean.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = if high > low { high - low } else { high.abs() };
    let sigma = between(&mut rng, 0.02, 0.05) * range;
    let noisy = |y: &f64| {
        let normal: f64 = StandardNormal.sample(&mut rng);
        y + sigma * normal
    };
    let y: Vec<f64> = clean.iter().map(noisy).collect();
    let data = || Data::new(columns.iter().collect::<Vec<_>>(), &y).unwrap();
    let best = curve.fit(data(), &truth).map_err(|e| format!("from the truth: {e}"))?;
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
    let run = |name: &&str| {
        let begun = Instant::now();
        let (curve, program) = (CurveFit::from(models::by_name(name).unwrap()), program(name));
        let results: Vec<_> =
            (0..DRAWS).into_par_iter().map(|seed| attempt(name, &curve, &program, seed)).collect();
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
}
