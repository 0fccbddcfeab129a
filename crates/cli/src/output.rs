//! Output streams: results go to stdout, everything else to stderr. Colours are shown on terminals only.
//!
//! Any text may contain colour codes. `anstream` removes them if the stream is not a terminal or if `NO_COLOR` is set.

use crate::refusal::{Outcome, Refusal, plain};
use clap::builder::styling::{AnsiColor, Style};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const TITLE: Style = Style::new().bold();

/// Returns the text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes a result to stdout.
pub(crate) fn print(text: &str) -> Outcome<()> {
    written(&mut anstream::stdout().lock(), text.as_bytes())
}

/// Writes a result to a file, or to stdout if the path is `-`.
pub(crate) fn put(path: &Path, result: &[u8]) -> Outcome<()> {
    match is_stdout(path) {
        true => written(&mut std::io::stdout().lock(), result),
        false => std::fs::write(path, result).map_err(|why| Refusal::unwritten(path, &why)),
    }
}

/// Writes a table as CSV to a file, or to stdout if the path is `-`.
pub(crate) fn put_table(
    path: &Path,
    header: &[String],
    mut rows: impl Iterator<Item = Vec<String>>,
) -> Outcome<()> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let written = table.write_record(header);
    let written = written.and_then(|()| rows.try_for_each(|row| table.write_record(row)));
    let csv = table.into_inner().map_err(|why| Refusal::unwritten(path, why.error()))?;
    written.map_err(|why| Refusal::unwritten(path, &why.into()))?;
    put(path, &csv)
}

/// Returns true if a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the extension of a file name, in lower case.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase()
}

/// Writes bytes to standard output. A closed pipe is not an error: the reader has stopped early.
fn written(stream: &mut impl Write, bytes: &[u8]) -> Outcome<()> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Refusal::file(format!("standard output cannot be written: {}", plain(&why))))
        }
        _ => Ok(()),
    }
}

/// Writes a note to stderr.
pub(crate) fn note(text: impl Display) {
    say(DOUBTFUL, "note", text);
}

/// Writes an error message to stderr.
pub(crate) fn error(text: impl Display) {
    say(BAD, "error", text);
}

fn say(style: Style, kind: &str, text: impl Display) {
    // If stderr is closed, the message is lost.
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {text}");
}

/// Writes a text to stderr.
pub(crate) fn explain(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}
