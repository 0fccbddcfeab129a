//! Values and lengths of x, y and sigma.

use crate::support::standard::*;
use dualfit::{CurveFit, Data, Error, Fit, Matrix, Missing, Sigma, Var, curve_fit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The usual y with some values replaced.
fn y_with(replaced: &[(usize, f64)]) -> Vec<f64> {
    let mut y = noisy();
    replaced.iter().for_each(|&(i, v)| y[i] = v);
    y
}

fn without(values: &[f64], index: usize) -> Vec<f64> {
    let others = values.iter().enumerate().filter(|&(i, _)| i != index);
    others.map(|(_, &v)| v).collect()
}

/// Error of `CurveFit::fit` for these sigmas.
fn refused_sigma(sigma: &[f64]) -> Error {
    let (x, y) = (abscissa(), noisy());
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(sigma)).unwrap();
    let error = decay().fit(data, START).unwrap_err();
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Relative(sigma)).unwrap();
    let same = decay().fit(data, START).unwrap_err();
    assert_eq!(error.to_string(), same.to_string());
    error
}

/// Two ways to say one thing lead to one fit.
#[track_caller]
fn assert_same_fit(one: &Fit, other: &Fit) {
    assert_eq!(one.termination(), other.termination());
    assert_all_close(one.params(), other.params(), 1e-9);
    assert_all_close(&one.std_errors(), &other.std_errors(), 1e-8);
    assert_close(one.cost(), other.cost(), 1e-10);
    assert_close(one.r_squared().unwrap(), other.r_squared().unwrap(), 1e-10);
    let texts = |fit: &Fit| fit.warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(texts(one), texts(other));
}

#[test]
fn row_01_empty_data() {
    let none: [f64; 0] = [];
    let error = Data::new(&none, &none).unwrap_err();
    assert_eq!(error, Error::EmptyData { given: 0, omitted: 0 });
    assert_says(&error, &["no data points", "at least one"]);
    let never = |_: Var, _: [Var; 1]| -> Var { panic!("the model was called") };
    assert!(matches!(curve_fit(never, &none, &none, [1.0]), Err(Error::EmptyData { .. })));

    let (x, y, nothing) = (abscissa(), noisy(), [false; N]);
    let masked = Data::new(&x, &y).unwrap().mask(&nothing).unwrap();
    let error = decay().fit(masked, START).unwrap_err();
    assert_eq!(error, Error::EmptyData { given: 50, omitted: 50 });
    assert_says(&error, &["no data points", "50 of 50", "masked"]);
}

