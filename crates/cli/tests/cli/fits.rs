//! Tests of fits from the command line: real data of the examples against NIST's certified values, and reports.

use crate::support::{DECAY, LINE, Place, of_parameter, value};
use serde_json::json;
use std::fs;
use std::path::Path;

fn example(name: &str) -> Place {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    Place::with(name, fs::read(folder.join(name)).unwrap())
}

/// Compares with values and standard deviations of NIST StRD, to the accuracy of double precision.
fn certified(document: &serde_json::Value, certified: &[(&str, f64, f64)]) {
    assert_eq!(document["converged"], true, "{document}");
    for &(name, right, error) in certified {
        let (found, std_error) = (value(document, name), of_parameter(document, name, "std_error"));
        assert!((found / right - 1.0).abs() < 1e-7, "{name}: {found} and not {right}");
        assert!((std_error / error - 1.0).abs() < 1e-6, "{name}: ± {std_error} and not {error}");
    }
}

#[test]
fn mobility_is_as_certified() {
    let place = example("mobility.csv");
    let model = "(b1 + b2*x + b3*x^2 + b4*x^3)/(1 + b5*x + b6*x^2 + b7*x^3)";
    // The model is linear in the parameters of the numerator, which therefore need no start.
    let start = "b5=0.7,b6=0.3,b7=0.03";
    let document = place.json(&["fit", "mobility.csv", "-m", model, "-s", start]);
    certified(
        &document,
        &[
            ("b1", 1.2881396800E+03, 4.6647963344E+00),
            ("b2", 1.4910792535E+03, 3.9571156086E+01),
            ("b3", 5.8323836877E+02, 2.8698696102E+01),
            ("b4", 7.5416644291E+01, 5.5675370270E+00),
            ("b5", 9.6629502864E-01, 3.1333340687E-02),
            ("b6", 3.9797285797E-01, 1.4984928198E-02),
            ("b7", 4.9727297349E-02, 6.5842344623E-03),
        ],
    );
    assert_eq!(document["statistics"]["degrees_of_freedom"], 30);
    let squares = document["statistics"]["chi_square"].as_f64().unwrap();
    assert!((squares / 5.6427082397E+03 - 1.0).abs() < 1e-9);
}

#[test]
fn ultrasonic_is_as_certified() {
    let place = example("ultrasonic.csv");
    let model = "exp(-b1*distance)/(b2 + b3*distance)";
    let start = "b1=0.1,b2=0.01,b3=0.02";
    let document = place.json(&["fit", "ultrasonic.csv", "-m", model, "--start", start]);
    certified(
        &document,
        &[
            ("b1", 1.9027818370E-01, 2.1938557035E-02),
            ("b2", 6.1314004477E-03, 3.4500025051E-04),
            ("b3", 1.0530908399E-02, 7.9281847748E-04),
        ],
    );
}

#[test]
fn enso_is_as_certified_with_starts_for_the_periods_alone() {
    let place = example("enso.csv");
    let model = "b1 + b2*cos(2*pi*month/12) + b3*sin(2*pi*month/12) + b5*cos(2*pi*month/b4) \
                 + b6*sin(2*pi*month/b4) + b8*cos(2*pi*month/b7) + b9*sin(2*pi*month/b7)";
    let document = place.json(&["fit", "enso.csv", "-m", model, "-s", "b4=40,b7=25"]);
    certified(
        &document,
        &[
            ("b1", 1.0510749193E+01, 1.7488832467E-01),
            ("b4", 4.4311088700E+01, 9.4408025976E-01),
            ("b7", 2.6887614440E+01, 4.1612939130E-01),
            ("b9", 1.4966870418E+00, 2.5434468893E-01),
        ],
    );
}

#[test]
fn a_report_begins_with_what_was_fitted() {
    let place = Place::with("line.csv", LINE);
    let run = place.run(&["fit", "line.csv", "--model", "slope*t + offset"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines[0], "line.csv: v over t, 6 points");
    assert_eq!(lines[1], "model: slope*t + offset");
    assert!(lines[3].starts_with("converged: "), "{}", run.out);
    assert!(lines[5].starts_with("parameter "), "{}", run.out);
}

#[test]
fn a_document_says_everything_that_the_report_does() {
    let place = Place::with("decay.csv", DECAY);
    let arguments = ["fit", "decay.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1", "--fix", "c=0.5"];
    let document = place.json(&arguments);
    assert_eq!(document["model"], json!({"formula": "a*exp(-k*time) + c", "variables": ["time"]}));
    let data = json!({
        "file": "decay.csv", "x": ["time"], "y": "signal", "sigma": null,
        "rows_missing": 0, "rows_out_of_range": 0,
    });
    assert_eq!(document["data"], data);
    let states: Vec<&str> = document["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["estimated", "estimated", "fixed"]);
    assert_eq!(document["parameters"][2]["value"], 0.5);
    assert_eq!(document["parameters"][0]["lower"], json!(null), "no bound is no number");
    let variance = document["covariance"][0][0].as_f64().unwrap();
    let error = of_parameter(&document, "a", "std_error");
    assert!((variance.sqrt() / error - 1.0).abs() < 1e-12);
    assert_eq!(document["covariance"].as_array().unwrap().len(), 3);
    assert_eq!(document["computation"]["backend"], "CPU");
}

#[test]
fn a_fit_that_does_not_converge_is_reported_with_code_1() {
    let place = Place::with("decay.csv", DECAY);
    let arguments = ["-m", "a*exp(-k*time) + c", "-s", "k=50,a=1,c=1", "--max-evaluations", "2"];
    let run = place.run(&[&["fit", "decay.csv"], &arguments[..]].concat());
    assert_eq!(run.code, 1);
    assert!(run.out.contains("not converged: limit of evaluations reached"), "{}", run.out);
    let document = place.json(&[&["fit", "decay.csv"], &arguments[..]].concat());
    assert_eq!(document["converged"], false);
    assert_eq!(document["termination"], "MaxEvaluations");
}

#[test]
fn a_model_with_nothing_to_fit_is_evaluated() {
    let place = Place::with("line.csv", LINE);
    let run = place.run(&["fit", "line.csv", "-m", "a*t + b", "--fix", "a=2,b=1"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("nothing to fit: all parameters are fixed"), "{}", run.out);
}

#[test]
fn undetermined_parameters_have_no_number_for_their_error() {
    let place = Place::with("line.csv", LINE);
    let run = place.run(&["fit", "line.csv", "-m", "a*b*t + c", "-s", "a=1,b=1", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["parameters"][0]["state"], "undetermined", "{document}");
    assert_eq!(document["parameters"][0]["std_error"], json!(null));
    assert!(document["warnings"][0].as_str().unwrap().contains("1 % with b by"), "{document}");
}
