//! What goes to the two streams: results to stdout, everything else to stderr; colours where a person
//! looks.
//!
//! Text may carry colours wherever it is made. `anstream` takes them out where the stream is no terminal,
//! or where `NO_COLOR` is set.

use crate::refusal::{Outcome, Refusal, plain};
use clap::builder::styling::{AnsiColor, Style};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const TITLE: Style = Style::new().bold();

/// The text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes a result to stdout.
pub(crate) fn print(text: &str) -> Outcome<()> {
    written(&mut anstream::stdout().lock(), text.as_bytes())
}

/// Writes a result to a file, or to stdout where that is `-`.
pub(crate) fn put(path: &Path, result: &[u8]) -> Outcome<()> {
    match is_stdout(path) {
        true => written(&mut std::io::stdout().lock(), result),
        false => std::fs::write(path, result).map_err(|why| Refusal::unwritten(path, &why)),
    }
}

/// Writes a table as CSV, so.
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

/// Whether a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// What a file's name ends with, in lower case.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase()
}

/// Whoever has stopped reading has read enough.
fn written(stream: &mut impl Write, bytes: &[u8]) -> Outcome<()> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Refusal::file(format!("standard output cannot be written: {}", plain(&why))))
        }
        _ => Ok(()),
    }
}

/// Says on stderr what a user may want to know.
pub(crate) fn note(text: impl Display) {
    say(DOUBTFUL, "note", text);
}

/// Says on stderr why there is no result.
pub(crate) fn error(text: impl Display) {
    say(BAD, "error", text);
}

fn say(style: Style, kind: &str, text: impl Display) {
    // Where stderr is closed there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {text}");
}

/// Shows a text on stderr.
pub(crate) fn explain(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}
