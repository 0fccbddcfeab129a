//! The exported functions, with the signatures of `cuda.h`. Handles are numbers here. An output argument is an optional
//! reference, which for the caller is a pointer that may be null.
//!
//! Calls on the device of the current context fail if the device is lost, and so does `cuDevicePrimaryCtxRetain`. The
//! current context can still be changed and queried, and a context can be released.

mod devices;
mod work;

#[cfg(test)]
pub(super) use devices::*;
#[cfg(test)]
pub(super) use work::*;

use super::Answer;
use super::faults::INVALID_VALUE;
use std::mem::MaybeUninit;

/// Output argument.
type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Handle of a context, stream, event, module or function: a pointer for the caller.
type Handle = u64;

/// Returns the place of an output argument, or an error if the caller passed null.
fn place<T>(out: Out<'_, T>) -> Answer<&mut MaybeUninit<T>> {
    out.ok_or(INVALID_VALUE)
}

/// Returns an error if the pointer is null.
fn check_pointer<T>(pointer: *const T) -> Answer {
    if pointer.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
}