#[test]
fn row_02_y_of_another_length() {
    let (x, y) = (abscissa(), noisy());
    let never = |_: Var, _: [Var; 1]| -> Var { panic!("the model was called") };
    for error in
        [Data::new(&x, &y[..49]).unwrap_err(), curve_fit(never, &x, &y[..49], [1.0]).unwrap_err()]
    {
        let Error::LengthMismatch { what, expected: 50, got: 49, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(what, "y");
        assert_says(&error, &["`y`", "49", "50", "one value per point"]);
    }
    let error = Data::new([&x[..], &x[..48]], &y).unwrap_err();
    assert_says(&error, &["`x column 1`", "48", "50", "columns"]);
    let error = Data::new(&x, &y).unwrap().mask(&[true; 51]).unwrap_err();
    assert_says(&error, &["`mask`", "51", "50"]);
}

#[test]
fn row_03_nan_in_y() {
    let (x, y) = (abscissa(), y_with(&[(3, f64::NAN)]));
    let error = fit_decay(&x, &y).unwrap_err();
    let Error::NonFinite { what, index: 3, value, count: 1, .. } = &error else {
        panic!("{error}");
    };
    assert!(what == "y" && value.is_nan());
    assert_says(&error, &["`y`", "NaN", "index 3", "Missing::Omit"]);
    let many = y_with(&[(3, f64::NAN), (7, f64::NAN), (49, f64::INFINITY)]);
    let error = fit_decay(&x, &many).unwrap_err();
    assert!(matches!(error, Error::NonFinite { index: 3, count: 3, .. }), "{error}");

    let data = Data::new(&x, &y).unwrap().missing(Missing::Omit);
    let fit = decay().fit(data, START).unwrap();
    assert_eq!((fit.omitted(), fit.points(), fit.degrees_of_freedom()), (1, 49, 46));
    assert_solved(&fit, &solve_decay(&without(&x, 3), &without(&y, 3), None));
}

#[test]
fn row_03_nan_in_y_is_found_before_the_model_is_called() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let model = move |x: f64, p: &[f64]| {
        counter.fetch_add(1, Ordering::Relaxed);
        value(x, p)
    };
    let (x, y) = (abscissa(), y_with(&[(3, f64::NAN)]));
    let fit = CurveFit::native(3, model).fit(Data::new(&x, &y).unwrap(), START);
    assert!(matches!(fit, Err(Error::NonFinite { .. })));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn row_03_nan_in_y_behind_a_mask_is_no_error() {
    let (x, y) = (abscissa(), y_with(&[(3, f64::NAN)]));
    let mask: Vec<bool> = (0..N).map(|i| i != 3).collect();
    let fit = decay().fit(Data::new(&x, &y).unwrap().mask(&mask).unwrap(), START).unwrap();
    assert_eq!((fit.omitted(), fit.points()), (1, 49));
    assert_solved(&fit, &solve_decay(&without(&x, 3), &without(&y, 3), None));
}

#[test]
fn row_04_infinity_in_y() {
    let x = abscissa();
    for (value, text) in [(f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let error = fit_decay(&x, &y_with(&[(11, value)])).unwrap_err();
        let Error::NonFinite { what, index: 11, value: found, count: 1, .. } = &error else {
            panic!("{error}");
        };
        assert!(what == "y" && *found == value);
        assert_says(&error, &["`y`", text, "index 11", "Missing::Omit"]);
        assert!(!error.to_string().contains("NaN"));
    }
}

#[test]
fn row_05_nan_in_x() {
    let (mut x, y) = (abscissa(), noisy());
    x[20] = f64::NAN;
    let error = fit_decay(&x, &y).unwrap_err();
    assert!(matches!(&error, Error::NonFinite { what, index: 20, count: 1, .. } if what == "x"));
    assert_says(&error, &["`x`", "NaN", "index 20", "Missing::Omit"]);

    let good = abscissa();
    let plane = CurveFit::multivariate(|[x, z], [a, b]| a * x + b * z);
    let error = plane.fit(Data::new([&good, &x], &y).unwrap(), [1.0, 1.0]).unwrap_err();
    assert_says(&error, &["`x column 1`", "NaN", "index 20"]);

    // NaN stays an error even where infinities are welcome.
    let data = Data::new(&x, &y).unwrap().allow_infinite_x(true);
    assert!(matches!(decay().fit(data, START), Err(Error::NonFinite { index: 20, .. })));
}

#[test]
fn row_06_infinity_in_x() {
    let (mut x, y) = (abscissa(), noisy());
    x[49] = f64::INFINITY;
    let error = fit_decay(&x, &y).unwrap_err();
    assert!(matches!(&error, Error::NonFinite { what, index: 49, .. } if what == "x"), "{error}");
    assert_says(&error, &["`x`", "inf", "index 49", "allow_infinite_x", "Missing::Omit"]);

    // With leave, the point counts at the model's limit: here exp(−∞) = 0, a linear problem.
    let limit = CurveFit::new(|x, [a, c]| a * (-x).exp() + c);
    let data = Data::new(&x, &y).unwrap().allow_infinite_x(true);
    let fit = limit.fit(data, [1.0, 1.0]).unwrap();
    let partials = |x: f64, p: &[f64]| (p[0] * (-x).exp() + p[1], vec![(-x).exp(), 1.0]);
    assert_eq!(fit.points(), 50);
    assert_solved(&fit, &solve(&x, &y, None, &[1.0, 1.0], partials));

    // Where a partial has no value there (x·exp(−b x) is ∞·0), the message says so.
    let data = Data::new(&x, &y).unwrap().allow_infinite_x(true);
    match decay().fit(data, START) {
        Ok(fit) => assert_all_close(fit.params(), &TRUTH, 0.05),
        Err(error) => assert_says(&error, &["`b`", "point 49", "x = inf"]),
    }
}

#[test]
fn row_12_sigma_of_another_length() {
    let (x, y, s) = (abscissa(), noisy(), [0.1; 49]);
    for sigma in [Sigma::Absolute(&s), Sigma::Relative(&s)] {
        let error = Data::new(&x, &y).unwrap().sigma(sigma).unwrap_err();
        assert!(matches!(error, Error::LengthMismatch { expected: 50, got: 49, .. }));
        assert_says(&error, &["`sigma`", "49", "50", "one standard deviation per point"]);
    }
    let error = Data::new(&x, &y)
        .unwrap()
        .sigma(Sigma::Covariance(&Matrix::from_fn(50, 49, |i, j| f64::from(u8::from(i == j)))))
        .unwrap_err();
    assert_says(&error, &["sigma", "49", "50", "one row and one column per point"]);
}

#[test]
fn row_13_one_sigma_zero() {
    for zero in [0.0, -0.0] {
        let mut sigma = [0.02; N];
        sigma[5] = zero;
        let error = refused_sigma(&sigma);
        assert!(matches!(error, Error::SigmaNotPositive { index: 5, value: 0.0 }), "{error}");
        assert_says(&error, &["sigma", "index 5", "infinite weight", "drop", "floor"]);
    }
}

#[test]
fn row_14_one_sigma_negative() {
    let mut sigma = [0.02; N];
    (sigma[5], sigma[8]) = (-0.02, f64::NEG_INFINITY);
    let error = refused_sigma(&sigma);
    assert_eq!(error, Error::SigmaNotPositive { index: 5, value: -0.02 });
    assert_says(&error, &["-0.02", "index 5", "positive"]);
    sigma[5] = 0.02;
    assert!(matches!(refused_sigma(&sigma), Error::SigmaNotPositive { index: 8, .. }));
}

#[test]
fn row_15_one_sigma_nan() {
    let mut sigma = [0.02; N];
    sigma[5] = f64::NAN;
    let error = refused_sigma(&sigma);
    let Error::NonFinite { what, index: 5, value, count: 1, .. } = &error else {
        panic!("{error}");
    };
    assert!(what == "sigma" && value.is_nan());
    assert_says(&error, &["`sigma`", "NaN", "index 5", "Missing::Omit"]);
}

#[test]
fn row_16_one_sigma_infinite() {
    // The point has no weight, however far off it is, and no degree of freedom.
    let (x, y) = (abscissa(), y_with(&[(7, 1e6)]));
    let mut sigma = vec![0.02; N];
    sigma[7] = f64::INFINITY;
    let rest = without(&sigma, 7);
    let solution = solve_decay(&without(&x, 7), &without(&y, 7), Some(&rest));
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Relative(&sigma)).unwrap();
    let fit = decay().fit(data, START).unwrap();
    assert_eq!((fit.ignored(), fit.omitted(), fit.points()), (1, 0, 49));
    assert_eq!(fit.degrees_of_freedom(), 46);
    assert_close(fit.cost(), solution.cost, 1e-9);
    assert_solved(&fit, &solution);
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let fit = decay().fit(data, START).unwrap();
    assert_all_close(&fit.std_errors(), &solution.absolute, 1e-6);
}

#[test]
fn row_17_all_sigma_zero() {
    let error = refused_sigma(&[0.0; N]);
    assert_eq!(error, Error::SigmaNotPositive { index: 0, value: 0.0 });
    let (x, y) = (abscissa(), noisy());
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(value)).unwrap_err();
        assert_says(&error, &["sigma", &value.to_string(), "positive"]);
    }
}

