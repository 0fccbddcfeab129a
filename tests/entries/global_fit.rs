//! A joint fit of several sets equals the fit that a user would stack by hand.

use approx::assert_relative_eq;
use dualfit::error::GlobalError;
use dualfit::{
    CurveFit, Data, Error, Estimator, Fit, GlobalFit, JointFit, Loss, Matrix, SearchOptions,
    SearchWhen, Sigma, Start, Var,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Three decays of one rate, of different lengths and x, with noise of standard deviation 0.05.
struct Decays {
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    sigma: Vec<Vec<f64>>,
}

const TRUE_RATE: f64 = 0.8;
const AMPLITUDES: [f64; 3] = [2.0, 5.0, -1.0];
const OFFSETS: [f64; 3] = [0.3, -0.5, 0.1];

fn decays(scale: f64) -> Decays {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut found = Decays { x: Vec::new(), y: Vec::new(), sigma: Vec::new() };
    for set in 0..3 {
        let n = 30 + 11 * set;
        let x: Vec<f64> = (0..n).map(|i| 0.13 * i as f64 + 0.01 * set as f64).collect();
        let noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let noise: Vec<f64> = std::iter::repeat_with(noise).take(n).collect();
        let clean = x.iter().map(|x| AMPLITUDES[set] * (-TRUE_RATE * x).exp() + OFFSETS[set]);
        found.y.push(clean.zip(&noise).map(|(y, e)| scale * (y + 0.05 * e)).collect());
        found.sigma.push((0..n).map(|i| scale * (0.03 + 0.01 * (i % 4) as f64)).collect());
        found.x.push(x);
    }
    found
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, rate, c]| a * (-rate * x).exp() + c).names(["a", "rate", "c"])
}

/// The same as a user without joint fits would write it: one model, the set as a variable.
fn stacked() -> CurveFit {
    let of_set = |set: Var, [first, second, third]: [Var; 3]| {
        set.lt(1.5).select(first, set.lt(2.5).select(second, third))
    };
    CurveFit::multivariate(move |[set, x], [a1, rate, c1, a2, c2, a3, c3]| {
        of_set(set, [a1, a2, a3]) * (-rate * x).exp() + of_set(set, [c1, c2, c3])
    })
    .names(["a_1", "rate", "c_1", "a_2", "c_2", "a_3", "c_3"])
}

fn stack(parts: &[Vec<f64>]) -> Vec<f64> {
    parts.concat()
}

fn set_column(parts: &[Vec<f64>]) -> Vec<f64> {
    parts.iter().enumerate().flat_map(|(s, part)| vec![s as f64 + 1.0; part.len()]).collect()
}

fn assert_same(joint: &Fit, by_hand: &Fit, tolerance: f64) {
    assert!(joint.converged() && by_hand.converged());
    assert_eq!(joint.names(), by_hand.names());
    for i in 0..joint.names().len() {
        let (error, error_by_hand) = (joint.std_errors()[i], by_hand.std_errors()[i]);
        assert_relative_eq!(
            joint.params()[i],
            by_hand.params()[i],
            epsilon = tolerance * error_by_hand,
            max_relative = tolerance
        );
        assert_relative_eq!(error, error_by_hand, max_relative = tolerance);
        for j in 0..i {
            let (c, d) = (joint.correlation()[(i, j)], by_hand.correlation()[(i, j)]);
            assert_relative_eq!(c, d, epsilon = tolerance);
        }
    }
    assert_relative_eq!(joint.chi_square(), by_hand.chi_square(), max_relative = tolerance);
    assert_eq!(joint.degrees_of_freedom(), by_hand.degrees_of_freedom());
    assert_relative_eq!(joint.aic(), by_hand.aic(), max_relative = tolerance);
}

const START: [f64; 7] = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];

fn both(points: &Decays, with: impl Fn(CurveFit) -> CurveFit, absolute: bool) -> (JointFit, Fit) {
    let data = |set: usize| {
        let data = Data::new(&points.x[set], &points.y[set]).unwrap();
        match absolute {
            true => data.sigma(Sigma::Absolute(&points.sigma[set])).unwrap(),
            false => data,
        }
    };
    let joint = GlobalFit::new(&with(decay())).share(["rate"]);
    let joint = joint.fit((0..3).map(data), START).unwrap();
    let (sets, x, y, sigma) =
        (set_column(&points.x), stack(&points.x), stack(&points.y), stack(&points.sigma));
    let mut data = Data::new([&sets, &x], &y).unwrap();
    if absolute {
        data = data.sigma(Sigma::Absolute(&sigma)).unwrap();
    }
    (joint, with(stacked()).fit(data, START).unwrap())
}

