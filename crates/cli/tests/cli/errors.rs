//! Tests of errors: one line with location and remedy, and the exit code. An error in a formula has two more lines,
//! with a caret.

use crate::support::{LINE, Place, Run};

const MODEL: [&str; 2] = ["-m", "s*x + o"];

/// Fits a line to a file with these contents.
fn fit(name: &str, contents: impl AsRef<[u8]>, more: &[&str]) -> Run {
    Place::with(name, contents).run(&[&["fit", name], &MODEL[..], more].concat())
}

#[track_caller]
fn refuses(run: &Run, code: i32, message: &str) {
    assert_eq!(run.err, format!("error: {message}\n"));
    assert_eq!((run.code, run.out.as_str()), (code, ""));
}

#[test]
fn files_that_are_no_tables() {
    let words = |contents: &[u8], message: &str| refuses(&fit("f.csv", contents, &[]), 3, message);
    words(b"", "f.csv: it is empty; a table has at least one row");
    words(b"# a comment\n\n", "f.csv: it is empty; a table has at least one row");
    words(b"t,v\n", "f.csv: has a row of names and no numbers below it; give at least one row");
    words(
        b"\x7fELF\x02\0\0\0",
        "f.csv: is no text; tables are CSV, TSV, other text, NPY, Parquet or Arrow",
    );
    words(
        b"PK\x03\x04",
        "f.csv: is a spreadsheet or an archive; export the sheet as CSV, or unpack it",
    );
    words(b"\x1f\x8b\x08", "f.csv: is compressed; unpack it first");
    words(b"\xff\xfet\0", "f.csv: is text in UTF-16; save it as UTF-8");
    let run = fit("f.npy", b"\x93NUMPY\x01\0", &[]);
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.starts_with("error: f.npy: "), "{run:?}");
    let run = fit("f.parquet", b"PAR1 and no more", &[]);
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.starts_with("error: f.parquet: it is no Parquet file, or damaged"), "{run:?}");
}

#[test]
fn files_that_are_not_there() {
    let place = Place::new();
    let run = place.run(&["fit", "none.csv", "-m", "s*x"]);
    refuses(&run, 3, "none.csv: there is no such file; check its name and folder");
    let run = place.run(&["fit", ".", "-m", "s*x"]);
    refuses(&run, 3, ".: is a folder; give a file in it");
    let place = Place::with("l.csv", LINE);
    let run = place.run(&["fit", "l.csv", "-m", "s*x", "--residuals", "none/r.csv"]);
    assert_eq!(run.err, "error: none/r.csv: cannot be written: no such file or directory\n");
    assert_eq!(run.code, 3);
    assert!(run.out.starts_with("l.csv: v over t"), "the report comes first: {run:?}");
}

#[test]
fn fields_that_are_no_numbers() {
    let words = |field: &str, message: &str| {
        refuses(&fit("f.csv", LINE.replace("5.1", field), &[]), 2, message);
    };
    words(
        "\"5,1\"",
        "f.csv:4:3: \"5,1\" has a decimal comma, and f.csv:2:3 has \"1.1\"; write all decimals alike, or say --decimal-comma or --thousands",
    );
    words(
        "5.1 mV",
        "f.csv:4:3: \"5.1 mV\" in column \"v\" is no number; write the number alone; units belong in the header",
    );
    words(
        "off",
        "f.csv:4:3: \"off\" in column \"v\" is no number; correct it, or write NA where a value is missing",
    );
    words(
        "5,1",
        "f.csv:4: the row has 3 fields where line 1 has 2; is there a decimal comma, or a quote that is not closed?",
    );
    words("", "f.csv:4:3: v has no value (1 such row); fill it in, or say --skip-missing");
    words("inf", "f.csv:4:3: v is infinite (1 such row); fill it in, or say --skip-missing");
    let named = "t,v\na,1\nb,2\n";
    refuses(
        &fit("f.csv", named, &[]),
        2,
        "f.csv:2:1: column \"t\" holds words, as \"a\"; choose columns of numbers",
    );
    refuses(
        &fit("f.dat", "time volt ampere\n1 2\n3 4\n", &[]),
        2,
        "f.dat:2: the row has 2 fields where line 1 has 3; names with spaces in them need another --delimiter, or underscores; say --skip-rows 1 if the table begins below it",
    );
    let sigma = LINE.replace('\n', ",0\n").replacen("v,0", "v,sigma", 1);
    refuses(
        &fit("f.csv", sigma, &["--sigma", "sigma"]),
        2,
        "f.csv:2:7: sigma is 0; it must be positive: correct it, or leave such rows out with --range \"sigma=1e-300..\"",
    );
    refuses(
        &fit("f.csv", LINE, &["--range", "t=90.."]),
        2,
        "f.csv: no row is left: 6 rows out of range; widen --range or choose other columns",
    );
}

