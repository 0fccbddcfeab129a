//! Clock and process number of the host. WebAssembly without a system (`wasm32-unknown-unknown`) has neither, and the
//! standard library panics there: times are 0, time limits have no effect, and the process number is 0.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// True if the target has no system.
const IS_BARE: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use std::time::Instant;

/// The only instant of a target without a clock.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Instant {
    pub(crate) fn now() -> Instant {
        Instant
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns `None`: no deadline is ever reached.
    pub(crate) fn checked_add(&self, _limit: Duration) -> Option<Instant> {
        None
    }

    pub(crate) fn saturating_duration_since(&self, _earlier: Instant) -> Duration {
        Duration::ZERO
    }
}

/// Returns the time since 1970.
pub(crate) fn since_1970() -> Duration {
    match IS_BARE {
        true => Duration::ZERO,
        false => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
    }
}

/// Returns the number of this process.
pub(crate) fn process() -> u32 {
    if IS_BARE { 0 } else { std::process::id() }
}