#[test]
fn three_decays_with_a_shared_rate_equal_the_fit_stacked_by_hand() {
    let points = decays(1.0);
    for absolute in [false, true] {
        let (joint, by_hand) = both(&points, |curve| curve, absolute);
        assert_same(joint.fit(), &by_hand, 1e-9);
        assert!((joint.fit().param("rate").unwrap() - TRUE_RATE).abs() < 0.1);
    }
    for loss in
        [Loss::Huber { scale: 0.05 }, Loss::Cauchy { scale: 0.1 }, Loss::Tukey { scale: 0.2 }]
    {
        let (joint, by_hand) = both(&points, |curve| curve.loss(loss), false);
        assert_same(joint.fit(), &by_hand, 1e-6);
    }
}

#[test]
fn sets_of_any_size_keep_their_digits() {
    for scale in [1e-200, 1e200] {
        let points = decays(scale);
        let joint = GlobalFit::new(&decay()).share(["rate"]);
        let data = |set: usize| Data::new(&points.x[set], &points.y[set]).unwrap();
        let start = START.map(|p| if p == 0.0 { 0.0 } else { p * scale });
        let start = [start[0], 1.0, 0.0, start[3], 0.0, start[5], 0.0];
        let fit = joint.fit((0..3).map(data), start).unwrap();
        let (ordinary, _) = both(&decays(1.0), |curve| curve, false);
        assert!(fit.converged());
        for (name, unit) in [("rate", 1.0), ("a_2", scale), ("c_3", scale)] {
            let (found, expected) = (fit.fit(), ordinary.fit());
            assert_relative_eq!(
                found.param(name).unwrap() / unit,
                expected.param(name).unwrap(),
                max_relative = 1e-8
            );
            assert_relative_eq!(
                found.std_error(name).unwrap() / unit,
                expected.std_error(name).unwrap(),
                max_relative = 1e-8
            );
        }
    }
}

