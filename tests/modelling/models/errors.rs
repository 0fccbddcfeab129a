//! Errors of models: each is reported with its remedy, and nothing panics.

use dualfit::error::{ModelError, NameError};
use dualfit::models::{self, Model};
use dualfit::{CurveFit, Data, Error, Start};

fn of(model: &Model) -> Error {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let data = Data::new(&x, &x).unwrap();
    let error = CurveFit::from(model).fit(data, vec![1.0; model.parameters().len()]).unwrap_err();
    assert_eq!(model.curve().unwrap_err().to_string(), error.to_string());
    assert!(model.formula().is_err());
    error
}

#[test]
fn shared_names_are_reported_with_prefixes_as_remedy() {
    let error = of(&(models::gaussian("") + models::lorentzian("")));
    let text = error.to_string();
    assert!(text.contains("`amplitude`") && text.contains("gaussian(\"a_\")"), "{text}");
    assert!(matches!(error, Error::Name(NameError::Taken { .. })));
    of(&(models::gaussian("a_") * models::gaussian("a_")));
}

#[test]
fn prefixes_must_make_names() {
    for prefix in ["1_", "a b", "-", "(", "g_+"] {
        let error = of(&models::gaussian(prefix));
        assert!(matches!(error, Error::Model(ModelError::BadName { .. })), "{error}");
    }
    let taken = models::constant("") + Model::expression("a*c", ["c"]).unwrap();
    assert!(matches!(of(&taken), Error::Model(ModelError::BadName { .. })));
}

#[test]
fn numbers_and_nesting_have_limits() {
    for value in [f64::NAN, f64::INFINITY] {
        let error = of(&(models::linear("") * value));
        assert!(matches!(error, Error::BadOption { name: "number", .. }), "{error}");
    }
    let flat = models::gaussian2d("").of(models::linear("l_"));
    assert!(matches!(of(&flat), Error::Model(ModelError::NotNestable { variables: 2, .. })));
    let mut deep = models::linear("");
    for i in 0..300 {
        deep = models::linear(format!("a{i}_")).of(deep);
    }
    let error = of(&deep);
    assert!(matches!(error, Error::Model(ModelError::TooLarge { .. })), "{error}");
    let mut wide = models::quadratic("");
    for i in 0..60 {
        wide = models::quadratic(format!("a{i}_")).of(wide);
    }
    let error = of(&wide);
    assert!(matches!(error, Error::Model(ModelError::TooLarge { .. })), "{error}");
    assert!(models::polynomial(51, "").is_err());
    let mut right = models::linear("r_");
    for i in 0..300 {
        right = models::linear(format!("a{i}_")) / (models::constant(format!("b{i}_")) - right);
    }
    of(&right);
}

#[test]
fn long_sums_need_no_recursion() {
    let mut sum = models::constant("");
    for i in 0..3000 {
        sum = sum + models::constant(format!("a{i}_"));
    }
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let start = sum.guess(Data::new(&x, &x).unwrap()).unwrap();
    assert_eq!(start.len(), 3001);
}

#[test]
fn text_is_refused_with_its_column() {
    for (text, column, part) in [
        ("", 1, "expected a model"),
        ("gausian(g_)", 1, "did you mean `gaussian`"),
        ("linear(a_) + gauss(b_)", 14, "no model `gauss`"),
        ("linear(a_) linear(b_)", 12, "expected + - * /"),
        ("linear(a_", 10, "expected `)` but the text ends"),
        ("linear(a_) + ", 13, "the text ends"),
        ("polynomial(bg_)", 1, "needs a degree"),
        ("polynomial(2.5)", 12, "whole number"),
        ("polynomial(-1)", 12, "whole number"),
        ("polynomial(1, 2)", 1, "needs a degree"),
        ("spline(bg_)", 1, "needs its knots"),
        ("spline(0, 1, 2)", 1, "4 to 100 knots, not 3"),
        ("spline(0, 1, 2, 2, 3, bg_)", 1, "knot 3 (from 0) is 2.0"),
        ("spline(0, -a)", 12, "expected a number but found"),
        ("spline(0, 1 2)", 13, "expected `)`"),
        ("polynomial(99)", 1, "at most 50"),
        ("gaussian(3, a_)", 1, "takes a prefix only"),
        ("linear(a_) ? 2", 12, "not part of a formula"),
        ("(linear(a_)", 12, "expected `)`"),
    ] {
        match models::parse(text) {
            Err(Error::Parse { message, column: at, .. }) => {
                assert!(message.contains(part), "{text}: {message}");
                assert_eq!(at, column, "{text}: {message}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let deep = "(".repeat(100_000) + "linear";
    assert!(models::parse(&deep).is_err());
    assert!(models::parse(&"-".repeat(100_000)).is_err());
    assert!(models::parse(&"linear of ".repeat(100_000)).is_err());
    assert!(models::by_name("wibble").unwrap_err().to_string().contains("models::names()"));
}

/// Points that no estimate can like.
fn awkward() -> Vec<(Vec<f64>, Vec<f64>)> {
    let many: Vec<f64> = (0..50).map(f64::from).collect();
    let sizes = [1e200, -1e200, 1e-200, 0.0, 1e300, -1e300, 1.0];
    let mut all = vec![
        (vec![0.0], vec![0.0]),
        (vec![3.0], vec![-2.0]),
        (vec![1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0]),
        (vec![1.0, 2.0], vec![5.0, -5.0]),
        (many.clone(), vec![0.0; 50]),
        (many.clone(), vec![7.0; 50]),
        (vec![-4.0; 50], many.clone()),
        (many.iter().map(|x| -x).collect(), many.clone()),
        (vec![1.7e308, -1.7e308, 0.0], vec![1.7e308, -1.7e308, 1.0]),
        (vec![5e-324, 0.0, 1e-310], vec![5e-324, 0.0, 1e-310]),
    ];
    for size in sizes {
        let scaled = |v: &Vec<f64>| v.iter().map(|v| (v - 20.0) * size / 50.0).collect::<Vec<_>>();
        all.push((scaled(&many), many.clone()));
        all.push((many.clone(), scaled(&many)));
        all.push((scaled(&many), scaled(&many)));
    }
    all
}

#[test]
fn starts_are_finite_and_within_bounds_whatever_the_points() {
    for name in models::names() {
        let model = models::by_name(name).unwrap();
        for (x, y) in awkward() {
            let columns = vec![&x; model.variables().len()];
            let start = model.guess(Data::new(columns, &y).unwrap()).unwrap();
            for ((value, (low, high)), parameter) in
                start.iter().zip(model.bounds()).zip(model.parameters())
            {
                assert!(
                    value.is_finite() && (low..=high).contains(value),
                    "{name}: {parameter} = {value} for x {:?} y {:?}",
                    &x[..1],
                    &y[..1]
                );
            }
        }
    }
}

#[test]
fn composites_start_finite_whatever_the_points() {
    let text =
        "gaussian(a_) + lorentzian(b_)*linear(c_) - sine(d_)/constant(e_) + step_erf(f_) + 2";
    let model = models::parse(text).unwrap();
    for (i, (x, y)) in awkward().into_iter().enumerate() {
        let data = || Data::new(&x, &y).unwrap();
        let start = model.guess(data()).unwrap();
        assert!(start.iter().all(|value| value.is_finite()), "{start:?}");
        if i < 6 {
            // Too few points for the number of parameters is an error; nothing panics.
            let _ = CurveFit::from(&model).fit(data(), Start::Guess);
        }
    }
}
