//! Tests of every option.

use crate::support::{DECAY, LINE, Place, of_parameter, value};
use serde_json::{Value, json};

const MODEL: &str = "a*exp(-k*time) + c";

fn decay() -> Place {
    Place::with("d.csv", DECAY)
}

fn fitted(place: &Place, more: &[&str]) -> Value {
    place.json(&[&["fit", "d.csv", "-m", MODEL, "-s", "k=1"], more].concat())
}

#[test]
fn columns_are_chosen_by_name_number_and_name_without_unit() {
    let place = Place::with("d.csv", "Time (s),b,a\n0,9,1\n1,9,3\n2,9,5\n3,9,7\n4,8,9.1\n");
    for (x, y) in [("Time (s)", "a"), ("1", "3"), ("time", "A"), ("Time", "3")] {
        let document = place.json(&["fit", "d.csv", "--x", x, "--y", y, "-m", "slope*x + offset"]);
        assert!((value(&document, "slope") - 2.02).abs() < 1e-9, "{x} {y}: {document}");
        assert_eq!(document["data"]["x"], json!(["Time (s)"]));
    }
    let document = place.json(&["fit", "d.csv", "--y", "a", "-m", "slope*Time + offset"]);
    assert_eq!(document["model"]["variables"], json!(["Time"]));
}

#[test]
fn several_columns_are_several_variables() {
    let rows = (0..20).map(|i| (f64::from(i % 5), f64::from(i / 5)));
    let rows = rows.map(|(u, v)| format!("{u},{v},{}\n", 2.0 * u - 3.0 * v + 0.5 + 0.01 * (u * v)));
    let place = Place::with("p.csv", format!("u,v,z\n{}", rows.collect::<String>()));
    for model in ["a*u + b*v + c*u*v + d", "a*x1 + b*x2 + c*x1*x2 + d", "a*x + b*y + c*x*y + d"] {
        let document = place.json(&["fit", "p.csv", "--x", "u,v", "--y", "z", "-m", model]);
        assert!((value(&document, "a") - 2.0).abs() < 1e-9, "{model}: {document}");
        assert!((value(&document, "c") - 0.01).abs() < 1e-9, "{model}: {document}");
    }
}

/// A column can have the name of a parameter; `--start` declares the name as a parameter.
#[test]
fn a_name_that_has_a_start_is_no_variable() {
    let place = Place::with("d.csv", "a,b\n0,1\n1,3\n2,5\n3,7.1\n");
    let document = place.json(&["fit", "d.csv", "-m", "a*x + c", "-s", "a=1"]);
    assert_eq!(document["model"]["variables"], json!(["x"]));
    assert_eq!(document["parameters"][0]["name"], "a");
}

#[test]
fn sigma_is_absolute_unless_it_is_relative() {
    let place = decay();
    let absolute = fitted(&place, &["--sigma", "sigma"]);
    let relative = fitted(&place, &["--sigma", "3", "--relative"]);
    let unknown = fitted(&place, &[]);
    let error = |document: &Value| of_parameter(document, "k", "std_error");
    let reduced = absolute["statistics"]["reduced_chi_square"].as_f64().unwrap();
    assert!((error(&absolute) * reduced.sqrt() / error(&relative) - 1.0).abs() < 1e-9);
    assert!((error(&unknown) / error(&relative) - 1.0).abs() < 1e-9, "equal sigmas are none");
    assert_eq!(absolute["data"]["sigma"], "sigma");
}

#[test]
fn a_column_of_errors_is_mentioned_and_not_used() {
    let run = decay().run(&["fit", "d.csv", "-m", MODEL, "-s", "k=1"]);
    assert_eq!(
        run.err,
        "note: column \"sigma\" is not used; with --sigma \"sigma\" it gives the standard deviations of signal\n"
    );
    let run = decay().run(&["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--sigma", "sigma"]);
    assert_eq!(run.err, "");
}

#[test]
fn bounds_hold_and_are_reported() {
    let bounds = ["--start", "k=0.3", "--bound", "k=0..0.5,c=0.."];
    let document = decay().json(&[&["fit", "d.csv", "-m", MODEL], &bounds[..]].concat());
    assert_eq!(value(&document, "k"), 0.5);
    assert_eq!(document["parameters"][1]["state"], "at upper bound");
    assert_eq!(document["parameters"][2]["lower"], 0.0);
    assert_eq!(document["parameters"][2]["upper"], json!(null));
}

