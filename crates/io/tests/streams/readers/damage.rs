//! Damaged files, and requirements on their readers.

use crate::readers::points::{Point, rest};
use dualfit::error::SourceError;
use dualfit::source::Source;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that goes when the test ends.
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

/// The recorded files.
pub(crate) fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/files").join(name)
}

/// A beginning of the file, of any length, is an error that names it, or has the points before the cut and no
/// others. How many lengths were read without an error.
pub(crate) fn cut_everywhere<S: Source>(
    bytes: &[u8],
    expected: &[Point],
    open: impl Fn(&Path) -> Result<S, SourceError>,
) -> usize {
    let folder = Folder::new();
    let mut read = 0;
    // In the middle of a longer file, one length in seven.
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

/// The error of opening and reading what these bytes are.
pub(crate) fn refused<S: Source>(
    bytes: impl AsRef<[u8]>,
    open: impl Fn(&Path) -> Result<S, SourceError>,
) -> String {
    let path = Folder::new();
    let path = path.write("bad", bytes);
    let result = open(&path).and_then(|mut source| rest(&mut source, 5));
    result.expect_err("it must not be read").to_string()
}
