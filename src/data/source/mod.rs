//! Sources of the points of a stream, read chunk by chunk in each pass.

pub(crate) mod chain;
mod chunk;
pub(crate) mod function;
pub(crate) mod prefetch;
pub(crate) mod range;
pub(crate) mod slices;
pub(crate) mod strided;

pub use crate::data::source::prefetch::decoding_threads;
use crate::error::source::{SourceChange, SourceError};
pub use chunk::{Chunk, Column, Shape, Width};
use sha2::{Digest, Sha256};

/// Points that are read in chunks and can be read again from the beginning.
///
/// A fit reads a source from the beginning to the end several times and expects the same points in the
/// same order each time. It reads on a separate thread.
pub trait Source: Send {
    /// Returns the columns of the points and, if known, their number. The result must be the same at every call.
    fn shape(&self) -> Shape;

    /// Moves back to the first point.
    ///
    /// # Errors
    /// If the source cannot be read again.
    fn rewind(&mut self) -> Result<(), SourceError>;

    /// Appends the next points to `chunk`, at least one and at most `most`, and returns their number. Returns 0 at the
    /// end.
    ///
    /// # Errors
    /// Errors in the next points. Points before them may have been appended.
    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError>;

    /// Skips the next `count` points, or all remaining points if there are fewer, and returns their number. The default
    /// implementation reads them.
    ///
    /// # Errors
    /// Errors of [`read`](Source::read).
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

    /// Returns a fingerprint of the points for resumed fits: it changes when the points change, as far as
    /// this can be detected without reading all of them. It must be the same in two runs of a program.
    ///
    /// # Errors
    /// If the fingerprint cannot be determined.
    fn fingerprint(&self) -> Result<String, SourceError>;

    /// Returns an error if the points have changed since the source was created, as far as this can be detected
    /// quickly: files by their size, time of change and identity. A fit calls this function at the beginning
    /// and at the end of every pass; at the end it also compares fingerprints. By default nothing is checked.
    ///
    /// # Errors
    /// The detected change.
    fn unchanged(&self) -> Result<(), SourceChange> {
        Ok(())
    }

    /// Returns true if reading is much slower than reading memory, for example if text must be decoded. A fit then
    /// keeps the first points from pass to pass, as far as its [memory limit](crate::Stream::memory_limit) allows, and
    /// reads only the other points again. The default is false: all points are read in each pass. The result must be
    /// the same at every call.
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

/// SHA-256 of parts of the contents of a source, for [`Source::fingerprint`](Source::fingerprint). The length of each
/// part is hashed before it, so that different lists of parts have different fingerprints.
///
/// ```
/// let mut fingerprint = dualfit::source::Fingerprint::new();
/// fingerprint.number(3);
/// fingerprint.bytes(b"abc");
/// assert_eq!(fingerprint.text().len(), 64);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Creates a fingerprint without parts.
    pub fn new() -> Fingerprint {
        Fingerprint::default()
    }

    /// Adds a part: its length and its bytes.
    pub fn bytes(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds a number.
    pub fn number(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }

    /// Returns the hash in 64 hexadecimal digits.
    pub fn text(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns at most `count` distinct positions in `0..len`, evenly distributed, including the first and the last.
pub(crate) fn evenly_distributed(len: u64, count: u64) -> impl Iterator<Item = u64> {
    let picked = len.min(count);
    let place = move |i: u64| (i as u128 * (len - 1) as u128 / (picked - 1).max(1) as u128) as u64;
    (0..picked).map(place)
}

#[cfg(test)]
mod tests {
    use super::evenly_distributed;

    #[test]
    fn places_reach_from_the_first_to_the_last() {
        assert_eq!(evenly_distributed(0, 4).count(), 0);
        assert_eq!(evenly_distributed(1, 4).collect::<Vec<_>>(), [0]);
        assert_eq!(evenly_distributed(3, 4).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(evenly_distributed(100, 4).collect::<Vec<_>>(), [0, 33, 66, 99]);
        assert_eq!(evenly_distributed(u64::MAX, 2).collect::<Vec<_>>(), [0, u64::MAX - 1]);
        assert_eq!(evenly_distributed(9, 1).collect::<Vec<_>>(), [0]);
    }
}
