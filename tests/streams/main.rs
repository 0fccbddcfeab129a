//! Fits of points that come in chunks, and the sources that read them from files.

mod readers;
mod stream;
