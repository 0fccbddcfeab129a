//! Tests of the standard deviations of y and x, and of priors, against closed forms of straight lines.

use crate::support::{DECAY, LINE, Place, of_parameter, value};
use serde_json::{Value, json};

const T: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const V: [f64; 6] = [1.1, 2.8, 5.1, 7.1, 8.8, 11.1];

/// Returns the sum over the points of [`LINE`].
fn sum(of: impl Fn(f64, f64) -> f64) -> f64 {
    T.iter().zip(&V).map(|(&t, &v)| of(t, v)).sum()
}

/// Returns the sums of squares about the means: Σ(t − t̄)², Σ(t − t̄)(v − v̄), Σ(v − v̄)².
fn squares() -> [f64; 3] {
    let (t0, v0) = (sum(|t, _| t) / 6.0, sum(|_, v| v) / 6.0);
    [sum(|t, _| (t - t0).powi(2)), sum(|t, v| (t - t0) * (v - v0)), sum(|_, v| (v - v0).powi(2))]
}

fn line(more: &[&str]) -> Value {
    Place::with("l.csv", LINE).json(&[&["fit", "l.csv", "-m", "s*t + o"], more].concat())
}

#[track_caller]
fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-7 * b.abs(), "{a} {b}");
}

#[track_caller]
fn refused(file: &str, arguments: &[&str], message: &str) {
    let place = Place::with("l.csv", file);
    let run = place.run(&[&["fit", "l.csv", "-m", "s*x + o"], arguments].concat());
    let said = run.err.lines().last().unwrap_or_default();
    assert_eq!((run.code, said), (2, format!("error: {message}").as_str()));
}

/// The standard error of a slope is σ/√Σ(t − t̄)².
#[test]
fn one_sigma_for_all_points_gives_the_textbook_error() {
    let document = line(&["--sigma", "0.25"]);
    near(of_parameter(&document, "s", "std_error"), 0.25 / squares()[0].sqrt());
    assert_eq!(document["data"]["sigma"], 0.25);
    let run = Place::with("l.csv", LINE).run(&["fit", "l.csv", "-m", "s*t+o", "--sigma", "2.5e-1"]);
    assert!(run.out.starts_with("l.csv: v over t, 6 points, sigma of 0.250000\n"), "{}", run.out);
    // A common factor is no information: with --relative the constant has no effect.
    let (relative, unknown) = (line(&["--sigma", "0.25", "--relative"]), line(&[]));
    near(of_parameter(&relative, "s", "std_error"), of_parameter(&unknown, "s", "std_error"));
}

#[test]
fn a_constant_is_a_column_of_one_value_in_every_command() {
    let place = Place::with("d.csv", DECAY);
    let fit = ["fit", "d.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1", "--sigma"];
    for more in [&[][..], &["--loss", "huber:1"], &["--range", "time=0..4"]] {
        let [constant, column] = ["0.05", "sigma"].map(|sigma| {
            let document = place.json(&[&fit[..], &[sigma], more].concat());
            let all = ["a", "k", "c"]
                .map(|name| [value(&document, name), of_parameter(&document, name, "std_error")]);
            all.concat()
        });
        constant.iter().zip(&column).for_each(|(a, b)| near(*a, *b));
    }
    let batch = place.json(&["batch", "d.csv", "--y", "signal", "-m", "s*x+o", "--sigma", "0.05"]);
    let one = place.json(&["fit", "d.csv", "-m", "s*time+o", "--sigma", "sigma"]);
    let of_batch = of_parameter(&batch["fits"][0], "s", "std_error");
    near(of_batch, of_parameter(&one, "s", "std_error"));
}

