//! Tests of predictions at new x (`--at`) and of the bootstrap.

use crate::support::{DECAY, LINE, Place, of_parameter};
use dualfit::result::Resample;
use dualfit::{Bootstrap, CurveFit, Data, GlobalFit};
use serde_json::{Value, json};

/// Quantiles of Student's t with 4 degrees of freedom and of the normal distribution for a level of 95 %.
const T_4: f64 = 2.776_445_105_197_793;
const NORMAL: f64 = 1.959_963_984_540_054;

#[track_caller]
fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-7 * b.abs().max(1e-3), "{a} {b}");
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// Intervals of a straight line at x: s·√(1/n + (x − x̄)²/Σ(t − t̄)²), and with a 1 under the root for an observation.
#[test]
fn a_line_has_the_textbook_intervals() {
    let place = Place::with("l.csv", LINE);
    let (t, v) = ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.8, 5.1, 7.1, 8.8, 11.1]);
    let v0 = v.iter().sum::<f64>() / 6.0;
    let slope = t.iter().zip(&v).map(|(t, v)| (t - 2.5) * (v - v0)).sum::<f64>() / 17.5;
    let residual = |(t, v): (&f64, &f64)| v - v0 - slope * (t - 2.5);
    let scatter = (t.iter().zip(&v).map(|at| residual(at).powi(2)).sum::<f64>() / 4.0).sqrt();
    for (sigma, deviation, width) in [(&[][..], scatter, T_4), (&["--sigma", "0.3"], 0.3, NORMAL)] {
        let arguments = ["fit", "l.csv", "-m", "s*t + o", "--at", "-1,2.5,10/4,7"];
        let document = place.json(&[&arguments[..], sigma].concat());
        let predictions = &document["predictions"];
        assert_eq!(predictions["level"], 0.95);
        for (i, x) in [-1.0_f64, 2.5, 2.5, 7.0].into_iter().enumerate() {
            let point = &predictions["points"][i];
            let value = v0 + slope * (x - 2.5);
            let error = deviation * (1.0 / 6.0 + (x - 2.5).powi(2) / 17.5).sqrt();
            near(point["value"].as_f64().unwrap(), value);
            near(point["std_error"].as_f64().unwrap(), error);
            for (key, half) in [("confidence", error), ("prediction", error.hypot(deviation))] {
                let ends = numbers(&point[key]);
                near(ends[0], value - width * half);
                near(ends[1], value + width * half);
            }
            assert_eq!(point["x"], json!([x]));
            assert_eq!(point["extrapolated"], i == 0 || i == 3);
        }
    }
}

