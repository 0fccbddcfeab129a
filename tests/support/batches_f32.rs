//! Batches in f32 on every device, held to the same batches in f64.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::batches::{Place, START, abscissae, decay, decays, noise};
use super::losses::robust;
use dualfit::device::Processor;
use dualfit::{
    BatchData, BatchFit, CurveFit, Estimator, FitStatus, Loss, Options, Precision, Sigma, Starts,
};
use std::mem::discriminant;

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! batches_f32_on {
    ($on_device:ident) => {
        #[test]
        fn f32_ends_beside_f64() {
            $on_device(batches_f32::f32_ends_beside_f64);
        }

        #[test]
        fn hard_fits_in_f32_end_beside_f64() {
            $on_device(batches_f32::hard_fits_in_f32_end_beside_f64);
        }

        #[test]
        fn what_f32_would_spoil_is_left_to_f64() {
            $on_device(batches_f32::what_f32_would_spoil_is_left_to_f64);
        }
    };
}
pub(crate) use batches_f32_on;

/// Fits of the comparison for each loss; the figures of the documents are those of 100,000.
fn fits() -> usize {
    std::env::var("DUALFIT_FITS").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// A batch in f64, mixed and in f32.
fn in_all<'s>(
    fitter: &CurveFit,
    data: &BatchData<'_>,
    starts: impl Into<Starts<'s>>,
    place: Place<'_>,
) -> [BatchFit; 3] {
    let starts = starts.into();
    [Precision::Double, Precision::Mixed, Precision::Single].map(|precision| {
        let fitter = place(fitter.clone().precision(precision));
        let made = fitter.fit_batch(data, starts.clone()).expect("a batch");
        assert_eq!(made.processor(), Processor::Cuda, "{}", made.reason());
        made
    })
}

fn is_converged(status: FitStatus) -> bool {
    status.is_determined()
}

/// Distance of the parameters of `made` from `exact`, in standard errors: mean square and maximum. Fits
/// that f64 leaves without a minimum, or finds elsewhere, are counted.
struct Distance {
    square: f64,
    most: f64,
    errors: f64,
    elsewhere: usize,
}

fn distance(made: &BatchFit, exact: &BatchFit) -> Distance {
    let mut found = Distance { square: 0.0, most: 0.0, errors: 0.0, elsewhere: 0 };
    let mut numbers = 0;
    for (a, b) in made.iter().zip(exact.iter()) {
        let both = is_converged(a.status()) && is_converged(b.status());
        let moved = (a.params().iter().zip(b.params()).zip(b.std_errors()))
            .filter(|(_, e)| **e > 0.0)
            .map(|((p, q), e)| (p - q).abs() / e)
            .collect::<Vec<_>>();
        let errors = a.std_errors().iter().zip(b.std_errors()).filter(|(_, e)| **e > 0.0);
        // Also those beside a bound that it holds in one case only.
        if !both || !a.at_bound().eq(b.at_bound()) || moved.iter().any(|&m| m > 1.0) {
            found.elsewhere +=
                usize::from(is_converged(a.status()) != is_converged(b.status()) || both);
            continue;
        }
        numbers += moved.len();
        found.square += moved.iter().map(|m| m * m).sum::<f64>();
        found.most = moved.into_iter().fold(found.most, f64::max);
        found.errors = errors.map(|(p, q)| (p / q - 1.0).abs()).fold(found.errors, f64::max);
    }
    found.square /= numbers.max(1) as f64;
    found
}

/// All losses and counts: `Mixed` has the digits of f64, `Single` is within a hundredth of a standard error.
pub fn f32_ends_beside_f64(place: Place<'_>) {
    let (fits, n) = (fits(), 40);
    let x = abscissae(n);
    let stack = decays(&x, fits);
    let counts: Vec<u16> = stack.iter().map(|y| (8.0 * y).max(0.0) as u16).collect();
    let (data, counts) =
        (BatchData::shared(&x, &stack).unwrap(), BatchData::shared(&x, &counts).unwrap());
    let known = data.clone().sigma(Sigma::Constant(0.3)).unwrap();
    let poisson = decay().estimator(Estimator::Poisson);
    let bounded = decay().bound("p2", 5.0..);
    let mut cases = vec![
        ("linear".to_owned(), decay(), &data),
        ("known errors".to_owned(), decay(), &known),
        ("a bound".to_owned(), bounded, &data),
    ];
    cases.extend(
        robust(0.4).into_iter().map(|loss| (format!("{loss:?}"), decay().loss(loss), &data)),
    );
    cases.push(("counts".to_owned(), poisson, &counts));
    for (what, fitter, data) in cases {
        let start = match what.as_str() {
            "counts" => [150.0, 0.7, 30.0],
            "a bound" => [15.0, 0.7, 6.0],
            _ => START,
        };
        let [double, mixed, single] = in_all(&fitter, data, start, place);
        // Of 100,000 fits one ends on its bound in f64 and 1.4e-5 of an error beside it from where f32 has led, and one under
        // Tukey's loss is 1.6e-4 away: to the cost they are the same.
        let vague = what == "a bound" || what.starts_with("Tukey");
        let mixed_most = if vague { 1e-3 } else { 1e-5 };
        for (name, made, most) in [("Mixed", &mixed, mixed_most), ("Single", &single, 0.01)] {
            let found = distance(made, &double);
            println!(
                "| {what} | {name} | {:.1e} | {:.1e} | {:.1e} | {} | {} |",
                found.square.sqrt(),
                found.most,
                found.errors,
                found.elsewhere,
                made.left_to_cpu(),
            );
            assert!(found.most <= most, "{what}, {name}: {:e} standard errors", found.most);
            // Huber's errors jump where a residual passes his scale; others differ by 1.1e-2 at most, of 100,000 fits.
            let most = if what.starts_with("Huber") { 0.25 } else { 0.02 };
            assert!(found.errors <= most, "{what}, {name}: errors by {:e}", found.errors);
            assert!(found.elsewhere <= fits / 500, "{what}, {name}: {}", found.elsewhere);
        }
        // Where f32 is of use its last digits are others; under a loss that redescends f64 has the last word.
        let redescends = ["Arctan", "Tukey", "Custom"].iter().any(|name| what.starts_with(name));
        assert_eq!(single.params() == mixed.params(), redescends, "{what}");
    }
}

