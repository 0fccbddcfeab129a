//! Tests of groups of rows (`--by`) and of columns of times.

use crate::support::{Place, of_parameter, value};

/// Returns three runs of y = a·exp(−k·t) with interleaved rows: k = 0.5 for all, a = 1, 2 and 3.
fn runs() -> String {
    let mut text = String::from("run,t,y\n");
    for i in 0..36 {
        let (run, t) = (["10", "2", "x y"][i % 3], 0.25 * (i / 3) as f64);
        let noise = 0.01 * (11.0 * i as f64).sin();
        text += &format!("{run},{t},{:.6}\n", (1 + i % 3) as f64 * (-0.5 * t).exp() + noise);
    }
    text
}

const MODEL: [&str; 4] = ["-m", "a*exp(-k*t)", "-s", "k=0.3"];

fn with<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", file], &MODEL[..], more].concat()
}

/// Returns the rows of one run as a separate table.
fn alone(run: &str) -> String {
    let rows = runs();
    let rows = rows
        .lines()
        .filter(|line| line.starts_with("run,") || line.starts_with(&format!("{run},")));
    rows.map(|row| format!("{row}\n")).collect()
}

#[test]
fn each_group_is_fitted_as_its_rows_alone() {
    let place = Place::with("runs.csv", runs());
    let document = place.json(&with("runs.csv", &["--by", "run"]));
    assert_eq!((document["by"].as_str(), document["converged"].as_u64()), (Some("run"), Some(3)));
    for (i, run) in ["10", "2", "x y"].into_iter().enumerate() {
        place.put("one.csv", alone(run));
        let one = place.json(&with("one.csv", &["--x", "t", "--y", "y"]));
        let here = &document["fits"][i];
        assert_eq!(here["group"], run);
        assert_eq!(here["parameters"], one["parameters"]);
        assert_eq!(here["covariance"], one["covariance"]);
    }
}

#[test]
fn groups_are_a_table_on_the_terminal_and_a_file() {
    let place = Place::with("runs.csv", runs());
    let run = place.run(&with("runs.csv", &["--by", "run", "--out", "r.csv"]));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let lines: Vec<&str> = run.out.lines().collect();
    let titles: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(titles, ["run", "a", "±", "k", "±", "reduced", "χ²"]);
    assert!(lines[3].starts_with("10 ") && lines[5].starts_with("x y "), "{}", run.out);
    assert!(lines[7].starts_with("3 of 3 fits converged in "), "{}", run.out);
    let text = place.read("r.csv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..6], ["file", "y", "group", "converged", "a", "a_error"]);
    assert_eq!(rows[3][..4], ["runs.csv", "y", "x y", "true"]);
    assert!((rows[3][4].parse::<f64>().unwrap() - 3.0).abs() < 0.05);
}

/// Compares a shared rate with the fit of one formula in which the run selects the amplitude.
#[test]
fn shared_parameters_are_fitted_to_all_groups_together() {
    let place = Place::with("runs.csv", runs());
    let arguments = with("runs.csv", &["--by", "run", "--share", "k"]);
    let document = place.json(&arguments);
    let joint = &document["joint"];
    assert_eq!(joint["converged"], true);
    let codes = runs().replace("10,", "1,").replace("x y,", "3,");
    place.put("codes.csv", codes);
    let select = "(a1*(2-u)*(3-u)/2 + a2*(u-1)*(3-u) + a3*(u-1)*(u-2)/2)*exp(-k*t)";
    let one = [
        "fit",
        "codes.csv",
        "--x",
        "run,t",
        "--y",
        "y",
        "-m",
        &select.replace('u', "run"),
        "-s",
        "k=0.3",
    ];
    let one = place.json(&one);
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-8 * b.abs(), "{a} {b}");
    near(value(joint, "k"), value(&one, "k"));
    near(of_parameter(joint, "k", "std_error"), of_parameter(&one, "k", "std_error"));
    for (i, fit) in document["fits"].as_array().unwrap().iter().enumerate() {
        assert_eq!(value(fit, "k"), value(joint, "k"));
        near(value(fit, "a"), value(&one, &format!("a{}", i + 1)));
    }
    let run = place.run(&arguments);
    assert!(run.out.contains("\njoint fit of 3 groups converged"), "{}", run.out);
    let run = place.run(&with("runs.csv", &["--by", "run", "--share", "rate"]));
    assert_eq!(run.code, 2);
    assert_eq!(run.err, "error: --share rate: the model has no such parameter; it has a, k\n");
}

