//! Errors of a device driver's calls.

/// Error of a call of the device driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    /// The device cannot allocate this number of bytes.
    #[error("the device has no {requested} bytes of memory left")]
    OutOfMemory { requested: usize },
    /// The device or its context is gone, or one of its kernels faulted: every later call fails too.
    #[error("the device is lost: {call} returned {code} ({text}){}", cause(*code))]
    Lost { call: &'static str, code: i32, text: String },
    /// One call failed.
    #[error("{call} returned {code} ({text})")]
    Failed { call: &'static str, code: i32, text: String },
}

/// Returns an explanation of an error code for the message, or an empty text.
fn cause(code: i32) -> &'static str {
    const LAUNCH_TIMEOUT: i32 = 702;
    match code {
        LAUNCH_TIMEOUT => ", because a card with a display may not compute for seconds",
        _ => "",
    }
}