#[test]
fn sets_on_scales_far_apart_share_a_parameter_if_their_sigma_is_known() {
    let (small, large) = (decays(1e-180), decays(1e180));
    let first = Data::new(&small.x[0], &small.y[0]).unwrap();
    let first = first.sigma(Sigma::Absolute(&small.sigma[0])).unwrap();
    let second = Data::new(&large.x[1], &large.y[1]).unwrap();
    let second = second.sigma(Sigma::Absolute(&large.sigma[1])).unwrap();
    let joint = GlobalFit::new(&decay()).share(["rate"]);
    let fit = joint.fit([first, second], [1e-180, 1.0, 0.0, 1e180, 0.0]).unwrap();
    let points = decays(1.0);
    let data = |set: usize| {
        let data = Data::new(&points.x[set], &points.y[set]).unwrap();
        data.sigma(Sigma::Absolute(&points.sigma[set])).unwrap()
    };
    let ordinary = joint.fit([data(0), data(1)], [1.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
    let rate =
        |fit: &JointFit| (fit.fit().param("rate").unwrap(), fit.fit().std_error("rate").unwrap());
    assert_relative_eq!(rate(&fit).0, rate(&ordinary).0, max_relative = 1e-8);
    assert_relative_eq!(rate(&fit).1, rate(&ordinary).1, max_relative = 1e-8);
    assert_relative_eq!(fit.fit().chi_square(), ordinary.fit().chi_square(), max_relative = 1e-8);
}

#[test]
fn bounds_and_fixed_parameters_hold_for_one_set_or_all() {
    let points = decays(1.0);
    let data = |set: usize| Data::new(&points.x[set], &points.y[set]).unwrap();
    let joint = GlobalFit::new(&decay()).share(["rate"]).fix("c_2").bound("rate", 0.0..=0.5);
    let fit = joint.fit((0..3).map(data), [1.0, 0.4, 0.0, 1.0, -0.5, 1.0, 0.0]).unwrap();
    let by_hand = stacked().fix("c_2").bound("rate", 0.0..=0.5);
    let (sets, x, y) = (set_column(&points.x), stack(&points.x), stack(&points.y));
    let data = Data::new([&sets, &x], &y).unwrap();
    let by_hand = by_hand.fit(data, [1.0, 0.4, 0.0, 1.0, -0.5, 1.0, 0.0]).unwrap();
    assert_eq!(fit.fit().param("rate"), Some(0.5));
    assert_eq!(fit.fit().at_bound().len(), 1);
    for (name, expected) in by_hand.names().iter().zip(by_hand.params()) {
        assert_relative_eq!(fit.fit().param(name).unwrap(), expected, max_relative = 1e-8);
    }
    assert_eq!(fit.fit().std_error("c_2"), Some(0.0));
}

#[test]
fn models_of_two_kinds_share_what_has_one_name() {
    let t: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    let falling: Vec<f64> =
        t.iter().map(|t| 3.0 * (-0.9 * t).exp() + 0.01 * (13.0 * t).sin()).collect();
    let rising: Vec<f64> =
        t.iter().map(|t| 2.0 * (1.0 - (-0.9 * t).exp()) + 0.01 * (7.0 * t).cos()).collect();
    let substrate = CurveFit::parse("s0*exp(-k*t)", ["t"]).unwrap();
    let product = CurveFit::parse("p*(1 - exp(-k*t))", ["t"]).unwrap();
    let data = [Data::new(&t, &falling).unwrap(), Data::new(&t, &rising).unwrap()];
    let fit = GlobalFit::of([&substrate, &product]).fit(data, [1.0, 1.0, 1.0]).unwrap();
    assert_eq!(fit.fit().names(), ["s0", "k", "p"]);
    assert!((fit.fit().param("k").unwrap() - 0.9).abs() < 0.01);

    let both =
        CurveFit::parse("if(set < 1.5, s0*exp(-k*t), p*(1 - exp(-k*t)))", ["set", "t"]).unwrap();
    let sets = [vec![1.0; 50], vec![2.0; 50]].concat();
    let (t2, y) = ([t.clone(), t.clone()].concat(), [falling, rising].concat());
    let by_hand = both.fit(Data::new([&sets, &t2], &y).unwrap(), [1.0, 1.0, 1.0]).unwrap();
    assert_same(fit.fit(), &by_hand, 1e-8);

    let as_first = fit.fit().predict([&sets, &t2]).unwrap();
    let of_second = fit.set(1).unwrap().predict(&t).unwrap();
    assert_eq!(as_first[50..], of_second[..]);
    assert_eq!(fit.set(1).unwrap().names(), ["p", "k"]);
    assert_eq!(fit.set(1).unwrap().std_error("k"), fit.fit().std_error("k"));
    let total: f64 = fit.chi_squares().iter().sum();
    assert_relative_eq!(total, fit.fit().chi_square(), max_relative = 1e-12);
}

#[test]
fn native_models_counts_and_covariances_of_data_can_be_joined() {
    let points = decays(1.0);
    let native =
        CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]).names(["a", "rate", "c"]);
    let data = || (0..3).map(|set| Data::new(&points.x[set], &points.y[set]).unwrap());
    let joint = GlobalFit::new(&native).share(["rate"]).fit(data(), START).unwrap();
    let (traced, _) = both(&points, |curve| curve, false);
    assert_same(joint.fit(), traced.fit(), 1e-5);
    assert_eq!(joint.set(2).unwrap().predict(&[0.0]).unwrap().len(), 1);

    let counts: Vec<Vec<f64>> = (0..3)
        .map(|s| {
            points.x[s].iter().map(|x| (40.0 * (-0.8 * x).exp() + 5.0 + x.sin()).round()).collect()
        })
        .collect();
    let curve = decay().estimator(Estimator::Poisson);
    let start = [30.0, 1.0, 4.0, 30.0, 4.0, 30.0, 4.0];
    let data = (0..3).map(|set| Data::new(&points.x[set], &counts[set]).unwrap());
    let joint = GlobalFit::new(&curve).share(["rate"]).fit(data, start).unwrap();
    let (sets, x, y) = (set_column(&points.x), stack(&points.x), stack(&counts));
    let by_hand = stacked().estimator(Estimator::Poisson);
    let by_hand = by_hand.fit(Data::new([&sets, &x], &y).unwrap(), start).unwrap();
    assert_same(joint.fit(), &by_hand, 1e-7);

    let squares = |sigma: &Vec<f64>| sigma.iter().map(|s| s * s).collect::<Vec<f64>>();
    let diagonal: Vec<Matrix> =
        points.sigma.iter().map(|sigma| Matrix::from_diagonal(&squares(sigma))).collect();
    let data = (0..3).map(|set| {
        let data = Data::new(&points.x[set], &points.y[set]).unwrap();
        data.sigma(Sigma::Covariance(&diagonal[set])).unwrap()
    });
    let joint = GlobalFit::new(&decay()).share(["rate"]).fit(data, START).unwrap();
    let (weighted, _) = both(&points, |curve| curve, true);
    assert_same(joint.fit(), weighted.fit(), 1e-9);
}

