//! The bytes of a checkpoint: magic, version, length, identity and contents, digest.
//!
//! The digest is the SHA-256 of all before it, in place of a CRC: it costs a part of what the disk
//! costs, and no damage passes it by chance. All versions keep magic, version and length at the
//! front and the digest at the end. So a bit that flips in the version is damage, and a file of
//! another version is known to be whole.

use super::bytes::{Malformed, Reader, Writer};
use super::fs::Readable;
use super::identity::{Difference, Identity};
use sha2::{Digest, Sha256};
use std::io::{self, Read};

pub(super) const MAGIC: &[u8; 8] = b"FITCKPT1";
const VERSION: u32 = 2;
/// Bytes before the payload: magic, version, length.
pub(super) const HEADER: usize = 8 + 4 + 8;
/// Bytes after the payload.
pub(super) const DIGEST: usize = 32;

/// What a file that could be read holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A checkpoint of this fit with these contents.
    Ours(Vec<u8>),
    /// A sound checkpoint of another fit or of another version.
    Foreign(Difference),
    /// Anything else.
    Damaged(Damage),
}

/// How a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("it has {found} bytes where a checkpoint has at least {}", HEADER + DIGEST)]
    Short { found: u64 },
    #[error("it does not begin as a checkpoint does")]
    Magic,
    #[error("it has {found} bytes where its header says {expected}")]
    Length { found: u64, expected: u64 },
    #[error("its bytes do not have the digest that was written with them")]
    Digest,
    #[error("{0}")]
    Payload(#[from] Malformed),
}

/// The bytes of a checkpoint with these contents.
pub(super) fn file(identity: &Identity, contents: &[u8]) -> Vec<u8> {
    let mut payload = Writer::new();
    identity.write(&mut payload);
    payload.raw(contents);
    let payload = payload.into_bytes();
    let mut file = Writer::new();
    file.raw(MAGIC);
    file.u32(VERSION);
    file.size(payload.len());
    file.raw(&payload);
    let mut file = file.into_bytes();
    let digest = Sha256::digest(&file);
    file.extend_from_slice(&digest);
    file
}

/// Reads a file, and no more of it than its header unless it may be a checkpoint: a file of
/// something else may be of any size.
pub(super) fn read(file: Readable<'_>, identity: &Identity) -> io::Result<Found> {
    let Readable { mut bytes, length } = file;
    let mut whole = Vec::new();
    bytes.by_ref().take(HEADER as u64).read_to_end(&mut whole)?;
    let payload = match payload_length(&whole, length) {
        Ok(payload) => payload,
        Err(damage) => return Ok(Found::Damaged(damage)),
    };
    bytes.take(payload + DIGEST as u64).read_to_end(&mut whole)?;
    Ok(inspect(&whole, identity).unwrap_or_else(Found::Damaged))
}

/// Whether a file begins as a checkpoint does.
pub(super) fn has_magic(file: Readable<'_>) -> io::Result<bool> {
    let mut first = Vec::new();
    file.bytes.take(MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first == MAGIC)
}

/// Bytes of the payload, if header and length of the file agree about them.
fn payload_length(header: &[u8], found: u64) -> Result<u64, Damage> {
    let start = header.get(..MAGIC.len()).unwrap_or(header);
    if !MAGIC.starts_with(start) {
        return Err(Damage::Magic);
    }
    let least = (HEADER + DIGEST) as u64;
    let mut fields = Reader::new(header.get(MAGIC.len()..).unwrap_or_default());
    let (Ok(_version), Ok(payload), true) = (fields.u32(), fields.u64(), found >= least) else {
        return Err(Damage::Short { found });
    };
    let expected = payload.saturating_add(least);
    if expected == found { Ok(payload) } else { Err(Damage::Length { found, expected }) }
}

fn inspect(whole: &[u8], identity: &Identity) -> Result<Found, Damage> {
    let found = whole.len() as u64;
    payload_length(whole, found)?;
    let (body, digest) = whole.split_last_chunk::<DIGEST>().ok_or(Damage::Short { found })?;
    if Sha256::digest(body)[..] != digest[..] {
        return Err(Damage::Digest);
    }
    let mut fields = Reader::new(body);
    let (_magic, version, _length) = (fields.array::<8>()?, fields.u32()?, fields.u64()?);
    if version != VERSION {
        let [found, expected] = [version, VERSION].map(|version| version.to_string());
        return Ok(Found::Foreign(Difference::new("version of the format", &found, &expected)));
    }
    Ok(match identity.compare(&mut fields)? {
        Some(difference) => Found::Foreign(difference),
        None => Found::Ours(fields.rest().to_vec()),
    })
}
