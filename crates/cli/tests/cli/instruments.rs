//! Tests of tables from instruments and spreadsheets: a unique interpretation is used; an ambiguous one is an error
//! that names the option.

use crate::support::{LINE, Place, Run, value};

/// Runs a fit of a line and returns its slope.
#[track_caller]
fn slope(name: &str, contents: impl AsRef<[u8]>, more: &[&str]) -> (f64, String) {
    let place = Place::with(name, contents);
    let arguments = [&["fit", name, "-m", "s*x + o"], more].concat();
    let run = place.run(&arguments);
    assert_eq!(run.code, 0, "{run:?}");
    (value(&place.json(&arguments), "s"), run.err)
}

/// Checks that a file gives the slope of [`LINE`] and the expected notes.
#[track_caller]
fn same(name: &str, contents: impl AsRef<[u8]>, more: &[&str], said: &str) {
    let (right, _) = slope("l.csv", LINE, &[]);
    assert_eq!(slope(name, contents, more), (right, said.to_owned()));
}

#[track_caller]
fn refused(contents: impl AsRef<[u8]>, more: &[&str]) -> String {
    let place = Place::with("f.csv", contents);
    let run: Run = place.run(&[&["fit", "f.csv", "-m", "s*x + o"], more].concat());
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (2, "", 1), "{run:?}");
    run.err
}

/// Returns the rows of [`LINE`] without the names.
fn rows() -> &'static str {
    LINE.strip_prefix("t,v\n").unwrap()
}

/// Returns these rows with semicolons and decimal commas.
fn german() -> String {
    rows().replace(',', ";").replace('.', ",")
}

#[test]
fn decimal_commas_are_found_where_nothing_else_is_possible() {
    let note = |place: &str| {
        format!("note: decimals are read with a comma where they have one, as \"1,1\" at {place}\n")
    };
    same("l.csv", german(), &[], &note("l.csv:1:3"));
    same("l.csv", format!("t;v\n{}", german()), &[], &note("l.csv:2:3"));
    same("l.csv", german(), &["--decimal-comma"], "");
    same("l.txt", german().replace(';', "  "), &[], &note("l.txt:1:4"));
    same("l.tsv", german().replace(';', "\t"), &[], &note("l.tsv:1:3"));
    let quoted = rows().replace('.', ",");
    let quoted: String = quoted
        .lines()
        .map(|line| line.split_once(',').unwrap())
        .map(|(t, v)| format!("{t},\"{v}\"\n"))
        .collect();
    same("l.csv", quoted, &[], &note("l.csv:1:3"));
}

#[test]
fn a_number_that_can_be_two_is_asked_about() {
    let table = "t;v\n1;1,100\n2;2,800\n3;5,100\n";
    assert_eq!(
        refused(table, &[]),
        "error: f.csv:2:3: \"1,100\" may have a decimal comma or set thousands apart; say --decimal-comma or --thousands comma\n"
    );
    let (small, _) = slope("f.csv", table, &["--decimal-comma"]);
    let (large, _) = slope("f.csv", table, &["--thousands", "comma"]);
    assert!((small - 2.0).abs() < 1e-12 && (large - 2000.0).abs() < 1e-9, "{small} {large}");
    let said = refused("t;v\n0,5;1.100\n1,5;2.800\n2,5;5.100\n", &[]);
    assert!(said.contains("\"1.100\" may have") && said.contains("--thousands point"), "{said}");
    let said = refused("t;v\n1;1,5\n2;2.5\n3;3,5\n", &[]);
    assert_eq!(
        said,
        "error: f.csv:3:3: \"2.5\" has a decimal point, and f.csv:2:3 has \"1,5\"; write all decimals alike, or say --decimal-comma or --thousands\n"
    );
    let said = refused("t,v\n0,5,1,2\n1,5,2,8\n2,5,3,4\n", &[]);
    assert!(said.contains("f.csv:2: the row has 4 fields where line 1 has 2; "), "{said}");
    assert!(said.contains("--decimal-comma"), "{said}");
    let torn = "0,5,1,25\n1,5,2,05\n2,5,3,75\n";
    assert!(refused(torn, &[]).starts_with(
        "error: f.csv:2:7: \"05\" looks like the end of a number with a comma in it; separate by semicolons"
    ));
    slope("f.csv", torn, &["--delimiter", "comma"]);
    let torn = "time,volt\n1 000,-149 613.2\n2 500,-269 007.1\n3 750,548 810.5\n";
    refused(torn, &[]);
    assert!(refused(torn, &["--delimiter", "comma"]).contains("--thousands space"));
    slope("f.csv", torn, &["--delimiter", "comma", "--thousands", "space"]);
    assert_eq!(
        refused(LINE, &["--decimal-comma", "--thousands", "comma"]),
        "error: f.csv: --decimal-comma and --thousands comma: a comma cannot mark decimals and thousands\n"
    );
}