#[test]
fn parameters_are_fixed_at_values_or_at_their_starts() {
    let place = decay();
    for more in [&["--fix", "c=0.4"][..], &["--start", "c=0.4", "--fix", "c"]] {
        let document = fitted(&place, more);
        assert_eq!(value(&document, "c"), 0.4);
        assert_eq!(document["parameters"][2]["state"], "fixed");
    }
}

#[test]
fn ties_follow() {
    let document = fitted(&decay(), &["--tie", "c=a/6"]);
    assert!((value(&document, "c") - value(&document, "a") / 6.0).abs() < 1e-12);
    assert_eq!(document["parameters"][2]["state"], "tied");
    assert_eq!(document["parameters"][2]["tie"], "a/6");
    assert_eq!(document["statistics"]["estimated"], 2);
}

#[test]
fn a_width_of_the_library_can_be_tied() {
    let peak = |x: f64, at: f64| (-(x - at).powi(2) / 2.0).exp();
    let rows = (0..80).map(|i| 0.2 * f64::from(i));
    let rows = rows.map(|x| format!("{x} {}\n", peak(x, 4.0) + 2.0 * peak(x, 11.0) + 0.1));
    let place = Place::with("p.dat", rows.collect::<String>());
    let model = "gaussian(g_) + gaussian(h_) + constant";
    let document = place.json(&["fit", "p.dat", "-m", model, "--tie", "h_sigma=g_sigma"]);
    assert!((value(&document, "h_sigma") - 1.0).abs() < 1e-6, "{document}");
    assert_eq!(document["parameters"].as_array().unwrap().len(), 7);
}

/// The fit of each loss solves its score equations Σ ψ(r) = 0 and Σ ψ(r)·t = 0. ψ is the derivative of the loss,
/// written here according to Huber 1964 and the definitions of the other losses.
#[test]
fn robust_losses_solve_their_score_equations() {
    let place = Place::with("l.csv", LINE.replace("5.1", "50"));
    let line = |loss: &[&str]| {
        let fixed = ["fit", "l.csv", "-m", "s*t + o", "-s", "s=2,o=1"];
        let document = place.json(&[&fixed[..], loss].concat());
        (value(&document, "s"), value(&document, "o"))
    };
    let points = [(0.0, 1.1), (1.0, 2.8), (2.0, 50.0), (3.0, 7.1), (4.0, 8.8), (5.0, 11.1)];
    assert!((line(&[]).0 - 2.0).abs() > 0.5);
    type Slope = fn(f64) -> f64;
    let losses: [(&str, f64, Slope); 5] = [
        ("huber", 0.1, |z| z.clamp(-1.0, 1.0)),
        ("soft-l1", 0.1, |z| z / (1.0 + z * z).sqrt()),
        ("cauchy", 0.1, |z| z / (1.0 + z * z)),
        ("arctan", 0.5, |z| z / (1.0 + z.powi(4))),
        ("tukey", 2.0, |z| if z.abs() < 1.0 { z * (1.0 - z * z).powi(2) } else { 0.0 }),
    ];
    for (name, scale, slope) in losses {
        let (s, o) = line(&["--loss", &format!("{name}:{scale}")]);
        let pull = |(t, y): (f64, f64)| slope((y - s * t - o) / scale);
        let size: f64 = points.iter().map(|&point| pull(point).abs()).sum();
        let sums: [f64; 2] = [|_| 1.0, |t| t].map(|weight: fn(f64) -> f64| {
            points.iter().map(|&point| weight(point.0) * pull(point)).sum()
        });
        assert!(sums.iter().all(|sum| sum.abs() < 1e-6 * size), "{name}: {sums:?} of {size}");
        // If there are several solutions, the fit must reach the one that ignores the outlier.
        assert!((s - 2.0).abs() < 0.1, "{name}: {s}");
    }
}

#[test]
fn counts_have_their_own_likelihood() {
    let place = Place::with("c.csv", "t,n\n0,20\n1,14\n2,8\n3,7\n4,3\n5,2\n6,2\n7,0\n");
    let document =
        place.json(&["fit", "c.csv", "-m", "a*exp(-k*t)", "-s", "a=15,k=0.3", "--poisson"]);
    // The score equations of a·exp(−kt): Σ n = Σ f, and Σ t·n = Σ t·f.
    let (a, k) = (value(&document, "a"), value(&document, "k"));
    let model = |t: i32| a * (-k * f64::from(t)).exp();
    assert!(((0..8).map(model).sum::<f64>() - 56.0).abs() < 1e-6, "{document}");
}

