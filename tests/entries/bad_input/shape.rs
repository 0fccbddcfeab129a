//! Types and shapes: code that does not compile, requests that are rejected, and the correct calls.
//!
//! Code that does not compile is tested as a conversion that does not exist.

use crate::support::standard::*;
use dualfit::arrays::{Columns, Values};
use dualfit::{
    Backend, CurveFit, Data, Error, Loss, Missing, Options, Sigma, Var, Warning, curve_fit,
};
use nalgebra::Complex;

/// True if a type implements a trait: if its bound holds, the inherent constant
/// hides the constant of the trait.
macro_rules! has {
    ($type:ty: $($bound:tt)+) => {{
        #[allow(dead_code)]
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        trait Otherwise {
            const HAS: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        #[allow(dead_code)]
        impl<T: $($bound)+> Probe<T> {
            const HAS: bool = true;
        }
        <Probe<$type>>::HAS
    }};
}

#[test]
fn row_31_model_of_another_length() {
    // A model has one value per point, so there is no length to get wrong; a Jacobian writes to a
    // slice with one place per parameter.
    let (x, y) = (abscissa(), noisy());
    let fit = fit_decay(&x, &y).unwrap();
    assert_eq!(fit.predict(&x).unwrap().len(), 50);
    assert_eq!(fit.predict(&x[..7]).unwrap().len(), 7);
    let line = || CurveFit::native(2, |x, p| p[0] * x + p[1]).names(["a", "b"]);
    let long = line().jacobian(|x, _, out| {
        out[0] = x;
        out[1] = 1.0;
        out[2] = 1.0;
    });
    let error = long.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap_err();
    assert!(matches!(error, Error::ModelPanicked { .. }), "{error}");
    assert_says(&error, &["index", "len is 2", "point 0"]);
}

#[test]
fn row_31_jacobian_that_leaves_a_place_empty() {
    let (x, y) = (abscissa(), noisy());
    let line = CurveFit::native(2, |x, p| p[0] * x + p[1]).names(["a", "b"]);
    let short = line.jacobian(|x, _, out| out[0] = x);
    // An element that was not written is 0 or NaN, never an earlier value.
    match short.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]) {
        Err(error) => assert_says(&error, &["`b`", "NaN", "point 0"]),
        Ok(fit) => assert_eq!(fit.undetermined(), ["b"]),
    }
}

#[test]
fn row_32_model_that_returns_one_number() {
    // A closure that returns an f64 does not compile; one number for all points has to be meant.
    assert!(has!(f64: Into<Var>));
    let (x, y) = (abscissa(), noisy());
    let mean = curve_fit(|_, [a]| a, &x, &y, [1.0]).unwrap();
    assert_close(mean.params()[0], y.iter().sum::<f64>() / 50.0, 1e-12);
}

#[test]
fn row_37_complex_model() {
    assert!(!has!(Complex<f64>: dualfit::Scalar));
    assert!(!has!(&'static [Complex<f64>]: Into<Values<'static>>));
    // Real and imaginary part one after the other, told apart by a second variable: the impedance
    // R/(1 + iωRC).
    let omega: Vec<f64> = (0..50).map(|i| 10f64.powf(0.1 * f64::from(i))).collect();
    let (r, c) = (150.0, 1e-5);
    let u = |w: &f64| w * r * c;
    let real = omega.iter().map(|w| r / (1.0 + u(w) * u(w)));
    let imaginary = omega.iter().map(|w| -r * u(w) / (1.0 + u(w) * u(w)));
    let z: Vec<f64> = real.chain(imaginary).collect();
    let w = [omega.clone(), omega].concat();
    let part: Vec<f64> = (0..100).map(|i| if i < 50 { 0.0 } else { 1.0 }).collect();
    let model = |[w, part]: [Var; 2], [r, c]: [Var; 2]| {
        let u = w * r * c;
        let size = r / (1.0 + u * u);
        part.eq(0.0).select(size, -u * size)
    };
    let fit = curve_fit(model, [&w, &part], &z, [100.0, 2e-5]).unwrap();
    assert!(fit.converged());
    assert_all_close(fit.params(), &[150.0, 1e-5], 1e-9);
}

#[test]
fn row_53_duplicate_x() {
    let x: Vec<f64> = abscissa().iter().flat_map(|&x| [x, x]).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| value(x, &TRUTH) + scatter(i)).collect();
    let fit = fit_decay(&x, &y).unwrap();
    assert_solved(&fit, &solve_decay(&x, &y, None));
    assert!(!warns(&fit, |w| matches!(w, Warning::FewDistinctPoints { .. })));

    // Two places cannot determine three parameters, however many points lie there.
    let x: Vec<f64> = (0..N).map(|i| (i % 2) as f64).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| value(x, &TRUTH) + scatter(i)).collect();
    let fit = fit_decay(&x, &y).unwrap();
    let few = Warning::FewDistinctPoints { distinct: 2, estimated: 3 };
    assert!(fit.warnings().contains(&few), "{:?}", fit.warnings());
    assert_eq!(fit.rank(), 2);
    assert!(warns(&fit, |w| matches!(w, Warning::RankDeficient { rank: 2, estimated: 3, .. })));
    // b and c, or a, can be exchanged: the null vector of the three partials has no zero.
    assert_eq!(fit.undetermined(), ["a", "b", "c"]);
}

