//! Batches of all kinds: what data, starts and options there are.

use dualfit::{
    BatchData, CurveFit, Estimator, Loss, Missing, Options, Sigma, Start, Starts, models,
};

/// Within ±0.5, without pattern, the same in every run.
pub(super) fn noise(i: usize) -> f64 {
    let mixed = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}

pub(super) fn times(n: usize) -> Vec<f64> {
    (0..n).map(|i| 4.0 * i as f64 / n as f64).collect()
}

pub(super) fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

fn decay_at(fit: usize, i: usize, x: f64) -> f64 {
    let (a, b) = (20.0 + 3.0 * noise(7 * fit), 1.0 + 0.5 * noise(11 * fit + 1));
    a * (-b * x).exp() + 5.0 + noise(1000 * fit + i)
}

pub(super) fn decays(x: &[f64], fits: usize) -> Vec<f64> {
    let points = |fit: usize| x.iter().enumerate().map(move |(i, &x)| decay_at(fit, i, x));
    (0..fits).flat_map(points).collect()
}

/// Fits and points of a batch of several portions, however few workers there are.
const FITS: usize = 700;
const POINTS: usize = 47;

/// Calls `check` with a name, a curve, data and starts.
pub(super) fn each_kind(check: &dyn Fn(&str, &CurveFit, &BatchData<'_>, Starts<'_>)) {
    of_samples(check);
    of_sigmas_and_masks(check);
    of_starts_and_bounds(check);
    of_lengths(check);
    of_models(check);
}

type Check<'c> = &'c dyn Fn(&str, &CurveFit, &BatchData<'_>, Starts<'_>);

const START: [f64; 3] = [15.0, 0.7, 3.0];

fn of_samples(check: Check<'_>) {
    let x = times(POINTS);
    let y = decays(&x, FITS);
    let whole: Vec<i32> = y.iter().map(|y| (8.0 * y) as i32).collect();
    let start = [120.0, 0.7, 20.0];
    let narrow: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    check("f64", &decay(), &BatchData::shared(&x, &y).unwrap(), START.into());
    check("f32", &decay(), &BatchData::shared(&x, &narrow).unwrap(), START.into());
    macro_rules! whole {
        ($($number:ty),*) => {$({
            let y: Vec<$number> = whole.iter().map(|&y| y.clamp(0, 255) as $number).collect();
            let data = BatchData::shared(&x, &y).unwrap();
            check(stringify!($number), &decay(), &data, start.into());
            let counts = decay().estimator(Estimator::Poisson);
            check(stringify!($number, "counts"), &counts, &data, start.into());
        })*};
    }
    whole!(u8, u16, i16, u32, i32);
    let mut holes = y.clone();
    (0..holes.len()).step_by(101).for_each(|i| holes[i] = f64::NAN);
    let data = BatchData::shared(&x, &holes).unwrap();
    check("bad data", &decay(), &data, START.into());
    check("missing", &decay(), &data.missing(Missing::Omit), START.into());
    let few = decays(&times(2), 40_000);
    let data = BatchData::shared(&[0.0, 2.0], &few).unwrap();
    check("too few points", &decay(), &data, START.into());
    check("few points", &decay().allow_underdetermined(true), &data, START.into());
}

fn of_sigmas_and_masks(check: Check<'_>) {
    let x = times(POINTS);
    let y = decays(&x, FITS);
    let data = || BatchData::shared(&x, &y).unwrap();
    let per_fit: Vec<f64> =
        (0..FITS).map(|f| if f % 97 == 5 { -1.0 } else { 0.3 + 1e-3 * f as f64 }).collect();
    let per_point: Vec<f64> = x.iter().map(|x| 0.1 + 0.1 * x).collect();
    let per_sample: Vec<f64> = (0..y.len()).map(|i| 0.5 + 0.5 * noise(i).abs()).collect();
    for (what, sigma) in [
        ("constant", Sigma::Constant(0.3)),
        ("per fit", Sigma::PerFit(&per_fit)),
        ("relative, per point", Sigma::Relative(&per_point)),
        ("absolute, per point", Sigma::Absolute(&per_point)),
        ("relative, per sample", Sigma::Relative(&per_sample)),
        ("absolute, per sample", Sigma::Absolute(&per_sample)),
    ] {
        check(what, &decay(), &data().sigma(sigma).unwrap(), START.into());
    }
    let mask_of_points: Vec<bool> = (0..POINTS).map(|i| i % 7 != 3).collect();
    let mask: Vec<bool> = (0..y.len()).map(|i| i % 11 != 3).collect();
    check("mask of points", &decay(), &data().mask(&mask_of_points).unwrap(), START.into());
    check("mask", &decay(), &data().mask(&mask).unwrap(), START.into());
    let both = data().mask(&mask).unwrap().sigma(Sigma::Absolute(&per_point)).unwrap();
    check("mask, and sigma of points", &decay(), &both, START.into());
    let known = || data().sigma(Sigma::Constant(0.3)).unwrap();
    let errors: Vec<f32> = (0..y.len()).map(|i| 0.02 * noise(i).abs() as f32).collect();
    let errors_of_points: Vec<f64> = x.iter().map(|x| 0.01 * x).collect();
    check("x_sigma", &decay(), &known().x_sigma(&[0.02]).unwrap(), START.into());
    check(
        "x_sigma of points",
        &decay(),
        &known().x_sigma(&errors_of_points).unwrap(),
        START.into(),
    );
    check("x_sigma of samples", &decay(), &known().x_sigma(&errors).unwrap(), START.into());
    // Counts that are left out are made one by one, the last fit of a batch too, which is a portion by itself.
    let fits = 3 * 175 + 1;
    let counts: Vec<u8> = y[..fits * POINTS].iter().map(|y| (8.0 * y).max(0.0) as u8).collect();
    let curve = decay().estimator(Estimator::Poisson);
    let data = BatchData::shared(&x, &counts).unwrap();
    let data = data.mask(&mask[..fits * POINTS]).unwrap();
    check("mask of counts", &curve, &data, [120.0, 0.7, 20.0].into());
}

