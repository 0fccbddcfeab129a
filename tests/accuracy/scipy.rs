//! Fits with recorded results of SciPy's `curve_fit`: weights, covariance matrices, bounds, losses, scales.
//!
//! The oracle is the exact minimum of each problem, computed in 60 digits and recorded next to SciPy's own
//! result. The table of worst deviations is printed with `-- --nocapture`.

use crate::support::digest::digest_of_fit;
use crate::support::losses::rho;
use crate::support::scipy::{self, Case, Errors, cases};
use dualfit::result::Side;
use dualfit::{CurveFit, Data, Fit, Loss, Matrix, Sigma};
use std::collections::BTreeMap;

/// Distance of a fit from the exact minimum, in the units of each assertion below.
#[derive(Clone, Copy, Debug, Default)]
struct Deviation {
    /// |p − exact| / max(|exact|, its standard error), the largest of all parameters.
    parameters: f64,
    /// |Cᵢⱼ − exact| / (seᵢ seⱼ), the largest of all pairs.
    covariance: f64,
    /// |cost − exact| / exact.
    cost: f64,
}

fn loss(loss: scipy::Loss) -> Loss {
    match loss {
        scipy::Loss::Linear => Loss::Linear,
        scipy::Loss::SoftL1 { f_scale: scale } => Loss::SoftL1 { scale },
        scipy::Loss::Huber { f_scale: scale } => Loss::Huber { scale },
        scipy::Loss::Cauchy { f_scale: scale } => Loss::Cauchy { scale },
        scipy::Loss::Arctan { f_scale: scale } => Loss::Arctan { scale },
        scipy::Loss::Tukey { f_scale: scale } => Loss::Tukey { scale },
    }
}

fn run(case: &Case) -> Fit {
    let variables: &[&str] = if case.x.len() == 1 { &["x"] } else { &["x1", "x2"] };
    let bounds: Vec<(f64, f64)> =
        case.lower.iter().zip(&case.upper).map(|(&l, &u)| (l, u)).collect();
    let model = CurveFit::parse(&case.text, variables).expect(&case.name);
    assert_eq!(model.parameters(), case.parameters, "{}", case.name);
    let model = model.bounds(bounds).loss(loss(case.loss));
    let n = case.y.len();
    let matrix;
    let sigma = match &case.errors {
        Errors::Unknown => Sigma::Unknown,
        Errors::Sigma { values, absolute: true } => Sigma::Absolute(values),
        Errors::Sigma { values, absolute: false } => Sigma::Relative(values),
        Errors::Matrix { values, absolute } => {
            matrix = Matrix::new(n, n, values.clone()).expect(&case.name);
            if *absolute { Sigma::Covariance(&matrix) } else { Sigma::RelativeCovariance(&matrix) }
        }
    };
    let columns: Vec<&[f64]> = case.x.iter().map(Vec::as_slice).collect();
    let data = Data::new(columns, &case.y).and_then(|data| data.sigma(sigma)).expect(&case.name);
    model.fit(data, &case.start).expect(&case.name)
}

/// s² of the sandwich, by its formula (docs/mathematics.md, section 8).
fn sandwich(case: &Case, fit: &Fit) -> f64 {
    let columns: Vec<&[f64]> = case.x.iter().map(Vec::as_slice).collect();
    let curve = fit.predict(columns).expect("a curve");
    let (n, p, loss) = (case.y.len() as f64, free(case).len() as f64, loss(case.loss));
    let mut means = [0.0; 4];
    for (f, y) in curve.iter().zip(&case.y) {
        let z = ((f - y) / loss.scale().unwrap_or(1.0)).powi(2);
        let [_, first, second] = rho(loss, z);
        let slope = first + 2.0 * z * second;
        let added = [(first * (f - y)).powi(2), slope, slope * slope, slope.max(0.0)];
        means.iter_mut().zip(added).for_each(|(mean, value)| *mean += value / n);
    }
    let [pull, slope, square, kept] = means;
    let k = 1.0 + p / n * (square - slope * slope) / (slope * slope);
    k * pull * n / (n - p) * kept / (slope * slope)
}

