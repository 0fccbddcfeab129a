//! Sources of the points of a stream, read chunk by chunk in each pass.

pub(crate) mod chain;
mod chunk;
mod decoding;
mod fingerprint;
pub(crate) mod function;
pub(crate) mod kept;
pub(crate) mod prefetch;
pub(crate) mod range;
pub(crate) mod slices;
pub(crate) mod strided;

pub use chunk::{Chunk, Column, Shape, Width};
pub use decoding::decoding_threads;
pub use fingerprint::Fingerprint;

use crate::error::changed::SourceChange;
use crate::error::source::SourceError;

/// Points that come in chunks and can be read again from the beginning.
///
/// A fit reads a source from the beginning to the end several times and expects the same points in the
/// same order each time. It reads on a thread of its own.
pub trait Source: Send {
    /// The contents of each point. The same at every call.
    fn shape(&self) -> Shape;

    /// Back to the first point.
    ///
    /// # Errors
    /// What keeps it from being read.
    fn rewind(&mut self) -> Result<(), SourceError>;

    /// Appends the next points to `chunk`, at least one and at most `most`, and returns their number; 0
    /// at the end.
    ///
    /// # Errors
    /// Errors in the next points. Points before them may have been appended.
    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError>;

    /// Passes over the next `count` points, or as many as there are, and returns how many. By default
    /// they are read.
    ///
    /// # Errors
    /// As [`read`](Source::read).
    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        const AT_A_TIME: u64 = 1 << 14;
        let mut unused = Chunk::new(&self.shape(), 0);
        let mut skipped = 0;
        while skipped < count {
            unused.truncate(0);
            match self.read(&mut unused, (count - skipped).min(AT_A_TIME) as usize)? {
                0 => break,
                read => skipped += read as u64,
            }
        }
        Ok(skipped)
    }

    /// Fingerprint of the points for resumed fits: it changes when the points change, as far as
    /// this can be detected without reading all of them. It must be the same in two runs of a program.
    ///
    /// # Errors
    /// If it cannot be determined.
    fn fingerprint(&self) -> Result<String, SourceError>;

    /// Returns an error if the points have changed since the source was made, as far as this can be detected
    /// quickly: files by their size, time of change and identity. A fit checks it at the beginning
    /// and at the end of every pass, where it also compares fingerprints. By default nothing is checked.
    ///
    /// # Errors
    /// The change.
    fn unchanged(&self) -> Result<(), SourceChange> {
        Ok(())
    }

    /// Returns true if reading takes much longer than reading memory, as decoding text does. A fit then keeps the first
    /// points from pass to pass, as far as its [memory limit](crate::Stream::memory_limit) allows, and reads
    /// only the others again. By default it reads all points in each pass. The same at every call.
    fn is_slow(&self) -> bool {
        false
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn shape(&self) -> Shape {
        (**self).shape()
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        (**self).rewind()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        (**self).read(chunk, most)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        (**self).skip(count)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        (**self).fingerprint()
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        (**self).unchanged()
    }

    fn is_slow(&self) -> bool {
        (**self).is_slow()
    }
}
