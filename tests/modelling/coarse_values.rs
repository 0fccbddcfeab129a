//! Functions whose values are not full doubles: computed or returned in f32, rounded to a grid, looked up in a table. Steps of
//! differences follow the precision of the values, so that errors are those of the same function in doubles.

use dualfit::{BatchData, CurveFit, Data, Fit, GlobalFit};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const POINTS: usize = 50;
const FITS: usize = 100;

type Curve = fn(f64, &[f64]) -> f64;

fn exact(x: f64, p: &[f64]) -> f64 {
    p[0] * (-p[1] * x).exp() + p[2]
}

fn single(x: f64, p: &[f64]) -> f64 {
    let p: Vec<f32> = p.iter().map(|&p| p as f32).collect();
    f64::from(p[0] * (-p[1] * x as f32).exp() + p[2])
}

/// A result in doubles of a function that computes in f32.
fn single_inside(x: f64, p: &[f64]) -> f64 {
    p[0] * f64::from((-(p[1] as f32) * x as f32).exp()) + p[2]
}

fn cast(x: f64, p: &[f64]) -> f64 {
    f64::from(exact(x, p) as f32)
}

fn rounded(x: f64, p: &[f64]) -> f64 {
    (exact(x, p) * 1e4).round() / 1e4
}

fn finely_rounded(x: f64, p: &[f64]) -> f64 {
    (exact(x, p) * 1e9).round() / 1e9
}

/// exp(−u) at the nearest multiple of 1e-4, as from a table.
fn looked_up(x: f64, p: &[f64]) -> f64 {
    p[0] * (-(p[1] * x * 1e4).round() / 1e4).exp() + p[2]
}

const COARSE: [(&str, Curve); 6] = [
    ("f32", single),
    ("f32 inside", single_inside),
    ("cast to f32", cast),
    ("rounded to 1e-4", rounded),
    ("rounded to 1e-9", finely_rounded),
    ("table of steps 1e-4", looked_up),
];

fn points(curve: Curve) -> CurveFit {
    CurveFit::native(3, curve)
}

fn arrays(curve: Curve) -> CurveFit {
    CurveFit::native_arrays(3, move |x, p, out| {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = curve(x, p));
    })
}

struct Experiment {
    x: Vec<f64>,
    y: Vec<f64>,
    start: [f64; 3],
}

fn experiments() -> Vec<Experiment> {
    let mut random = SmallRng::seed_from_u64(8);
    let mut one = || {
        let truth = [
            1.0 + 4.0 * random.random::<f64>(),
            0.5 + 1.5 * random.random::<f64>(),
            random.random(),
        ];
        let x: Vec<f64> = (0..POINTS).map(|i| 4.0 * i as f64 / POINTS as f64).collect();
        let y =
            x.iter().map(|&x| exact(x, &truth) + 0.1 * (random.random::<f64>() - 0.5)).collect();
        let start = truth.map(|p| p * (0.7 + 0.6 * random.random::<f64>()) + 0.01);
        Experiment { x, y, start }
    };
    (0..FITS).map(|_| one()).collect()
}

/// Returns true if all errors are within 3% of those expected.
fn agrees(found: &[f64], expected: &Fit) -> bool {
    let pairs = found.iter().zip(expected.std_errors());
    assert!(found.iter().all(|error| error.is_finite()), "{found:?}");
    pairs.into_iter().all(|(found, expected)| (found / expected - 1.0).abs() < 0.03)
}

#[test]
fn errors_are_those_of_the_function_in_doubles() {
    let exact = CurveFit::new(|x, [a, k, c]| a * (-k * x).exp() + c);
    let all = experiments();
    for (name, curve) in COARSE {
        for (form, model) in [("points", points(curve)), ("arrays", arrays(curve))] {
            let good = all.iter().filter(|Experiment { x, y, start }| {
                let data = Data::new(x, y).unwrap();
                let found = model.fit(&data, start).unwrap();
                found.rank() == 3 && agrees(&found.std_errors(), &exact.fit(&data, start).unwrap())
            });
            let good = good.count();
            println!("{name}, {form}: {good} of {FITS}");
            assert!(good >= 95, "{name}, {form}: {good} of {FITS}");
        }
    }
}

/// Another entry finds the errors of the fit alone, whose agreement with doubles is tested above.
#[test]
fn every_entry_takes_them() {
    let exact = CurveFit::new(|x, [a, k, c]| a * (-k * x).exp() + c);
    let Experiment { x, y, start } = &experiments()[0];
    let data = Data::new(x, y).unwrap();
    let in_doubles = exact.fit(&data, start).unwrap();
    for (name, curve) in COARSE {
        for (form, model) in [("points", points(curve)), ("arrays", arrays(curve))] {
            let fit = model.fit(&data, start).unwrap();
            let batch = model.fit_batch(BatchData::shared(x, y).unwrap(), start).unwrap();
            let errors = (batch.fit(0).std_errors(), fit.std_errors());
            assert!(agrees(batch.fit(0).std_errors(), &fit), "{name}, {form}: {errors:?}");
            let joint = GlobalFit::new(&model).fit([data.clone()], &start[..]).unwrap();
            let errors = (joint.set(0).unwrap().std_errors(), fit.std_errors());
            assert!(agrees(&errors.0, &fit), "{name}, {form}: {errors:?}");
            let [found, band] =
                [&fit, &in_doubles].map(|fit| fit.confidence_band(x, 0.95).unwrap().std_errors);
            let off = found.iter().zip(&band).map(|(found, band)| (found / band - 1.0).abs());
            let off = off.fold(0.0, f64::max);
            assert!(off < 0.05, "{name}, {form}: {off}");
        }
    }
}
