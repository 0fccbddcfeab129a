//! The points of one fit from a source, and the settings of reading.

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
/// Default maximum number of points of a chunk: one megabyte of each column in f64, so that the data are still in the
/// processor's cache when they are used.
const MOST_POINTS: usize = 32 * PIECE;
/// Fraction of the memory limit for chunks; the rest is for the sample and sums.
const CHUNKS_PART: f64 = 0.7;
/// Maximum number of points of the sample for the start.
const SAMPLE: usize = 1 << 16;

/// A source of points with reading options, the input of [`CurveFit::fit_stream`](crate::CurveFit::fit_stream).
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

/// Settings for the points of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamPoints {
    pub(crate) sigma: Sigma<'static>,
    pub(crate) missing: Missing,
    pub(crate) infinite_x: bool,
}

impl<'a> Stream<'a> {
    /// Creates a stream of the points of `source`. The defaults are [`Sigma::Unknown`], [`Missing::Error`], a memory
    /// limit of 256 MiB, 2 chunks read ahead, a start from a sample and no checkpoint.
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

    /// Sets the sigma of y: [`Sigma::Unknown`] (the default) or [`Sigma::Constant`] for a source without standard
    /// deviations; [`Sigma::RelativeColumn`] or [`Sigma::AbsoluteColumn`] for a source with standard deviations.
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

    /// Sets the treatment of points that are not finite. Omitted points are counted.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.points.missing = missing;
        self
    }

    /// If true, infinite values of x are valid, for models that have a limit there.
    #[must_use]
    pub fn allow_infinite_x(mut self, allow: bool) -> Self {
        self.points.infinite_x = allow;
        self
    }

    /// Sets the maximum memory of chunks, sample and sums together, in bytes. A process needs about 30 MB more for
    /// its code, its threads and their buffers.
    ///
    /// The first points of files that must be decoded, such as text tables, are kept as far as memory allows;
    /// later passes read only the other points. All points are kept if they fit into 70 % of the limit.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Sets the number of points of a chunk, rounded up to a multiple of 4096 and limited by memory. The default is
    /// chosen for memory and caches. The result of the fit does not depend on this number.
    #[must_use]
    pub fn chunk_points(mut self, points: usize) -> Self {
        self.chunk_points = Some(points);
        self
    }

    /// Sets the number of chunks that are read ahead of the chunk that is being processed.
    #[must_use]
    pub fn prefetch(mut self, chunks: usize) -> Self {
        self.prefetch = chunks;
        self
    }

    /// If true, a start is computed from a sample, which saves passes. It is used only if the fits of two halves of
    /// the sample agree with each other and with all points; otherwise the fit begins at the given start.
    #[must_use]
    pub fn subsample(mut self, subsample: bool) -> Self {
        self.subsample = subsample;
        self
    }

    /// Sets the path of a checkpoint: the results of the passes are saved after each pass and when the fit is stopped
    /// or reaches its time limit. If the file exists, the fit continues from it and returns the same result to the last
    /// bit. Several processes may run the same fit with the same file.
    ///
    /// There are two files: `path` contains the newest checkpoint, and `path` with `.1` appended the previous
    /// checkpoint, which is used if the newest is damaged. Both are removed when the fit has ended. A fit starts from
    /// the beginning if there is no file at `path`, even if the other exists. A file of another fit, or a file that is
    /// not a checkpoint, is an error that names the difference.
    #[must_use]
    pub fn checkpoint(mut self, path: impl AsRef<Path>) -> Self {
        self.checkpoint = Some(path.as_ref().to_owned());
        self
    }

    /// If true (the default), a checkpoint that cannot be written ends the fit with an error. If false, the fit
    /// continues and its result has a warning. The last good checkpoint stays intact in both cases.
    #[must_use]
    pub fn checkpoint_required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }

    /// Returns the number of points of a chunk, within the memory limit.
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
        // A chunk need not be larger than the number of points, if it is known.
        let all = shape.points.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        Ok(wanted.min(fitting).min(whole_pieces(all)))
    }

    /// Returns the number of chunks of `capacity` points that can be kept from pass to pass, in addition to the
    /// buffers.
    fn kept_chunks(&self, shape: &Shape, capacity: usize) -> usize {
        let room = (CHUNKS_PART * self.memory_limit as f64) as usize;
        let chunks = room / shape.bytes_per_point().max(1) / capacity.max(1);
        match self.source.is_slow() {
            true => chunks.saturating_sub(self.prefetch.saturating_add(2)),
            false => 0,
        }
    }

    /// Returns the maximum number of points of the sample: three copies in f64 must fit into the rest of the memory.
    pub(crate) fn sample_points(&self, shape: &Shape) -> usize {
        let point = 8 * (shape.x.len() + 2);
        let rest = (1.0 - CHUNKS_PART) * self.memory_limit as f64;
        match self.subsample {
            true => SAMPLE.min(((rest / 3.0) as usize / point).max(LEAST_SAMPLE)),
            false => LEAST_SAMPLE,
        }
    }

    /// Returns the shape of the source: the types of the columns, and the number of points if it is known.
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

    /// Returns a reader of points of this shape.
    ///
    /// # Errors
    /// If there is no memory for a chunk, or the source panics.
    pub(crate) fn reader(self, shape: Shape) -> Result<Prefetch<'a>> {
        let capacity = self.capacity(&shape)?;
        let kept = Kept::new(guarded(|| self.kept_chunks(&shape, capacity))?);
        Ok(Prefetch::new(self.source, shape, capacity, self.prefetch, kept))
    }

    /// Checks that the setting of sigma matches the source.
    ///
    /// # Errors
    /// If they do not match.
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

/// Rounds `points` up to a multiple of [`PIECE`], at least one piece. If this would overflow, returns the largest
/// multiple.
fn whole_pieces(points: usize) -> usize {
    points.max(1).checked_next_multiple_of(PIECE).unwrap_or(usize::MAX / PIECE * PIECE)
}

impl<'a, S: Source + 'a> From<S> for Stream<'a> {
    fn from(source: S) -> Stream<'a> {
        Stream::new(source)
    }
}

impl StreamPoints {
    /// Returns the weights of points with these standard deviations.
    pub(crate) fn weights<'s>(&self, deviations: Option<&'s [f64]>) -> Weights<'s> {
        match (self.sigma, deviations) {
            (Sigma::Constant(value), _) => Weights::Constant(value),
            (_, Some(sigma)) => Weights::Each { sigma, absolute: self.sigma.is_absolute() },
            (_, None) => Weights::Equal,
        }
    }

    /// Returns a chunk as data of a fit.
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
