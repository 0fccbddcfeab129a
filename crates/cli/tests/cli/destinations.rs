//! Tests of output files: results are written to the given files and never overwrite an input.

use crate::support::{LINE, PROGRAM, Place, ended};
use std::process::Command;

const FIT: [&str; 4] = ["fit", "l.csv", "-m", "s*t + o"];

fn refused(place: &Place, arguments: &[&str], message: &str) {
    let run = place.run(arguments);
    assert_eq!(run.err, format!("error: {message}\n"), "{arguments:?}");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert_eq!(place.read("l.csv"), LINE, "{arguments:?}");
}

#[test]
fn the_table_that_is_read_is_not_written_over() {
    let place = Place::with("l.csv", LINE);
    std::fs::create_dir(place.path("inner")).unwrap();
    let absolute = place.path("l.csv").display().to_string();
    for option in ["--residuals", "--save"] {
        for path in ["l.csv", "./l.csv", "inner/../l.csv", absolute.as_str()] {
            refused(
                &place,
                &[&FIT[..], &[option, path]].concat(),
                &format!(
                    "{option} {path}: it is l.csv, the table that is read; write to another file"
                ),
            );
        }
    }
    place.put("m.csv", LINE);
    refused(
        &place,
        &["batch", "m.csv", "l.csv", "-m", "s*t + o", "--out", "l.csv"],
        "--out l.csv: it is l.csv, the table that is read; write to another file",
    );
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_same_file() {
    let place = Place::with("l.csv", LINE);
    std::os::unix::fs::symlink("l.csv", place.path("soft.svg")).unwrap();
    std::fs::hard_link(place.path("l.csv"), place.path("hard.json")).unwrap();
    for (option, path) in
        [("--plot", "soft.svg"), ("--save", "hard.json"), ("--residuals", "soft.svg")]
    {
        refused(
            &place,
            &[&FIT[..], &[option, path]].concat(),
            &format!("{option} {path}: it is l.csv, the table that is read; write to another file"),
        );
    }
    // The reverse case: the table is read through the link.
    refused(
        &place,
        &["fit", "soft.svg", "-m", "s*t + o", "--residuals", "l.csv"],
        "--residuals l.csv: it is soft.svg, the table that is read; write to another file",
    );
    // Also if the shell opened the file.
    let script = format!("'{PROGRAM}' fit - -m 's*t + o' --residuals l.csv < l.csv");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(place.folder()).env("DUALFIT_FORCE_CPU", "1");
    let run = ended(command);
    assert!(run.err.contains("it is standard input, the table that is read"), "{run:?}");
    assert_eq!(place.read("l.csv"), LINE);
    // A device such as /dev/null can be several outputs at once.
    let run = place.run(&[&FIT[..], &["--residuals", "/dev/null", "--save", "/dev/null"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn two_results_do_not_share_a_file() {
    let place = Place::with("l.csv", LINE);
    refused(
        &place,
        &[&FIT[..], &["--residuals", "r.csv", "--save", "./r.csv"]].concat(),
        "--residuals r.csv: --save ./r.csv is the same file; write to another one",
    );
    assert!(!place.path("r.csv").exists());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("r.csv", place.path("link.csv")).unwrap();
        refused(
            &place,
            &[&FIT[..], &["--residuals", "link.csv", "--save", "r.csv"]].concat(),
            "--residuals link.csv: --save r.csv is the same file; write to another one",
        );
    }
    refused(
        &place,
        &[&FIT[..], &["--residuals", "-", "--save", "-"]].concat(),
        "--save and --residuals both go to standard output; give one of them a file",
    );
    refused(
        &place,
        &[&FIT[..], &["--residuals", "-", "--json"]].concat(),
        "--json and --residuals both go to standard output; give one of them a file",
    );
}

/// Only the result is written to standard output; the report goes to stderr.
#[test]
fn a_dash_is_standard_output() {
    let place = Place::with("l.csv", LINE);
    let run = place.run(&[&FIT[..], &["--residuals", "-"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out.lines().next(), Some("t,v,model,residual"));
    assert_eq!(run.out.lines().count(), 7);
    assert!(run.err.starts_with("l.csv: v over t, 6 points\n"), "{run:?}");
    let run = place.run(&[&FIT[..], &["--save", "-"]].concat());
    assert!(dualfit::Fit::from_json(&run.out).is_ok(), "{run:?}");
    let run = place.run(&[&FIT[..], &["--plot", "-"]].concat());
    assert!(run.out.starts_with("<svg") && run.out.trim_end().ends_with("</svg>"), "{run:?}");
    let run = place.run(&["batch", "l.csv", "-m", "s*t + o", "--out", "-"]);
    assert!(run.out.starts_with("file,y,converged,s,s_error,"), "{run:?}");
    assert!(run.err.contains("1 of 1 fit converged"), "{run:?}");
    let names: Vec<_> = std::fs::read_dir(place.folder()).unwrap().collect();
    assert_eq!(names.len(), 1, "no file is called -");
}
