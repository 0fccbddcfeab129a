//! Values as bytes of the `postcard` format, in which floats keep their bits.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// # Errors
/// In words.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|why| format!("it cannot be written as bytes: {why}"))
}

/// What all of these bytes say.
///
/// # Errors
/// In words, if they say nothing of this kind, or more.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let read = postcard::take_from_bytes::<T>(bytes);
    let (value, left) = read.map_err(|why| format!("its contents are damaged: {why}"))?;
    match left.len() {
        0 => Ok(value),
        left => Err(format!("{left} bytes are left over after its contents")),
    }
}
