//! What a table is read from: a file, a pipe or a device, of which no more is taken than a table can have.

use crate::refusal::{Outcome, Refusal, plain};
use dualfit::error::SourceError;
use dualfit::shared::no_text;
use dualfit::source::{ArrowSource, CsvOptions, CsvSource, NpySource, ParquetSource, Source};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Bytes taken from what does not say how many it has, as a pipe or a device.
const MOST: u64 = 1 << 30;
/// A longer line is damage, or has no end.
const LONGEST_LINE: usize = 16 << 20;
/// Bytes in which a text that is none is recognised.
const HEAD: usize = 8 << 10;
/// Bytes read at a time.
const AT_A_TIME: u64 = 1 << 20;

/// What was found.
pub(super) enum Input {
    Text(Box<CsvSource>),
    /// Numbers as they are: how the file is opened, and whether its columns have names.
    Stored(PathBuf, Open, bool),
}

type Open = fn(&Path) -> Result<Box<dyn Columns>, SourceError>;

/// A source of which columns are chosen.
pub(super) trait Columns {
    fn names(&self) -> Vec<String>;

    /// All of these columns as x; y is the first of them, too.
    fn choose(self: Box<Self>, columns: &[usize]) -> Result<Box<dyn Source>, SourceError>;
}

macro_rules! columns {
    ($($source:ty),*) => {
        $(impl Columns for $source {
            fn names(&self) -> Vec<String> {
                <$source>::names(self).to_vec()
            }

            fn choose(self: Box<Self>, columns: &[usize]) -> Result<Box<dyn Source>, SourceError> {
                let y = columns.first().copied().unwrap_or_default();
                Ok(Box::new(self.x(columns.iter().copied())?.y(y)?))
            }
        })*
    };
}
columns!(CsvSource, NpySource, ParquetSource, ArrowSource);

impl Input {
    /// `-` is text on standard input. `name`: how errors call it.
    pub(super) fn open(path: &Path, name: &str, options: CsvOptions) -> Outcome<Input> {
        let failed = |why: io::Error| Refusal::file(format!("{name}: {}", unopened(&why)));
        let text = |source: Result<CsvSource, _>| match source {
            Ok(source) => Ok(Input::Text(Box::new(source))),
            Err(why) => Err(super::refused(&why, name)),
        };
        if path == Path::new("-") {
            let bytes = bytes(&mut io::stdin().lock(), MOST, name)?;
            return text(CsvSource::from_bytes(name, bytes, options));
        }
        // A pipe is opened once: what was taken from it does not come again.
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(Refusal::file(format!("{name}: is a folder; give a file in it")));
        }
        if !about.is_file() {
            return text(CsvSource::from_bytes(name, bytes(&mut file, MOST, name)?, options));
        }
        let mut head = Vec::new();
        file.take(8).read_to_end(&mut head).map_err(failed)?;
        match stored(&head) {
            Some((open, has_names)) => Ok(Input::Stored(path.to_path_buf(), open, has_names)),
            None => text(CsvSource::open_with(path, options)),
        }
    }
}

/// How a file is read of which the first bytes say that it holds numbers as they are, and whether its columns
/// have names.
fn stored(head: &[u8]) -> Option<(Open, bool)> {
    match head {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            Some((|path| Ok(Box::new(NpySource::open(path)?)), false))
        }
        [b'P', b'A', b'R', b'1', ..] => {
            Some((|path| Ok(Box::new(ParquetSource::open(path)?)), true))
        }
        // A file, or a stream, which begins as no text does.
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => {
            Some((|path| Ok(Box::new(ArrowSource::open(path)?)), true))
        }
        _ => None,
    }
}

/// All bytes of a text, of which there may be `most`.
fn bytes(from: &mut impl Read, most: u64, name: &str) -> Outcome<Vec<u8>> {
    let refused = |what: String| Err(Refusal::file(format!("{name}: {what}")));
    let (mut bytes, mut line) = (Vec::new(), 0);
    loop {
        let before = bytes.len();
        match from.by_ref().take(AT_A_TIME).read_to_end(&mut bytes) {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return refused(unopened(&why)),
        }
        if stored(&bytes).is_some() {
            let what = "holds an array, Parquet or Arrow";
            return refused(format!(
                "{what}; only text can come this way, so give the file's name"
            ));
        }
        if before < HEAD
            && let Some(what) = no_text(&bytes)
        {
            return refused(what.into());
        }
        let ends = bytes.iter().skip(before).rposition(|&byte| byte == b'\n' || byte == b'\r');
        line = ends.map_or(line, |end| before + end);
        if bytes.len() - line > LONGEST_LINE {
            let most = LONGEST_LINE >> 20;
            let what = format!("a line is longer than {most} MiB");
            return refused(format!("{what}; is it a table with a row in each line?"));
        }
        if bytes.len() as u64 > most {
            let what = format!("more than {} MiB came and there is no end", most >> 20);
            return refused(format!("{what}; end it, or write it to a file and give that"));
        }
    }
}

fn unopened(why: &io::Error) -> String {
    match why.kind() {
        ErrorKind::NotFound => "there is no such file; check its name and folder".into(),
        ErrorKind::PermissionDenied => "it may not be read; check its permissions".into(),
        _ => format!("cannot be read: {}", plain(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows without end.
    struct Rows;

    impl Read for Rows {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len() / 4 * 4;
            buffer[..length].chunks_exact_mut(4).for_each(|row| row.copy_from_slice(b"1,2\n"));
            Ok(length)
        }
    }

    #[test]
    fn what_has_no_end_ends() {
        let said = |refused: Outcome<Vec<u8>>| refused.err().map(|refusal| refusal.message);
        assert_eq!(
            said(bytes(&mut Rows, 8 << 20, "rows")).unwrap(),
            "rows: more than 8 MiB came and there is no end; end it, or write it to a file and give that"
        );
        assert_eq!(
            said(bytes(&mut io::repeat(b'1'), MOST, "ones")).unwrap(),
            "ones: a line is longer than 16 MiB; is it a table with a row in each line?"
        );
        assert!(said(bytes(&mut io::repeat(0), MOST, "zeros")).unwrap().contains("is no text"));
    }
}
