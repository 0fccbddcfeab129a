//! Observation of the phases of a fit: spans, files of spans, and ranges of NVIDIA's profilers.

mod chrome_trace;
mod nvtx;
mod spans;

/// A process has one subscriber for all its threads, so one test listens at a time.
#[cfg(feature = "tracing")]
fn turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
