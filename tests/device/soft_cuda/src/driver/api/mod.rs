//! The exported functions, with the signatures of `cuda.h`: handles are numbers here, and a place for an answer is an
//! optional reference, which for the caller is a pointer that may be null.
//!
//! Calls that work on the current context's device fail when that is lost, and so does `cuDevicePrimaryCtxRetain`.
//! Which context is current can always be changed and asked for, and a context can be released.

mod devices;
mod work;

#[cfg(test)]
pub(super) use devices::*;
#[cfg(test)]
pub(super) use work::*;

use super::Answer;
use super::faults::INVALID_VALUE;
use std::mem::MaybeUninit;

/// Where an answer is to be written.
type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// A context, stream, event, module or function: a pointer for the caller.
type Handle = u64;

/// Where the answer goes, if the caller said so.
fn place<T>(out: Out<'_, T>) -> Answer<&mut MaybeUninit<T>> {
    out.ok_or(INVALID_VALUE)
}

/// An error for a null pointer.
fn check_pointer<T>(pointer: *const T) -> Answer {
    if pointer.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
}
