//! Ranges of the feature `nvtx`: as a library sees them that stands in the place of NVTX, and where there
//! is none. The library is opened once in a process, so each case has a process of its own.
#![cfg(all(feature = "nvtx", unix))]

use dualfit::{Backend, CurveFit, Data};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// Writes its calls into a file, and aborts if a range ends that did not begin.
const STAND_IN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static _Thread_local int depth;
static void tell(const char* what, const char* name) {
    FILE* log = fopen(getenv("STAND_IN_LOG"), "a");
    fprintf(log, "%s %d %s\n", what, depth, name);
    fclose(log);
}
int nvtxRangePushA(const char* name) { tell("push", name); return depth++; }
int nvtxRangePop(void) { if (depth == 0) abort(); depth--; tell("pop", ""); return depth; }
"#;

#[test]
#[ignore = "run by the tests below, each in a process of its own"]
fn child() {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.3).collect();
    let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
    assert!(decay.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0]).unwrap().converged());
}

/// Runs a fit with this library for NVTX, and with this log of the library.
fn fit_with(library: Option<&OsStr>, log: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "nvtx::child", "--ignored"]).env("STAND_IN_LOG", log);
    match library {
        Some(library) => command.env("DUALFIT_NVTX", library),
        None => command.env_remove("DUALFIT_NVTX"),
    };
    command.output().unwrap()
}

fn assert_fitted(child: &Output) {
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn the_phases_of_a_fit_are_nested_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("nvtx.c"), folder.path().join("libnvtx.so"));
    std::fs::write(&source, STAND_IN).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    if !compiled.as_ref().is_ok_and(|status| status.success()) {
        println!("skipped: no C compiler makes the library that stands in: {compiled:?}");
        return;
    }
    let log = folder.path().join("log");
    assert_fitted(&fit_with(Some(library.as_os_str()), &log));
    let log = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let coarse: Vec<&str> = lines.iter().copied().filter(|l| l.starts_with("push")).collect();
    let coarse: Vec<&str> = coarse
        .into_iter()
        .filter(|l| !["step", "pass", "pieces"].iter().any(|name| l.ends_with(name)))
        .collect();
    assert_eq!(
        coarse,
        [
            "push 0 trace",
            "push 0 fit",
            "push 1 validate",
            "push 1 prepare",
            "push 2 differentiate",
            "push 1 covariance"
        ]
    );
    assert!(lines.contains(&"push 1 step") && lines.contains(&"push 2 pass"));
    assert_eq!(lines.iter().filter(|l| l.starts_with("pop")).count() * 2, lines.len());
    assert_eq!(lines.last(), Some(&"pop 0 "));
}

#[test]
fn where_nvtx_is_missing_or_is_something_else_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let garbage = folder.path().join("garbage.so");
    std::fs::write(&garbage, "no library").unwrap();
    assert_fitted(&fit_with(Some(OsStr::new("/no/such/library.so")), &log));
    assert_fitted(&fit_with(Some(garbage.as_os_str()), &log));
    // A library without the functions.
    assert_fitted(&fit_with(Some(OsStr::new("libc.so.6")), &log));
    assert_fitted(&fit_with(Some(OsStr::new("")), &log));
    assert_fitted(&fit_with(None, &log));
    assert!(!log.exists());
}
