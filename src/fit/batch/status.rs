//! Status of the fits of a batch.

use crate::error::Error;
use crate::solver::observe::Stop;
use crate::solver::outcome::{BadPoint, Failure, Fault};
use crate::solver::termination::Termination;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Status of a fit of a batch. Variants contain positions of parameters, and indices of points within the fit.
///
/// If the fit was made, its numbers equal the numbers of a single [`Fit`](crate::Fit) with the same [`Termination`].
/// The other variants are reasons that are errors for a single fit; the numbers of such a fit are NaN. Fits do not
/// affect each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FitStatus {
    /// The fit was made.
    Ended {
        /// The reason why it stopped.
        termination: Termination,
        /// The first parameter that the data do not determine, if the fit converged.
        undetermined: Option<usize>,
    },
    /// At the start the model or a partial is not finite, or the model of counts is not positive.
    NonFinite {
        /// The first such point.
        point: usize,
    },
    /// At the start the residuals are too large to be squared.
    Overflow,
    /// A value of y, of an independent variable or of a standard deviation is not usable, or a count is negative.
    BadData {
        /// The first such point.
        point: usize,
    },
    /// There are fewer points with weight than free parameters. [`BatchFit::counts`](crate::BatchFit::counts) counts fits
    /// without any, for example masked pixels of an image, as "no points".
    TooFewPoints {
        /// Points with weight.
        points: usize,
    },
    /// The start is not finite, or outside the bounds.
    BadStart {
        /// The first such parameter.
        parameter: usize,
    },
    /// The fit's own lower bound is not below the upper one.
    BadBounds {
        /// The first such parameter.
        parameter: usize,
    },
    /// A native model panicked.
    Panicked {
        /// The point where the model panicked; `None` if the model is called for all points at once.
        point: Option<usize>,
    },
    /// The batch was stopped before this fit.
    NotRun,
}

impl FitStatus {
    /// Returns the status of a fit that was made. `undetermined`: the first parameter that the data do not determine.
    pub(crate) fn of(termination: Termination, undetermined: Option<usize>) -> FitStatus {
        let undetermined = undetermined.filter(|_| termination.is_converged());
        FitStatus::Ended { termination, undetermined }
    }

    /// Returns the reason why the fit stopped, if it was made.
    pub fn termination(self) -> Option<Termination> {
        match self {
            FitStatus::Ended { termination, .. } => Some(termination),
            _ => None,
        }
    }

    /// Returns true if the fit converged and the data determine all of its parameters.
    pub fn is_determined(self) -> bool {
        matches!(self, FitStatus::Ended { undetermined: None, .. }) && self.converged()
    }

    /// Returns true if the parameters are a minimum of the cost, even if the data do not determine all of them; as
    /// [`Fit::converged`](crate::Fit::converged).
    pub fn converged(self) -> bool {
        self.termination().is_some_and(Termination::is_converged)
    }

    /// Returns true if a fit with this number of samples and parameters can have this status.
    pub(crate) fn is_sound(self, params: usize, samples: usize) -> bool {
        match self {
            FitStatus::Ended { termination, undetermined } => {
                undetermined.is_none_or(|k| k < params && termination.is_converged())
            }
            FitStatus::BadStart { parameter } | FitStatus::BadBounds { parameter } => {
                parameter < params
            }
            // A bad sigma of a whole fit is reported at point 0, even if the fit has no points.
            FitStatus::BadData { point } => point < samples.max(1),
            FitStatus::NonFinite { point } | FitStatus::Panicked { point: Some(point) } => {
                point < samples
            }
            FitStatus::TooFewPoints { points } => points <= samples,
            FitStatus::Overflow | FitStatus::Panicked { point: None } | FitStatus::NotRun => true,
        }
    }

