//! What a table is read from: a file, a pipe or a device, of which no more is taken than a table can have,
//! and as text in UTF-8.

use super::stored::Format;
use crate::output::note;
use crate::refusal::{Outcome, Refusal, plain};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Bytes taken from what does not say how many it has, as a pipe or a device.
const MOST: u64 = 1 << 30;
/// A longer line is damage, or has no end.
const LONGEST_LINE: usize = 16 << 20;
/// Bytes in which a text that is none is recognised.
const HEAD: usize = 8 << 10;
/// Bytes read at a time.
const AT_A_TIME: u64 = 1 << 20;

/// What the bytes of Windows' Latin letters mean where Latin-1 has no letters; the rest is as there.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// What was found.
pub(super) enum Input {
    Text(String),
    Stored(Format),
}

/// `-` is text on standard input. `name`: how errors call it.
pub(super) fn read(path: &Path, name: &str) -> Outcome<Input> {
    let failed = |why: io::Error| Refusal::file(format!("{name}: {}", unopened(&why)));
    if path == Path::new("-") {
        return Ok(Input::Text(text(bytes(&mut io::stdin().lock(), MOST, name)?, name)));
    }
    // A pipe is opened once: what was taken from it does not come again.
    let mut file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_dir() {
        return Err(Refusal::file(format!("{name}: is a folder; give a file in it")));
    }
    let mut head = Vec::new();
    if about.is_file() {
        (&mut file).take(8).read_to_end(&mut head).map_err(failed)?;
        if let Some(format) = Format::of(&head) {
            return Ok(Input::Stored(format));
        }
    }
    let all = bytes(&mut head.chain(file), MOST.max(about.len()), name)?;
    Ok(Input::Text(text(all, name)))
}

/// All bytes of a text, of which there may be `most`.
fn bytes(from: &mut impl Read, most: u64, name: &str) -> Outcome<Vec<u8>> {
    let refused = |what: String| Err(Refusal::file(format!("{name}: {what}")));
    let (mut bytes, mut line) = (Vec::new(), 0);
    loop {
        let before = bytes.len();
        match from.by_ref().take(AT_A_TIME).read_to_end(&mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return refused(unopened(&why)),
        }
        if before < HEAD
            && let Some(what) = no_text(&bytes)
        {
            return refused(what.into());
        }
        let ends = bytes.iter().skip(before).rposition(|&byte| byte == b'\n' || byte == b'\r');
        line = ends.map_or(line, |end| before + end);
        if bytes.len() - line > LONGEST_LINE {
            return refused(format!(
                "a line is longer than {} MiB; is it a table with a row in each line?",
                LONGEST_LINE >> 20
            ));
        }
        if bytes.len() as u64 > most {
            return refused(format!(
                "more than {} MiB came and there is no end; end it, or write it to a file and give that",
                most >> 20
            ));
        }
    }
    Ok(bytes)
}

/// The text without its byte order mark.
fn text(mut bytes: Vec<u8>, name: &str) -> String {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).unwrap_or_else(|other| {
        note(format!("{name}: is no UTF-8; its letters are read as Latin-1"));
        let letter = |byte: u8| match byte {
            0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
            _ => char::from(byte),
        };
        other.into_bytes().into_iter().map(letter).collect()
    })
}

fn unopened(why: &io::Error) -> String {
    match why.kind() {
        ErrorKind::NotFound => "there is no such file; check its name and folder".into(),
        ErrorKind::PermissionDenied => "it may not be read; check its permissions".into(),
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

    #[test]
    fn letters_of_windows_are_read() {
        assert_eq!(text(b"\xb5m,\xb0C,\x80".to_vec(), "t"), "µm,°C,€");
        assert_eq!(text("\u{feff}µ".as_bytes().to_vec(), "t"), "µ");
    }
}