/// The covariance that SciPy would report. Under a robust loss SciPy scales by the loss in place of squares.
fn covariance(case: &Case, fit: &Fit) -> Matrix {
    let found = fit.covariance();
    match case.errors {
        Errors::Unknown if case.loss != scipy::Loss::Linear => {
            let scipy = fit.reduced_chi_square().expect("degrees of freedom");
            let factor = scipy / sandwich(case, fit);
            Matrix::from_fn(found.rows(), found.columns(), |i, j| found[(i, j)] * factor)
        }
        _ => found.clone(),
    }
}

/// Positions of the parameters that are not at a bound.
fn free(case: &Case) -> Vec<usize> {
    (0..case.parameters.len()).filter(|&i| case.exact.at_bound[i] == scipy::Side::Free).collect()
}

/// The exact covariance of the free parameters, row-major: a parameter at a bound does not move, and is
/// neither a column of the Jacobian nor a degree of freedom.
fn exact_covariance(case: &Case) -> &[f64] {
    case.exact.free.as_ref().map_or(&case.exact.covariance, |free| &free.by_n_minus_free)
}

fn compare(case: &Case, fit: &Fit) -> Deviation {
    let free = free(case);
    let k = free.len();
    let exact = exact_covariance(case);
    let error = |i: usize| exact[i * k + i].sqrt();
    let found = covariance(case, fit);
    let mut worst =
        Deviation { cost: (fit.cost() / case.exact.cost - 1.0).abs(), ..Deviation::default() };
    for (i, &a) in free.iter().enumerate() {
        let optimum = case.exact.optimum[a];
        let off = (fit.params()[a] - optimum).abs() / optimum.abs().max(error(i));
        worst.parameters = worst.parameters.max(off);
        for (j, &b) in free.iter().enumerate() {
            let off = (found[(a, b)] - exact[i * k + j]).abs() / (error(i) * error(j));
            // `max` would lose a NaN.
            worst.covariance = if off <= worst.covariance { worst.covariance } else { off };
        }
    }
    worst
}

/// Checks the exact properties: parameters at bounds, and their reports.
fn check_bounds(case: &Case, fit: &Fit) {
    let name = &case.name;
    let mut expected = Vec::new();
    for (i, parameter) in case.parameters.iter().enumerate() {
        let (bound, side) = match case.exact.at_bound[i] {
            scipy::Side::Free => {
                let (value, range) = (fit.params()[i], case.lower[i]..=case.upper[i]);
                assert!(range.contains(&value), "{name}: {parameter} = {value} leaves {range:?}");
                assert!(fit.std_errors()[i].is_finite(), "{name}: {parameter}");
                continue;
            }
            scipy::Side::Lower => (case.lower[i], Side::Lower),
            scipy::Side::Upper => (case.upper[i], Side::Upper),
        };
        expected.push((parameter.as_str(), side));
        assert_eq!(fit.params()[i], bound, "{name}: {parameter}");
        assert!(fit.std_errors()[i].is_nan(), "{name}: the error of {parameter} is invented");
        for j in 0..case.parameters.len() {
            assert!(fit.covariance()[(i, j)].is_nan() && fit.covariance()[(j, i)].is_nan());
        }
    }
    assert_eq!(fit.at_bound(), expected, "{name}");
    let free = case.parameters.len() - expected.len();
    assert_eq!(fit.estimated(), free, "{name}");
    assert_eq!(fit.degrees_of_freedom(), case.y.len() - free, "{name}");
}

