//! Reasons why a fit stopped.

use crate::solver::observe::Stop;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why a fit stopped. Only the first four variants mean that a minimum was found. In all cases the
/// fit contains the best parameters reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Termination {
    /// The residuals are orthogonal to every partial derivative, to `gtol`.
    Gradient,
    /// A full step would lower the cost by at most `ftol` times the cost, or by no more than the rounding error of the
    /// cost. Or the last full step lowered the cost by at most `ftol` times the cost, and so did its prediction.
    Cost,
    /// A full step would change, or the last full step changed, each parameter by at most `xtol` times its size; or a
    /// full step would change each parameter by at most `etol` times its standard error.
    Step,
    /// The model passes through all points to rounding.
    ExactFit,
    /// No step lowers the cost any more although the tolerances are not met, and the second derivatives do not confirm
    /// a minimum. Possible causes: the data do not determine all parameters (see the warnings), the tolerances are
    /// below rounding, or the derivatives are wrong.
    NoProgress,
    /// The limit of evaluations was reached.
    MaxEvaluations,
    /// The time limit was reached.
    TimeLimit,
    /// The caller stopped the fit, by its observer or by a [`CancelToken`](crate::CancelToken).
    Stopped,
    /// The model has no finite value around the best parameters, so that no step could be taken.
    ModelNonFinite,
    /// No parameter has an effect at the starting point, so that there is no descent direction: the starting point is
    /// far from the data, or the model is piecewise constant.
    ZeroGradientAtStart,
    /// During the iteration a parameter lost all effect on the model (an exponential underflowed, a peak left the
    /// data), so that its value has no meaning.
    Degenerate,
    /// With a redescending loss (Cauchy, arctan, Tukey), nearly all points are beyond the scale of the loss: the number
    /// of points with weight is at most the number of parameters. Such a minimum exists wherever the model passes
    /// through a few points.
    BeyondScale,
    /// All parameters are fixed: the model was evaluated and nothing was fitted.
    AllFixed,
    /// Rounding hides the minimum. Either terms of the model cancel to little more than their rounding error, or x is
    /// so far from 0, compared with its range, that different partials coincide after rounding. In the second case,
    /// subtract `x[0]` from x.
    LostInRounding,
}

impl Termination {
    /// Returns true if the caller, or a limit set by the caller, ended the fit.
    pub(crate) fn is_limit(self) -> bool {
        use Termination::{MaxEvaluations, Stopped, TimeLimit};
        matches!(self, Stopped | MaxEvaluations | TimeLimit)
    }

    /// Returns true if the caller or the time limit stopped the fit.
    pub(crate) fn is_stopped(self) -> bool {
        matches!(self, Termination::Stopped | Termination::TimeLimit)
    }

    /// Returns a short description, by which summaries of batches count their fits.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            _ if self.is_converged() => "converged",
            Termination::MaxEvaluations => "limit of evaluations reached",
            Termination::TimeLimit => "time limit reached",
            Termination::Stopped => "stopped",
            Termination::ZeroGradientAtStart => "no parameter has an effect at the start",
            Termination::Degenerate => "a parameter lost its effect",
            Termination::BeyondScale => "nearly all points beyond the scale of the loss",
            Termination::LostInRounding => "rounding hides the minimum",
            Termination::ModelNonFinite => "model not finite around the best parameters",
            Termination::AllFixed => "all parameters fixed",
            _ => "no step lowers the cost",
        }
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
