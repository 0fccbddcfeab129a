//! The points of one fit that come from a source, and how they are to be read.

use super::Missing;
use super::loss::Estimator;
use super::points::{ColumnList, Given};
use super::sample::LEAST_SAMPLE;
use super::sigma::{Sigma, Weights};
use super::source::prefetch::{Prefetch, guarded};
use super::source::{Chunk, Shape, Source};
use super::validate_stream::PIECE;
use super::x_sigma::XSigma;
use crate::data::source::prefetch::Kept;
use crate::error::source::SourceError;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Default memory limit, in bytes.
const MEMORY_LIMIT: usize = 256 << 20;
/// Default number of chunks that are read ahead.
const PREFETCH: usize = 2;
/// Maximum number of points of a chunk, if memory would allow more: a megabyte or two of each column, so that
/// the data are still in the processor's cache when they are used.
const MOST_POINTS: usize = 32 * PIECE;
/// The part of the memory limit that chunks take; the sample and sums take the rest.
const CHUNKS_PART: f64 = 0.7;
/// Points of the sample that a start is found from, at most.
const SAMPLE: usize = 1 << 16;

/// A source of points and how it is read: to be fitted by [`CurveFit::fit_stream`](crate::CurveFit::fit_stream).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use dualfit::source::SliceSource;
/// use dualfit::{CurveFit, Stream};
/// let x: Vec<f64> = (0..20_000).map(|i| 1e-4 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
/// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
/// let stream = Stream::new(SliceSource::new(&x, &y)?).memory_limit(4 << 20);
/// let fit = decay.fit_stream(stream, [1.0, 1.0, 0.0])?;
/// assert!((fit.params()[1] - 0.5).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
pub struct Stream<'a> {
    pub(crate) source: Box<dyn Source + 'a>,
    pub(crate) points: StreamPoints,
    pub(crate) memory_limit: usize,
    pub(crate) chunk_points: Option<usize>,
    pub(crate) prefetch: usize,
    pub(crate) subsample: bool,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) required: bool,
}

/// Settings of the points of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamPoints {
    pub(crate) sigma: Sigma<'static>,
    pub(crate) missing: Missing,
    pub(crate) infinite_x: bool,
}

impl<'a> Stream<'a> {
    /// Reads the points of `source`, with [`Sigma::Unknown`], [`Missing::Error`], a memory limit of
    /// 256 MiB, 2 chunks read ahead, a start from a sample and no checkpoint.
    pub fn new(source: impl Source + 'a) -> Stream<'a> {
        Stream {
            source: Box::new(source),
            points: StreamPoints {
                sigma: Sigma::Unknown,
                missing: Missing::Error,
                infinite_x: false,
            },
            memory_limit: MEMORY_LIMIT,
            chunk_points: None,
            prefetch: PREFETCH,
            subsample: true,
            checkpoint: None,
            required: true,
        }
    }

    /// Sets the sigma of y: [`Sigma::Unknown`], the default, or [`Sigma::Constant`] for a
    /// source without standard deviations; [`Sigma::RelativeColumn`] or [`Sigma::AbsoluteColumn`] for one that
    /// has them.
    ///
    /// # Errors
    /// [`Error::UnsuitedSigma`] for values in memory, [`Error::BadOption`] for a constant that is not positive.
    pub fn sigma(mut self, sigma: Sigma<'_>) -> Result<Self> {
        sigma.check()?;
        self.points.sigma = match sigma {
            Sigma::Unknown => Sigma::Unknown,
            Sigma::Constant(value) => Sigma::Constant(value),
            Sigma::RelativeColumn => Sigma::RelativeColumn,
            Sigma::AbsoluteColumn => Sigma::AbsoluteColumn,
            _ => {
                let remedy = "name them in the source and use Sigma::RelativeColumn or Sigma::AbsoluteColumn";
                return Err(sigma.unsuited("a stream", remedy));
            }
        };
        Ok(self)
    }

    /// Sets the treatment of points that are not finite; points that are left out are counted.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.points.missing = missing;
        self
    }

    /// Accepts infinite values of x, for models that have a limit there.
    #[must_use]
    pub fn allow_infinite_x(mut self, allow: bool) -> Self {
        self.points.infinite_x = allow;
        self
    }

    /// Sets the maximum memory of chunks, sample and sums together, in bytes. A process needs about 30 MB more for
    /// itself, its threads and their buffers.
    ///
    /// The first points of files that have to be decoded, such as text tables, are kept as far as memory allows;
    /// later passes read only the others. All points are kept if they fit into 70 % of the limit.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Points of a chunk, in place of a number that suits memory and caches; rounded up to whole pieces of
    /// 4096 points. The result does not depend on it.
    #[must_use]
    pub fn chunk_points(mut self, points: usize) -> Self {
        self.chunk_points = Some(points);
        self
    }

    /// Chunks that are read ahead of the one in work.
    #[must_use]
    pub fn prefetch(mut self, chunks: usize) -> Self {
        self.prefetch = chunks;
        self
    }

    /// If true, a start may be computed from a sample, which saves passes. It is used only if two halves of
    /// the sample agree and all points agree with them; otherwise the fit begins at the given start.
    #[must_use]
    pub fn subsample(mut self, subsample: bool) -> Self {
        self.subsample = subsample;
        self
    }

    /// Saves the results of the passes in this file, after each pass and when the fit is stopped or reaches its time
    /// limit. A fit that finds the file continues from it to the same bits; when it has ended, the
    /// file is removed. Several processes may make the same fit with the same file.
    ///
    /// There are two files: `path` has the newest checkpoint, and `path` with `.1` at its end the one before it, which
    /// is used if the newest is damaged. Both are removed when the fit has ended. A fit begins anew if there is no file at
    /// `path`, even if the other exists. A file of another fit, or one that is not a checkpoint, is an error that names the
    /// difference.
    #[must_use]
    pub fn checkpoint(mut self, path: impl AsRef<Path>) -> Self {
        self.checkpoint = Some(path.as_ref().to_owned());
        self
    }