/// One line per case and the worst of each group.
fn table(rows: &[(Case, Fit, Deviation)]) -> String {
    let mut text = format!(
        "{:<36} {:>10} {:>10} {:>10} {:>5}  {}\n",
        "case", "parameters", "covariance", "cost", "evals", "digest"
    );
    let mut line = |name: &str, d: &Deviation, evaluations: usize, digest: &str| {
        let Deviation { parameters, covariance, cost } = d;
        text += &format!(
            "{name:<36} {parameters:>10.1e} {covariance:>10.1e} {cost:>10.1e} {evaluations:>5}  {digest}\n"
        );
    };
    let mut groups: BTreeMap<&str, (Deviation, usize)> = BTreeMap::new();
    for (case, fit, d) in rows {
        line(&case.name, d, fit.evaluations(), &digest_of_fit(fit));
        let (worst, evaluations) = groups.entry(&case.group).or_default();
        worst.parameters = worst.parameters.max(d.parameters);
        worst.covariance = worst.covariance.max(d.covariance);
        worst.cost = worst.cost.max(d.cost);
        *evaluations = fit.evaluations().max(*evaluations);
    }
    for (group, (worst, evaluations)) in groups {
        line(&format!("worst of {group}"), &worst, evaluations, "");
    }
    text
}

#[test]
fn every_recorded_fit_is_reproduced() {
    let rows: Vec<(Case, Fit, Deviation)> = cases()
        .into_iter()
        .map(|case| {
            let fit = run(&case);
            let deviation = compare(&case, &fit);
            (case, fit, deviation)
        })
        .collect();
    println!("{}", table(&rows));
    assert_eq!(rows.len(), 50);
    for (case, fit, Deviation { parameters, covariance, cost }) in &rows {
        let name = &case.name;
        assert!(fit.converged(), "{name}: {}", fit.termination());
        assert!(*parameters < 1e-6, "{name}: parameters off by {parameters:.1e}");
        assert!(*covariance < 1e-4, "{name}: covariance off by {covariance:.1e}");
        assert!(*cost < 1e-9, "{name}: cost off by {cost:.1e}");
        check_bounds(case, fit);
    }
}

#[test]
fn a_smooth_fit_has_eight_digits() {
    // Losses with corners and curved bounds aside, the minimum is found to what doubles can tell.
    for case in cases().iter().filter(|case| case.loss == scipy::Loss::Linear) {
        let fit = run(case);
        let found = compare(case, &fit);
        assert!(found.parameters < 1e-8, "{}: {:.1e}", case.name, found.parameters);
        assert!(found.covariance < 1e-7, "{}: {:.1e}", case.name, found.covariance);
    }
}

#[test]
fn units_change_no_digit_that_counts() {
    // The scaled cases are the first case with y or x times a power of ten.
    let all = cases();
    let reference = run(&all[0]);
    for case in all.iter().filter(|case| case.group == "scale") {
        let fit = run(case);
        assert_eq!(fit.evaluations(), reference.evaluations(), "{}", case.name);
        for (i, (a, b)) in fit.params().iter().zip(reference.params()).enumerate() {
            let relative = [fit.std_errors()[i] / a, reference.std_errors()[i] / b];
            assert!((relative[0] / relative[1] - 1.0).abs() < 1e-9, "{}: {relative:?}", case.name);
        }
        let (correlation, other) = (fit.correlation(), reference.correlation());
        for (a, b) in correlation.as_slice().iter().zip(other.as_slice()) {
            assert!((a - b).abs() < 1e-9, "{}", case.name);
        }
    }
}

#[test]
fn a_start_on_the_bounds_leads_to_the_same_minimum() {
    for case in cases().iter().filter(|case| case.group == "bounds") {
        let mut moved = case.clone();
        for i in 0..case.parameters.len() {
            if case.exact.at_bound[i] != scipy::Side::Free {
                moved.start[i] = case.exact.optimum[i];
            }
        }
        let fit = run(&moved);
        assert!(fit.converged(), "{}: {}", case.name, fit.termination());
        check_bounds(case, &fit);
        let found = compare(case, &fit);
        assert!(found.parameters < 1e-6, "{}: {:.1e}", case.name, found.parameters);
    }
}
