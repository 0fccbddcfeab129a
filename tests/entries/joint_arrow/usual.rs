//! Plain fits: any number of sets, orders, scales, weights, models.

use super::problem::{
    DECAY, Differences, Form, Problem, RATE, Said, USUAL, agree, decays, differences, exact,
    normal_numbers, within,
};
use dualfit::{CurveFit, Data, Estimator, Fit, GlobalFit, JointFit, Loss, Options, Sigma, Start};

#[test]
fn any_number_of_sets_is_fitted_as_by_hand() {
    for sets in [2, 3, 20, 75, 200] {
        let problem = Problem::decays(sets);
        let (joint, _) = agree(&problem, USUAL, &format!("{sets} sets"));
        assert!(joint.converged() && (joint.fit().param("k").unwrap() - RATE).abs() < 0.2);
        if sets < 40 {
            for absolute in [None, Some(false)] {
                let problem = Problem { absolute, traced: true, ..problem.clone() };
                agree(&problem, USUAL, &format!("{sets} sets, {absolute:?}"));
            }
        }
    }
}

#[test]
fn usual_tolerances_end_alike() {
    let with: [fn(CurveFit) -> CurveFit; 3] = [
        |curve| curve,
        |curve| curve.options(Options::default().etol(0.01)),
        |curve| curve.options(Options::default().max_evaluations(3)),
    ];
    for with in with {
        let (joint, hand) = Problem { with, ..Problem::decays(20) }.both();
        assert_eq!(joint.fit().termination(), hand.termination());
        assert_eq!(joint.fit().evaluations(), hand.evaluations());
        let most =
            Differences { params: 1e-8, errors: 1e-8, correlations: 1e-8, chi_square: 1e-12 };
        within(differences(joint.fit(), &hand), most, "usual tolerances");
    }
}

#[test]
fn the_order_of_sets_does_not_matter() {
    let problem = Problem::decays(75);
    let mut other = problem.clone();
    other.sets = (0..75).map(|s| problem.sets[(37 * s + 11) % 75].clone()).collect();
    let (one, two) = (problem.joint(), other.joint());
    let same = |a: f64, b: f64, tolerance: f64| {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a:e} {b:e}");
    };
    for name in DECAY.shared {
        let error = one.fit().std_error(name).unwrap();
        let (a, b) = (one.fit().param(name).unwrap(), two.fit().param(name).unwrap());
        assert!((a - b).abs() <= 1e-10 * error, "{name}: {a} {b}");
        same(error, two.fit().std_error(name).unwrap(), 1e-10);
    }
    for s in 0..75 {
        let at = (37 * s + 11) % 75;
        let (a, b) = (one.set(at).unwrap(), two.set(s).unwrap());
        a.std_errors().iter().zip(b.std_errors()).for_each(|(a, b)| same(*a, b, 1e-10));
        same(one.chi_squares()[at], two.chi_squares()[s], 1e-8);
    }
}

#[test]
fn one_set_is_an_ordinary_fit_whatever_it_shares() {
    let with: [fn(CurveFit) -> CurveFit; 2] =
        [exact, |curve| exact(curve.loss(Loss::Cauchy { scale: 1.0 }))];
    for (with, shared) in
        with.into_iter().flat_map(|w| [(w, &["k"][..]), (w, &[]), (w, &["a", "c"])])
    {
        let bound =
            || vec![Said::Bound(if shared == ["k"] { "k" } else { "k_1" }.into(), 0.0, 0.7)];
        for said in [Vec::new(), bound()] {
            let form = Form { shared, ..DECAY };
            let problem = Problem { form, with, ..Problem::decays(1) }.said(said);
            let (joint, hand) = problem.both();
            assert_eq!(joint.fit().params(), hand.params());
            let bits = |fit: &Fit| fit.std_errors().iter().map(|e| e.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(joint.fit()), bits(&hand));
            assert_eq!(joint.fit().termination(), hand.termination());
        }
    }
}

/// Each set and its sigma in a unit of its own.
fn scaled(mut problem: Problem, decades: i32) -> Problem {
    for (s, (set, unit)) in problem.sets.iter_mut().zip(&mut problem.units).enumerate() {
        *unit = 10f64.powi((5 * s as i32) % (2 * decades + 1) - decades);
        set.y.iter_mut().chain(&mut set.sigma).for_each(|v| *v *= *unit);
    }
    problem
}