#[test]
fn columns_that_are_not_there() {
    let words = |more: &[&str], message: &str| {
        refuses(&fit("f.csv", "time,volt,volt\n0,1,1\n1,2,2\n2,3,3\n", more), 2, message);
    };
    words(
        &["--x", "tim"],
        "f.csv: there is no column \"tim\" (did you mean \"time\"?); the columns are time, volt, volt",
    );
    words(
        &["--y", "current"],
        "f.csv: there is no column \"current\"; the columns are time, volt, volt",
    );
    words(&["--y", "4"], "f.csv: there is no column 4; the columns are 1 to 3: time, volt, volt");
    words(&["--y", "volt"], "f.csv: columns 2 and 3 are both called \"volt\"; choose by number");
    words(
        &["--range", "amp=1.."],
        "f.csv: there is no column \"amp\"; the columns are time, volt, volt",
    );
    refuses(
        &fit("f.csv", "v\n1\n2\n", &[]),
        3,
        "f.csv: it has 1 column(s); at least two are needed, x and y",
    );
}

#[test]
fn formulas_that_cannot_be_read() {
    let words = |model: &str, message: &str| {
        let run = Place::with("f.csv", LINE).run(&["fit", "f.csv", "-m", model]);
        refuses(&run, 2, message);
    };
    words(
        "a*exp(-b t)",
        "--model, column 10: no operator between `b` and `t`; to multiply, write b*t\n  a*exp(-b t)\n           ^",
    );
    words(
        "a*(t + 1",
        "--model, column 9: missing `)` for the `(` at column 3; the expression ends\n  a*(t + 1\n          ^",
    );
    words(
        "gausian",
        "--model, column 1: there is no model `gausian` (did you mean `gaussian`?); `dualfit models` lists all\n  gausian\n  ^",
    );
    words(
        "gaussian2d",
        "gaussian2d() has 2 independent variables (x, y), and --x names 1; name a column for each, as in --x x,y",
    );
    words("3*t", "the model has no parameters to fit; names that are no columns are parameters");
    let run = Place::with("f.csv", LINE).run(&["fit", "f.csv", "-m", "gaussian", "-s", "sigma=-1"]);
    refuses(
        &run,
        2,
        "the start of `sigma` is -1, outside its bounds [above 0, inf]; move it inside, or widen --bound",
    );
    let run = Place::with("f.csv", LINE).run(&["fit", "f.csv", "-m", "a*exb(t)"]);
    assert_eq!(run.err.lines().count(), 3, "{run:?}");
    assert!(
        run.err.starts_with(
            "error: --model, column 3: unknown function `exb` (did you mean `exp`?); "
        ),
        "{run:?}"
    );
}

#[test]
fn parameters_that_are_not_there() {
    let words = |more: &[&str], message: &str| refuses(&fit("f.csv", LINE, more), 2, message);
    words(&["--start", "slope=1"], "--start slope: the model has no such parameter; it has s, o");
    words(
        &["--start", "S=1"],
        "--start S: the model has no such parameter (did you mean \"s\"?); it has s, o",
    );
    let taken = |name: &str, value: &str| {
        format!(
            "{name}: the model has no such parameter; it has s, o; in a formula {value}, so call the parameter otherwise"
        )
    };
    words(&["--start", "e=1"], &taken("--start e", "e is the number 2.718…"));
    words(&["--fix", "pi"], &taken("--fix pi", "pi is the number 3.141…"));
    words(&["--tie", "e=2*s"], &taken("--tie e", "e is the number 2.718…"));
    // In `s*x + o` the name x means the column t.
    let run = Place::with("f.csv", LINE).run(&["fit", "f.csv", "-m", "s*t + o", "-s", "t=1"]);
    refuses(&run, 2, "--start t: t is the independent variable, not a parameter");
}

