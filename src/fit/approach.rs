//! Continuation for redescending losses, and the diagnosis if few points keep weight.
//!
//! Far from the points a redescending loss has almost no gradient. Therefore the fit begins with Cauchy loss whose
//! scale is the distance to the points: nearly all points keep weight, outliers less. The distance at its result is
//! the next scale, until the fit's own loss can take over
//! (graduated non-convexity: Blake and Zisserman, Visual Reconstruction, 1987).

use crate::data::loss::Loss;
use crate::solver::termination::Termination;

/// Minimum factor by which the scale decreases from stage to stage, even if the distance does not, as with noise or
/// outliers.
pub(super) const FALL: f64 = 10.0;
/// Tolerance of a stage whose result is only a starting point.
pub(super) const ROUGH: f64 = 1e-3;
/// Minimum total weight beyond one per parameter.
const LEAST: f64 = 0.5;
/// Effective points per parameter: fewer give a warning.
const FEW: f64 = 5.0;
/// Effective points as a fraction of the points: a smaller fraction gives a warning for any number of points.
const LITTLE: f64 = 0.1;
/// Fraction of the points: no warning if the effective points reach it.
const MANY: f64 = 0.5;

/// Returns true if the stage failed and its result must not seed the next one.
pub(super) fn came_to_nothing(reason: Termination) -> bool {
    use Termination::{Degenerate, ModelNonFinite, ZeroGradientAtStart};
    matches!(reason, ZeroGradientAtStart | Degenerate | ModelNonFinite)
}

/// Returns the termination of a fit whose `points` have the total `weight`. A redescending loss has a minimum
/// wherever the model passes through one point per parameter. A minimum with no further weight is due to chance and
/// does not count as convergence.
pub(crate) fn judged(
    reason: Termination,
    loss: Loss,
    (weight, points): (f64, usize),
    estimated: usize,
) -> Termination {
    let no_more = weight < estimated as f64 + LEAST && weight < MANY * points as f64;
    match reason.is_converged() && loss.redescends() && no_more {
        true => Termination::BeyondScale,
        false => reason,
    }
}

/// Returns true if the effective points are too few for a reliable result.
pub(crate) fn is_little(weight: f64, points: usize, estimated: usize) -> bool {
    let points = points as f64;
    weight < MANY * points && (weight < FEW * estimated as f64 || weight < LITTLE * points)
}