#[test]
fn what_makes_no_sense_is_said_with_the_set() {
    let points = decays(1.0);
    let data = |set: usize| Data::new(&points.x[set], &points.y[set]).unwrap();
    let joint = GlobalFit::new(&decay()).share(["rate"]);
    let text = |result: dualfit::Result<JointFit>| result.unwrap_err().to_string();
    assert_eq!(
        text(joint.fit([] as [Data; 0], Start::Guess)),
        "there is no set of points; give at least one"
    );
    let unknown = GlobalFit::new(&decay()).share(["tau"]).fit([data(0)], [1.0; 3]);
    assert_eq!(
        text(unknown),
        "there is no parameter `tau`; the model has a, rate, c; correct the name in GlobalFit::share"
    );
    let count = joint.fit([data(0), data(1)], [1.0; 3]);
    assert!(text(count).starts_with("the model has 5 parameter(s) (a_1, rate, c_1, a_2, c_2)"));
    let mut broken = points.y[1].clone();
    broken[4] = f64::NAN;
    let result = joint.fit([data(0), Data::new(&points.x[1], &broken).unwrap()], [1.0; 5]);
    assert!(text(result).starts_with("set 2: `y` is NaN at index 4"));
    let mixed = data(1).sigma(Sigma::Absolute(&points.sigma[1])).unwrap();
    let result = joint.fit([data(0), mixed], [1.0; 5]);
    assert!(matches!(result, Err(Error::Global(GlobalError::Differs { set: 2, .. }))));
    let robust = decay().loss(Loss::Huber { scale: 1.0 });
    let result = GlobalFit::of([&decay(), &robust]).fit([data(0), data(1)], [1.0; 3]);
    assert!(matches!(result, Err(Error::Global(GlobalError::Differs { set: 2, .. }))));
    let result = GlobalFit::of([&decay()]).fit([data(0), data(1)], [1.0; 3]);
    assert!(matches!(result, Err(Error::LengthMismatch { expected: 1, got: 2, .. })));
    let pole = CurveFit::new(|x, [a, b]| a / (x - b)).names(["a", "b"]);
    let result = GlobalFit::new(&pole).share(["a"]).fit([data(0), data(1)], [1.0, -1.0, 0.01]);
    assert!(text(result).contains("at point 0 (set = 2, x = 0.01)"));
}

#[test]
fn starts_are_given_by_name_for_one_set_or_all_and_linear_parameters_need_none() {
    let points = decays(1.0);
    let data = || (0..3).map(|set| Data::new(&points.x[set], &points.y[set]).unwrap());
    let joint = GlobalFit::new(&decay()).share(["rate"]);
    let expected = joint.fit(data(), START).unwrap();
    let same =
        |start: Start| assert_same(joint.fit(data(), start).unwrap().fit(), expected.fit(), 1e-8);
    same([("rate", 1.0)].into());
    same([("rate", 1.0), ("a", 1.0), ("a_3", -1.0), ("c", 0.0)].into());
    let own = GlobalFit::new(&decay()).fit(data(), [("rate", 1.0), ("rate_2", 0.5)]).unwrap();
    assert!(own.converged() && own.fit().names().len() == 9);
    let text = |start: Start| joint.fit(data(), start).unwrap_err().to_string();
    same(Start::Guess);
    let searched = joint.fit(data(), Start::Guess).unwrap();
    let search = searched.fit().start_search().copied().unwrap();
    assert!(search.settled && search.reached >= 3 && search.screened >= 96, "{search}");
    assert!(expected.fit().start_search().is_none());
    let never = decay().search(SearchOptions::default().when(SearchWhen::Never));
    let refused = GlobalFit::new(&never).fit(data(), Start::Guess).unwrap_err().to_string();
    assert!(refused.starts_with("set 1: no start is known for rate"), "{refused}");
    assert!(text([("tau", 1.0)].into()).contains("`tau`"));
    let guessing = decay().guess(|points| vec![f64::NAN, 20.0 / points.y.len() as f64, f64::NAN]);
    let guessed = GlobalFit::new(&guessing).share(["rate"]).fit(data(), Start::Guess).unwrap();
    assert_same(guessed.fit(), expected.fit(), 1e-8);
}

