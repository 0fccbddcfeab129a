//! Batches on every device: the emulated one of this crate's own tests, and real ones.
//!
//! The oracles are batches on the CPU, which are compared with loops of single fits, and single fits.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::losses::robust;
use dualfit::device::Processor;
use dualfit::{
    Backend, BatchData, BatchFit, CurveFit, Data, Estimator, Loss, Missing, Options, Sigma, Starts,
    Var,
};

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! batches_on {
    ($on_device:ident) => {
        batches::batches_on! { $on_device:
            shapes_and_numbers_of_parameters,
            each_fit_is_the_single_fit_of_its_points,
            losses_bounds_and_fixed_parameters,
            starts_and_bounds_of_each_fit,
            all_types_of_samples_and_columns,
            sigmas_masks_and_missing_samples,
            fits_of_unequal_length_with_columns_of_their_own,
            counts_of_batches,
            what_the_data_do_not_determine,
            bad_columns_sigmas_and_counts,
            spots,
            second_runs,
        }
    };
    ($on_device:ident: $($test:ident),* $(,)?) => {$(
        #[test]
        fn $test() {
            $on_device(batches::$test);
        }
    )*};
}
pub(crate) use batches_on;

/// Sends a batch to the device under test.
pub type Place<'a> = &'a dyn Fn(CurveFit) -> CurveFit;

