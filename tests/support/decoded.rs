//! A source that says by itself whether it takes long to decode.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use dualfit::error::SourceError;
use dualfit::source::{Chunk, Shape, Source};

/// A source, and what it says.
pub struct Decoded<S> {
    pub source: S,
    /// If true, decoded chunks are kept for later passes.
    pub is_slow: bool,
}

impl<S: Source> Source for Decoded<S> {
    fn shape(&self) -> Shape {
        self.source.shape()
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.source.rewind()
    }
    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        self.source.read(chunk, most)
    }
    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        self.source.skip(count)
    }
    fn fingerprint(&self) -> Result<String, SourceError> {
        self.source.fingerprint()
    }
    fn is_slow(&self) -> bool {
        self.is_slow
    }
}
