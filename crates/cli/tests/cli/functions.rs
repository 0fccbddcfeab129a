//! Tests of formulas: every function in models, ties and derived quantities, and misspelled names.

use crate::support::{DECAY, LINE, Place, value};

/// Returns calls of all functions in the guide, with the number of arguments shown there.
fn calls() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(folder.join("docs/guide/models.md")).unwrap();
    let list = guide.split("## Formulas as text").nth(1).unwrap();
    let list = list.split("\n## ").next().unwrap();
    let mut calls = Vec::new();
    for code in list.split('`').skip(1).step_by(2) {
        let name: String = code.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let arguments =
            code[name.len()..].strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        if let Some(arguments) = arguments.filter(|_| !name.is_empty()) {
            let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
            let written = |(i, argument): (usize, &&str)| match *argument {
                "condition" => "B < 2".to_owned(),
                // NaN for arguments below 1.
                _ if name.ends_with("cosh") => "(0.3*B + 1.1)".to_owned(),
                _ => format!("(0.3*B + 0.{})", i + 1),
            };
            let arguments: Vec<String> = arguments.iter().enumerate().map(written).collect();
            calls.push(format!("{name}({})", arguments.join(", ")));
        }
    }
    calls
}

#[test]
fn the_guide_lists_every_function() {
    let said = refused(&Place::with("d.csv", DECAY), "qqqqqqqq(time)", &[]);
    let known = said.split("known functions are ").nth(1).unwrap().split(';').next().unwrap();
    let mut known: Vec<&str> = known.split(", ").collect();
    let calls = calls();
    let mut listed: Vec<&str> = calls.iter().map(|call| call.split('(').next().unwrap()).collect();
    known.sort_unstable();
    listed.sort_unstable();
    assert_eq!(known, listed);
}

#[test]
fn every_function_works_in_every_place() {
    let calls = calls();
    assert!(calls.len() > 35, "{calls:?}");
    assert!(calls.iter().any(|call| call.starts_with("voigt(")), "{calls:?}");
    let place = Place::with("l.csv", LINE);
    // All functions in one process.
    let sum = |name: &str| {
        let calls: Vec<String> =
            calls.iter().map(|call| format!("0.001*{}", call.replace('B', name))).collect();
        calls.join(" + ")
    };
    let model = format!("s*t + o + ({})", sum("(0.2*t)"));
    let tie = format!("c={}", sum("d"));
    let derive = format!("q={}", sum("s"));
    let arguments = [
        "fit",
        "l.csv",
        "-m",
        &format!("{model} + c*0 + d*0*t"),
        "-s",
        "s=2,o=1,d=1",
        "--fix",
        "d",
        "--tie",
        &tie,
        "--derive",
        &derive,
    ];
    let run = place.run(&arguments);
    assert_eq!(run.code, 0, "{run:?}");
    let document = place.json(&arguments);
    assert!(value(&document, "c").is_finite(), "{document}");
    assert!(document["derived"][0]["std_error"].as_f64().is_some_and(|e| e > 0.0), "{document}");
    // Also one by one: the recognition of functions must not depend on other names in the formula.
    for call in ["voigt(t - c, s, g)", "min(t, a, c)", "if(t < c, a, b)", "clamp(t, a, b)"] {
        let run = place.run(&["fit", "l.csv", "-m", call, "-s", "a=1,b=2,c=1,s=1,g=1"]);
        assert!(!run.err.contains("unknown function") && !run.err.contains("no model"), "{run:?}");
    }
}

#[test]
fn a_profile_of_voigt_is_fitted() {
    let profile = |x: f64| 1.0 / (1.0 + (x - 1.0).powi(2));
    let rows = (0..60).map(|i| 0.1 * f64::from(i) - 2.0);
    let rows: String = rows.map(|x| format!("{x:?},{:?}\n", profile(x))).collect();
    let place = Place::with("p.csv", rows);
    let start = "a=3,c=0.8,s=0.01,g=1.1";
    let document =
        place.json(&["fit", "p.csv", "-m", "a*voigt(x - c, s, g)", "-s", start, "--fix", "s=0"]);
    // A Lorentzian of area π.
    assert!((value(&document, "g") - 1.0).abs() < 1e-9, "{document}");
    assert!((value(&document, "a") - std::f64::consts::PI).abs() < 1e-9, "{document}");
}

#[track_caller]
fn refused(place: &Place, model: &str, more: &[&str]) -> String {
    let run = place.run(&[&["fit", "d.csv", "-m", model], more].concat());
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{run:?}");
    run.err
}

