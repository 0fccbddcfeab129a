//! Values as bytes of the `postcard` format, in which floats keep their bits.

use serde::{Deserialize, Serialize};

/// Serialises `value`.
///
/// # Errors
/// Returns a message if `value` cannot be serialised.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|why| format!("it cannot be written as bytes: {why}"))
}

/// Deserialises a value from all of `bytes`.
///
/// # Errors
/// Returns a message if the bytes do not contain a `T`, or if bytes remain after it.
pub(crate) fn from_bytes<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, String> {
    match beginning::<T>(bytes)? {
        (value, []) => Ok(value),
        (_, left) => Err(format!("{} bytes are left over after its contents", left.len())),
    }
}

/// Deserialises a value from the first bytes. Returns the value and the remaining bytes.
///
/// # Errors
/// Returns a message if the bytes do not begin with a `T`.
pub(crate) fn beginning<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<(T, &'b [u8]), String> {
    postcard::take_from_bytes(bytes).map_err(|why| format!("its contents are damaged: {why}"))
}
