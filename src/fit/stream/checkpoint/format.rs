//! Format of a checkpoint: magic, version, length, identity and contents, digest. The identity is a list of names and
//! values, in the `postcard` format, that must be equal for the checkpoint and the fit.
//!
//! The digest is the SHA-256 of all bytes before it. Unlike a CRC it detects every damage, and it takes less time
//! than the disk. All versions have magic, version and length at the front and the digest at the end. Therefore a
//! flipped bit in the version is detected as damage, and a file of another version is known to be complete.

use super::fs::Readable;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{self, Read};

pub(super) const MAGIC: &[u8; 8] = b"FITCKPT1";
const VERSION: u32 = 7;
/// Bytes before the payload: magic, version, length.
pub(super) const HEADER: usize = 8 + 4 + 8;
/// Bytes after the payload.
pub(super) const DIGEST: usize = 32;
/// Maximum number of characters of a value in a message.
const SHOWN: usize = 72;
/// Number of these characters before the first difference.
const BEFORE: usize = 16;
/// Text for a missing value.
const ABSENT: &str = "not given";
/// Text for a missing line of a value.
const NO_LINE: &str = "nothing more";

/// Contents of a readable file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileContents {
    /// A checkpoint of this fit with these contents.
    Ours(Vec<u8>),
    /// A sound checkpoint of another fit or of another version.
    Foreign(Difference),
    /// A file that is not a sound checkpoint.
    Damaged(Damage),
}

/// Kind of damage of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("it has {found} bytes where a checkpoint has at least {}", HEADER + DIGEST)]
    Short { found: u64 },
    #[error("it does not begin as a checkpoint does")]
    Magic,
    #[error("it has {found} bytes where its header says {expected}")]
    Length { found: u64, expected: u64 },
    #[error("its bytes do not have the digest that was written with them")]
    Digest,
    #[error("what it belongs to cannot be read: {0}")]
    Identity(#[from] postcard::Error),
}

/// Returns the bytes of a checkpoint with these contents.
pub(super) fn file(identity: &Identity, contents: &[u8]) -> Result<Vec<u8>, postcard::Error> {
    let payload = [&postcard::to_stdvec(&identity.0)?, contents].concat();
    let length = payload.len() as u64;
    let mut file = [&MAGIC[..], &VERSION.to_le_bytes(), &length.to_le_bytes(), &payload].concat();
    let digest = Sha256::digest(&file);
    file.extend_from_slice(&digest);
    Ok(file)
}

/// Reads a file. If its header is not the header of a checkpoint, the rest is not read, because other files may have
/// any size.
pub(super) fn read(file: Readable<'_>, identity: &Identity) -> io::Result<FileContents> {
    let Readable { mut bytes, length } = file;
    let mut whole = Vec::new();
    bytes.by_ref().take(HEADER as u64).read_to_end(&mut whole)?;
    let payload = match payload_length(&whole, length) {
        Ok(payload) => payload,
        Err(damage) => return Ok(FileContents::Damaged(damage)),
    };
    bytes.take(payload + DIGEST as u64).read_to_end(&mut whole)?;
    Ok(inspect(&whole, identity).unwrap_or_else(FileContents::Damaged))
}

/// Returns true if a file begins with the bytes of a checkpoint.
pub(super) fn has_magic(file: Readable<'_>) -> io::Result<bool> {
    let mut first = Vec::new();
    file.bytes.take(MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first == MAGIC)
}

/// Returns the version and the length of the payload in bytes, if the header contains both.
fn fields(header: &[u8]) -> Option<(u32, u64)> {
    let (version, rest) = header.get(MAGIC.len()..)?.split_first_chunk()?;
    Some((u32::from_le_bytes(*version), u64::from_le_bytes(*rest.first_chunk()?)))
}

/// Returns the length of the payload in bytes, if the header agrees with the length of the file.
fn payload_length(header: &[u8], found: u64) -> Result<u64, Damage> {
    let start = header.get(..MAGIC.len()).unwrap_or(header);
    if !MAGIC.starts_with(start) {
        return Err(Damage::Magic);
    }
    let least = (HEADER + DIGEST) as u64;
    let fields = fields(header).filter(|_| found >= least);
    let (_version, payload) = fields.ok_or(Damage::Short { found })?;
    let expected = payload.saturating_add(least);
    if expected == found { Ok(payload) } else { Err(Damage::Length { found, expected }) }
}

fn inspect(whole: &[u8], identity: &Identity) -> Result<FileContents, Damage> {
    let found = whole.len() as u64;
    payload_length(whole, found)?;
    let short = || Damage::Short { found };
    let (body, digest) = whole.split_last_chunk::<DIGEST>().ok_or_else(short)?;
    if Sha256::digest(body)[..] != digest[..] {
        return Err(Damage::Digest);
    }
    let (version, _length) = fields(body).ok_or_else(short)?;
    if version != VERSION {
        let [found, expected] = [version, VERSION].map(|version| version.to_string());
        return Ok(FileContents::Foreign(Difference::new(
            "version of the format",
            &found,
            &expected,
        )));
    }
    let payload = body.get(HEADER..).ok_or_else(short)?;
    let (there, contents) = postcard::take_from_bytes::<Vec<(&str, &str)>>(payload)?;
    Ok(match identity.compare(&there) {
        Some(difference) => FileContents::Foreign(difference),
        None => FileContents::Ours(contents.to_vec()),
    })
}

