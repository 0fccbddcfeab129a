//! The standard data of the tests of bad input and hard numerics: 2.5·exp(−1.3 x) + 0.5 at 50 points,
//! exact or with small deterministic scatter, and an independent solution to compare with.

#![allow(dead_code)] // every test program uses its own part

use dualfit::{CurveFit, Data, Error, Fit, Warning};
use nalgebra::{DMatrix, DVector};

/// Amplitude, rate and offset of the data.
pub(crate) const TRUTH: [f64; 3] = [2.5, 1.3, 0.5];
/// Start of fits unless a test is about its start.
pub(crate) const START: [f64; 3] = [2.0, 1.0, 0.3];
/// Points.
pub(crate) const N: usize = 50;

pub(crate) fn abscissa() -> Vec<f64> {
    (0..N).map(|i| 0.08 * i as f64).collect()
}

/// The model as plain numbers.
pub(crate) fn value(x: f64, p: &[f64]) -> f64 {
    p[0] * (-p[1] * x).exp() + p[2]
}

/// The model and its partials, derived by hand.
pub(crate) fn value_and_partials(x: f64, p: &[f64]) -> (f64, Vec<f64>) {
    let e = (-p[1] * x).exp();
    (p[0] * e + p[2], vec![e, -p[0] * x * e, 1.0])
}

pub(crate) fn exact() -> Vec<f64> {
    abscissa().iter().map(|&x| value(x, &TRUTH)).collect()
}

/// Scatter within ±0.03 without pattern, the same in every run.
pub(crate) fn scatter(i: usize) -> f64 {
    0.06 * ((37 * i * i + 11 * i) % 101) as f64 / 101.0 - 0.03
}

pub(crate) fn noisy() -> Vec<f64> {
    exact().iter().enumerate().map(|(i, y)| y + scatter(i)).collect()
}

/// The model as a fitter with parameters a, b and c.
pub(crate) fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).names(["a", "b", "c"])
}

/// The least-squares solution as a textbook finds it.
pub(crate) struct Solution {
    pub(crate) params: Vec<f64>,
    /// Standard errors with the given sigmas taken as absolute.
    pub(crate) absolute: Vec<f64>,
    /// Standard errors scaled by the scatter about the fit.
    pub(crate) relative: Vec<f64>,
    pub(crate) cost: f64,
}

/// Gauss-Newton steps by singular value decomposition of the full weighted Jacobian, without any of
/// the crate's means, from a start near the solution.
pub(crate) fn solve(
    x: &[f64],
    y: &[f64],
    sigma: Option<&[f64]>,
    start: &[f64],
    model: impl Fn(f64, &[f64]) -> (f64, Vec<f64>),
) -> Solution {
    let (n, m) = (x.len(), start.len());
    let weight = |i: usize| sigma.map_or(1.0, |s| 1.0 / s[i]);
    let mut p = start.to_vec();
    let linearised = |p: &[f64]| {
        let rows: Vec<_> = x.iter().map(|&x| model(x, p)).collect();
        let j = DMatrix::from_fn(n, m, |i, k| rows[i].1[k] * weight(i));
        let r = DVector::from_fn(n, |i, _| (y[i] - rows[i].0) * weight(i));
        (j, r)
    };
    for _ in 0..100 {
        let (j, r) = linearised(&p);
        let step = j.svd(true, true).solve(&r, 0.0).expect("both factors were asked for");
        p.iter_mut().zip(step.iter()).for_each(|(p, s)| *p += s);
    }
    let (j, r) = linearised(&p);
    let square = r.norm_squared();
    let inverse = (j.transpose() * j).try_inverse().expect("a regular problem");
    let absolute: Vec<f64> = (0..m).map(|k| inverse[(k, k)].sqrt()).collect();
    let scale = (square / n.saturating_sub(m) as f64).sqrt();
    let relative = absolute.iter().map(|e| e * scale).collect();
    Solution { params: p, absolute, relative, cost: 0.5 * square }
}

/// The decay's solution for these data.
pub(crate) fn solve_decay(x: &[f64], y: &[f64], sigma: Option<&[f64]>) -> Solution {
    solve(x, y, sigma, &TRUTH, value_and_partials)
}

/// Slope and intercept, and their errors scaled by the scatter, from sums about the mean of x, which
/// lose no digits wherever x lies.
pub(crate) fn solve_line(x: &[f64], y: &[f64]) -> Solution {
    let n = x.len() as f64;
    let origin = x[0];
    let shift: f64 = x.iter().map(|x| x - origin).sum::<f64>() / n;
    let mean = y.iter().sum::<f64>() / n;
    let from_mean = |x: &f64| x - origin - shift;
    let square: f64 = x.iter().map(|x| from_mean(x).powi(2)).sum();
    let slope = x.iter().zip(y).map(|(x, y)| from_mean(x) * (y - mean)).sum::<f64>() / square;
    let residual = |(x, y): (&f64, &f64)| y - mean - slope * from_mean(x);
    let rss: f64 = x.iter().zip(y).map(residual).map(|r| r * r).sum();
    let centre = origin + shift;
    let absolute = vec![1.0 / square.sqrt(), (1.0 / n + centre * centre / square).sqrt()];
    let scale = (rss / (n - 2.0)).sqrt();
    let relative = absolute.iter().map(|e| e * scale).collect();
    Solution { params: vec![slope, mean - slope * centre], absolute, relative, cost: 0.5 * rss }
}

#[track_caller]
pub(crate) fn assert_close(found: f64, expected: f64, relative: f64) {
    let apart = (found - expected).abs();
    assert!(
        apart <= relative * expected.abs(),
        "found {found:e} instead of {expected:e}, relative difference {:.1e}",
        apart / expected.abs()
    );
}

#[track_caller]
pub(crate) fn assert_all_close(found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len());
    for (k, (&f, &e)) in found.iter().zip(expected).enumerate() {
        let apart = (f - e).abs();
        assert!(apart <= relative * e.abs(), "value {k}: {found:?} instead of {expected:?}");
    }
}

/// The fit has converged to the solution, with its errors.
#[track_caller]
pub(crate) fn assert_solved(fit: &Fit, solution: &Solution) {
    assert!(fit.converged(), "{}", fit.termination());
    assert_all_close(fit.params(), &solution.params, 1e-8);
    assert_all_close(&fit.std_errors(), &solution.relative, 1e-6);
}

/// The message has all these words in it.
#[track_caller]
pub(crate) fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in {text:?}");
    }
}

pub(crate) fn warns(fit: &Fit, kind: impl Fn(&Warning) -> bool) -> bool {
    fit.warnings().iter().any(kind)
}

/// Returns true if the fit warns that its parameters are not, or hardly, determined.
pub(crate) fn warns_of_weakness(fit: &Fit) -> bool {
    let weak =
        |w: &Warning| matches!(w, Warning::RankDeficient { .. } | Warning::IllConditioned { .. });
    warns(fit, weak)
}

/// A fit of the decay to (x, y) from the usual start.
pub(crate) fn fit_decay(x: &[f64], y: &[f64]) -> Result<Fit, Error> {
    decay().fit(Data::new(x, y)?, START)
}