#[test]
fn predictions_are_a_table_on_the_terminal_and_a_file() {
    let place = Place::with("l.csv", LINE);
    let fit = ["fit", "l.csv", "-m", "s*t + o", "--at"];
    let run =
        place.run(&[&fit[..], &["1,9", "--interval", "0.9", "--predictions", "p.csv"]].concat());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let table: Vec<&str> =
        run.out.split("predictions, 90 % intervals\n").nth(1).unwrap().lines().collect();
    assert!(!table[1].contains("outside") && table[2].ends_with("outside the data"), "{table:?}");
    let document = place.json(&[&fit[..], &["1,9", "--interval", "0.9"]].concat());
    let text = place.read("p.csv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let header = "t,model,std_error,confidence_lower,confidence_upper,prediction_lower,prediction_upper,extrapolated";
    assert_eq!(rows[0].join(","), header);
    for (row, point) in rows[1..].iter().zip(document["predictions"]["points"].as_array().unwrap())
    {
        let [confidence, prediction] = [&point["confidence"], &point["prediction"]].map(numbers);
        let (value, error) =
            (point["value"].as_f64().unwrap(), point["std_error"].as_f64().unwrap());
        let expected =
            [&[point["x"][0].as_f64().unwrap(), value, error], &confidence[..], &prediction];
        let found: Vec<f64> = row[..7].iter().map(|field| field.parse().unwrap()).collect();
        assert_eq!(found, expected.concat());
        assert_eq!(row[7], point["extrapolated"].to_string());
    }
    // A table of new x: by the name of the column, wherever it is.
    place.put("new.csv", "label,t\n1,1\n2,\n3,9\n");
    let from_file = |more: &[&str]| {
        place.run(&[&fit[..], &["new.csv", "--predictions", "q.csv"], more].concat())
    };
    let run = from_file(&["--interval", "0.9", "--skip-missing"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(place.read("q.csv"), text);
    let run = from_file(&[]);
    let missing = "error: new.csv:3:3: t has no finite value; fill it in, or say --skip-missing\n";
    assert_eq!((run.code, run.err.as_str()), (2, missing));
}

#[test]
fn predictions_have_as_many_variables_as_the_model() {
    let rows = (0..20).map(|i| (f64::from(i % 5), f64::from(i / 5)));
    let rows = rows.map(|(u, v)| format!("{u},{v},{}\n", 2.0 * u - 3.0 * v + 0.5));
    let place = Place::with("p.csv", format!("u,v,z\n{}", rows.collect::<String>()));
    let fit = ["fit", "p.csv", "--x", "u,v", "--y", "z", "-m", "a*u + b*v + c", "--at"];
    let document = place.json(&[&fit[..], &["1:2,3:9"]].concat());
    let points = &document["predictions"]["points"];
    near(points[0]["value"].as_f64().unwrap(), -3.5);
    near(points[1]["value"].as_f64().unwrap(), -20.5);
    assert_eq!(
        (&points[0]["extrapolated"], &points[1]["extrapolated"]),
        (&json!(false), &json!(true))
    );
    let run = place.run(&[&fit[..], &["1,2"]].concat());
    assert_eq!(
        (run.code, run.err.as_str()),
        (
            2,
            "error: --at 1,2: a point has 1 value for 2 independent variables; write points as in --at 1:2,3:4\n"
        )
    );
}

#[test]
fn predictions_that_make_no_sense_are_refused() {
    let place = Place::with("l.csv", LINE);
    let words = |more: &[&str], message: &str| {
        let run = place.run(&[&["fit", "l.csv", "-m", "s*t + o"], more].concat());
        assert_eq!((run.code, run.err.as_str()), (2, format!("error: {message}\n").as_str()));
    };
    let neither = "it is neither finite numbers, such as 0,5,10, nor a file with columns of x";
    for at in ["0,nan", "none.csv", "0,1/0"] {
        words(&["--at", at], &format!("--at {at}: {neither}"));
    }
    words(
        &["--at", "0", "--at-sigma", "-1"],
        "--at-sigma -1: a standard deviation is positive and finite",
    );
    words(
        &["--at", "l.csv", "--predictions", "l.csv"],
        "--predictions l.csv: it is l.csv, the table that is read; write to another file",
    );
    let run = place.run_on(LINE.as_bytes(), &["fit", "-", "-m", "s*t + o", "--at", "-"]);
    assert_eq!(
        (run.code, run.err.as_str()),
        (
            2,
            "error: standard input is already the table of the points; give a file for the other table\n"
        )
    );
    place.put("other.csv", "time,v\n1,2\n");
    words(&["--at", "other.csv"], "other.csv: there is no column \"t\"; the columns are time, v");
    place.put("l.csv", "t,v\n2026-02-01,1\n2026-02-02,2\n2026-02-03,3.1\n");
    let run = place.run(&["fit", "l.csv", "-m", "s*t + o", "--at", "l.csv"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("t has dates or times, which are read as seconds"), "{run:?}");
}

/// With a sigma of its own at each point, that of a new observation is unknown until it is given.
#[test]
fn new_observations_have_the_sigma_that_is_given() {
    let place = Place::with("d.csv", DECAY);
    let fit =
        ["fit", "d.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1", "--sigma", "sigma", "--at", "2"];
    let run = place.run(&fit);
    assert_eq!(
        run.err,
        "note: --at: there are no prediction intervals: each observation had its own sigma; give the standard deviation of new observations with --at-sigma\n"
    );
    assert!(!run.out.contains("observation from"), "{}", run.out);
    assert_eq!(place.json(&fit)["predictions"]["points"][0]["prediction"], Value::Null);
    let document = place.json(&[&fit[..], &["--at-sigma", "0.2"]].concat());
    let point = &document["predictions"]["points"][0];
    let half = NORMAL * point["std_error"].as_f64().unwrap().hypot(0.2);
    near(numbers(&point["prediction"])[1], point["value"].as_f64().unwrap() + half);
}

/// Returns two groups with the same rate.
fn groups() -> (String, [Vec<f64>; 3]) {
    let t: Vec<f64> = (0..12).map(|i| 0.3 * f64::from(i)).collect();
    let y = |a: f64| -> Vec<f64> {
        t.iter().map(|t| a * (-0.8 * t).exp() + 0.02 * (9.0 * a * t).sin()).collect()
    };
    let (low, high) = (y(1.0), y(3.0));
    let row = |(t, (low, high)): (&f64, (&f64, &f64))| {
        format!("low,{t:?},{low:?}\nhigh,{t:?},{high:?}\n")
    };
    let rows: String = t.iter().zip(low.iter().zip(&high)).map(row).collect();
    (format!("g,t,y\n{rows}"), [t, low, high])
}

#[test]
fn groups_are_predicted_as_by_the_library() {
    let (text, [t, low, high]) = groups();
    let place = Place::with("g.csv", text);
    let curve = CurveFit::parse("a*exp(-k*t)", ["t"]).unwrap();
    let data = [&low, &high].map(|y| Data::new(&t, y).unwrap());
    let fit = ["fit", "g.csv", "--by", "g", "-m", "a*exp(-k*t)", "-s", "k=1", "--at", "1,5"];
    let joint = GlobalFit::new(&curve).share(["k"]).fit(data.clone(), [("k", 1.0)]).unwrap();
    for share in [&[][..], &["--share", "k"]] {
        let run = place
            .run(&[&fit[..], share, &["--interval", "0.9", "--predictions", "p.csv"]].concat());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        let document = place.json(&[&fit[..], share, &["--interval", "0.9"]].concat());
        let csv = place.read("p.csv");
        assert!(
            csv.starts_with("g,t,model,") && csv.lines().nth(4).unwrap().starts_with("high,5.0,")
        );
        for (set, data) in data.iter().enumerate() {
            let alone = curve.fit(data, [("k", 1.0)]).unwrap();
            let fit = if share.is_empty() { alone } else { joint.set(set).unwrap() };
            let band = fit.confidence_band(&[1.0, 5.0], 0.9).unwrap();
            let points = &document["fits"][set]["predictions"]["points"];
            for i in 0..2 {
                near(points[i]["value"].as_f64().unwrap(), band.center[i]);
                near(numbers(&points[i]["confidence"])[0], band.lower[i]);
                assert_eq!(points[i]["extrapolated"], i == 1);
            }
        }
    }
    let run = place.run(&[&fit[..8], &["--interval", "0.9"]].concat());
    assert_eq!(
        run.err,
        "error: --interval 0.9: for groups it is the level of predictions; give --at, or fit one group alone with --range\n"
    );
}

#[test]
fn groups_are_drawn_in_one_picture() {
    let (text, _) = groups();
    let place = Place::with("g.csv", format!("{text}bad,1,1\n"));
    place.put("numbers.csv", text.replace("low", "1").replace("high", "2"));
    let by_number = ["fit", "numbers.csv", "--by", "g", "-m", "a*exp(-k*t)", "--plot", "n.svg"];
    assert_eq!(place.run(&by_number).code, 0);
    let svg = place.read("n.svg");
    assert!(svg.contains(">g 1</text>") && svg.contains(">g 2</text>"), "{svg}");
    let fit = ["fit", "g.csv", "--by", "g", "-m", "a*exp(-k*t)", "-s", "k=1"];
    let run = place.run(&[&fit[..], &["--plot", "p.svg", "--band", "0.95"]].concat());
    assert_eq!(
        (run.code, run.err.as_str()),
        (1, "note: --plot: 1 group without a fit not drawn\n")
    );
    let svg = place.read("p.svg");
    for text in [">low</text>", ">high</text>", ">t</text>", ">y</text>", ">residual</text>"] {
        assert!(svg.contains(text), "{text}");
    }
    // 24 points with residuals, and one in each of two entries of the legend.
    assert_eq!(svg.matches("<circle ").count(), 2 * 24 + 2);
    assert_eq!(svg.matches("<polygon ").count(), 2, "a band for each group");
    let share = ["--range", "t=0.1..", "--share", "k", "--plot", "q.png", "--log-x"];
    let run = place.run(&[&fit[..], &share].concat());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(std::fs::read(place.path("q.png")).unwrap().starts_with(b"\x89PNG"));
    let run = place.run(&[&fit[..], &["--plot", "p.pdf"]].concat());
    assert_eq!(
        run.err,
        "error: --plot p.pdf: the extension selects the kind of picture; use .svg or .png\n"
    );
}

/// Errors of a line with known sigma are drawn from the normal distribution: the standard error of the slope is
/// σ/√Σ(t − t̄)², up to the scatter of 4000 refits, 1.1 %.
#[test]
fn a_bootstrap_has_the_errors_of_closed_forms() {
    let place = Place::with("l.csv", LINE);
    let fit = ["fit", "l.csv", "-m", "s*t + o", "--sigma", "0.3", "--resample", "parametric"];
    let document = place.json(&[&fit[..], &["--bootstrap", "4000", "--seed", "5"]].concat());
    let bootstrap = &document["bootstrap"];
    let slope = &bootstrap["quantities"][0];
    let error = 0.3 / 17.5_f64.sqrt();
    assert!((slope["std_error"].as_f64().unwrap() / error - 1.0).abs() < 0.04, "{slope}");
    let ends = numbers(&slope["interval"]);
    let value = of_parameter(&document, "s", "value");
    assert!(((ends[1] - value) / (NORMAL * error) - 1.0).abs() < 0.1, "{slope}");
    assert!(((value - ends[0]) / (NORMAL * error) - 1.0).abs() < 0.1, "{slope}");
    assert_eq!((&bootstrap["converged"], &bootstrap["seed"]), (&json!(4000), &json!(5)));
}

#[test]
fn a_bootstrap_is_that_of_the_library() {
    let place = Place::with("d.csv", DECAY);
    let x = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let y = [3.52, 2.60, 1.98, 1.57, 1.23, 0.85, 0.70, 0.53];
    let curve = CurveFit::parse("a*exp(-k*time) + c", ["time"]).unwrap().derive("half", "ln(2)/k");
    let data = Data::new(&x, &y).unwrap();
    let fit = curve.fit(&data, [("k", 1.0)]).unwrap();
    let how = Bootstrap::new(400).seed(9).resample(Resample::Residuals);
    let replicates = curve.bootstrap(&fit, data, &how).unwrap();
    let arguments = ["fit", "d.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1"];
    let options =
        ["--derive", "half=ln(2)/k", "--bootstrap", "400", "--seed", "9", "--interval", "0.9"];
    let document = place.json(&[&arguments[..], &options].concat());
    for (i, name) in ["a", "k", "c", "half"].into_iter().enumerate() {
        let found = &document["bootstrap"]["quantities"][i];
        let expected = replicates.quantity(name).unwrap();
        let ends = expected.percentile_interval(0.9).unwrap();
        assert_eq!(found["name"], name);
        near(found["std_error"].as_f64().unwrap(), expected.std_error());
        near(numbers(&found["interval"])[0], ends.lower);
        near(numbers(&found["interval"])[1], ends.upper);
    }
    let run = place.run(&[&arguments[..], &options].concat());
    assert!(
        run.out.contains("\nbootstrap, 400 refits with drawn residuals; 90 % intervals"),
        "{}",
        run.out
    );
}

#[test]
fn a_bootstrap_that_makes_no_sense_is_refused() {
    let place = Place::with("d.csv", DECAY);
    let run = |more: &[&str]| {
        place.run(
            &[&["fit", "d.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1", "--sigma", "sigma"], more]
                .concat(),
        )
    };
    let words = |more: &[&str], message: &str| {
        let run = run(more);
        assert_eq!((run.code, run.err.as_str()), (2, format!("error: {message}\n").as_str()));
    };
    words(&["--bootstrap", "1"], "--bootstrap is 1; it must be from 2 to 10,000,000");
    words(
        &["--bootstrap", "300", "--x-sigma", "0.1"],
        "there is no such bootstrap: a distance from the curve is no error of y alone; give --resample parametric or pairs",
    );
    let few = run(&["--bootstrap", "20"]);
    assert_eq!(few.code, 0);
    assert_eq!(
        few.err,
        "note: --bootstrap: no intervals: an end of the interval to the level 0.95 lies among the outermost of 20 replicates; make at least 200\n"
    );
    let stopped = run(&["--bootstrap", "20", "--max-evaluations", "1"]);
    assert_eq!(stopped.code, 1);
    assert_eq!(stopped.err, "note: --bootstrap: the fit did not converge, so it is not repeated\n");
}

/// Formulas need no start, in no command; the document says how reliable the search was.
#[test]
fn starts_of_formulas_are_found_for_groups_and_batches() {
    let (text, _) = groups();
    let place = Place::with("g.csv", text);
    let model = "a*exp(-k*t)";
    let searched = |document: &Value| document["start_search"]["reached"].as_u64().unwrap() > 1;
    for share in [&[][..], &["--share", "k"]] {
        let fit = [&["fit", "g.csv", "--by", "g", "-m", model][..], share].concat();
        let (found, given) =
            (place.json(&fit), place.json(&[&fit[..], &["-s", "a=2,k=1"]].concat()));
        for i in 0..2 {
            near(
                of_parameter(&found["fits"][i], "k", "value"),
                of_parameter(&given["fits"][i], "k", "value"),
            );
            assert_eq!(given["fits"][i]["start_search"], Value::Null);
            assert!(!share.is_empty() || searched(&found["fits"][i]), "{found}");
        }
        assert!(share.is_empty() || searched(&found["joint"]), "{found}");
    }
    place.put("d.csv", DECAY);
    let batch = place.json(&["batch", "d.csv", "--y", "signal", "-m", "a*exp(-k*x) + c"]);
    assert!(searched(&batch["fits"][0]), "{batch}");
    let never = ["fit", "g.csv", "--by", "g", "--share", "k", "-m", model, "--search", "never"];
    let run = place.run(&never);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("give one near what you expect: --start k=1"), "{run:?}");
}