/// Names and values in a fixed order: ("model", digest), ("source", …), ….
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(pub(crate) Vec<(&'static str, String)>);

/// The first difference of two identities. Long values are shortened to the text around the difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) field: String,
    pub(crate) found: String,
    pub(crate) expected: String,
}

impl Difference {
    /// Creates a difference. If values have several lines, such as the program of a model, only the first different
    /// line is kept.
    pub(crate) fn new(field: &str, found: &str, expected: &str) -> Difference {
        let (found, expected) = differing_lines(found, expected);
        let same = found.chars().zip(expected.chars()).take_while(|(a, b)| a == b).count();
        let field = shown(field, 0);
        Difference { field, found: shown(found, same), expected: shown(expected, same) }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} there, {} here", self.field, self.found, self.expected)
    }
}

impl Identity {
    /// Returns the first difference from the identity `there` of a file.
    pub(crate) fn compare(&self, there: &[(&str, &str)]) -> Option<Difference> {
        let both = 0..self.0.len().max(there.len());
        both.into_iter().find_map(|i| match (self.0.get(i), there.get(i)) {
            (Some((same, value)), Some((name, found))) if same == name => {
                (value != found).then(|| Difference::new(name, found, value))
            }
            (_, Some((name, found))) => Some(Difference::new(name, found, ABSENT)),
            (Some((name, value)), None) => Some(Difference::new(name, ABSENT, value)),
            (None, None) => None,
        })
    }
}

/// Returns the first lines in which two values differ.
fn differing_lines<'v>(found: &'v str, expected: &'v str) -> (&'v str, &'v str) {
    let (mut left, mut right) = (found.lines(), expected.lines());
    loop {
        match (left.next(), right.next()) {
            (Some(one), Some(other)) if one == other => {}
            (None, None) => return (found, expected),
            (one, other) => return (one.unwrap_or(NO_LINE), other.unwrap_or(NO_LINE)),
        }
    }
}

/// Returns `value` on one line, shortened to at most `SHOWN` characters around character number `difference`.
fn shown(value: &str, difference: usize) -> String {
    let length = value.chars().count();
    let first = difference.saturating_sub(BEFORE).min(length.saturating_sub(SHOWN));
    let mut text = String::new();
    if first > 0 {
        text.push('…');
    }
    for c in value.chars().skip(first).take(SHOWN) {
        if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
    }
    if first + SHOWN < length {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(fields: &[(&'static str, &str)]) -> Identity {
        Identity(fields.iter().map(|(name, value)| (*name, value.to_string())).collect())
    }

    /// Compares `here` with `there` as read from a file.
    fn compared(here: &Identity, there: &Identity) -> Option<Difference> {
        match inspect(&file(there, b"contents").unwrap(), here).unwrap() {
            FileContents::Ours(contents) => {
                assert_eq!(contents, b"contents");
                None
            }
            FileContents::Foreign(difference) => Some(difference),
            FileContents::Damaged(damage) => panic!("{damage}"),
        }
    }

    fn difference(field: &str, found: &str, expected: &str) -> Option<Difference> {
        let [field, found, expected] = [field, found, expected].map(str::to_owned);
        Some(Difference { field, found, expected })
    }

    #[test]
    fn the_first_difference_is_named() {
        let here = identity(&[("model", "a"), ("source", "b")]);
        assert_eq!(compared(&here, &here), None);
        let there = identity(&[("model", "a"), ("source", "c")]);
        assert_eq!(compared(&here, &there), difference("source", "c", "b"));
        let there = identity(&[("model", "x"), ("source", "y")]);
        assert_eq!(compared(&here, &there), difference("model", "x", "a"));
        let there = identity(&[("model", "a")]);
        assert_eq!(compared(&here, &there), difference("source", ABSENT, "b"));
        assert_eq!(compared(&there, &here), difference("source", "b", ABSENT));
        let there = identity(&[("model", "a"), ("start", "b")]);
        assert_eq!(compared(&here, &there), difference("start", "b", ABSENT));
        assert_eq!(compared(&here, &identity(&[])), difference("model", ABSENT, "a"));
        // The boundary between name and value matters.
        let (here, there) = (identity(&[("ab", "c")]), identity(&[("a", "bc")]));
        assert_eq!(compared(&here, &there), difference("a", "bc", ABSENT));
    }

    #[test]
    fn of_values_of_several_lines_the_first_that_differs_is_shown() {
        let program = "# per point\nv1 = a * x\n# outputs\nf = v1\n";
        let other = "# per point\nv1 = a * x\nv2 = b + v1\n# outputs\nf = v2\n";
        let found = Difference::new("model", other, program);
        assert_eq!(Some(found), difference("model", "v2 = b + v1", "# outputs"));
        let found = Difference::new("model", program, &program[..program.len() - 7]);
        assert_eq!(Some(found), difference("model", "f = v1", NO_LINE));
    }

    #[test]
    fn long_values_are_shortened_to_where_they_differ() {
        let long = "0".repeat(500);
        let other = format!("{}1{}", "0".repeat(300), "0".repeat(199));
        let Difference { found, expected, .. } = Difference::new("field", &long, &other);
        assert_ne!(found, expected);
        assert!(found.chars().count() <= SHOWN + 2, "{found}");
        assert!(expected.starts_with("…0000") && expected.ends_with("000…"), "{expected}");
        assert!(expected.contains('1'), "{expected}");
        // One value is a prefix of the other.
        let Difference { found, expected, .. } = Difference::new("field", &long[1..], &long);
        assert!(found.ends_with('0') && expected.ends_with('0'));
        assert!(Difference::new("a\nb", "c\td", "é").field.contains("\\n"));
        assert_eq!(Difference::new("a", "c\td", "é").found, "c\\td");
        let digest = "f".repeat(64);
        assert_eq!(Difference::new("a", &digest, "b").found, digest, "a digest is shown whole");
    }
}
