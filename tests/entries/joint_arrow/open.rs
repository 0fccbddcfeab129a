//! Undetermined parameters, of a set or shared, are named as in the single fit of all points, and all others have the same errors.

use super::problem::{DECAY, Differences, Form, Problem, Said, Set, USUAL, agree, decays};
use dualfit::{Fit, Warning};

/// Parameters in warnings of directions that are open.
fn named(fit: &Fit) -> Vec<&str> {
    let combinations: Vec<&String> = fit
        .warnings()
        .iter()
        .filter_map(|warning| match warning {
            Warning::RankDeficient { combination, .. } => Some(combination),
            Warning::NoSlope { name } | Warning::UnusedParameter { name } => Some(name),
            _ => None,
        })
        .collect();
    let is_named = |name: &&String| {
        combinations.iter().any(|text| text.split(' ').any(|word| word == name.as_str()))
    };
    fit.names().iter().filter(is_named).map(String::as_str).collect()
}

/// Both leave these parameters open, and no others.
#[track_caller]
fn leave_open(problem: &Problem, open: &[&str], what: &str) {
    // An undetermined parameter may have any value, also a large one, which increases the rounding of the model.
    let most = Differences { params: 1e-8, chi_square: 1e-9, ..USUAL };
    let (joint, hand) = agree(problem, most, what);
    assert_eq!(joint.fit().undetermined(), open, "{what}: {}", joint.fit());
    if open.len() <= 16 {
        assert_eq!((named(joint.fit()), named(&hand)), (open.to_vec(), open.to_vec()), "{what}");
    }
    for &name in open {
        assert_eq!(joint.fit().std_error(name), Some(f64::INFINITY));
    }
    // What each set says of its points, open or not.
    let (_, places) = problem.places();
    for s in [0, 1, problem.sets.len() - 1] {
        let view = joint.set(s).unwrap();
        let x = &problem.sets[s].x;
        let column = vec![s as f64 + 1.0; x.len()];
        let found = view.confidence_band(x, 0.9).unwrap();
        let expected = hand.confidence_band([&column, x], 0.9).unwrap();
        for (a, b) in found.std_errors.iter().zip(&expected.std_errors) {
            assert!((a / b - 1.0).abs() < 1e-7, "{what}, set {s}: {a:e} {b:e}");
        }
        let own: Vec<usize> = places[s]
            .iter()
            .copied()
            .filter(|&k| joint.fit().std_errors()[k] == f64::INFINITY)
            .collect();
        let of_view: Vec<f64> =
            view.std_errors().into_iter().filter(|e| *e == f64::INFINITY).collect();
        assert_eq!(of_view.len(), own.len(), "{what}, set {s}");
    }
}

/// Keeps the first `points` points of the set.
fn shorten(set: &mut Set, points: usize) {
    set.x.truncate(points);
    set.y.truncate(points);
    set.sigma.truncate(points);
}

/// All points of the set are there, near one value.
fn move_to(set: &mut Set, x: f64) {
    set.x.fill(x);
    let noise = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -0.9 };
    set.y = set.sigma.iter().enumerate().map(|(i, sigma)| 1.3 + sigma * noise(i)).collect();
}

#[test]
fn sets_of_one_place_or_few_points_are_open_alone() {
    for sets in [5, 20] {
        let problem = Problem::decays(sets);
        let mut at_one_place = problem.clone();
        move_to(&mut at_one_place.sets[1], 1.0);
        leave_open(&at_one_place, &["a_2", "c_2"], "one place");
        move_to(&mut at_one_place.sets[2], 0.7);
        leave_open(&at_one_place, &["a_2", "c_2", "a_3", "c_3"], "two of one place");
        let held = at_one_place.clone().said([Said::Bound("k".into(), 0.0, 0.6)]);
        leave_open(&held, &["a_2", "c_2", "a_3", "c_3"], "with a bound");
        let prior = at_one_place.clone().said([Said::Prior("c", 0.0, 0.5)]);
        leave_open(&prior, &[], "told by priors");
        let tied = at_one_place.clone().said([Said::Tie("c", "0.2*a")]);
        leave_open(&tied, &[], "told by ties");
        let tied = at_one_place.said([Said::Tie("b", "0.1*k")]);
        leave_open(&tied, &["a_2", "c_2", "a_3", "c_3"], "with ties");

        let mut short = problem.clone();
        shorten(&mut short.sets[1], 1);
        leave_open(&short, &["a_2", "c_2"], "one point");
        shorten(&mut short.sets[2], 2);
        leave_open(&short, &["a_2", "c_2"], "one and two points");
        let fixed = short.clone().said([Said::Fix("c_2".into())]);
        leave_open(&fixed, &[], "one and two points, one level known");
        // Weights of their own, or none.
        for absolute in [None, Some(false)] {
            leave_open(&Problem { absolute, ..short.clone() }, &["a_2", "c_2"], "relative");
        }
    }
}

/// The last parameter counts from x = 1.5 on alone.
const HINGE: Form = Form {
    text: "a*exp(-k*x) + b*x + c*max(x - 1.5, 0)",
    value: |x, p| p[0] * (-p[1] * x).exp() + p[2] * x + p[3] * (x - 1.5).max(0.0),
    partials: |x, p, out| {
        let part = (-p[1] * x).exp();
        out.copy_from_slice(&[part, -p[0] * x * part, x, (x - 1.5).max(0.0)]);
    },
    ..DECAY
};

