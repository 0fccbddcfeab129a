//! Orthogonal distance regression: against ODRPACK, against closed distances, by simulation, and through
//! every entry.

use dualfit::{
    BatchData, CurveFit, Data, Error, Estimator, Fit, GlobalFit, Loss, Missing, Options, Sigma,
    Start, Var,
};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A case of `tests/record/odr.py`.
struct Case {
    name: &'static str,
    curve: CurveFit,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    x_sigma: Vec<Vec<f64>>,
    sigma: Vec<f64>,
    start: Vec<f64>,
}

impl Case {
    fn data(&self, absolute: bool) -> Data<'_> {
        let sigma = match absolute {
            true => Sigma::Absolute(&self.sigma),
            false => Sigma::Relative(&self.sigma),
        };
        let x: Vec<&[f64]> = self.x.iter().map(Vec::as_slice).collect();
        let x_sigma: Vec<&[f64]> = self.x_sigma.iter().map(Vec::as_slice).collect();
        let data = Data::new(x, &self.y).unwrap();
        data.sigma(sigma).unwrap().x_sigma(x_sigma).unwrap()
    }
}

/// To six decimals, as the script rounds.
fn rounded(v: f64) -> f64 {
    (v * 1e6).round_ties_even() / 1e6
}

fn cases() -> Vec<Case> {
    let steps = |n: usize| (0..n).map(|i| i as f64);
    let lorentz_x: Vec<f64> =
        steps(40).map(|i| rounded(-4.0 + 0.2 * i + 0.09 * (12.9898 * i).sin())).collect();
    let lorentz_y = lorentz_x.iter().zip(steps(40)).map(|(x, i)| {
        let distance = x + 0.05 * (7.1 * i).cos() - 0.3;
        let peak = 3.0 * 0.8f64.powi(2) / (distance.powi(2) + 0.8f64.powi(2));
        rounded(peak + 0.4 + 0.06 * (78.233 * i).sin())
    });
    let across: Vec<f64> =
        steps(60).map(|i| rounded((2.3 * i).cos() * 2.0 + 0.05 * (9.1 * i).sin())).collect();
    let along: Vec<f64> = steps(60).map(|i| rounded(0.1 * i + 0.05 * (5.7 * i).cos())).collect();
    let surface_y = across.iter().zip(&along).zip(steps(60)).map(|((a, t), i)| {
        rounded(1.5 * (-0.4 * t).exp() * (1.0 + 0.3 * a) + 0.03 * (3.3 * i * i).sin())
    });
    let surface_y = surface_y.collect();
    vec![
        Case {
            name: "odrpack",
            curve: CurveFit::new(|x, [a, b, c]| a + b * ((c * x).exp() - 1.0).powi(2)),
            x: vec![vec![0.0, 0.0, 5.0, 7.0, 7.5, 10.0, 16.0, 26.0, 30.0, 34.0, 34.5, 100.0]],
            y: vec![
                1265.0, 1263.6, 1258.0, 1254.0, 1253.0, 1249.8, 1237.0, 1218.0, 1220.6, 1213.8,
                1215.5, 1212.0,
            ],
            x_sigma: vec![(0..12).map(|i| f64::from(i > 1 && i < 11)).collect()],
            sigma: vec![1.0; 12],
            start: vec![1500.0, -50.0, -0.1],
        },
        Case {
            name: "pearson",
            curve: CurveFit::new(|x, [a, b]| a + b * x),
            x: vec![vec![0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4]],
            y: vec![5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5],
            x_sigma: vec![vec![0.03, 0.03, 0.04, 0.035, 0.07, 0.11, 0.13, 0.22, 0.74, 1.0]],
            sigma: vec![1.0, 0.74, 0.5, 0.35, 0.22, 0.22, 0.12, 0.12, 0.1, 0.04],
            start: vec![1.0, 1.0],
        },
        Case {
            name: "lorentz",
            curve: CurveFit::new(|x, [h, m, w, b]| h * w * w / ((x - m).powi(2) + w * w) + b),
            x: vec![lorentz_x.clone()],
            y: lorentz_y.collect(),
            x_sigma: vec![vec![0.08]],
            sigma: (0..40).map(|i| 0.04 + 0.001 * f64::from(i)).collect(),
            start: vec![2.5, 0.2, 1.0, 0.3],
        },
        Case {
            name: "surface",
            curve: CurveFit::multivariate(|[u, v], [a, b, c]| a * (-b * v).exp() * (1.0 + c * u)),
            x: vec![across, along],
            y: surface_y,
            x_sigma: vec![vec![0.1], (0..60).map(|i| 0.02 + 0.001 * f64::from(i)).collect()],
            sigma: vec![0.05; 60],
            start: vec![1.0, 0.3, 0.2],
        },
    ]
}

