//! Sources one after another, as one.

use super::{Chunk, Shape, Source};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;

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
    /// The points of all `sources`, in order.
    ///
    /// # Errors
    /// If there are none, or if one has other columns than the first.
    pub fn new(sources: impl IntoIterator<Item = S>) -> Result<ChainSource<S>, SourceError> {
        let sources: Vec<S> = sources.into_iter().collect();
        let mut shape: Option<Shape> = None;
        for (number, source) in sources.iter().enumerate() {
            let place = || format!("source {number} of a chain");
            add_shape(&mut shape, source.shape(), place, "source 0")?;
        }
        let Some(shape) = shape else {
            return Err(SourceError::new("a chain of sources", "it is empty; give at least one"));
        };
        Ok(ChainSource { sources, current: 0, shape })
    }
}

/// Adds the points of `part` to those of the whole, which has the shape of the part called `first`.
pub(super) fn add_shape(
    whole: &mut Option<Shape>,
    part: Shape,
    place: impl Fn() -> String,
    first: &str,
) -> Result<(), SourceError> {
    let Some(whole) = whole else {
        *whole = Some(part);
        return Ok(());
    };
    expect_shape(whole, &part, &place, first)?;
    whole.points = match (whole.points, part.points) {
        (Some(before), Some(more)) => {
            let too_many = || SourceError::new(place(), "there are more than 2^64 points with it");
            Some(before.checked_add(more).ok_or_else(too_many)?)
        }
        _ => None,
    };
    Ok(())
}

pub(super) fn expect_shape(
    expected: &Shape,
    found: &Shape,
    place: impl Fn() -> String,
    first: &str,
) -> Result<(), SourceError> {
    let said = |shape: &Shape| {
        let sigma = if shape.sigma { "with" } else { "without" };
        format!("x {:?}, y {:?}, {sigma} sigma", shape.x, shape.y)
    };
    if (&expected.x, expected.y, expected.sigma) == (&found.x, found.y, found.sigma) {
        return Ok(());
    }
    let message = format!(
        "its columns are {}, and those of {first} are {}; all must have the same",
        said(found),
        said(expected)
    );
    Err(SourceError::new(place(), message))
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
    /// To the beginning of the next source, wherever it stood.
    fn advance(&mut self) -> Result<(), SourceError> {
        let next = self.current + 1;
        if let Some(source) = self.sources.get_mut(next) {
            source.rewind()?;
        }
        self.current = next;
        Ok(())
    }
}
