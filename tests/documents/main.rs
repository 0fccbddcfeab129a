//! The tree itself: examples run, the guide is whole, imports run one way, any toolkit builds it, and its English is plain.

mod any_nvcc;
mod examples;
mod features;
mod guide;
mod layering;
mod paths;
mod predictions;
mod style;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files with one of these extensions at `path` or below it, in order. Hidden files and directories, and names in
/// `skipped`, are left out.
fn files(path: &Path, extensions: &[&str], skipped: &[&str]) -> Vec<PathBuf> {
    let text = |part: Option<&OsStr>| part.and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let name = text(path.file_name());
    if name.starts_with('.') || skipped.contains(&name.as_str()) {
        return Vec::new();
    }
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> =
            entries.flat_map(|entry| files(&entry, extensions, skipped)).collect();
        found.sort();
        return found;
    }
    let is_wanted = extensions.contains(&text(path.extension()).as_str());
    is_wanted.then(|| path.to_owned()).into_iter().collect()
}
