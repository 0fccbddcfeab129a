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
mod support;