#[test]
fn numbers_of_columns_and_constants_are_told_apart() {
    let two = "--sigma 2 is column 2, which is y (\"v\"); a constant standard deviation is written --sigma 2.0";
    refused(LINE, &["--sigma", "2", "--y", "v"], two);
    refused(
        LINE,
        &["--sigma", "2"],
        "l.csv: has 2 columns and none is left for y; a constant sigma is written --sigma 2.0",
    );
    refused(
        LINE,
        &["--sigma", "1"],
        "--sigma 1 is column 1, which is x (\"t\"); a constant standard deviation is written --sigma 1.0",
    );
    refused(
        LINE,
        &["--sigma", "7"],
        "l.csv: there is no column 7; the columns are 1 to 2: t, v; a constant is written with a decimal point: --sigma 7.0",
    );
    for number in ["0", "-0.5", "nan", "inf", "-3"] {
        let message = format!(
            "--sigma {number}: a standard deviation is positive and finite; give such a number, or a column"
        );
        refused(LINE, &["--sigma", number], &message);
    }
    let named = LINE.replace('\n', ",1\n").replacen("v,1", "v,0.1", 1);
    refused(
        &named,
        &["--sigma", "0.1"],
        "--sigma 0.1: it is a number and the name of column 3; write --sigma 3 for the column, or --sigma 1e-1 for the number",
    );
    // Errors that are proportional to x may be meant, if they are relative.
    let place = Place::with("l.csv", LINE);
    let run =
        place.run(&["fit", "l.csv", "-m", "s*t", "--sigma", "1", "--relative", "--range", "t=1.."]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
}

/// A straight line with the same errors at all points has a closed form: W. E. Deming, Statistical Adjustment of Data,
/// 1943. With δ = σ²/σx² the slope is (Syy − δSxx + √((Syy − δSxx)² + 4δSxy²))/(2Sxy).
#[test]
fn errors_of_x_and_y_give_the_line_of_deming() {
    let [xx, xy, yy] = squares();
    for (sigma, x_sigma) in [(0.2, 0.1), (0.1, 0.5)] {
        let delta = (sigma / x_sigma) * (sigma / x_sigma);
        let d = yy - delta * xx;
        let slope = (d + (d * d + 4.0 * delta * xy * xy).sqrt()) / (2.0 * xy);
        let (sigma, x_sigma) = (format!("{sigma:?}"), format!("{x_sigma:?}"));
        let document = line(&["--sigma", &sigma, "--x-sigma", &x_sigma]);
        near(value(&document, "s"), slope);
        near(value(&document, "o"), sum(|_, v| v) / 6.0 - slope * sum(|t, _| t) / 6.0);
        assert_eq!(document["data"]["x_sigma"], json!([x_sigma.parse::<f64>().unwrap()]));
        // Relative errors have the same ratio.
        let relative = line(&["--sigma", &sigma, "--x-sigma", &x_sigma, "--relative"]);
        near(value(&relative, "s"), slope);
    }
    let [exact, none] = [line(&["--sigma", "0.2", "--x-sigma", "0"]), line(&["--sigma", "0.2"])];
    near(value(&exact, "s"), value(&none, "s"));
}

#[test]
fn errors_of_x_come_from_columns_too() {
    let text = LINE.replace('\n', ",0.1,0.2\n").replacen("v,0.1,0.2", "v,dt,dv", 1);
    let place = Place::with("l.csv", &text);
    let fit = ["fit", "l.csv", "-m", "s*t + o", "--sigma", "dv", "--x-sigma"];
    let [column, constant] = ["dt", "0.1"].map(|x_sigma| {
        let document = place.json(&[&fit[..], &[x_sigma]].concat());
        assert_eq!(document["data"]["y"], "v");
        (value(&document, "s"), of_parameter(&document, "o", "std_error"))
    });
    near(column.0, constant.0);
    near(column.1, constant.1);
    let by = text.replace("dv\n", "dv,g\n").replace(",0.2\n", ",0.2,A\n");
    place.put("g.csv", by);
    let grouped =
        ["fit", "g.csv", "--by", "g", "-m", "s*t + o", "--sigma", "dv", "--x-sigma", "dt"];
    for share in [&[][..], &["--share", "s"]] {
        let document = place.json(&[&grouped[..], share].concat());
        near(value(&document["fits"][0], "s"), column.0);
    }
}

#[test]
fn errors_of_x_that_make_no_sense_are_refused() {
    let see = "`dualfit --help` and `dualfit COMMAND --help` say what there is";
    refused(
        LINE,
        &["--x-sigma", "0.1"],
        &format!(
            "the following required arguments were not provided: --sigma <COLUMN|NUMBER>; {see}"
        ),
    );
    refused(
        LINE,
        &["--sigma", "0.1", "--x-sigma", "0.1,0.2"],
        "--x-sigma has 2 standard deviations for 1 independent variable; give one for each in the order of --x, and 0.0 if a variable is exact",
    );
    refused(
        LINE,
        &["--sigma", "0.1", "--x-sigma", "-0.1"],
        "--x-sigma -0.1: a standard deviation is 0 or positive and finite; give such a number, or a column",
    );
    refused(
        LINE,
        &["--sigma", "0.1", "--x-sigma", "0.1", "--poisson"],
        "--poisson knows the errors of counts and takes no errors of x; leave --x-sigma out",
    );
    let text =
        LINE.replace('\n', ",0.1\n").replacen("v,0.1", "v,dt", 1).replacen("5.1,0.1", "5.1,-1", 1);
    refused(
        &text,
        &["--sigma", "0.1", "--x-sigma", "dt"],
        "l.csv:4:7: the sigma of x is -1; it must be 0 or positive, and finite: correct it, or leave such rows out with --range \"dt=0..1e300\"",
    );
}

/// The fit of y = s·t with a prior is a weighted mean: s = (Σtv/σ² + m/p²)/(Σt²/σ² + 1/p²).
#[test]
fn a_prior_is_one_more_measurement() {
    let place = Place::with("l.csv", LINE);
    let (sigma, mean, deviation) = (0.5_f64, 2.5, 0.05_f64);
    let weight = sum(|t, _| t * t) / sigma.powi(2) + deviation.powi(-2);
    let slope = (sum(|t, v| t * v) / sigma.powi(2) + mean * deviation.powi(-2)) / weight;
    for prior in ["s=2.5+-0.05", "s=2.5±1/20", "s=2.5+/-0.05"] {
        let document =
            place.json(&["fit", "l.csv", "-m", "s*t", "--sigma", "0.5", "--prior", prior]);
        near(value(&document, "s"), slope);
        near(of_parameter(&document, "s", "std_error"), weight.sqrt().recip());
        assert_eq!(document["parameters"][0]["prior"], json!({ "mean": 2.5, "sigma": 0.05 }));
        assert_eq!(document["statistics"]["degrees_of_freedom"], 6);
    }
}

#[test]
fn priors_that_make_no_sense_are_refused() {
    let words = |more: &[&str], message: &str| refused(LINE, more, message);
    words(
        &["--prior", "s=2+-0.1"],
        "--prior is weighed against the points, so their errors must be known; give --sigma without --relative",
    );
    let with = |prior: &str, message: &str| {
        words(&["--sigma", "0.1", "--prior", prior], &format!("--prior {message}"));
    };
    with("q=2+-0.1", "q: the model has no such parameter; it has s, o");
    with("s", "s: it is written --prior k=0.5+-0.02");
    with("s=2", "s=2: a prior is written 0.5+-0.02, mean and standard deviation");
    with(
        "s=2+-0",
        "s=2+-0: the standard deviation is 0; it must be positive; to hold the parameter, use --fix",
    );
    with("s=2+-nan", "s=2+-nan: give a finite number");
    words(
        &["--sigma", "0.1", "--prior", "s=2+-1", "--tie", "s=2*o"],
        "`s` is tied to `2*o` and has a prior; leave one of them out",
    );
}
