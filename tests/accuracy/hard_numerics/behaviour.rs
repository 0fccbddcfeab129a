//! Flat, kinked and infinite models, models in single precision, and how fits end.

use crate::support::standard::*;
use dualfit::{
    CurveFit, Data, Error, Missing, Options, Sigma, Termination, Var, Warning, curve_fit,
};
use std::f64::consts::PI;

#[test]
fn exact_data_end_as_exact() {
    let x = abscissa();
    let line: Vec<f64> = x.iter().map(|x| 3.0 * x - 0.7).collect();
    let fit = curve_fit(|x, [a, b]| a * x + b, &x, &line, [1.0, 1.0]).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    let peak: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 2.0f64).powi(2) / 0.5).exp()).collect();
    let model = |x: Var, [a, m, s]: [Var; 3]| a * (-(x - m).powi(2) / (2.0 * s * s)).exp();
    let fit = curve_fit(model, &x, &peak, [2.0, 1.5, 0.8]).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    assert_all_close(fit.params(), &[3.0, 2.0, 0.5], 1e-12);
    // Scatter a million times the rounding is no rounding.
    let almost: Vec<f64> = line.iter().enumerate().map(|(i, y)| y + 1e-9 * scatter(i)).collect();
    let fit = curve_fit(|x, [a, b]| a * x + b, &x, &almost, [1.0, 1.0]).unwrap();
    assert!(fit.converged());
    assert_ne!(fit.termination(), Termination::ExactFit);
    assert_all_close(&fit.std_errors(), &solve_line(&x, &almost).relative, 1e-4);
}

#[test]
fn step_functions_have_no_gradient() {
    let (x, y) = (abscissa(), noisy());
    // A step at x = b, traced and called: the place of the step has no partial.
    let traced = CurveFit::new(|x, [b]| x.lt(b).select(2.0, 1.0));
    let native = CurveFit::native(1, |x, p| if x < p[0] { 2.0 } else { 1.0 });
    for model in [traced, native] {
        let fit = model.names(["b"]).fit(Data::new(&x, &y).unwrap(), [1.01]).unwrap();
        assert_eq!(fit.termination(), Termination::ZeroGradientAtStart);
        assert!(!fit.converged());
        assert_eq!((fit.rank(), fit.undetermined()), (0, vec!["b"]));
        let text = fit.termination().to_string();
        assert!(text.contains("no parameter has an effect"), "{text}");
    }
}

#[test]
fn kink_of_an_absolute_value() {
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (x - 1.7f64).abs() + 0.3).collect();
    let model = |x: Var, [a, m, c]: [Var; 3]| a * (x - m).abs() + c;
    let fit = curve_fit(model, &x, &y, [1.0, 1.2, 0.0]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    assert_all_close(fit.params(), &[2.0, 1.7, 0.3], 1e-9);
    // A start with the kink on a point, where |·| has no derivative and 0 counts as one.
    let fit = curve_fit(model, &x, &y, [1.0, x[20], 0.0]).unwrap();
    assert_all_close(fit.params(), &[2.0, 1.7, 0.3], 1e-9);
}

#[test]
fn model_not_finite_around_the_best_point() {
    // Steps are shortened at most 30 times, then the fit says why it stopped.
    let (x, y) = (abscissa(), noisy());
    let island = |x: Var, [a, b]: [Var; 2]| {
        let inside = a.eq(1.0).and(b.eq(1.0));
        inside.select(a * x + b, f64::INFINITY)
    };
    let fit = curve_fit(island, &x, &y, [1.0, 1.0]).unwrap();
    assert_eq!(fit.termination(), Termination::ModelNonFinite);
    assert_eq!(fit.params(), [1.0, 1.0]);
    assert!(fit.evaluations() <= 2 * 32, "{}", fit.evaluations());
}

