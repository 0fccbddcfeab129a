//! A joint fit over a batch: every form of data that a batch may have, sets side by side or alone, and sets of
//! which no fit can be made.

use approx::assert_relative_eq;
use dualfit::error::GlobalError;
use dualfit::{BatchData, CurveFit, Data, Error, GlobalFit, JointFit, Loss, Missing, Sigma};
use rayon::ThreadPoolBuilder;

const POINTS: usize = 40;

/// Numbers between −1 and 1 without pattern.
fn noise(i: usize) -> f64 {
    let mut z = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as i64 as f64 / 2f64.powi(63)
}

fn times() -> Vec<f64> {
    (0..POINTS).map(|i| 0.1 * i as f64).collect()
}

/// Decays of one rate, 0.8, with amplitudes from 40 to 120 on levels of about 10.
fn stack(sets: usize) -> Vec<f64> {
    let t = times();
    let value = |i: usize| {
        let (set, point) = (i / POINTS, i % POINTS);
        let amplitude = 80.0 + 40.0 * noise(7 * set + 1);
        (amplitude * (-0.8 * t[point]).exp() + 10.0 + noise(set) + 0.5 * noise(i + 5000)).round()
    };
    (0..sets * POINTS).map(value).collect()
}

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-k*t) + c", ["t"]).unwrap()
}

fn joint(curve: &CurveFit) -> GlobalFit {
    GlobalFit::new(curve).share(["k"])
}

/// Every number that a fit has of its parameters.
fn bits(fit: &JointFit) -> Vec<u64> {
    let fit = fit.fit();
    let numbers = fit.params().iter().copied().chain(fit.std_errors()).chain([fit.cost()]);
    numbers.map(f64::to_bits).collect()
}

fn alike(found: &JointFit, expected: &JointFit, tolerance: f64) {
    assert!(found.converged() && expected.converged());
    let numbers = |fit: &JointFit| {
        let fit = fit.fit();
        fit.params().iter().copied().zip(fit.std_errors()).collect::<Vec<_>>()
    };
    for ((value, error), (other, its_error)) in numbers(found).into_iter().zip(numbers(expected)) {
        assert!((value - other).abs() <= tolerance * its_error, "{value} {other}");
        assert_relative_eq!(error, its_error, max_relative = tolerance);
    }
}

/// The same model and partials, which no lanes evaluate.
fn native() -> CurveFit {
    let value = |x: f64, p: &[f64]| p[0] * (-p[1] * x).exp() + p[2];
    let curve = CurveFit::native(3, value).names(["a", "k", "c"]);
    curve.jacobian(|x, p, out| {
        let decayed = (-p[1] * x).exp();
        out.copy_from_slice(&[decayed, -x * p[0] * decayed, 1.0]);
    })
}

const START: [(&str, f64); 3] = [("a", 60.0), ("k", 1.0), ("c", 5.0)];

/// A way to say a batch, given arrays as long as the stack.
type Form = for<'a> fn(BatchData<'a>, &'a [f64], &'a [bool]) -> Result<BatchData<'a>, Error>;

const FORMS: [(&str, Form); 5] = [
    ("plain", |batch, _, _| Ok(batch)),
    ("one error", |batch, _, _| batch.sigma(Sigma::Constant(0.5))),
    ("an error a sample", |batch, sigma, _| batch.sigma(Sigma::Absolute(sigma))),
    ("an error a point", |batch, sigma, _| batch.sigma(Sigma::Relative(&sigma[..POINTS]))),
    ("masked", |batch, _, mask| batch.mask(mask)),
];

#[test]
fn sets_side_by_side_are_those_alone() {
    for sets in [1, 2, 7, 8, 9, 20] {
        let (t, stack) = (times(), stack(sets));
        let sigma: Vec<f64> = (0..stack.len()).map(|i| 0.4 + 0.3 * noise(i)).collect();
        let mask: Vec<bool> = (0..stack.len()).map(|i| i % 5 != 2).collect();
        for (form, say) in FORMS {
            if form == "an error a point" && sets == 1 {
                continue;
            }
            for loss in [Loss::Linear, Loss::Huber { scale: 1.0 }, Loss::Tukey { scale: 4.0 }] {
                let batch = say(BatchData::shared(&t, &stack).unwrap(), &sigma, &mask).unwrap();
                let fit = |curve: CurveFit| joint(&curve.loss(loss)).over(&batch, START).unwrap();
                alike(&fit(decay()), &fit(native()), 1e-8);
            }
        }
    }
}