/// Noise that needs no generator: reproducible, without structure at these lengths.
pub fn noise(i: usize) -> f64 {
    let h = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((h ^ (h >> 32)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

pub fn abscissae(n: usize) -> Vec<f64> {
    (0..n).map(|i| 4.0 * i as f64 / n as f64).collect()
}

pub fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

pub const START: [f64; 3] = [15.0, 0.7, 3.0];

/// Decays whose amplitude and rate differ from fit to fit.
pub fn decays(x: &[f64], fits: usize) -> Vec<f64> {
    let value = |f: usize, i: usize| {
        let (a, b) = (20.0 + 3.0 * noise(7 * f), 1.0 + 0.5 * noise(11 * f + 1));
        a * (-b * x[i]).exp() + 5.0 + noise(f * x.len() + i)
    };
    (0..fits).flat_map(|f| (0..x.len()).map(move |i| (f, i))).map(|(f, i)| value(f, i)).collect()
}

/// The same batch on the emulated device and on the CPU.
pub fn both<'s>(
    fitter: &CurveFit,
    data: &BatchData<'_>,
    starts: impl Into<Starts<'s>>,
    place: Place<'_>,
) -> [BatchFit; 2] {
    let starts = starts.into();
    let there = place(fitter.clone()).fit_batch(data, starts.clone()).expect("a batch there");
    assert_eq!(there.processor(), Processor::Cuda, "{}", there.reason());
    [there, fitter.clone().backend(Backend::Cpu).fit_batch(data, starts).expect("a batch here")]
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    let equal = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs();
    assert!(equal, "{what}: {a} against {b}");
}

/// Holds a batch of the device to one of the CPU.
pub fn agree(there: &BatchFit, here: &BatchFit) {
    agree_but_for(there, here, &[]);
}

/// The same, with fits whose minimum is not one point, so that only whether they converge is compared.
pub fn agree_but_for(there: &BatchFit, here: &BatchFit, vague: &[usize]) {
    assert_eq!(there.n_fits(), here.n_fits());
    for (i, (a, b)) in there.iter().zip(here.iter()).enumerate() {
        assert_eq!(a.points(), b.points(), "fit {i}: points");
        if vague.contains(&i) {
            let converged = [a, b].map(|fit| fit.status().is_determined());
            assert_eq!(converged[0], converged[1], "fit {i}: {} and {}", a.status(), b.status());
            continue;
        }
        assert_eq!(a.status(), b.status(), "fit {i}");
        for (a, b) in [(a.evaluations(), b.evaluations()), (a.iterations(), b.iterations())] {
            assert!(a.abs_diff(b) <= 3 + b / 8, "fit {i}: {a} steps or evaluations against {b}");
        }
        // Where a model goes through all points a parameter may be nothing but the others' rounding.
        let largest = b.params().iter().fold(0.0, |m: f64, p| m.max(p.abs()));
        for k in 0..there.n_params() {
            let what = |of: &str| format!("fit {i}, parameter {k}, {of}");
            let (p, q) = (a.params()[k], b.params()[k]);
            let nothing = (1e-15 * largest).max(1e-9 * b.std_errors()[k]);
            if (p - q).abs() > nothing || p.is_nan() != q.is_nan() {
                close(p, q, 1e-9, &what("value"));
            }
            let (p, q) = (a.std_errors()[k], b.std_errors()[k]);
            if p.max(q) > 1e-14 * largest || p.is_nan() != q.is_nan() {
                close(p, q, 1e-6, &what("error"));
            }
        }
        // Where the model goes through all points, both are rounding.
        if a.cost().max(b.cost()) > 1e-25 || a.cost().is_nan() != b.cost().is_nan() {
            close(a.cost(), b.cost(), 1e-8, &format!("fit {i}, cost"));
        }
        close(
            a.effective_points(),
            b.effective_points(),
            1e-6,
            &format!("fit {i}, points that count"),
        );
        assert_eq!(a.rank(), b.rank(), "fit {i}: rank");
        assert!(a.at_bound().eq(b.at_bound()), "fit {i}: bounds");
    }
}

/// Makes a batch on both and holds one to the other; no more than `by_host` fits may be left to the host.
pub fn check<'s>(
    fitter: &CurveFit,
    data: &BatchData<'_>,
    starts: impl Into<Starts<'s>>,
    by_host: usize,
    place: Place<'_>,
) -> BatchFit {
    let [there, here] = both(fitter, data, starts, place);
    agree(&there, &here);
    let left = there.left_to_cpu();
    assert!(left <= by_host, "{left} of {} fits were left to the host", there.n_fits());
    there
}

/// Terms that are linear in the parameters but for the first.
fn cosines(params: usize) -> CurveFit {
    CurveFit::dynamic(params, |x, p: &[Var]| {
        let terms = p.iter().enumerate();
        let sum = |s: Var, (k, c): (usize, &Var)| s + *c * (x * (0.78 * k as f64)).cos();
        terms.fold(Var::from(0.0), sum) + (p[0] * 0.1 * x).sin()
    })
}

pub fn shapes_and_numbers_of_parameters(place: Place<'_>) {
    for params in 1..=12 {
        let shapes: &[(usize, usize)] = match params {
            1 => &[(1, 4), (7, 13), (300, 25), (1, 1000)],
            3 => &[(1, 4), (7, 13), (300, 25), (3, 1000)],
            _ => &[(1, 13), (5, 20), (2, 300)],
        };
        for &(fits, points) in shapes {
            let x = abscissae(points);
            let stack: Vec<f64> =
                (0..fits * points).map(|i| x[i % points].sin() + 0.1 * noise(i)).collect();
            let start = vec![0.1; params];
            let data = BatchData::shared(&x, &stack).unwrap();
            check(&cosines(params), &data, &start, 0, place);
        }
    }
}

pub fn each_fit_is_the_single_fit_of_its_points(place: Place<'_>) {
    for (fits, points) in [(1, 4), (7, 13), (300, 25), (2000, 10), (3, 1000)] {
        let x = abscissae(points);
        let stack = decays(&x, fits);
        let data = BatchData::shared(&x, &stack).unwrap();
        let batch = check(&decay().keep_covariance(true), &data, START, 0, place);
        for (i, y) in stack.chunks(points).enumerate().step_by(fits.div_ceil(20)) {
            let single = decay().fit(Data::new(&x, y).unwrap(), START).unwrap();
            let view = batch.fit(i);
            assert_eq!(view.status().termination(), Some(single.termination()), "fit {i}");
            for (a, b) in view.params().iter().zip(single.params()) {
                close(*a, *b, 1e-9, "parameter");
            }
            let covariance = batch.covariance(i).unwrap();
            for (a, b) in covariance.iter().zip(single.covariance().as_slice()) {
                close(*a, *b, 1e-5, "covariance");
            }
        }
    }
}

pub fn losses_bounds_and_fixed_parameters(place: Place<'_>) {
    let x = abscissae(40);
    let mut stack = decays(&x, 30);
    stack.iter_mut().step_by(37).for_each(|y| *y += 30.0);
    let fitters = [
        decay().loss(Loss::Tukey { scale: 2.0 }).options(Options::default().max_evaluations(1)),
        decay().bound("p1", 0.0..=0.9),
        decay().fix("p2"),
        decay().fix("p0").bound("p1", 0.0..=0.9).keep_covariance(true),
    ];
    let data = BatchData::shared(&x, &stack).unwrap();
    for fitter in fitters {
        check(&fitter, &data, START, 3, place);
    }
    for loss in robust(2.0) {
        check(&decay().loss(loss), &data, START, 3, place);
        let far = check(&decay().loss(loss), &data, [1500.0, 0.7, 300.0], 30, place);
        assert!(far.effective_points().iter().all(|&counting| counting > 20.0), "{loss:?}: {far}");
    }
}

pub fn starts_and_bounds_of_each_fit(place: Place<'_>) {
    let x = abscissae(40);
    let stack = decays(&x, 30);
    let data = BatchData::shared(&x, &stack).unwrap();
    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; 90], vec![f64::INFINITY; 90]);
    let mut starts: Vec<[f64; 3]> = vec![START; 30];
    for (i, start) in starts.iter_mut().enumerate() {
        (lower[3 * i + 1], upper[3 * i + 1]) = (0.5, 0.8 + 0.02 * i as f64);
        start[0] += i as f64;
    }
    let shared = Starts::from(START).bounds(&lower, &upper);
    let batch = check(&decay(), &data, shared, 0, place);
    let held: usize = batch.iter().map(|fit| fit.at_bound().count()).sum();
    assert!((5..30).contains(&held), "{held} fits at a bound");
    check(&decay(), &data, &starts, 0, place);
    (lower[4], upper[7], starts[3][2]) = (2.0, f64::NAN, f64::NAN);
    let own = Starts::from(&starts).bounds(&lower, &upper);
    check(&decay(), &data, own.clone(), 3, place);
    check(&decay().clamp_start(true), &data, own, 3, place);
}