#[test]
fn thousands_are_set_apart() {
    let points = [(0.0, 1234.5), (1000.0, 1_002_345.25), (2000.0, 2_003_456.0)];
    let plain: String = points.iter().map(|(x, y)| format!("{x};{y:?}\n")).collect();
    let (right, _) = slope("l.csv", plain, &[]);
    let american = "0;1,234.5\n1,000;1,002,345.25\n2,000;2,003,456.00\n";
    let (found, said) = slope("l.csv", american, &[]);
    assert_eq!(found, right);
    assert_eq!(said, "note: thousands are set apart, as in \"1,234.5\" at l.csv:1:3\n");
    let german = "0;1.234,5\n1.000;1.002.345,25\n2.000;2.003.456,00\n";
    assert_eq!(slope("l.csv", german, &[]).0, right);
    assert_eq!(slope("l.csv", german, &["--thousands", "point"]), (right, String::new()));
    let swiss = american.replace(',', "'");
    assert!(refused(&swiss, &[]).contains("--thousands apostrophe"));
    assert_eq!(slope("l.csv", &swiss, &["--thousands", "apostrophe"]), (right, String::new()));
    let french = german.replace('.', "\u{202f}");
    assert!(refused(&french, &[]).contains("--thousands space"));
    assert_eq!(slope("l.csv", &french, &["--thousands", "space"]).0, right);
}

#[test]
fn a_row_with_digits_is_never_units() {
    same("l.csv", LINE.replace("t,v", "t,v\ns,mV"), &[], "note: l.csv:2: taken for units\n");
    let odd = LINE.replace("t,v", "t,v\ns,m/s2");
    let said = refused(&odd, &[]);
    assert!(said.contains("lines 1 to 2 are words"), "{said}");
    assert!(said.contains("--header-rows 2") && said.contains("--skip-rows 1"), "{said}");
    same("l.csv", odd, &["--header-rows", "2", "--x", "t"], "");
    let origin = LINE.replace("t,v", "t,v\ns,mV\nclock,meter");
    assert!(refused(&origin, &[]).contains("--header-rows 3"));
    same("l.csv", origin, &["--header-rows", "3", "--y", "v"], "");
}

#[test]
fn a_first_row_that_may_be_numbers_is_asked_about() {
    for first in ["0,OVLD", "-1,0.9 V", "2024,overload"] {
        let said = refused(format!("{first}\n{}", rows()), &[]);
        assert!(said.starts_with("error: f.csv:1: has words and numbers; "), "{said}");
        assert!(said.contains("--header-rows 1") && said.contains("--skip-rows 1"), "{said}");
    }
    let wide = rows().replace('\n', ",9\n");
    same("l.csv", format!("time,400,410\n{wide}"), &[], "note: l.csv:1: taken for names\n");
    same("l.csv", format!("1,2\n{}", rows()), &["--header-rows", "1"], "");
    let defect = LINE.replace("0,1.1", "0,1.1x");
    assert!(refused(defect, &[]).contains("f.csv:2:3: \"1.1x\" in column \"v\" is no number"));
}

#[test]
fn preambles_are_passed_over_where_they_are_plain() {
    let told = |lines: &str| format!("note: {lines}, as it stands above the table\n");
    let spectrum = format!(
        "Instrument: Lambda 25\r\nOperator, J. Doe, room 4\r\nDate, 2024-01-02 12:00\r\nPoints,6\r\n\r\n{}",
        LINE.replace('\n', "\r\n")
    );
    same("l.csv", &spectrum, &["--x", "t"], &told("l.csv:1: passed over to line 4"));
    same("l.csv", &spectrum, &["--skip-rows", "5"], "");
    same("l.csv", format!("Run 7\n{}", rows()), &[], &told("l.csv:1: passed over"));
    same(
        "l.dat",
        format!("% made by a program, 3\n{}", rows().replace(',', " ")),
        &[],
        &told("l.dat:1: passed over"),
    );
    let cut = rows().replace(',', "\t").replace('.', ",");
    let tabs = format!("Gerät\tX 3\nMessung\t7\nBereich\t0-5\tV\n\nZeit [s]\tSpannung [V]\n{cut}");
    let (_, said) = slope("l.txt", tabs, &["--x", "Zeit", "--y", "Spannung"]);
    assert!(said.starts_with(&told("l.txt:1: passed over to line 3")), "{said}");
    same("l.csv", format!("sep=;\n{}", LINE.replace(',', ";")), &["--x", "t"], "");
}

