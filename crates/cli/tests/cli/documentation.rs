//! Tests of the documentation: help, manual and completions contain every command; docs/cli.md and the README show the
//! program's actual output, and docs/cli.md describes every option.

use crate::support::{PROGRAM, Place};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMMANDS: [&str; 7] = ["fit", "batch", "models", "devices", "bench", "completions", "man"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/cli.md")).unwrap()
}

/// Returns the long options in the help of a command.
fn options(command: &str) -> Vec<String> {
    let help = Place::new().run(&[command, "--help"]).out;
    let line = |line: &str| {
        let option = line.trim_start().split("--").nth(1)?;
        let begins = line.trim_start().starts_with('-');
        let name: String =
            option.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        (begins && !name.is_empty()).then_some(name)
    };
    help.lines().filter_map(line).collect()
}

#[test]
fn help_and_manual_say_what_exit_codes_mean() {
    let place = Place::new();
    for arguments in
        [&["--help"][..], &["fit", "--help"], &["batch", "--help"], &["man"], &["man", "fit"]]
    {
        let run = place.run(arguments);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments:?}");
        for code in ["0  the fit converged", "1  the fit was made", "2  the request", "3  a file"] {
            assert!(run.out.contains(code), "{arguments:?}: {}", run.out);
        }
    }
    assert!(place.run(&["--version"]).out.starts_with("dualfit "));
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let place = Place::new();
    for command in COMMANDS {
        let run = place.run(&["man", command]);
        assert!(run.out.contains(&format!(".TH dualfit-{command} 1 ")), "{command}: {}", run.out);
        for option in options(command) {
            let written = option.replace('-', "\\-");
            assert!(run.out.contains(&format!("\\-\\-{written}")), "{command} --{option}");
        }
    }
    let whole = place.run(&["man"]).out;
    for section in ["NAME", "SYNOPSIS", "TABLES", "\"EXIT STATUS\"", "EXAMPLES", "ENVIRONMENT"] {
        assert!(whole.contains(&format!("\n.SH {section}\n")), "{section}: {whole}");
    }
}

#[test]
fn completions_know_the_commands_and_options() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = place.run(&["completions", shell]).out;
        for word in COMMANDS.into_iter().chain(["residuals", "multi-start", "decimal-comma"]) {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    let run = place.run(&["completions", "tcsh"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("invalid value 'tcsh'") && run.err.lines().count() == 1, "{run:?}");
}

#[test]
fn models_are_listed_and_shown() {
    let place = Place::new();
    let list = place.run(&["models"]).out;
    for name in dualfit::models::names() {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
    }
    let shown = place.run(&["models", "gaussian(g_) + linear(bg_)"]).out;
    for words in
        ["\nparameters\n", "\n  g_sigma       above 0\n", "\n  g_fwhm    2*sqrt(2*ln(2))*g_sigma\n"]
    {
        assert!(shown.contains(words), "{words:?} in {shown}");
    }
    let run = place.run(&["models", "gausian"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("did you mean `gaussian`?"), "{run:?}");
}

#[test]
fn devices_and_bench_say_what_they_find() {
    let place = Place::new();
    let run = place.run(&["devices"]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (
            0,
            "No CUDA device: fits run on the CPU.\nCUDA is not available: DUALFIT_FORCE_CPU is set, so no CUDA device is used; unset it to use one\n"
        )
    );
    let run = place.run(&["bench", "--points", "100,1000", "--repeat", "2"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("note: no device is measured: "), "{run:?}");
    assert_eq!(run.err.contains("built without optimisation"), cfg!(debug_assertions), "{run:?}");
    for words in ["2 of each size", "\n100 ", "\n1000 ", "of this machine under its present load"] {
        assert!(run.out.contains(words), "{words:?} in {}", run.out);
    }
}

#[test]
fn the_page_says_something_of_every_option() {
    let page = page();
    for command in COMMANDS {
        for option in
            options(command).iter().filter(|option| *option != "help" && *option != "version")
        {
            assert!(
                page.contains(&format!("--{option}")),
                "docs/cli.md lacks --{option} of {command}"
            );
        }
    }
}

/// Returns true for lines with times or numbers of threads, which differ between machines.
fn is_measured(line: &str) -> bool {
    [" ms", " µs", " s\n", "thread"].iter().any(|unit| format!("{line}\n").contains(unit))
}

/// Compares two lines word by word; numbers with the tolerance of different instruction sets.
fn says_the_same(a: &str, b: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split([' ', ',']).filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let near = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 2e-4 * a.abs().max(b.abs()),
        _ => a == b,
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len() && a.iter().zip(&b).all(near)
}

#[cfg(unix)]
#[test]
fn the_pages_show_what_the_program_prints() {
    let place = Place::new();
    for entry in fs::read_dir(root().join("examples/data")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path(&path.file_name().unwrap().to_string_lossy())).unwrap();
    }
    let folder = Path::new(PROGRAM).parent().unwrap().display().to_string();
    let search = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut shown = 0;
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let both = page() + &readme;
    for block in both.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for part in block.split("$ ").skip(1) {
            let (line, expected) = part.split_once('\n').unwrap_or((part, ""));
            // A backslash continues a command on the next line.
            let (mut line, mut expected) = (line.to_owned(), expected);
            while line.ends_with('\\') {
                let (more, rest) = expected.split_once('\n').unwrap();
                line = format!("{}{}", line.trim_end_matches('\\'), more.trim_start());
                expected = rest;
            }
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{line} 2>&1")]).current_dir(place.folder());
            command.env("PATH", &search).env("DUALFIT_FORCE_CPU", "1");
            let output = command.output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let kept = |text: &str| -> Vec<String> {
                let lines = text.trim_end().lines().map(str::trim_end);
                lines.filter(|line| !is_measured(line)).map(String::from).collect()
            };
            let (printed, expected) = (kept(&printed), kept(expected));
            let same = printed.len() == expected.len()
                && printed.iter().zip(&expected).all(|(a, b)| says_the_same(a, b));
            assert!(same, "{line}\n{}\nis not\n{}", printed.join("\n"), expected.join("\n"));
            shown += 1;
        }
    }
    assert!(shown >= 15, "only {shown} commands");
}
