//! Saved programs and fits: the same bits after reading, and errors for damaged files.

#![cfg(feature = "json")]

use crate::support::tree;
use dualfit::error::{NameError, SavedError};
use dualfit::models;
use dualfit::program::Program;
use dualfit::{CurveFit, Data, Error, Estimator, Fit, Loss, Sigma};
use proptest::prelude::*;
use serde_json::{Value, json};
use tree::{COLUMNS, PARAMS, any_number, same};

fn points() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let y = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5 + 0.01 * (40.0 * x).sin()).collect();
    (x, y)
}

/// One of each kind: bounds, fixed, undetermined, robust, counts, without degrees of freedom.
fn fits() -> Vec<Fit> {
    let (x, y) = points();
    let data = || Data::new(&x, &y).unwrap();
    let decay = || CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap();
    let counts: Vec<f64> = y.iter().map(|y| (10.0 * y).round()).collect();
    let mut mask = vec![true; 40];
    mask[3] = false;
    vec![
        decay().fit(data(), [1.0, 1.0, 1.0]).unwrap(),
        decay().bound("c", 0.6..).fix("b").fit(data(), [1.0, 1.0, 1.0]).unwrap(),
        decay()
            .loss(Loss::Huber { scale: 0.01 })
            .fit(data().mask(&mask).unwrap(), [1.0, 1.0, 1.0])
            .unwrap(),
        decay()
            .estimator(Estimator::Poisson)
            .fit(Data::new(&x, &counts).unwrap(), [20.0, 1.0, 5.0])
            .unwrap(),
        decay().tie("c", "a/5").fit(data(), [1.0, 1.0, 1.0]).unwrap(),
        CurveFit::parse("(a + b)*x", ["x"]).unwrap().fit(data(), [1.0, 1.0]).unwrap(),
        CurveFit::from(models::exponential("e_") + models::linear("bg_"))
            .fix("bg_slope")
            .tie("bg_intercept", "e_amplitude/5")
            .fit(data(), [("bg_slope", 0.0)])
            .unwrap(),
        decay()
            .fit(
                Data::new(&x[..3], &y[..3]).unwrap().sigma(Sigma::Constant(0.1)).unwrap(),
                [1.0, 1.0, 1.0],
            )
            .unwrap(),
    ]
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
}

#[test]
fn a_saved_fit_predicts_and_prints_the_same() {
    let x: Vec<f64> = (0..3000).map(|i| 0.003 * f64::from(i)).collect();
    for fit in fits() {
        let text = fit.to_json().unwrap();
        let again = Fit::from_json(&text).unwrap();
        assert_eq!(fit.to_string(), again.to_string());
        assert_eq!(bits(&fit.predict(&x).unwrap()), bits(&again.predict(&x).unwrap()));
        assert_eq!(bits(fit.covariance().as_slice()), bits(again.covariance().as_slice()));
        assert_eq!(bits(fit.correlation().as_slice()), bits(again.correlation().as_slice()));
        assert_eq!(bits(&fit.std_errors()), bits(&again.std_errors()));
        let bands = [&fit, &again]
            .map(|fit| fit.confidence_band(&x[..50], 0.95).map(|band| bits(&band.upper)));
        assert_eq!(bands[0], bands[1]);
        let components = [&fit, &again].map(|fit| {
            let all = fit.components(&x[..50]).unwrap().into_iter();
            all.map(|c| (c.name, bits(&c.values), bits(&c.std_errors))).collect::<Vec<_>>()
        });
        assert_eq!(components[0], components[1]);
        assert_eq!(fit.stats(), again.stats());
        assert_eq!(again.to_json().unwrap(), text);
        // And through serde itself.
        let value = serde_json::to_value(&fit).unwrap();
        let third: Fit = serde_json::from_value(value).unwrap();
        assert_eq!(third.to_json().unwrap(), text);
    }
}

#[test]
fn a_fit_of_a_native_model_is_saved_without_it() {
    let (x, y) = points();
    let native = CurveFit::native(2, |x, p| p[0] * x + p[1]);
    let fit = native.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    let again = Fit::from_json(&fit.to_json().unwrap()).unwrap();
    assert_eq!(fit.to_string(), again.to_string());
    assert_eq!(again.predict(&x), Err(Error::Saved(SavedError::NoModel)));
    assert_eq!(again.confidence_band(&x, 0.95), Err(Error::Saved(SavedError::NoModel)));
    let data = || Data::new(&x, &y).unwrap();
    assert_eq!(again.diagnostics(data()), Err(Error::Saved(SavedError::NoModel)));
    assert_eq!(again.closest(data()), Err(Error::Saved(SavedError::NoModel)));

    let other = CurveFit::native(2, |x, p| p[0] * x + p[1]).names(["slope", "offset"]);
    assert!(matches!(again.clone().with_model(&other), Err(Error::Uncertainty(_))));
    let plane = CurveFit::native_multivariate(2, 2, |x, p| p[0] * x[0] + p[1] * x[1]);
    assert!(matches!(again.clone().with_model(&plane), Err(Error::ColumnCount { .. })));
    let whole = again.with_model(&native).unwrap();
    let band = |fit: &Fit| fit.confidence_band(&x, 0.95).unwrap();
    assert_eq!(bits(&band(&fit).upper), bits(&band(&whole).upper));
    assert_eq!(whole.to_string(), fit.to_string());
}

