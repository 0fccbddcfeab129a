//! NIST's Statistical Reference Datasets: 27 problems from two starts each, with default settings.
//!
//! The certified values are the oracle. The table is printed with `-- --nocapture`; `tests/platforms/aarch64` compares it with
//! that of another processor.

use crate::support::digest::digest_of_fit;
use crate::support::nist::{Problem, digits, problems};
use dualfit::{CurveFit, Data, Fit, Warning};

/// Measured data whose residuals have a trend beside the certified curve.
const TRENDS: [&str; 4] = ["Bennett5", "Chwirut1", "Kirby2", "Nelson"];

struct Row {
    name: String,
    start: usize,
    parameters: f64,
    errors: f64,
    evaluations: usize,
    passes: usize,
    fit: Fit,
}

fn run(problem: &Problem, start: usize) -> Row {
    let from = if start == 1 { &problem.start1 } else { &problem.start2 };
    let model = CurveFit::parse(&problem.model, &problem.variables).expect(&problem.name);
    // Parameters of a text come in order of appearance, the certified ones in order of number.
    let position = |name: &String| problem.parameters.iter().position(|p| p == name).unwrap();
    let order: Vec<usize> = model.parameters().iter().map(position).collect();
    let begin: Vec<f64> = order.iter().map(|&i| from[i]).collect();
    let columns: Vec<&[f64]> = problem.predictors.iter().map(Vec::as_slice).collect();
    let fit = model.fit(Data::new(columns, &problem.y).unwrap(), begin).expect(&problem.name);
    let least = |found: &[f64], certified: &[f64]| {
        let pairs = order.iter().zip(found);
        pairs.map(|(&i, &q)| digits(q, certified[i])).fold(f64::INFINITY, f64::min)
    };
    Row {
        name: problem.name.clone(),
        start,
        parameters: least(fit.params(), &problem.certified),
        errors: least(&fit.std_errors(), &problem.sd),
        evaluations: fit.evaluations(),
        passes: fit.stats().passes,
        fit,
    }
}

#[test]
fn all_54_runs_reach_the_certified_values() {
    let problems = problems();
    let rows: Vec<Row> = problems.iter().flat_map(|p| [run(p, 1), run(p, 2)]).collect();
    println!(
        "problem   start  params  errors  evaluations  passes  condition  digest            termination"
    );
    for r in &rows {
        println!(
            "{:<9} {:>5}  {:>6.1}  {:>6.1}  {:>11}  {:>6}  {:>9.1e}  {}  {}",
            r.name,
            r.start,
            r.parameters,
            r.errors,
            r.evaluations,
            r.passes,
            r.fit.condition(),
            digest_of_fit(&r.fit),
            r.fit.termination()
        );
    }
    let count = |holds: &dyn Fn(&Row) -> bool| rows.iter().filter(|r| holds(r)).count();
    let mut evaluations: Vec<usize> = rows.iter().map(|r| r.evaluations).collect();
    evaluations.sort_unstable();
    println!(
        "converged {}, parameters to 4 digits {}, to 6 digits {}, errors to 6 digits {}, median evaluations {}",
        count(&|r| r.fit.converged()),
        count(&|r| r.parameters >= 4.0),
        count(&|r| r.parameters >= 6.0),
        count(&|r| r.errors >= 6.0),
        evaluations[rows.len() / 2]
    );
    assert_eq!(rows.len(), 54);
    assert_eq!(count(&|r| r.fit.converged()), 54);
    assert_eq!(count(&|r| r.parameters >= 6.0), 54);
    assert!(count(&|r| r.errors >= 6.0) >= 52);
    assert!(count(&|r| r.errors >= 2.0) == 54);
    assert!(evaluations[rows.len() / 2] <= 13);
    // From both starts.
    let correlated = |r: &&Row| {
        r.fit.warnings().iter().any(|w| matches!(w, Warning::CorrelatedResiduals { .. }))
    };
    let mut names: Vec<&str> = rows.iter().filter(correlated).map(|r| r.name.as_str()).collect();
    names.sort_unstable();
    println!("residuals are correlated: {names:?}");
    assert_eq!(names, TRENDS.map(|name| [name; 2]).concat());
    // Some starts are far off, but nothing ran away from them.
    let ran = |w: &Warning| matches!(w, Warning::LostEffect { .. } | Warning::RanAway { .. });
    assert_eq!(count(&|r| r.fit.warnings().iter().any(ran)), 0);
}
