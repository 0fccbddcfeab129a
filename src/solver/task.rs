//! Input of a minimisation: the free parameters, their starting point, bounds and limits.

use super::observe::Observer;
use super::options::Options;
use super::termination::Termination;
use crate::data::loss::Loss;
use crate::data::summary::rounding;
use crate::host::Instant;
use crate::normal::{Arrow, Normal};
use std::sync::Arc;

/// Input of a minimisation.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) options: &'a Options,
    pub(crate) observer: Option<&'a Observer>,
    /// Time at which the fit began; time limits are measured from it.
    pub(crate) begun: Instant,
    /// Work of earlier stages of the fit; counts and limits include it.
    pub(crate) work: Work,
    /// The normal equations at the start with unscaled columns, if they are known.
    pub(crate) known: Option<&'a Normal>,
}

impl<'a> Task<'a> {
    /// Creates the first stage of a fit that begins now, without an observer.
    pub(crate) fn new(problem: &'a Problem, options: &'a Options) -> Task<'a> {
        let (begun, work) = (Instant::now(), Work::default());
        Task { problem, options, observer: None, begun, work, known: None }
    }

    /// Returns the termination if the observer or the time limit ends the fit.
    pub(crate) fn ended_outside(&self) -> Option<Termination> {
        if self.observer.is_some_and(|observer| observer.is_cancelled()) {
            Some(Termination::Stopped)
        } else if self.options.max_time.is_some_and(|limit| self.begun.elapsed() >= limit) {
            Some(Termination::TimeLimit)
        } else {
            None
        }
    }
}

/// Work of a minimisation. Counts include all runs and stages of a fit, so that the limit of evaluations applies to
/// their total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Evaluations of model and partials.
    pub(crate) evaluations: usize,
    /// Other passes over the points: to factor the Jacobian, to find a bad point, or to determine the magnitudes of the
    /// partials.
    pub(crate) other_passes: usize,
    /// Accepted steps.
    pub(crate) iterations: usize,
}

/// The parameters of one fit. `start` and `bounds` have one value per parameter of the model, fixed or free.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// For each free parameter, true if it is known not to occur in the model.
    pub(crate) unused: Vec<bool>,
    /// True for a native model, for which it is not known which parameters occur.
    pub(crate) opaque: bool,
    /// Positions of the free parameters; ascending, unless the shape has blocks.
    pub(crate) free: Vec<usize>,
    /// Block structure of the free parameters.
    pub(crate) shape: Arc<Arrow>,
    pub(crate) start: Vec<f64>,
    /// Lower and upper bounds; ±∞ if there is no bound.
    pub(crate) bounds: Vec<(f64, f64)>,
    /// The sum of squares of the weighted response, in row units.
    pub(crate) square: f64,
    /// The sum of squares of the weighted response about its mean, in row units.
    pub(crate) scatter: f64,
    /// [`Moments::signal`](crate::data::summary::Moments::signal).
    pub(crate) signal: f64,
    /// Number of points that have weight.
    pub(crate) points: usize,
    /// True if sigma is absolute, so that the errors are not estimated from the scatter of the residuals.
    pub(crate) absolute: bool,
    /// Loss of the cost.
    pub(crate) loss: Loss,
    /// The row unit: the power of two by which weighted residuals are multiplied. Sums "in row units" contain it.
    pub(crate) row_unit: f64,
}

impl Problem {
    /// Returns [`Loss::bulk`] for the points of this fit, in row units.
    pub(crate) fn bulk(&self) -> f64 {
        self.loss.bulk(self.points, self.row_unit)
    }

    /// Returns the sum of squares due to rounding errors of 16 units in the last place of each value. A fit with at
    /// most this sum is exact.
    pub(crate) fn rounding(&self) -> f64 {
        rounding(self.square)
    }

    /// Returns the scale of the loss in row units; infinite if the loss has no scale.
    pub(crate) fn scale(&self) -> f64 {
        self.loss.scale().map_or(f64::INFINITY, |scale| scale * self.row_unit)
    }

    /// Copies from a problem of the same model, without allocation.
    pub(crate) fn copy_from(&mut self, other: &Problem) {
        let Problem {
            unused,
            opaque,
            free,
            shape,
            start,
            bounds,
            square,
            scatter,
            signal,
            points,
            absolute,
            loss,
            row_unit,
        } = other;
        self.unused.clone_from(unused);
        self.free.clone_from(free);
        self.shape.clone_from(shape);
        self.start.clone_from(start);
        self.bounds.clone_from(bounds);
        (self.square, self.scatter, self.signal) = (*square, *scatter, *signal);
        (self.points, self.absolute, self.loss) = (*points, *absolute, *loss);
        (self.opaque, self.row_unit) = (*opaque, *row_unit);
    }
}