pub fn all_types_of_samples_and_columns(place: Place<'_>) {
    let x = abscissae(30);
    let whole: Vec<f64> = decays(&x, 20).iter().map(|y| (4.0 * y).round()).collect();
    let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let (u8s, u16s): (Vec<u8>, Vec<u16>) = whole.iter().map(|&y| (y as u8, y as u16)).unzip();
    let (i16s, f32s): (Vec<i16>, Vec<f32>) = whole.iter().map(|&y| (y as i16, y as f32)).unzip();
    let start = [60.0, 0.7, 12.0];
    let reference = check(&decay(), &BatchData::shared(&x, &whole).unwrap(), start, 0, place);
    for data in [
        BatchData::shared(&x, &u8s).unwrap(),
        BatchData::shared(&x, &u16s).unwrap(),
        BatchData::shared(&x, &i16s).unwrap(),
        BatchData::shared(&x, &f32s).unwrap(),
    ] {
        let batch = check(&decay(), &data, start, 0, place);
        // Units of other types are other texts, in which a compiler may fuse other operations.
        for (p, q) in batch.params().iter().zip(reference.params()) {
            close(*p, *q, 1e-12, "parameter of another type of samples");
        }
    }
    check(&decay(), &BatchData::shared(&narrow, &u16s).unwrap(), start, 0, place);
}

pub fn sigmas_masks_and_missing_samples(place: Place<'_>) {
    let (fits, n) = (20, 30);
    let x = abscissae(n);
    let stack = decays(&x, fits);
    let of_sample: Vec<f64> = (0..fits * n).map(|i| 0.3 + 0.2 * noise(3 * i)).collect();
    let mask: Vec<bool> = (0..fits * n).map(|i| i % 7 != 3).collect();
    let mut holes = stack.clone();
    holes.iter_mut().step_by(11).for_each(|y| *y = f64::NAN);
    let data = || BatchData::shared(&x, &stack).unwrap();
    let with = |sigma| data().sigma(sigma).unwrap();
    for data in [
        with(Sigma::Constant(0.4)),
        with(Sigma::PerFit(&of_sample[..fits])),
        with(Sigma::Absolute(&of_sample[..n])),
        with(Sigma::Absolute(&of_sample)),
        data().mask(&mask).unwrap(),
        data().mask(&mask[..n]).unwrap(),
        with(Sigma::Absolute(&of_sample)).mask(&mask).unwrap(),
        BatchData::shared(&x, &holes).unwrap().missing(Missing::Omit),
        BatchData::shared(&x, &holes).unwrap().missing(Missing::Omit).mask(&mask).unwrap(),
    ] {
        check(&decay(), &data, START, 0, place);
    }
}

pub fn fits_of_unequal_length_with_columns_of_their_own(place: Place<'_>) {
    let lengths = [13, 40, 3, 2, 0, 100, 17, 33];
    let offsets: Vec<usize> = std::iter::once(0)
        .chain(lengths.iter().scan(0, |end, n| {
            *end += n;
            Some(*end)
        }))
        .collect();
    let xs: Vec<f64> = lengths.iter().flat_map(|&n| abscissae(n)).collect();
    let stack: Vec<f64> =
        xs.iter().enumerate().map(|(i, x)| 20.0 * (-x).exp() + noise(i)).collect();
    let data = BatchData::own(&xs, &stack).unwrap().offsets(&offsets).unwrap();
    check(&decay(), &data, START, 3, place);
    let sigma: Vec<f64> = (0..stack.len()).map(|i| 0.3 + 0.2 * noise(3 * i)).collect();
    let data = data.sigma(Sigma::Absolute(&sigma)).unwrap();
    check(&decay(), &data, START, 3, place);
    let fitter = decay().allow_underdetermined(true);
    let [there, here] = both(&fitter, &data, START, place);
    agree_but_for(&there, &here, &[3]);
}

