//! Tests of batches.

use crate::support::{LINE, Place, value};

/// Returns a table with four wells, y = a·exp(−k·t) + 0.2 for k = 0.1, 0.2, 0.4 and 0.8, and a column of words.
fn plate() -> String {
    let mut text = String::from("time,well_A1,well_A2,well_B1,other,well_B2,note\n");
    for i in 0..25 {
        let t = 0.5 * f64::from(i);
        let decay =
            |a: f64, k: f64| format!("{:.6}", a * (-k * t).exp() + 0.2 + 0.01 * (7.0 * t).sin());
        let (a, b, c, d) = (decay(1.0, 0.1), decay(2.0, 0.2), decay(3.0, 0.4), decay(4.0, 0.8));
        text += &format!("{t},{a},{b},{c},{i},{d},fine\n");
    }
    text
}

const MODEL: [&str; 4] = ["-m", "a*exp(-k*time) + c", "-s", "k=0.3"];

fn with_model<'a>(files: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["batch"], files, &MODEL, more].concat()
}

#[test]
fn columns_are_chosen_by_patterns() {
    let place = Place::with("plate.csv", plate());
    let fitted = |y: &str| -> Vec<String> {
        let document = place.json(&with_model(&["plate.csv"], &["--x", "time", "--y", y]));
        let fits = document["fits"].as_array().unwrap();
        fits.iter().map(|fit| fit["y"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(fitted("well_*"), ["well_A1", "well_A2", "well_B1", "well_B2"]);
    assert_eq!(fitted("*_?1,well_A?"), ["well_A1", "well_B1", "well_A2"]);
    assert_eq!(fitted("well_B2,2"), ["well_B2", "well_A1"]);
}

#[test]
fn each_fit_is_as_alone() {
    let place = Place::with("plate.csv", plate());
    let document = place.json(&with_model(&["plate.csv"], &["--y", "well*"]));
    assert_eq!(document["converged"], 4);
    for (i, well) in ["well_A1", "well_A2", "well_B1", "well_B2"].into_iter().enumerate() {
        let alone = [&["fit", "plate.csv", "--y", well], &MODEL[..]].concat();
        let alone = place.json(&alone);
        let here = &document["fits"][i];
        assert_eq!(value(here, "k"), value(&alone, "k"));
        assert_eq!(here["covariance"], alone["covariance"]);
        assert!((value(here, "k") / (0.1 * f64::from(1 << i)) - 1.0).abs() < 0.1, "{well}");
    }
}

#[test]
fn results_are_a_table_on_the_terminal_and_a_file() {
    let place = Place::with("plate.csv", plate());
    for out in ["r.csv", "r.json"] {
        let run = place.run(&with_model(&["plate.csv"], &["--y", "well*", "--out", out]));
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        let lines: Vec<&str> = run.out.lines().collect();
        assert_eq!(lines[0], "model: a*exp(-k*time) + c");
        let titles: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(titles, ["fit", "a", "±", "k", "±", "c", "±", "reduced", "χ²"]);
        assert!(
            lines[3].starts_with("well_A1  ") && lines[6].starts_with("well_B2  "),
            "{}",
            run.out
        );
        assert!(lines[8].starts_with("4 of 4 fits converged in "), "{}", run.out);
    }
    let text = place.read("r.csv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let header = ["file", "y", "converged", "a", "a_error", "k", "k_error", "c", "c_error"];
    assert_eq!(rows[0][..9], header);
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[4][..3], ["plate.csv", "well_B2", "true"]);
    let document: serde_json::Value = serde_json::from_str(&place.read("r.json")).unwrap();
    assert_eq!(rows[2][5].parse::<f64>().unwrap(), value(&document["fits"][1], "k"));
}

#[test]
fn long_tables_are_cut_where_a_file_has_all_rows() {
    let names: Vec<String> = (0..30).map(|i| format!("w{i}")).collect();
    let rows = (0..6).map(|i| format!("{i}{}\n", format!(",{}", 2 * i + i % 2).repeat(30)));
    let table = format!("t,{}\n{}", names.join(","), rows.collect::<String>());
    let place = Place::with("p.csv", table);
    let run = place.run(&["batch", "p.csv", "-m", "s*t + o", "--out", "r.csv"]);
    assert!(run.out.contains("\nand 10 more, all in r.csv\n"), "{}", run.out);
    let run = place.run(&["batch", "p.csv", "-m", "s*t + o"]);
    assert!(run.out.contains("\nw29  "), "{}", run.out);
}

#[test]
fn files_are_fitted_one_by_one_and_a_bad_one_harms_no_other() {
    let place = Place::with("a.csv", LINE);
    place.put("b.csv", LINE.replace("5.1", "\"5,1\""));
    place.put("c.csv", LINE.replace("t,v", "time,volt"));
    let files = ["batch", "a.csv", "b.csv", "none.csv", "c.csv", "-m", "s*x + o"];
    let run = place.run(&files);
    assert_eq!(run.code, 1, "{run:?}");
    let line = |name: &str| run.out.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("a.csv: v ").contains("2.000000"), "{}", run.out);
    assert!(line("c.csv: volt ").contains("2.000000"), "{}", run.out);
    assert!(line("b.csv: v ").ends_with(
        "b.csv:4:3: \"5,1\" has a decimal comma, and b.csv:2:3 has \"1.1\"; write all decimals alike, or say --decimal-comma or --thousands"
    ));
    assert!(
        line("none.csv ").ends_with("none.csv: there is no such file; check its name and folder")
    );
    assert!(run.out.contains("2 of 4 fits converged in "), "{}", run.out);
    let document = place.json(&files);
    assert_eq!(
        document["fits"][2]["error"],
        "none.csv: there is no such file; check its name and folder"
    );
    assert_eq!(value(&document["fits"][0], "s"), value(&document["fits"][3], "s"));
}

#[test]
fn what_no_fit_survives_is_an_error() {
    let place = Place::with("plate.csv", plate());
    let refused = |arguments: &[&str], code: i32, message: &str| {
        let run = place.run(arguments);
        assert_eq!((run.code, run.err), (code, format!("error: {message}\n")));
    };
    let missing = "none.csv: there is no such file; check its name and folder";
    refused(&with_model(&["none.csv", "neither.csv"], &[]), 3, missing);
    refused(
        &with_model(&["plate.csv"], &["--y", "z*"]),
        2,
        "plate.csv: no column matches \"z*\"; the columns are time, well_A1, well_A2, well_B1, other, well_B2, note",
    );
    refused(
        &with_model(&["plate.csv"], &["--out", "r.xlsx"]),
        2,
        "--out r.xlsx: the extension selects the format; use .csv or .json",
    );
    refused(
        &["batch", "plate.csv", "-m", "a*time", "-s", "b=1"],
        2,
        "--start b: the model has no such parameter; it has a",
    );
}

#[test]
fn columns_that_do_not_converge_make_code_1() {
    let place = Place::with("plate.csv", plate());
    let run = place.run(&with_model(&["plate.csv"], &["--y", "well*", "--max-evaluations", "2"]));
    assert_eq!(run.code, 1);
    assert!(run.out.contains("  not converged: limit of evaluations reached\n"), "{}", run.out);
    assert!(run.out.contains("0 of 4 fits converged"), "{}", run.out);
}
