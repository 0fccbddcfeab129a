//! The terms of fitted sums: values against formulas by hand, errors against those of propagated expressions.

use dualfit::models::{self, Model};
use dualfit::source::SliceSource;
use dualfit::{CurveFit, Data, Error, Fit, GlobalFit, Start, Stream};

fn abscissas() -> Vec<f64> {
    (0..200).map(|i| 0.1 * f64::from(i)).collect()
}

fn gauss(x: f64, c: f64, s: f64) -> f64 {
    (-((x - c) / s).powi(2) / 2.0).exp()
}

/// Two lines on a background, with a ripple that no model has.
fn spectrum(x: &[f64]) -> Vec<f64> {
    let value = |&x: &f64| {
        4.0 * gauss(x, 6.0, 0.8) + 3.0 / (1.0 + ((x - 12.0) / 0.9).powi(2)) + 0.3 * x + 2.0
            - 1.5 * (-x / 2.5).exp()
            + 0.03 * (37.0 * x).sin()
    };
    x.iter().map(value).collect()
}

fn composite() -> Model {
    models::parse("gaussian(a_) + 2*lorentzian(b_) - exponential(c_) + linear(bg_) + 0.5").unwrap()
}

/// Values of the terms of [`composite`] at one x, as formulas of the parameters.
const TERMS: [&str; 5] = [
    "a_amplitude/(a_sigma*sqrt(2*pi))*exp(-((X - a_center)/a_sigma)^2/2)",
    "2*b_amplitude/(pi*b_sigma*(1 + ((X - b_center)/b_sigma)^2))",
    "-c_amplitude*exp(-X/c_decay)",
    "bg_slope*X + bg_intercept",
    "0.5",
];

const START: [f64; 10] = [8.0, 6.0, 0.8, 4.2, 12.0, 0.9, 1.5, 2.5, 0.3, 1.5];

/// Values and errors of all components against the texts, and their sum against the curve.
#[track_caller]
fn are_terms(fit: &Fit, texts: &[&str]) {
    let at = [0.0, 3.3, 6.1, 12.7, 19.0];
    let (components, curve) = (fit.components(&at).unwrap(), fit.predict(&at).unwrap());
    assert_eq!(components.len(), texts.len());
    for (i, x) in at.iter().enumerate() {
        let mut sum = 0.0;
        for (component, text) in components.iter().zip(texts) {
            let told = fit.propagate(&text.replace('X', &format!("({x:?})"))).unwrap();
            let (value, error) = (component.values[i], component.std_errors[i]);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1e-3 + b.abs());
            assert!(near(value, told.value), "{}: {value}, {told:?}", component.name);
            assert!(near(error, told.std_error), "{}: {error}, {told:?}", component.name);
            sum += value;
        }
        // The quantile is that of the band of the curve.
        let (curve_band, bands) =
            (fit.confidence_band(&[*x], 0.95).unwrap(), fit.component_bands(&[*x], 0.95).unwrap());
        let quantile = (curve_band.upper[0] - curve_band.center[0]) / curve_band.std_errors[0];
        for (component, band) in components.iter().zip(&bands) {
            let (value, error) = (component.values[i], component.std_errors[i]);
            assert_eq!((band.center[0], band.std_errors[0]), (value, error));
            for (end, sign) in [(band.lower[0], -1.0), (band.upper[0], 1.0)] {
                let exact = value + sign * quantile * error;
                assert!((end - exact).abs() <= 1e-12 * (value.abs() + error), "{end} {exact}");
            }
        }
        assert_eq!(bands.len(), components.len());
        assert!((sum - curve[i]).abs() < 1e-13 * curve[i].abs().max(10.0), "{sum} {}", curve[i]);
    }
}

