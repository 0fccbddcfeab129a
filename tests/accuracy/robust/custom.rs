//! Custom losses: asymmetric losses, rejected ones, and saved fits.

use super::support::{START, log_cosh, welsch};
use dualfit::{CurveFit, Data, Error, Fit, Loss, Var};

type Formula = fn(Var) -> Var;

/// Points above the curve count as much as `share` of those below.
fn below(share: f64) -> Loss {
    Loss::custom(1.0, |u| u * u * u.lt(0.0).select(share, 1.0)).expect("a loss")
}

/// A line below peaks, against least squares with weights by the side on which a point is, until none changes it.
#[test]
fn the_sides_may_count_differently() {
    let x: Vec<f64> = (0..300).map(|i| 0.1 * f64::from(i)).collect();
    let peak = |x: f64, c: f64| 8.0 * (-((x - c) / 0.7).powi(2)).exp();
    let y: Vec<f64> = x
        .iter()
        .map(|x| 2.0 + 0.3 * x + peak(*x, 7.0) + peak(*x, 19.0) + 0.05 * (37.0 * x).sin())
        .collect();
    for share in [0.3, 0.01, 1e-4] {
        let line = CurveFit::new(|x, [a, b]| a + b * x).loss(below(share));
        let fit = line.fit(Data::new(&x, &y).unwrap(), [0.0, 0.0]).unwrap();
        let mut line = [0.0, 0.0];
        for _ in 0..100 {
            let mut sums = [0.0; 5];
            for (x, y) in x.iter().zip(&y) {
                let w = if line[0] + line[1] * x < *y { share } else { 1.0 };
                let added = [w, w * x, w * x * x, w * y, w * x * y];
                sums.iter_mut().zip(added).for_each(|(sum, value)| *sum += value);
            }
            let [n, sx, sxx, sy, sxy] = sums;
            let slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
            line = [(sy - slope * sx) / n, slope];
        }
        assert!(fit.converged(), "{fit}");
        for k in 0..2 {
            let apart = (fit.params()[k] - line[k]).abs() / fit.std_errors()[k];
            assert!(apart < 1e-6, "{share}: {:?}, not {line:?}", fit.params());
        }
    }
}

/// Formulas that are the library's losses give what those give.
#[test]
fn a_formula_of_a_known_loss_is_that_loss() {
    let points = super::support::Points::new(3, 0.02, Some(7));
    let two: [(Loss, Formula); 3] = [
        (Loss::Cauchy { scale: 2.385 }, |u| (u * u).ln_1p()),
        (Loss::SoftL1 { scale: 1.345 }, |u| 2.0 * ((1.0 + u * u).sqrt() - 1.0)),
        (Loss::Huber { scale: 1.345 }, |u| u.abs().le(1.0).select(u * u, 2.0 * u.abs() - 1.0)),
    ];
    for (known, formula) in two {
        let own = Loss::custom(known.scale().unwrap(), formula).unwrap();
        let fit = |loss| super::support::decay().loss(loss).fit(points.data(), START).unwrap();
        let (known, own) = (fit(known), fit(own));
        for k in 0..3 {
            let apart = (known.params()[k] - own.params()[k]).abs() / known.std_errors()[k];
            let ratio = own.std_errors()[k] / known.std_errors()[k];
            assert!(apart < 1e-7 && (ratio - 1.0).abs() < 1e-6, "{known}\n{own}");
        }
        assert!((own.effective_points() / known.effective_points() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn what_is_no_loss_is_refused() {
    let refused = |formula: Formula| Loss::custom(1.0, formula).unwrap_err().to_string();
    for (formula, said) in [
        ((|u| u * u + 1.0) as Formula, "option `loss at 0` is 1; it must be 0"),
        (|u| u * u + u, "option `slope of the loss at 0` is 1; it must be 0"),
        (|u| 0.5 * u * u, "option `second derivative of the loss at 0` is 1; it must be 2"),
        (|u| u.abs().sqrt(), "option `second derivative of the loss at 0` is -250000000;"),
        (
            |u| 2.0 * u.cosh().ln(),
            "option `residual in scales` is -10000; it must be one at which the loss has",
        ),
        (
            |u| (u * u) / (1.0 + u * u * u * u),
            "option `residual in scales` is -1.5; it must be one at which the loss does",
        ),
    ] {
        let found = refused(formula);
        assert!(found.starts_with(said), "{found}\n{said}");
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Loss::custom(scale, |u| u * u).unwrap_err();
        assert!(matches!(error, Error::BadOption { name: "loss scale", .. }), "{error}");
    }
    let panicking = Loss::custom(1.0, |_| panic!("no formula")).unwrap_err();
    assert!(matches!(panicking, Error::ModelPanicked { .. }), "{panicking}");
}

/// Equal formulas are one, and one that is read is that which was written.
#[test]
fn a_loss_is_saved_with_a_fit() {
    assert_eq!(welsch(2.0), welsch(2.0));
    assert_ne!(welsch(2.0), welsch(3.0));
    assert_ne!(welsch(2.0), log_cosh(2.0));
    let points = super::support::Points::new(4, 0.02, Some(7));
    let fit = super::support::decay().loss(welsch(2.985)).fit(points.data(), START).unwrap();
    let text = fit.to_json().unwrap();
    let read = Fit::from_json(&text).unwrap();
    assert_eq!(read.to_string(), fit.to_string());
    assert_eq!(read.to_json().unwrap(), text);
    let line = CurveFit::new(|x, [a]| x + a).program().unwrap().to_json().unwrap();
    assert!(serde_json::from_str::<dualfit::LossFormula>(&line).is_err());
}