#[test]
fn pole_inside_the_data() {
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 2.0 / (x - 1.7)).collect();
    let model = |x: Var, [a, b]: [Var; 2]| a / (x - b);
    // From between the same two points the truth is found.
    let fit = curve_fit(model, &x, &y, [1.0, 1.69]).unwrap();
    assert!(fit.converged());
    assert_all_close(fit.params(), &[2.0, 1.7], 1e-9);
    // From beyond another point there is a minimum of its own, but always numbers, and always an end.
    for b in [0.1, 1.0, 2.5, 5.0, -3.0] {
        let fit = curve_fit(model, &x, &y, [1.0, b]).unwrap();
        assert!(fit.params().iter().all(|p| p.is_finite()) && fit.cost().is_finite(), "{fit}");
    }
}

#[test]
fn frequency_off_by_a_factor_of_two() {
    let x: Vec<f64> = (0..200).map(|i| 0.05 * f64::from(i)).collect();
    let y: Vec<f64> =
        x.iter().enumerate().map(|(i, x)| (2.0 * PI * x).sin() + scatter(i)).collect();
    let model = |x: Var, [a, f, s]: [Var; 3]| a * (2.0 * PI * f * x + s).sin();
    // Half the least sum of squares over amplitude and phase, by the normal equations of sine and cosine.
    let profile = |f: f64| {
        let (mut ss, mut sc, mut cc, mut sy, mut cy, mut yy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in x.iter().zip(&y) {
            let (s, c) = (2.0 * PI * f * x).sin_cos();
            (ss, sc, cc) = (ss + s * s, sc + s * c, cc + c * c);
            (sy, cy, yy) = (sy + s * y, cy + c * y, yy + y * y);
        }
        0.5 * (yy - (sy * (sy * cc - cy * sc) + cy * (cy * ss - sy * sc)) / (ss * cc - sc * sc))
    };
    for f in [0.5, 2.0, 1.37] {
        let fit = curve_fit(model, &x, &y, [1.0, f, 0.1]).unwrap();
        // A minimum of its own, whichever: amplitude and phase are the best there, and the frequency is.
        assert!(fit.converged(), "{fit}");
        let found = fit.params()[1];
        assert_close(fit.cost(), profile(found), 1e-9);
        assert!([-1e-3, 1e-3].iter().all(|d| profile(found + d) > fit.cost()), "{fit}");
        let right = (fit.params()[1].abs() - 1.0).abs() < 0.01;
        let poor = warns(&fit, |w| matches!(w, Warning::PoorFit { r_squared } if *r_squared < 0.1));
        assert!(right || poor, "f = {f}: {fit}, {:?}", fit.warnings());
    }
    let fit = curve_fit(model, &x, &y, [0.5, 1.02, 0.1]).unwrap();
    assert_close(fit.params()[1], 1.0, 1e-3);
    assert!(fit.warnings().is_empty(), "{:?}", fit.warnings());
}

#[test]
fn y_of_zeros() {
    let (x, y) = (abscissa(), [0.0; N]);
    let fit = decay().fit(Data::new(&x, &y).unwrap(), START).unwrap();
    assert!(fit.params()[0].abs() < 1e-12 && fit.params()[2].abs() < 1e-12, "{fit}");
    assert!(fit.params().iter().all(|p| p.is_finite()));
    assert_eq!(fit.r_squared(), None);
    // Without amplitude there is no rate: nobody may read one off.
    let error = fit.std_error("b").unwrap();
    assert!(!fit.converged() || error.is_infinite() || error > fit.params()[1].abs(), "{fit}");
    // A model that contains 0 exactly ends there at once.
    let fit = curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 1.0]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    assert!(fit.params().iter().all(|p| p.abs() < 1e-14), "{fit}");
}

