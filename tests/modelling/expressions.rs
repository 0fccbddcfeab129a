//! Models that arrive as text: they fit with the bits of the closure that says the same, and what
//! cannot be read is refused with its place.

use dualfit::error::NameError;
use dualfit::{CurveFit, Data, Error, Mask, Scalar};

fn grid(n: usize, from: f64, to: f64) -> Vec<f64> {
    (0..n).map(|i| from + (to - from) * i as f64 / (n - 1) as f64).collect()
}

/// Values near `model` that no parameters give exactly.
fn disturbed(x: &[f64], model: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().enumerate().map(|(i, &x)| model(x) + 0.01 * (7.3 * i as f64).sin()).collect()
}

/// Fits a text and a closure to the same points and compares the parameters bit by bit.
fn same_fit(
    text: &str,
    closure: CurveFit,
    x: &[f64],
    y: &[f64],
    start: [f64; 3],
) -> Result<(), Error> {
    let parsed = CurveFit::parse(text, ["x"])?.fit(Data::new(x, y)?, start)?;
    let expected = closure.fit(Data::new(x, y)?, start)?;
    assert!(expected.converged(), "{text}");
    let bits = |p: &[f64]| p.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(parsed.params()), bits(expected.params()), "{text}");
    Ok(())
}

fn decay<T: Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
    a * (-b * x).exp() + c
}

fn peak<T: Scalar>(x: T, [height, center, width]: [T; 3]) -> T {
    height * (-((x - center) / width).powi(2) / 2.0).exp()
}

fn hinge<T: Scalar>(x: T, [y0, x0, slope]: [T; 3]) -> T {
    x.lt(x0).select(y0, y0 + slope * (x - x0).powf(1.5))
}

#[test]
fn a_text_fits_like_its_closure() -> Result<(), Error> {
    let x = grid(50, 0.1, 5.0);
    let y = disturbed(&x, |x| decay(x, [2.5, 1.3, 0.5]));
    let text = "amplitude * exp(-rate * x) + offset";
    same_fit(text, CurveFit::new(decay), &x, &y, [2.0, 0.5, 0.3])?;

    let y = disturbed(&x, |x| peak(x, [3.0, 2.1, 0.6]));
    let text = "height*exp(-((x - center)/width)^2/2)";
    same_fit(text, CurveFit::new(peak), &x, &y, [2.0, 2.4, 1.0])?;

    let y = disturbed(&x, |x| hinge(x, [1.0, 2.02, 0.7]));
    let text = "if(x < x0, y0, y0 + slope*(x - x0)**1.5)";
    let reordered = CurveFit::new(|x, [x0, y0, slope]| hinge(x, [y0, x0, slope]));
    same_fit(text, reordered, &x, &y, [2.0, 0.8, 0.5])
}

#[test]
fn a_text_may_have_several_variables() -> Result<(), Error> {
    let (xs, ys) = (grid(40, 0.0, 1.0), grid(40, 3.0, -2.0));
    let zs: Vec<f64> = xs.iter().zip(&ys).map(|(x, y)| 2.0 * x - 3.0 * y * y + 1.0).collect();
    let fit = CurveFit::parse("a*x + b*y^2 + c", ["x", "y"])?
        .fit(Data::new([&xs, &ys], &zs)?, [1.0, 1.0, 1.0])?;
    for (found, expected) in fit.params().iter().zip([2.0, -3.0, 1.0]) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
    Ok(())
}

#[test]
fn parameters_come_in_order_of_appearance() -> Result<(), Error> {
    let x = grid(20, 0.1, 2.0);
    let model = CurveFit::parse("τ*exp(-x*k_1) + pi*Offset - τ*x*e^2", ["x"])?;
    match model.fit(Data::new(&x, &x)?, [1.0; 9]) {
        Err(Error::ParameterCount { expected: 3, got: 9, names }) => {
            assert_eq!(names, ["τ", "k_1", "Offset"]);
        }
        other => panic!("{:?}", other.err()),
    }
    Ok(())
}