/// Parameters, scaled and absolute errors and the sum of squares, as recorded.
fn recorded(name: &str) -> Vec<[f64; 4]> {
    let lines = include_str!("../data/uncertainty/odr.csv").lines();
    let fields = lines.map(|line| line.split(',').collect::<Vec<_>>()).filter(|f| f[0] == name);
    fields.map(|f| [2, 3, 4, 5].map(|k| f[k].parse().unwrap())).collect()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let error = ((found - expected) / expected).abs();
    assert!(error < tolerance, "{what}: {found} instead of {expected}, off by {error:.1e}");
}

#[test]
fn odrpack_finds_the_same() {
    for case in cases() {
        let [relative, absolute] =
            [false, true].map(|absolute| case.curve.fit(case.data(absolute), &case.start).unwrap());
        assert!(relative.converged() && absolute.converged(), "{relative}");
        let rows = recorded(case.name);
        assert_eq!(rows.len(), relative.params().len());
        for (j, [value, scaled, unscaled, chi_square]) in rows.into_iter().enumerate() {
            let what = format!("{} parameter {j}", case.name);
            close(relative.params()[j], value, 2e-8, &what);
            close(relative.std_errors()[j], scaled, 1e-6, &what);
            close(absolute.std_errors()[j], unscaled, 1e-6, &what);
            close(relative.chi_square(), chi_square, 1e-10, &what);
        }
        // The sum of squares is that of the closest points.
        let data = case.data(true);
        let closest = absolute.closest(&data).unwrap();
        let columns: Vec<&[f64]> = closest.iter().map(Vec::as_slice).collect();
        let fitted = absolute.predict(columns).unwrap();
        let mut square = 0.0;
        for i in 0..case.y.len() {
            square += ((fitted[i] - case.y[i]) / case.sigma[i]).powi(2);
            for k in 0..case.x.len() {
                let sigma = &case.x_sigma[k];
                let sigma = sigma[if sigma.len() == 1 { 0 } else { i }];
                let shift = closest[k][i] - case.x[k][i];
                square += if sigma == 0.0 { shift } else { (shift / sigma).powi(2) };
            }
        }
        close(square, absolute.chi_square(), 1e-11, case.name);
        // Leverages add up to the number of parameters, as those of any fit.
        let found = relative.diagnostics(case.data(false)).unwrap();
        close(found.leverage.iter().sum(), case.start.len() as f64, 1e-7, case.name);
    }
}

/// A straight line whose residuals are its distances from the points, which have a closed form.
fn distances(loss: Loss) -> CurveFit {
    let distance = |[x, y, sx, sy]: [Var; 4], [a, b]: [Var; 2]| {
        (a + b * x - y) / (sy * sy + (b * sx).powi(2)).sqrt()
    };
    CurveFit::multivariate(distance).names(["a", "b"]).loss(loss)
}

