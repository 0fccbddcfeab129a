//! C++ compiler of this machine, and shared libraries that it compiles.

use libloading::Library;
use std::process::Command;
use tempfile::TempDir;

/// A library with its temporary folder.
pub(super) struct Built {
    pub(super) library: Library,
    _folder: TempDir,
}

/// Compiles `source` and loads it. Without optimisation and fused operations every operation
/// rounds as written.
///
/// Prints a line and returns `None` if there is no compiler. If the environment variable
/// `DUALFIT_REQUIRE` contains `cxx`, the test fails instead.
pub(super) fn build(source: &str) -> Option<Built> {
    let Some(compiler) = compiler() else {
        let required = std::env::var("DUALFIT_REQUIRE").unwrap_or_default();
        let required = required.split(',').any(|name| name.trim() == "cxx");
        assert!(!required, "no C++ compiler, and DUALFIT_REQUIRE asks for one");
        println!("SKIP (no C++ compiler: neither $CXX nor g++, clang++, c++ runs)");
        return None;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (folder.path().join("unit.cpp"), folder.path().join("unit.so"));
    std::fs::write(&from, source).expect("a written source");
    let output = Command::new(compiler)
        .args(["-std=c++17", "-O0", "-fno-builtin", "-ffp-contract=off", "-shared", "-fPIC", "-o"])
        .args([&to, &from])
        .output()
        .expect("a compiler that ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: the library has no code that runs while it is loaded.
    let library = unsafe { Library::new(&to) }.expect("a library");
    Some(Built { library, _folder: folder })
}

fn compiler() -> Option<String> {
    let named = std::env::var("CXX").ok();
    let names = named.into_iter().chain(["g++", "clang++", "c++"].map(String::from));
    names
        .into_iter()
        .find(|n| Command::new(n).arg("--version").output().is_ok_and(|o| o.status.success()))
}
