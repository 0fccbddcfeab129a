//! Points with errors so small that they act as constraints, against the fit with them eliminated.

use dualfit::source::SliceSource;
use dualfit::{BatchData, CurveFit, Data, Fit, GlobalFit, Sigma, Stream, Termination};

const X: [f64; 11] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];
const NOISE: [f64; 11] = [0.3, -1.2, 0.8, -0.4, 1.5, -0.9, 0.2, 1.1, -0.7, -1.3, 0.6];
const HEAVY: usize = 3;

fn response() -> Vec<f64> {
    X.iter().zip(NOISE).map(|(x, noise)| 5.0 * (-0.6 * x).exp() + 1.0 + noise).collect()
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).names(["a", "b", "c"])
}

/// Without the point at `HEAVY`, through which the model must pass: c follows from a and b.
fn eliminated(start: [f64; 2]) -> Fit {
    let y = response();
    let (at, to) = (X[HEAVY], y[HEAVY]);
    let x: Vec<f64> = (0..11).filter(|&i| i != HEAVY).map(|i| X[i]).collect();
    let rest: Vec<f64> = (0..11).filter(|&i| i != HEAVY).map(|i| y[i]).collect();
    let through = CurveFit::new(move |x, [a, b]| a * ((-b * x).exp() - (-b * at).exp()) + to)
        .names(["a", "b"]);
    let sigma = vec![1.0; 10];
    through
        .fit(Data::new(&x, &rest).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap(), start)
        .unwrap()
}

fn check(what: &str, fit: &Fit, weight: f64) {
    assert!(fit.converged(), "{what}: {}", fit.termination());
    assert_ne!(fit.termination(), Termination::ExactFit, "{what}");
    let exact = eliminated([4.0, 0.5]);
    assert!(exact.converged());
    let y = response();
    let value = fit.params()[0] * (-fit.params()[1] * X[HEAVY]).exp() + fit.params()[2];
    assert!(
        (value - y[HEAVY]).abs() < 1e-14 + 10.0 / weight / weight,
        "{what}: {value}, {}",
        y[HEAVY]
    );
    // A weight w moves the minimum by about 1/w² of an error.
    let near = 1e-6 + 100.0 / weight / weight;
    for k in 0..2 {
        let (found, error) = (fit.params()[k], exact.std_errors()[k]);
        let apart = (found - exact.params()[k]).abs() / error;
        assert!(apart < near, "{what}: parameter {k} {apart:e} errors away");
        let ratio = fit.std_errors()[k] / error - 1.0;
        assert!(ratio.abs() < near, "{what}: error of {k} off by {ratio:e}");
    }
    let cost = (fit.chi_square() / exact.chi_square() - 1.0).abs();
    assert!(
        cost < near + 1e-6,
        "{what}: chi-square {} and {}",
        fit.chi_square(),
        exact.chi_square()
    );
}

#[test]
fn heavy_points_are_constraints() {
    let y = response();
    for exponent in 4..=18 {
        let weight = 10f64.powi(exponent);
        let mut sigma = [1.0; 11];
        sigma[HEAVY] = 1.0 / weight;
        // The second start is on the heavy point.
        let c = y[HEAVY] - 4.0 * (-0.5 * X[HEAVY]).exp();
        for start in [[4.0, 0.5, 0.8], [4.0, 0.5, c], [1.0, 1.5, 0.0]] {
            let data = Data::new(&X, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
            let fit = decay().fit(data, start).unwrap();
            check(&format!("weight 1e{exponent} from {start:?}"), &fit, weight);
        }
    }
}

#[test]
fn every_entry_holds_heavy_points() {
    let y = response();
    for weight in [1e5, 1e9, 1e15] {
        let mut sigma = [1.0; 11];
        sigma[HEAVY] = 1.0 / weight;
        let start = [4.0, 0.5, 0.8];
        let data = || Data::new(&X, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
        let single = decay().fit(data(), start).unwrap();
        let joint = GlobalFit::new(&decay()).share(["b"]).fit([data()], start).unwrap();
        check(&format!("joint, weight {weight:e}"), joint.fit(), weight);

        let source = SliceSource::new(&X, &y).unwrap().sigma(&sigma).unwrap();
        let stream = Stream::new(source).sigma(Sigma::AbsoluteColumn).unwrap();
        let streamed = decay().fit_stream(stream, start).unwrap();
        check(&format!("stream, weight {weight:e}"), &streamed, weight);

        // Beside an ordinary fit, so that neighbours do not matter.
        let stack = [y.clone(), y.clone()].concat();
        let sigmas = [sigma, [1.0; 11]].concat();
        let batch = BatchData::shared(&X, &stack[..]).unwrap();
        let batch = batch.sigma(Sigma::Absolute(&sigmas)).unwrap();
        let fits = decay().fit_batch(batch, start).unwrap();
        let heavy = fits.get(0).unwrap();
        assert!(heavy.converged(), "{:?}", heavy.status());
        for k in 0..3 {
            let error = single.std_errors()[k];
            let apart = (heavy.params()[k] - single.params()[k]).abs();
            assert!(apart < 1e-6 * error, "weight {weight:e}: parameter {k} {apart:e} away");
            let ratio = heavy.std_errors()[k] / error;
            assert!((ratio - 1.0).abs() < 1e-6, "weight {weight:e}: error of {k} {ratio}");
        }
    }
}

/// Points far below the largest are not passed because the sum of squares is rounding of that one.
#[test]
fn a_fit_is_exact_only_if_every_point_is_passed() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (3.2 * x).exp()).collect();
    let growth = CurveFit::new(|x, [a, b]| a * (b * x).exp());
    let exact = growth.fit(Data::new(&x, &y).unwrap(), [1.0, 3.2]).unwrap();
    assert_eq!(exact.termination(), Termination::ExactFit);
    for size in [0.5, 1.0, 2.0] {
        let mut off = y.clone();
        off[0] += size;
        let fit = growth.fit(Data::new(&x, &off).unwrap(), [1.0, 3.2]).unwrap();
        assert!(fit.converged(), "{fit}");
        assert_ne!(fit.termination(), Termination::ExactFit, "{size}: {fit}");
    }
}
