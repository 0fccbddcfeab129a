//! What a driver of a device says of a call that failed.

/// What a device refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    /// No memory of this size is left.
    #[error("the device has no {requested} bytes of memory left")]
    OutOfMemory { requested: usize },
    /// The device or its context is gone, or a kernel of it faulted: every later call fails too.
    #[error("the device is lost: {call} returned {code} ({text}){}", cause(*code))]
    Lost { call: &'static str, code: i32, text: String },
    /// One call failed.
    #[error("{call} returned {code} ({text})")]
    Failed { call: &'static str, code: i32, text: String },
}

/// What a code alone does not tell.
fn cause(code: i32) -> &'static str {
    const LAUNCH_TIMEOUT: i32 = 702;
    match code {
        LAUNCH_TIMEOUT => ", because a card with a display may not compute for seconds",
        _ => "",
    }
}
