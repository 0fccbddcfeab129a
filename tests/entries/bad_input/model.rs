//! Models and data that do not go together: too few points, parameters that nothing determines,
//! models that panic, data that are met exactly.

use crate::support::standard::*;
use dualfit::{CurveFit, Data, Error, Fit, Sigma, Termination, Warning, curve_fit};

fn fit(fitter: &CurveFit, start: impl Into<dualfit::Start>) -> Result<Fit, Error> {
    fitter.fit(Data::new(&abscissa(), &noisy()).unwrap(), start)
}

#[test]
fn row_27_fewer_points_than_parameters() {
    let (x, y) = ([0.0, 1.0], [3.0, 1.2]);
    let data = || Data::new(&x, &y).unwrap();
    let error = decay().fit(data(), START).unwrap_err();
    assert_eq!(error, Error::TooFewPoints { points: 2, parameters: 3 });
    assert_says(&error, &["2 point", "3 free", "fix", "allow_underdetermined(true)"]);
    // A fixed parameter needs no point.
    assert!(decay().fix("c").fit(data(), START).unwrap().converged());

    // With leave, one of many curves through both points, and no errors.
    let fit = decay().allow_underdetermined(true).fit(data(), START).unwrap();
    assert_all_close(&fit.predict(&x).unwrap(), &y, 1e-7);
    assert_eq!((fit.rank(), fit.degrees_of_freedom()), (2, 0));
    assert!(fit.std_errors().iter().all(|e| !e.is_finite()), "{:?}", fit.std_errors());
    assert!(warns(&fit, |w| matches!(w, Warning::RankDeficient { rank: 2, estimated: 3, .. })));
    let absolute = data().sigma(Sigma::Constant(0.1)).unwrap();
    let fit = decay().allow_underdetermined(true).fit(absolute, START).unwrap();
    assert!(fit.std_errors().iter().all(|e| e.is_infinite()), "{:?}", fit.std_errors());
}

#[test]
fn row_27_points_without_weight_do_not_count() {
    let (x, y) = (abscissa(), noisy());
    let sigma: Vec<f64> = (0..N).map(|i| if i < 2 { 0.1 } else { f64::INFINITY }).collect();
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let error = decay().fit(data, START).unwrap_err();
    assert_eq!(error, Error::TooFewPoints { points: 2, parameters: 3 });
}

#[test]
fn row_28_as_many_points_as_parameters() {
    let x = [0.0, 1.0, 3.0];
    let y = x.map(|x| value(x, &TRUTH));
    let fit = fit_decay(&x, &y).unwrap();
    assert!(fit.converged());
    assert_all_close(fit.params(), &TRUTH, 1e-9);
    assert!(fit.std_errors().iter().all(|e| e.is_nan()), "{:?}", fit.std_errors());
    assert!(fit.warnings().contains(&Warning::NoDegreesOfFreedom));
    assert_eq!((fit.degrees_of_freedom(), fit.reduced_chi_square()), (0, None));
    assert_eq!((fit.residual_std_error(), fit.adjusted_r_squared()), (None, None));

    // Known sigmas give real errors: (JᵀJ)⁻¹ at the solution.
    let sigma = [0.1, 0.2, 0.3];
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let fit = decay().fit(data, START).unwrap();
    assert_all_close(&fit.std_errors(), &solve_decay(&x, &y, Some(&sigma)).absolute, 1e-7);
    assert!(!fit.warnings().contains(&Warning::NoDegreesOfFreedom));
}

#[test]
fn row_29_one_point_one_parameter() {
    let line = CurveFit::new(|x, [a]| a * x).names(["a"]);
    let data = Data::new(&[2.0], &[6.0]).unwrap();
    let fit = line.fit(data.clone(), [1.0]).unwrap();
    assert!(fit.converged());
    assert_close(fit.params()[0], 3.0, 1e-12);
    assert!(fit.std_errors()[0].is_nan());
    assert!(fit.warnings().contains(&Warning::NoDegreesOfFreedom));
    let fit = line.fit(data.sigma(Sigma::Absolute(&[0.4])).unwrap(), [1.0]).unwrap();
    assert_close(fit.std_errors()[0], 0.2, 1e-12);
}