/// Without a shared level, which would have one unit.
const LEVELS: Form = Form {
    text: "a*exp(-k*x) + c",
    names: &["a", "k", "c"],
    shared: &["k"],
    value: |x, p| p[0] * (-p[1] * x).exp() + p[2],
    partials: |x, p, out| {
        let part = (-p[1] * x).exp();
        out.copy_from_slice(&[part, -p[0] * x * part, 1.0]);
    },
};

#[test]
fn sets_in_units_far_apart_keep_all_digits() {
    for sets in [3, 40] {
        let plain = Problem::new(LEVELS, decays(sets, 1.0), &[1.5, 1.0, 0.0]);
        let expected = plain.joint();
        for decades in [3, 6, 100] {
            let (joint, _) =
                agree(&scaled(plain.clone(), decades), USUAL, &format!("{decades} decades"));
            let rate = |joint: &JointFit| {
                (joint.fit().param("k").unwrap(), joint.fit().std_error("k").unwrap())
            };
            let ((k, error), (k_plain, error_plain)) = (rate(&joint), rate(&expected));
            assert!((k - k_plain).abs() <= 1e-9 * error_plain, "{k} {k_plain}");
            assert!((error / error_plain - 1.0).abs() <= 1e-9, "{error} {error_plain}");
        }
    }
}

#[test]
fn data_without_noise_are_passed_by_both() {
    for sets in [3, 40] {
        let problem = Problem { sets: decays(sets, 0.0), ..Problem::decays(sets) };
        let (joint, hand) = problem.both();
        assert_eq!(joint.fit().termination(), hand.termination());
        assert!(joint.converged() && joint.fit().chi_square() < 1e-20 && hand.chi_square() < 1e-20);
        let found = differences(joint.fit(), &hand);
        within(Differences { chi_square: 0.0, ..found }, USUAL, "without noise");
        // Unknown sigma: errors are of rounding, too.
        let (joint, hand) = Problem { absolute: None, ..problem }.both();
        assert!(joint.converged() && hand.converged());
        let pairs = joint.fit().params().iter().zip(hand.params());
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{a} {b}"));
        assert!(joint.fit().std_errors().iter().all(|&error| error < 1e-12));
    }
}

#[test]
fn counts_are_fitted_as_by_hand() {
    let with: fn(CurveFit) -> CurveFit = |curve| exact(curve.estimator(Estimator::Poisson));
    let mut random = normal_numbers(5);
    for sets in [2, 20, 75] {
        let mut problem = Problem::new(LEVELS, decays(sets, 0.0), &[20.0, 1.0, 8.0]);
        for set in &mut problem.sets {
            for y in &mut set.y {
                let mean = 12.0 * *y + 15.0;
                *y = (mean + mean.sqrt() * random()).round().max(0.0);
            }
        }
        agree(
            &Problem { absolute: None, with, ..problem },
            USUAL,
            &format!("counts of {sets} sets"),
        );
    }
}

#[test]
fn points_that_outweigh_all_others_are_passed_by_both() {
    for (sets, weight) in [3, 20].into_iter().flat_map(|sets| [1e-4, 1e-6, 1e-9].map(|w| (sets, w)))
    {
        let mut problem = Problem::decays(sets);
        // In one set, in two, two points of one.
        for (set, point) in [(1, 2), (2, 0), (2, 3)] {
            problem.sets[set].sigma[point] *= weight;
            let (joint, hand) = agree(&problem, USUAL, &format!("{sets} sets, sigma {weight:e}"));
            let at = [problem.sets[set].x[point]];
            let [found, by_hand] = [
                joint.set(set).unwrap().confidence_band(&at, 0.9).unwrap(),
                hand.confidence_band([&[set as f64 + 1.0], &at], 0.9).unwrap(),
            ];
            let sigma = problem.sets[set].sigma[point];
            assert!((found.center[0] - problem.sets[set].y[point]).abs() < 10.0 * sigma + 1e-15);
            let ratio = found.std_errors[0] / by_hand.std_errors[0];
            // There the errors of all parameters cancel, down to 1e-9 of their own sizes.
            let most = 1e-8 / weight * 1e-3;
            assert!((ratio - 1.0).abs() < most.max(1e-8), "{weight:e}: {ratio}");
        }
    }
}

#[test]
fn points_that_outweigh_others_do_so_at_bounds() {
    for sets in [3, 20] {
        let mut problem = Problem::new(LEVELS, decays(sets, 1.0), &[1.5, 1.0, 0.0]);
        problem.sets[1].sigma[2] *= 1e-7;
        problem.sets[2].sigma[0] *= 1e-8;
        agree(&problem, USUAL, "heavy");
        let of_all = Said::Bound("k".into(), 0.0, 0.6);
        agree(&problem.clone().said([of_all.clone()]), USUAL, "heavy, shared bound");
        let own = Said::Bound("c_2".into(), 0.3, 9.0);
        agree(&problem.clone().said([own.clone()]), USUAL, "heavy, own bound");
        agree(&problem.said([own, of_all]), USUAL, "heavy, both");
    }
}