#[test]
fn losses_and_bounds_act_on_distances() {
    let case = cases().swap_remove(1);
    let zeros = vec![0.0; case.y.len()];
    let columns = [&case.x[0], &case.y, &case.x_sigma[0], &case.sigma];
    let closed = Data::new(columns, &zeros).unwrap().sigma(Sigma::Constant(1.0)).unwrap();
    let losses = Loss::robust(1.2).into_iter().chain([Loss::Linear]);
    for (loss, upper) in losses.flat_map(|l| [(l, f64::INFINITY), (l, -0.6)]) {
        let name = loss.name();
        let curve = CurveFit::new(|x, [a, b]| a + b * x).names(["a", "b"]);
        let curve = curve.bound("b", ..=upper).loss(loss);
        let fit = curve.fit(case.data(true), [1.0, -1.0]).unwrap();
        assert!(fit.converged(), "{name}: {fit}");
        let cost = |p: [f64; 2]| {
            let fixed = distances(loss).fix("a").fix("b");
            fixed.fit(closed.clone(), p).unwrap().cost()
        };
        let (a, b) = (fit.params()[0], fit.params()[1]);
        close(fit.cost(), cost([a, b]), 1e-10, name);
        let h = 1e-3;
        for p in [[a + h, b], [a - h, b], [a, b - h], [a, (b + h).min(upper)]] {
            assert!(cost(p) >= fit.cost() * (1.0 - 1e-12), "{name}: {p:?} is better than {fit}");
        }
        if !matches!(loss, Loss::Arctan { .. } | Loss::Tukey { .. }) {
            let expected =
                distances(loss).bound("b", ..=upper).fit(closed.clone(), [a + 0.1, b - 0.1]);
            let expected = expected.unwrap();
            close(a, expected.params()[0], 1e-6, name);
            close(b, expected.params()[1], 1e-6, name);
        }
    }
}

/// A saturation curve with normal errors in x and y.
fn simulated(fits: usize, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for _ in 0..fits {
        for i in 0..n {
            let x = 4.0 * i as f64 / n as f64;
            ys.push(2.0 * (1.0 - (-0.8 * x).exp()) + 0.03 * normal());
            xs.push(x + 0.1 * normal());
        }
    }
    (xs, ys)
}

/// Mean and root mean square of (found − true)/error of both parameters.
fn scores(fits: impl Iterator<Item = ([f64; 2], [f64; 2])>) -> [(f64, f64); 2] {
    let all: Vec<[f64; 2]> =
        fits.map(|(p, e)| [(p[0] - 2.0) / e[0], (p[1] - 0.8) / e[1]]).collect();
    [0, 1].map(|j| {
        let n = all.len() as f64;
        let square: f64 = all.iter().map(|z| z[j] * z[j]).sum();
        (all.iter().map(|z| z[j]).sum::<f64>() / n, (square / n).sqrt())
    })
}

#[test]
fn errors_cover_and_least_squares_is_biased() {
    let (fits, n) = (4000, 60);
    let (xs, ys) = simulated(fits, n, 7);
    let curve = CurveFit::new(|x, [a, b]| a * (1.0 - (-b * x).exp()));
    let data = || BatchData::own(&xs, &ys).unwrap().points_per_fit(n).unwrap();
    let both = |batch: &dualfit::BatchFit| {
        assert_eq!(batch.converged(), fits);
        let rows = (0..fits).map(|i| {
            let (p, e) = (batch.fit(i).params(), batch.fit(i).std_errors());
            ([p[0], p[1]], [e[0], e[1]])
        });
        scores(rows)
    };
    let absolute = data().sigma(Sigma::Constant(0.03)).unwrap();
    let with = absolute.clone().x_sigma(&[0.1]).unwrap();
    let with = both(&curve.fit_batch(with, [1.5, 1.0]).unwrap());
    for (mean, rms) in with {
        assert!((rms - 1.0).abs() < 0.05, "{with:?}");
        assert!(mean.abs() < 0.15, "{with:?}");
    }
    // Without x_sigma the same data give errors that do not cover.
    let without = both(&curve.fit_batch(absolute, [1.5, 1.0]).unwrap());
    assert!(without[1].1 > 1.3, "{without:?}");
}

