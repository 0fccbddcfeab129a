//! A library that claims to be the driver's, made for a test by the system's C compiler from
//! `fake_driver.c`: a device whose memory is the host's.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A made library, deleted at the end.
pub(crate) struct Fake {
    folder: TempDir,
}

/// Whether there is a C compiler; none is said aloud, past the capture of output, or fails where
/// `DUALFIT_REQUIRE` contains `cc`.
pub(crate) fn compiler_is_there() -> bool {
    let there = cfg!(unix) && Command::new("cc").arg("--version").output().is_ok();
    let required = std::env::var("DUALFIT_REQUIRE").unwrap_or_default();
    assert!(there || !required.split(',').any(|word| word == "cc"), "a C compiler is required");
    if !there {
        let _ = writeln!(std::io::stderr(), "SKIP (no C compiler `cc`, which makes a fake driver)");
    }
    there
}

impl Fake {
    /// `definitions` as `NAME` or `NAME=VALUE`; `fake_driver.c` says which there are.
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

    /// The folder of the library, for the loader's search path.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
