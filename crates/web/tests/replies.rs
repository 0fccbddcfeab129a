//! Replies to the requests of the page.

use dualfit_web::reply;
use serde_json::{Value, json};

const MISRA1A: &str = include_str!("../page/misra1a.csv");
const DECAY: &str = include_str!("../page/decay.csv");
const DOSE: &str = include_str!("../page/dose.csv");
const GAUSS2: &str = include_str!("../../../examples/data/gauss2.csv");

fn asked(request: &Value) -> Value {
    serde_json::from_str(&reply(&request.to_string())).unwrap()
}

/// Fits columns 0 and 1 of a table, with sigma in the given column.
fn fitted(text: &str, model: &str, sigma: Option<usize>) -> Value {
    asked(&json!({
        "request": "fit", "text": text, "name": "data.csv", "model": model, "x": 0, "y": 1,
        "sigma": sigma, "log_x": false, "log_y": false, "size": [640, 460],
    }))
}

fn number(reply: &Value, parameter: usize, what: &str) -> f64 {
    reply["parameters"][parameter][what].as_f64().unwrap()
}

fn error(reply: &Value) -> &str {
    reply["error"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn the_certified_values_of_nist_are_found_without_a_start() {
    let reply = fitted(MISRA1A, "b1*(1 - exp(-b2*x))", None);
    assert_eq!(reply["converged"], true, "{reply}");
    let certified = [[2.3894212918e2, 2.7070075241e0], [5.5015643181e-4, 7.2668688436e-6]];
    for (i, [value, error]) in certified.into_iter().enumerate() {
        assert!((number(&reply, i, "value") / value - 1.0).abs() < 1e-9, "{reply}");
        assert!((number(&reply, i, "error") / error - 1.0).abs() < 1e-6, "{reply}");
    }
    assert_eq!(reply["parameters"][0]["texts"], json!(["238.94213", "2.707"]));
    assert!(reply["picture"].as_str().unwrap().starts_with("<svg "));
    let (_, program) = include_str!("../examples/misra1a.rs").split_once("\n\n").unwrap();
    assert_eq!(reply["rust"], program);
}

#[test]
fn decimal_commas_and_units_are_understood() {
    // The variable is the column without its unit, or x or t.
    for model in ["a*exp(-t/tau) + c", "a*exp(-x/tau) + c"] {
        let reply = fitted(DECAY, model, Some(2));
        let names = ["a", "tau", "c"];
        let place = |name: &str| {
            let rows = reply["parameters"].as_array().unwrap();
            rows.iter().position(|row| row["name"] == name).unwrap()
        };
        for (name, truth) in names.into_iter().zip([42.0, 2.4, 3.0]) {
            let (value, error) =
                (number(&reply, place(name), "value"), number(&reply, place(name), "error"));
            assert!((value - truth).abs() < 4.0 * error, "{name}: {value} ± {error}");
        }
        let python = reply["python"].as_str().unwrap();
        assert!(python.contains("decimal=\",\"") && python.contains("sigma=table.iloc[:, 2]"));
    }
    let table = asked(&json!({ "request": "table", "text": DECAY, "name": "decay.csv" }));
    assert_eq!(table["columns"][1]["name"], "signal (mV)");
    assert_eq!(table["columns"][0]["rows"], 48);
}

#[test]
fn models_of_the_library_are_fitted_alone_and_as_a_sum() {
    let sum = "gaussian(first_) + gaussian(second_) + exponential(background_)";
    for (text, model) in [(GAUSS2, sum), (DOSE, "logistic4"), (DECAY, "exponential_offset()")] {
        let reply = fitted(text, model, None);
        assert_eq!(reply["converged"], true, "{reply}");
        assert!(reply["rust"].as_str().unwrap().contains("models::parse("));
    }
    let listed = asked(&json!({ "request": "models" }));
    let listed = listed["models"].as_array().unwrap();
    assert!(listed.len() > 40 && listed.iter().all(|model| model["name"] != "gaussian2d"));
    for model in listed {
        let name = model["name"].as_str().unwrap();
        assert!(!error(&fitted("x,y\n", name, None)).is_empty());
    }
}

#[test]
fn requests_that_cannot_be_fulfilled_are_explained() {
    let cases = [
        (MISRA1A, "b1*(1 - exp(-b2*x)", "column"),
        (MISRA1A, "b1*(1 - exb(-b2*x))", "exb"),
        (MISRA1A, "gausian", "gaussian"),
        (MISRA1A, "gaussian(g_) + liner(b_)", "linear"),
        (MISRA1A, "gaussian2d", "2 independent variables"),
        (DECAY, "a*exp(-b*time)", "neither x nor t"),
        ("", "a*x", "empty"),
        ("good morning", "a*x", "data.csv"),
        ("x,y\n1,2\n2,zwei\n3,4\n", "a*x", "data.csv:3"),
        ("x\n1\n2\n", "a*x", "column"),
    ];
    for (text, model, words) in cases {
        let reply = fitted(text, model, None);
        assert!(error(&reply).contains(words), "{model}: {reply}");
    }
    assert!(error(&fitted(MISRA1A, "a*x", Some(7))).contains('7'));
    for request in ["", "{}", "{\"request\":\"fly\"}", "null"] {
        assert!(serde_json::from_str::<Value>(&reply(request)).unwrap()["error"].is_string());
    }
}

#[test]
fn a_text_with_quotes_stays_within_its_literals() {
    let text = "a\"b,c\\d\n1,2\n2,3\n3,5\n";
    let request = json!({
        "request": "fit", "text": text, "name": "\"; import os #.csv", "model": "k*x", "x": 0, "y": 1,
        "sigma": null, "log_x": false, "log_y": false, "size": [640, 460],
    });
    let reply = asked(&request);
    assert!(
        reply["python"].as_str().unwrap().contains("read_csv(\"\\\"; import os #.csv\""),
        "{reply}"
    );
}
