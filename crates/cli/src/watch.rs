//! Progress display on a terminal, and Ctrl-C, while a fit or a batch runs.

use dualfit::progress::{self, BatchProgress};
use dualfit::{CancelToken, CurveFit, Event};
use std::io::{IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Exit code that shells report for a program that an interrupt ended.
const INTERRUPTED: i32 = 130;
/// Time after which the progress of a fit or a batch is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns a token that the first interrupt cancels: fits stop, and their best parameters are reported. The second
/// interrupt ends the program.
pub(crate) fn stop_on_interrupt() -> CancelToken {
    let token = CancelToken::new();
    let stop = token.clone();
    // If the handler cannot be set, an interrupt ends the program at once, which is acceptable.
    let _ = ctrlc::set_handler(move || {
        if stop.is_cancelled() {
            process::exit(INTERRUPTED);
        }
        stop.cancel();
    });
    token
}

/// Returns `curve` with an observer that shows the progress of long fits.
pub(crate) fn watched(curve: &CurveFit) -> CurveFit {
    let line = progress::bar();
    curve.clone().observe(move |event| match event.elapsed() > PATIENCE {
        true => line(event),
        false => ControlFlow::Continue(()),
    })
}

/// Returns a function that the caller calls after each of `n_fits` fits. It shows the progress of long batches.
pub(crate) fn counting(n_fits: usize) -> impl Fn() + Sync {
    let (bar, finished, begun) = (progress::bar(), AtomicUsize::new(0), Instant::now());
    move || {
        let finished = 1 + finished.fetch_add(1, Ordering::Relaxed);
        let elapsed = begun.elapsed();
        if elapsed > PATIENCE {
            // The bar always returns `Continue`.
            let _ = bar(&Event::Batch(BatchProgress { finished, n_fits, elapsed }));
        }
    }
}

/// Clears the progress line, so that the result does not follow it on the same line.
pub(crate) fn clear_progress() {
    if stderr().is_terminal() {
        // Written to the plain stream: anstream might remove the escape sequence.
        let _ = write!(stderr(), "\r\x1b[2K");
    }
}