#[test]
fn a_parameter_without_effect_in_its_set_is_open_alone() {
    for sets in [3, 30] {
        let mut problem = Problem { form: HINGE, ..Problem::decays(sets) };
        let short: Vec<usize> = (1..sets).step_by(7).collect();
        for &s in &short {
            problem.sets[s].x.iter_mut().for_each(|x| *x *= 0.2);
        }
        let names: Vec<String> = short.iter().map(|s| format!("c_{}", s + 1)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        leave_open(&problem, &names, "no effect");
        let traced = Problem { traced: true, ..problem };
        // Its formula contains c, which had an effect at other points: such a fit is degenerate, where a function's is not.
        let joint = traced.joint();
        assert_eq!((joint.fit().undetermined(), named(joint.fit())), (names.clone(), names));
    }
}

/// Only the sum of the rates matters.
const SUM: Form = Form {
    text: "a*exp(-(k + b)*x) + c",
    value: |x, p| p[0] * (-(p[1] + p[2]) * x).exp() + p[3],
    partials: |x, p, out| {
        let part = (-(p[1] + p[2]) * x).exp();
        out.copy_from_slice(&[part, -p[0] * x * part, -p[0] * x * part, 1.0]);
    },
    ..DECAY
};

/// A level of all beside those of the sets.
const LEVEL: Form = Form {
    text: "a*exp(-k*x) + b + c",
    value: |x, p| p[0] * (-p[1] * x).exp() + p[2] + p[3],
    partials: |x, p, out| {
        let part = (-p[1] * x).exp();
        out.copy_from_slice(&[part, -p[0] * x * part, 1.0, 1.0]);
    },
    ..DECAY
};

#[test]
fn what_all_sets_leave_open_is_open_for_all() {
    for sets in [3, 30] {
        let start = vec![1.5, 0.5, 0.2, 0.0];
        let problem = Problem { form: SUM, start, ..Problem::decays(sets) };
        leave_open(&problem, &["k", "b"], "two rates");
        let mut both = problem.clone();
        move_to(&mut both.sets[2], 1.0);
        leave_open(&both, &["k", "b", "a_3", "c_3"], "two rates and a set");
        leave_open(&problem.said([Said::Prior("b", 0.3, 0.1)]), &[], "told by a prior");
        // Open parameters of all sets at once.
        let problem = Problem { form: LEVEL, ..both };
        let (names, _) = problem.places();
        let is_open = |name: &&String| *name == "b" || name.starts_with('c') || *name == "a_3";
        let open: Vec<&str> = names.iter().filter(is_open).map(String::as_str).collect();
        leave_open(&problem, &open, "levels");
        let open: Vec<&str> = vec!["a_3", "c_3"];
        let one = problem.said([Said::Fix("c_2".into())]);
        leave_open(&one, &open, "levels, one of them known");
    }
}

/// A level, a slope about x = 1, and a step of all sets.
const STEP: Form = Form {
    text: "a + c*x + if(x > 1, k, 0)",
    names: &["a", "k", "c"],
    shared: &["k"],
    value: |x, p| p[0] + p[2] * x + if x > 1.0 { p[1] } else { 0.0 },
    partials: |x, _, out| {
        out.copy_from_slice(&[1.0, if x > 1.0 { 1.0 } else { 0.0 }, x]);
    },
};

/// A set whose own parameters are hardly determined moves them a trillion times farther than the shared parameter. What
/// is known of that, with them or without them, stays.
#[test]
fn a_shared_parameter_is_known_beside_own_ones_that_hardly_are() {
    for exponent in 24..64 {
        let delta = 10f64.powf(-0.25 * f64::from(exponent));
        for poisoned in [1, 2] {
            let mut problem = Problem::new(STEP, decays(3 + poisoned, 1.0), &[1.0, 1.0, 0.5]);
            problem.sets.iter_mut().for_each(|set| set.sigma.fill(100.0));
            for set in &mut problem.sets[1..=poisoned] {
                let x = (0..6).map(|i| if i < 3 { 1.0 } else { 1.0 + delta }).collect();
                let y = vec![1.0, 1.1, 0.9, 1.2, 1.3, 1.1];
                *set = Set { sigma: vec![0.1; 6], x, y };
            }
            let (joint, hand) = problem.both();
            // Three points at 0.1 on either side of the step, in each such set.
            let without = 0.1 * (2.0 / 3.0 / f64::from(poisoned as u8)).sqrt();
            let own = ["a_2", "c_2", "a_3", "c_3"];
            for fit in [joint.fit(), &hand] {
                let k = fit.std_error("k").unwrap();
                let (expected, tolerance) = match fit.undetermined().is_empty() {
                    true => (if poisoned == 1 { 73.214 } else { 83.876 }, 3e-3),
                    false => (without, 1e-5),
                };
                assert!((k / expected - 1.0).abs() < tolerance, "{delta:e} {poisoned}: {k}");
                if !fit.undetermined().is_empty() {
                    assert_eq!(fit.undetermined(), own[..2 * poisoned]);
                }
            }
            // Between these the last bits decide.
            if !(1e-12..1e-10).contains(&delta) {
                assert_eq!(joint.fit().undetermined(), hand.undetermined(), "{delta:e}");
            }
        }
    }
}
