//! Exact fits of points that need not fit into memory, by passes over a source.

mod identity;
mod part_on_device;
mod part_points;
mod parts;
#[cfg(test)]
mod parts_tests;
mod stream_fit;

use super::{CurveFit, Ready, array};
use crate::data::columns::{Arguments, Columns};
use crate::data::source::Source;
use crate::data::source::slices::SliceSource;
use crate::data::start::Start;
use crate::data::stream::Stream;
use crate::data::values::Values;
use crate::data::x_sigma::XSigma;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::host::Instant;
use crate::model::native::Model;
use crate::model::var::Var;
use crate::observe::span;
pub use parts::{Part, Parts, merge};
use stream_fit::{Asked, PointsAsked, StreamFit};

/// Fits `model` to the points (`x`, `y`) from the starting point `p0`, with at most `memory_limit` bytes in addition
/// to the points. Unlike NLSQ's `curve_fit_large`, it is exact: every pass is over all points.
///
/// For points in files and for further options see [`CurveFit::fit_stream`].
///
/// ```
/// let x: Vec<f64> = (0..50_000).map(|i| 1e-4 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5).collect();
/// let limit = 8 << 20;
/// let fit = dualfit::curve_fit_large(
///     |x, [a, b, c]| a * (-b * x).exp() + c, &x, &y, [1.0, 1.0, 0.0], limit,
/// )?;
/// assert!((fit.params()[1] - 1.3).abs() < 1e-9);
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// Errors of [`Data::new`](crate::Data::new) and [`CurveFit::fit_stream`].
pub fn curve_fit_large<'a, C: Columns<'a>, const N: usize>(
    model: impl Fn(C::X, [Var; N]) -> Var,
    x: C,
    y: impl Into<Values<'a>>,
    p0: [f64; N],
    memory_limit: usize,
) -> Result<Fit> {
    let source = SliceSource::new(x, y)?;
    let columns = C::X::count().unwrap_or_else(|| source.shape().x.len());
    CurveFit::trace(columns, N, |x, p| model(C::X::arguments(x), array(p)))
        .fit_stream(Stream::new(source).memory_limit(memory_limit), p0)
}

impl CurveFit {
    /// Fits the model to the points of a source, which need not fit into memory. The source is a
    /// [`Source`](crate::source::Source) of files, of arrays or of your own, or a [`Stream`] with reading options.
    ///
    /// The result equals the result of [`fit`](CurveFit::fit) with the same points in memory. The fit performs
    /// Gauss-Newton steps in a trust region to full convergence; each step is computed from sums over all points.
    /// Bounds, losses, weights, counts and covariance are supported. The result does not depend on the size of chunks.
    ///
    /// A fit usually needs three or four passes. The first pass validates the data, evaluates the model at `start` and
    /// draws a sample. A fit of the sample then supplies a better start, if it passes its tests.
    /// [`Stats::stream`](crate::result::Stats::stream) reports this.
    ///
    /// A separate thread reads chunks in advance while all cores process earlier chunks. Memory use is limited by
    /// [`Stream::memory_limit`].
    ///
    /// Missing values of `start` are computed from the sample, as in [`fit`](CurveFit::fit).
    ///
    /// A token, an observer or a time limit stops the fit after the current chunk. The result then contains the best
    /// parameters so far and the termination [`Stopped`](crate::Termination::Stopped) or
    /// [`TimeLimit`](crate::Termination::TimeLimit). If there is a checkpoint, the next call continues from it.
    ///
    /// # Errors
    /// Errors of [`fit`](CurveFit::fit), with indices among all points of the source;
    /// [`Error::Source`](crate::Error::Source) if points cannot be read;
    /// [`SourcePanicked`](crate::Error::SourcePanicked), [`SourceChanged`](crate::Error::SourceChanged),
    /// [`MemoryLimit`](crate::Error::MemoryLimit), [`Checkpoint`](crate::Error::Checkpoint) and
    /// [`StoppedInFirstPass`](crate::Error::StoppedInFirstPass).
    pub fn fit_stream<'a>(
        &self,
        stream: impl Into<Stream<'a>>,
        start: impl Into<Start>,
    ) -> Result<Fit> {
        let _span = span!(INFO, "stream");
        let begun = Instant::now();
        let (stream, start) = (stream.into(), start.into());
        let shape = stream.shape(self.estimator)?;
        self.refuse_all_at_once(
            "fit_stream",
            "a stream never holds all points, which a model of native_arrays needs; read them, and use fit",
        )?;
        let sample = stream.sample_points(&shape);
        self.accepts(shape.x.len(), &start)?;
        let free = self.free_positions();
        let ready = self.ready(&free)?;
        self.fit_held(ready, PointsAsked::of(stream, shape)?, sample, start, begun)
    }

    /// Checks that the model is not called for all points at once.
    ///
    /// # Errors
    /// [`Error::ModelKind`] for a `native_arrays` model.
    fn refuse_all_at_once(&self, what: &'static str, remedy: &'static str) -> Result<()> {
        match &self.model {
            Ok(Model::Native(native)) if native.takes_arrays() => {
                Err(Error::ModelKind { what, remedy })
            }
            _ => Ok(()),
        }
    }

    /// Fits the points of a stream or of a distributed fit. `sample`: maximum number of points of the sample.
    fn fit_held(
        &self,
        ready: &Ready,
        points: PointsAsked<'_>,
        sample: usize,
        start: Start,
        begun: Instant,
    ) -> Result<Fit> {
        let free = self.free_positions();
        let spec = self.spec(ready, &free, &XSigma::default(), None)?;
        let asked = Asked { curve: self, ready, free, start, begun };
        let (course, resumed) = StreamFit::new(asked, spec, points)?;
        let opening = course.open(resumed, sample)?;
        let from = course.begin(&opening)?;
        let fit = course.fit(&from)?;
        course.conclude(fit, &opening, from)
    }
}