    /// Returns a short description without numbers. Fits with the same description are counted together.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            FitStatus::Ended { undetermined: Some(_), .. } => {
                "converged, but a parameter is undetermined"
            }
            FitStatus::Ended { termination, .. } => termination.kind(),
            FitStatus::NonFinite { .. } => "model not finite at the start",
            FitStatus::Overflow => "residuals at the start too large to be squared",
            FitStatus::BadData { .. } => "bad data",
            FitStatus::TooFewPoints { points: 0 } => "no points",
            FitStatus::TooFewPoints { .. } => "too few points",
            FitStatus::BadStart { .. } => "bad start",
            FitStatus::BadBounds { .. } => "bad bounds",
            FitStatus::Panicked { .. } => "the model panicked",
            FitStatus::NotRun => "not run",
        }
    }
}

/// Converts an error in the data of one fit. Other errors cannot occur, because the whole request was validated
/// before.
impl From<Error> for FitStatus {
    fn from(error: Error) -> FitStatus {
        match error {
            Error::NonFinite { index, .. }
            | Error::SigmaNotPositive { index, .. }
            | Error::BadXSigma { index, .. }
            | Error::NegativeCount { index, .. } => FitStatus::BadData { point: index },
            _ => FitStatus::TooFewPoints { points: 0 },
        }
    }
}

impl From<Failure> for FitStatus {
    fn from(failure: Failure) -> FitStatus {
        match failure {
            Failure::Start(BadPoint { index, .. }) => FitStatus::NonFinite { point: index },
            Failure::Overflow => FitStatus::Overflow,
            Failure::Backend(Fault::Panicked { point, .. }) => {
                FitStatus::Panicked { point: point.map(|(index, _)| index) }
            }
            Failure::Backend(Fault::Stopped(Stop::Late)) => {
                FitStatus::of(Termination::TimeLimit, None)
            }
            // Fits of a batch run without observer on points in memory, and a device's failure ends the
            // batch.
            Failure::Backend(Fault::Device(_) | Fault::Points(_) | Fault::Stopped(Stop::Asked))
            | Failure::Observer(_) => FitStatus::NotRun,
        }
    }
}

impl FitStatus {
    /// Returns the displayed text, in which the name of a parameter replaces its position.
    pub(crate) fn with_names(self, names: &[String]) -> String {
        let text = self.to_string();
        match self {
            FitStatus::Ended { undetermined: Some(parameter), .. }
            | FitStatus::BadStart { parameter }
            | FitStatus::BadBounds { parameter } => match names.get(parameter) {
                Some(name) => text.replace(&format!("parameter {parameter}"), &format!("`{name}`")),
                None => text,
            },
            _ => text,
        }
    }
}

impl fmt::Display for FitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitStatus::Ended { termination: Termination::AllFixed, .. } => f.write_str(self.kind()),
            FitStatus::Ended { termination, undetermined: None } => termination.fmt(f),
            FitStatus::Ended { termination, undetermined: Some(parameter) } => {
                write!(f, "{termination}; the data do not determine parameter {parameter}")
            }
            FitStatus::NonFinite { point } => write!(f, "{} (point {point})", self.kind()),
            FitStatus::BadData { point } => {
                write!(f, "bad data: x, y or sigma is not usable at point {point}")
            }
            FitStatus::Panicked { point: Some(point) } => {
                write!(f, "the model panicked at point {point}")
            }
            FitStatus::Panicked { point: None } => f.write_str(self.kind()),
            FitStatus::TooFewPoints { points: 0 } => {
                f.write_str("no points: all of them are masked, missing or without weight")
            }
            FitStatus::TooFewPoints { points } => {
                write!(f, "too few points: {points} with weight, fewer than free parameters")
            }
            FitStatus::BadStart { parameter } => {
                write!(f, "the start of parameter {parameter} is not finite or outside its bounds")
            }
            FitStatus::BadBounds { parameter } => {
                write!(f, "the lower bound of parameter {parameter} is not below the upper one")
            }
            FitStatus::Overflow | FitStatus::NotRun => f.write_str(self.kind()),
        }
    }
}