#[test]
fn unknown_functions_are_called_so() {
    let place = Place::with("d.csv", DECAY);
    for (model, message) in [
        ("a*exb(-time)", "unknown function `exb` (did you mean `exp`?)"),
        ("a*voight(time - c, s, g)", "unknown function `voight` (did you mean `voigt`?)"),
        ("sine(time*a) + b*cosh(time)", "sine is a model of the library and cosh a function"),
        ("voigt(time, s)", "`voigt` takes 3 arguments (x, sigma, gamma), not 2"),
        ("polynomial(2.5)", "expected a whole number as degree"),
        ("gaussian(g_)*exp(-time)", "`dualfit models` lists the models' formulas"),
    ] {
        let said = refused(&place, model, &[]);
        assert!(said.contains(message), "{model}: {said}");
        assert!(!said.contains("there is no model `"), "{model}: {said}");
    }
    let said = refused(&place, "a*time + c", &["--derive", "q=ecp(a)"]);
    assert!(said.contains("--derive, column 1: unknown function `ecp` (did you mean"), "{said}");
    let said = refused(&place, "a*time + c", &["--tie", "c=sinn(a)"]);
    assert!(
        said.contains("--tie, column 1: unknown function `sinn` (did you mean `sin`?)"),
        "{said}"
    );
}

#[test]
fn a_name_that_is_almost_a_column_is_asked_about() {
    let place = Place::with("d.csv", DECAY);
    for name in ["Time", "TIME", "tme", "X"] {
        let meant = if name == "X" { "x" } else { "time" };
        let said = refused(&place, &format!("a*exp(-b*{name}) + c"), &["-s", "b=1"]);
        let column = format!("--model: \"{name}\" is no column; did you mean \"{meant}\"?");
        let variable =
            format!("`{name}` is no variable, but {meant}, which does not occur, is one");
        assert!(said.contains(&column) || said.contains(&variable), "{said}");
    }
    let line = Place::with("l.csv", LINE);
    let run = line.run(&["fit", "l.csv", "-m", "a*T + b"]);
    assert_eq!(
        run.err,
        "error: --model: \"T\" is no column; did you mean \"t\"? Write it so, or say --start T=1 if it is a parameter\n"
    );
    // A name declared as a parameter is accepted, and also a name next to a used variable.
    let run = line.run(&["fit", "l.csv", "-m", "0*a*x + T", "--start", "T=1", "--fix", "a=1"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = line.run(&["fit", "l.csv", "-m", "a*t + T"]);
    assert_eq!(run.code, 0, "{run:?}");
    let said = refused(&place, "a*time + b*other", &["--sigma", "sigma"]);
    assert_eq!(
        said,
        "error: --model: \"other\" is a column, but no variable; make it one with --x \"time,other\", or say --start other=1 if it is a parameter\n"
    );
}

#[test]
fn derived_quantities_have_names_of_their_own() {
    let place = Place::with("d.csv", DECAY);
    let with = |more: &[&str]| {
        let all = [&["-s", "k=1"], more].concat();
        refused(&place, "a*exp(-k*time) + c", &all)
    };
    for (derive, taken) in
        [("k=2*a", "a parameter"), ("signal=a", "a column"), ("time=a", "a column")]
    {
        let name = derive.split('=').next().unwrap();
        assert!(
            with(&["--derive", derive]).contains(&format!(
                "--derive {name}: {taken} is called so; give the quantity a name of its own"
            )),
            "{derive}"
        );
    }
    let said = with(&["--derive", "q=2*a", "--derive", "q=3*a"]);
    assert!(said.contains("--derive q: another one is called so"), "{said}");
}

#[test]
fn what_is_not_finite_has_no_error() {
    let place = Place::with("d.csv", DECAY);
    let arguments = ["fit", "d.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1"];
    for (formula, value) in [("q=ln(-a)", "NaN"), ("q=1/(a-a)", "inf"), ("q=exp(1000*a)", "inf")] {
        let run = place.run(&[&arguments[..], &["--derive", formula]].concat());
        let line = run.out.lines().find(|line| line.starts_with("q ")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["q", value, "not", "finite"], "{formula}");
        let document = place.json(&[&arguments[..], &["--derive", formula]].concat());
        assert!(document["derived"][0]["std_error"].is_null(), "{document}");
    }
}

/// Names of columns come from files and can contain any characters.
#[test]
fn names_of_columns_are_shown_as_one_line() {
    let place = Place::with("d.csv", LINE.replace("t,v", "\"t\nt\",v\u{202e}\u{7}"));
    let run = place.run(&["fit", "d.csv", "-m", "s*x + o", "--residuals", "r.csv"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.starts_with("d.csv: v\\u{202e}\\u{7} over t t, 6 points\n"), "{}", run.out);
    assert!(place.read("r.csv").starts_with("t t,v\\u{202e}\\u{7},model,residual\n"));
}