#[test]
fn components_are_the_terms_of_the_sum() {
    let x = abscissas();
    let y = spectrum(&x);
    let data = || Data::new(&x, &y).unwrap();
    let curve = CurveFit::from(composite());
    let fit = curve.fit(data(), START).unwrap();
    assert!(fit.converged(), "{fit}");
    are_terms(&fit, &TERMS);
    let names: Vec<String> =
        fit.components(&[1.0]).unwrap().into_iter().map(|component| component.name).collect();
    assert_eq!(names, ["a_", "b_", "c_", "bg_", "0.5"]);
    // The background by itself is known less well than the curve, in which errors cancel.
    let (background, band) =
        (&fit.components(&[6.0]).unwrap()[3], fit.confidence_band(&[6.0], 0.95).unwrap());
    assert!(background.std_errors[0] > band.std_errors[0]);

    // Tied, fixed and bounded parameters, other names, and errors of the sigma that was given.
    let tied = curve
        .tie("b_center", "2*a_center")
        .fix("c_decay")
        .bound("b_sigma", 1.2..)
        .derive("apart", "b_center - a_center");
    let fit = tied.clamp_start(true).fit(data(), START).unwrap();
    assert_eq!(fit.at_bound().len(), 1, "{fit}");
    let followed = TERMS.map(|text| text.replace("b_center", "(2*a_center)"));
    are_terms(&fit, &followed.each_ref().map(String::as_str));
    let renamed = CurveFit::from(models::linear("bg_") + models::step_atan(""))
        .names(["m", "b", "height", "c", "w"]);
    let fit = renamed.fit(data(), [0.3, 2.0, 1.0, 10.0, 2.0]).unwrap();
    are_terms(&fit, &["m*X + b", "height*(0.5 + atan((X - c)/w)/pi)"]);
}

#[test]
fn every_entry_knows_them() {
    let x = abscissas();
    let y = spectrum(&x);
    let curve = CurveFit::from(composite());
    let source = SliceSource::new(&x, &y).unwrap();
    are_terms(&curve.fit_stream(Stream::new(source), START).unwrap(), &TERMS);

    let other: Vec<f64> = y.iter().map(|y| 1.5 * y).collect();
    let sets = [Data::new(&x, &y).unwrap(), Data::new(&x, &other).unwrap()];
    let begin: Vec<(String, f64)> = composite().parameters().into_iter().zip(START).collect();
    let joint = GlobalFit::new(&curve).share(["a_center", "b_center"]).fit(sets, begin).unwrap();
    assert!(joint.fit().components([&[1.0], &[3.0]]).unwrap().is_empty());
    for set in 0..2 {
        are_terms(&joint.set(set).unwrap(), &TERMS);
    }
}

/// The names of the components of a text, and their values at 0.7 where all parameters are 1.25, 1.5, ….
fn parts(model: &Model) -> Vec<(String, f64)> {
    let p: Vec<f64> = (0..model.parameters().len()).map(|i| 1.25 + 0.25 * i as f64).collect();
    let (x, y) = ([0.2, 0.7, 1.0], [1.0; 3]);
    let mut curve = CurveFit::from(model);
    for name in model.parameters() {
        curve = curve.fix(&name);
    }
    let fit = curve.fit(Data::new(&x, &y).unwrap(), p).unwrap();
    let found = fit.components(&[0.7]).unwrap();
    let sum: f64 = found.iter().map(|component| component.values[0]).sum();
    let whole = fit.predict(&[0.7]).unwrap()[0];
    assert!((sum - whole).abs() < 1e-14 * whole.abs().max(1.0), "{model}: {sum} {whole}");
    assert!(found.iter().all(|component| component.std_errors == [0.0]));
    found.into_iter().map(|component| (component.name, component.values[0])).collect()
}

#[test]
fn names_tell_the_terms_apart() {
    let names = |text: &str| -> Vec<String> {
        parts(&models::parse(text).unwrap()).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names("gaussian"), ["gaussian"]);
    assert_eq!(names("gaussian(g_)"), ["g_"]);
    assert_eq!(names("gaussian + linear"), ["gaussian", "linear"]);
    assert_eq!(names("gaussian(a_) + linear(a_)"), ["a_gaussian", "a_linear"]);
    assert_eq!(names("constant(a_) - (sine(b_) - linear(c_))"), ["a_", "b_", "c_"]);
    assert_eq!(names("sine*exponential(env_)"), ["sine()*exponential(env_)"]);
    assert_eq!(
        names("sine*exponential(env_) + spline(0, 1, 2, 3, bg_)/2"),
        ["sine()*exponential(env_)", "bg_"]
    );
    assert_eq!(names("2*(constant(a_) - 3*linear(b_)) - 4"), ["a_", "b_", "4.0"]);
    assert_eq!(names("gaussian(g_) of linear(l_) + 1"), ["gaussian(g_) of linear(l_)", "1.0"]);
    assert_eq!(names("1/(constant(a_) + linear(b_))"), ["1.0/(constant(a_) + linear(b_))"]);
    let own = Model::expression("k*x\n  + 1", ["x"]).unwrap() + models::constant("");
    assert_eq!(
        parts(&own).into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["k*x + 1", "constant"]
    );
}

