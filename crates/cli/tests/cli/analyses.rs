//! Tests of contours, comparisons of models, differential evolution and covariance matrices of y.

use crate::support::{DECAY, LINE, Place, of_parameter, value};
use serde_json::{Value, json};

const T: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const V: [f64; 6] = [1.1, 2.8, 5.1, 7.1, 8.8, 11.1];
const FIT: [&str; 4] = ["fit", "l.csv", "-m", "s*t + o"];

#[track_caller]
fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * b.abs(), "{a} {b}");
}

#[track_caller]
fn refused(more: &[&str], message: &str) {
    let run = Place::with("l.csv", LINE).run(&[&FIT[..], more].concat());
    assert_eq!((run.code, run.err.as_str()), (2, format!("error: {message}\n").as_str()));
}

/// Returns the two sides of a group of arguments that cannot be used together.
fn apart(first: &str, second: &str) -> String {
    format!(
        "the argument '{first}' cannot be used with '{second}'; `dualfit --help` and `dualfit COMMAND --help` say what there is"
    )
}

/// For a straight line with known sigma, all points of a line have Σ((Δs·t + Δo)/σ)² = −2 ln(1 − level), the quantile
/// of chi-square with two degrees of freedom.
#[test]
fn the_contour_of_a_line_is_an_ellipse() {
    let place = Place::with("l.csv", LINE);
    for (more, levels) in [(&[][..], &[0.6827, 0.95_f64][..]), (&["--interval", "0.9"], &[0.9])] {
        let arguments = ["--sigma", "0.3", "--contour", "s,o", "--contour-plot", "c.svg"];
        let document = place.json(&[&FIT[..], &arguments, more].concat());
        let contour = &document["contour"];
        assert_eq!(contour["names"], json!(["s", "o"]));
        let (s, o) = (value(&document, "s"), value(&document, "o"));
        let lines = contour["lines"].as_array().unwrap();
        assert_eq!(lines.len(), levels.len());
        for (line, level) in lines.iter().zip(levels) {
            let quantile = -2.0 * (1.0 - *level).ln();
            near(line["excess"].as_f64().unwrap(), quantile, 1e-9);
            let path = line["paths"][0].as_array().unwrap();
            assert!(path.len() > 100 && line["paths"].as_array().unwrap().len() == 1);
            for point in path {
                let (ds, d0) = (point[0].as_f64().unwrap() - s, point[1].as_f64().unwrap() - o);
                let excess: f64 = T.iter().map(|t| ((ds * t + d0) / 0.3).powi(2)).sum();
                near(excess, quantile, 0.01);
            }
        }
        let svg = place.read("c.svg");
        assert!(svg.contains(">s</text>") && svg.contains(">o</text>"), "{svg}");
    }
    refused(&["--contour", "s,o"], "--contour s,o: say where to, with --contour-plot or --json");
    for names in ["s,s", "s", "s,o,s"] {
        let message =
            format!("--contour {names}: give two different parameters, as in --contour a,b");
        refused(&["--contour", names, "--json"], &message);
    }
    refused(
        &["--contour", "s,q", "--json"],
        "--contour q: the model has no such parameter; it has s, o",
    );
    refused(
        &["--contour", "s,o", "--fix", "o=1", "--json"],
        "`o` has no profile: it is fixed or follows from others; free it, and fit again",
    );
    refused(
        &["--contour", "s,o", "--contour-plot", "c.pdf"],
        "--contour-plot c.pdf: the extension selects the kind of picture; use .svg or .png",
    );
}

