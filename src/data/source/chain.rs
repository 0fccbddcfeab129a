//! Concatenation of sources.

use super::{Chunk, Shape, Source};
use crate::error::source::{SourceChange, SourceError};

/// Sources of one shape, read one after another. Sources of different types are boxed:
/// `Box<dyn Source>`.
///
/// ```
/// use dualfit::source::{ChainSource, SliceSource, Source};
/// let (x, y) = ([1.0, 2.0], [3.0, 4.0]);
/// let source = ChainSource::new([SliceSource::new(&x, &y)?, SliceSource::new(&y, &x)?])?;
/// assert_eq!(source.shape().points, Some(4));
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChainSource<S> {
    sources: Vec<S>,
    current: usize,
    shape: Shape,
}

impl<S: Source> ChainSource<S> {
    /// Creates a source of the points of all `sources`, in order.
    ///
    /// # Errors
    /// If `sources` is empty, or if the columns of a source differ from those of the first.
    pub fn new(sources: impl IntoIterator<Item = S>) -> Result<ChainSource<S>, SourceError> {
        let sources: Vec<S> = sources.into_iter().collect();
        let Some(first) = sources.first() else {
            return Err(SourceError::new("a chain of sources", "it is empty; give at least one"));
        };
        let mut shape = first.shape();
        for (number, source) in sources.iter().enumerate().skip(1) {
            let place = || format!("source {number} of a chain");
            shape.append(&source.shape(), place, "source 0")?;
        }
        Ok(ChainSource { sources, current: 0, shape })
    }
}

impl<S: Source> Source for ChainSource<S> {
    fn shape(&self) -> Shape {
        self.shape.clone()
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.current = 0;
        self.sources.first_mut().map_or(Ok(()), Source::rewind)
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        while let Some(source) = self.sources.get_mut(self.current) {
            let read = source.read(chunk, most)?;
            if read > 0 {
                return Ok(read);
            }
            self.advance()?;
        }
        Ok(0)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let mut skipped = 0;
        while skipped < count {
            let Some(source) = self.sources.get_mut(self.current) else { break };
            skipped += source.skip(count - skipped)?;
            if skipped < count {
                self.advance()?;
            }
        }
        Ok(skipped)
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.sources.iter().try_for_each(Source::unchanged)
    }

    fn is_slow(&self) -> bool {
        self.sources.iter().any(Source::is_slow)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let parts: Result<Vec<String>, SourceError> =
            self.sources.iter().map(Source::fingerprint).collect();
        Ok(format!("chain [{}]", parts?.join("] [")))
    }
}

impl<S: Source> ChainSource<S> {
    /// Moves to the beginning of the next source, which is rewound.
    fn advance(&mut self) -> Result<(), SourceError> {
        let next = self.current + 1;
        if let Some(source) = self.sources.get_mut(next) {
            source.rewind()?;
        }
        self.current = next;
        Ok(())
    }
}
