//! Ends of fits that are easily mistaken: hidden by rounding, with a parameter that does nothing,
//! at a minimum with large residuals.

use dualfit::{CurveFit, Data, Fit, Termination, Warning, least_squares};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// 50 points of a parabola in (t − t₀)/width from t₀ on.
fn parabola(from: f64, width: f64) -> (Vec<f64>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(1);
    let x: Vec<f64> = (0..50).map(|i| from + width * f64::from(i) / 49.0).collect();
    let y = x.iter().map(|x| {
        let (u, error): (f64, f64) = ((x - from) / width, StandardNormal.sample(&mut random));
        3.0 * u * u - 2.0 * u + 1.0 + 0.1 * error
    });
    let y = y.collect();
    (x, y)
}

/// R² of the same model with x from 0 on, which loses nothing to rounding.
fn centred(model: &CurveFit, x: &[f64], y: &[f64], params: usize) -> f64 {
    let (from, range) = (x[0], x[x.len() - 1] - x[0]);
    let u: Vec<f64> = x.iter().map(|x| (x - from) / range).collect();
    let fit = model.fit(Data::new(&u, y).unwrap(), vec![0.0; params]).unwrap();
    fit.r_squared().unwrap()
}

#[test]
fn a_fit_far_from_the_origin_reaches_the_minimum_or_says_that_rounding_hides_it() {
    let quadratic = CurveFit::new(|t, [a, b, c]| a * t * t + b * t + c);
    let line = CurveFit::new(|t, [a, b]| a * t + b);
    let mut hidden = 0;
    for (model, params) in [(&quadratic, 3), (&line, 2)] {
        for from in [0.0, 1.7e9, 2f64.powi(62)] {
            for width in [10.0, 1e3, 1e5, 2e7, 1e9] {
                // Points that differ.
                let (x, y) = parabola(from, if from > 1e10 { 1e3 * width } else { width });
                let best = centred(model, &x, &y, params);
                for start in [0.0, 1.0] {
                    let fit = model.fit(Data::new(&x, &y).unwrap(), vec![start; params]).unwrap();
                    let (reached, ended) = (fit.r_squared().unwrap(), fit.termination());
                    let name = format!("{params} from {from:e} over {width:e}, start {start}");
                    println!("{name}: R² {reached} of {best}, {ended:?}");
                    assert!(
                        !fit.converged() || reached > best - 1e-3,
                        "{name}: {reached} of {best}"
                    );
                    if ended == Termination::LostInRounding {
                        assert!(ended.to_string().contains("subtract x[0]"));
                        hidden += 1;
                    }
                }
            }
        }
    }
    assert!(hidden > 3, "{hidden}");
}

fn decay(points: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(3);
    let x: Vec<f64> = (0..points as u32).map(|i| 0.25 * f64::from(i)).collect();
    let y = x.iter().map(|x| {
        let error: f64 = StandardNormal.sample(&mut random);
        2.5 * (-1.3 * x).exp() + 0.5 + 0.02 * error
    });
    let y = y.collect();
    (x, y)
}

#[test]
fn a_function_with_an_unused_parameter_is_fitted_in_the_others() {
    let (x, y) = decay(20);
    let fit = |params: usize| -> (Fit, usize) {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        let model = CurveFit::native_arrays(params, move |x, p, out| {
            count.fetch_add(1, Ordering::Relaxed);
            out.iter_mut().zip(x).for_each(|(out, x)| *out = p[0] * (-p[1] * x).exp() + p[2]);
        });
        let start = &[1.0, 1.0, 0.0, 5.0][..params];
        let fit = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
        (fit, calls.load(Ordering::Relaxed))
    };
    let ((fit, calls), (whole, few)) = (fit(4), fit(3));
    println!("{calls} calls, {few} without the parameter");
    assert!(fit.converged() && calls < 3 * few, "{}, {calls} calls", fit.termination());
    for j in 0..3 {
        let error = whole.std_errors()[j];
        assert!((fit.params()[j] - whole.params()[j]).abs() < 1e-6 * error);
        assert!((fit.std_errors()[j] / error - 1.0).abs() < 1e-6);
    }
    assert_eq!((fit.params()[3], fit.std_errors()[3]), (5.0, f64::INFINITY));
    let unused = |w: &Warning| matches!(w, Warning::UnusedParameter { name } if name == "p3");
    assert!(matches!(fit.warnings(), [warning] if unused(warning)), "{:?}", fit.warnings());
}

/// Nothing near the start tells where this step is; it does not count as unused.
#[test]
fn a_parameter_that_acts_in_steps_is_not_unused() {
    let (x, y) = decay(20);
    let model = CurveFit::native_arrays(3, |x, p, out| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = if *x > p[2] { p[0] } else { p[1] });
    });
    let fit = model.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 1.1]).unwrap();
    assert!(!fit.converged());
    assert!(!fit.warnings().iter().any(|w| matches!(w, Warning::UnusedParameter { .. })));
}

#[test]
fn a_parameter_times_zero_does_not_occur() {
    let (x, y) = decay(20);
    let fit = |text: &str| {
        let model = CurveFit::parse(text, ["x"]).unwrap();
        let start: Vec<f64> = vec![1.0; model.parameters().len()];
        model.fit(Data::new(&x, &y).unwrap(), start).unwrap()
    };
    let (with, without) = (fit("a*x + b + 0*c"), fit("a*x + b"));
    assert_eq!(with.params()[..2], without.params()[..]);
    assert_eq!(with.std_errors()[..2], without.std_errors()[..]);
    assert_eq!(with.degrees_of_freedom(), 18);
    assert_eq!(with.termination(), without.termination());
    assert!(with.stats().evaluations <= without.stats().evaluations + 1);
    let unused = |w: &&Warning| matches!(w, Warning::UnusedParameter { name } if name == "c");
    assert_eq!(with.warnings().iter().filter(unused).count(), 1);
    assert_eq!(with.warnings().len(), without.warnings().len() + 1);
}

/// Brown and Dennis, number 16 of Moré, Garbow and Hillstrom (ACM Trans. Math. Softw. 7, 1981): a sum of squares of
/// 85822.2 at the minimum.
#[test]
fn newton_steps_end_a_fit_with_large_residuals() {
    let residuals = |p: &[f64], r: &mut [f64]| {
        for (i, r) in r.iter_mut().enumerate() {
            let t = (i + 1) as f64 / 5.0;
            let (u, v) = (p[0] + t * p[1] - t.exp(), p[2] + p[3] * t.sin() - t.cos());
            *r = u * u + v * v;
        }
    };
    let fit = least_squares(residuals, 20, [25.0, 5.0, -5.0, -1.0]).unwrap();
    println!("{} evaluations, {}", fit.stats().evaluations, fit.chi_square());
    assert!(fit.converged() && (fit.chi_square() - 85_822.2).abs() < 0.05);
    assert!(fit.stats().evaluations < 400);
}