#[test]
fn row_30_no_parameters() {
    let error = fit(&CurveFit::dynamic(0, |x, _| 2.0 * x), [0.0; 0]).unwrap_err();
    assert_eq!(error, Error::NoParameters);
    assert_says(&error, &["no parameters"]);
    let none: [f64; 0] = [];
    let error = curve_fit(|x, []| 2.0 * x, &abscissa(), &noisy(), none).unwrap_err();
    assert_eq!(error, Error::NoParameters);
}

#[test]
fn row_30_all_parameters_fixed() {
    let by_name = decay().fix("a").fix("b").fix("c");
    let by_bounds = decay().bounds(START.map(|p| (p, p)));
    for fitter in [by_name, by_bounds] {
        let found = fit(&fitter, START).unwrap();
        assert_eq!(found.termination(), Termination::AllFixed);
        assert!(!found.converged());
        assert_eq!((found.params(), found.std_errors()), (&START[..], vec![0.0; 3]));
        assert_eq!((found.stats().iterations, found.degrees_of_freedom()), (0, 50));
        let residuals = abscissa().into_iter().zip(noisy()).map(|(x, y)| value(x, &START) - y);
        assert_close(found.cost(), 0.5 * residuals.map(|r| r * r).sum::<f64>(), 1e-12);
        let error = fit(&fitter, [2.0, -1e4, 0.3]);
        assert!(error.is_err(), "a model of exp(1e4 x) has no value to be evaluated");
    }
}

/// A straight line that panics at the points where `bad` says so.
fn panicking(bad: impl Fn(f64, &[f64]) -> bool + Send + Sync + 'static) -> CurveFit {
    let model = move |x: f64, p: &[f64]| {
        assert!(!bad(x, p), "no value at {x}");
        p[0] * x + p[1]
    };
    CurveFit::native(2, model).names(["a", "b"])
}

#[test]
fn row_33_model_panics() {
    let x: Vec<f64> = (0..20_000).map(f64::from).collect();
    let fitter = panicking(|x, p| x == 12_345.0 && p[1] > 5.0);
    let data = || Data::new(&x, &x).unwrap();
    let error = fitter.fit(data(), [0.5, 7.0]).unwrap_err();
    let Error::ModelPanicked { message, .. } = &error else { panic!("{error}") };
    assert_eq!(message, "no value at 12345");
    // Place and parameters: enough to call the model there by hand.
    assert_says(&error, &["panicked", "point 12345", "x = 12345", "a = 0.5", "b = 7"]);

    // Nothing is left in disorder: the same fitter fits from elsewhere, and the pool serves others.
    let fit = fitter.fit(data(), [0.5, -7.0]).unwrap();
    assert_close(fit.params()[0], 1.0, 1e-6);
    assert!(fit_decay(&abscissa(), &noisy()).unwrap().converged());
}

#[test]
fn row_33_model_panics_on_the_way() {
    let (x, y) = (abscissa(), abscissa());
    let fitter = panicking(|x, p| p[0] > 0.9 && x > 1.0);
    let error = fitter.fit(Data::new(&x, &y).unwrap(), [0.5, 0.0]).unwrap_err();
    assert!(matches!(error, Error::ModelPanicked { .. }), "{error}");
    assert_says(&error, &["no value at 1.04", "point 13", "a = "]);
}

#[test]
fn row_33_closure_panics_while_it_is_traced() {
    let (x, y) = (abscissa(), noisy());
    let error =
        curve_fit(|x, [a]| if y.len() == N { panic!("not today") } else { a * x }, &x, &y, [1.0]);
    let error = error.unwrap_err();
    assert!(matches!(&error, Error::ModelPanicked { message, .. } if message == "not today"));
    assert_says(&error, &["panicked", "not today", "trac"]);
}

