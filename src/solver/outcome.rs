//! Result of a minimisation, and reasons of failure.

use super::task::Work;
use super::termination::Termination;
use crate::error::Error;
use crate::error::no_cuda::DriverError;
use crate::normal::{Arrow, Normal};
use crate::solver::observe::Stop;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Result of a minimisation.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// All parameters, free and fixed.
    pub(crate) params: Vec<f64>,
    /// Cost in row units.
    pub(crate) cost: f64,
    /// The normal equations at the parameters.
    pub(crate) normal: Normal,
    pub(crate) termination: Termination,
    /// Work of all runs together.
    pub(crate) work: Work,
    /// For each free parameter, the power of two by which its column of the Jacobian was multiplied.
    pub(crate) columns: Vec<f64>,
    /// ‖Jⱼ‖·|pⱼ| of each free parameter at the start.
    pub(crate) effects: Vec<f64>,
    /// For each free parameter, true if it is known not to occur in the model.
    pub(crate) unused: Vec<bool>,
    /// True if a second run, with another scaling or start, was made.
    pub(crate) retried: bool,
    /// Upper limit of 1/sigma of a point in the last sums, in row units (see `Evaluator::limit_weights`): the solver
    /// limits points that outweigh all others. Infinite if it set no limit.
    pub(crate) most_weight: f64,
}

impl Outcome {
    /// Creates an outcome before any run, with allocated arrays.
    pub(crate) fn new(params: usize, shape: &Arc<Arrow>) -> Outcome {
        let free = shape.n();
        Outcome {
            params: vec![f64::NAN; params],
            cost: f64::NAN,
            normal: Normal::shaped(shape),
            termination: Termination::AllFixed,
            work: Work::default(),
            columns: vec![1.0; free],
            effects: Vec::with_capacity(free),
            unused: Vec::with_capacity(free),
            retried: false,
            most_weight: f64::INFINITY,
        }
    }
}

/// The reason why there is no outcome.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The model or a partial is not finite at the start.
    Start(BadPoint),
    /// Model and partials are finite at the start, but their squares are not.
    Overflow,
    /// The backend failed.
    Backend(Fault),
    /// The observer panicked, with this message.
    Observer(String),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Backend(fault)
    }
}

/// A point where the model has no finite value or derivative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BadPoint {
    /// Index of the point in the data.
    pub(crate) index: usize,
    /// The independent variables at the point.
    pub(crate) x: Vec<f64>,
    /// The value that is not finite.
    pub(crate) value: f64,
    /// The free parameter whose partial is not finite; `None` if the value of the model is not finite.
    pub(crate) partial: Option<usize>,
}

/// The reason why a backend could not compute a summary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The user's code panicked.
    Panicked {
        /// The panic's message.
        message: String,
        /// Index and independent variables of the point where it panicked; `None` if the code was called for all points
        /// at once.
        point: Option<(usize, Vec<f64>)>,
        /// All parameters of the call that panicked.
        params: Vec<f64>,
    },
    /// A device failed.
    Device(DriverError),
    /// The points could not be read, or the state could not be saved.
    Points(Error),
    /// The pass was interrupted.
    Stopped(Stop),
}

impl Fault {
    /// Converts the index of the point from a range that begins at point `first` to an index among all points.
    pub(crate) fn at_offset(self, first: u64) -> Fault {
        match self {
            Fault::Panicked { message, point, params } => {
                let point = point.map(|(index, x)| (index + first as usize, x));
                Fault::Panicked { message, point, params }
            }
            other => other,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Points(error)
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Fault {
        Fault::Stopped(stop)
    }
}