#[test]
fn one_point_and_fewer_points_than_parameters() {
    let line = CurveFit::new(|x, [a, b]| a * x + b).names(["a", "b"]);
    let error = line.fit(Data::new(&[2.0], &[6.0]).unwrap(), [1.0, 1.0]).unwrap_err();
    assert_eq!(error, Error::TooFewPoints { points: 1, parameters: 2 });
    // The minimum-norm solution of 2a + b = 6 in scaled parameters: the point is met, nothing more.
    let any = line.allow_underdetermined(true);
    let data = Data::new(&[2.0], &[6.0]).unwrap().sigma(Sigma::Constant(0.1)).unwrap();
    let fit = any.fit(data, [1.0, 1.0]).unwrap();
    assert_close(2.0 * fit.params()[0] + fit.params()[1], 6.0, 1e-9);
    assert!(fit.params().iter().all(|p| (0.0..6.0).contains(p)), "{fit}");
    assert_eq!((fit.rank(), fit.std_errors()), (1, vec![f64::INFINITY; 2]));
    // n = p: y is met, and sigma is carried through the inverse: a = y₁ − y₀, b = y₀.
    let data = Data::new(&[0.0, 1.0], &[6.0, 8.0]).unwrap().sigma(Sigma::Absolute(&[0.3, 0.4]));
    let fit = any.fit(data.unwrap(), [1.0, 1.0]).unwrap();
    assert_all_close(fit.params(), &[2.0, 6.0], 1e-12);
    assert_all_close(&fit.std_errors(), &[0.5, 0.3], 1e-12);
    assert_close(fit.covariance()[(0, 1)], -0.09, 1e-12);
}

#[test]
fn sigma_of_zero_behind_a_mask() {
    let (x, y) = (abscissa(), noisy());
    let mut sigma = [0.02; N];
    sigma[5] = 0.0;
    let mask: Vec<bool> = (0..N).map(|i| i != 5).collect();
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    // Missing values are left out, invalid ones are not.
    let omitting = decay().fit(data.clone().missing(Missing::Omit), START);
    assert_eq!(omitting.unwrap_err(), Error::SigmaNotPositive { index: 5, value: 0.0 });
    let fit = decay().fit(data.mask(&mask).unwrap(), START).unwrap();
    assert_eq!((fit.points(), fit.omitted()), (49, 1));
}

#[test]
fn y_of_any_size() {
    // A peak this time, with its width and place unchanged at every size of y.
    let x = abscissa();
    let model = CurveFit::new(|x, [a, m, s]| a * (-(x - m).powi(2) / (2.0 * s * s)).exp());
    let y: Vec<f64> = x
        .iter()
        .enumerate()
        .map(|(i, x)| 3.0 * (-(x - 2.0f64).powi(2) / 0.5).exp() + scatter(i))
        .collect();
    let usual = model.fit(Data::new(&x, &y).unwrap(), [2.0, 1.5, 0.8]).unwrap();
    assert!(usual.converged());
    // Powers of two change no digit of the data and therefore no digit of the result beyond rounding.
    for k in [-1000, -700, -300, -100, -10, 10, 100, 300, 700, 1000] {
        let scale = 2f64.powi(k);
        let y: Vec<f64> = y.iter().map(|y| y * scale).collect();
        let fit = model.fit(Data::new(&x, &y).unwrap(), [2.0 * scale, 1.5, 0.8]).unwrap();
        assert!(fit.converged(), "2^{k}: {}", fit.termination());
        let unscaled = |v: &[f64]| [v[0] / scale, v[1], v[2]];
        assert_all_close(&unscaled(fit.params()), usual.params(), 1e-11);
        assert_all_close(&unscaled(&fit.std_errors()), &usual.std_errors(), 1e-9);
    }
}

#[test]
fn model_in_single_precision() {
    // Differences of a model that computes in f32 are noisy; given partials are not needed to be more
    // than approximate.
    let x: Vec<f64> = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-1.3 * x).exp()).collect();
    let single = |x: f64, p: &[f64]| f64::from(p[0] as f32 * (-(p[1] as f32) * x as f32).exp());
    let fit = CurveFit::native(2, single).fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    assert_all_close(fit.params(), &[2.0, 1.3], 1e-4);
    let with_partials = CurveFit::native(2, single).jacobian(|x, p, out| {
        out[0] = (-p[1] * x).exp();
        out[1] = -p[0] * x * out[0];
    });
    let fit = with_partials.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    assert_all_close(fit.params(), &[2.0, 1.3], 1e-5);
    // Data in f32 lose their own digits only.
    let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let y32: Vec<f32> = noisy().iter().map(|&y| y as f32).collect();
    let narrow = decay().fit(Data::new(&x32, &y32).unwrap(), START).unwrap();
    let wide = fit_decay(&x, &noisy()).unwrap();
    assert_all_close(narrow.params(), wide.params(), 1e-4);
    assert_all_close(&narrow.std_errors(), &wide.std_errors(), 1e-4);
}

