//! Fits of points in files: same results as in memory; stopped and killed fits; changed files.

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
