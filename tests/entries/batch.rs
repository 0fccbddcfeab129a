//! Batches: each fit equals the single fit of the same points, independent of its neighbours.

use crate::support::digest::digest;
use dualfit::device::Processor;
use dualfit::{
    Backend, BatchData, BatchFit, CurveFit, Data, Error, Estimator, Event, FitStatus, Loss, Matrix,
    Missing, Options, Sigma, Starts, Termination, Var,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// Noise that needs no generator: reproducible, without structure at these lengths.
fn noise(i: usize) -> f64 {
    let h = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((h ^ (h >> 32)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

fn abscissae(n: usize) -> Vec<f64> {
    (0..n).map(|i| 4.0 * i as f64 / n as f64).collect()
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

/// Decays whose amplitude and rate differ from fit to fit.
fn decays(x: &[f64], fits: usize) -> Vec<f64> {
    let value = |f: usize, i: usize| {
        let (a, b) = (20.0 + 3.0 * noise(7 * f), 1.0 + 0.5 * noise(11 * f + 1));
        a * (-b * x[i]).exp() + 5.0 + noise(f * x.len() + i)
    };
    (0..fits).flat_map(|f| (0..x.len()).map(move |i| (f, i))).map(|(f, i)| value(f, i)).collect()
}

const START: [f64; 3] = [15.0, 0.7, 3.0];

/// Holds fit `i` of the batch to the single fit.
fn same(batch: &BatchFit, i: usize, fitter: &CurveFit, data: Data<'_>, start: &[f64]) {
    let single = fitter.fit(data, start).unwrap();
    let view = batch.fit(i);
    assert_eq!(view.status().termination(), Some(single.termination()), "fit {i}");
    let close = |a: f64, b: f64, tolerance: f64, what: &str| {
        let equal = a.to_bits() == b.to_bits() || a == b || (a.is_nan() && b.is_nan());
        assert!(equal || (a - b).abs() <= tolerance * b.abs(), "fit {i}: {what} {a} against {b}");
    };
    for (a, b) in view.params().iter().zip(single.params()) {
        close(*a, *b, 1e-9, "parameter");
    }
    for (a, b) in view.std_errors().iter().zip(single.std_errors()) {
        close(*a, b, 1e-6, "error");
    }
    close(view.cost(), single.cost(), 1e-9, "cost");
    assert_eq!(view.degrees_of_freedom(), single.degrees_of_freedom());
    assert_eq!(batch.evaluations()[i] as usize, single.evaluations());
}

fn bits(batch: &BatchFit) -> Vec<u64> {
    let all = [batch.params(), batch.std_errors(), batch.costs()];
    all.iter().flat_map(|v| v.iter().map(|v| v.to_bits())).collect()
}

#[test]
fn a_batch_equals_the_loop_of_single_fits_for_shapes_and_numbers_of_parameters() {
    for params in 1..=12 {
        let fitter = CurveFit::dynamic(params, |x, p: &[Var]| {
            let terms = p.iter().enumerate();
            let sum = |s: Var, (k, c): (usize, &Var)| s + *c * (x * (0.78 * k as f64)).cos();
            terms.fold(Var::from(0.0), sum) + (p[0] * 0.1 * x).sin()
        });
        for (fits, points) in [(1, 13), (3, 20), (100, 13), (2, 600), (1, 5000)] {
            let x = abscissae(points);
            let stack: Vec<f64> =
                (0..fits * points).map(|i| x[i % points].sin() + 0.1 * noise(i)).collect();
            let start = vec![0.1; params];
            let data = BatchData::shared(&x, &stack).unwrap();
            let batch = fitter.fit_batch(&data, &start).unwrap();
            for (i, y) in stack.chunks(points).enumerate().step_by(17) {
                same(&batch, i, &fitter, Data::new(&x, y).unwrap(), &start);
            }
        }
    }
}

#[test]
fn losses_bounds_and_fixed_parameters_hold() {
    let x = abscissae(40);
    let mut stack = decays(&x, 30);
    stack.iter_mut().step_by(37).for_each(|y| *y += 30.0);
    let fitters = [
        decay().loss(Loss::Huber { scale: 0.5 }),
        decay().loss(Loss::Cauchy { scale: 0.5 }),
        decay().loss(Loss::Tukey { scale: 2.0 }),
        decay().bound("p1", 0.0..=0.9),
        decay().fix("p2"),
    ];
    for fitter in fitters {
        let batch = fitter.fit_batch(BatchData::shared(&x, &stack).unwrap(), START).unwrap();
        for (i, y) in stack.chunks(40).enumerate() {
            same(&batch, i, &fitter, Data::new(&x, y).unwrap(), &START);
        }
    }
}

#[test]
fn bounds_may_be_each_fits_own() {
    let x = abscissae(40);
    let stack = decays(&x, 30);
    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; 90], vec![f64::INFINITY; 90]);
    for i in 0..30 {
        (lower[3 * i + 1], upper[3 * i + 1]) = (0.5, 0.8 + 0.02 * i as f64);
    }
    let data = BatchData::shared(&x, &stack).unwrap();
    let starts = Starts::from(START).bounds(&lower, &upper);
    let batch = decay().fit_batch(&data, starts).unwrap();
    let mut held = 0;
    for (i, y) in stack.chunks(40).enumerate() {
        let fitter = decay().bound("p1", 0.5..=upper[3 * i + 1]);
        same(&batch, i, &fitter, Data::new(&x, y).unwrap(), &START);
        held += batch.fit(i).at_bound().count();
    }
    assert!((5..30).contains(&held), "{held} fits at a bound");
    (lower[4], upper[7]) = (2.0, f64::NAN);
    (lower[10], upper[10]) = (0.9, 1.2);
    let starts = Starts::from(START).bounds(&lower, &upper);
    let spoilt = decay().fit_batch(&data, starts).unwrap();
    assert_eq!(spoilt.statuses()[1..3], [FitStatus::BadBounds { parameter: 1 }; 2]);
    assert_eq!(spoilt.statuses()[3], FitStatus::BadStart { parameter: 1 });
    assert_eq!(bits(&spoilt)[4 * 3..30 * 3], bits(&batch)[4 * 3..30 * 3]);
    let refused = decay().fit_batch(&data, Starts::from(START).bounds(&lower[1..], &upper));
    assert!(matches!(refused, Err(Error::LengthMismatch { .. })));
}

#[test]
fn counts_are_fitted_as_alone() {
    let x = abscissae(40);
    let counts: Vec<u16> = decays(&x, 20).iter().map(|y| y.round() as u16).collect();
    let fitter = decay().estimator(Estimator::Poisson);
    let batch = fitter.fit_batch(BatchData::shared(&x, &counts).unwrap(), START).unwrap();
    for (i, y) in counts.chunks(40).enumerate() {
        let y: Vec<f64> = y.iter().map(|&y| y.into()).collect();
        same(&batch, i, &fitter, Data::new(&x, &y).unwrap(), &START);
    }
    let mut signed: Vec<i16> = counts.iter().map(|&y| y as i16).collect();
    signed[45] = -1;
    let data = BatchData::shared(&x, &signed).unwrap();
    let batch = fitter.fit_batch(&data, START).unwrap();
    assert_eq!(batch.statuses()[1], FitStatus::BadData { point: 5 });
    let weighted = data.sigma(Sigma::Constant(1.0)).unwrap();
    assert!(matches!(fitter.fit_batch(weighted, START), Err(Error::NotForCounts { .. })));
}

#[test]
fn offsets_masks_and_sigmas_reach_their_fit() {
    let lengths = [10, 25, 7, 300];
    let mut offsets = vec![0];
    lengths.iter().for_each(|n| offsets.push(offsets[offsets.len() - 1] + n));
    let xs: Vec<f64> = lengths.iter().flat_map(|&n| abscissae(n)).collect();
    let y: Vec<f64> =
        xs.iter().enumerate().map(|(i, x)| 20.0 * (-x).exp() + 5.0 + noise(i)).collect();
    let sigma: Vec<f64> = (0..y.len()).map(|i| 0.3 + 0.1 * noise(i + 9)).collect();
    let mask: Vec<bool> = (0..y.len()).map(|i| i % 5 != 2).collect();
    let data = BatchData::own(&xs, &y).unwrap().offsets(&offsets).unwrap();
    let data = data.sigma(Sigma::Absolute(&sigma)).unwrap().mask(&mask).unwrap();
    let batch = decay().fit_batch(&data, START).unwrap();
    for (i, w) in offsets.windows(2).enumerate() {
        let one = Data::new(&xs[w[0]..w[1]], &y[w[0]..w[1]]).unwrap();
        let one = one.sigma(Sigma::Absolute(&sigma[w[0]..w[1]])).unwrap();
        same(&batch, i, &decay(), one.mask(&mask[w[0]..w[1]]).unwrap(), &START);
    }

    let (x, n) = (abscissae(20), 20);
    let stack = decays(&x, 12);
    let per_fit: Vec<f64> = (0..12).map(|i| 0.1 + 0.02 * i as f64).collect();
    let mask: Vec<bool> = (0..n).map(|i| i != 3).collect();
    for kind in [Sigma::Constant(0.3), Sigma::PerFit(&per_fit), Sigma::Absolute(&sigma[..n])] {
        let data = BatchData::shared(&x, &stack).unwrap().sigma(kind).unwrap().mask(&mask).unwrap();
        let batch = decay().fit_batch(&data, START).unwrap();
        for (i, y) in stack.chunks(n).enumerate() {
            let one = Data::new(&x, y).unwrap().sigma(match kind {
                Sigma::PerFit(s) => Sigma::Constant(s[i]),
                Sigma::Absolute(s) => Sigma::Absolute(s),
                _ => Sigma::Constant(0.3),
            });
            same(&batch, i, &decay(), one.unwrap().mask(&mask).unwrap(), &START);
        }
    }
}

#[test]
fn all_sample_types_are_the_same_numbers() {
    let x = abscissae(30);
    let u8s: Vec<u8> = decays(&x, 8).iter().map(|y| y.round() as u8).collect();
    let u16s: Vec<u16> = u8s.iter().map(|&v| v.into()).collect();
    let i16s: Vec<i16> = u8s.iter().map(|&v| v.into()).collect();
    let f32s: Vec<f32> = u8s.iter().map(|&v| v.into()).collect();
    let f64s: Vec<f64> = u8s.iter().map(|&v| v.into()).collect();
    let fitted = |data: dualfit::Result<BatchData<'_>>| {
        bits(&decay().fit_batch(data.unwrap(), START).unwrap())
    };
    let expected = fitted(BatchData::shared(&x, &f64s));
    assert_eq!(fitted(BatchData::shared(&x, &u8s)), expected);
    assert_eq!(fitted(BatchData::shared(&x, &u16s)), expected);
    assert_eq!(fitted(BatchData::shared(&x, &i16s)), expected);
    assert_eq!(fitted(BatchData::shared(&x, &f32s)), expected);
}

#[test]
fn a_bad_fit_touches_no_neighbour() {
    let (x, fits) = (abscissae(25), 1000);
    let good = decays(&x, fits);
    let starts = vec![START; fits];
    let fitter = decay().bound("p1", 0.0..=10.0).keep_covariance(true);
    let clean = fitter.fit_batch(BatchData::shared(&x, &good).unwrap(), &starts).unwrap();
    assert_eq!(clean.converged(), fits);
    let (mut bad, mut bad_starts) = (good.clone(), starts.clone());
    let poisoned = [10, 200, 201, 500, 999];
    bad[10 * 25 + 7] = f64::NAN;
    bad[200 * 25..201 * 25].fill(0.0);
    bad_starts[201][1] = f64::NAN;
    bad_starts[500][1] = 11.0;
    bad_starts[999][0] = 1e300;
    let data = BatchData::shared(&x, &bad).unwrap();
    let batch = fitter.fit_batch(&data, &bad_starts).unwrap();
    for i in (0..fits).filter(|i| !poisoned.contains(i)) {
        let (a, b) = (batch.fit(i), clean.fit(i));
        assert_eq!(a.params(), b.params());
        assert_eq!(a.std_errors(), b.std_errors());
        assert_eq!(a.covariance(), b.covariance());
        assert_eq!(a.status(), b.status());
    }
    assert_eq!(batch.statuses()[10], FitStatus::BadData { point: 7 });
    assert_eq!(batch.statuses()[201], FitStatus::BadStart { parameter: 1 });
    assert_eq!(batch.statuses()[500], FitStatus::BadStart { parameter: 1 });
    assert!(batch.fit(10).cost().is_nan() && batch.fit(10).std_errors()[0].is_nan());
    let omitted = fitter.fit_batch(data.missing(Missing::Omit), &starts).unwrap();
    assert_eq!((omitted.fit(10).points(), omitted.fit(10).converged()), (24, true));
    assert!(batch.to_string().contains("bad data"), "{batch}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let x = abscissae(40);
    let stack = decays(&x, 700);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = || decay().fit_batch(BatchData::shared(&x, &stack).unwrap(), START).unwrap();
        bits(&pool.install(fit))
    };
    let one = with(1);
    println!("a batch: {}", digest(&one));
    assert!(one == with(2) && one == with(16));
}

#[test]
fn an_observer_stops_a_batch() {
    let x = abscissae(10);
    let stack = decays(&x, 2000);
    let data = BatchData::shared(&x, &stack).unwrap();
    let stopping = decay().observe(|event| match event {
        Event::Batch(progress) if progress.finished >= 100 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let batch = pool.install(|| stopping.fit_batch(&data, START)).unwrap();
    let whole = decay().fit_batch(&data, START).unwrap();
    let not_run = batch.statuses().iter().filter(|s| **s == FitStatus::NotRun).count();
    assert!((1000..=1900).contains(&not_run), "{not_run} were not run");
    for i in (0..2000).filter(|&i| batch.statuses()[i] != FitStatus::NotRun) {
        assert_eq!(batch.fit(i).params(), whole.fit(i).params());
    }
    let panicking = decay().observe(|_| panic!("no"));
    assert!(matches!(panicking.fit_batch(&data, START), Err(Error::ObserverPanicked { .. })));
}

#[test]
fn requests_without_sense_are_errors_and_no_fits_are_none() {
    let (x, stack) = (abscissae(5), vec![1.0; 15]);
    let length =
        |r: Result<(), Error>| assert!(matches!(r, Err(Error::LengthMismatch { .. })), "{r:?}");
    let data = || BatchData::shared(&x, &stack).unwrap();
    length(BatchData::shared(&x, &stack[..14]).map(drop));
    length(BatchData::shared([&x[..], &x[1..]], &stack).map(drop));
    length(BatchData::own(&x, &stack).map(drop));
    length(BatchData::own(&stack, &stack).unwrap().points_per_fit(4).map(drop));
    length(data().mask(&[true; 4]).map(drop));
    length(data().sigma(Sigma::PerFit(&x)).map(drop));
    length(data().sigma(Sigma::Absolute(&x[1..])).map(drop));
    length(data().sigma(Sigma::Relative(&stack[1..])).map(drop));
    let matrix = Matrix::from_diagonal(&[1.0; 5]);
    for sigma in [Sigma::Covariance(&matrix), Sigma::AbsoluteColumn, Sigma::RelativeColumn] {
        let refused = data().sigma(sigma);
        assert!(matches!(refused, Err(Error::UnsuitedSigma { entry: "a batch", .. })), "{sigma:?}");
        let refused = Data::new(&x, &x).unwrap().sigma(Sigma::PerFit(&x));
        assert!(matches!(refused, Err(Error::UnsuitedSigma { entry: "one fit", .. })));
    }
    assert!(matches!(data().offsets(&[0, 15]), Err(Error::BatchLayout { .. })));
    length(decay().fit_batch(data(), [1.0; 6]).map(drop));
    for offsets in [&[][..], &[1, 15], &[0, 9, 8, 15], &[0, 14]] {
        let refused = BatchData::own(&stack, &stack).unwrap().offsets(offsets);
        assert!(matches!(refused, Err(Error::BatchLayout { .. })), "{offsets:?}");
    }
    assert!(matches!(data().sigma(Sigma::Constant(0.0)), Err(Error::BadOption { .. })));
    let shared_start = decay().fit_batch(data(), [1.0, f64::NAN, 1.0]);
    assert!(matches!(shared_start, Err(Error::NonFiniteParameter { .. })));
    let columns = decay().fit_batch(BatchData::shared([&x, &x], &stack).unwrap(), START);
    assert!(matches!(columns, Err(Error::ColumnCount { .. })));
    let native = CurveFit::native(1, |x, p| p[0] * x).backend(Backend::cuda(0));
    let cuda = native.fit_batch(data(), [1.0]);
    assert!(matches!(cuda, Err(Error::NotOnDevice { .. })));
    let limited = Options::default().max_time(Duration::from_secs(1));
    let cuda = decay().options(limited).backend(Backend::cuda(0)).fit_batch(data(), START);
    assert!(matches!(cuda, Err(Error::NotOnDevice { .. })));
    let small = decay().backend(Backend::Auto).fit_batch(data(), START).unwrap();
    assert_eq!((small.processor(), small.left_to_cpu()), (Processor::Cpu, 0));
    assert!(small.reason().contains("too little"), "{}", small.reason());

    let none = BatchData::shared(&x, &stack[..0]).unwrap();
    let batch = decay().fit_batch(&none, START).unwrap();
    assert_eq!((batch.processor(), batch.reason()), (Processor::Cpu, "there are no fits"));
    assert_eq!((batch.n_fits(), batch.params().len(), batch.converged()), (0, 0, 0));
    let few = BatchData::shared(&x[..2], &stack[..4]).unwrap();
    let few = decay().fit_batch(few, START).unwrap();
    assert_eq!(few.statuses(), [FitStatus::TooFewPoints { points: 2 }; 2]);
    let fixed = decay().fix("p0").fix("p1").fix("p2").fit_batch(data(), START).unwrap();
    assert_eq!(fixed.statuses()[0].termination(), Some(Termination::AllFixed));
}

/// Masked pixels of an image are neither failures nor fits of too few points.
#[test]
fn fits_without_points_are_counted_separately() {
    let (x, stack) = ([0.0, 1.0, 2.0, 3.0], [1.0; 12]);
    let mask: Vec<bool> = (0..12).map(|i| i >= 4 && i != 8 && i != 9 && i != 10).collect();
    let line = CurveFit::new(|x, [a, b]| a + b * x);
    let data = BatchData::shared(&x, &stack).unwrap().mask(&mask).unwrap();
    let batch = line.fit_batch(data, [0.0, 0.0]).unwrap();
    assert_eq!(batch.counts(), [("converged", 1), ("no points", 1), ("too few points", 1)]);
    assert_eq!(batch.first_bad(), Some(2));
    let text = "no points: all of them are masked, missing or without weight";
    assert_eq!(batch.fit(0).status_text(), text);
}
