//! One request, one result: the same bits for any number of threads, any type of the data, and after
//! any earlier fits. The order of the points changes rounding only. Digests of the fits are printed with `-- --nocapture`;
//! `tests/platforms/aarch64` compares them with those of another processor.

use crate::support::digest::digest;
use dualfit::{CurveFit, Data, Error, Fit, Loss, Matrix, Missing, Options, Scalar, Sigma};
use rayon::ThreadPoolBuilder;

/// Few points; one below, at and above a block of 512, of a scan of 256, and a chunk of 4096; many
/// chunks that do not divide evenly.
const SIZES: [usize; 12] = [10, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 100_000, 300_001];

fn decay<T: Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
    a * (-b * x).exp() + c
}

const START: [f64; 3] = [1.5, 0.9, 0.2];

/// Numbers between −1 and 1 without pattern, the same on every machine (Steele et al. 2014, SplitMix).
fn noise(i: usize) -> f64 {
    let mut z = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as i64 as f64 / 2f64.powi(63)
}

/// All values are exact in single precision.
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Vec<f64>,
    mask: Vec<bool>,
}

impl Points {
    fn new(n: usize) -> Points {
        let short = |v: f64| f64::from(v as f32);
        let x: Vec<f64> = (0..n).map(|i| short(4.0 * i as f64 / n as f64)).collect();
        let outlier = |i: usize| if i % 8 == 5 { 2.0 * noise(i + n) } else { 0.0 };
        let value = |i: usize| decay(x[i], [2.4, 1.3, 0.5]) + 0.1 * noise(i) + outlier(i);
        let y = (0..n).map(|i| short(value(i))).collect();
        let sigma = (0..n).map(|i| short(0.05 + 0.1 * noise(3 * i).abs())).collect();
        let mask = (0..n).map(|i| i % 5 != 2).collect();
        Points { x, y, sigma, mask }
    }

    fn plain(&self) -> Result<Data<'_>, Error> {
        Data::new(&self.x, &self.y)
    }

    fn weighted(&self) -> Result<Data<'_>, Error> {
        self.plain()?.sigma(Sigma::Absolute(&self.sigma))
    }
}

type Run = fn(&Points, CurveFit) -> Result<Fit, Error>;

/// The model of most ways.
fn model() -> CurveFit {
    CurveFit::new(decay)
}

/// The ways in which a fit may pass over its points.
const KINDS: [(&str, Run); 7] = [
    ("plain", |p, model| model.fit(p.plain()?, START)),
    ("weighted", |p, model| model.fit(p.weighted()?, START)),
    ("robust", |p, model| model.loss(Loss::SoftL1 { scale: 0.2 }).fit(p.plain()?, START)),
    ("masked", |p, model| model.fit(p.plain()?.mask(&p.mask)?, START)),
    ("weighted, robust, masked, bounded", |p, model| {
        let model = model.loss(Loss::Huber { scale: 2.0 }).bound("p1", 0.0..=1.2);
        model.fit(p.weighted()?.mask(&p.mask)?, START)
    }),
    ("missing", |p, model| {
        let holes: Vec<f64> =
            p.y.iter().enumerate().map(|(i, &y)| if i % 9 == 4 { f64::NAN } else { y }).collect();
        model.fit(Data::new(&p.x, &holes)?.missing(Missing::Omit), START)
    }),
    ("native", |p, _| {
        let model = CurveFit::native(3, |x, p| decay(x, [p[0], p[1], p[2]]));
        let few = p.x.len().min(20_000);
        model.fit(Data::new(&p.x[..few], &p.y[..few])?, START)
    }),
];

/// Everything that a fit says, except seconds.
fn all(fit: &Fit) -> (Vec<u64>, String) {
    let mut numbers = fit.params().to_vec();
    numbers.extend(fit.std_errors());
    numbers.extend(fit.covariance().as_slice().iter().chain(fit.correlation().as_slice()));
    numbers.extend([fit.cost(), fit.r_squared().unwrap_or(f64::NAN), fit.condition(), fit.aic()]);
    let stats = fit.stats();
    let words = format!(
        "{} {:?} {} {} {}",
        fit.termination(),
        fit.warnings(),
        stats.evaluations,
        stats.passes,
        stats.iterations
    );
    (numbers.into_iter().map(f64::to_bits).collect(), words)
}

fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for n in SIZES {
        let points = Points::new(n);
        for (kind, run) in KINDS {
            let fit = |threads| with_threads(threads, || run(&points, model()).expect(kind));
            let one = fit(1);
            assert_eq!(one.stats().threads, 1);
            for threads in [2, 16] {
                let more = fit(threads);
                assert_eq!(all(&more), all(&one), "{kind}, {n} points, {threads} threads");
            }
            // And again, now that registers and chunks have been used by others.
            assert_eq!(all(&fit(1)), all(&one), "{kind}, {n} points, repeated");
        }
    }
}

#[test]
fn every_pass_leads_to_a_minimum() {
    for n in SIZES {
        let points = Points::new(n);
        for (kind, run) in KINDS {
            let fit = run(&points, model()).expect(kind);
            println!("{kind}, {n} points: {}", digest(&all(&fit)));
            assert!(fit.converged(), "{kind}, {n} points: {}", fit.termination());
        }
    }
}

#[test]
fn fits_at_once_do_not_disturb_each_other() {
    let model = CurveFit::new(decay);
    let points: Vec<Points> = (0..24).map(|k| Points::new(50 + 401 * k)).collect();
    let fit = |p: &Points| all(&model.fit(p.plain().unwrap(), START).unwrap());
    let alone: Vec<_> = points.iter().map(fit).collect();
    let together = with_threads(16, || {
        use rayon::prelude::*;
        points.par_iter().map(fit).collect::<Vec<_>>()
    });
    assert_eq!(together, alone);
}