pub fn counts_of_batches(place: Place<'_>) {
    let (fits, n) = (40, 30);
    let x = abscissae(n);
    let mut counts: Vec<u16> = decays(&x, fits)
        .iter()
        .enumerate()
        .map(|(i, y)| (0.3 * y + 2.0 * noise(5 * i)).max(0.0) as u16)
        .collect();
    let fitter = decay().estimator(Estimator::Poisson).bound("p0", 0.0..).bound("p2", 1e-6..);
    check(&fitter, &BatchData::shared(&x, &counts).unwrap(), [5.0, 0.7, 1.0], 3, place);
    // Nothing was counted in one of the fits.
    counts[3 * n..4 * n].fill(0);
    check(&fitter, &BatchData::shared(&x, &counts).unwrap(), [5.0, 0.7, 1.0], 4, place);
}

pub fn what_the_data_do_not_determine(place: Place<'_>) {
    let (fits, n) = (8, 24);
    let x = abscissae(n);
    let stack = decays(&x, fits);
    let data = BatchData::shared(&x, &stack).unwrap();
    // A sum of which only one term is needed; powers far from their origin, whose normal equations
    // keep no digit; a parameter without any effect.
    let sum = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c + d);
    let powers = CurveFit::new(|x, [a, b, c, d]| {
        let u = x + 100.0;
        a + u * (b + u * (c + u * d))
    });
    let unused = CurveFit::new(|x, [a, b, c, _d]| a * (-b * x).exp() + c);
    for (fitter, start, dependent) in [
        (sum, [15.0, 0.7, 1.0, 2.0], true),
        (powers, [1.0; 4], false),
        (unused, [15.0, 0.7, 3.0, 1.0], false),
    ] {
        let [there, here] = both(&fitter.keep_covariance(true), &data, start, place);
        for (i, (a, b)) in there.iter().zip(here.iter()).enumerate() {
            assert_eq!(a.status(), b.status(), "fit {i}");
            close(a.cost(), b.cost(), 1e-9, "cost");
            for (p, q) in a.std_errors().iter().zip(b.std_errors()) {
                close(*p, *q, 1e-5, "error");
            }
            for (p, q) in there.covariance(i).unwrap().iter().zip(here.covariance(i).unwrap()) {
                close(*p, *q, 1e-5, "covariance");
            }
        }
        assert!(there.iter().map(|f| f.rank()).eq(here.iter().map(|f| f.rank())));
        // Parameters that depend on the other columns are checked with second derivatives, except unused ones.
        assert_eq!(there.left_to_cpu(), if dependent { fits } else { 0 });
    }
}

/// Errors of a fit other than its samples, and partials whose squares underflow.
pub fn bad_columns_sigmas_and_counts(place: Place<'_>) {
    let (fits, n) = (12, 20);
    let xs = abscissae(n).repeat(fits);
    let stack = decays(&xs[..n], fits);
    let mut bad_xs = xs.clone();
    (bad_xs[3 * n + 5], bad_xs[7 * n]) = (f64::NAN, f64::INFINITY);
    let mut sigma = vec![0.5; fits * n];
    for (at, value) in [(n, 0.0), (2 * n + 1, -1.0), (4 * n + 2, f64::NAN), (5 * n, f64::INFINITY)]
    {
        sigma[at] = value;
    }
    let mut holes = stack.clone();
    holes[2 * n] = f64::NAN;
    holes[6 * n + 3] = f64::NAN;
    for (xs, stack, by_host) in [(&bad_xs, &stack, 6), (&xs, &stack, 4), (&xs, &holes, 4)] {
        for missing in [Missing::Error, Missing::Omit] {
            let data = BatchData::own(xs, stack).unwrap().points_per_fit(n).unwrap();
            let data = data.sigma(Sigma::Absolute(&sigma)).unwrap().missing(missing);
            check(&decay(), &data, START, by_host, place);
        }
    }
    let of_fit = sigma[..fits].iter().enumerate().map(|(i, s)| if i == 3 { -1.0 } else { *s });
    let of_fit: Vec<f64> = of_fit.collect();
    let data = BatchData::shared(&xs[..n], &stack).unwrap();
    check(&decay(), &data.clone().sigma(Sigma::PerFit(&of_fit)).unwrap(), START, 1, place);
    let mut counts = stack.clone();
    counts[4 * n + 7] = -1.0;
    let counted = decay().estimator(Estimator::Poisson);
    check(&counted, &BatchData::shared(&xs[..n], &counts).unwrap(), START, 2, place);
    let tiny = CurveFit::new(|x, [a, b]| a * x + b * 1e-170 * x.cos());
    check(&tiny, &data, [1.0, 1e170], fits, place);
}