#[test]
fn values_that_make_no_sense() {
    let words = |more: &[&str], message: &str| refuses(&fit("f.csv", LINE, more), 2, message);
    words(&["--start", "s"], "--start s: it is written --start a=2,b=0.5");
    words(&["--start", "s=two"], "--start s=two: \"two\" is not a number");
    words(&["--start", "s=inf"], "--start s=inf: give a finite number");
    words(&["--start", "s=1,s=2"], "--start has two values for `s`; leave one of them out");
    words(&["--bound", "s=1"], "--bound s=1: a range is written 0..1, 0.. or ..1");
    words(&["--bound", "s=1..0"], "--bound s=1..0: 1 is above 0; exchange them");
    words(&["--bound", "q=0..1"], "--bound q: the model has no such parameter; it has s, o");
    words(
        &["--bound", "s=0..1", "--start", "s=2"],
        "the start of `s` is 2, outside its bounds [0, 1]; move it inside, or widen --bound",
    );
    words(&["--fix", "s"], "`s` is fixed, but at no known value; write --fix s=1");
    words(&["--tie", "s"], "--tie s: it is written --tie \"s2=2*s1\"");
    words(
        &["--tie", "s=2*q"],
        "there is no parameter `q`; the model has s, o; correct --tie of `s`",
    );
    words(&["--tie", "q=2*s"], "--tie q: the model has no such parameter; it has s, o");
    words(
        &["--tie", "s=2*"],
        "--tie, column 3: expected a value after `*` but the expression ends\n  2*\n    ^",
    );
    words(
        &["--loss", "hubber:1"],
        "--loss hubber:1: there is no such loss (did you mean \"huber\"?); there are soft-l1, huber, cauchy, arctan, tukey",
    );
    words(
        &["--loss", "huber"],
        "--loss huber: say beyond which residual a point is an outlier, in sigmas or in the units of y: huber:1.5",
    );
    words(&["--loss", "huber:0"], "--loss huber:0: the scale must be positive");
    words(
        &["--poisson", "--loss", "huber:1"],
        "--poisson knows the errors of counts and takes no robust loss; leave it out",
    );
    words(&["--range", "t"], "--range t: it is written --range x=0..10");
    words(&["--interval", "95"], "--interval 95: give a probability between 0 and 1, such as 0.95");
    words(&["--max-evaluations", "0"], "--max-evaluations is 0; it must be at least 1");
    words(
        &["--multi-start", "99999", "--bound", "s=0..1,o=0..1"],
        "--multi-start is 99999; it must be at most 65536",
    );
    words(
        &["--device", "gpu"],
        "--device gpu: it is auto, cpu, cuda for all devices, or numbers that `dualfit devices` lists: 0,1",
    );
    words(
        &["--device", "0"],
        "device 0 was asked for but CUDA is not available: DUALFIT_FORCE_CPU is set, so no CUDA device is used; unset it to use one",
    );
}

#[test]
fn points_that_cannot_be_fitted() {
    let place = Place::with("f.csv", LINE);
    let words = |model: &[&str], message: &str| {
        refuses(&place.run(&[&["fit", "f.csv", "-m"], model].concat()), 2, message);
    };
    words(
        &["a*ln(-b*t)", "-s", "b=1"],
        "f.csv:2:3: the model is NaN (t = 0) for the start a = 0, b = 1; choose a start where it is finite",
    );
    words(
        &["a*t^6 + b*t^5 + c*t^4 + d*t^3 + e1*t^2 + f*t + g"],
        "6 point(s) cannot determine 7 free parameter(s); give more points, or keep some parameters with --fix",
    );
    let place = Place::with("f.csv", LINE.replacen("1.1", "-1", 1));
    let run = place.run(&["fit", "f.csv", "-m", "a*t + b", "-s", "a=1,b=1", "--poisson"]);
    refuses(
        &run,
        2,
        "f.csv:2:3: y is -1, but --poisson takes it for a count; counts are 0 or more, so do not subtract a background from them: put it into the model",
    );
}

#[test]
fn command_lines_that_make_no_sense() {
    let place = Place::with("f.csv", LINE);
    let words = |arguments: &[&str], message: &str| refuses(&place.run(arguments), 2, message);
    words(
        &["fit", "f.csv", "--modle", "x"],
        "unexpected argument '--modle' found; a similar argument exists: '--model'",
    );
    let see = "`dualfit --help` and `dualfit COMMAND --help` say what there is";
    words(
        &["fit", "f.csv"],
        &format!("the following required arguments were not provided: --model <MODEL>; {see}"),
    );
    words(&["fot"], "unrecognized subcommand 'fot'; a similar subcommand exists: 'fit'");
    words(
        &["fit", "f.csv", "-m", "a*x", "--relative"],
        &format!(
            "the following required arguments were not provided: <--covariance <FILE>|--sigma <COLUMN|NUMBER>>; {see}"
        ),
    );
    let run = place.run(&[]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("Usage: dualfit <COMMAND>"), "{run:?}");
    let run = place.run(&["man", "fti"]);
    refuses(
        &run,
        2,
        "there is no command \"fti\" (did you mean \"fit\"?); there are fit, batch, models, devices, bench, completions, man, help",
    );
    let run = place.run(&["bench", "--points", "3"]);
    refuses(&run, 2, "--points 3: a size is between 10 and 268435456");
}
