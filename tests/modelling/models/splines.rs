//! Splines over given knots: values between the knots and beyond, starts, and rejected knots.

use dualfit::error::ModelError;
use dualfit::models::{self, Model};
use dualfit::{CurveFit, Data, Error, Start};

const KNOTS: [f64; 8] = [-1.0, 0.0, 0.5, 2.0, 3.5, 4.0, 6.5, 8.0];

fn value(model: &Model, x: f64, p: &[f64]) -> f64 {
    model.curve().unwrap().program().unwrap().evaluate(&[x], p)
}

fn spread(from: f64, to: f64, count: u32) -> Vec<f64> {
    (0..count).map(|i| from + (to - from) * f64::from(i) / f64::from(count - 1)).collect()
}

/// The B-splines are a partition of 1, and every cubic is a spline, beyond the ends, too.
#[test]
fn cubics_are_splines() {
    for count in 4..=KNOTS.len() {
        let model = models::spline(&KNOTS[..count], "").unwrap();
        for x in spread(-3.0, 11.0, 57) {
            assert!((value(&model, x, &vec![1.0; count]) - 1.0).abs() < 1e-11, "{x}");
        }
        let cubic = |x: f64| 2.0 - x + 0.3 * x * x - 0.07 * x * x * x;
        let x = spread(-1.0, KNOTS[count - 1], 40);
        let y: Vec<f64> = x.iter().map(|&x| cubic(x)).collect();
        let fit = CurveFit::from(&model).fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
        let out = spread(-2.0, KNOTS[count - 1] + 1.0, 31);
        for (x, found) in out.iter().zip(fit.predict(&out).unwrap()) {
            assert!((found - cubic(*x)).abs() < 1e-9, "{found} at {x}");
        }
    }
}

/// Two derivatives are continuous, and the third jumps at the inner knots but for the outermost two of them.
#[test]
fn pieces_meet_smoothly() {
    let p = [1.0, -2.0, 3.0, 0.5, 4.0, -1.0, 2.0, 0.3];
    let program = models::spline(KNOTS, "").unwrap().curve().unwrap().program().unwrap();
    let f = |x: f64| program.evaluate(&[x], &p);
    let h = 1e-2;
    // Exact for cubics, on one side of the knot.
    let derivatives = |x: f64, h: f64| {
        let [a, b, c, d] = [f(x + 1e-12 * h), f(x + h), f(x + 2.0 * h), f(x + 3.0 * h)];
        let third = (d - 3.0 * c + 3.0 * b - a) / h.powi(3);
        let second = (c - 2.0 * b + a) / h.powi(2) - h * third;
        [(b - a) / h - h / 2.0 * second - h * h / 6.0 * third, second, third]
    };
    for (i, &knot) in KNOTS.iter().enumerate().skip(1).take(6) {
        let (left, right) = (derivatives(knot, -h), derivatives(knot, h));
        assert!((left[0] - right[0]).abs() < 1e-8, "slope at knot {i}");
        assert!((left[1] - right[1]).abs() < 1e-6, "curvature at knot {i}");
        let jump = (left[2] - right[2]).abs();
        assert_eq!(jump > 0.1, (2..6).contains(&i), "third derivative at knot {i}: {jump}");
        assert!(!(1e-4..=0.1).contains(&jump), "{jump}");
    }
}

#[test]
fn values_at_the_knots_follow() {
    let x = spread(-1.0, 8.0, 90);
    let y: Vec<f64> = x.iter().map(|x| (0.9 * x).sin() + 0.05 * (40.0 * x).sin()).collect();
    let model = models::spline(KNOTS, "bg_").unwrap();
    let fit = CurveFit::from(&model).fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    let band = fit.confidence_band(&KNOTS[..], 0.95).unwrap();
    assert_eq!(fit.derived().len(), KNOTS.len());
    for (i, derived) in fit.derived().iter().enumerate() {
        assert_eq!(derived.name, format!("bg_at_knot{i}"));
        assert!((derived.value - band.center[i]).abs() < 1e-12, "{derived:?}");
        assert!((derived.std_error - band.std_errors[i]).abs() < 1e-12, "{derived:?}");
    }
}

