//! Walk along a profile from the best fit outwards: step control, and refinement of intervals whose nodes are too far
//! apart. A node is a refit at one value of the profiled parameter. The excess is (S − Ŝ)/s², and τ its signed root.

use super::interval::{ProfileEnd, ProfileNode, interpolation_error};
use super::refits::Refits;
use crate::math::order::sort_few;
use crate::threads;

/// Step of τ. Above τ = `WIDE`, steps are proportional to τ.
const STEP: f64 = 0.4;
const WIDE: f64 = 4.0;
/// Maximum ratio of a step to the previous step.
const GROWTH: f64 = 2.0;
/// Maximum number of nodes on a side.
const MOST: usize = 160;
/// A profile is open (does not reach the level) if τ increases by less than `GAIN` over `FLAT` steps, each 2x the
/// previous one.
const FLAT: usize = 8;
const GAIN: f64 = 0.02;
/// A profile is also open if two conditions hold. In `FADES` steps, each increase of τ is at most `FADING` times the
/// previous increase; and the sum of all further increases at this rate is less than half of the distance to the
/// level. At that point, the distance from the best value is about 30x the distance at which flattening began.
const FADES: usize = 5;
/// Number of such steps that suffices if the next refit fails.
const FADES_HERE: usize = 3;
const FADING: f64 = 0.75;
/// Increase of τ that can be due to rounding.
const NO_GAIN: f64 = 1e-7;
/// Maximum number of times that a step is cut to a quarter after a failed refit.
const CUTS: usize = 6;
/// Maximum number of searches for lower minima of the other parameters; `LOWER`: minimum relative decrease of the
/// excess by a lower minimum.
const BRANCHES: usize = 4;
const LOWER: f64 = 1e-6;
/// Step of τ that counts as a jump, below `WIDE`.
const JUMP: f64 = 1.0;
/// Maximum relative change of the slope of τ for which few starts suffice; [`FEW`] is their number.
const STRAIGHT: f64 = 0.1;
const FEW: usize = 12;
/// Tolerance of the end of an interval, as a fraction of its distance from the best value.
const ACCURACY: f64 = 2e-7;
/// Intervals over which τ changes by less than this are not refined.
const LEVEL: f64 = 1e-4;
/// Minimum assumed error of an excess.
const ROUNDING: f64 = 1e-9;
/// Minimum ratio of the errors of two interpolation polynomials if the nodes of the first are 2x as far apart.
const HALVING: f64 = 16.0;
/// Maximum number of rounds of refinement; `MOST_REFINED`: maximum number of nodes. Most rounds are needed at a kink,
/// where another minimum becomes the lowest one. Therefore, after `SMOOTH` rounds, refits run from all starts.
const ROUNDS: usize = 20;
const SMOOTH: usize = 2;
const MOST_REFINED: usize = 400;

/// One side of a profile: nodes from the best fit outwards, and the reason for the end.
pub(super) struct WalkSide {
    pub(super) nodes: Vec<ProfileNode>,
    pub(super) end: ProfileEnd,
}

/// Walks from the center in the direction `sign` until the excess is `reach`. The lowest minimum over the other
/// parameters may be far from the minimum that the walk follows. Therefore lower minima are searched at some nodes
/// and followed from there.
pub(super) fn side(refits: &Refits<'_>, center: &ProfileNode, sign: f64, reach: f64) -> WalkSide {
    let mut side = outwards(refits, center, sign, reach, Vec::new());
    for _ in 0..BRANCHES {
        if !lowered(refits, center, &mut side.nodes, reach) {
            break;
        }
        if side.end == ProfileEnd::Found && side.nodes.last().is_some_and(|n| n.excess < reach) {
            side = outwards(refits, center, sign, reach, side.nodes);
        }
    }
    side
}

