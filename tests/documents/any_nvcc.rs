//! The crate builds with any `nvcc` in the search path: with the features that this crate
//! enables, cudarc's build script ignores `nvcc`.
#![cfg(unix)]

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Releases that are not in cudarc's list, one that is, and one that prints nothing.
const RELEASES: [&str; 5] = ["11.2", "12.7", "13.9", "12.6", ""];

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// cudarc's folder, and its features in this crate.
fn cudarc() -> (PathBuf, Vec<String>) {
    let program = |name: &str, otherwise: &str| {
        Command::new(std::env::var(name).unwrap_or_else(|_| otherwise.into()))
    };
    // What other systems need need not be there.
    let host = succeed(program("RUSTC", "rustc").args(["--print", "host-tuple"])).stdout;
    let output = succeed(
        program("CARGO", "cargo")
            .args(["metadata", "--format-version", "1", "--offline", "--locked"])
            .args(["--filter-platform", std::str::from_utf8(&host).unwrap().trim()])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let find = |list: &Value, key: &str, what: &dyn Fn(&str) -> bool| {
        let mut all = list.as_array().unwrap().iter();
        all.find(|entry| what(entry[key].as_str().unwrap())).unwrap().clone()
    };
    let package = find(&metadata["packages"], "name", &|name| name == "cudarc");
    let id = package["id"].as_str().unwrap();
    let node = find(&metadata["resolve"]["nodes"], "id", &|node| node == id);
    let features = node["features"].as_array().unwrap().iter();
    let features = features.map(|name| name.as_str().unwrap().to_owned()).collect();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    (manifest.parent().unwrap().to_owned(), features)
}

/// Writes a compiler that prints this release.
fn nvcc(folder: &Path, release: &str) {
    let text = match release {
        "" => "#!/bin/sh\nexit 1\n".into(),
        _ => format!(
            "#!/bin/sh\ncat <<'END'\nnvcc: NVIDIA (R) Cuda compiler driver\n\
             Copyright (c) 2005-2026 NVIDIA Corporation\nBuilt on a day\n\
             Cuda compilation tools, release {release}, V{release}.77\nEND\n"
        ),
    };
    let program = folder.join("nvcc");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_build_is_the_same_with_any_nvcc() {
    let (source, features) = cudarc();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("build");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut compile = Command::new(rustc);
    compile.args(["--edition", "2021", "--cap-lints", "allow", "-o"]).arg(&script);
    for feature in &features {
        compile.args(["--cfg", &format!("feature=\"{feature}\"")]);
    }
    succeed(compile.arg(source.join("build.rs")));

    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.path().display());
    let orders = RELEASES.map(|release| {
        nvcc(folder.path(), release);
        let mut run = Command::new(&script);
        let run = run.env("PATH", &path).env_remove("CUDARC_CUDA_VERSION");
        String::from_utf8(succeed(run).stdout).unwrap()
    });
    assert!(orders.iter().all(|order| *order == orders[0]), "{orders:#?}");
    assert!(orders[0].contains("CUDA_MAJOR_VERSION=13"), "{}", orders[0]);
}