#[test]
fn one_set_is_an_ordinary_fit() {
    let points = decays(1.0);
    let data = || Data::new(&points.x[0], &points.y[0]).unwrap();
    let joint = GlobalFit::new(&decay()).share(["rate", "a", "c"]).fit([data()], [1.0; 3]).unwrap();
    let alone = decay().fit(data(), [1.0; 3]).unwrap();
    assert_eq!(joint.fit().params(), alone.params());
    assert_relative_eq!(joint.fit().std_errors()[1], alone.std_errors()[1], max_relative = 1e-12);
    assert_eq!(joint.fit().r_squared(), alone.r_squared());
    assert!(joint.to_string().contains("chi-square by set"));
}

#[test]
fn the_joint_fit_derives_what_its_sets_derive() {
    let points = decays(1.0);
    let data = |set: usize| Data::new(&points.x[set], &points.y[set]).unwrap();
    let model = decay().derive("half_life", "ln(2)/rate");
    let model = model.derive("area", "a/rate");
    let joint = GlobalFit::new(&model).share(["rate"]).fit((0..3).map(data), START).unwrap();
    let names: Vec<&str> = joint.fit().derived().iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["half_life", "area_1", "area_2", "area_3"]);
    let (_, by_hand) = both(&points, |curve| curve, false);
    let formulas = ["ln(2)/rate", "a_1/rate", "a_2/rate", "a_3/rate"];
    for (derived, formula) in joint.fit().derived().iter().zip(formulas) {
        let expected = by_hand.propagate(formula).unwrap();
        assert_relative_eq!(derived.value, expected.value, max_relative = 1e-9);
        assert_relative_eq!(derived.std_error, expected.std_error, max_relative = 1e-9);
    }
    for set in 0..3 {
        let own = joint.set(set).unwrap();
        assert_relative_eq!(
            own.derived()[1].std_error,
            joint.fit().derived()[set + 1].std_error,
            max_relative = 1e-12
        );
    }
    let report = joint.to_string();
    assert!(report.contains("\narea_3 "), "{report}");
    let (_, by_set) = report.split_once("chi-square by set\n").unwrap();
    assert!(!by_set.contains('e'), "plain numbers where they are of usual size: {by_set}");

    // Models of their own, which call different quantities by one name, or the same.
    let other = decay().derive("half_life", "2*ln(2)/rate");
    let names = |curves: &[&CurveFit]| -> Vec<String> {
        let joint = GlobalFit::of(curves.iter().copied());
        let fit = joint.fit((0..curves.len()).map(data), [1.0, 1.0, 0.0]).unwrap();
        fit.fit().derived().iter().map(|d| d.name.clone()).collect()
    };
    assert_eq!(names(&[&model, &other]), ["half_life_1", "area", "half_life_2"]);
    assert_eq!(names(&[&model, &model]), ["half_life", "area"]);
}

/// Beside one wild value the sums of all other sets vanish: the set is named, and can be left out.
#[test]
fn a_set_with_a_huge_value_is_named_and_left_out() {
    let x: Vec<f64> = (0..12).map(|i| 0.25 * f64::from(i)).collect();
    for (sets, wild) in [(2, 0), (5000, 1234)] {
        let y = |set: usize| -> Vec<f64> {
            let a = 1.0 + 0.5 * (set as f64).sin();
            let value = |(i, x): (usize, &f64)| match (set == wild, i) {
                (true, 7) => -1e200,
                _ => a * (-0.7 * x).exp(),
            };
            x.iter().enumerate().map(value).collect()
        };
        let all: Vec<Vec<f64>> = (0..sets).map(y).collect();
        let data = || all.iter().map(|y| Data::new(&x, y).unwrap());
        let curve = CurveFit::parse("a*exp(-k*x)", ["x"]).unwrap();
        let joint = GlobalFit::new(&curve).share(["k"]);
        let start = [("k", 1.0)];
        match joint.fit(data(), start).unwrap_err() {
            Error::Global(GlobalError::InSet { set, error }) => {
                assert_eq!(set, wild + 1);
                assert_eq!(*error, GlobalError::Outweighs { index: 7, value: -1e200 }.into());
            }
            other => panic!("{other}"),
        }
        let fit = joint.leave_out_bad_sets(true).fit(data(), start).unwrap();
        assert!(fit.fit().converged() && (fit.fit().param("k").unwrap() - 0.7).abs() < 1e-9);
        assert_eq!(fit.left_out().map(|(set, _)| set).collect::<Vec<_>>(), [wild]);
        let masked: Vec<bool> = (0..12).map(|i| i != 7).collect();
        let data = all.iter().map(|y| Data::new(&x, y).unwrap().mask(&masked).unwrap());
        assert_eq!(
            GlobalFit::new(&curve).share(["k"]).fit(data, start).unwrap().left_out().count(),
            0
        );
    }
}
