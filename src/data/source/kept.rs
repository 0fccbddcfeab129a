//! Decoded chunks that later passes use from memory: the first chunks of a source, as far as the memory limit
//! allows.

use super::Chunk;

/// The first points of a source, in the chunks in which they were read.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    chunks: Vec<Chunk>,
    /// Chunks at most.
    most: usize,
    points: u64,
    /// True if no point follows them.
    is_all: bool,
}

impl Kept {
    /// Keeps at most this number of chunks.
    pub(crate) fn new(most: usize) -> Kept {
        Kept { most, ..Kept::default() }
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Number of points.
    pub(crate) fn points(&self) -> u64 {
        self.points
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Keeps the next chunk, or returns it if the limit is reached.
    pub(super) fn add(&mut self, chunk: Chunk) -> Option<Chunk> {
        if self.chunks.len() >= self.most {
            return Some(chunk);
        }
        self.points += chunk.len() as u64;
        self.chunks.push(chunk);
        None
    }

    /// At the end of the points. `seen`: how many there are.
    pub(super) fn end(&mut self, seen: u64) {
        self.is_all = seen == self.points && self.points > 0;
    }
}