#[test]
fn a_saved_program_is_readable_and_fits_again() {
    let (x, y) = points();
    let model = CurveFit::parse("a*exp(-b*x)", ["x"]).unwrap();
    let program = model.program().unwrap();
    let text = program.to_json().unwrap();
    assert!(
        text.starts_with(r#"{"version":1,"variables":["x"],"parameters":["a","b"],"nodes":[{""#),
        "{text}"
    );
    assert!(text.contains(r#"{"apply":["exp",["#), "{text}");
    let again = Program::from_json(&text).unwrap();
    assert_eq!(again, program);
    let fits = [model, CurveFit::from_program(&again)]
        .map(|model| model.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap());
    assert_eq!(bits(fits[0].params()), bits(fits[1].params()));
    let twice = text.replace(r#"["a","b"]"#, r#"["a","a"]"#);
    let twice = CurveFit::from_program(&Program::from_json(&twice).unwrap());
    assert!(matches!(
        twice.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]),
        Err(Error::Name(NameError::Taken { .. }))
    ));
}

#[test]
fn fits_saved_before_a_start_had_its_time_are_read() {
    let fit = fits().swap_remove(0);
    let mut old: Value = serde_json::from_str(&fit.to_json().unwrap()).unwrap();
    let taken = old.pointer_mut("/stats").unwrap().as_object_mut().unwrap().remove("start_seconds");
    assert!(taken.is_some());
    let read = Fit::from_json(&old.to_string()).unwrap();
    assert_eq!(read.stats().start_seconds, 0.0);
    assert_eq!(read.params(), fit.params());
}

/// Documents of before have no components; a formula that reaches beyond the model is refused.
#[test]
fn components_are_checked() {
    let sum = fits().into_iter().find(|fit| !fit.components(&[1.0]).unwrap().is_empty()).unwrap();
    let text = sum.to_json().unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut whole: Value = serde_json::from_str(&text).unwrap();
        change(&mut whole);
        whole.to_string()
    };
    let old = changed(&|whole| drop(whole.as_object_mut().unwrap().remove("components")));
    let old = Fit::from_json(&old).unwrap();
    assert!(old.components(&[1.0]).unwrap().is_empty());
    assert_eq!(old.to_string(), sum.to_string());
    let place = "the component `e_` of the saved fit".to_owned();
    for (key, what, count) in [("parameters", "parameter", 4), ("variables", "variable", 1)] {
        let far = changed(&|whole| whole["components"][0][key][0] = json!(9));
        let expected = SavedError::Reference { place: place.clone(), what, index: 9, count };
        assert_eq!(refused(&far), expected);
    }
    let short = refused(&changed(&|whole| whole["components"][1]["parameters"] = json!([0])));
    let what = "parameters of a component";
    assert_eq!(short, SavedError::Length { what, of: "fit", expected: 2, got: 1 });
    // A native model has no terms, even if a document has some.
    let native = Fit::from_json(&changed(&|whole| whole["model"] = Value::Null)).unwrap();
    assert!(native.components(&[1.0]).unwrap().is_empty());
}

fn refused(text: &str) -> SavedError {
    match Fit::from_json(text) {
        Err(Error::Saved(error)) => error,
        other => panic!("{other:?} from {text}"),
    }
}

#[test]
fn what_is_wrong_is_said() {
    let text = fits()[0].to_json().unwrap();
    let changed = |pointer: &str, value: Value| {
        let mut whole: Value = serde_json::from_str(&text).unwrap();
        *whole.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        refused(&whole.to_string())
    };
    assert_eq!(
        changed("/version", json!(7)),
        SavedError::Version { what: "fit", found: 7, known: 1 }
    );
    assert_eq!(
        changed("/model/version", json!(0)),
        SavedError::Version { what: "program", found: 0, known: 1 }
    );
    let length = |what, expected, got| SavedError::Length { what, of: "fit", expected, got };
    assert_eq!(changed("/params", json!([1.0])), length("params", 3, 1));
    assert_eq!(changed("/covariance/half/rows", json!(4)), length("half", 3, 4));
    assert_eq!(changed("/covariance/half/values", json!([])), length("half", 9, 0));
    assert_eq!(
        changed("/covariance/rank", json!(u64::MAX)),
        length("directions of the covariance", 3, usize::MAX)
    );
    assert_eq!(changed("/names", json!(["a"])), length("parameters of the program", 1, 3));
    let mut twice: Value = serde_json::from_str(&text).unwrap();
    twice["names"] = json!(["a", "b", "a"]);
    let error = Fit::from_json(&twice.to_string()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the name `a` belongs to both parameter 0 and parameter 2; names must differ"
    );
    assert!(matches!(
        changed("/params/0", json!("many")),
        SavedError::Malformed { what: "fit", .. }
    ));
    assert!(matches!(changed("/stats/processor", json!("abacus")), SavedError::Malformed { .. }));
    let nodes =
        serde_json::from_str::<Value>(&text).unwrap()["model"]["nodes"].as_array().unwrap().len();
    let forward = changed("/model/nodes/0", json!({"apply": ["exp", [0]]}));
    let place = "node 0 of the saved program".to_owned();
    assert_eq!(
        forward,
        SavedError::Reference { place: place.clone(), what: "node", index: 0, count: 0 }
    );
    let parameter = changed("/model/nodes/0", json!({"parameter": 3}));
    assert_eq!(parameter, SavedError::Reference { place, what: "parameter", index: 3, count: 3 });
    let output = changed("/model/outputs/0", json!(nodes));
    let place = "output 0 of the saved program".to_owned();
    assert_eq!(output, SavedError::Reference { place, what: "node", index: nodes, count: nodes });
    let last = format!("/model/nodes/{}", nodes - 1);
    for (name, operands) in
        [("gaussian", 1), ("exp", 2), ("select", 2), ("+", 3), ("polygamma 99999999", 1)]
    {
        let unknown = changed(&last, json!({"apply": [name, vec![0; operands]]}));
        assert_eq!(
            unknown,
            SavedError::Operation { node: nodes - 1, operation: name.into(), operands }
        );
    }
    assert!(matches!(refused("{}"), SavedError::Malformed { .. }));
    assert!(matches!(refused(&"[".repeat(100_000)), SavedError::Malformed { .. }));
    assert!(refused("").to_string().ends_with("save it again"));
}

/// Replaces one value somewhere in a document by another.
fn mutate(value: &mut Value, choices: &mut impl Iterator<Item = usize>, new: &Value) {
    let mut next = || choices.next().unwrap_or(0);
    match value {
        Value::Array(items) if !items.is_empty() && next() % 8 > 0 => {
            let at = next() % items.len();
            match next() % 8 {
                0 => drop(items.remove(at)),
                1 => items.push(new.clone()),
                _ => mutate(&mut items[at], choices, new),
            }
        }
        Value::Object(fields) if !fields.is_empty() && next() % 16 > 0 => {
            let at = next() % fields.len();
            let key = fields.keys().nth(at).unwrap().clone();
            mutate(&mut fields[&key], choices, new);
        }
        other => *other = new.clone(),
    }
}

proptest! {
    #[test]
    fn every_program_comes_back(tree in tree::tree(5, any_number()), x in any_number(), p in any_number()) {
        let model = CurveFit::dynamic_multivariate(COLUMNS, PARAMS, |x, p| tree.evaluate(x, p));
        let program = model.program().unwrap();
        let again = Program::from_json(&program.to_json().unwrap()).unwrap();
        let (x, p) = ([x; COLUMNS], [p, 1.5, -0.3]);
        prop_assert!(same(program.evaluate(&x, &p), again.evaluate(&x, &p)));
        prop_assert_eq!(program.to_string(), again.to_string());
    }

    /// Any change of the text gives a fit or an error, and such a fit can be used.
    #[test]
    fn damage_never_panics(
        choices in proptest::collection::vec(0..1000usize, 24),
        kind in 0..7usize,
        new in prop_oneof![
            Just(json!(null)), Just(json!(-1)), Just(json!(0)), Just(json!(3)), Just(json!(u64::MAX)), Just(json!(1e300)),
            Just(json!("nan")), Just(json!("inf")), Just(json!([])), Just(json!([1.0])), Just(json!({})),
            Just(json!({"apply": ["+", [0, 1]]})), Just(json!({"apply": ["select", [2, 1, 0]]})),
            Just(json!({"apply": ["polygamma 3", [0]]})), Just(json!({"parameter": 1})), Just(json!(true)),
        ],
        cut in 0..20_000usize,
    ) {
        thread_local! { static TEXTS: Vec<String> = fits().iter().map(|fit| fit.to_json().unwrap()).collect(); }
        let text = TEXTS.with(|texts| texts[kind].clone());
        let mut value: Value = serde_json::from_str(&text).unwrap();
        mutate(&mut value, &mut choices.into_iter(), &new);
        if let Ok(fit) = Fit::from_json(&value.to_string()) {
            let _ = (fit.to_string(), fit.latex_table(), fit.to_json(), format!("{fit:?}"));
            let _ = (fit.predict(&[0.5, 1.0]), fit.predict([&[0.5], &[1.0]]), fit.confidence_band(&[1.0], 0.9));
        }
        let part = String::from_utf8_lossy(&text.as_bytes()[..cut % text.len()]);
        prop_assert!(Fit::from_json(&part).is_err());
    }
}