#[test]
fn row_18_all_sigma_infinite() {
    let error = refused_sigma(&[f64::INFINITY; N]);
    assert_eq!(error, Error::NoEffectiveData { points: 50 });
    assert_says(&error, &["50", "infinite sigma", "at least one finite sigma"]);
}

#[test]
fn row_19_sigma_matrix_not_positive_definite() {
    let (x, y) = (abscissa(), noisy());
    let refused = |change: &dyn Fn(&mut Matrix)| {
        let mut matrix = Matrix::from_diagonal(&[4e-4; N]);
        change(&mut matrix);
        let data = Data::new(&x, &y).unwrap().sigma(Sigma::Covariance(&matrix)).unwrap();
        decay().fit(data, START).unwrap_err()
    };
    let symmetric = |i: usize, j: usize, v: f64| {
        move |m: &mut Matrix| {
            m[(i, j)] = v;
            m[(j, i)] = v;
        }
    };
    // Indefinite, singular (a row twice), zero and negative variance, NaN: always the later row.
    for (error, row) in [
        (refused(&symmetric(7, 8, 8e-4)), 8),
        (refused(&symmetric(20, 30, 4e-4)), 30),
        (refused(&symmetric(5, 5, 0.0)), 5),
        (refused(&symmetric(6, 6, -4e-4)), 6),
        (refused(&symmetric(9, 9, f64::NAN)), 9),
        (refused(&|m| m[(12, 3)] = 1e-4), 12),
    ] {
        let Error::CovarianceNotPositiveDefinite { row: found, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(found, row);
        assert_says(&error, &["covariance matrix", "not positive definite", &format!("row {row}")]);
    }
}

#[test]
fn row_19_a_diagonal_matrix_is_a_sigma() {
    let (x, y) = (abscissa(), noisy());
    for size in [1e-20, 0.02, 1e20] {
        let sigma: Vec<f64> = (0..N).map(|i| size * (1.0 + (i % 3) as f64)).collect();
        let diagonal = sigma.iter().map(|s| s * s).collect::<Vec<f64>>();
        let matrix = Matrix::from_diagonal(&diagonal);
        let fit = |sigma: Sigma<'_>| {
            decay().fit(Data::new(&x, &y).unwrap().sigma(sigma).unwrap(), START).unwrap()
        };
        let whole = fit(Sigma::Covariance(&matrix));
        let solution = solve_decay(&x, &y, Some(&sigma));
        assert!(whole.converged(), "{}", whole.termination());
        assert_all_close(whole.params(), &solution.params, 1e-8);
        assert_all_close(&whole.std_errors(), &solution.absolute, 1e-6);
        assert_same_fit(&whole, &fit(Sigma::Absolute(&sigma)));
    }
}