/// Searches for lower minima at some nodes, and follows each found minimum to the adjacent nodes as long as it is lower
/// there. Returns true if a lower minimum was found.
fn lowered(
    refits: &Refits<'_>,
    center: &ProfileNode,
    nodes: &mut [ProfileNode],
    reach: f64,
) -> bool {
    let Some(last) = nodes.len().checked_sub(1) else { return false };
    let reaching = |part: f64| nodes.iter().position(|n| n.excess >= part * reach).unwrap_or(last);
    // If τ is a straight line, the model is nearly linear, and another minimum is unlikely.
    let slope = |node: &ProfileNode| node.tau() / (node.value - center.value).abs();
    let (first, end) = (slope(&nodes[0]), slope(&nodes[last]));
    let (mut places, count) = match (end / first - 1.0).abs() < STRAIGHT {
        true => (vec![last], FEW),
        false => ([0.1, 0.4, 1.0].map(reaching).to_vec(), usize::MAX),
    };
    places.dedup();
    let mut any = false;
    for place in places {
        let found = refits.elsewhere(&[nodes[place].value], count);
        let Some(found) = found.filter(|found| is_lower(found, &nodes[place])) else { continue };
        any = true;
        nodes[place] = found;
        followed(refits, nodes, place);
    }
    // If τ jumps between two nodes, they belong to different minima.
    for i in 1..=last {
        if (nodes[i].tau() - nodes[i - 1].tau()).abs() > JUMP * (nodes[i].tau() / WIDE).max(1.0) {
            any |= followed(refits, nodes, i - 1) | followed(refits, nodes, i);
        }
    }
    any
}

fn is_lower(node: &ProfileNode, than: &ProfileNode) -> bool {
    node.excess < than.excess - LOWER * (1.0 + than.excess)
}

/// Follows the minimum of the node at `place` in both directions as long as it is lower than the known minima there.
/// Returns true if it was lower at any node.
fn followed(refits: &Refits<'_>, nodes: &mut [ProfileNode], place: usize) -> bool {
    let mut any = false;
    for order in [(0..place).rev().collect::<Vec<_>>(), (place + 1..nodes.len()).collect()] {
        let mut from = place;
        for i in order {
            let node = refits.along(&[nodes[i].value], &nodes[from].params);
            let Some(node) = node.filter(|node| is_lower(node, &nodes[i])) else { break };
            nodes[i] = node;
            (from, any) = (i, true);
        }
    }
    any
}

/// Walks outwards from the last of `nodes` or, if there are none, from the center.
fn outwards(
    refits: &Refits<'_>,
    center: &ProfileNode,
    sign: f64,
    reach: f64,
    mut nodes: Vec<ProfileNode>,
) -> WalkSide {
    let (lower, upper) = refits.bounds(0);
    let bound = if sign < 0.0 { lower } else { upper };
    let size = if center.value == 0.0 { 1.0 } else { center.value.abs() };
    let mut step = match nodes.as_slice() {
        [.., before, last] => (last.value - before.value).abs(),
        _ => refits.error(0).map_or(0.01 * size, |error| STEP * error),
    };
    let (mut cuts, mut faded, mut doubled) = (0, false, Vec::new());
    let side = |nodes, end| WalkSide { nodes, end };
    while nodes.len() < MOST {
        let last = nodes.last().unwrap_or(center);
        if last.value == bound {
            return side(nodes, ProfileEnd::Bound);
        }
        let ahead = last.value + sign * step;
        let value = if sign * (ahead - bound) >= 0.0 { bound } else { ahead };
        if !value.is_finite() {
            return side(nodes, ProfileEnd::Open);
        }
        if value == last.value {
            return side(nodes, ProfileEnd::Failed);
        }
        let before = nodes.len().checked_sub(2).map_or(center, |i| &nodes[i]);
        let start = extrapolated(before, last, value);
        let Some(node) = refits.at(&[value], &[&start, &last.params]) else {
            faded |= has_faded(&doubled, reach.sqrt() - last.tau(), FADES_HERE);
            if cuts == CUTS {
                return side(nodes, if faded { ProfileEnd::Open } else { ProfileEnd::Failed });
            }
            cuts += 1;
            step *= 0.25;
            doubled.clear();
            continue;
        };
        let gained = node.tau() - last.tau();
        faded &= gained < GAIN;
        let wanted = STEP * (node.tau() / WIDE).max(1.0);
        let taken = (node.value - last.value).abs();
        let factor = if gained > 0.0 { wanted / gained } else { GROWTH };
        if factor >= GROWTH {
            doubled.push(gained);
        } else {
            doubled.clear();
        }
        step = taken * factor.clamp(0.1, GROWTH);
        let (reached, better) = (node.excess >= reach, node.excess < -1.0);
        nodes.push(node);
        if reached {
            return side(nodes, ProfileEnd::Found);
        }
        if is_flat(&doubled, reach.sqrt() - nodes.last().map_or(0.0, ProfileNode::tau)) {
            return side(nodes, ProfileEnd::Open);
        }
        if better {
            return side(nodes, ProfileEnd::Failed);
        }
    }
    side(nodes, ProfileEnd::Open)
}

