//! Bounds, fixed and tied parameters, priors, losses.

use super::problem::{Problem, Said, USUAL, agree, exact};
use dualfit::{CurveFit, Loss};

fn bound(name: impl Into<String>, lower: f64, upper: f64) -> Said {
    Said::Bound(name.into(), lower, upper)
}

/// Of some sets: levels that cannot be reached, and amplitudes that can.
fn own_bounds(sets: usize) -> Vec<Said> {
    let of_set = |s: usize| {
        let level = 0.3 * (s % 3) as f64 - 0.2;
        match s % 4 {
            1 => vec![bound(format!("c_{}", s + 1), level + 0.3, 9.0)],
            2 => vec![bound(format!("c_{}", s + 1), -9.0, -0.3)],
            3 => vec![
                bound(format!("a_{}", s + 1), 0.0, 0.5),
                bound(format!("c_{}", s + 1), -0.4, 0.4),
            ],
            _ => vec![bound(format!("a_{}", s + 1), 0.1, 50.0)],
        }
    };
    (0..sets).flat_map(of_set).collect()
}

#[test]
fn bounds_hold_the_same_parameters() {
    for sets in [2, 3, 20, 40] {
        let problem = Problem::decays(sets);
        for (low, high) in [(0.0, 0.6), (1.0, 9.0), (0.1, 10.0)] {
            let (joint, _) = agree(&problem.clone().said([bound("k", low, high)]), USUAL, "k");
            assert_eq!(joint.fit().at_bound().len(), usize::from(low != 0.1));
        }
        // The start is outside of some.
        let own = problem.clone().said(own_bounds(sets));
        let (joint, _) = agree(&own, USUAL, &format!("own of {sets}"));
        assert!(joint.fit().at_bound().len() > sets / 4);
        let both = own.said([bound("k", 0.0, 0.7), bound("b", -1.0, 0.06)]);
        agree(&both, USUAL, &format!("own and shared of {sets}"));
    }
}

#[test]
fn fixed_parameters_stay_in_both() {
    let fix = |name: &str| Said::Fix(name.to_owned());
    for sets in [2, 3, 20, 40] {
        let problem = Problem::decays(sets);
        agree(&problem.clone().said([fix("k")]), USUAL, "k");
        agree(&problem.clone().said([fix("k"), fix("b")]), USUAL, "all that is shared");
        agree(&problem.clone().said([fix("c_2"), fix("a_1")]), USUAL, "some");
        let all =
            (0..sets).flat_map(|s| [fix(&format!("a_{}", s + 1)), fix(&format!("c_{}", s + 1))]);
        agree(&problem.clone().said(all), USUAL, "all that are own");
        // A set with nothing of its own, and bounds beside.
        let some = [fix("a_2"), fix("c_2"), bound("k", 0.0, 0.6), bound("c_1", 0.3, 9.0)];
        agree(
            &Problem { start: vec![1.5, 0.5, 0.0, 0.4], ..problem }.said(some),
            USUAL,
            "with bounds",
        );
    }
}

#[test]
fn ties_between_own_and_shared_parameters_hold_in_both() {
    for sets in [2, 3, 20, 40] {
        for traced in [false, true] {
            let problem = Problem { traced, ..Problem::decays(sets) };
            agree(&problem.clone().said([Said::Tie("c", "0.2*k")]), USUAL, "own by shared");
            let (joint, hand) =
                agree(&problem.clone().said([Said::Tie("c", "0.1*a - b")]), USUAL, "own by both");
            assert_eq!(joint.fit().tie("c_2"), hand.tie("c_2"));
            agree(&problem.clone().said([Said::Tie("b", "0.05*k")]), USUAL, "shared by shared");
            let all = [Said::Tie("c", "0.1*a - b"), Said::Tie("b", "0.05*k"), bound("k", 0.0, 0.6)];
            let start = vec![1.5, 0.5, 0.0, 0.0];
            agree(&Problem { start, ..problem }.said(all), USUAL, "chains with a bound");
        }
    }
}

#[test]
fn priors_count_in_both() {
    for sets in [2, 3, 20, 40] {
        let problem = Problem::decays(sets);
        let k = || Said::Prior("k", 0.9, 0.02);
        agree(&problem.clone().said([k()]), USUAL, "shared");
        agree(&problem.clone().said([Said::Prior("a", 2.0, 0.3)]), USUAL, "own");
        // As narrow as can be, beside a fixed one.
        let all =
            [k(), Said::Prior("c", 0.1, 1e-6), Said::Fix("c_2".into()), bound("b", 0.0, 0.04)];
        agree(&problem.said(all), USUAL, "all");
    }
}

/// Each eighth point is far away.
fn outliers(mut problem: Problem) -> Problem {
    let mut count = 0;
    for set in &mut problem.sets {
        for (y, sigma) in set.y.iter_mut().zip(&set.sigma) {
            count += 1;
            if count % 8 == 0 {
                *y += sigma * if count % 16 == 0 { 12.0 } else { -9.0 };
            }
        }
    }
    problem.start = vec![2.5, 0.9, 0.04, 0.1];
    problem
}

#[test]
fn robust_losses_leave_the_same_points_out() {
    let with: [fn(CurveFit) -> CurveFit; 6] = [
        |curve| exact(curve.loss(Loss::SoftL1 { scale: 1.0 })),
        |curve| exact(curve.loss(Loss::Huber { scale: 1.5 })),
        |curve| exact(curve.loss(Loss::Cauchy { scale: 2.5 })),
        |curve| exact(curve.loss(Loss::Arctan { scale: 4.0 })),
        |curve| exact(curve.loss(Loss::Tukey { scale: 6.0 })),
        |curve| exact(curve.loss(Loss::custom(2.0, |u| (1.0 + u * u).ln()).unwrap())),
    ];
    for sets in [2, 3, 20] {
        let problem = outliers(Problem::decays(sets));
        for (i, with) in with.into_iter().enumerate() {
            let problem = Problem { with, ..problem.clone() };
            let (joint, hand) = agree(&problem, USUAL, &format!("loss {i} of {sets} sets"));
            let points = [joint.fit().effective_points(), hand.effective_points()];
            assert!((points[0] - points[1]).abs() < 1e-8 * points[1], "{points:?}");
        }
    }
}

#[test]
fn a_set_of_outliers_changes_no_more_than_by_hand() {
    let with: [fn(CurveFit) -> CurveFit; 3] = [
        exact,
        |curve| exact(curve.loss(Loss::Huber { scale: 1.5 })),
        |curve| exact(curve.loss(Loss::Tukey { scale: 6.0 })),
    ];
    for (i, with) in with.into_iter().enumerate() {
        for sets in [3, 20] {
            let mut problem = Problem { with, ..Problem::decays(sets) };
            problem.start = vec![2.5, 0.9, 0.04, 0.1];
            let set = &mut problem.sets[1];
            for (j, (y, sigma)) in set.y.iter_mut().zip(&set.sigma).enumerate() {
                *y += sigma * [9.0, -11.0, 2.0, -1.0, 12.0, -8.0, 10.0][j % 7];
            }
            agree(&problem, USUAL, &format!("loss {i}, {sets} sets"));
            let held = [bound("c_2", 3.0, 9.0), bound("a_2", 0.0, 2.0)];
            let start = vec![1.5, 0.9, 0.04, 3.5];
            agree(
                &Problem { start, ..problem }.said(held),
                USUAL,
                &format!("loss {i}, {sets} sets, held"),
            );
        }
    }
}
