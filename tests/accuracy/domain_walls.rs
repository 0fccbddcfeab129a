//! Models that have no value beyond some parameters: a fit does not cross into such a region, and when it
//! ends at its border it does not call that a minimum.

use dualfit::{CurveFit, Data, Fit, Scalar, Termination, Warning, curve_fit};

fn sigmoid<T: Scalar>(x: T, [height, edge, width, floor]: [T; 4]) -> T {
    height / (((x - edge) / width).exp() + 1.0) + floor
}

/// An edge that is narrow against the range of x: the exponential overflows a few hundred widths away,
/// where the model is flat.
fn edge() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..400).map(|i| 5.0 * i as f64).collect();
    let wave = |i: usize| 0.05 * (7.7 * i as f64).sin();
    let y = (0..400).map(|i| sigmoid(x[i], [3.0, 800.0, 1.3, 0.5]) + wave(i)).collect();
    (x, y)
}

/// Returns true if no small change of a parameter lowers the cost.
fn is_minimum(fit: &Fit, cost: impl Fn(&[f64]) -> f64) -> bool {
    let least = cost(fit.params());
    (0..fit.params().len()).all(|i| {
        [1e-4, -1e-4].into_iter().all(|part| {
            let mut p = fit.params().to_vec();
            p[i] += part * fit.std_errors()[i].min(p[i].abs());
            cost(&p) >= least * (1.0 - 1e-11)
        })
    })
}

#[test]
fn an_overflow_where_the_model_is_flat_is_no_wall() {
    let (x, y) = edge();
    let cost = |p: &[f64]| {
        let value = |x: &f64| sigmoid(*x, [p[0], p[1], p[2], p[3]]);
        x.iter().zip(&y).map(|(x, y)| 0.5 * (value(x) - y).powi(2)).sum()
    };
    for width in [5.0, 20.0, 100.0, 2.0, 1.0] {
        let fit = curve_fit(sigmoid, &x, &y, [2.0, 780.0, width, 0.3]).unwrap();
        assert!(fit.converged(), "from width {width}: {}", fit.termination());
        assert!(is_minimum(&fit, cost), "from width {width}: {:?} is no minimum", fit.params());
        assert!(fit.evaluations() < 30, "from width {width}: {} evaluations", fit.evaluations());
    }
}

#[test]
fn a_wall_before_the_minimum_is_not_called_a_minimum() {
    // The data want a rate of 1.2; the model has no value below 1.5.
    let x: Vec<f64> = (0..50).map(|i| 0.1 * i as f64).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 2.0 * Scalar::exp(-1.2 * x) + 0.01 * (31.0 * x).sin()).collect();
    for start in [[1.0, 2.0], [3.0, 4.0], [2.0, 1.6], [2.0, 1.500_001]] {
        let model = |x: f64, p: &[f64]| match p[1] < 1.5 {
            true => f64::NAN,
            false => p[0] * Scalar::exp(-p[1] * x),
        };
        let native = CurveFit::native(2, model).jacobian(|x, p, out| {
            let e = Scalar::exp(-p[1] * x);
            out.copy_from_slice(&[e, -p[0] * x * e]);
        });
        let traced = CurveFit::new(|x, [a, b]| b.lt(1.5).select(f64::NAN, a * (-b * x).exp()));
        // A root whose argument must not be negative makes the same wall.
        let root = CurveFit::new(|x, [a, b]| a * (-b * x).exp() + (b - 1.5).sqrt() * 1e-9);
        for (name, model) in [("native", native), ("traced", traced), ("root", root)] {
            let fit = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
            assert!(
                !fit.converged(),
                "{name} from {start:?}: {:?} {}",
                fit.params(),
                fit.termination()
            );
            assert!(fit.params()[1] >= 1.5);
            let words = [Termination::ModelNonFinite, Termination::NoProgress];
            assert!(words.contains(&fit.termination()), "{name}: {}", fit.termination());
        }
        // A bound at the wall makes it a minimum, and says so.
        let bounded = CurveFit::new(|x, [a, b]| b.lt(1.5).select(f64::NAN, a * (-b * x).exp()));
        let fit = bounded.bound("p1", 1.5..).fit(Data::new(&x, &y).unwrap(), start).unwrap();
        assert!(fit.converged(), "{}", fit.termination());
        assert_eq!(fit.params()[1], 1.5);
        assert!(fit.warnings().iter().any(|w| matches!(w, Warning::AtBound { .. })));
    }
}

#[test]
fn a_minimum_beside_a_wall_is_reached() {
    // The logarithm has no value for b ≤ 0, and steps from far away lead there.
    let x: Vec<f64> = (0..50).map(|i| 0.1 * i as f64).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 2.0 * Scalar::ln(x + 0.2) + 0.01 * (31.0 * x).sin()).collect();
    let expected = curve_fit(|x, [a, b]| a * (x + b).ln(), &x, &y, [2.0, 0.2]).unwrap();
    assert!(expected.converged());
    for start in [[1.0, 1.0], [0.5, 5.0], [4.0, 0.01], [2.0, 50.0]] {
        let fit = curve_fit(|x, [a, b]| a * (x + b).ln(), &x, &y, start).unwrap();
        assert!(fit.converged(), "from {start:?}: {}", fit.termination());
        for i in 0..2 {
            let off = (fit.params()[i] / expected.params()[i] - 1.0).abs();
            assert!(off < 1e-8, "from {start:?}: parameter {i} off by {off:.1e}");
        }
    }
}