#[test]
fn single_precision_is_its_widened_self() {
    for n in SIZES {
        let points = Points::new(n);
        let [x, y] =
            [&points.x, &points.y].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        let model = CurveFit::new(decay);
        let fit = |data: Result<Data<'_>, Error>| {
            let data = data.unwrap();
            let [a, b, c] = [
                model.fit(data.clone(), START),
                model.fit(data.clone().sigma(Sigma::Relative(&points.sigma)).unwrap(), START),
                model.fit(data.mask(&points.mask).unwrap(), START),
            ]
            .map(|fit| all(&fit.unwrap()));
            (a, b, c)
        };
        let double = fit(Data::new(&points.x, &points.y));
        assert_eq!(fit(Data::new(&x, &y)), double, "{n} points, both");
        assert_eq!(fit(Data::new(&x, &points.y)), double, "{n} points, x");
        assert_eq!(fit(Data::new(&points.x, &y)), double, "{n} points, y");
    }
}

/// |p − q| / max(|q|, error), errors and cost relative.
fn assert_near(name: &str, found: &Fit, expected: &Fit, tolerance: f64) {
    assert!(found.converged() && expected.converged(), "{name}");
    let (a, b) = (found.std_errors(), expected.std_errors());
    for i in 0..b.len() {
        let (p, q) = (found.params()[i], expected.params()[i]);
        let off = (p - q).abs() / q.abs().max(b[i]);
        assert!(off <= tolerance, "{name}: parameter {i} off by {off:.1e}");
        let off = (a[i] / b[i] - 1.0).abs();
        assert!(off <= tolerance, "{name}: error {i} off by {off:.1e}");
    }
    let off = (found.cost() / expected.cost() - 1.0).abs();
    assert!(off <= tolerance, "{name}: cost off by {off:.1e}");
}

#[test]
fn the_order_of_the_points_changes_rounding_only() {
    for n in SIZES {
        let points = Points::new(n);
        // A multiplier without common factor with n visits every index once.
        let divides = |d: usize, m: usize| m.is_multiple_of(d);
        let coprime = |m: &usize| !(2..=*m).any(|d| divides(d, *m) && divides(d, n));
        let step = (n * 5 / 8 + 1..).find(coprime).expect("one");
        let at = |i: usize| i * step % n;
        let shuffled = |v: &[f64]| (0..n).map(|i| v[at(i)]).collect::<Vec<f64>>();
        let moved = Points {
            x: shuffled(&points.x),
            y: shuffled(&points.y),
            sigma: shuffled(&points.sigma),
            mask: (0..n).map(|i| points.mask[at(i)]).collect(),
        };
        for (kind, run) in &KINDS[..4] {
            // The points of a sample depend on the order.
            let run = |points| run(points, model().subsample(false)).unwrap();
            let (found, expected) = (run(&moved), run(&points));
            assert_near(&format!("{kind}, {n} points"), &found, &expected, 1e-12);
        }
    }
}

#[test]
fn points_left_out_are_as_if_they_were_not_there() {
    for n in SIZES {
        let points = Points::new(n);
        let kept =
            |v: &[f64]| (0..n).filter(|&i| points.mask[i]).map(|i| v[i]).collect::<Vec<f64>>();
        let (x, y, sigma) = (kept(&points.x), kept(&points.y), kept(&points.sigma));
        let model = CurveFit::new(decay);
        let expected =
            model.fit(Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap(), START);
        let expected = expected.unwrap();
        let masked =
            model.fit(points.weighted().unwrap().mask(&points.mask).unwrap(), START).unwrap();
        assert_near(&format!("masked, {n} points"), &masked, &expected, 1e-12);
        assert_eq!((masked.points(), masked.omitted()), (x.len(), n - x.len()));
        // A point of infinite sigma has no weight; points with values that are not finite can be left out.
        let infinite: Vec<f64> =
            (0..n).map(|i| if points.mask[i] { points.sigma[i] } else { f64::INFINITY }).collect();
        let data = points.plain().unwrap().sigma(Sigma::Absolute(&infinite)).unwrap();
        let ignored = model.fit(data, START).unwrap();
        assert_eq!((ignored.points(), ignored.ignored()), (x.len(), n - x.len()));
        assert_eq!(all(&ignored), all(&masked), "infinite sigma, {n} points");
        let holes: Vec<f64> =
            (0..n).map(|i| if points.mask[i] { points.y[i] } else { f64::NAN }).collect();
        let data = Data::new(&points.x, &holes).unwrap().missing(Missing::Omit);
        let data = data.sigma(Sigma::Absolute(&points.sigma)).unwrap();
        assert_eq!(all(&model.fit(data, START).unwrap()), all(&masked), "missing, {n} points");
    }
}

#[test]
fn correlated_and_limited_fits_repeat_too() {
    let points = Points::new(200);
    let matrix = Matrix::from_fn(200, 200, |i, j| {
        let decay = 0.01 * 0.5f64.powi(i.abs_diff(j) as i32);
        let own = if i == j { 0.01 } else { 0.0 };
        decay * (1.0 + 0.1 * (i as f64 * j as f64).sqrt().sin()) + own
    });
    let options = Options::default().max_evaluations(4);
    let run = |threads| {
        with_threads(threads, || {
            let data = points.plain().unwrap().sigma(Sigma::Covariance(&matrix)).unwrap();
            let correlated = CurveFit::new(decay).fit(data, START).unwrap();
            let limited = CurveFit::new(decay).options(options).fit(points.plain().unwrap(), START);
            (all(&correlated), all(&limited.unwrap()))
        })
    };
    assert_eq!(run(1), run(16));
}
