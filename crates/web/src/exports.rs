//! Functions that the page's Web Worker calls. Texts are exchanged in the linear memory, as UTF-8.
//!
//! 1. The worker reserves the bytes of its request with [`dualfit_reserve`] and writes the request there.
//! 2. [`dualfit_run`] replaces the request by the reply and returns its length; [`dualfit_text`] returns its address.
//!
//! A panic ends in a trap, which the worker catches. Then [`dualfit_panic_length`] and [`dualfit_panic_text`] give the message, and the
//! worker starts a new instance.

use std::panic;
use std::sync::{Mutex, PoisonError};

static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Reserves the bytes of a request and returns their address.
#[unsafe(no_mangle)]
pub extern "C" fn dualfit_reserve(bytes: usize) -> *mut u8 {
    panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *text = vec![0; bytes];
    text.as_mut_ptr()
}

/// Computes the reply to the request and returns the reply's length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn dualfit_run() -> usize {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let reply = crate::reply(&String::from_utf8_lossy(&text));
    *text = reply.into_bytes();
    text.len()
}

/// Returns the address of the reply.
#[unsafe(no_mangle)]
pub extern "C" fn dualfit_text() -> *const u8 {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Returns the length of the message of a panic, in bytes; 0 if there was no panic.
#[unsafe(no_mangle)]
pub extern "C" fn dualfit_panic_length() -> usize {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Returns the address of the message of a panic.
#[unsafe(no_mangle)]
pub extern "C" fn dualfit_panic_text() -> *const u8 {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
