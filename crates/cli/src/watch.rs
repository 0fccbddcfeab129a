//! While a fit or a batch runs: how far it is, on a terminal, and Ctrl-C.

use dualfit::progress::{self, BatchProgress};
use dualfit::{CancelToken, CurveFit, Event};
use std::io::{IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a shell gives a program that an interrupt ended.
const INTERRUPTED: i32 = 130;
/// How long a fit or a batch must take before its progress is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// A token that the first interrupt cancels: fits stop where they are, and their best parameters are
/// reported. The second ends the program.
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

/// Shows how far a fit is that takes long.
pub(crate) fn watched(curve: &CurveFit) -> CurveFit {
    let line = progress::bar();
    curve.clone().observe(move |event| match event.elapsed() > PATIENCE {
        true => line(event),
        false => ControlFlow::Continue(()),
    })
}

/// Called after each of so many fits, shows how far a batch is that takes long.
pub(crate) fn counting(n_fits: usize) -> impl Fn() + Sync {
    let (bar, finished, begun) = (progress::bar(), AtomicUsize::new(0), Instant::now());
    move || {
        let finished = 1 + finished.fetch_add(1, Ordering::Relaxed);
        let elapsed = begun.elapsed();
        if elapsed > PATIENCE {
            // What the bar answers is to go on.
            let _ = bar(&Event::Batch(BatchProgress { finished, n_fits, elapsed }));
        }
    }
}

/// Takes away the line that showed a progress, so that the result does not stand behind it.
pub(crate) fn clear_progress() {
    if stderr().is_terminal() {
        // It is no colour, which anstream might take out.
        let _ = write!(stderr(), "\r\x1b[2K");
    }
}
