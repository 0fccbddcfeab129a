//! Ctrl-C: the first stops fits where they are and lets their best parameters be reported, the second
//! ends the program.

use dualfit::CancelToken;
use std::process;

/// What a shell gives a program that an interrupt ended.
const INTERRUPTED: i32 = 130;

/// A token that the first interrupt cancels.
pub(crate) fn stop_on_interrupt() -> CancelToken {
    let token = CancelToken::new();
    let stop = token.clone();
    // Without a handler an interrupt ends the program at once, which is no worse.
    let _ = ctrlc::set_handler(move || {
        if stop.is_cancelled() {
            process::exit(INTERRUPTED);
        }
        stop.cancel();
    });
    token
}
