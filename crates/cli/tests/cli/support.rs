//! Helpers of the tests: a temporary folder with files, and runs of the program in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dualfit");

/// Table of y = 2x + 1 with small errors that do not change the slope.
pub(crate) const LINE: &str = "t,v\n0,1.1\n1,2.8\n2,5.1\n3,7.1\n4,8.8\n5,11.1\n";
/// Table of approximately 3·exp(−0.7x) + 0.5.
pub(crate) const DECAY: &str = "time,signal,sigma,other\n\
    0,3.52,0.05,1\n0.5,2.60,0.05,2\n1,1.98,0.05,3\n1.5,1.57,0.05,4\n2,1.23,0.05,5\n\
    3,0.85,0.05,6\n4,0.70,0.05,7\n6,0.53,0.05,8\n";

pub(crate) struct Place {
    folder: TempDir,
}

/// Exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    /// Creates a folder with one file.
    pub(crate) fn with(name: &str, contents: impl AsRef<[u8]>) -> Place {
        let place = Place::new();
        place.put(name, contents);
        place
    }

    pub(crate) fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.folder()).stdin(Stdio::null());
        // Neither a device nor the user's environment may change the output.
        command.env("DUALFIT_FORCE_CPU", "1").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.env_remove("COLUMNS");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        ended(self.command(arguments))
    }

    /// Runs the program with this text on standard input.
    pub(crate) fn run_on(&self, input: &[u8], arguments: &[&str]) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        Run::of(output)
    }

    /// Runs the program with `--json` and returns the document.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let run = self.run(&arguments);
        serde_json::from_str(&run.out).unwrap_or_else(|why| panic!("{why}: {run:?}"))
    }
}

pub(crate) fn ended(mut command: Command) -> Run {
    Run::of(command.output().unwrap())
}

impl Run {
    fn of(output: std::process::Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Returns a number of a parameter in a document.
pub(crate) fn of_parameter(document: &serde_json::Value, name: &str, key: &str) -> f64 {
    let all = document["parameters"].as_array().unwrap_or_else(|| panic!("{document}"));
    let found = all.iter().find(|parameter| parameter["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {document}"));
    found[key].as_f64().unwrap_or_else(|| panic!("{key} of {name} in {document}"))
}

pub(crate) fn value(document: &serde_json::Value, name: &str) -> f64 {
    of_parameter(document, name, "value")
}
