//! The terms of a sum: backgrounds where nothing stands on them, then what changes slowly, then what
//! stands out, the largest first.

use super::assign::assign;
use super::{CENTER, NamedValue, Tree, together};
use crate::math::order::ascending;
use crate::models::definition::ModelKind;
use crate::models::estimate::{mean, median};

/// Rounds in which each term that stands out is looked for again in what all others leave.
const ROUNDS: usize = 3;

/// Writes the start of every term into its places of `params`.
pub(super) fn find(terms: &[(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
    let mut left = points.points.y.clone();
    for (sign, term) in terms.iter().filter(|(_, term)| matches!(term, Tree::Number(_))) {
        subtract(&mut left, *sign, &term.values(points, params));
    }
    let sum = Terms { terms, points: points.with_response(left) };
    let mut best = sum.found(&sum.first_look(), params);
    for look in sum.further_looks(&best) {
        let other = sum.found(&look, params);
        if squares(&other.left) < squares(&best.left) {
            best = other;
        }
    }
    params.copy_from_slice(&best.params);
}

/// Where the background and a curve are looked for.
struct Look {
    background: Vec<bool>,
    /// Where there are peaks and one curve.
    curve: Vec<bool>,
}

impl Look {
    /// The curve where the background is.
    fn at(background: Vec<bool>) -> Look {
        Look { curve: background.clone(), background }
    }
}

/// What was found, and what it leaves.
struct Find {
    params: Vec<f64>,
    left: Vec<f64>,
}

/// Terms that are not numbers, and the points without the numbers.
struct Terms<'t> {
    terms: &'t [(f64, Tree)],
    points: NamedValue<'t>,
}

impl<'t> Terms<'t> {
    fn of(&self, kind: ModelKind) -> Vec<&'t (f64, Tree)> {
        let is_wanted =
            |(_, term): &&(f64, Tree)| term.kind() == kind && !matches!(term, Tree::Number(_));
        self.terms.iter().filter(is_wanted).collect()
    }

    fn has(&self, kind: ModelKind) -> bool {
        self.terms.iter().any(|(_, term)| term.kind() == kind)
    }

    /// Where nothing stands on the background.
    fn first_look(&self) -> Look {
        let points = &self.points;
        Look::at(match () {
            () if self.has(ModelKind::Step) => first_points(points, 0.15),
            () if self.has(ModelKind::Peak) => quiet_points(points),
            () if self.has(ModelKind::Curve) => level_end(points),
            () => vec![true; points.points.y.len()],
        })
    }

    /// Where a curve bends, its background is seen at its level end; where a peak stands at an end, at the other one.
    fn further_looks(&self, found: &Find) -> Vec<Look> {
        let points = &self.points;
        let has_plane = points.points.columns.len() > 1;
        if !self.has(ModelKind::Peak) || self.has(ModelKind::Step) || has_plane {
            return Vec::new();
        }
        if !self.leaves_much(found) {
            return Vec::new();
        }
        if self.has(ModelKind::Curve) {
            let all = vec![true; points.points.y.len()];
            return vec![Look { background: level_end(points), curve: all }];
        }
        vec![Look::at(first_points(points, 0.2)), Look::at(last_points(points, 0.2))]
    }

    /// Whether a twentieth or more of the scatter of y is left, and neighbours are alike in it, as they are not in noise.
    fn leaves_much(&self, found: &Find) -> bool {
        let y = &self.points.points.y;
        let mean = mean(y);
        let scatter = squares(&y.iter().map(|y| y - mean).collect::<Vec<_>>());
        let left: Vec<f64> = by_x(&self.points).into_iter().map(|i| found.left[i]).collect();
        let steps: Vec<f64> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
        squares(&left) > 0.05 * scatter && squares(&steps) < 0.5 * squares(&left)
    }

    /// What is found when the background and a curve are looked for as `look` says.
    fn found(&self, look: &Look, params: &[f64]) -> Find {
        let Terms { points, .. } = self;
        let (mut left, mut params) = (points.points.y.clone(), params.to_vec());
        for (sign, term) in self.of(ModelKind::Background) {
            find_in(points, &left, *sign, Some(&look.background), term, &mut params);
            subtract(&mut left, *sign, &term.values(points, &params));
        }
        let all = self.of(ModelKind::Curve);
        let mut curves = all.clone();
        if together::find(&curves, points, &left, &mut params) {
            let exponentials: Vec<&(f64, Tree)>;
            (exponentials, curves) =
                curves.into_iter().partition(|term| together::as_exponential(term).is_some());
            for (sign, term) in exponentials {
                subtract(&mut left, *sign, &term.values(points, &params));
            }
        }
        // What peaks stand on shows itself where none stands, too.
        let below_peaks =
            self.has(ModelKind::Peak) && !self.has(ModelKind::Step) && curves.len() == 1;
        for (i, (sign, term)) in curves.iter().enumerate() {
            let part = match below_peaks {
                true => look.curve.clone(),
                false => last_points(points, 1.0 / (curves.len() - i) as f64),
            };
            find_in(points, &left, *sign, Some(&part), term, &mut params);
            subtract(&mut left, *sign, &term.values(points, &params));
        }
        assign(&all, points, &mut params);
        for kind in [ModelKind::Step, ModelKind::Wave, ModelKind::Peak] {
            let all = self.of(kind);
            one_by_one(&all, points, &mut left, &mut params);
            assign(&all, points, &mut params);
        }
        Find { params, left }
    }
}

/// The terms that stand out, in an order and in the other one, whichever leaves less: one of which is known where it
/// stands may be hidden by one that is larger, and shapes that differ take each other's places.
fn one_by_one(
    terms: &[&(f64, Tree)],
    points: &NamedValue<'_>,
    left: &mut Vec<f64>,
    params: &mut [f64],
) {
    let in_turn = |order: &[&(f64, Tree)]| {
        let (mut rest, mut found) = (left.clone(), params.to_vec());
        for (sign, term) in order {
            find_in(points, &rest, *sign, None, term, &mut found);
            subtract(&mut rest, *sign, &term.values(points, &found));
        }
        again(order, points, &mut rest, &mut found);
        (rest, found)
    };
    let (placed, free): (Vec<&(f64, Tree)>, Vec<_>) =
        terms.iter().partition(|(_, term)| is_placed(term, points));
    let (mut rest, mut found) = in_turn(&[&placed[..], &free].concat());
    let differ = terms.windows(2).any(|pair| shape(&pair[0].1) != shape(&pair[1].1));
    if differ || !(placed.is_empty() || free.is_empty()) {
        let turned: Vec<&(f64, Tree)> =
            free.iter().rev().chain(placed.iter().rev()).copied().collect();
        let other = in_turn(&turned);
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

/// Whether a term is looked for where it is known to stand.
fn is_placed(term: &Tree, points: &NamedValue<'_>) -> bool {
    let Tree::Leaf(term) = term else { return false };
    let own = |j: usize| term.leaf.parameters[j].1;
    points.is_held && points.range(term, CENTER) != term.position(CENTER).map(own)
}

/// The name of a term that is one model.
fn shape(term: &Tree) -> Option<&str> {
    match term {
        Tree::Leaf(term) => Some(&term.leaf.name),
        _ => None,
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
    let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    ascending(&(0..points.points.y.len()).map(at).collect::<Vec<f64>>())
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
