//! Reasons why a fit stopped.

use crate::solver::observe::Stop;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why a fit stopped. Only the first four mean that a minimum was found. In all cases the
/// fit has the best parameters reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Termination {
    /// The residuals are orthogonal to every partial derivative, to `gtol`.
    Gradient,
    /// A full step would lower the cost, or did and could lower it, by no more than `ftol` of it, or
    /// than rounding.
    Cost,
    /// A full step would change, or did change, no parameter by more than `xtol` of its size, or none by more than
    /// `etol` of its standard error.
    Step,
    /// The model passes through all points, to rounding.
    ExactFit,
    /// No step lowers the cost any more although the tolerances are not met, and the second derivatives do
    /// not confirm a minimum: the data do not determine all parameters (see the warnings),
    /// the tolerances are below rounding, or the derivatives are wrong.
    NoProgress,
    /// The limit of evaluations was reached.
    MaxEvaluations,
    /// The time limit was reached.
    TimeLimit,
    /// The caller stopped it: its observer, or a [`CancelToken`](crate::CancelToken).
    Stopped,
    /// Around the best parameters the model has no finite value, so that no step could be taken.
    ModelNonFinite,
    /// No parameter has an effect at the start, so there is no direction to go: the start is far from
    /// the data, or the model is constant in steps.
    ZeroGradientAtStart,
    /// On the way a parameter lost all effect on the model (an exponential underflowed, a peak left
    /// the data), so its value means nothing.
    Degenerate,
    /// Under a loss that redescends (Cauchy's, arctan's, Tukey's) no more points count than there are
    /// parameters: nearly all are beyond its scale, and there is such a minimum wherever the model passes
    /// through a few points.
    BeyondScale,
    /// All parameters are fixed: the model was evaluated and nothing was fitted.
    AllFixed,
    /// Rounding hides the minimum: terms of the model cancel to little more than their rounding, or x is so far from 0,
    /// compared with its range, that partials coincide that would differ. Subtract `x[0]` from x.
    LostInRounding,
}

impl Termination {
    /// Returns true if the caller, or a limit set by the caller, ended the fit.
    pub(crate) fn is_limit(self) -> bool {
        use Termination::{MaxEvaluations, Stopped, TimeLimit};
        matches!(self, Stopped | MaxEvaluations | TimeLimit)
    }

    /// Returns true if the caller or a limit of time stopped it on its way.
    pub(crate) fn is_stopped(self) -> bool {
        matches!(self, Termination::Stopped | Termination::TimeLimit)
    }

    /// Returns true if the parameters are a minimum of the cost.
    pub fn is_converged(self) -> bool {
        use Termination::{Cost, ExactFit, Gradient, Step};
        matches!(self, Gradient | Cost | Step | ExactFit)
    }
}

impl From<Stop> for Termination {
    fn from(stop: Stop) -> Termination {
        match stop {
            Stop::Asked => Termination::Stopped,
            Stop::Late => Termination::TimeLimit,
        }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Termination::Gradient => "converged: residuals orthogonal to all partials",
            Termination::Cost => "converged: the cost no longer changes",
            Termination::Step => "converged: the parameters no longer change",
            Termination::ExactFit => "converged: the model passes through all points",
            Termination::NoProgress => "not converged: no step lowers the cost; try another start, loosen the tolerances or check the partials",
            Termination::MaxEvaluations => "not converged: limit of evaluations reached; raise max_evaluations or improve the start",
            Termination::TimeLimit => "not converged: time limit reached",
            Termination::Stopped => "not converged: stopped by the caller",
            Termination::ModelNonFinite => "not converged: the model is not finite around the best parameters; set bounds that keep it finite",
            Termination::ZeroGradientAtStart => "not converged: no parameter has an effect at the start; choose a start nearer to the data",
            Termination::BeyondScale => "not converged: nearly all points are beyond the scale of the loss, and no more count than there are parameters; raise the scale or choose a start nearer to the data",
            Termination::LostInRounding => "not converged: rounding hides the minimum, since terms of the model cancel or its partials coincide; where x is far from 0 for its range, subtract x[0] from x",
            Termination::AllFixed => "nothing to fit: all parameters are fixed",
            Termination::Degenerate => "not converged: a parameter lost its effect on the model; choose another start or set bounds",
        })
    }
}