#[test]
fn every_entry_gives_the_same_answer() {
    let n = 60;
    let (xs, ys) = simulated(3, n, 11);
    let curve = CurveFit::new(|x, [a, b]| a * (1.0 - (-b * x).exp())).names(["a", "b"]);
    let part = |i: usize| {
        let range = i * n..(i + 1) * n;
        let data = Data::new(&xs[range.clone()], &ys[range]).unwrap();
        data.sigma(Sigma::Constant(0.03)).unwrap().x_sigma(&[0.1]).unwrap()
    };
    let batch = BatchData::own(&xs, &ys).unwrap().points_per_fit(n).unwrap();
    let batch = batch.sigma(Sigma::Constant(0.03)).unwrap().x_sigma(&[0.1]).unwrap();
    let batch = curve.fit_batch(batch, [1.5, 1.0]).unwrap();
    let each: Vec<f64> = vec![0.1; xs.len()];
    let own = BatchData::own(&xs, &ys).unwrap().points_per_fit(n).unwrap();
    let own = own.sigma(Sigma::Constant(0.03)).unwrap().x_sigma(&each).unwrap();
    let own = curve.fit_batch(own, [1.5, 1.0]).unwrap();
    for i in 0..3 {
        let fit = curve.fit(part(i), [1.5, 1.0]).unwrap();
        assert_eq!(batch.fit(i).params(), fit.params());
        assert_eq!(own.fit(i).params(), fit.params());
        let joint = GlobalFit::new(&curve).fit([part(i)], [1.5, 1.0]).unwrap();
        for (j, p) in joint.fit().params().iter().enumerate() {
            close(*p, fit.params()[j], 1e-9, "joint");
        }
        let named = curve.fit(part(i), Start::from([("b", 1.0)])).unwrap();
        close(named.params()[0], fit.params()[0], 1e-8, "a start that is solved for");
        let profile = curve.profile(&fit, part(i), "b").unwrap();
        let interval = profile.interval(0.6827).unwrap();
        let error = fit.std_errors()[1];
        close(interval.upper - interval.lower, 2.0 * error, 0.05, "profile");
    }
    // A mask leaves points out for any errors.
    let mask: Vec<bool> = (0..n).map(|i| i % 3 != 0).collect();
    let masked = curve.fit(part(0).mask(&mask).unwrap(), [1.5, 1.0]).unwrap();
    let kept = |v: &[f64]| -> Vec<f64> { (0..n).filter(|i| mask[*i]).map(|i| v[i]).collect() };
    let (x, y) = (kept(&xs), kept(&ys));
    let fewer = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.03)).unwrap();
    let fewer = curve.fit(fewer.x_sigma(&[0.1]).unwrap(), [1.5, 1.0]).unwrap();
    assert_eq!(masked.params(), fewer.params());
    assert_eq!(masked.cost(), fewer.cost());
}

#[test]
fn without_errors_in_x_nothing_changes() {
    let case = cases().swap_remove(2);
    let data =
        || Data::new(&case.x[0], &case.y).unwrap().sigma(Sigma::Absolute(&case.sigma)).unwrap();
    let exact = case.curve.fit(data(), &case.start).unwrap();
    for zero in [&[0.0][..], &vec![0.0; 40], &[1e-200]] {
        let fit = case.curve.fit(data().x_sigma(zero).unwrap(), &case.start).unwrap();
        for (a, b) in fit.params().iter().zip(exact.params()) {
            close(*a, *b, 1e-10, "exact x");
        }
    }
}

