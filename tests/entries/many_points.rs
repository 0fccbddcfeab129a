//! Fits of many points begin with a fit of a sample, which must not change their results. The reference is a batch of one
//! fit, which begins at the caller's start.

use dualfit::{Backend, BatchData, CurveFit, Data, Estimator, Fit, Loss, Missing, Options, Sigma};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::ThreadPoolBuilder;

/// Number of points; from 2^19 used ones on, a sample is fitted.
const N: usize = 3 << 18;

fn noise(rng: &mut StdRng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

fn abscissae() -> Vec<f64> {
    (0..N).map(|i| 5.0 * i as f64 / N as f64).collect()
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

/// Far from the result, so that a fit takes many evaluations.
const START: [f64; 3] = [5.0, 0.1, 1.0];

/// Fits the points, and the same points as a batch. The fit must have the minimum of the batch, or a lower one. Returns the
/// fit, and the evaluations of the batch.
fn compared(
    what: &str,
    curve: &CurveFit,
    (data, batch): (Data<'_>, BatchData<'_>),
    start: &[f64],
) -> (Fit, usize) {
    let curve = curve.clone().backend(Backend::Cpu);
    let fit = curve.fit(data, start).unwrap();
    let others = curve.fit_batch(&batch, start).unwrap();
    let other = others.fit(0);
    assert!(fit.cost() <= other.cost() * (1.0 + 1e-9), "{what}: {} {}", fit.cost(), other.cost());
    if fit.cost() >= other.cost() * (1.0 - 1e-9) {
        for i in 0..start.len() {
            let (p, q) = (fit.params()[i], other.params()[i]);
            let (e, f) = (fit.std_errors()[i], other.std_errors()[i]);
            assert!((p - q).abs() <= 1e-4 * f || p == q, "{what}: parameter {i}: {p} {q} ± {f}");
            assert!(
                (e - f).abs() <= 1e-4 * f || e.to_bits() == f.to_bits(),
                "{what}: error {i}: {e} {f}"
            );
        }
    }
    (fit, others.evaluations()[0] as usize)
}

#[test]
fn every_kind_of_data_begins_at_the_fit_of_a_sample() {
    let rng = &mut StdRng::seed_from_u64(61);
    let x = abscissae();
    let y: Vec<f64> =
        x.iter().map(|x| 100.0 * (-1.3 * x).exp() + 10.0 + 2.0 * noise(rng)).collect();
    let outliers: Vec<f64> = y
        .iter()
        .map(|y| if rng.random::<f64>() < 0.05 { y + 100.0 * rng.random::<f64>() } else { *y })
        .collect();
    let gaps: Vec<f64> =
        y.iter().map(|y| if rng.random::<f64>() < 0.1 { f64::NAN } else { *y }).collect();
    let counts: Vec<u16> = y.iter().map(|y| y.max(0.0).round() as u16).collect();
    let sigma: Vec<f64> = x.iter().map(|_| 1.0 + rng.random::<f64>()).collect();
    let mask: Vec<bool> = x.iter().map(|_| rng.random::<f64>() < 0.8).collect();
    let (x32, y32): (Vec<f32>, Vec<f32>) =
        x.iter().zip(&y).map(|(x, y)| (*x as f32, *y as f32)).unzip();
    let both = |y: &'static [f64]| (Data::new(&x, y).unwrap(), BatchData::shared(&x, y).unwrap());
    let (y, outliers): (&'static [f64], &'static [f64]) = (y.leak(), outliers.leak());
    let sigmas = |sigma: Sigma<'static>| {
        let (data, batch) = both(y);
        (data.sigma(sigma).unwrap(), batch.sigma(sigma).unwrap())
    };
    let sigma: &'static [f64] = sigma.leak();
    let native = CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]);
    let names = ["a", "b", "c"];
    let plain = both(y);
    let cases = [
        ("plain", decay(), plain.clone()),
        ("native", native, plain.clone()),
        ("bounds", decay().names(names).bound("c", 0.0..=9.0), plain.clone()),
        ("fixed", decay().names(names).fix("c"), plain.clone()),
        ("tie", decay().names(names).tie("c", "a/10"), plain.clone()),
        ("prior", decay().names(names).prior("b", 1.2, 0.01), sigmas(Sigma::Constant(2.0))),
        ("constant sigma", decay(), sigmas(Sigma::Constant(2.0))),
        ("relative sigma", decay(), sigmas(Sigma::Relative(sigma))),
        ("absolute sigma", decay(), sigmas(Sigma::Absolute(sigma))),
        (
            "mask",
            decay(),
            (plain.0.clone().mask(&mask).unwrap(), plain.1.clone().mask(&mask).unwrap()),
        ),
        (
            "gaps",
            decay(),
            (
                Data::new(&x, &gaps).unwrap().missing(Missing::Omit),
                BatchData::shared(&x, &gaps).unwrap().missing(Missing::Omit),
            ),
        ),
        ("f32", decay(), (Data::new(&x32, &y32).unwrap(), BatchData::shared(&x32, &y32).unwrap())),
        (
            "counts",
            decay().estimator(Estimator::Poisson),
            (Data::new(&x, &counts).unwrap(), BatchData::shared(&x, &counts).unwrap()),
        ),
        ("Huber", decay().loss(Loss::Huber { scale: 3.0 }), both(outliers)),
        ("soft L1", decay().loss(Loss::SoftL1 { scale: 3.0 }), both(outliers)),
        ("Cauchy", decay().loss(Loss::Cauchy { scale: 3.0 }), both(outliers)),
        ("arctan", decay().loss(Loss::Arctan { scale: 9.0 }), both(outliers)),
        ("Tukey", decay().loss(Loss::Tukey { scale: 9.0 }), both(outliers)),
    ];
    for (what, curve, data) in cases {
        let (fit, evaluations) = compared(what, &curve, data, &START);
        assert!(fit.converged(), "{what}: {}", fit.termination());
        assert!(fit.stats().subsample_points > 1500, "{what}: {}", fit.stats());
        assert!(fit.evaluations() < evaluations, "{what}: {} {evaluations}", fit.evaluations());
        assert_eq!(fit.start()[..2], START[..2]);
    }
}