#[test]
fn sums_over_many_single_precision_points() {
    // The sum of 300000 squares in f32 would have three or four digits.
    let n = 300_000;
    let x: Vec<f32> = (0..n).map(|i| i as f32 / n as f32).collect();
    let y: Vec<f32> =
        x.iter().enumerate().map(|(i, x)| 1000.0 + x + scatter(i % 9973) as f32).collect();
    let fit = curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 1000.0]).unwrap();
    let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let line = solve_line(&wide(&x), &wide(&y));
    assert_all_close(fit.params(), &line.params, 1e-10);
    assert_close(fit.cost(), line.cost, 1e-9);
    assert_all_close(&fit.std_errors(), &line.relative, 1e-9);
}

#[test]
fn every_fit_ends() {
    // Models that oscillate, saturate, overflow or fall off a cliff, from wild starts, with nothing to
    // stop them but the limits: no loop may turn inside one evaluation for ever.
    let (x, y) = (abscissa(), noisy());
    let models = [
        CurveFit::new(|x, [a, b]| (a * x).sin() * (b * x * x).cos()),
        CurveFit::new(|x, [a, b]| (a * x + b).tanh()),
        CurveFit::new(|x, [a, b]| (a * x * x + b).exp()),
        CurveFit::new(|x, [a, b]| a / (x - b)),
        CurveFit::new(|x, [a, b]| (a - x).max(0.0).sqrt() * b),
        CurveFit::new(|x, [a, b]| (a * x).abs().powf(b)),
        CurveFit::native(2, |x, p| (p[0] * x).floor() + p[1] * (1e9 * p[1]).sin()),
    ];
    let strict = Options::default().ftol(0.0).xtol(0.0).gtol(0.0);
    for (k, model) in models.iter().enumerate() {
        for a in [-1e3, -1.0, 1e-300, 0.7, 5.0, 1e8] {
            for b in [-50.0, 0.0, 1e-9, 2.0, 300.0] {
                for options in [strict, Options::default()] {
                    let fitter = model.clone().options(options);
                    let Ok(fit) = fitter.fit(Data::new(&x, &y).unwrap(), [a, b]) else { continue };
                    let place = format!("model {k} from {a}, {b}: {fit}");
                    // Two runs of at most 500 · 3 evaluations, and the refinement of each.
                    assert!(fit.evaluations() <= 2 * (1500 + 10), "{place}");
                    assert!(fit.params().iter().all(|p| p.is_finite()), "{place}");
                    assert!(fit.cost().is_finite(), "{place}");
                    let residuals = fit.residuals(Data::new(&x, &y).unwrap()).unwrap();
                    let cost = 0.5 * residuals.iter().map(|r| r * r).sum::<f64>();
                    assert!((fit.cost() - cost).abs() <= 1e-9 * cost, "{place}");
                }
            }
        }
    }
}

/// Values that a scripted model may take.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    Usual,
    Zero,
    Nan,
    Infinite,
}

const ALL: [Is; 4] = [Is::Usual, Is::Zero, Is::Nan, Is::Infinite];

impl Is {
    fn or(self, usual: f64) -> f64 {
        match self {
            Is::Usual => usual,
            Is::Zero => 0.0,
            Is::Nan => f64::NAN,
            Is::Infinite => f64::INFINITY,
        }
    }

    fn finite(self) -> bool {
        matches!(self, Is::Usual | Is::Zero)
    }
}

