//! Values as bytes of the `postcard` format, in which floats keep their bits.

use serde::{Deserialize, Serialize};

/// # Errors
/// In words.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|why| format!("it cannot be written as bytes: {why}"))
}

/// What all of these bytes say.
///
/// # Errors
/// In words, if they say nothing of this kind, or more.
pub(crate) fn from_bytes<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, String> {
    match beginning::<T>(bytes)? {
        (value, []) => Ok(value),
        (_, left) => Err(format!("{} bytes are left over after its contents", left.len())),
    }
}

/// What these bytes begin with, and the others.
///
/// # Errors
/// In words, if they begin with nothing of this kind.
pub(crate) fn beginning<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<(T, &'b [u8]), String> {
    postcard::take_from_bytes(bytes).map_err(|why| format!("its contents are damaged: {why}"))
}
