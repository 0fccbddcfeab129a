//! What a driver of a device says of a call that failed.

use std::fmt;

/// `CUDA_ERROR_LAUNCH_TIMEOUT`.
const LAUNCH_TIMEOUT: i32 = 702;

/// What a device refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverError {
    /// No memory of this size is left.
    OutOfMemory { requested: usize },
    /// The device or its context is gone, or a kernel of it faulted: every later call fails too.
    Lost { call: &'static str, code: i32, text: String },
    /// One call failed.
    Failed { call: &'static str, code: i32, text: String },
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::OutOfMemory { requested } => {
                write!(f, "the device has no {requested} bytes of memory left")
            }
            DriverError::Lost { call, code, text } => {
                write!(f, "the device is lost: {call} returned {code} ({text})")?;
                match *code {
                    LAUNCH_TIMEOUT => {
                        write!(f, ", because a card with a display may not compute for seconds")
                    }
                    _ => Ok(()),
                }
            }
            DriverError::Failed { call, code, text } => {
                write!(f, "{call} returned {code} ({text})")
            }
        }
    }
}