/// Decays and rises with a rate of all, levels that neighbours share, and an amplitude of each.
#[test]
fn models_of_their_own_and_parameters_of_few_sets_are_fitted_as_by_hand() {
    for sets in [2, 3, 20, 60] {
        let mut all = decays(sets, 1.0);
        for (s, set) in all.iter_mut().enumerate() {
            let (a, c) = (1.0 + (s % 5) as f64, 0.3 * (s % 3) as f64 - 0.2);
            for (y, x) in set.y.iter_mut().zip(&set.x) {
                let decay = *y - c - 0.05 * x;
                *y = 0.2 + if s % 3 == 2 { a - decay } else { decay };
            }
        }
        let names = |s: usize| [format!("a{s}"), "k".to_owned(), format!("c{}", s / 2)];
        let value = |s: usize, x: f64, p: [f64; 3]| match s % 3 {
            2 => p[0] * (1.0 - (-p[1] * x).exp()) + p[2],
            _ => p[0] * (-p[1] * x).exp() + p[2],
        };
        let partials = |s: usize, x: f64, p: [f64; 3]| {
            let part = (-p[1] * x).exp();
            match s % 3 {
                2 => [1.0 - part, p[0] * x * part, 1.0],
                _ => [part, -p[0] * x * part, 1.0],
            }
        };
        let three = |p: &[f64]| [p[0], p[1], p[2]];
        let curve = |s: usize| {
            let curve = CurveFit::native(3, move |x, p| value(s, x, three(p)));
            let curve = curve.names(names(s)).jacobian(move |x, p, out| {
                out.copy_from_slice(&partials(s, x, three(p)));
            });
            // Of one set alone, and of two.
            let curve = if s == 1 { curve.prior("a1", 2.1, 0.05) } else { curve };
            let curve = if s == 0 { curve.prior("c0", 0.1, 0.02) } else { curve };
            exact(if s == 2 { curve.bound("a2", 0.0..=2.5) } else { curve })
        };
        let curves: Vec<CurveFit> = (0..sets).map(curve).collect();
        let global = GlobalFit::of(&curves);
        let all_names = global.parameters(sets).unwrap();
        let places: Vec<[usize; 3]> = (0..sets)
            .map(|s| names(s).map(|name| all_names.iter().position(|n| *n == name).unwrap()))
            .collect();
        let data = all.iter().map(|set| {
            Data::new(&set.x, &set.y).unwrap().sigma(Sigma::Absolute(&set.sigma)).unwrap()
        });
        let start: Vec<f64> =
            all_names.iter().map(|name| if name.starts_with('c') { 0.1 } else { 0.9 }).collect();
        let joint = global.fit(data, Start::Values(start.clone())).unwrap();

        let of_set = places.clone();
        let by_hand = CurveFit::native_multivariate(2, all_names.len(), move |x, p| {
            let s = x[0] as usize;
            value(s, x[1], of_set[s].map(|k| p[k]))
        });
        let by_hand = by_hand.names(&all_names).jacobian_multivariate(move |x, p, out| {
            let s = x[0] as usize;
            out.fill(0.0);
            let found = partials(s, x[1], places[s].map(|k| p[k]));
            places[s].iter().zip(found).for_each(|(&k, partial)| out[k] = partial);
        });
        let mut by_hand = by_hand.prior("a1", 2.1, 0.05).prior("c0", 0.1, 0.02);
        if sets > 2 {
            by_hand = by_hand.bound("a2", 0.0..=2.5);
        }
        let each = all.iter().enumerate();
        let column: Vec<f64> = each.flat_map(|(s, set)| vec![s as f64; set.x.len()]).collect();
        let x: Vec<f64> = all.iter().flat_map(|set| set.x.clone()).collect();
        let y: Vec<f64> = all.iter().flat_map(|set| set.y.clone()).collect();
        let sigma: Vec<f64> = all.iter().flat_map(|set| set.sigma.clone()).collect();
        let data = Data::new([&column, &x], &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
        let hand = exact(by_hand).fit(data, start).unwrap();
        within(differences(joint.fit(), &hand), USUAL, &format!("{sets} models"));
        assert_eq!(joint.fit().at_bound().len(), usize::from(sets > 2));
    }
}
