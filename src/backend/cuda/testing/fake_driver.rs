//! A fake driver library, compiled for a test by the system's C compiler from
//! `fake_driver.c`. Its device uses host memory.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A compiled library, deleted on drop.
pub(crate) struct Fake {
    folder: TempDir,
}

/// Returns true if there is a C compiler. If there is no compiler, panics if `DUALFIT_REQUIRE` contains `cc`, and
/// otherwise writes a line to stderr, which the test harness does not capture.
pub(crate) fn compiler_is_there() -> bool {
    let there = cfg!(unix) && Command::new("cc").arg("--version").output().is_ok();
    let required = env::var("DUALFIT_REQUIRE").unwrap_or_default();
    assert!(there || !required.split(',').any(|word| word == "cc"), "a C compiler is required");
    if !there {
        let _ = writeln!(std::io::stderr(), "SKIP (no C compiler `cc`, which makes a fake driver)");
    }
    there
}

impl Fake {
    /// Compiles the library with `definitions` of the form `NAME` or `NAME=VALUE`; `fake_driver.c` lists them.
    pub(crate) fn new(definitions: &[&str]) -> Fake {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("fake_driver.c");
        std::fs::write(&source, include_str!("fake_driver.c")).unwrap();
        let fake = Fake { folder };
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([fake.library(), source])
            .args(definitions.iter().map(|definition| format!("-D{definition}")))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fake
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.folder().join("libcuda.so")
    }

    /// Returns the folder of the library, for the loader's search path.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Variable that is set in a process started with a fake driver in the loader's search path.
const INSIDE: &str = "DUALFIT_TEST_FAKE_DRIVER";

/// Runs `body` of the test with this full name in a separate process, where the loader finds a fake
/// driver compiled with `definitions`. The output of the process must contain `words`.
pub(crate) fn run_inside(test: &str, definitions: &[&str], words: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    if !compiler_is_there() {
        return;
    }
    let fake = Fake::new(definitions);
    let output = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env("LD_LIBRARY_PATH", fake.folder())
        .env(INSIDE, "1")
        .env("DUALFIT_CACHE_DIR", "off")
        .env_remove("DUALFIT_FORCE_CPU")
        .output()
        .unwrap();
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert!(text.contains(words), "{text}");
}
