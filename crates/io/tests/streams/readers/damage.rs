//! Damaged files, and requirements on their readers.

use crate::readers::points::{Point, rest};
use dualfit::error::SourceError;
use dualfit::source::Source;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Returns the path of a recorded file.
pub(crate) fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/files").join(name)
}

/// Checks truncated files of many lengths: a truncated file is an error with its name, or it has the points before the
/// end and no others. Returns the number of lengths that were read without an error.
pub(crate) fn cut_everywhere<S: Source>(
    bytes: &[u8],
    expected: &[Point],
    open: impl Fn(&Path) -> Result<S, SourceError>,
) -> usize {
    let folder = Folder::new();
    let mut read = 0;
    // In the middle of a longer file, every seventh length.
    let ends =
        |length: &usize| *length < 600 || *length + 600 > bytes.len() || length.is_multiple_of(7);
    for length in (0..bytes.len()).filter(ends) {
        let path = folder.write("cut.bin", &bytes[..length]);
        let found = open(&path).and_then(|mut source| rest(&mut source, 5));
        match found {
            Ok(points) => {
                read += 1;
                let all = points.len() <= expected.len();
                assert!(
                    all && crate::readers::points::same(&points, &expected[..points.len()]),
                    "{length}"
                );
            }
            Err(error) => assert!(error.place.contains("cut.bin"), "{length}: {error}"),
        }
    }
    read
}

/// Returns the error when a file with these bytes is opened and read.
pub(crate) fn refused<S: Source>(
    bytes: impl AsRef<[u8]>,
    open: impl Fn(&Path) -> Result<S, SourceError>,
) -> String {
    let path = Folder::new();
    let path = path.write("bad", bytes);
    let result = open(&path).and_then(|mut source| rest(&mut source, 5));
    result.expect_err("it must not be read").to_string()
}
