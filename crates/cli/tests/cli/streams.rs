//! Tests of output streams: results on stdout, everything else on stderr; colours on terminals only; closed pipes.

use crate::support::{DECAY, LINE, Place, ended};
use std::io::Read;
use std::process::Stdio;

const FIT: [&str; 6] = ["fit", "d.csv", "-m", "a*exp(-k*time) + c", "-s", "k=1"];

#[test]
fn nothing_is_coloured_in_a_pipe() {
    let place = Place::with("d.csv", DECAY);
    for arguments in [&FIT[..], &["fit", "none.csv", "-m", "a*x"], &["--help"], &["models"], &[]] {
        let run = place.run(arguments);
        assert!(!run.out.contains('\x1b') && !run.err.contains('\x1b'), "{run:?}");
    }
}

/// Forces the output of a terminal without a terminal.
#[test]
fn colours_may_be_forced_and_forbidden() {
    let place = Place::with("d.csv", DECAY);
    let coloured = |no_color: bool| {
        let mut command = place.command(&FIT);
        command.env("CLICOLOR_FORCE", "1");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        ended(command)
    };
    let run = coloured(false);
    assert!(run.out.contains("\x1b[1m\x1b[32mconverged"), "{:?}", run.out);
    assert!(run.err.starts_with("\x1b[33mnote:\x1b[0m "), "{:?}", run.err);
    let run = coloured(true);
    assert!(!run.out.contains('\x1b') && !run.err.contains('\x1b'), "{run:?}");
}

#[test]
fn a_reader_that_stops_is_no_error() {
    let place = Place::with("d.csv", DECAY);
    for arguments in [&FIT[..], &["completions", "bash"], &["man"], &["--help"], &["models"]] {
        let mut command = place.command(arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        // Closes the pipe before anything is read.
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(!said.contains("error") && !said.contains("panicked"), "{arguments:?}: {said}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::with("d.csv", DECAY);
    let mut command = place.command(&FIT);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    command.stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.ends_with("error: standard output cannot be written: no space left on device\n"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn a_table_may_come_through_a_named_pipe() {
    let place = Place::with("l.csv", LINE);
    let script = format!(
        "mkfifo p && (cat l.csv > p &) && '{}' fit p -m 's*t + o' | head -1",
        crate::support::PROGRAM
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(place.folder()).env("DUALFIT_FORCE_CPU", "1");
    let run = ended(command);
    assert_eq!(run.out, "p: v over t, 6 points\n", "{run:?}");
}

/// Runs the program on a pseudo-terminal; returns the exit code and the output of both streams.
#[cfg(target_os = "linux")]
fn on_a_terminal(place: &Place, arguments: &[&str], no_color: bool) -> (i32, String) {
    use std::fs::File;
    use std::os::fd::FromRawFd;
    let (mut ours, mut theirs) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: both pointers refer to local variables; name, attributes and size may be null.
    let opened = unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), null.cast()) };
    assert_eq!(opened, 0);
    // SAFETY: `openpty` has just opened both descriptors, and no other code closes them.
    let (mut ours, theirs) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) };
    let mut command = place.command(arguments);
    command.env("TERM", "xterm").stdout(theirs.try_clone().unwrap()).stderr(theirs);
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut written = Vec::new();
    let mut bytes = [0; 4096];
    // After the other side of a terminal is closed, reading returns an error instead of the end of the file.
    while let Ok(read @ 1..) = ours.read(&mut bytes) {
        written.extend_from_slice(&bytes[..read]);
    }
    let code = child.wait().unwrap().code().unwrap();
    (code, String::from_utf8(written).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_colours_unless_it_wants_none() {
    let place = Place::with("d.csv", DECAY);
    let (code, text) = on_a_terminal(&place, &FIT, false);
    assert_eq!(code, 0);
    assert!(text.contains("\x1b[1m\x1b[32mconverged"), "{text:?}");
    let (_, text) = on_a_terminal(&place, &FIT, true);
    assert!(
        text.contains("converged") && !text.contains("\x1b[3") && !text.contains("\x1b[1m"),
        "{text:?}"
    );
}

/// A fit of several seconds shows its progress, and removes the progress line before the report.
#[cfg(target_os = "linux")]
#[test]
fn long_fits_show_their_progress_on_a_terminal() {
    // A sum of two decays is fitted to a single decay: thousands of steps do not converge.
    let rows = (0..100_000).map(|i| 5e-5 * f64::from(i));
    let rows = rows.map(|x| format!("{x},{}\n", 2.0 * (-0.7 * x).exp() + 1e-3 * (9e3 * x).sin()));
    let place = Place::with("w.csv", rows.collect::<String>());
    let arguments =
        ["fit", "w.csv", "-m", "a*exp(-b*x) + c*exp(-d*x)", "--max-evaluations", "1000"];
    let start = ["-s", "a=1,b=1,c=1,d=0.5"];
    let (_, text) = on_a_terminal(&place, &[&arguments[..], &start].concat(), false);
    let (before, after) = text.split_once("w.csv: ").unwrap();
    let solve = after.split_once("solve ").and_then(|(_, rest)| rest.split_once(" ms"));
    let milliseconds: f64 = solve.unwrap().0.parse().unwrap();
    assert!(before.contains("iteration ") || milliseconds < 800.0, "{milliseconds}: {before:?}");
    assert!(!before.contains("iteration ") || before.ends_with("\r\x1b[2K"), "{before:?}");
    assert!(!after.contains("iteration "), "{after:?}");
}
