//! Requests that the likelihood of counts rejects, and the messages.

use super::{counts, decay};
use dualfit::{CurveFit, Data, Error, Loss, Missing, Sigma};

const X: [f64; 4] = [0.0, 1.0, 2.0, 3.0];

#[test]
fn negative_counts_are_named() {
    let data = Data::new(&X, &[3.0, 2.0, -1.0, -0.5]).unwrap();
    let error = decay().fit(data.clone(), [3.0, 1.0, 0.1]).unwrap_err();
    assert_eq!(error, Error::NegativeCount { index: 2, value: -1.0 });
    assert!(error.to_string().contains("point 2"), "{error}");
    // Points that do not count may hold anything.
    let mask = [true, true, false, false];
    let line = counts(CurveFit::new(|x, [a]| a + 0.0 * x));
    let fit = line.fit(data.mask(&mask).unwrap(), [1.0]).unwrap();
    assert!((fit.params()[0] - 2.5).abs() < 1e-12);
    let holes = [3.0, f64::NAN, 2.0, 1.0];
    let holes = Data::new(&X, &holes).unwrap().missing(Missing::Omit);
    assert!((line.fit(holes, [1.0]).unwrap().params()[0] - 2.0).abs() < 1e-12);
}

#[test]
fn sigma_and_robust_losses_are_refused() {
    let y = [3.0, 2.0, 1.0, 0.0];
    let data = || Data::new(&X, &y).unwrap();
    let s = [1.0; 4];
    for sigma in [Sigma::Absolute(&s), Sigma::Relative(&s), Sigma::Constant(2.0)] {
        let error = decay().fit(data().sigma(sigma).unwrap(), [3.0, 1.0, 0.1]).unwrap_err();
        assert_eq!(error, Error::NotForCounts { what: "sigma" });
    }
    let robust = decay().loss(Loss::Huber { scale: 1.0 });
    let error = robust.fit(data(), [3.0, 1.0, 0.1]).unwrap_err();
    assert_eq!(error, Error::NotForCounts { what: "robust loss" });
}

#[test]
fn a_start_where_the_likelihood_is_zero_names_the_point() {
    let line = counts(CurveFit::new(|x, [a, b]| a * x + b));
    for (y, start, at, value) in [
        // Nothing expected where something was counted; where nothing was, 0 is a rate.
        ([0.0, 2.0, 0.0, 1.0], [0.0, 0.0], 1, 0.0),
        ([5.0, 4.0, 1.0, 1.0], [-2.0, 5.0], 3, -1.0),
        // A negative rate is none even where nothing was counted.
        ([5.0, 4.0, 1.0, 0.0], [-2.0, 5.0], 3, -1.0),
    ] {
        match line.fit(Data::new(&X, &y).unwrap(), start).unwrap_err() {
            Error::ModelNotPositiveAtStart { index, value: v, .. } => {
                assert_eq!((index, v), (at, value));
            }
            other => panic!("{other}"),
        }
    }
}

/// A step that leaves where the likelihood is defined is not taken: no bounds are needed if the
/// maximum is inside.
#[test]
fn steps_out_of_the_domain_are_shortened() {
    let line = counts(CurveFit::new(|x, [a, b]| a * x + b));
    let y = [9.0, 5.0, 3.0, 1.0];
    let fit = line.fit(Data::new(&X, &y).unwrap(), [0.0, 1e4]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    let f = fit.predict(&X).unwrap();
    assert!(f.iter().all(|&f| f > 0.0), "{f:?}");
    let score: f64 = f.iter().zip(y).map(|(f, y)| 1.0 - y / f).sum();
    assert!(score.abs() < 1e-8, "{score:e}");
}

#[test]
fn the_report_says_what_was_maximised() {
    let y = [30.0, 14.0, 5.0, 3.0];
    let fit = decay().fit(Data::new(&X, &y).unwrap(), [30.0, 1.0, 1.0]).unwrap();
    let report = fit.to_string();
    for part in ["Poisson maximum likelihood", "deviance"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains("chi-square"), "{report}");
}
