//! Bands and derived quantities of sets.

use super::problem::{Problem, Said, decays, exact};
use dualfit::CurveFit;
use dualfit::result::NewPoint;

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!(a == b || (a - b).abs() <= tolerance * b.abs(), "{what}: {a:e} {b:e}");
    }
}

/// Problems of many sets: plain; with a bound, something fixed and a set of one place; with ties.
pub(super) fn problems(sets: usize) -> [Problem; 3] {
    let plain = Problem::decays(sets);
    let mut some = plain.clone();
    some.sets[1].x.fill(1.0);
    let said = [
        Said::Bound("k".into(), 0.0, 0.7),
        Said::Fix("c_1".into()),
        Said::Bound("c_3".into(), 0.5, 9.0),
    ];
    some.start = vec![1.5, 0.5, 0.0, 0.6];
    let tied = plain.clone().said([Said::Tie("c", "0.1*a - b")]);
    [plain, some.said(said), tied]
}

pub(super) const AT: [f64; 4] = [0.0, 0.9, 2.5, 7.0];

#[test]
fn bands_and_quantities_of_sets_are_those_of_the_whole() {
    for sets in [3, 20, 40] {
        for problem in problems(sets) {
            let (joint, hand) = problem.both();
            for s in [0, 1, 2, sets / 2, sets - 1] {
                let view = joint.set(s).unwrap();
                let column = [s as f64 + 1.0; 4];
                let found = view.confidence_band(&AT, 0.95).unwrap();
                let expected = hand.confidence_band([&column, &AT], 0.95).unwrap();
                close(&found.std_errors, &expected.std_errors, 1e-8, "band");
                for (i, error) in
                    expected.std_errors.iter().enumerate().filter(|(_, e)| e.is_finite())
                {
                    assert!((found.center[i] - expected.center[i]).abs() <= 1e-8 * error + 1e-14);
                }
                let new = NewPoint::Constant(0.05);
                let found = view.prediction_band(&AT, 0.9, new).unwrap();
                let expected = hand.prediction_band([&column, &AT], 0.9, new).unwrap();
                close(&found.std_errors, &expected.std_errors, 1e-8, "new points");
                for text in ["a/k", "a - c", "exp(-k)", "a*b + c", "c", "3*a - 2*k"] {
                    let found = view.propagate(text).unwrap();
                    let expected = hand.propagate(&formula(&problem, text, s)).unwrap();
                    close(&[found.std_error], &[expected.std_error], 1e-8, text);
                    let of_all = joint.fit().propagate(&formula(&problem, text, s)).unwrap();
                    close(&[of_all.std_error], &[expected.std_error], 1e-8, text);
                }
            }
            // Of several sets together.
            for text in ["a_1 - a_3", "c_1 + c_2 - 2*c_3", "(a_1 + a_2)/(k*a_3)"] {
                let (found, expected) =
                    (joint.fit().propagate(text).unwrap(), hand.propagate(text).unwrap());
                close(&[found.std_error], &[expected.std_error], 1e-8, text);
            }
        }
    }
}

/// A formula in which functions stay.
fn formula(problem: &Problem, text: &str, set: usize) -> String {
    text.split("exp").map(|part| problem.formula(part, set)).collect::<Vec<_>>().join("exp")
}

#[test]
fn derived_quantities_of_many_sets_are_those_of_the_whole() {
    let with: fn(CurveFit) -> CurveFit =
        |curve| exact(curve).derive("half", "ln(2)/k").derive("area", "a/k + c");
    for sets in [3, 20, 40] {
        for problem in problems(sets) {
            let hand = problem.by_hand();
            let joint = Problem { with, ..problem.clone() }.joint();
            let derived = joint.fit().derived();
            assert_eq!(derived.len(), sets + 1);
            for found in derived {
                let text = match found.name.strip_prefix("area_") {
                    None => "ln(2)/k".to_owned(),
                    Some(set) => format!("a_{set}/k + c_{set}"),
                };
                let expected = hand.propagate(&text).unwrap();
                if expected.std_error.is_finite() {
                    close(&[found.value], &[expected.value], 1e-8, &text);
                }
                close(&[found.std_error], &[expected.std_error], 1e-8, &text);
            }
            let last = joint.set(sets - 1).unwrap();
            assert_eq!(last.derived()[1].value, derived[sets].value);
            close(&[last.derived()[1].std_error], &[derived[sets].std_error], 1e-12, "view");
        }
    }
}

#[test]
fn a_view_of_many_sets_judges_its_points_as_the_whole_does() {
    let problem = Problem { sets: decays(20, 1.0), ..Problem::decays(20) };
    let (joint, hand) = problem.both();
    let all = problem.diagnostics_by_hand(&hand);
    let mut first = 0;
    for (s, set) in problem.sets.iter().enumerate() {
        let here = first..first + set.x.len();
        first = here.end;
        let found = joint.set(s).unwrap().diagnostics(problem.data(s)).unwrap();
        close(&found.leverage, &all.leverage[here.clone()], 1e-8, "leverage");
        close(&found.cooks_distance, &all.cooks_distance[here], 1e-6, "Cook's distance");
    }
}