#[test]
fn row_54_unsorted_x() {
    let order = |i: usize| (17 * i + 5) % N;
    let (x, y) = (abscissa(), noisy());
    let (x, y): (Vec<f64>, Vec<f64>) = (0..N).map(|i| (x[order(i)], y[order(i)])).unzip();
    assert_solved(&fit_decay(&x, &y).unwrap(), &solve_decay(&x, &y, None));
}

#[test]
fn row_56_single_precision() {
    let x: Vec<f32> = abscissa().iter().map(|&v| v as f32).collect();
    let y: Vec<f32> = noisy().iter().map(|&v| v as f32).collect();
    let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let (x64, y64) = (wide(&x), wide(&y));
    let solution = solve_decay(&x64, &y64, None);
    assert_solved(&decay().fit(Data::new(&x, &y).unwrap(), START).unwrap(), &solution);
    // Either may be single alone, and a slice does as well.
    assert_solved(&decay().fit(Data::new(&x[..], &y64).unwrap(), START).unwrap(), &solution);
    assert_solved(&decay().fit(Data::new(&x64, &y).unwrap(), START).unwrap(), &solution);
    let mut bad = y.clone();
    bad[4] = f32::NAN;
    let error = decay().fit(Data::new(&x, &bad).unwrap(), START).unwrap_err();
    assert_says(&error, &["`y`", "NaN", "index 4"]);
}

#[test]
fn row_57_integers() {
    // Integers that f64 represents exactly are data; the caller casts others.
    assert!(has!(&'static [i32]: Into<Values<'static>>));
    assert!(has!(&'static [u8]: Columns<'static>));
    assert!(!has!(&'static [i64]: Into<Values<'static>>));
    assert!(!has!(&'static [u64]: Columns<'static>));
    let counts: Vec<u16> = (0..20).map(|i| 3 * i + 7).collect();
    let places: Vec<i32> = (0..20).collect();
    let fit = curve_fit(|x, [a, b]| a * x + b, &places, &counts, [1.0, 1.0]).unwrap();
    assert_all_close(fit.params(), &[3.0, 7.0], 1e-12);
}

#[test]
fn row_58_strings_in_y() {
    assert!(!has!(&'static [&'static str]: Into<Values<'static>>));
    assert!(!has!(&'static Vec<String>: Into<Values<'static>>));
    assert!(has!(&'static Vec<f64>: Into<Values<'static>>), "the probe itself");
}

#[test]
fn row_59_none_in_y() {
    assert!(!has!(&'static [Option<f64>]: Into<Values<'static>>));
    // A missing value is NaN, and Missing says what to do with it.
    let some = |i: usize, y: f64| (i != 9).then_some(y);
    let x = abscissa();
    let y: Vec<f64> =
        noisy().iter().enumerate().map(|(i, &y)| some(i, y).unwrap_or(f64::NAN)).collect();
    let fit = decay().fit(Data::new(&x, &y).unwrap().missing(Missing::Omit), START).unwrap();
    assert_eq!(fit.omitted(), 1);
}

#[test]
fn row_60_y_of_two_dimensions() {
    assert!(!has!(&'static [Vec<f64>]: Into<Values<'static>>));
    assert!(!has!(&'static Vec<Vec<f64>>: Into<Values<'static>>));
    assert!(!has!(&'static [[f64; 2]]: Into<Values<'static>>));
    assert!(!has!(&'static nalgebra::DMatrix<f64>: Into<Values<'static>>));
}

#[test]
fn row_61_x_by_rows() {
    // 50 rows of two values look like 50 columns of length 2.
    let rows: Vec<[f64; 2]> = abscissa().iter().map(|&x| [x, x * x]).collect();
    let columns: Vec<&[f64]> = rows.iter().map(|r| &r[..]).collect();
    let error = Data::new(columns, &noisy()).unwrap_err();
    let Error::LengthMismatch { what, expected: 50, got: 2, .. } = &error else {
        panic!("{error}");
    };
    assert!(what.starts_with('x'), "{error}");
    assert_says(&error, &["x is given as k columns of length n"]);
}

#[test]
fn row_61_another_number_of_columns() {
    let (x, y) = (abscissa(), noisy());
    let plane = CurveFit::multivariate(|[x, z], [a, b]| a * x + b * z);
    let error = plane.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap_err();
    assert_eq!(error, Error::ColumnCount { expected: 2, got: 1 });
    assert_says(&error, &["2 independent variable", "1 column"]);
    let fit = fit_decay(&x, &y).unwrap();
    assert_eq!(fit.predict([&x, &x]).unwrap_err(), Error::ColumnCount { expected: 1, got: 2 });
}

#[test]
fn row_66_unknown_method() {
    // Choices are enums; there is no name to misspell.
    assert!(!has!(&'static str: Into<Loss>));
    assert!(!has!(&'static str: Into<Backend>));
    assert!(!has!(&'static str: Into<Options>));
    assert!(!has!(&'static str: Into<Sigma<'static>>));
    assert!(!has!(Loss: std::str::FromStr));
}

#[test]
fn row_73_start_of_strings() {
    assert!(!has!([&'static str; 3]: AsRef<[f64]>));
    assert!(!has!(Vec<String>: AsRef<[f64]>));
    assert!(!has!([i32; 3]: AsRef<[f64]>));
    assert!(has!([f64; 3]: AsRef<[f64]>), "the probe itself");
}
