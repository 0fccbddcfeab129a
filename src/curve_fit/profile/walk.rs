//! From the best fit outwards: where a parameter is held next, and where nodes are too far apart.

use super::interval::ProfileEnd;
use super::neville::around;
use super::refits::Refits;
use rayon::prelude::*;

/// Steps of τ, which grow with it from `WIDE` on.
const STEP: f64 = 0.4;
const WIDE: f64 = 4.0;
/// How much longer a step may be than the one before it.
const GROWTH: f64 = 2.0;
/// Nodes on a side at most.
const MOST: usize = 160;
/// A profile that gains less than `GAIN` in τ over `FLAT` steps, each twice the one before it, has no end.
const FLAT: usize = 8;
const GAIN: f64 = 0.02;
/// Times that a step is cut to a quarter where a refit fails.
const CUTS: usize = 6;
/// The part of the profile's width that interpolation may be wrong by.
const ACCURACY: f64 = 1e-7;
/// How much less wrong a polynomial is than one through nodes twice as far apart, at least.
const HALVING: f64 = 16.0;
/// Rounds of refinement, and nodes at most.
const ROUNDS: usize = 5;
const MOST_REFINED: usize = 400;

/// The fit with one parameter held.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Where it was held.
    pub(super) value: f64,
    /// (S − Ŝ)/s²
    pub(super) excess: f64,
    /// All parameters.
    pub(super) params: Vec<f64>,
}

impl Node {
    fn tau(&self) -> f64 {
        self.excess.max(0.0).sqrt()
    }
}

/// One side of a profile: nodes from the best fit outwards, and why they end.
pub(super) struct Side {
    pub(super) nodes: Vec<Node>,
    pub(super) end: ProfileEnd,
}

/// Walks from the center in the direction `sign` until the excess is `reach`.
pub(super) fn outwards(refits: &Refits<'_>, center: &Node, sign: f64, reach: f64) -> Side {
    let (lower, upper) = refits.bounds(0);
    let bound = if sign < 0.0 { lower } else { upper };
    let size = if center.value == 0.0 { 1.0 } else { center.value.abs() };
    let mut step = refits.error(0).map_or(0.01 * size, |error| STEP * error);
    let mut nodes: Vec<Node> = Vec::new();
    let (mut cuts, mut doubled) = (0, Vec::new());
    let side = |nodes, end| Side { nodes, end };
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
            if cuts == CUTS {
                return side(nodes, ProfileEnd::Failed);
            }
            cuts += 1;
            step *= 0.25;
            continue;
        };
        let gained = node.tau() - last.tau();
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
        let recent = &doubled[doubled.len().saturating_sub(FLAT)..];
        if recent.len() == FLAT && recent.iter().sum::<f64>() < GAIN {
            return side(nodes, ProfileEnd::Open);
        }
        if better {
            return side(nodes, ProfileEnd::Failed);
        }
    }
    side(nodes, ProfileEnd::Open)
}

/// The parameters at `value` on the line through two nodes.
fn extrapolated(before: &Node, last: &Node, value: f64) -> Vec<f64> {
    let part = (value - last.value) / (last.value - before.value);
    // Beyond one more of the same step a line is no guess any more.
    if !part.is_finite() || part.abs() > GROWTH {
        return last.params.clone();
    }
    let pairs = last.params.iter().zip(&before.params);
    pairs.map(|(l, b)| l + part * (l - b)).collect()
}

/// Puts nodes between those where the polynomial through its neighbours misses one by more than
/// `ACCURACY` allows.
pub(super) fn refine(refits: &Refits<'_>, nodes: &mut Vec<Node>, best: &mut usize) {
    for _ in 0..ROUNDS {
        let wide = too_wide(nodes);
        if wide.is_empty() || nodes.len() + wide.len() > MOST_REFINED {
            return;
        }
        let middle = |&i: &usize| {
            let (a, b) = (&nodes[i], &nodes[i + 1]);
            let start: Vec<f64> =
                a.params.iter().zip(&b.params).map(|(a, b)| 0.5 * a + 0.5 * b).collect();
            refits.at(&[0.5 * a.value + 0.5 * b.value], &[&start, &a.params, &b.params])
        };
        let fresh: Vec<Node> = wide.par_iter().filter_map(middle).collect();
        if fresh.is_empty() {
            return;
        }
        let center = nodes[*best].value;
        nodes.extend(fresh);
        nodes.sort_by(|a, b| a.value.total_cmp(&b.value));
        nodes.dedup_by(|a, b| a.value == b.value);
        *best = nodes.iter().position(|node| node.value == center).unwrap_or(*best);
    }
}

/// The left ends of intervals that are too wide.
fn too_wide(nodes: &[Node]) -> Vec<usize> {
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Vec::new() };
    let allowed = ACCURACY * HALVING * (last.value - first.value);
    let mut wide = Vec::new();
    for i in 1..nodes.len().saturating_sub(1) {
        let slope =
            (nodes[i + 1].excess - nodes[i - 1].excess) / (nodes[i + 1].value - nodes[i - 1].value);
        let guess = around(nodes, i - 1, Some(i)).at(nodes[i].value);
        let missed = (guess - nodes[i].excess).abs();
        // At the best value the slope is 0, and no level is near.
        if nodes[i].tau() > 0.1 && missed > 1e-9 && missed > allowed * slope.abs() {
            wide.extend([i - 1, i]);
        }
    }
    wide.dedup();
    wide
}
