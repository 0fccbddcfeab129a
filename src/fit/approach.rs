//! How a fit with a loss that redescends comes to its points, and what it is worth where few of them
//! count.
//!
//! From a start that is far from the points such a loss hardly pulls. There the fit begins with
//! Cauchy's loss on the scale of the distance, under which nearly all points pull and outliers among
//! them already less. Its end is nearer; the distance from there is the next scale, until the loss's
//! own pulls (graduated non-convexity: Blake and Zisserman, Visual Reconstruction, 1987).

use crate::data::loss::Loss;
use crate::solver::termination::Termination;

/// From stage to stage the scale falls by this at least, also where the points come no nearer: in noise,
/// or with outliers, they stay as far as they are.
pub(super) const FALL: f64 = 10.0;
/// Tolerance of a stage, whose end is no more than a start.
pub(super) const ROUGH: f64 = 1e-3;
/// What must count beside one point for each parameter.
const LEAST: f64 = 0.5;
/// Points for each parameter below which what counts is called few.
const FEW: f64 = 5.0;
/// The part of the points below which what counts is called few, however many they are.
const LITTLE: f64 = 0.1;
/// Where half of the points count nothing is said: there are as few as were given.
const MANY: f64 = 0.5;

/// Whether a stage that ended so is no place to go on from.
pub(super) fn came_to_nothing(reason: Termination) -> bool {
    use Termination::{Degenerate, ModelNonFinite, ZeroGradientAtStart};
    matches!(reason, ZeroGradientAtStart | Degenerate | ModelNonFinite)
}

/// What the end of a fit is worth where `points` count `weight` together. Under a loss that redescends
/// there is a minimum wherever the model passes through as many of them as there are parameters; one
/// where no more count is found by chance.
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

/// Whether so few points count that what they say is doubtful.
pub(crate) fn is_little(weight: f64, points: usize, estimated: usize) -> bool {
    let points = points as f64;
    weight < MANY * points && (weight < FEW * estimated as f64 || weight < LITTLE * points)
}
