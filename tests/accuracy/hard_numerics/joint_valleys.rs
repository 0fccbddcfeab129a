//! NIST's problems as joint fits of five sets, each the data times a factor of its own, which share the parameters in
//! which the model is not linear: curved valleys, and places where two terms coincide and each set stops.

use super::super::support::nist::{Problem, digits, problems};
use dualfit::{CurveFit, Data, Event, GlobalFit, JointFit};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

const SETS: usize = 5;

/// A problem, the parameters in which its model is not linear, and a start in place of NIST's, if any.
type Case = (&'static str, &'static [&'static str], Option<&'static [f64]>);

const SHARED: [Case; 7] = [
    ("Misra1b", &["b2"], None),
    ("Bennett5", &["b2", "b3"], None),
    ("Lanczos3", &["b2", "b4", "b6"], None),
    ("MGH09", &["b2", "b3", "b4"], None),
    ("MGH17", &["b4", "b5"], None),
    // Nearly equal from the start.
    ("MGH17", &["b4", "b5"], Some(&[0.0167, 0.016702])),
    ("MGH17", &["b4", "b5"], Some(&[0.0166, 0.0168])),
];

fn fitted(problem: &Problem, shared: &[&str], start: &[f64]) -> (JointFit, Vec<usize>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let curve = CurveFit::parse(&problem.model, problem.variables.clone()).unwrap();
    let curve = curve.observe(move |event| {
        if let Event::Step(progress) = event {
            tell.lock().unwrap().push(progress.evaluations);
        }
        ControlFlow::Continue(())
    });
    let ys: Vec<Vec<f64>> = (0..SETS)
        .map(|set| problem.y.iter().map(|y| y * (1.0 + 0.01 * set as f64)).collect())
        .collect();
    let data = ys.iter().map(|y| Data::new(&problem.predictors[0], y).unwrap());
    let start: Vec<(&str, f64)> = shared.iter().copied().zip(start.iter().copied()).collect();
    let fit = GlobalFit::new(&curve).share(shared).fit(data, start).unwrap();
    let told = told.lock().unwrap().clone();
    (fit, told)
}

#[test]
fn joint_fits_find_their_way_through_curved_valleys() {
    let problems = problems();
    for (name, shared, start) in SHARED {
        let problem = problems.iter().find(|problem| problem.name == name).unwrap();
        let place = |name: &&str| problem.parameters.iter().position(|p| p == name).unwrap();
        let own =
            |values: &[f64]| -> Vec<f64> { shared.iter().map(|n| values[place(n)]).collect() };
        let starts = match start {
            Some(start) => vec![start.to_vec()],
            None => vec![own(&problem.start1), own(&problem.start2)],
        };
        for start in starts {
            let (joint, told) = fitted(problem, shared, &start);
            assert!(joint.converged(), "{name} from {start:?}: {}", joint.fit());
            let worst = shared
                .iter()
                .map(|n| digits(joint.fit().param(n).unwrap(), problem.certified[place(n)]))
                .fold(f64::INFINITY, f64::min);
            assert!(worst >= 6.0, "{name} from {start:?}: {worst} digits\n{}", joint.fit());
            let factors = (0..SETS).map(|set| (1.0 + 0.01 * set as f64).powi(2)).sum::<f64>();
            let cost = joint.fit().chi_square() / factors;
            assert!(digits(cost, problem.rss) >= 4.0, "{name}: {cost} is not {}", problem.rss);
            assert!(joint.fit().stats().passes <= 200, "{name}: {}", joint.fit().stats());
            // The work that the observer receives grows over all attempts.
            assert!(told.is_sorted(), "{name}: {told:?}");
        }
    }
}