/// Spots of a camera: 15 by 15 pixels in u16, faint ones among them, by both estimators.
pub fn spots(place: Place<'_>) {
    let (fits, side) = (200, 15);
    let (columns, rows): (Vec<f64>, Vec<f64>) =
        (0..side * side).map(|i| ((i % side) as f64, (i / side) as f64)).unzip();
    let spot = CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    });
    let pixel = |fit: usize, i: usize| {
        let of_fit = |k: usize| noise(97 * fit + k);
        let (x0, y0, s) = (7.0 + of_fit(0), 7.0 + of_fit(1), 1.3 + 0.4 * of_fit(2));
        let square = (columns[i] - x0).powi(2) + (rows[i] - y0).powi(2);
        let expected = (60.0 + 100.0 * of_fit(3)) * (-square / (2.0 * s * s)).exp() + 4.0;
        // The sum of four has nearly the scatter of counts.
        let scatter: f64 = (0..4).map(|k| noise(1000 * fit + 4 * i + k)).sum();
        (expected + scatter * (3.0 * expected).sqrt()).max(0.0).round() as u16
    };
    let stack: Vec<u16> = (0..fits)
        .flat_map(|fit| (0..side * side).map(move |i| (fit, i)))
        .map(|(fit, i)| pixel(fit, i))
        .collect();
    let data = BatchData::shared([&columns, &rows], &stack).unwrap();
    let start = [40.0, 7.0, 7.0, 1.5, 3.0];
    let empty = vec![0u8; 3 * side * side];
    let data_of_nothing = BatchData::shared([&columns, &rows], &empty).unwrap();
    let [there, here] = both(&spot, &data_of_nothing, start, place);
    agree_but_for(&there, &here, &[0, 1, 2]);
    // Whether they are exact the host says, which looks at each point.
    assert_eq!(there.left_to_cpu(), 3, "{there}");
    let least_squares = check(&spot, &data, start, fits / 50, place);
    assert!(least_squares.converged() > fits - fits / 50, "{least_squares}");
    let within_errors = spot.clone().options(Options::default().etol(0.01));
    let quick = check(&within_errors, &data, start, fits / 50, place);
    let evaluations = |batch: &BatchFit| batch.evaluations().iter().sum::<u32>();
    assert!(evaluations(&quick) < evaluations(&least_squares) * 3 / 4, "{quick}");
    let counted = spot.estimator(Estimator::Poisson).bound("p0", 0.0..).bound("p4", 1e-3..);
    let poisson = check(&counted, &data, start, fits / 50, place);
    assert!(poisson.converged() > fits - fits / 50, "{poisson}");
}

/// Starts at which nothing has an effect, or from which a first run loses a parameter.
pub fn second_runs(place: Place<'_>) {
    let x = abscissae(20);
    let factors = [2.0, 0.003, -1.0, 0.5];
    let stack: Vec<f64> = factors
        .iter()
        .flat_map(|a| x.iter().map(move |x| (a * x).powi(2) + 0.01 * noise((1e3 * x) as usize)))
        .collect();
    let data = BatchData::shared(&x, &stack).unwrap();
    // With a radius of 1 the step from halfway to a bound ends within a rounding of that bound.
    let options = Options::default().initial_radius(0.7);
    let square = CurveFit::new(|x, [a]| (a * x).powi(2)).options(options);
    for fitter in [
        square.clone(),
        square.clone().bound("p0", 0.0..=0.0078125),
        square.clone().bound("p0", -0.0078125..=0.0),
        square.bound("p0", -0.001..=10.0),
    ] {
        let batch = check(&fitter, &data, [0.0], 0, place);
        assert!(batch.evaluations().iter().all(|&n| n > 2), "{batch}");
    }
    // From these rates the exponential is gone at all points but the first.
    let stack = decays(&x, 6);
    let starts: Vec<[f64; 3]> = (0..6).map(|i| [10.0, 10f64.powi(i), 3.0]).collect();
    // The host decides three of them, which do not end there.
    check(&decay(), &BatchData::shared(&x, &stack).unwrap(), &starts, 3, place);
}
