//! Sources that read files, and fits of their points.

#[path = "../../../../tests/support/decoded.rs"]
mod decoded;
mod parts;
mod readers;
mod stream;