#[test]
fn counts_side_by_side_are_those_alone() {
    let (t, stack) = (times(), stack(11));
    let counts = |curve: CurveFit| curve.estimator(dualfit::Estimator::Poisson);
    let batch = BatchData::shared(&t, &stack).unwrap();
    let fit = |curve: CurveFit| joint(&counts(curve)).over(&batch, START).unwrap();
    alike(&fit(decay()), &fit(native()), 1e-8);
    // Of unequal length.
    let (offsets, xs) = ([0, 35, 80, 110, 150], t.repeat(11));
    let batch = BatchData::own(&xs[..150], &stack[..150]).unwrap().offsets(&offsets).unwrap();
    let fit = |curve: CurveFit| joint(&counts(curve)).over(&batch, START).unwrap();
    alike(&fit(decay()), &fit(native()), 1e-8);
}

#[test]
fn a_batch_and_its_sets_one_by_one_have_the_same_bits() {
    let (t, wide) = (times(), stack(10));
    let short: Vec<u16> = wide.iter().map(|&v| v as u16).collect();
    let over = |batch: &BatchData<'_>| joint(&decay()).over(batch, START).unwrap();
    let one_by_one = wide.chunks(POINTS).map(|y| Data::new(&t, y).unwrap());
    let expected = bits(&joint(&decay()).fit(one_by_one, START).unwrap());
    assert_eq!(bits(&over(&BatchData::shared(&t, &wide).unwrap())), expected);
    assert_eq!(bits(&over(&BatchData::shared(&t, &short).unwrap())), expected);
    let (xs, offsets) = (t.repeat(10), (0..=10).map(|s| s * POINTS).collect::<Vec<_>>());
    let own = BatchData::own(&xs, &wide).unwrap().offsets(&offsets).unwrap();
    assert_eq!(bits(&over(&own)), expected);
    for threads in [1, 2, 16] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| over(&BatchData::shared(&t, &wide).unwrap()));
        assert_eq!(bits(&found), expected, "{threads} threads");
    }
}

/// Twelve sets, of which the third has a value that is none, the sixth an error that is none, and the tenth no
/// point that counts.
fn with_bad_sets<'a>(
    t: &'a [f64],
    stack: &'a [f64],
    (sigma, mask): (&'a [f64], &'a [bool]),
) -> BatchData<'a> {
    let batch = BatchData::shared(t, stack).unwrap();
    batch.sigma(Sigma::PerFit(sigma)).unwrap().mask(mask).unwrap()
}

#[test]
fn bad_sets_are_named_and_left_out_if_asked() {
    let (t, good) = (times(), stack(12));
    let (mut stack, mut sigma) = (good.clone(), vec![0.5; 12]);
    let mut mask = vec![true; stack.len()];
    stack[2 * POINTS + 4] = f64::NAN;
    sigma[5] = -1.0;
    mask[9 * POINTS..10 * POINTS].fill(false);
    let batch = with_bad_sets(&t, &stack, (&sigma, &mask));
    let fit = joint(&decay());
    let Error::Global(GlobalError::BadSets { bad, sets, error }) =
        fit.over(&batch, START).unwrap_err()
    else {
        panic!()
    };
    assert_eq!((&bad[..], sets), (&[3, 6, 10][..], 12));
    assert!(matches!(*error, Error::NonFinite { index: 4, .. }), "{error}");

    let found = fit.clone().leave_out_bad_sets(true).over(&batch, START).unwrap();
    let kept: Vec<usize> = (0..12).filter(|set| ![2, 5, 9].contains(set)).collect();
    let data = kept.iter().map(|set| {
        let y = &good[set * POINTS..][..POINTS];
        Data::new(&t, y).unwrap().sigma(Sigma::Constant(0.5)).unwrap()
    });
    let expected = fit.fit(data, START).unwrap();
    let rate = expected.fit().param("k").unwrap();
    assert_relative_eq!(found.fit().param("k").unwrap(), rate, max_relative = 1e-11);
    for (number, &set) in kept.iter().enumerate() {
        let (own, other) = (found.set(set).unwrap(), expected.set(number).unwrap());
        for (value, expected) in own.params().iter().zip(other.params()) {
            assert_relative_eq!(value, expected, max_relative = 1e-10);
        }
        for (value, expected) in own.std_errors().iter().zip(other.std_errors()) {
            assert_relative_eq!(*value, expected, max_relative = 1e-9);
        }
        let chi_squares = (found.chi_squares()[set], expected.chi_squares()[number]);
        assert_relative_eq!(chi_squares.0, chi_squares.1, max_relative = 1e-10);
    }
    let left_out: Vec<usize> = found.left_out().map(|(set, _)| set).collect();
    assert_eq!(left_out, [2, 5, 9]);
    assert!(left_out.iter().all(|&set| found.set(set).is_none()));
    assert!(found.chi_squares()[5].is_nan() && found.fit().param("a_6").unwrap().is_nan());
    assert_eq!(found.fit().points(), 9 * POINTS);
    assert_eq!(found.fit().degrees_of_freedom(), expected.fit().degrees_of_freedom());
    let report = found.to_string();
    assert!(report.contains("set 6 is left out: sigma"), "{report}");
    assert!(report.contains("a_6                   NaN        left out"), "{report}");

    let again = JointFit::from_json(&found.to_json().unwrap()).unwrap();
    assert_eq!(again.to_string(), report);
    assert!(again.set(2).is_none() && again.set(3).is_some());
}

