//! Fits of points in files: the same as in memory; stopped, killed and changed files.

mod changed;
#[path = "../../../../../tests/support/child.rs"]
mod child;
mod columns;
mod formats;
mod kept;
mod kill;
mod record_batches;
mod resume;
#[path = "../../../../../tests/support/streamed.rs"]
#[allow(dead_code, reason = "the core's tests of streams use the others")]
mod support;