#[test]
fn no_number_is_passed_over() {
    let two = format!("1,2\n3,4\n5,6\nt,v,w\n{}", rows().replace('\n', ",0\n"));
    let said = refused(&two, &[]);
    assert!(said.starts_with("error: f.csv:1: has numbers, and below it stands a row of names; "));
    assert!(said.contains("--skip-rows 3"), "{said}");
    same("l.csv", two, &["--skip-rows", "3"], "");
    let said = refused(format!("6\n{}", rows()), &[]);
    assert!(said.starts_with("error: f.csv:1: the row has 1 field where line 2 has 2; "), "{said}");
    let said = refused(format!("Sample A, Monday, noon\n{}", rows()), &[]);
    assert!(said.contains("--skip-rows 1"), "{said}");
    let said = refused("Operator,Doe\nSample,A\nMode,fast\nt,v\n0,1\n1,2\n2,4\n", &[]);
    assert!(said.contains("lines 1 to 4 are words") && said.contains("--skip-rows 3"), "{said}");
    let said = refused(format!("{LINE}End of data\n"), &[]);
    assert!(said.contains("f.csv:8: the row has 1 field where line 1 has 2"), "{said}");
    assert_eq!(
        refused(LINE, &["--skip-rows", "9"]),
        "error: f.csv:7: is the last line, so --skip-rows 9 leaves no table\n"
    );
}

#[test]
fn letters_of_other_alphabets_are_read() {
    let mut latin = b"t / \xb5s;T / \xb0C\n".to_vec();
    latin.extend(rows().replace(',', ";").bytes());
    let place = Place::with("l.csv", latin);
    let run = place.run(&["fit", "l.csv", "-m", "s*x + o", "--y", "T"]);
    assert_eq!(run.err, "note: l.csv: is no UTF-8; its letters are read as Latin-1\n");
    assert!(run.out.starts_with("l.csv: T / °C over t / µs, 6 points\n"), "{run:?}");
    let wide: Vec<u8> = LINE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let place = Place::with("w.csv", [b"\xff\xfe", &wide[..]].concat());
    let run = place.run(&["fit", "w.csv", "-m", "s*x + o"]);
    assert_eq!(run.err, "error: w.csv: is text in UTF-16; save it as UTF-8\n");
}

#[test]
fn separators_at_the_end_blank_lines_and_missing_values_are_no_matter() {
    same("l.csv", rows().replace('\n', ",\n"), &[], "");
    same("l.csv", LINE.replace('\n', ",\n"), &["--y", "v"], "");
    same("l.csv", format!("t,v\n{}", rows().replace('\n', ",\n")), &["--y", "v"], "");
    same("l.csv", LINE.replace(',', ";").replace('\n', ";\r\n\r\n"), &["--y", "v"], "");
    same("l.csv", LINE.replace("1,2.8", "9,n/a\n1,2.8\n8,NaN\n7,\n,"), &["--skip-missing"], "");
    same("l.csv", format!("{LINE}NA,NA\n"), &["--skip-missing"], "");
    same("l.csv", format!("t,v\nNA,NA\n{}", rows()), &["--skip-missing"], "");
}

/// Reading of an endless input stops at the limits of a table.
#[cfg(unix)]
#[test]
fn endless_inputs_end() {
    let place = Place::with("l.csv", LINE);
    for device in ["/dev/zero", "/dev/urandom"] {
        let run = place.run(&["fit", device, "-m", "s*x + o"]);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.err.contains("is no text"), "{run:?}");
    }
    let script = format!(
        "tr '\\0' 1 < /dev/zero | '{0}' fit - -m 's*x + o'; cat /dev/zero | '{0}' batch - -m 's*x'",
        crate::support::PROGRAM
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(place.folder()).env("DUALFIT_FORCE_CPU", "1");
    let run = crate::support::ended(command);
    assert_eq!(
        run.err,
        "error: standard input: a line is longer than 16 MiB; is it a table with a row in each line?\n\
         error: standard input: is no text; tables are CSV, TSV, other text, NPY, Parquet or Arrow\n"
    );
}

/// An array from a pipe is an error, because a pipe cannot be opened a second time.
#[cfg(unix)]
#[test]
fn an_array_through_a_named_pipe_is_refused() {
    let place = Place::with("l.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}");
    let script = format!(
        "mkfifo p && (cat l.npy > p &) && '{}' fit p -m 's*x + o'",
        crate::support::PROGRAM
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(place.folder()).env("DUALFIT_FORCE_CPU", "1");
    let run = crate::support::ended(command);
    assert!(run.err.contains("p: holds an array, Parquet or Arrow"), "{run:?}");
}

#[test]
fn an_order_of_day_and_month_is_said() {
    let table = "when,v\n30.01.2026,1.5\n31.01.2026,2.5\n01.02.2026,3.5\n02.02.2026,4.5\n";
    let said = refused(table, &[]);
    let remedy =
        "does not say which number is the day and which the month; say --date-order, or write";
    assert!(
        said.starts_with("error: f.csv:2:1: \"30.01.2026\"") && said.contains(remedy),
        "{said}"
    );
    let (per_second, _) = slope("f.csv", table, &["--date-order", "day-first"]);
    assert!((per_second * 86400.0 - 1.0).abs() < 1e-9, "{per_second}");
    assert!(
        refused(table, &["--date-order", "month-first"]).contains("order that --date-order says")
    );
}