#[test]
fn a_set_without_a_value_at_its_start_is_a_bad_one() {
    let t: Vec<f64> = (1..=20).map(f64::from).collect();
    let curve = CurveFit::parse("a*ln(t - shift) + k*t", ["t"]).unwrap();
    let y: Vec<f64> = t.iter().map(|t| 2.0 * (t + 1.0).ln() + 0.3 * t).collect();
    let fit = GlobalFit::new(&curve).share(["k"]);
    let sets = || (0..4).map(|_| Data::new(&t, &y).unwrap());
    let start = [("a", 1.0), ("k", 0.1), ("shift", 0.0), ("shift_2", 3.0)];
    let refused = fit.fit(sets(), start).unwrap_err();
    assert!(matches!(refused, Error::ModelNonFiniteAtStart { .. }), "{refused}");
    let found = fit.leave_out_bad_sets(true).fit(sets(), start).unwrap();
    let left_out: Vec<(usize, &str)> = found.left_out().collect();
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].0 == 1 && left_out[0].1.contains("shift = 3"), "{left_out:?}");
    assert_relative_eq!(found.fit().param("shift_3").unwrap(), -1.0, max_relative = 1e-6);
}

#[test]
fn where_all_sets_are_bad_there_is_no_fit() {
    let (t, mut stack) = (times(), vec![f64::NAN; 3 * POINTS]);
    stack[0] = 1.0;
    let fit = joint(&decay()).leave_out_bad_sets(true);
    let refused = fit.over(&BatchData::shared(&t, &stack).unwrap(), START).unwrap_err();
    let all = matches!(&refused, Error::Global(GlobalError::BadSets { bad, .. }) if bad.len() == 3);
    assert!(all, "{refused}");
    let omitted = BatchData::shared(&t, &stack).unwrap().missing(Missing::Omit);
    assert!(fit.over(&omitted, START).is_err());
    let no_layout = BatchData::own(&stack, &stack).unwrap();
    assert!(matches!(fit.over(&no_layout, START), Err(Error::BatchLayout { .. })));
    let none: [f64; 0] = [];
    let empty = BatchData::shared(&t, &none).unwrap();
    assert!(matches!(fit.over(&empty, START), Err(Error::Global(GlobalError::NoSets))));
}

#[test]
fn values_of_a_set_that_is_left_out_are_not_looked_at() {
    let (t, mut stack) = (times(), stack(3));
    stack[POINTS] = f64::NAN;
    let batch = BatchData::shared(&t, &stack).unwrap();
    let fit = joint(&decay()).bound("a_2", 1.0..=50.0).leave_out_bad_sets(true);
    let start = [60.0, 1.0, 5.0, 10.0, 5.0, 60.0, 5.0];
    assert_eq!(fit.parameters(3).unwrap(), ["a_1", "k", "c_1", "a_2", "c_2", "a_3", "c_3"]);
    let found = fit.over(&batch, start).unwrap();
    assert!(found.converged() && found.fit().param("a_2").unwrap().is_nan());
    let guessed = joint(&decay()).leave_out_bad_sets(true).over(&batch, [("k", 1.0)]).unwrap();
    let rates = (guessed.fit().param("k").unwrap(), found.fit().param("k").unwrap());
    assert_relative_eq!(rates.0, rates.1, max_relative = 1e-8);
}