fn of_starts_and_bounds(check: Check<'_>) {
    let x = times(POINTS);
    let y = decays(&x, FITS);
    let data = BatchData::shared(&x, &y).unwrap();
    let each: Vec<[f64; 3]> = (0..FITS)
        .map(|f| [15.0 + noise(f), if f % 89 == 3 { f64::NAN } else { 0.7 }, 3.0])
        .collect();
    check("starts", &decay(), &data, (&each).into());
    check("named", &decay(), &data, [("p1", 0.7)].into());
    let guess = || {
        decay().guess(|seen| {
            let knows = seen.y.first().is_some_and(|y| *y > 24.5);
            vec![f64::NAN, if knows { 0.7 } else { f64::NAN }, f64::NAN]
        })
    };
    check("guess", &guess(), &data, Start::Guess.into());
    let library = CurveFit::from(models::exponential_offset(""));
    check("library", &library, &data, Start::Guess.into());
    let lower: Vec<f64> = (0..FITS).flat_map(|f| [0.0, 0.8 + 0.1 * noise(f), 0.0]).collect();
    let upper: Vec<f64> =
        (0..FITS).flat_map(|f| [99.0, if f % 83 == 2 { 0.1 } else { 1.1 }, 4.9]).collect();
    let bounded = || Starts::from([15.0, 1.0, 3.0]).bounds(&lower, &upper);
    check("bounds of each", &decay(), &data, bounded());
    check("bounds of each, clamped", &decay().clamp_start(true), &data, bounded());
    let found = Starts::from([("p1", 1.0)]).bounds(&lower, &upper);
    check("bounds of each, start found", &decay(), &data, found);
    let curve = decay().bound("p1", 0.9..=1.0).keep_covariance(true);
    check("bounds", &curve, &data, [15.0, 0.95, 3.0].into());
    check("fixed", &decay().fix("p2").keep_covariance(true), &data, [15.0, 1.0, 5.0].into());
    let all = decay().fix("p0").fix("p1").fix("p2");
    check("all fixed", &all, &data, [20.0, 1.0, 5.0].into());
    check("tied", &decay().tie("p2", "5*p1"), &data, [15.0, 0.7, 0.0].into());
    let tied = decay().tie("p2", "p0/4").keep_covariance(true);
    check("tied, with covariances", &tied, &data, [15.0, 0.7, 0.0].into());
    let known = data.clone().sigma(Sigma::Constant(0.3)).unwrap();
    check("prior", &decay().prior("p1", 1.0, 0.05), &known, START.into());
    let limited = decay().options(Options::default().max_evaluations(4));
    check("limited", &limited, &data, START.into());
    check("early", &decay().options(Options::default().etol(0.01)), &data, START.into());
    for loss in Loss::robust(0.4) {
        check(&format!("{loss:?}"), &decay().loss(loss), &data, START.into());
    }
    let welsch = Loss::custom(0.6, |u| 1.0 - (-(u * u)).exp()).unwrap();
    check("own loss", &decay().loss(welsch), &data, START.into());
}