#[test]
fn a_text_of_many_terms_fits() -> Result<(), Error> {
    let x = grid(20, 0.1, 2.0);
    let y: Vec<f64> = x.iter().map(|x| 500.0 * 3.0 * x).collect();
    let text = format!("a*x{}", " + a*x".repeat(499));
    let fit = CurveFit::parse(&text, ["x"])?.fit(Data::new(&x, &y)?, [1.0])?;
    assert!((fit.params()[0] - 3.0).abs() < 1e-9);
    Ok(())
}

#[test]
fn a_text_without_parameters_cannot_be_fitted() -> Result<(), Error> {
    let x = grid(20, 0.1, 2.0);
    let data = Data::new(&x, &x)?;
    let result = CurveFit::parse("sin(x) + 1", ["x"]).and_then(|model| model.fit(data, [0.0; 0]));
    assert_eq!(result.err(), Some(Error::NoParameters));
    Ok(())
}

/// Error of `CurveFit::parse` for a text that it rejects.
fn refusal(text: &str) -> Error {
    CurveFit::parse(text, ["x"]).err().unwrap_or_else(|| panic!("{text} was accepted"))
}

#[test]
fn what_cannot_be_read_is_shown_with_its_place() {
    let message = "no operator between `2` and `x`; to multiply, write 2*x".to_owned();
    let text = "β + 2x".to_owned();
    let error = refusal(&text);
    assert_eq!(error, Error::Parse { message, column: 6, text });
    let shown = error.to_string();
    assert!(shown.starts_with("cannot read the expression, column 6: "), "{shown}");
    assert!(shown.ends_with("\n  β + 2x\n       ^"), "{shown}");

    for (text, place) in [
        ("", 1),
        ("a*", 3),
        ("a*(x + 1", 9),
        ("sin(x, 2)", 1),
        ("a + foo(x)", 5),
        ("a*x < 1", 1),
        ("a + inf", 5),
    ] {
        let error = refusal(text);
        assert!(matches!(error, Error::Parse { column, .. } if column == place), "{text}: {error}");
    }
}

#[test]
fn hostile_texts_are_refused_and_the_refusal_prints() {
    for text in [
        "(".repeat(300_000),
        "-".repeat(300_000) + "x",
        "2^".repeat(300_000) + "x",
        "a+".repeat(100_000) + "$",
        "a".repeat(3_000_000),
        "🦀".repeat(1000),
    ] {
        assert!(refusal(&text).to_string().contains("cannot read the expression"));
    }
}

/// A letter that differs from an unused variable's only in its case is not made a parameter.
#[test]
fn a_variable_in_the_wrong_case_is_asked_about() -> Result<(), Error> {
    let refused = CurveFit::parse("a*exp(-b*T) + c", ["t"]).unwrap_err();
    let Error::Parse { message, column, .. } = refused else { panic!("{refused}") };
    assert_eq!(column, 10);
    assert!(message.starts_with("`T` is no variable, but t, which does not occur, is one"));
    // Beside the variable it is a parameter as any other.
    assert_eq!(CurveFit::parse("exp(-t/T)", ["t"])?.parameters(), ["T"]);
    assert_eq!(CurveFit::parse("a + b", ["x"])?.parameters(), ["a", "b"]);
    Ok(())
}

#[test]
fn unknown_functions_are_named_with_the_nearest() {
    for (text, meant) in [("exb(x)", "exp"), ("a*voight(x, a, b)", "voigt"), ("Sin(x)", "sin")] {
        let message = refusal(text).to_string();
        assert!(message.contains("unknown function"), "{message}");
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{message}");
    }
}

#[test]
fn derived_quantities_need_names_of_their_own() -> Result<(), Error> {
    let (x, y) = (grid(9, 0.0, 1.0), grid(9, 1.0, 3.1));
    let line = || CurveFit::parse("a*x + b", ["x"]);
    let taken = |curve: CurveFit| match curve.fit(Data::new(&x, &y)?, [1.0, 1.0]) {
        Err(Error::Name(NameError::Taken { name, second, .. })) => Ok::<_, Error>((name, second)),
        other => panic!("{other:?}"),
    };
    assert_eq!(taken(line()?.derive("a", "2*b"))?, ("a".to_owned(), "a parameter".to_owned()));
    let twice = line()?.derive("q", "2*b").derive("q", "3*b");
    assert_eq!(taken(twice)?, ("q".to_owned(), "another one".to_owned()));
    Ok(())
}

