//! The terms of a sum: backgrounds where nothing stands on them, then what changes slowly, then what
//! stands out, the largest first.

use super::{NamedValue, PlacedTerm, Tree, together};
use crate::models::definition::ModelKind;
use crate::models::estimate::median;

/// Rounds in which each term that stands out is looked for again in what all others leave.
const ROUNDS: usize = 3;
/// The parameter that says where a model stands.
pub(super) const CENTER: &str = "center";

/// Writes the start of every term into its places of `params`.
pub(super) fn find(terms: &[(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
    let mut left = points.points.y.clone();
    for (sign, term) in terms.iter().filter(|(_, term)| matches!(term, Tree::Number(_))) {
        subtract(&mut left, *sign, &term.values(points, params));
    }
    let of = |kind: ModelKind| {
        let wanted =
            move |(_, term): &&(f64, Tree)| term.kind() == kind && !matches!(term, Tree::Number(_));
        terms.iter().filter(wanted).collect::<Vec<_>>()
    };
    let has = |kind| terms.iter().any(|(_, term)| term.kind() == kind);
    let quiet = match () {
        () if has(ModelKind::Step) => first_points(points, 0.15),
        () if has(ModelKind::Peak) => quiet_points(&points.with_response(left.clone())),
        () if has(ModelKind::Curve) => level_end(&points.with_response(left.clone())),
        () => vec![true; left.len()],
    };
    for (sign, term) in of(ModelKind::Background) {
        find_in(points, &left, *sign, Some(&quiet), term, params);
        subtract(&mut left, *sign, &term.values(points, params));
    }
    let mut curves = of(ModelKind::Curve);
    if together::find(&curves, points, &left, params) {
        let exponentials: Vec<&(f64, Tree)>;
        (exponentials, curves) =
            curves.into_iter().partition(|term| together::as_exponential(term).is_some());
        for (sign, term) in exponentials {
            subtract(&mut left, *sign, &term.values(points, params));
        }
    }
    // What peaks stand on shows itself where none stands, too.
    let below_peaks = has(ModelKind::Peak) && !has(ModelKind::Step) && curves.len() == 1;
    for (i, (sign, term)) in curves.iter().enumerate() {
        let part = match below_peaks {
            true => quiet.clone(),
            false => last_points(points, 1.0 / (curves.len() - i) as f64),
        };
        find_in(points, &left, *sign, Some(&part), term, params);
        subtract(&mut left, *sign, &term.values(points, params));
    }
    for kind in [ModelKind::Step, ModelKind::Wave, ModelKind::Peak] {
        let all = of(kind);
        one_by_one(&all, points, &mut left, params);
        in_order(&all, points, params);
    }
}

/// The terms that stand out; where one must stand before the others or after them, whichever leaves less, since
/// the larger hide the smaller.
fn one_by_one(
    terms: &[&(f64, Tree)],
    points: &NamedValue<'_>,
    left: &mut Vec<f64>,
    params: &mut [f64],
) {
    let (placed, free): (Vec<&(f64, Tree)>, Vec<_>) =
        terms.iter().partition(|(_, term)| is_placed(term, points));
    let in_turn = |order: &[&(f64, Tree)]| {
        let (mut rest, mut found) = (left.clone(), params.to_vec());
        for (sign, term) in order {
            find_in(points, &rest, *sign, None, term, &mut found);
            subtract(&mut rest, *sign, &term.values(points, &found));
        }
        again(order, points, &mut rest, &mut found);
        (rest, found)
    };
    let (mut rest, mut found) = in_turn(&[&placed[..], &free].concat());
    if !(placed.is_empty() || free.is_empty()) {
        let other = in_turn(&[&free[..], &placed].concat());
        if squares(&other.0) < squares(&rest) {
            (rest, found) = other;
        }
    }
    params.copy_from_slice(&found);
    *left = rest;
}

/// Looks for each term again in what all others leave, as long as that leaves less.
fn again(terms: &[&(f64, Tree)], points: &NamedValue<'_>, left: &mut Vec<f64>, params: &mut [f64]) {
    if terms.len() < 2 {
        return;
    }
    let (mut rest, mut fresh) = (left.clone(), params.to_vec());
    for _ in 0..ROUNDS {
        for (sign, term) in terms {
            subtract(&mut rest, -sign, &term.values(points, &fresh));
            find_in(points, &rest, *sign, None, term, &mut fresh);
            subtract(&mut rest, *sign, &term.values(points, &fresh));
        }
        if squares(&rest) < squares(left) {
            left.clone_from(&rest);
            params.copy_from_slice(&fresh);
        }
    }
}

/// Whether something is known of where a term stands.
fn is_placed(term: &Tree, points: &NamedValue<'_>) -> bool {
    matches!(term, Tree::Leaf(term) if points.is_limited(term, CENTER))
}

/// Gives equal models that may stand in one range their finds from left to right.
fn in_order(terms: &[&(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
    let mut groups: Vec<(f64, Vec<&PlacedTerm>)> = Vec::new();
    for (sign, term) in terms {
        let Tree::Leaf(term) = term else { continue };
        let like = |(s, peers): &&mut (f64, Vec<&PlacedTerm>)| {
            let range = |term: &PlacedTerm| points.limits(term, CENTER);
            *s == *sign
                && peers.iter().all(|p| p.leaf.name == term.leaf.name && range(p) == range(term))
        };
        match groups.iter_mut().find(like) {
            Some((_, peers)) => peers.push(term),
            None => groups.push((*sign, vec![term])),
        }
    }
    for (_, peers) in groups {
        let is_center = |(name, _): &(String, (f64, f64))| name == CENTER;
        let Some(center) = peers[0].leaf.parameters.iter().position(is_center) else { continue };
        let size = peers[0].leaf.parameters.len();
        let block =
            |term: &&PlacedTerm| params.get(term.first..term.first + size).map(<[f64]>::to_vec);
        let mut blocks: Vec<Vec<f64>> = peers.iter().filter_map(block).collect();
        blocks.sort_by(|a, b| a[center].total_cmp(&b[center]));
        for (term, block) in peers.iter().zip(&blocks) {
            points.place(term, block, params);
        }
    }
}

/// Looks for one term in what is left of the response, at the points of `keep`.
fn find_in(
    points: &NamedValue<'_>,
    left: &[f64],
    sign: f64,
    keep: Option<&[bool]>,
    term: &Tree,
    params: &mut [f64],
) {
    let points = points.with_response(left.iter().map(|y| sign * y).collect());
    match keep {
        Some(keep) => term.find(&points.only(keep), params),
        None => term.find(&points, params),
    }
}

/// Takes a term's values away, where it has any.
fn subtract(left: &mut [f64], sign: f64, values: &[f64]) {
    for (left, value) in left.iter_mut().zip(values) {
        let without = *left - sign * value;
        *left = if without.is_finite() { without } else { *left };
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// The order of the points by x.
fn by_x(points: &NamedValue<'_>) -> Vec<usize> {
    let x = points.points.x();
    let mut order: Vec<usize> = (0..points.points.y.len()).collect();
    let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    order.sort_by(|&a, &b| at(a).total_cmp(&at(b)));
    order
}

/// Marks those of a range of ranks by x; `share`s of all points.
fn ranks(points: &NamedValue<'_>, from: f64, to: f64) -> Vec<bool> {
    let order = by_x(points);
    let count = order.len() as f64;
    let mut keep = vec![false; order.len()];
    for (rank, &i) in order.iter().enumerate() {
        let place = (rank as f64 + 0.5) / count;
        keep[i] = (from..=to).contains(&place);
    }
    if keep.iter().filter(|keep| **keep).count() < 3 { vec![true; keep.len()] } else { keep }
}

fn first_points(points: &NamedValue<'_>, share: f64) -> Vec<bool> {
    ranks(points, 0.0, share)
}

fn last_points(points: &NamedValue<'_>, share: f64) -> Vec<bool> {
    ranks(points, 1.0 - share, 1.0)
}

/// The end at which y changes less.
fn level_end(points: &NamedValue<'_>) -> Vec<bool> {
    const SHARE: f64 = 0.15;
    let (first, last) = (first_points(points, SHARE), last_points(points, SHARE));
    let next_first = ranks(points, SHARE, 2.0 * SHARE);
    let next_last = ranks(points, 1.0 - 2.0 * SHARE, 1.0 - SHARE);
    let level = |keep: &[bool]| median(&points.only(keep).points.y);
    let at_first = (level(&first) - level(&next_first)).abs();
    let at_last = (level(&last) - level(&next_last)).abs();
    if at_first < at_last { first } else { last }
}

/// The points at the ends of every variable, a tenth of all at each: no peak stands there.
fn quiet_points(points: &NamedValue<'_>) -> Vec<bool> {
    const SHARE: f64 = 0.1;
    let mut ends = vec![false; points.points.y.len()];
    for column in &points.points.columns {
        let mut sorted = column.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
        let (low, high) = (at(SHARE), at(1.0 - SHARE));
        for (end, x) in ends.iter_mut().zip(column) {
            *end |= low.is_some_and(|low| *x < low) || high.is_some_and(|high| *x >= high);
        }
    }
    ends
}