fn of_lengths(check: Check<'_>) {
    // From none to some hundred points.
    let lengths: Vec<usize> = (0..600).map(|f| (f * f * 7919) % 163).collect();
    let offsets: Vec<usize> = std::iter::once(0)
        .chain(lengths.iter().scan(0, |end, n| {
            *end += n;
            Some(*end)
        }))
        .collect();
    let x: Vec<f32> = lengths
        .iter()
        .enumerate()
        .flat_map(|(f, &n)| (0..n).map(move |i| (4.0 * (i as f64 + noise(f)) / n as f64) as f32))
        .collect();
    let of_fit = |f: usize| offsets[f]..offsets[f + 1];
    let y: Vec<f64> = (0..600)
        .flat_map(|f| of_fit(f).map(move |i| (f, i)))
        .map(|(f, i)| decay_at(f, i - offsets[f], f64::from(x[i])))
        .collect();
    let mask: Vec<bool> = (0..y.len()).map(|i| i % 13 != 5).collect();
    let sigma: Vec<f64> = (0..y.len()).map(|i| 0.5 + noise(i).abs()).collect();
    let ragged = || BatchData::own(&x, &y).unwrap().offsets(&offsets).unwrap();
    check("ragged", &decay(), &ragged(), START.into());
    let data = ragged().mask(&mask).unwrap().sigma(Sigma::Relative(&sigma)).unwrap();
    check("ragged, with mask and sigma", &decay(), &data, START.into());
    let data = ragged().sigma(Sigma::Absolute(&sigma)).unwrap().x_sigma(&sigma).unwrap();
    check("ragged, with x_sigma", &decay(), &data, START.into());
    let own = BatchData::own(&x[..24_000], &y[..24_000]).unwrap().points_per_fit(60).unwrap();
    check("own, of one length", &decay(), &own, START.into());
    // Long fits, each a portion by itself.
    let (n, fits) = (9_000, 4);
    let x = times(n);
    let y = decays(&x, fits);
    let sigma: Vec<f64> = (0..y.len()).map(|i| 0.5 + noise(i).abs()).collect();
    let mask: Vec<bool> = (0..y.len()).map(|i| i % 13 != 5).collect();
    let each: Vec<f64> = (0..fits).flat_map(|f| [15.0 + f as f64, 0.7, 3.0]).collect();
    let data = BatchData::shared(&x, &y).unwrap();
    check("long", &decay(), &data, (&each).into());
    check(
        "long, one bad start",
        &decay(),
        &data,
        vec![15.0, 0.7, 3.0, f64::NAN, 1.0, 1.0, 15.0, 0.7, 3.0, 15.0, 0.7, 3.0].into(),
    );
    let data = data.sigma(Sigma::Absolute(&sigma)).unwrap().mask(&mask).unwrap();
    check("long, with sigma and mask", &decay(), &data, START.into());
}

fn of_models(check: Check<'_>) {
    let side = 12;
    let pixels: [Vec<f64>; 2] = [
        (0..side * side).map(|i| (i % side) as f64).collect(),
        (0..side * side).map(|i| (i / side) as f64).collect(),
    ];
    let spot = CurveFit::multivariate(|[x, y], [a, u, v, s, b]| {
        a * (-((x - u).powi(2) + (y - v).powi(2)) / (2.0 * s * s)).exp() + b
    });
    let images: Vec<u16> = (0..400)
        .flat_map(|f| (0..side * side).map(move |i| (f, i)))
        .map(|(f, i)| {
            let (x, y) = ((i % side) as f64, (i / side) as f64);
            let (u, v) = (5.5 + noise(2 * f), 5.5 + noise(2 * f + 1));
            let peak = (-((x - u).powi(2) + (y - v).powi(2)) / 4.5).exp();
            (200.0 * peak + 20.0 + 5.0 * noise(f * 999 + i)) as u16
        })
        .collect();
    let data = BatchData::shared([&pixels[0], &pixels[1]], &images).unwrap();
    check("images", &spot, &data, [150.0, 5.0, 5.0, 1.2, 10.0].into());
    let counts = spot.clone().estimator(Estimator::Poisson);
    check("images of counts", &counts, &data, [150.0, 5.0, 5.0, 1.2, 10.0].into());
    let native = CurveFit::native(3, |x: f64, p: &[f64]| {
        assert!(p[0] < 1e6, "beyond");
        p[0] * (-p[1] * x).exp() + p[2]
    });
    let x = times(20);
    let y = decays(&x, 60);
    let data = BatchData::shared(&x, &y).unwrap();
    check("native", &native, &data, START.into());
    let panics: Vec<f64> =
        (0..60).flat_map(|f| [if f % 7 == 3 { 2e6 } else { 15.0 }, 0.7, 3.0]).collect();
    check("native that panics", &native, &data, (&panics).into());
    let scaled = native.clone().scale("p1", 0.5);
    check("native, scaled", &scaled, &data, START.into());
    let arrays = CurveFit::native_arrays(3, |x, p, out| {
        for (i, out) in out.iter_mut().enumerate() {
            *out = p[0] * (-p[1] * x[i]).exp() + p[2];
        }
    });
    check("of all points", &arrays, &data, START.into());
    let x = times(POINTS);
    let y = decays(&x, FITS);
    let data = BatchData::shared(&x, &y).unwrap();
    let nowhere = CurveFit::new(|x, [a, b]| a * (x - b).ln());
    check("not finite", &nowhere, &data, [1.0, 1.0].into());
}
