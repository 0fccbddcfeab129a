//! A table in memory: columns with names, from a text, a NumPy or a Parquet file.

mod choice;
mod layout;
mod number;
mod rows;
mod stored;
mod text;

pub(crate) use choice::without_unit;

use crate::arguments::TableArguments;
use crate::refusal::{Outcome, Refusal, plain};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use stored::{Format, Stored};
use text::Text;

pub(crate) struct Table {
    /// The file as errors and reports name it.
    pub(crate) name: String,
    contents: Contents,
}

enum Contents {
    Text(Box<Text>),
    Stored(Stored),
}

/// Bytes in which a text that is none is recognised.
const HEAD: usize = 8 << 10;

impl Table {
    /// `-` is text on standard input.
    pub(crate) fn open(path: &Path, asked: &TableArguments) -> Outcome<Table> {
        let piped = path == Path::new("-");
        let name = if piped { "standard input".into() } else { path.display().to_string() };
        let failed = |why: io::Error| Refusal::file(format!("{name}: {}", unopened(&why)));
        let mut bytes = Vec::new();
        if piped {
            io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        } else {
            if fs::metadata(path).map_err(failed)?.is_dir() {
                return Err(Refusal::file(format!("{name}: is a folder; give a file in it")));
            }
            let mut file = File::open(path).map_err(failed)?;
            let mut head = [0; 8];
            let read = read_up_to(&mut file, &mut head).map_err(failed)?;
            let head = head.get(..read).unwrap_or_default();
            if let Some(format) = Format::of(head) {
                let contents = Contents::Stored(Stored::open(path, format)?);
                return Ok(Table { name, contents });
            }
            bytes.extend_from_slice(head);
            file.read_to_end(&mut bytes).map_err(failed)?;
        }
        if let Some(what) = no_text(&bytes) {
            return Err(Refusal::file(format!("{name}: {what}")));
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let text = Text::read(&name, bytes, &extension.to_lowercase(), asked)?;
        Ok(Table { name, contents: Contents::Text(Box::new(text)) })
    }

    /// The columns' names; their numbers from 1 where they have none.
    pub(crate) fn names(&self) -> &[String] {
        match &self.contents {
            Contents::Text(text) => &text.names,
            Contents::Stored(stored) => &stored.names,
        }
    }

    /// The values of columns, NaN where one is missing.
    pub(crate) fn columns(&self, wanted: &[usize]) -> Outcome<Vec<Vec<f64>>> {
        match &self.contents {
            Contents::Text(text) => wanted.iter().map(|&column| text.column(column)).collect(),
            Contents::Stored(stored) => stored.columns(wanted),
        }
    }

    /// Where a value stands.
    pub(crate) fn place(&self, row: usize, column: usize) -> String {
        match &self.contents {
            Contents::Text(text) => text.place(row, column),
            Contents::Stored(stored) => stored.place(row, column),
        }
    }
}

fn read_up_to(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(done)
}

fn unopened(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => "there is no such file; check its name and folder".into(),
        io::ErrorKind::PermissionDenied => "it may not be read; check its permissions".into(),
        _ => format!("cannot be read: {}", plain(why)),
    }
}

/// Why bytes are no text, and what to do, if they are none.
fn no_text(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [b'P', b'K', 3, 4, ..] => {
            Some("is a spreadsheet or an archive; export the sheet as CSV, or unpack it")
        }
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("is compressed; unpack it first"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("is text in UTF-16; save it as UTF-8"),
        _ if Format::of(bytes).is_some() => {
            Some("holds an array or Parquet; only text can come this way, so give the file's name")
        }
        _ if bytes.iter().take(HEAD).any(|&byte| byte == 0) => {
            Some("is no text; tables are CSV, TSV, other text, NPY or Parquet")
        }
        _ => None,
    }
}