#[test]
fn row_38_redundant_parameters() {
    // a·b·x: only the product is determined, Σxy/Σx².
    let (x, y) = (abscissa(), noisy());
    let found = fit(&CurveFit::new(|x, [a, b]| a * b * x).names(["a", "b"]), [1.0, 2.0]).unwrap();
    assert!(found.converged(), "{}", found.termination());
    let product =
        x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() / x.iter().map(|x| x * x).sum::<f64>();
    assert_close(found.params()[0] * found.params()[1], product, 1e-9);
    assert_eq!((found.rank(), found.condition()), (1, f64::INFINITY));
    assert_eq!(found.std_errors(), [f64::INFINITY; 2]);
    assert_eq!(found.undetermined(), ["a", "b"]);
    let combination = "a by 1 % with b by −1 %".to_owned();
    let expected = Warning::RankDeficient { rank: 1, estimated: 2, combination };
    assert!(found.warnings().contains(&expected), "{:?}", found.warnings());
    assert!(expected.to_string().contains("1 of 2"));
    assert!(found.covariance()[(0, 0)].is_infinite() && found.covariance()[(0, 1)].is_nan());
}

#[test]
fn row_39_unused_parameter() {
    let fitter = CurveFit::new(|x, [a, b, c, _d]| a * (-b * x).exp() + c);
    let found = fit(&fitter.names(["a", "b", "c", "d"]), [2.0, 1.0, 0.3, 7.0]).unwrap();
    let solution = solve_decay(&abscissa(), &noisy(), None);
    assert_all_close(&found.params()[..3], &solution.params, 1e-8);
    assert_eq!((found.param("d"), found.std_error("d")), (Some(7.0), Some(f64::INFINITY)));
    assert_eq!((found.rank(), found.undetermined()), (3, vec!["d"]));
    assert!(found.warnings().contains(&Warning::UnusedParameter { name: "d".into() }));
    assert!(found.warnings()[0].to_string().contains("`d` does not change the model"));
    assert_eq!(found.warnings().len(), 1, "it is said once: {:?}", found.warnings());
    // A column of zeros spans nothing: the scatter has n − rank = 47 degrees of freedom, and the
    // other errors are those of the fit without it.
    assert_all_close(&found.std_errors()[..3], &solution.relative, 1e-6);
}

#[test]
fn an_unused_parameter_hides_no_combination() {
    let model = CurveFit::new(|x, [a, b, c, _d]| a * b * x + c);
    let found = fit(&model.names(["a", "b", "c", "d"]), [2.0, 1.0, 0.3, 7.0]).unwrap();
    assert_eq!((found.rank(), found.undetermined()), (2, vec!["a", "b", "d"]));
    let combination = "a by 1 % with b by −1 %".to_owned();
    let open = Warning::RankDeficient { rank: 2, estimated: 4, combination };
    // And the data, a decay, reject the line.
    let [unused, deficient, Warning::CorrelatedResiduals { .. }] = found.warnings() else {
        panic!("{found}")
    };
    assert_eq!([unused, deficient], [&Warning::UnusedParameter { name: "d".into() }, &open]);
}

#[test]
fn row_40_flat_model() {
    let error = fit(&CurveFit::new(|x, [_, _]| 2.0 * x).names(["a", "b"]), [1.0, 2.0]).unwrap_err();
    assert_eq!(error, Error::NoParameterDependence { names: vec!["a".into(), "b".into()] });
    assert_says(&error, &["a, b", "does not depend", "same"]);
    let error = fit(&decay().fix("a").fix("b").fix("c"), START);
    assert!(error.is_ok(), "all fixed is no error");

    // Flat by its values only: every partial is zero.
    for model in [
        CurveFit::new(|x, [a, b]| a.floor() * x + b.floor()),
        CurveFit::new(|x, [a, b]| (a - 9.0).max(0.0) * x + (b - 9.0).max(0.0)),
        CurveFit::native(2, |x, p| p[0].floor() * x + p[1].floor()),
    ] {
        let found = fit(&model.names(["a", "b"]), [1.5, 2.5]).unwrap();
        assert_eq!(found.termination(), Termination::ZeroGradientAtStart);
        assert!(!found.converged());
        assert_eq!(found.params(), [1.5, 2.5]);
        assert_eq!((found.rank(), found.std_errors()), (0, vec![f64::INFINITY; 2]));
        let repeats = |w: &Warning| matches!(w, Warning::RankDeficient { .. });
        assert!(!warns(&found, repeats), "the termination says it: {:?}", found.warnings());
    }
}