#[test]
fn row_70_nan_in_y_where_sigma_is_infinite() {
    let (x, y) = (abscissa(), y_with(&[(7, f64::NAN)]));
    let mut sigma = vec![0.02; N];
    sigma[7] = f64::INFINITY;
    let data = || Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let error = decay().fit(data(), START).unwrap_err();
    assert!(matches!(error, Error::NonFinite { index: 7, count: 1, .. }));
    assert_says(&error, &["`y`", "index 7", "Missing::Omit"]);
    let fit = decay().fit(data().missing(Missing::Omit), START).unwrap();
    assert_eq!((fit.points(), fit.omitted() + fit.ignored()), (49, 1));
    let rest = without(&sigma, 7);
    let solution = solve_decay(&without(&x, 7), &without(&y, 7), Some(&rest));
    assert_all_close(fit.params(), &solution.params, 1e-8);
    assert_all_close(&fit.std_errors(), &solution.absolute, 1e-6);
}

#[test]
fn row_72_all_y_nan() {
    let (x, y) = (abscissa(), [f64::NAN; N]);
    let error = fit_decay(&x, &y).unwrap_err();
    assert!(matches!(error, Error::NonFinite { index: 0, count: 50, .. }), "{error}");
    assert_says(&error, &["`y`", "index 0", "50"]);
    let data = Data::new(&x, &y).unwrap().missing(Missing::Omit);
    let error = decay().fit(data, START).unwrap_err();
    assert_eq!(error, Error::EmptyData { given: 50, omitted: 50 });
    assert_says(&error, &["50 of 50", "omitted"]);
}

#[test]
fn row_75_one_sigma_for_all() {
    let (x, y, sigma) = (abscissa(), noisy(), vec![0.017; N]);
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.017)).unwrap();
    let fit = decay().fit(data, START).unwrap();
    let solution = solve_decay(&x, &y, Some(&sigma));
    assert_all_close(fit.params(), &solution.params, 1e-8);
    assert_all_close(&fit.std_errors(), &solution.absolute, 1e-6);
    assert_close(fit.cost(), solution.cost, 1e-10);
    // The same as an array of them, in every number; and R² does not depend on it at all.
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let array = decay().fit(data, START).unwrap();
    assert_same_fit(&fit, &array);
    let unknown = fit_decay(&x, &y).unwrap();
    assert_close(fit.r_squared().unwrap(), unknown.r_squared().unwrap(), 1e-10);
}