/// With known sigma, the weights are exp(−AIC/2) up to a factor, with AIC = chi-square + 2 per parameter; and the
/// difference of two chi-squares of models that differ by one parameter has the probability erfc(√(d/2)).
#[test]
fn models_are_weighed_by_their_criterion_and_tested() {
    let place = Place::with("l.csv", LINE);
    let others = ["--compare", "s*t", "--compare", "s*t + o + q*t^2"];
    let document = place.json(&[&FIT[..], &["--sigma", "0.3"], &others].concat());
    let models = document["comparison"].as_array().unwrap();
    let number = |i: usize, key: &str| models[i][key].as_f64().unwrap();
    assert_eq!(models.iter().map(|of| &of["estimated"]).collect::<Vec<_>>(), [2, 1, 3]);
    // Chi-square of the line through the origin: Σ(v − st)² with s = Σtv/Σt².
    let sum = |of: fn(f64, f64) -> f64| -> f64 { T.iter().zip(&V).map(|(&t, &v)| of(t, v)).sum() };
    let squares = sum(|_, v| v * v) - sum(|t, v| t * v).powi(2) / sum(|t, _| t * t);
    near(number(1, "chi_square"), squares / 0.09, 1e-9);
    let likelihood = |i: usize| {
        let k = models[i]["estimated"].as_f64().unwrap();
        (-0.5 * (number(i, "chi_square") + 2.0 * k)).exp()
    };
    let all: f64 = (0..3).map(likelihood).sum();
    for i in 0..3 {
        near(number(i, "weight"), likelihood(i) / all, 1e-9);
    }
    assert_eq!(models[0]["p_value"], Value::Null);
    for (i, gain) in [
        (1, number(1, "chi_square") - number(0, "chi_square")),
        (2, number(0, "chi_square") - number(2, "chi_square")),
    ] {
        near(number(i, "p_value"), upper_tail(gain), 1e-5);
    }
    let run = place.run(&[&FIT[..], &["--sigma", "0.3"], &others].concat());
    assert!(run.out.contains("\ncomparison of models: "), "{}", run.out);
    assert!(run.out.lines().any(|line| line.starts_with("s*t + o + q*t^2 ")), "{}", run.out);
}

/// Returns the probability that chi-square with one degree of freedom exceeds a value: the integral of the normal
/// density beyond the root, by Simpson's rule.
fn upper_tail(value: f64) -> f64 {
    let (low, n) = (value.sqrt(), 20_000);
    let step = 12.0 / f64::from(n);
    let density = |i: i32| (-0.5 * (low + step * f64::from(i)).powi(2)).exp();
    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    let integral: f64 = (0..=n).map(|i| weight(i) * density(i)).sum::<f64>() * step / 3.0;
    2.0 * integral / std::f64::consts::TAU.sqrt()
}

#[test]
fn options_for_parameters_apply_to_the_models_that_have_them() {
    let place = Place::with("d.csv", DECAY);
    let fit = ["fit", "d.csv", "-m", "a*exp(-k*time) + c", "--search", "never"];
    let more = ["--compare", "b/(1 + w*time)", "-s", "k=1,w=1", "--fix", "c=0.5"];
    let document = place.json(&[&fit[..], &more].concat());
    let compared = |i: usize| document["comparison"][i]["estimated"].as_u64().unwrap();
    assert_eq!((compared(0), compared(1)), (2, 2));
    assert_eq!(value(&document, "c"), 0.5);
    let other = place.json(&["fit", "d.csv", "-m", "b/(1 + w*time)", "-s", "w=1"]);
    let chi_square = other["statistics"]["chi_square"].as_f64().unwrap();
    near(document["comparison"][1]["chi_square"].as_f64().unwrap(), chi_square, 1e-6);
    let refused = |more: &[&str], message: &str| {
        let run = place.run(&[&fit[..], more].concat());
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.err.lines().any(|line| line.starts_with(&format!("error: {message}"))),
            "{run:?}"
        );
    };
    refused(
        &["--compare", "b*time", "-s", "q=1"],
        "--start q: the model has no such parameter; it has a, k, c",
    );
    refused(
        &["--compare", "gausian"],
        "--compare \"gausian\": column 1: there is no model `gausian`",
    );
    refused(
        &["--compare", "b*exp(-w*time)", "-s", "k=1"],
        "--compare \"b*exp(-w*time)\": no start is known for w",
    );
}

/// The points are a sine with a known frequency; a fit from far away misses it.
#[test]
fn differential_evolution_finds_what_one_start_misses() {
    let rows = (0..80).map(|i| 0.1 * f64::from(i));
    let rows = rows.map(|x| format!("{x},{}\n", 2.0 * (5.3 * x + 0.4).sin()));
    let place = Place::with("w.csv", rows.collect::<String>());
    let bounds = "a=0..10,w=0..10,p=-3.2..3.2";
    let fit = ["fit", "w.csv", "-m", "a*sin(w*x + p)", "-s", "w=2,p=0,a=1", "--bound", bounds];
    let missed = place.json(&fit);
    assert!((value(&missed, "w") - 5.3).abs() > 0.5, "{missed}");
    for seed in ["0", "7"] {
        let found = place.json(&[&fit[..], &["--evolution", "--seed", seed]].concat());
        near(value(&found, "w"), 5.3, 1e-9);
        near(value(&found, "p"), 0.4, 1e-9);
    }
    let run = place.run(&[&fit[..], &["--evolution"]].concat());
    assert!(run.out.contains("5 starts, "), "{}", run.out);
    refused(&["--evolution", "--multi-start", "3"], &apart("--evolution", "--multi-start <N>"));
    refused(
        &["--seed", "3"],
        "--seed 3: nothing is drawn; it belongs to --multi-start, --evolution or --bootstrap",
    );
}