#[test]
fn all_transitions_of_finite_zero_and_not_finite() {
    // One point with y = 1. The residual at the start p = 1 and at every other p, and the partial at
    // the start, are each usual, zero, NaN or infinite.
    for (here, there, slope) in
        ALL.iter().flat_map(|&h| ALL.map(|t| (h, t))).flat_map(|(h, t)| ALL.map(|s| (h, t, s)))
    {
        let model =
            move |_: f64, p: &[f64]| 1.0 + if p[0] == 1.0 { here.or(2.0) } else { there.or(1.0) };
        let partial = move |_: f64, p: &[f64], out: &mut [f64]| {
            out[0] = if p[0] == 1.0 { slope.or(1.0) } else { 1.0 };
        };
        let fitter = CurveFit::native(1, model).jacobian(partial);
        let result = fitter.fit(Data::new(&[0.0], &[1.0]).unwrap(), [1.0]);
        let case = format!("residual {here:?}, then {there:?}, partial {slope:?}: {result:?}");
        if !here.finite() {
            assert!(matches!(result, Err(Error::ModelNonFiniteAtStart { .. })), "{case}");
            continue;
        }
        if !slope.finite() {
            assert!(matches!(result, Err(Error::PartialNonFiniteAtStart { .. })), "{case}");
            continue;
        }
        let fit = result.unwrap_or_else(|_| panic!("{case}"));
        assert!(fit.cost().is_finite() && fit.params()[0].is_finite(), "{case}");
        // Without a slope at the start the second try begins beside it, where this model is met.
        let (expected, cost) = match (here, there, slope) {
            (Is::Zero, ..) | (_, Is::Zero, _) => (Termination::ExactFit, 0.0),
            (_, Is::Nan | Is::Infinite, Is::Zero) => (Termination::ZeroGradientAtStart, 2.0),
            (_, Is::Nan | Is::Infinite, _) => (Termination::ModelNonFinite, 2.0),
            // Down from 2 to 1 by a step, then flat although the partial says otherwise.
            _ => (Termination::NoProgress, 0.5),
        };
        assert_eq!((fit.termination(), fit.cost()), (expected, cost), "{case}");
    }
}

#[test]
fn differences_of_parameters_that_go_to_zero() {
    // A peak at 0, found from a start beside it: steps of differences must not vanish with the place.
    let x: Vec<f64> = (0..81).map(|i| 0.1 * f64::from(i - 40)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x * x).exp() + 0.1 * (9.0 * x).cos()).collect();
    let value = |x: f64, p: &[f64]| p[0] * (-(x - p[1]).powi(2)).exp() + p[2];
    let exact = |x: f64, p: &[f64]| {
        let e = (-(x - p[1]).powi(2)).exp();
        (value(x, p), vec![e, 2.0 * p[0] * (x - p[1]) * e, 1.0])
    };
    let solution = solve(&x, &y, None, &[2.0, 0.0, 0.0], exact);
    assert!(solution.params[1].abs() < 1e-12);
    let fitter = CurveFit::native(3, value);
    // Starts of the right size in other units too, exactly 0, and a thousand times too small.
    for (width, place, digits) in
        [(1.0, 0.3, 1e-6), (100.0, 30.0, 1e-6), (1.0, 0.0, 1e-6), (1.0, -1e-3, 1e-3)]
    {
        let x: Vec<f64> = x.iter().map(|x| x * width).collect();
        let scaled = CurveFit::native(3, move |x, p| value(x / width, &[p[0], p[1] / width, p[2]]));
        let fitter = if width == 1.0 { &fitter } else { &scaled };
        let fit = fitter.fit(Data::new(&x, &y).unwrap(), [1.0, place, 0.1]).unwrap();
        assert!(fit.converged(), "from {place}: {fit}");
        let errors = [fit.std_errors()[0], fit.std_errors()[1] / width, fit.std_errors()[2]];
        assert_all_close(&errors, &solution.relative, 1e-4);
        assert!(fit.params()[1].abs() < digits * fit.std_errors()[1], "from {place}: {fit}");
        assert_close(fit.params()[0], solution.params[0], 1e-8);
    }
    // A start far too large must not make the steps too large at the end.
    let (x, y) = (abscissa(), noisy());
    let decay = CurveFit::native(3, value_of_decay);
    let fit = decay.fit(Data::new(&x, &y).unwrap(), [2e4, 1.0, 3e3]).unwrap();
    assert_all_close(fit.params(), &solve_decay(&x, &y, None).params, 1e-7);
}

fn value_of_decay(x: f64, p: &[f64]) -> f64 {
    value(x, p)
}