#[test]
fn rows_are_left_out_where_that_is_asked_for() {
    let place = Place::with("m.csv", "t,v\n0,1\n1,NA\n2,5\n3,7\n4,\n5,11.2\n6,90\n7,80\n");
    let arguments = ["fit", "m.csv", "-m", "s*t + o", "--skip-missing", "--range", "t=0..5"];
    let run = place.run(&arguments);
    assert!(
        run.out.starts_with(
            "m.csv: v over t, 4 points; 2 rows with a missing value left out, 2 rows out of range\n"
        ),
        "{}",
        run.out
    );
    let document = place.json(&arguments);
    assert_eq!(document["data"]["rows_missing"], 2);
    assert_eq!(document["data"]["rows_out_of_range"], 2);
    // `x` is the independent variable for any name of its column, and several ranges are combined.
    let other = [
        "fit",
        "m.csv",
        "-m",
        "s*t + o",
        "--skip-missing",
        "--range",
        "x=..5",
        "--range",
        "v=0..60",
    ];
    assert_eq!(value(&place.json(&other), "s"), value(&document, "s"));
}

#[test]
fn residuals_are_written_for_the_fitted_rows() {
    let place = Place::with("l.csv", LINE);
    let arguments = ["fit", "l.csv", "-m", "s*t + o", "--range", "t=1..", "--residuals", "r.csv"];
    let run = place.run(&[&arguments[..], &["--band", "0.95"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let text = place.read("r.csv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["t", "v", "model", "residual", "band_lower", "band_upper"]);
    assert_eq!(rows.len(), 6);
    let numbers: Vec<f64> = rows[1].iter().map(|field| field.parse().unwrap()).collect();
    assert_eq!(&numbers[..2], [1.0, 2.8]);
    assert!((numbers[1] - numbers[2] - numbers[3]).abs() < 1e-12);
    assert!(numbers[4] < numbers[2] && numbers[2] < numbers[5]);
    let plain = place.run(&arguments);
    assert_eq!(plain.code, 0);
    assert!(place.read("r.csv").starts_with("t,v,model,residual\n"));
}

#[test]
fn intervals_come_from_errors_or_from_profiles() {
    let place = decay();
    let plain = fitted(&place, &["--interval", "0.95"]);
    let error = of_parameter(&plain, "k", "std_error");
    let ends = |document: &Value, i: usize, side: usize| {
        document["intervals"]["ends"][i][side].as_f64().unwrap()
    };
    // Student's t of 5 degrees of freedom at 97.5 %, from tables: 2.5706.
    assert!(((ends(&plain, 1, 1) - value(&plain, "k")) / error - 2.5706).abs() < 1e-4);
    let profiled = fitted(&place, &["--interval", "0.95", "--profile"]);
    assert_eq!(fitted(&place, &["--profile"])["intervals"], profiled["intervals"]);
    assert_eq!(profiled["intervals"]["method"], "profiles");
    let (low, high) = (ends(&profiled, 1, 0), ends(&profiled, 1, 1));
    assert!(
        (low / ends(&plain, 1, 0) - 1.0).abs() < 0.05
            && (high / ends(&plain, 1, 1) - 1.0).abs() < 0.05
    );
    assert_ne!(low, ends(&plain, 1, 0));
    let run = place.run(&["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--interval", "0.9973"]);
    assert!(
        run.out.contains("\n99.73 % confidence intervals, from standard errors\nparameter"),
        "{}",
        run.out
    );
}

#[test]
fn many_starts_find_what_one_misses() {
    let rows = (0..80).map(|i| 0.1 * f64::from(i));
    let rows =
        rows.map(|x| format!("{x},{}\n", 2.0 * (5.3 * x + 0.4).sin() + 0.1 * (31.0 * x).cos()));
    let place = Place::with("w.csv", rows.collect::<String>());
    let arguments =
        ["fit", "w.csv", "-m", "a*sin(w*x + p)", "--bound", "a=0..10,w=0..10,p=-3.2..3.2"];
    let missed = place.json(&[&arguments[..], &["-s", "w=2,p=0,a=1"]].concat());
    assert!((value(&missed, "w") - 5.3).abs() > 0.5, "{missed}");
    let found = place.run(&[&arguments[..], &["--multi-start", "64"]].concat());
    assert_eq!(found.code, 0, "{found:?}");
    assert!(found.out.contains("65 starts, "), "{}", found.out);
    let found = place.json(&[&arguments[..], &["--multi-start", "64"]].concat());
    assert!((value(&found, "w") - 5.3).abs() < 0.01, "{found}");
    let given = place.run(&[&arguments[..], &["--multi-start", "64", "-s", "w=2"]].concat());
    assert_eq!(given.code, 0, "{given:?}");
    assert!(given.out.contains("65 starts, "), "{}", given.out);
}

#[test]
fn models_of_the_library_start_themselves() {
    let rows = (0..60).map(|i| 0.2 * f64::from(i));
    let rows = rows.map(|x| format!("{x}\t{}\n", 3.0 * (-(x - 5.0).powi(2) / 2.0).exp() + 0.2 * x));
    let place = Place::with("p.tsv", format!("energy\tcounts\n{}", rows.collect::<String>()));
    let document = place.json(&["fit", "p.tsv", "-m", "gaussian(g_) + linear(bg_)"]);
    assert!((value(&document, "g_center") - 5.0).abs() < 1e-6, "{document}");
    assert!((value(&document, "bg_slope") - 0.2).abs() < 1e-6, "{document}");
}

#[test]
fn devices_are_named_or_left_to_choice() {
    let place = decay();
    for device in ["auto", "cpu"] {
        assert_eq!(fitted(&place, &["--device", device])["computation"]["backend"], "CPU");
    }
}

#[test]
fn pictures_are_drawn_in_two_formats() {
    let place = decay();
    let arguments = ["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--sigma", "sigma"];
    for name in ["p.svg", "p.png"] {
        let run = place.run(&[&arguments[..], &["--plot", name, "--band", "0.95"]].concat());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{name}");
    }
    let svg = place.read("p.svg");
    assert!(svg.contains("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(std::fs::read(place.path("p.png")).unwrap().starts_with(b"\x89PNG"));
    let run = place.run(&[&arguments[..], &["--plot", "p.pdf"]].concat());
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "error: --plot p.pdf: the extension selects the kind of picture; use .svg or .png\n")
    );
    let run = place.run(&[&arguments[..], &["--plot", "none/p.svg"]].concat());
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.starts_with("error: none/p.svg: cannot be written: "), "{run:?}");
    let run = place.run(&[&arguments[..], &["--band", "0.95"]].concat());
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "error: --band 0.95: say where to, with --plot or --residuals\n")
    );
}

#[test]
fn components_are_drawn_and_written() {
    let rows = (0..60).map(|i| 0.2 * f64::from(i));
    let rows = rows.map(|x| format!("{x},{}\n", 3.0 * (-(x - 5.0).powi(2) / 2.0).exp() + 0.2 * x));
    let place = Place::with("p.csv", format!("energy,counts\n{}", rows.collect::<String>()));
    let fit = ["fit", "p.csv", "-m", "gaussian(g_) + linear(bg_)"];
    let files = ["--components", "--plot", "p.svg", "--residuals", "r.csv"];
    let run = place.run(&[&fit[..], &files].concat());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let svg = place.read("p.svg");
    assert_eq!(svg.matches("stroke-dasharray").count(), 4, "two lines and their samples");
    assert!(svg.contains(">g</text>") && svg.contains(">bg</text>"), "{svg}");
    let table = place.read("r.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("energy,counts,model,residual,component_g,component_bg"));
    for line in lines {
        let row: Vec<f64> = line.split(',').map(|value| value.parse().unwrap()).collect();
        assert!((row[4] + row[5] - row[2]).abs() < 1e-12, "{line}");
        assert!((row[5] - 0.2 * row[0]).abs() < 1e-6, "{line}");
    }
    let run = place.run(&[&fit[..], &["--components"]].concat());
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "error: --components: say where to, with --plot or --residuals\n")
    );
    let run =
        place.run(&["fit", "p.csv", "-m", "s*energy + o", "--components", "--residuals", "r.csv"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("no sum of models of the library"), "{run:?}");
    assert!(place.read("r.csv").starts_with("energy,counts,model,residual\n"));
}

#[test]
fn axes_of_pictures_are_logarithmic_where_that_is_said() {
    let place = decay();
    let drawn = |axis: &[&str]| {
        let arguments = ["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--sigma", "sigma"];
        let run = place
            .run(&[&arguments[..], &["--range", "time=1..3", "--plot", "p.svg"], axis].concat());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{axis:?}");
        place.read("p.svg")
    };
    let plain = drawn(&[]);
    let (x, y) = (drawn(&["--log-x"]), drawn(&["--log-y"]));
    assert!(x != plain && y != plain && x != y);
    let from_0 = ["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--plot", "p.svg", "--log-x"];
    assert_eq!(
        place.run(&from_0).err.lines().last(),
        Some(
            "error: --plot p.svg: x is 0, which a logarithmic axis cannot show; leave out --log-x, or exclude the row with --range"
        )
    );
    let run = place.run(&["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--log-x"]);
    assert_eq!((run.code, run.err.lines().count()), (2, 1), "{run:?}");
    assert!(run.err.contains("--plot"), "{run:?}");
}

#[test]
fn a_saved_fit_is_one_for_the_library() {
    let place = decay();
    let document = fitted(&place, &["--save", "fit.json"]);
    let fit = dualfit::Fit::from_json(&place.read("fit.json")).unwrap();
    assert_eq!(fit.param("k"), Some(value(&document, "k")));
    assert!((fit.predict(&[0.0]).unwrap()[0] - 3.5).abs() < 0.1);
}

#[test]
fn derived_quantities_have_errors() {
    let place = decay();
    let document = fitted(&place, &["--derive", "half_life=ln(2)/k"]);
    let (k, error) = (value(&document, "k"), of_parameter(&document, "k", "std_error"));
    let derived = &document["derived"][0];
    assert_eq!(derived["name"], "half_life");
    let half_life = derived["value"].as_f64().unwrap();
    assert!((half_life * k / 2.0_f64.ln() - 1.0).abs() < 1e-12);
    let relative = derived["std_error"].as_f64().unwrap() / half_life;
    assert!((relative / (error / k) - 1.0).abs() < 1e-9);
    let run = place.run(&["fit", "d.csv", "-m", MODEL, "-s", "k=1", "--derive", "q=ln(2)/z"]);
    assert_eq!(
        (run.code, run.err.lines().last().unwrap().starts_with("error: ")),
        (2, true),
        "{run:?}"
    );
    // A library model has its own derived quantities.
    let document = place.json(&["fit", "d.csv", "-m", "exponential_offset"]);
    assert!(!document["derived"].as_array().unwrap().is_empty(), "{document}");
}

/// Uses enough points for machine code. The results have the same bits with and without machine code and with every
/// instruction set; the same holds for searches for a start.
#[test]
fn neither_machine_code_nor_the_instruction_set_changes_a_bit() {
    let row = |i: u32| {
        let t = 1e-4 * f64::from(i);
        format!("{t},{}\n", 2.0 * (-0.7 * t).exp() * (3.0 * t).sin() + 0.1 * (917.0 * t).cos())
    };
    let rows: String = (0..70_000).map(row).collect();
    let place = Place::with("d.csv", format!("time,v\n{rows}"));
    let (model, two) = ("a*exp(-k*time)*sin(w*time) + c", "a*exp(-k*time) + b*sin(w*time + p)");
    let of_few: String = rows.lines().step_by(200).flat_map(|row| [row, "\n"]).collect();
    place.put("few.csv", format!("time,v\n{of_few}"));
    let given = ["fit", "d.csv", "-m", model, "-s", "a=1.5,k=0.6,w=2.9,c=0", "--json"];
    let searched = ["fit", "few.csv", "-m", model, "--json"];
    let sum = ["fit", "few.csv", "-m", two, "--json"];
    let fit = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = place.command(arguments);
        command.envs(environment.iter().copied());
        let run = crate::support::ended(command);
        let document: Value =
            serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e} {run:?}"));
        document["parameters"].to_string()
    };
    for arguments in [&given[..], &searched, &sum] {
        let expected = fit(arguments, &[]);
        assert!(expected.contains("std_error"), "{expected}");
        for set in ["avx512", "avx2", "baseline", "no such set"] {
            for jit in ["0", "1"] {
                let found = fit(arguments, &[("DUALFIT_ISA", set), ("DUALFIT_JIT", jit)]);
                assert_eq!(found, expected, "{arguments:?} DUALFIT_ISA={set} DUALFIT_JIT={jit}");
            }
        }
    }
}