#[test]
fn row_41_y_constant() {
    let (x, y) = (abscissa(), [7.0; N]);
    let fit = curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 1.0]).unwrap();
    assert!(fit.converged());
    assert!(fit.params()[0].abs() < 1e-12, "{fit}");
    assert_close(fit.params()[1], 7.0, 1e-12);
    assert_eq!((fit.r_squared(), fit.adjusted_r_squared()), (None, None));
    assert!(!warns(&fit, |w| matches!(w, Warning::PoorFit { .. })));
}

#[test]
fn row_42_all_x_equal() {
    let (x, y) = ([3.0; N], noisy());
    let line = CurveFit::new(|x, [a, b]| a * x + b).names(["a", "b"]);
    let fit = line.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    let mean = y.iter().sum::<f64>() / 50.0;
    assert_close(3.0 * fit.params()[0] + fit.params()[1], mean, 1e-10);
    assert_eq!((fit.rank(), fit.std_errors()), (1, vec![f64::INFINITY; 2]));
    assert_eq!(fit.undetermined(), ["a", "b"]);
    assert!(warns(&fit, |w| matches!(w, Warning::RankDeficient { rank: 1, estimated: 2, .. })));
    let few = Warning::FewDistinctPoints { distinct: 1, estimated: 2 };
    assert!(fit.warnings().contains(&few), "{:?}", fit.warnings());
}

#[test]
fn row_43_exact_data() {
    let (x, y) = (abscissa(), exact());
    let fit = fit_decay(&x, &y).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    assert!(fit.converged());
    assert_all_close(fit.params(), &TRUTH, 1e-12);
    // By the scatter the errors are nothing, by a known sigma what they always are.
    assert!(fit.std_errors().iter().all(|&e| (0.0..1e-13).contains(&e)), "{fit}");
    assert_close(fit.r_squared().unwrap(), 1.0, 1e-15);
    let sigma = [0.02; N];
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let fit = decay().fit(data, START).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    assert_all_close(&fit.std_errors(), &solve_decay(&x, &y, Some(&sigma)).absolute, 1e-8);
    assert_eq!(fit.rank(), 3);
}

#[test]
fn row_44_start_at_the_exact_solution() {
    let fit = decay().fit(Data::new(&abscissa(), &exact()).unwrap(), TRUTH).unwrap();
    assert_eq!(fit.termination(), Termination::ExactFit);
    assert_eq!(fit.params(), TRUTH);
    assert_eq!((fit.stats().iterations, fit.evaluations()), (0, 1));
    assert!(fit.std_errors().iter().all(|&e| (0.0..1e-13).contains(&e)), "{fit}");
}

/// A relative change of a parameter that is 0 to rounding says nothing.
#[test]
fn changes_of_parameters_near_zero_are_absolute() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    let curve = CurveFit::new(|x, [a, b]| (a + b) * x).names(["a", "b"]);
    for near in [1e-13, -3e-15] {
        let fit = curve.fit(Data::new(&x, &y).unwrap(), [2.0, near]).unwrap();
        let combination = "a by 1 % with b by −0.020".to_owned();
        let expected = Warning::RankDeficient { rank: 1, estimated: 2, combination };
        assert_eq!(fit.warnings()[0], expected, "{fit}");
    }
}