/// Peaks of random width, height and place on a sloping ground. Narrow ones lie between the points of a sample.
#[test]
fn narrow_peaks_are_found_from_a_near_start() {
    let rng = &mut StdRng::seed_from_u64(62);
    let x = abscissae();
    let peak = CurveFit::new(|x, [a, m, w, b, c]| {
        let u = (x - m) / w;
        a * (-0.5 * u * u).exp() + b * x + c
    });
    let mut begun_at_sample = 0;
    for case in 0..60 {
        // From 1.5 to 15,000 points.
        let w = 3e-5 * 10f64.powf(4.0 * rng.random::<f64>());
        let m = 0.5 + 4.0 * rng.random::<f64>();
        let a = 10f64.powf(2.0 * rng.random::<f64>());
        let value = |x: f64| a * (-0.5 * ((x - m) / w).powi(2)).exp() + 0.3 * x + 1.0;
        let y: Vec<f64> = x.iter().map(|&x| value(x) + noise(rng)).collect();
        let near = |rng: &mut StdRng| 0.6 + 0.8 * rng.random::<f64>();
        let start = [a * near(rng), m + w * (near(rng) - 1.0), w * near(rng), 0.2, 2.0];
        let data = (Data::new(&x, &y).unwrap(), BatchData::shared(&x, &y).unwrap());
        let (fit, _) =
            compared(&format!("case {case}, width {w}, height {a}"), &peak, data, &start);
        begun_at_sample += usize::from(fit.stats().subsample_points > 0);
    }
    assert!((5..55).contains(&begun_at_sample), "{begun_at_sample}");
}

/// A few points with very small errors decide the fit, and the sample has none of them.
#[test]
fn points_with_large_weights_decide() {
    let rng = &mut StdRng::seed_from_u64(63);
    let x = abscissae();
    for heavy in [3, 30, 300] {
        let mut sigma = vec![1.0; N];
        let mut y: Vec<f64> =
            x.iter().map(|x| 100.0 * (-1.3 * x).exp() + 10.0 + noise(rng)).collect();
        for k in 0..heavy {
            // Their curve is another one.
            let i = (k * 1009 + 500) % N;
            (sigma[i], y[i]) = (1e-4, 120.0 * (-1.1 * x[i]).exp() + 8.0);
        }
        let sigma = Sigma::Absolute(&sigma);
        let data = Data::new(&x, &y).unwrap().sigma(sigma).unwrap();
        let batch = BatchData::shared(&x, &y).unwrap().sigma(sigma).unwrap();
        let (fit, _) = compared(&format!("{heavy} points"), &decay(), (data, batch), &START);
        assert_eq!(fit.stats().subsample_points, 0, "{heavy}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let rng = &mut StdRng::seed_from_u64(64);
    let x = abscissae();
    let y: Vec<f64> = x.iter().map(|x| 100.0 * (-1.3 * x).exp() + 10.0 + noise(rng)).collect();
    let of = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| decay().fit(Data::new(&x, &y).unwrap(), START)).unwrap();
        assert!(fit.stats().subsample_points > 0, "{fit}");
        let numbers = [fit.params(), &fit.std_errors(), &[fit.cost()]].concat();
        numbers.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
    };
    let one = of(1);
    assert!([2, 16].into_iter().all(|threads| of(threads) == one));
}

/// The sample decides all tests from a near start: the fit has no pass in addition to its evaluations.
#[test]
fn a_sample_saves_passes_from_a_near_start() {
    let rng = &mut StdRng::seed_from_u64(66);
    let x = abscissae();
    let y: Vec<f64> = x.iter().map(|x| 100.0 * (-1.3 * x).exp() + 10.0 + noise(rng)).collect();
    let data = (Data::new(&x, &y).unwrap(), BatchData::shared(&x, &y).unwrap());
    let (fit, evaluations) = compared("near start", &decay(), data, &[90.0, 1.5, 11.0]);
    assert!(fit.stats().subsample_points > 1500, "{fit}");
    assert_eq!(fit.stats().passes, fit.evaluations(), "{fit}");
    assert!(fit.evaluations() <= 3 && evaluations >= 5, "{} {evaluations}", fit.evaluations());
}

/// Without a sample, a fit of all points begins at the caller's start and has the bits of a batch of one.
#[test]
fn a_caller_can_do_without_a_sample() {
    let rng = &mut StdRng::seed_from_u64(65);
    let x = abscissae();
    let y: Vec<f64> = x.iter().map(|x| 100.0 * (-1.3 * x).exp() + 10.0 + noise(rng)).collect();
    let data = || Data::new(&x, &y).unwrap();
    let curve = decay().subsample(false);
    let fit = curve.fit(data(), START).unwrap();
    assert_eq!(fit.stats().subsample_points, 0);
    let few = Options::default().max_evaluations(50);
    let limited = decay().options(few).fit(data(), START).unwrap();
    assert_eq!(limited.stats().subsample_points, 0);
    let batch = curve.fit_batch(BatchData::shared(&x, &y).unwrap(), START).unwrap();
    assert_eq!((limited.params(), batch.params()), (fit.params(), fit.params()));
}