#[test]
fn a_joint_fit_names_the_group_and_the_row() {
    let place = Place::with("runs.csv", runs());
    let refused = |start| {
        let more = ["-m", "a*ln(k*t)", "-s", start, "--by", "run", "--share", "k"];
        let run = place.run(&[&["fit", "runs.csv"][..], &more].concat());
        assert_eq!((run.code, run.err.lines().count()), (2, 1), "{run:?}");
        run.err
    };
    let one = refused("a=1,k=1");
    assert!(one.starts_with("error: 10: runs.csv:2:6: the model is -inf (t = 0)"), "{one}");
    let all = refused("k=1");
    let groups =
        "error: 3 of 3 groups cannot be fitted: 10, 2, x y; 10: runs.csv:2:6: the model is";
    assert!(all.starts_with(groups), "{all}");
    assert!(all.ends_with("; correct the rows or remove them from the file\n"), "{all}");
}

#[test]
fn a_bad_group_harms_no_other() {
    let place = Place::with("runs.csv", runs() + "2,9,NA\nlonely,1,1\n");
    let run = place.run(&with("runs.csv", &["--by", "run"]));
    assert_eq!(run.code, 1, "{run:?}");
    let line = |name: &str| run.out.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("2 ").contains("y has no value (1 such row); fill it in"), "{}", run.out);
    assert!(line("lonely ").contains("1 point(s) cannot determine 2"), "{}", run.out);
    assert!(run.out.contains("2 of 4 fits converged"), "{}", run.out);
    let run = place.run(&with("runs.csv", &["--by", "run", "--skip-missing"]));
    assert!(run.out.contains("3 of 4 fits converged"), "{}", run.out);
    let run = place.run(&with("runs.csv", &["--by", "run", "--share", "k"]));
    assert_eq!(run.code, 2);
}

#[test]
fn what_groups_cannot_have_is_refused() {
    let place = Place::with("runs.csv", runs() + ",1,1\n");
    let refused = |more: &[&str]| {
        let run = place.run(&with("runs.csv", more));
        assert_eq!((run.code, run.err.lines().count()), (2, 1), "{run:?}");
        run.err
    };
    assert!(refused(&["--by", "run"]).contains("runs.csv:38:1: column \"run\" has no value"));
    assert!(refused(&["--by", "rum"]).contains("did you mean \"run\"?"));
    assert!(refused(&["--by", "run", "--save", "f.json"]).contains("--save"));
    assert!(refused(&["--share", "k"]).contains("--by"));
    assert!(refused(&["--out", "r.csv"]).contains("--by"));
}

#[test]
fn times_are_seconds_since_the_first() {
    let rows: String = (0..6)
        .map(|i| format!("2026-03-29T0{}:59:5{i}+0{}:00;{i}\n", 1 + i / 3, 1 + i / 3))
        .collect();
    let place = Place::with("l.csv", format!("when;v\n{rows}"));
    let arguments = ["fit", "l.csv", "-m", "s*when + o"];
    let run = place.run(&arguments);
    assert_eq!(
        (run.code, run.err.as_str()),
        (0, "note: when is in seconds since 2026-03-29T00:59:50Z\n")
    );
    let document = place.json(&arguments);
    assert!((value(&document, "s") - 1.0).abs() < 1e-12, "{document}");
    assert_eq!(document["data"]["seconds_since"]["when"], "2026-03-29T00:59:50Z");
    place.put("a.csv", "when;v\n01/02/2026;1\n02/02/2026;2\n");
    let run = place.run(&["fit", "a.csv", "-m", "s*when + o"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.starts_with("error: a.csv:2:1: \"01/02/2026\" in column \"when\" does not say"),
        "{run:?}"
    );
}