/// Names go into reports, messages, pictures and LaTeX: there they are one visible word each.
#[test]
fn names_that_cannot_be_shown_are_refused() -> Result<(), Error> {
    let (x, y) = (grid(9, 0.0, 1.0), grid(9, 1.0, 3.1));
    let line = || CurveFit::new(|x, [a, b]| a * x + b);
    for name in ["a\nwarning: b", "a\u{1b}[31m", "\u{202e}ba", "a\u{0}", "a\u{2028}", "\u{feff}a"] {
        let unshowable = NameError::Unshowable { name: name.into() };
        assert!(!unshowable.to_string().contains(name), "{unshowable}");
        let refused = Error::Name(unshowable);
        let fit = line().names([name, "b"]).fit(Data::new(&x, &y)?, [1.0, 1.0]);
        assert_eq!(fit.unwrap_err(), refused);
        let fit = line().derive(name, "p0").fit(Data::new(&x, &y)?, [1.0, 1.0]);
        assert_eq!(fit.unwrap_err(), refused);
    }
    for name in ["µ", "温度"] {
        let fit = line().names([name, "b"]).fit(Data::new(&x, &y)?, [1.0, 1.0])?;
        assert_eq!(fit.names()[0], name);
    }
    Ok(())
}

/// Ties and derived quantities call parameters by their names; nothing calls a derived quantity.
#[test]
fn parameter_names_that_no_formula_can_contain_are_refused() -> Result<(), Error> {
    let (x, y) = (grid(9, 0.0, 1.0), grid(9, 1.0, 3.1));
    let line = || CurveFit::new(|x, [a, b]| a * x + b);
    for name in ["my a", "", "2a", "T₂ / ms", "a-b"] {
        let fit = line().names([name, "b"]).fit(Data::new(&x, &y)?, [1.0, 1.0]);
        assert_eq!(fit.unwrap_err(), Error::Name(NameError::NotAWord { name: name.into() }));
    }
    for name in ["a b", "T₂ / ms"] {
        let fit = line().derive(name, "2*p0").fit(Data::new(&x, &y)?, [1.0, 1.0])?;
        assert_eq!(fit.derived()[0].name, name);
    }
    Ok(())
}

#[cfg(feature = "json")]
#[test]
fn saved_fits_have_names_that_can_be_shown() -> Result<(), Error> {
    let (x, y) = (grid(9, 0.0, 1.0), grid(9, 1.0, 3.1));
    let line = CurveFit::new(|x, [a, b]| a * x + b).names(["slope", "offset"]);
    let text = line.fit(Data::new(&x, &y)?, [1.0, 1.0])?.to_json()?;
    assert!(dualfit::Fit::from_json(&text).is_ok());
    let tampered = text.replace("\"slope\"", "\"a\\u202eb\"");
    let refused = dualfit::Fit::from_json(&tampered).unwrap_err();
    assert!(refused.to_string().contains("a\\u{202e}b"), "{refused}");
    Ok(())
}

/// The error of a quantity that is not finite, or whose slope is not, is unknown and not 0.
#[test]
fn what_is_not_finite_has_no_error() -> Result<(), Error> {
    let x = grid(9, 0.0, 1.0);
    let y = disturbed(&x, |x| 2.0 * x + 1.0);
    let fit = CurveFit::parse("a*x + b", ["x"])?.fit(Data::new(&x, &y)?, [1.0, 1.0])?;
    for formula in ["ln(-a)", "1/(a - a)", "exp(1000*a)", "if(a > 0, 1e308, a)*10"] {
        let found = fit.propagate(formula)?;
        assert!(found.std_error.is_nan(), "{formula}: {found:?}");
    }
    assert!(fit.propagate("2*a")?.std_error > 0.0);
    Ok(())
}
