//! Predicted times of GPUs: `predictions.csv` is the output of the model, and `tests/device/run` shows it beside times.
#![cfg(unix)]

use super::root;
use std::process::Command;

/// Runs a command in the root of the project. Returns its output, or `None` if its program is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).current_dir(root()).output() else {
        println!("SKIP: {program} is not installed");
        return None;
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn predictions_are_the_output_of_the_model() {
    output("python3", &["tests/device/model.py", "--check"]);
}

/// Maximum relative error of the model for the measured times of an H200.
const ERROR: f64 = 0.15;

#[test]
fn the_model_reproduces_the_measured_times() {
    let Some(text) = output("python3", &["tests/device/model.py"]) else { return };
    let errors: Vec<f64> = text
        .lines()
        .filter(|line| line.contains(" measured "))
        .map(|line| line.rsplit(", ").next().unwrap().trim_end_matches('%').parse().unwrap())
        .collect();
    assert_eq!(errors.len(), 7, "{text}");
    assert!(errors.iter().all(|error| error.abs() <= 100.0 * ERROR), "{text}");
}

#[test]
fn times_stand_beside_predictions_and_goals() {
    let folder = tempfile::tempdir().unwrap();
    let spots = "1,000,000 Gaussians of 15 x 15 on a device/f64, resident";
    let decay = "decay on a device/device, resident/1000000";
    let times = format!("65000000\t{spots}\n93000\t{decay}\n77000\tdecay/of another size\n");
    std::fs::write(folder.path().join("times.txt"), times).unwrap();
    let script = r#"eval "$(sed -n '/^times() {/,/^}/p' tests/device/run)"
        here=tests/device out=$1 card="NVIDIA H200" PREDICTIONS=$1/predictions.csv times"#;
    let predictions = format!(
        "card,work,seconds,limit,goal,low,high\nH200,\"{spots}\",0.0325,fetch,0.05,0.02,0.04\nH200,\"{decay}\",0.0001,launches,0.0002,,\n"
    );
    std::fs::write(folder.path().join("predictions.csv"), predictions).unwrap();
    let Some(table) = output("bash", &["-c", script, "_", folder.path().to_str().unwrap()]) else {
        return;
    };
    let cells = |work: &str| {
        let line = table.lines().find(|line| line.contains(work)).expect(&table);
        line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cells(spots)[2..7], ["65", "32.5 (20 to 40)", "2.00", "50 not", "fetch"]);
    assert_eq!(cells(decay)[2..7], ["0.093", "0.1", "0.93", "0.2 met", "launches"]);
    assert_eq!(cells("of another size")[2..7], ["0.077", "-", "-", "-", ""]);
}