/// Errors of x far larger and far smaller than those of y, and points far away.
#[test]
fn ratios_of_the_errors_do_not_matter() {
    let case = cases().swap_remove(1);
    for exponent in [-18, -12, -6, 0, 6, 12, 18] {
        let scale = 10f64.powi(exponent);
        // In other units of x the slope is another number and nothing else changes.
        let x: Vec<f64> = case.x[0].iter().map(|x| x * scale).collect();
        let sx: Vec<f64> = case.x_sigma[0].iter().map(|s| s * scale).collect();
        let data = Data::new(&x, &case.y).unwrap().sigma(Sigma::Absolute(&case.sigma)).unwrap();
        let fit = case.curve.fit(data.x_sigma(&sx).unwrap(), [1.0, 1.0 / scale]).unwrap();
        assert!(fit.converged(), "{fit}");
        for (j, [value, _, error, _]) in recorded("pearson").into_iter().enumerate() {
            let unit = if j == 0 { 1.0 } else { scale };
            close(fit.params()[j] * unit, value, 1e-7, "units");
            close(fit.std_errors()[j] * unit, error, 1e-6, "units");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0], [1.0, 2.1, 2.9, 4.2]);
    let line = CurveFit::new(|x, [a, b]| a + b * x);
    let data = || Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.1)).unwrap();
    let start = [0.0, 1.0];
    let error = data().x_sigma(&[0.1, 0.2]).unwrap_err().to_string();
    assert!(error.contains("x_sigma") && error.contains('4') && error.contains('2'), "{error}");
    let error = data().x_sigma([&[0.1], &[0.1]]).unwrap_err().to_string();
    assert!(error.contains("columns of x_sigma"), "{error}");
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        let sigma = [0.1, 0.1, bad, 0.1];
        let given = || data().x_sigma(&sigma).unwrap();
        let error = line.fit(given(), start).unwrap_err();
        assert!(matches!(error, Error::BadXSigma { index: 2, .. }), "{error}");
        // A point that is masked may have any, and so may one that weighs nothing.
        let mask = [true, true, false, true];
        let masked = line.fit(given().mask(&mask).unwrap(), start).unwrap();
        line.fit(given().sigma(Sigma::Absolute(&[0.1, 0.1, f64::INFINITY, 0.1])).unwrap(), start)
            .unwrap();
        // NaN is a missing value; a negative number is an error.
        let omitted = line.fit(given().missing(Missing::Omit), start);
        if bad == -0.1 {
            assert!(matches!(omitted, Err(Error::BadXSigma { index: 2, .. })), "{omitted:?}");
        } else {
            let omitted = omitted.unwrap();
            assert_eq!(omitted.omitted(), 1);
            let pairs = |fit: &Fit| [fit.params(), &fit.std_errors()].concat();
            for (omitted, masked) in pairs(&omitted).iter().zip(pairs(&masked)) {
                assert!((omitted - masked).abs() < 1e-10 * masked.abs(), "{omitted}, {masked}");
            }
        }
    }
    // One number for all points is not missing at one of them.
    let error =
        line.fit(data().x_sigma(&[f64::NAN]).unwrap().missing(Missing::Omit), start).unwrap_err();
    assert!(matches!(error, Error::BadXSigma { index: 0, .. }), "{error}");
    let unknown = Data::new(&x, &y).unwrap().x_sigma(&[0.1]).unwrap();
    let error = line.fit(unknown.clone(), start).unwrap_err();
    assert!(matches!(error, Error::UnsuitedSigma { given: "Unknown", .. }), "{error}");
    let known = data().x_sigma(&[0.1]).unwrap();
    let counts = line.clone().estimator(Estimator::Poisson).fit(known, start).unwrap_err();
    assert!(matches!(counts, Error::NotForCounts { .. }), "{counts}");
    let native = CurveFit::native(2, |x, p| p[0] + p[1] * x);
    let error = native.fit(data().x_sigma(&[0.1]).unwrap(), start).unwrap_err();
    assert!(matches!(error, Error::ModelKind { .. }), "{error}");
    let device =
        line.clone().backend(dualfit::Backend::cuda(0)).fit(data().x_sigma(&[0.1]).unwrap(), start);
    assert!(matches!(device, Err(Error::NotOnDevice { .. })), "{device:?}");
    let limited = line.options(Options::default().max_evaluations(3));
    assert!(limited.fit(data().x_sigma(&[0.1]).unwrap(), start).is_ok());
}
