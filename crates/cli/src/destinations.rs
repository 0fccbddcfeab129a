//! Checks of output files: no output overwrites an input or another output.

use crate::output::{extension, is_stdout};
use crate::refusal::{Outcome, Refusal};
use same_file::Handle;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of a chain of symbolic links.
const LINKS: usize = 40;

/// Returns an error if the extension of a file is not one of two supported formats. Called before a long fit.
pub(crate) fn expect_form(
    option: &str,
    path: Option<&Path>,
    what: &str,
    forms: [&str; 2],
) -> Outcome<()> {
    match path.filter(|path| !is_stdout(path) && !forms.contains(&extension(path).as_str())) {
        None => Ok(()),
        Some(path) => Err(Refusal::usage(format!(
            "{option} {}: the extension selects {what}; use .{} or .{}",
            path.display(),
            forms[0],
            forms[1]
        ))),
    }
}

/// Identity of a file, independent of the path that leads to it.
#[derive(PartialEq)]
enum Place {
    File(Handle),
    /// A file that does not exist yet or cannot be opened.
    Name(PathBuf),
}

/// Checks that all outputs differ from the inputs and from each other. Returns true if an output is written to
/// standard output; the report is then written to stderr. `outputs`: options with their paths; `-` is standard output.
pub(crate) fn check(
    inputs: &[&Path],
    outputs: &[(&'static str, Option<&Path>)],
    json: bool,
) -> Outcome<bool> {
    let given = || outputs.iter().filter_map(|(option, path)| path.map(|path| (*option, path)));
    let mut on_stdout: Vec<&str> = if json { vec!["--json"] } else { Vec::new() };
    on_stdout.extend(given().filter(|(_, path)| is_stdout(path)).map(|(option, _)| option));
    if let [first, second, ..] = on_stdout[..] {
        return Err(Refusal::usage(format!(
            "{first} and {second} both go to standard output; give one of them a file"
        )));
    }
    let read = inputs.iter().map(|path| match is_stdout(path) {
        true => ("standard input".to_owned(), piped(Handle::stdin())),
        false => (path.display().to_string(), place(path)),
    });
    let read: Vec<(String, Option<Place>)> = read.collect();
    let mut written = vec![("standard output".to_owned(), piped(Handle::stdout()))];
    for (option, path) in given().filter(|(_, path)| !is_stdout(path)) {
        let shown = format!("{option} {}", path.display());
        let Some(place) = place(path) else { continue };
        let same = |other: &Option<Place>| other.as_ref() == Some(&place);
        if let Some((other, _)) = read.iter().find(|(_, other)| same(other)) {
            return Err(Refusal::usage(format!(
                "{shown}: it is {other}, the table that is read; write to another file"
            )));
        }
        if let Some((other, _)) = written.iter().find(|(_, other)| same(other)) {
            return Err(Refusal::usage(format!(
                "{shown}: {other} is the same file; write to another one"
            )));
        }
        written.push((shown, Some(place)));
    }
    Ok(!json && !on_stdout.is_empty())
}

/// Returns the identity of the file at a path. `None` if it is not a regular file, for example a terminal or
/// `/dev/null`: such a file can be both input and output.
fn place(path: &Path) -> Option<Place> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => None,
        Ok(_) => Handle::from_path(path).ok().map(Place::File).or_else(|| name(path)),
        Err(_) => name(path),
    }
}

/// Resolves the path of a file that does not exist yet. Symbolic links are followed even if their targets do not exist.
fn name(path: &Path) -> Option<Place> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().map_or(target.clone(), |folder| folder.join(&target));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
    Some(Place::Name(folder.join(path.file_name()?)))
}

/// Returns the file behind a standard stream; `None` if the stream is not a file.
fn piped(stream: std::io::Result<Handle>) -> Option<Place> {
    let handle = stream.ok()?;
    let is_file = handle.as_file().metadata().is_ok_and(|about| about.is_file());
    is_file.then_some(Place::File(handle))
}