/// Weighted least squares of a mean with the covariance σ²((1 − r)I + r·1): the mean of the values, with the variance
/// σ²(1 + (n − 1)r)/n.
#[test]
fn correlated_points_give_the_variance_of_closed_form() {
    let (sigma, r) = (0.5_f64, 0.3);
    let matrix = |n: usize| -> String {
        let entry = |i: usize, j: usize| sigma * sigma * if i == j { 1.0 } else { r };
        let row = |i: usize| (0..n).map(|j| format!("{:?}", entry(i, j))).collect::<Vec<_>>();
        (0..n).map(|i| row(i).join(",") + "\n").collect()
    };
    let place = Place::with("l.csv", LINE);
    place.put("c.csv", matrix(6));
    let fit = ["fit", "l.csv", "-m", "m + 0*t", "--covariance", "c.csv"];
    for (more, values) in [(&[][..], &V[..]), (&["--range", "t=2.."], &V[2..])] {
        let document = place.json(&[&fit[..], more].concat());
        let n = values.len() as f64;
        near(value(&document, "m"), values.iter().sum::<f64>() / n, 1e-9);
        let variance = sigma * sigma * (1.0 + (n - 1.0) * r) / n;
        near(of_parameter(&document, "m", "std_error"), variance.sqrt(), 1e-9);
        assert_eq!(document["data"]["covariance"], true);
    }
    // A diagonal matrix is a column of sigmas, also if it is relative.
    let text = LINE.replace('\n', ",0\n").replacen("v,0", "v,e", 1);
    let text: String = text
        .lines()
        .enumerate()
        .map(|(i, line)| line.replace(",0", &format!(",{}.5", i)) + "\n")
        .collect();
    place.put("e.csv", text);
    let sigmas: Vec<f64> = (1..=6).map(|i| f64::from(i) + 0.5).collect();
    let row = |i: usize| {
        (0..6)
            .map(|j| if i == j { sigmas[i].powi(2).to_string() } else { "0".into() })
            .collect::<Vec<_>>()
    };
    place.put("d.csv", (0..6).map(|i| row(i).join(",") + "\n").collect::<String>());
    for relative in [&[][..], &["--relative"]] {
        let fit = ["fit", "e.csv", "-m", "s*t + o"];
        let [matrix, column] = [["--covariance", "d.csv"], ["--sigma", "e"]].map(|errors| {
            let document = place.json(&[&fit[..], &errors, relative].concat());
            (value(&document, "s"), of_parameter(&document, "s", "std_error"))
        });
        near(matrix.0, column.0, 1e-9);
        near(matrix.1, column.1, 1e-9);
    }
    let words = |contents: String, message: &str| {
        place.put("bad.csv", contents);
        let run = place.run(&["fit", "l.csv", "-m", "m + 0*t", "--covariance", "bad.csv"]);
        assert_eq!((run.code, run.err.as_str()), (2, format!("error: {message}\n").as_str()));
    };
    words(
        matrix(5),
        "--covariance bad.csv: the matrix has 5 rows and 5 columns for a table of 6 rows; give a row and a column for each row of the table, without names",
    );
    words(
        matrix(6).replacen("0.25", "NA", 1),
        "bad.csv:1:1: the covariance is NaN; it must be finite",
    );
    words(
        matrix(6).replacen("0.25", "-1", 1),
        "the covariance matrix of the data is not positive definite: the pivot is not positive at row 1 of the fitted rows; check its symmetry and that no row is a combination of others",
    );
    let given = ["--covariance", "c.csv", "--sigma", "0.1"];
    refused(&given, &apart("--covariance <FILE>", "--sigma <COLUMN|NUMBER>"));
    let given = ["--covariance", "c.csv", "--x-sigma", "0.1"];
    refused(&given, &apart("--covariance <FILE>", "--x-sigma <COLUMN|NUMBER,...>"));
}
