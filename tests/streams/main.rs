//! Fits of points that come in chunks, and the sources that read them from files.

#[path = "../support/decoded.rs"]
mod decoded;
mod parts;
mod parts_batch;
mod parts_streams;
mod stream;