/// Fits that converge slowly, whose parameters are correlated, whose curve is not that of the data, or with outliers:
/// `Single` is within a few hundredths of a standard error.
pub fn hard_fits_in_f32_end_beside_f64(place: Place<'_>) {
    let (fits, n) = (fits(), 60);
    let x: Vec<f64> = (0..n).map(|i| 0.08 * i as f64).collect();
    let stack = |curve: &dyn Fn(f64) -> f64, scatter: f64, outliers: f64| -> Vec<f64> {
        let point = |fit: usize, i: usize| {
            let normal: f64 = (0..12).map(|k| noise(7919 * fit + 131 * i + 17 * k + 3)).sum();
            let far = if noise(6007 * fit + 211 * i + 5) + 0.5 < outliers { 10.0 } else { 0.0 };
            curve(x[i]) + scatter * (normal + far)
        };
        (0..fits).flat_map(|fit| (0..n).map(move |i| (fit, i))).map(|(f, i)| point(f, i)).collect()
    };
    let two = CurveFit::new(|x, [a, k, b, l]| a * (-k * x).exp() + b * (-l * x).exp());
    let peak = CurveFit::new(|x, [a, m, s, b]| a * (-((x - m) / s).powi(2) * 0.5).exp() + b);
    let line = CurveFit::new(|x, [a, b, c]| a + b * x + c * x * x);
    let sum = |l: f64| move |x: f64| (-x).exp() + 0.7 * (-l * x).exp();
    let bell = |x: f64| (-0.5 * ((x - 2.4) / 0.6f64).powi(2)).exp() + 0.5;
    let odd = |x: f64| bell(x) + 0.1 * (5.0 * x).sin();
    let near = [0.9, 2.3, 0.7, 0.4];
    type Case<'a> = (&'a str, CurveFit, Vec<f64>, [f64; 4], Option<f64>);
    let cases: [Case<'_>; 7] = [
        ("rates 1 and 2", two.clone(), stack(&sum(2.0), 0.1, 0.0), [1.2, 0.9, 0.5, 2.5], None),
        ("rates 1 and 1.5", two.clone(), stack(&sum(1.5), 0.03, 0.0), [1.2, 0.9, 0.5, 2.0], None),
        (
            "rates 1 and 5",
            two,
            stack(&|x| sum(5.0)(x) + 0.05 * (4.0 * x).sin(), 0.001, 0.0),
            [1.1, 0.9, 0.6, 4.0],
            Some(0.001),
        ),
        ("outliers", peak.clone(), stack(&bell, 0.3, 0.02), near, Some(0.3)),
        ("faint", peak.clone(), stack(&bell, 0.3, 0.0), near, None),
        ("another curve", peak.clone(), stack(&odd, 0.1, 0.0), near, Some(0.1)),
        (
            "Cauchy, another curve",
            peak.loss(Loss::Cauchy { scale: 2.0 }),
            stack(&odd, 0.1, 0.05),
            near,
            Some(0.1),
        ),
    ];
    for (what, fitter, stack, start, sigma) in cases {
        let data = BatchData::shared(&x, &stack).unwrap();
        let data = match sigma {
            Some(sigma) => data.sigma(Sigma::Constant(sigma)).unwrap(),
            None => data,
        };
        let [double, _, single] = in_all(&fitter, &data, start, place);
        assert_beside(what, &single, &double);
    }
    let small: Vec<f64> = (0..n).map(|i| 1e-11 * (i + 1) as f64 / n as f64).collect();
    let rising = |x: f64| 1.0 + x + x * x;
    let data = stack(&rising, 0.01, 0.0);
    let data = BatchData::shared(&small, &data).unwrap();
    let [double, _, single] = in_all(&line, &data, [1.0, 1e11, 1e22], place);
    assert_beside("x of 1e-11", &single, &double);
    let counts: Vec<u16> =
        stack(&|x| 2.0 * bell(x), 1.0, 0.0).iter().map(|y| y.max(0.0).round() as u16).collect();
    let data = BatchData::shared(&x, &counts).unwrap();
    let counted = CurveFit::new(|x, [a, m, s, b]| a * (-((x - m) / s).powi(2) * 0.5).exp() + b);
    let counted = counted.estimator(Estimator::Poisson);
    let [double, _, single] = in_all(&counted, &data, [1.8, 2.3, 0.7, 1.2], place);
    assert_beside("faint counts", &single, &double);
}