    /// If true, the default, a checkpoint that cannot be written ends the fit with an error. If false,
    /// the fit continues and warns at its end. The last good checkpoint stays intact in either case.
    #[must_use]
    pub fn checkpoint_required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }

    /// Points of a chunk, within the memory limit.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`] if the smallest chunk does not fit.
    fn capacity(&self, shape: &Shape) -> Result<usize> {
        let point = shape.bytes_per_point().max(1);
        let chunks = self.prefetch.saturating_add(2);
        let room = (CHUNKS_PART * self.memory_limit as f64) as usize;
        let fitting = room / chunks / point / PIECE * PIECE;
        if fitting == 0 {
            let chunks = PIECE.saturating_mul(point).saturating_mul(chunks);
            let needed = (chunks as f64 / CHUNKS_PART).ceil() as usize;
            return Err(Error::MemoryLimit { limit: self.memory_limit, needed });
        }
        let wanted = whole_pieces(self.chunk_points.unwrap_or(MOST_POINTS));
        // No larger than the points, where it is known how many there are.
        let all = shape.points.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        Ok(wanted.min(fitting).min(whole_pieces(all)))
    }

    /// Chunks of `capacity` points that can be kept from pass to pass, beside those that are on their way.
    fn kept_chunks(&self, shape: &Shape, capacity: usize) -> usize {
        let room = (CHUNKS_PART * self.memory_limit as f64) as usize;
        let chunks = room / shape.bytes_per_point().max(1) / capacity.max(1);
        match self.source.is_slow() {
            true => chunks.saturating_sub(self.prefetch.saturating_add(2)),
            false => 0,
        }
    }

    /// Points of the sample: three copies of it, in f64, take the rest of the memory.
    pub(crate) fn sample_points(&self, shape: &Shape) -> usize {
        let point = 8 * (shape.x.len() + 2);
        let rest = (1.0 - CHUNKS_PART) * self.memory_limit as f64;
        match self.subsample {
            true => SAMPLE.min(((rest / 3.0) as usize / point).max(LEAST_SAMPLE)),
            false => LEAST_SAMPLE,
        }
    }

    /// The contents of each point.
    ///
    /// # Errors
    /// If the source panics, or if sigma does not match the source or the estimator.
    pub(crate) fn shape(&self, estimator: Estimator) -> Result<Shape> {
        let shape = guarded(|| self.source.shape())?;
        let has_errors = shape.sigma || self.points.sigma != Sigma::Unknown;
        if estimator == Estimator::Poisson && has_errors {
            return Err(Error::NotForCounts { what: "sigma" });
        }
        self.check(&shape).map(|()| shape)
    }

    /// Reads points of this shape.
    ///
    /// # Errors
    /// If there is no memory for a chunk, or the source panics.
    pub(crate) fn reader(self, shape: Shape) -> Result<Prefetch<'a>> {
        let capacity = self.capacity(&shape)?;
        let kept = Kept::new(guarded(|| self.kept_chunks(&shape, capacity))?);
        Ok(Prefetch::new(self.source, shape, capacity, self.prefetch, kept))
    }

    /// # Errors
    /// If sigma does not match the source.
    fn check(&self, shape: &Shape) -> Result<()> {
        let said = match (self.points.sigma, shape.sigma) {
            (Sigma::Unknown, true) => {
                "it has standard deviations, and it was not said what they are worth; use Sigma::AbsoluteColumn if they are in the units of y, Sigma::RelativeColumn if they are known up to a common factor"
            }
            (Sigma::Constant(_), true) => {
                "it has a standard deviation for each point, but Sigma::Constant gives one for all; leave one of them out"
            }
            (Sigma::RelativeColumn | Sigma::AbsoluteColumn, false) => {
                "it has no standard deviations; name their column, or use Sigma::Constant or Sigma::Unknown"
            }
            _ => return Ok(()),
        };
        Err(SourceError::new("the source", said).into())
    }
}

/// The least number of points, at least one piece, that is no fewer than `points` and whole pieces; of
/// numbers that no larger one follows, the largest.
fn whole_pieces(points: usize) -> usize {
    points.max(1).checked_next_multiple_of(PIECE).unwrap_or(usize::MAX / PIECE * PIECE)
}

impl<'a, S: Source + 'a> From<S> for Stream<'a> {
    fn from(source: S) -> Stream<'a> {
        Stream::new(source)
    }
}

impl StreamPoints {
    /// Weights of points with these standard deviations.
    pub(crate) fn weights<'s>(&self, deviations: Option<&'s [f64]>) -> Weights<'s> {
        match (self.sigma, deviations) {
            (Sigma::Constant(value), _) => Weights::Constant(value),
            (_, Some(sigma)) => Weights::Each { sigma, absolute: self.sigma.is_absolute() },
            (_, None) => Weights::Equal,
        }
    }

    /// A chunk as data of a fit.
    pub(crate) fn of<'c>(&self, chunk: &'c Chunk) -> Given<'c> {
        Given {
            columns: ColumnList::Owned(chunk.x.iter().map(|column| column.values()).collect()),
            y: chunk.y.values(),
            sigma: self.weights(chunk.sigma.as_deref()),
            mask: None,
            missing: self.missing,
            infinite_x: self.infinite_x,
            x_sigma: XSigma::default(),
            known_x: false,
        }
    }
}