#[test]
fn the_report_of_many_sets_is_short() {
    let (t, stack) = (times(), stack(500));
    let found = joint(&decay()).over(&BatchData::shared(&t, &stack).unwrap(), START).unwrap();
    let report = found.to_string();
    assert!(report.contains("and 941 more parameters"), "{report}");
    assert!(report.contains("and 440 more sets") && report.lines().count() < 200, "{report}");
    let again = JointFit::from_json(&found.to_json().unwrap()).unwrap();
    let at = [&[1.0, 77.0, 500.0], &[0.3, 1.0, 2.5]];
    assert_eq!(again.fit().predict(at).unwrap(), found.fit().predict(at).unwrap());
    let second = found.set(76).unwrap();
    assert_relative_eq!(
        found.fit().predict(at).unwrap()[1],
        second.predict(&[1.0]).unwrap()[0],
        max_relative = 1e-15
    );
}

#[test]
fn columns_beyond_the_range_of_squares_are_summed_up_in_units_of_their_own() {
    let x: Vec<f64> = (0..20).map(|i| 1e-170 * f64::from(i)).collect();
    let ys: Vec<Vec<f64>> = (0..9)
        .map(|set| {
            let scatter = |i: usize| 0.1 * noise(20 * set + i);
            (0..20).map(|i| 2.0 + (1.0 + 0.1 * set as f64) * i as f64 + scatter(i)).collect()
        })
        .collect();
    let line = GlobalFit::new(&CurveFit::parse("a + b*x", ["x"]).unwrap()).share(["a"]);
    let scaled = |unit: f64, x: &[f64]| {
        let data = ys.iter().map(|y| Data::new(x, y).unwrap());
        line.fit(data, [("a", 1.0), ("b", 2.0 * unit)]).unwrap()
    };
    let usual: Vec<f64> = (0..20).map(f64::from).collect();
    let (found, expected) = (scaled(1e170, &x), scaled(1.0, &usual));
    for (name, unit) in [("a", 1.0), ("b", 1e170)] {
        let pairs = found.param(name).unwrap().into_iter().zip(expected.param(name).unwrap());
        pairs.for_each(|(a, b)| assert_relative_eq!(a, unit * b, max_relative = 1e-9));
        let pairs =
            found.std_error(name).unwrap().into_iter().zip(expected.std_error(name).unwrap());
        pairs.for_each(|(a, b)| assert_relative_eq!(a, unit * b, max_relative = 1e-8));
    }
}

#[test]
fn ties_and_priors_of_sets_that_are_left_out_harm_nobody() {
    let (t, mut stack) = (times(), stack(3));
    stack[POINTS] = f64::NAN;
    let batch = BatchData::shared(&t, &stack).unwrap().sigma(Sigma::Constant(0.5)).unwrap();
    let tied = CurveFit::parse("a*exp(-k*t) + c", ["t"]).unwrap().tie("c", "0.01*a^2");
    let tied = tied.prior("a", 80.0, 20.0).prior("k", 0.8, 0.1);
    let fit = GlobalFit::new(&tied).share(["k"]).leave_out_bad_sets(true);
    let found = fit.over(&batch, [("a", 60.0), ("k", 1.0)]).unwrap();
    assert!(found.converged(), "{}", found.fit());
    let errors = [found.fit().std_error("k"), found.fit().std_error("c_1")];
    assert!(errors.iter().all(|error| error.unwrap() > 0.0), "{errors:?}");
    let band = found.fit().confidence_band([&[1.0, 3.0], &[0.5, 0.5]], 0.95).unwrap();
    assert!(band.lower.iter().all(|v| v.is_finite()), "{band:?}");
    // The model of the set that is left out has the only prior of the shared parameter.
    let plain = CurveFit::parse("a*exp(-k*t) + c", ["t"]).unwrap();
    let names = |set: usize, curve: &CurveFit| {
        curve.clone().names([format!("a{set}"), "k".into(), format!("c{set}")])
    };
    let curves =
        [names(1, &plain), names(2, &plain.clone().prior("k", 0.8, 1e-9)), names(3, &plain)];
    let fit = GlobalFit::of(&curves).leave_out_bad_sets(true);
    let start = [("a1", 60.0), ("a3", 60.0), ("k", 1.0), ("c1", 1.0), ("c3", 1.0)];
    let found = fit.over(&batch, start).unwrap();
    assert_relative_eq!(found.fit().param("k").unwrap(), 0.8, max_relative = 1e-8);
}