/// Asserts that fits in f32 are beside those in f64.
fn assert_beside(what: &str, single: &BatchFit, double: &BatchFit) {
    let found = distance(single, double);
    let (most, errors, elsewhere) = (found.most, found.errors, found.elsewhere);
    println!("| {what} | {most:.1e} | {errors:.1e} | {elsewhere} | {} |", single.left_to_cpu());
    assert!(most <= 0.04, "{what}: {most:e} standard errors");
    // The errors are those of the point before the last step. Of two near rates they change fast.
    assert!(errors <= 0.1, "{what}: errors by {errors:e}");
    assert!(elsewhere <= double.n_fits() / 50, "{what}: {elsewhere} elsewhere");
}

/// Fits whose data or parameters f32 cannot represent, separate or determine have the digits of f64.
pub fn what_f32_would_spoil_is_left_to_f64(place: Place<'_>) {
    let (fits, n) = (12, 40);
    let x = abscissae(n);
    let stack = decays(&x, fits);
    let scaled = |unit: f64| stack.iter().map(|y| y * unit).collect::<Vec<f64>>();
    let same = |what: &str, fitter: &CurveFit, x: &[f64], stack: &[f64], start: &[f64]| {
        let data = BatchData::shared(x, stack).unwrap();
        let [double, mixed, single] = in_all(fitter, &data, start, place);
        for (a, (b, c)) in double.iter().zip(mixed.iter().zip(single.iter())) {
            for made in [b, c] {
                assert_eq!(discriminant(&a.status()), discriminant(&made.status()), "{what}");
            }
            let numbers = a.params().iter().zip(b.params()).zip(c.params()).zip(a.std_errors());
            for (((p, q), r), e) in numbers {
                let most = 1e-5 * e + 1e-9 * p.abs();
                let close = |q: f64| (p - q).abs() <= most || (p.is_nan() && q.is_nan());
                assert!(!e.is_finite() || (close(*q) && close(*r)), "{what}: {p:e} {q:e} {r:e}");
            }
        }
    };
    for unit in [1e60, 1e-60, 1e36, 1e-36] {
        let start = [START[0] * unit, START[1], START[2] * unit];
        same(&format!("y of {unit:e}"), &decay(), &x, &scaled(unit), &start);
    }
    let epochs: Vec<f64> = x.iter().map(|x| 1.7e9 + x).collect();
    let since = CurveFit::new(|x, [a, b, c]| a * (-b * (x - 1.7e9)).exp() + c);
    same("seconds since 1970", &since, &epochs, &stack, &START);
    let high: Vec<f64> = stack.iter().map(|y| y + 1e8).collect();
    same("a baseline of 1e8", &decay(), &x, &high, &[START[0], START[1], 1e8]);
    let powers = CurveFit::new(|x, [a, b, c]| {
        let u = x + 300.0;
        a + u * (b + u * c)
    });
    same("powers far from their origin", &powers, &x, &stack, &[1.0, 1.0, 1.0]);
    let twice = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c + d);
    same("a parameter too many", &twice, &x, &stack, &[15.0, 0.7, 1.0, 2.0]);
    let exact: Vec<f64> = (0..fits)
        .flat_map(|f| x.iter().map(move |x| (20.0 + f as f64) * (-x).exp() + 5.0))
        .collect();
    same("no noise", &decay(), &x, &exact, &START);
    same("a start without value", &decay(), &x, &stack, &[1.0, -60.0, 0.0]);
    let tukey = decay().loss(Loss::Tukey { scale: 0.5 });
    let huge = scaled(1e60);
    let tukey_of_huge = decay().loss(Loss::Tukey { scale: 0.5e60 });
    same("Tukey beyond f32", &tukey_of_huge, &x, &huge, &[15e60, 0.7, 3e60]);
    for most in [1, 2, 3, 4] {
        // A limit of evaluations that f32 has its part of ends a fit, wherever it is.
        let data = BatchData::shared(&x, &stack).unwrap();
        let options = Options::default().max_evaluations(most);
        for made in in_all(&tukey.clone().options(options), &data, START, place) {
            assert!(made.evaluations().iter().all(|&e| e as usize <= most), "{most}");
        }
    }
}