#[test]
fn signs_and_factors_are_part_of_the_values() {
    let values: Vec<f64> =
        parts(&models::parse("2*(constant(a_) - 3*constant(b_))/4 - (constant(c_) - 1)").unwrap())
            .into_iter()
            .map(|(_, value)| value)
            .collect();
    assert_eq!(values, [0.5 * 1.25, -1.5 * 1.5, -1.75, 1.0]);
    assert_eq!(parts(&-models::constant("")), [("constant".to_owned(), -1.25)]);
}

/// A term may have some of the variables only.
#[test]
fn variables_find_their_columns() {
    let model = models::linear("l_")
        + Model::expression("k*z", ["z"]).unwrap()
        + Model::expression("m*z*x", ["z", "x"]).unwrap().prefixed("p_");
    assert_eq!(model.variables(), ["x", "z"]);
    let x: Vec<f64> = (0..40).map(|i| f64::from(i % 7)).collect();
    let z: Vec<f64> = (0..40).map(|i| f64::from(i % 5) - 1.0).collect();
    let y: Vec<f64> =
        x.iter().zip(&z).map(|(x, z)| 2.0 * x + 1.0 - 3.0 * z + 0.5 * x * z).collect();
    let fit = CurveFit::from(model).fit(Data::new([&x, &z], &y).unwrap(), Start::Guess).unwrap();
    let found = fit.components([&[2.0], &[5.0]]).unwrap();
    let values: Vec<f64> = found.iter().map(|component| component.values[0]).collect();
    for (value, expected) in values.iter().zip([5.0, -15.0, 5.0]) {
        assert!((value - expected).abs() < 1e-9, "{values:?}");
    }
    assert!(matches!(fit.components(&[1.0]), Err(Error::ColumnCount { expected: 2, got: 1 })));
    assert!(matches!(fit.components([&[1.0][..], &[1.0, 2.0]]), Err(Error::LengthMismatch { .. })));
}

#[test]
fn a_model_of_one_piece_has_none() {
    let x = abscissas();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 1.0).collect();
    let data = || Data::new(&x, &y).unwrap();
    for curve in [
        CurveFit::new(|x, [a, b]| a * x + b),
        CurveFit::parse("a*x + b", ["x"]).unwrap(),
        CurveFit::native(2, |x, p| p[0] * x + p[1]),
    ] {
        let fit = curve.fit(data(), [1.0, 1.0]).unwrap();
        assert!(fit.components(&x).unwrap().is_empty());
    }
}

/// Undetermined parameters give infinite errors, only in the terms that depend on them.
#[test]
fn errors_of_what_is_undetermined_are_infinite() {
    let x = abscissas();
    let y = spectrum(&x);
    let model = models::constant("a_") + models::constant("b_") + models::gaussian("g_");
    let fit =
        CurveFit::from(model).fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 8.0, 6.0, 0.8]).unwrap();
    let found = fit.components(&[6.0]).unwrap();
    assert_eq!((found[0].std_errors[0], found[1].std_errors[0]), (f64::INFINITY, f64::INFINITY));
    assert!(found[2].std_errors[0].is_finite());
    assert!(fit.confidence_band(&[6.0], 0.9).unwrap().std_errors[0].is_finite());
}

/// A model of very many terms costs its size, not the square of it.
#[test]
fn long_sums_have_their_terms() {
    let sum =
        (0..2000).fold(models::linear("l_"), |sum, i| sum + models::constant(format!("a{i}_")));
    let mut curve = CurveFit::from(sum).fix("l_slope").fix("l_intercept");
    for i in 1..2000 {
        curve = curve.fix(&format!("a{i}_c"));
    }
    let (x, y) = ([0.0, 1.0, 2.0], [5.0; 3]);
    let fit = curve.fit(Data::new(&x, &y).unwrap(), vec![0.0; 2002]).unwrap();
    assert!((fit.params()[2] - 5.0).abs() < 1e-12, "{}", fit.params()[2]);
}