/// As in a composite: points at the ends alone say where the curve is between them.
#[test]
fn peaks_stand_on_splines() {
    let x = spread(0.0, 100.0, 300);
    let ground = |x: f64| 5.0 + 0.06 * x - 3.0 * (-x / 30.0).exp();
    let peak = |x: f64, c: f64| 20.0 * (-((x - c) / 3.0).powi(2) / 2.0).exp();
    let y: Vec<f64> = x
        .iter()
        .map(|&x| ground(x) + peak(x, 35.0) + peak(x, 60.0) + 0.1 * (17.0 * x).sin())
        .collect();
    let spline = models::spline([0.0, 20.0, 50.0, 80.0, 100.0], "bg_").unwrap();
    let model = models::gaussian("a_") + models::gaussian("b_") + spline;
    let fit = CurveFit::from(model).fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!(fit.converged(), "{fit}");
    for (name, expected) in [("a_center", 35.0), ("b_center", 60.0), ("a_sigma", 3.0)] {
        let found = fit.param(name).unwrap();
        assert!((found - expected).abs() < 0.05, "{name} = {found}");
    }
    // A mean of neighbours, and a line where no point is.
    let few = Data::new(&[0.0, 1.0, 99.0, 100.0], &[1.0, 3.0, 10.0, 14.0]).unwrap();
    let start = models::spline([0.0, 20.0, 50.0, 80.0, 100.0], "").unwrap().guess(&few).unwrap();
    let places = [0.0, 50.0 / 3.0, 50.0, 250.0 / 3.0, 100.0];
    for (found, place) in start.iter().zip(places) {
        assert!((found - (2.0 + 0.1 * place)).abs() < 1e-9, "{start:?}");
    }
}

#[test]
fn text_says_the_same() {
    let model = models::spline([-1.5, 0.0, 2.0, 1e12], "bg_").unwrap() + models::gaussian("");
    assert_eq!(model.to_string(), "spline(-1.5, 0, 2, 1000000000000.0, bg_) + gaussian()");
    let again = models::parse(&model.to_string()).unwrap();
    assert_eq!(again.formula().unwrap(), model.formula().unwrap());
    assert_eq!(again.derived(), model.derived());
    assert_eq!(models::parse("spline(0, 1, 2, 3)").unwrap().parameters(), ["s0", "s1", "s2", "s3"]);
}

#[test]
fn knots_must_rise() {
    let error = |knots: &[f64]| match models::spline(knots, "").unwrap_err() {
        Error::Model(error) => error,
        other => panic!("{other}"),
    };
    assert_eq!(error(&[1.0; 3]), ModelError::KnotCount { got: 3, least: 4, most: 100 });
    let many: Vec<f64> = (0..101).map(f64::from).collect();
    assert!(matches!(error(&many), ModelError::KnotCount { got: 101, .. }));
    for (knots, at) in [
        ([0.0, 1.0, 1.0, 2.0], 2),
        ([0.0, 1.0, 0.5, 2.0], 2),
        ([f64::NAN, 1.0, 2.0, 3.0], 0),
        ([0.0, f64::NAN, 2.0, 3.0], 1),
        ([0.0, 1.0, 2.0, f64::INFINITY], 3),
        ([0.0, 5e-324, 1.0, 2.0], 1),
        ([-1.7e308, 0.0, 1.0, 1.7e308], 3),
    ] {
        let error = error(&knots);
        assert!(matches!(error, ModelError::BadKnot { index, .. } if index == at), "{error}");
    }
    let widest = models::spline(&many[..100], "").unwrap();
    assert!((value(&widest, 41.7, &[2.0; 100]) - 2.0).abs() < 1e-13);
    let awkward = Data::new(&[1e300, -1e300, 0.0], &[1e300, -1e300, 5.0]).unwrap();
    assert!(widest.guess(&awkward).unwrap().iter().all(|s| s.is_finite()));
}
