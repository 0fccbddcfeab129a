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

/// Three Gaussians of 100, 30 and 10, from left to right, with names in another order.
fn three_peaks() -> (Vec<f64>, Vec<f64>, CurveFit) {
    let x: Vec<f64> = (0..300).map(|i| 0.05 * f64::from(i)).collect();
    let peak = |x: f64, height: f64, center: f64| height * (-(x - center).powi(2) / 0.5).exp();
    let y = x.iter().map(|&x| {
        peak(x, 100.0, 3.0) + peak(x, 30.0, 7.0) + peak(x, 10.0, 9.5) + 0.1 * (40.0 * x).sin()
    });
    let y = y.collect();
    let model = models::gaussian("a_") + models::gaussian("b_") + models::gaussian("c_");
    (x, y, model.curve().unwrap())
}

/// Fits, and asks where the peaks are, within 0.02.
fn are_at(curve: &CurveFit, x: &[f64], y: &[f64], start: Start, expected: &[(&str, f64)]) {
    let begun = curve.start(Data::new(x, y).unwrap(), start.clone()).unwrap();
    let fit = curve.fit(Data::new(x, y).unwrap(), start.clone()).unwrap();
    assert!(fit.converged(), "{start:?}: {fit}");
    for &(name, center) in expected {
        let found = fit.param(name).unwrap();
        assert!((found - center).abs() < 0.02, "{name} is {found} from {start:?}, {begun:?}");
    }
}

#[test]
fn what_is_given_of_one_peak_moves_the_others() {
    let (x, y, curve) = three_peaks();
    let named = |pairs: &[(&str, f64)]| Start::from(pairs.to_vec());
    let all = [3.0, 7.0, 9.5];
    for (first, &a) in all.iter().enumerate() {
        let others: Vec<f64> = all.iter().copied().filter(|&other| other != a).collect();
        let expected = [("a_center", a), ("b_center", others[0]), ("c_center", others[1])];
        are_at(&curve, &x, &y, named(&[("a_center", a)]), &expected);
        // Not quite right, and of a fit whose order is the other one.
        let expected = [("c_center", a), ("a_center", others[0]), ("b_center", others[1])];
        are_at(&curve, &x, &y, named(&[("c_center", a + 0.2)]), &expected);
        let turned = [
            ("b_center", a),
            ("c_center", all[(first + 2) % 3]),
            ("a_center", all[(first + 1) % 3]),
        ];
        are_at(&curve, &x, &y, named(&turned), &turned);
        are_at(&curve, &x, &y, named(&turned[..2]), &turned);
    }
}

#[test]
fn bounds_say_which_peak_is_meant() {
    let (x, y, curve) = three_peaks();
    let bounded = curve.clone().bound("a_center", 6.0..=8.0).bound("b_center", 9.0..=10.0);
    let expected = [("a_center", 7.0), ("b_center", 9.5), ("c_center", 3.0)];
    are_at(&bounded, &x, &y, Start::Guess, &expected);
    let above = curve.bound("a_center", 8.5..);
    are_at(
        &above,
        &x,
        &y,
        Start::Guess,
        &[("a_center", 9.5), ("b_center", 3.0), ("c_center", 7.0)],
    );
    // Fewer terms than peaks.
    let one = models::gaussian("").curve().unwrap().bound("center", 6.0..=8.0);
    let start = one.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((start[1] - 7.0).abs() < 0.1 && (start[2] - 0.5).abs() < 0.1, "{start:?}");
    // The logarithm of where it is.
    let two = models::lognormal("a_") + models::lognormal("b_");
    let logarithm = two.curve().unwrap().bound("a_center", 1.8..=2.0);
    let ended = logarithm.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((ended[1].exp() - 7.0).abs() < 0.2 && (ended[4].exp() - 3.0).abs() < 0.2, "{ended:?}");
    // Ranges without points are between two of them, or beyond all.
    for (low, high) in [(7.001, 7.002), (-3.0, -2.0), (20.0, 30.0)] {
        let one = models::gaussian("").curve().unwrap().bound("center", low..=high);
        let start = one.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
        assert!(low <= start[1] && start[1] <= high, "{start:?}");
    }
    let steps = models::step_erf("a_") + models::step_erf("b_");
    let y: Vec<f64> = x
        .iter()
        .map(|x| if *x > 4.0 { 5.0 } else { 0.0 } + if *x > 11.0 { 1.0 } else { 0.0 })
        .collect();
    let steps = steps.curve().unwrap().bound("a_center", 10.0..=12.0);
    let start = steps.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((start[1] - 11.0).abs() < 0.1 && (start[4] - 4.0).abs() < 0.1, "{start:?}");
}

#[test]
fn a_lifetime_that_is_given_is_not_found_twice() {
    let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 5.0 * (-x / 0.5).exp() + 2.0 * (-x / 6.0).exp()).collect();
    let model = models::exponential("a_") + models::exponential("b_");
    let curve = model.curve().unwrap();
    for (name, decay) in [("a_decay", 6.0), ("a_decay", 0.5), ("b_decay", 0.6), ("b_decay", 5.0)] {
        let fit = curve.fit(Data::new(&x, &y).unwrap(), [(name, decay)]).unwrap();
        let (fast, slow) = if (decay < 1.0) == (name == "a_decay") {
            ("a_decay", "b_decay")
        } else {
            ("b_decay", "a_decay")
        };
        assert!(fit.converged(), "{fit}");
        assert!((fit.param(fast).unwrap() - 0.5).abs() < 1e-6, "{name} {decay}: {fit}");
        assert!((fit.param(slow).unwrap() - 6.0).abs() < 1e-5, "{name} {decay}: {fit}");
    }
    let short = curve.bound("a_decay", 2.0..);
    let fit = short.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((fit.param("a_decay").unwrap() - 6.0).abs() < 1e-5, "{fit}");
}

#[test]
fn what_is_given_is_taken_away_before_the_rest_is_looked_for() {
    let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    // The peak stands on a slope that the ends do not show: it is too wide.
    let y: Vec<f64> = x.iter().map(|x| 4.0 * (-(x - 5.0).powi(2) / 18.0).exp() + x - 2.0).collect();
    let model = models::gaussian("") + models::linear("bg_");
    let curve = model.curve().unwrap();
    let given = [("bg_slope", 1.0), ("bg_intercept", -2.0)];
    let start = curve.start(Data::new(&x, &y).unwrap(), given).unwrap();
    assert!((start[1] - 5.0).abs() < 0.1 && (start[2] - 3.0).abs() < 0.2, "{start:?}");
    let guess = curve.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((guess[2] - 3.0).abs() > 0.5, "{guess:?}");
}