/// Returns true if τ will not reach the level. `gains`: increases of τ in the last steps, each 2x the previous step;
/// `missing`: difference from τ to the level.
fn is_flat(gains: &[f64], missing: f64) -> bool {
    let last = gains.len().checked_sub(FLAT).map(|first| &gains[first..]);
    has_faded(gains, missing, FADES) || last.is_some_and(|gains| gains.iter().sum::<f64>() < GAIN)
}

/// Returns true if the last `count` gains decrease so fast that the sum of all further gains is less than half of
/// `missing`.
fn has_faded(gains: &[f64], missing: f64, count: usize) -> bool {
    let Some(gains) = gains.len().checked_sub(count).map(|first| &gains[first..]) else {
        return false;
    };
    let [.., gain] = gains else { return false };
    let fades = |pair: &[f64]| pair[0] >= -NO_GAIN && pair[1] <= (FADING * pair[0]).max(NO_GAIN);
    // Sum of the geometric series.
    let ahead = gain.abs() * FADING / (1.0 - FADING);
    gains.windows(2).all(fades) && ahead < 0.5 * missing
}

/// Returns the parameters at `value` on the line through two nodes.
fn extrapolated(before: &ProfileNode, last: &ProfileNode, value: f64) -> Vec<f64> {
    let part = (value - last.value) / (last.value - before.value);
    // Extrapolation is not usable beyond `GROWTH` times the last step.
    if !part.is_finite() || part.abs() > GROWTH {
        return last.params.clone();
    }
    let pairs = last.params.iter().zip(&before.params);
    pairs.map(|(l, b)| l + part * (l - b)).collect()
}

/// Inserts nodes in intervals in which the interpolation may miss the end of a confidence interval by more than the
/// fraction `ACCURACY` of the distance between this end and the best value.
pub(super) fn refine(refits: &Refits<'_>, nodes: &mut Vec<ProfileNode>, best: &mut usize) {
    for round in 0..ROUNDS {
        let wide = too_wide(nodes, *best);
        if wide.is_empty() || nodes.len() + wide.len() > MOST_REFINED {
            return;
        }
        let middle = |&i: &usize| {
            let (a, b) = (&nodes[i], &nodes[i + 1]);
            let start: Vec<f64> =
                a.params.iter().zip(&b.params).map(|(a, b)| 0.5 * a + 0.5 * b).collect();
            let (value, starts) =
                ([0.5 * a.value + 0.5 * b.value], [&start[..], &a.params, &b.params]);
            // After some rounds, only kinks between two minima remain; there, all starts are compared.
            match round < SMOOTH {
                true => refits.at(&value, &starts),
                false => refits.lowest(&value, &starts),
            }
        };
        let fresh: Vec<ProfileNode> = threads::map(&wide, middle).into_iter().flatten().collect();
        if fresh.is_empty() {
            return;
        }
        let center = nodes[*best].value;
        nodes.extend(fresh);
        sort_few(nodes, |a, b| a.value.total_cmp(&b.value));
        nodes.dedup_by(|a, b| a.value == b.value);
        *best = nodes.iter().position(|node| node.value == center).unwrap_or(*best);
    }
}

/// Returns the indices of the left nodes of intervals that are too wide.
fn too_wide(nodes: &[ProfileNode], best: usize) -> Vec<usize> {
    let center = nodes[best].value;
    let is_wide = |&i: &usize| {
        let (a, b) = (&nodes[i], &nodes[i + 1]);
        let rise = (b.excess - a.excess).abs();
        let distances = [(a.value - center).abs(), (b.value - center).abs()];
        // At the best value, the distance of the inner node is 0; therefore the outer distance is used.
        let distance = match distances[0].min(distances[1]) {
            0.0 => distances[0].max(distances[1]),
            least => least,
        };
        let allowed = ACCURACY * HALVING * distance * rise / (b.value - a.value);
        (b.tau() - a.tau()).abs() > LEVEL
            && interpolation_error(nodes, best, i) > allowed.max(ROUNDING)
    };
    (0..nodes.len().saturating_sub(1)).filter(is_wide).collect()
}
