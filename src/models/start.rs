//! Initial guess for a composite. Its parts are estimated one after the other, each from the points without the effect
//! of the other parts. In a sum, backgrounds are estimated first, from points where the other terms are small; then
//! slowly changing curves; then steps, waves and peaks, the largest first.

mod assign;
pub(super) mod tree;

use crate::data::points::Observations;
use crate::math::bits::ascending;
use crate::math::order::sort_few;
use crate::model::ties::Known;
use crate::models::estimate::projection::left_by;
use crate::models::estimate::{mean, median};
use crate::models::leaf::ModelKind;
use crate::models::library::decays::{EXPONENTIAL, several};
use assign::assign;
use tree::{CENTER, NamedValue, PlacedTerm, Tree};

/// Maximum number of points for the comparison of estimates.
const FEW: usize = 1000;
/// Relative difference below which costs are equal except for rounding.
const SAME: f64 = 1e-9;
/// Number of rounds in which each step, wave or peak is estimated again from the remainder of all others.
const ROUNDS: usize = 3;

impl Tree {
    /// Returns an initial guess: one value per parameter of the composite, NaN for parameters without an estimate.
    ///
    /// Computes two estimates: one from the points alone, and one that also uses known starts, bounds and ties. Since
    /// known values may be rough, the first estimate is returned if its cost is not higher. The first estimate is
    /// rejected if one of its centers is far from the known start of this center.
    pub(in crate::models) fn start(
        &self,
        variables: &[String],
        points: &Observations,
        known: &Known,
    ) -> Vec<f64> {
        let (variables, points) = (variables.to_vec(), points.clone());
        let free = NamedValue { variables, points, known, is_held: false };
        let find = |points: &NamedValue<'_>| {
            let mut params = vec![f64::NAN; known.limits.len()];
            self.find(points, &mut params);
            params
        };
        let found = find(&free);
        let mut terms = Vec::new();
        self.add_terms(&mut terms);
        if terms.iter().all(|term| term.is_known_by_formula(known)) {
            return found;
        }
        let held = find(&NamedValue { is_held: true, ..free.clone() });
        let few = free.thinned(FEW);
        // Bounds and ties change estimates. After a change of a width, for example, the amplitude is wrong. Therefore
        // the cost is computed with the best factor for each term.
        let cost = |params: &[f64]| {
            let allowed = known.allowed(params);
            let columns = match self {
                Tree::Sum(parts) => {
                    parts.iter().map(|(_, part)| part.values(&few, &allowed)).collect()
                }
                other => vec![other.values(&few, &allowed)],
            };
            left_by(columns, &few.points.y)
        };
        let is_meant =
            |found: &[f64]| terms.iter().all(|term| term.is_near_its_start(known, found));
        let is_better = !is_meant(&found) || cost(&held) < cost(&found);
        let mut best = if is_better { held } else { found };
        // Estimates of equal models are exchanged if this lowers the cost.
        for (i, a) in terms.iter().enumerate() {
            for b in terms[..i].iter().filter(|b| b.is_like(a)) {
                let mut other = best.clone();
                a.swap(b, &mut other);
                if is_meant(&other) && cost(&other) < cost(&best) * (1.0 - SAME) {
                    best = other;
                }
            }
        }
        best
    }

    /// Writes the estimate of every part into `params`.
    fn find(&self, points: &NamedValue<'_>, params: &mut [f64]) {
        match self {
            Tree::Leaf(term) => {
                points.place(term, &term.leaf.start(&points.for_term(term)), params);
            }
            Tree::Number(_) => {}
            Tree::Sum(terms) => find_sum(terms, points, params),
            Tree::Product(factors) => find_product(factors, points, params),
            Tree::Nest(outer, inner) => {
                // Nothing is known about the values of the inner model except the scale of x. Therefore the inner
                // model is estimated as if its response were x.
                inner.find(&points.with_response(points.points.x().to_vec()), params);
                let value = inner.values(points, params);
                outer.find(&points.over(outer.variables(), value), params);
            }
        }
    }
}

/// Estimates the factors of a product one by one. The first factor determines the shape; the other factors are 1 in its
/// estimate. Each further factor is estimated from y divided by the known factors, where their product is not small.
fn find_product(factors: &[(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
    let shapes = |(exponent, factor): &&(f64, Tree)| {
        *exponent > 0.0 && !matches!(factor.kind(), ModelKind::Background)
    };
    let main = factors.iter().position(|factor| shapes(&factor)).unwrap_or(0);
    let mut order: Vec<usize> = (0..factors.len()).collect();
    let place = |&i: &usize| (!matches!(factors[i].1, Tree::Number(_)), i != main);
    sort_few(&mut order, |a, b| place(a).cmp(&place(b)));
    let mut known = vec![1.0_f64; points.points.y.len()];
    for i in order {
        let (exponent, factor) = &factors[i];
        let largest = known.iter().fold(0.0, |most: f64, v: &f64| most.max(v.abs()));
        let keep: Vec<bool> = known.iter().map(|v: &f64| v.abs() > 0.1 * largest).collect();
        let left = points.points.y.iter().zip(&known).map(|(y, k)| match *exponent > 0.0 {
            true => y / k,
            false => k / y,
        });
        let keep: Vec<bool> =
            left.clone().zip(keep).map(|(v, keep)| keep && f64::is_finite(v)).collect();
        if !matches!(factor, Tree::Number(_)) {
            factor.find(&points.with_response(left.collect()).only(&keep), params);
        }
        let values = factor.values(points, params);
        for (known, value) in known.iter_mut().zip(values) {
            let with = if *exponent > 0.0 { *known * value } else { *known / value };
            *known = if with.is_finite() { with } else { *known };
        }
    }
}

/// Writes the estimate of every term into `params`.
fn find_sum(terms: &[(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
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

/// Masks of the points for the estimates of the background and of a curve.
struct Look {
    background: Vec<bool>,
    /// Used if the sum has peaks and one curve.
    curve: Vec<bool>,
}

impl Look {
    /// Uses the same points for the background and the curve.
    fn at(background: Vec<bool>) -> Look {
        Look { curve: background.clone(), background }
    }
}

/// Estimated parameters and the remainder of the response.
struct Find {
    params: Vec<f64>,
    left: Vec<f64>,
}

/// Terms of a sum, and the points minus the terms that are numbers.
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

    /// Selects points at which only the background is expected.
    fn first_look(&self) -> Look {
        let points = &self.points;
        Look::at(match () {
            () if self.has(ModelKind::Step) => first_points(points, 0.15),
            () if self.has(ModelKind::Peak) => quiet_points(points),
            () if self.has(ModelKind::Curve) => level_end(points),
            () => vec![true; points.points.y.len()],
        })
    }

    /// Returns further selections for a sum with peaks and without steps, over one variable, if the remainder is large.
    /// If the sum has a curve, the background is estimated at the end of the range where y is level; otherwise at one
    /// end of the range at a time, because a peak may be at the other end.
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

    /// Returns true if the remainder has more than 1/20 of the variation of y and is smooth: adjacent residuals are
    /// similar, in contrast to noise.
    fn leaves_much(&self, found: &Find) -> bool {
        let y = &self.points.points.y;
        let mean = mean(y);
        let scatter = squares(&y.iter().map(|y| y - mean).collect::<Vec<_>>());
        let left: Vec<f64> = by_x(&self.points).into_iter().map(|i| found.left[i]).collect();
        let steps: Vec<f64> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
        squares(&left) > 0.05 * scatter && squares(&steps) < 0.5 * squares(&left)
    }

    /// Estimates all terms, with the background and a curve from the points of `look`.
    fn found(&self, look: &Look, params: &[f64]) -> Find {
        let Terms { points, .. } = self;
        let (mut left, mut params) = (points.points.y.clone(), params.to_vec());
        for (sign, term) in self.of(ModelKind::Background) {
            find_in(points, &left, *sign, Some(&look.background), term, &mut params);
            subtract(&mut left, *sign, &term.values(points, &params));
        }
        let all = self.of(ModelKind::Curve);
        let mut curves = all.clone();
        if find_exponentials(&curves, points, &left, &mut params) {
            let exponentials: Vec<&(f64, Tree)>;
            (exponentials, curves) =
                curves.into_iter().partition(|term| as_exponential(term).is_some());
            for (sign, term) in exponentials {
                subtract(&mut left, *sign, &term.values(points, &params));
            }
        }
        // A single curve below peaks is estimated where no peak is expected.
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

/// Estimates steps, waves or peaks one by one. If the result can depend on the order, both directions are tried, and
/// the estimate with the smaller remainder is kept. One direction can fail: a larger term can hide a term with a
/// known position, and a term of one shape can be mistaken for another.
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

/// Estimates each term again from the remainder of all others, and keeps rounds that reduce the remainder.
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

/// Returns true if the term is estimated within a known range of its center.
fn is_placed(term: &Tree, points: &NamedValue<'_>) -> bool {
    let Tree::Leaf(term) = term else { return false };
    let own = |j: usize| term.leaf.parameters[j].1;
    points.is_held && points.range(term, CENTER) != term.position(CENTER).map(own)
}

/// Returns the name of the model if the term is a single model.
fn shape(term: &Tree) -> Option<&str> {
    match term {
        Tree::Leaf(term) => Some(&term.leaf.name),
        _ => None,
    }
}

/// Estimates one term from the remainder `left` of the response, at the points of `keep` or at all points.
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

/// Subtracts the values of a term where the difference is finite.
fn subtract(left: &mut [f64], sign: f64, values: &[f64]) {
    for (left, value) in left.iter_mut().zip(values) {
        let without = *left - sign * value;
        *left = if without.is_finite() { without } else { *left };
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// Returns the indices of the points, sorted by x.
fn by_x(points: &NamedValue<'_>) -> Vec<usize> {
    let x = points.points.x();
    let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    ascending(&(0..points.points.y.len()).map(at).collect::<Vec<f64>>())
}

/// Marks the points whose rank in x, as a fraction of all points, is between `from` and `to`. If there are fewer than
/// 3, marks all points.
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

/// Marks the points at one end of the range, the end at which y changes less.
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

/// Marks the points at both ends of every variable, a tenth of all points each: no peak is expected there.
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

/// Returns this term of a sum if it is an exponential with a positive sign.
fn as_exponential((sign, term): &(f64, Tree)) -> Option<&PlacedTerm> {
    match term {
        Tree::Leaf(placed) if *sign > 0.0 && placed.leaf.name == EXPONENTIAL.name => Some(placed),
        _ => None,
    }
}

/// Writes the initial guesses of two or three exponentials, the fastest to the first term; separate guesses would each
/// fit the sum of all. Returns false for any other number of exponentials.
fn find_exponentials(
    terms: &[&(f64, Tree)],
    points: &NamedValue<'_>,
    left: &[f64],
    params: &mut [f64],
) -> bool {
    let exponentials: Vec<&PlacedTerm> =
        terms.iter().filter_map(|term| as_exponential(term)).collect();
    let Some(first) = exponentials.first() else { return false };
    let seen = points.with_response(left.to_vec()).for_term(first);
    let Some(found) = several(&seen, exponentials.len()) else { return false };
    for (term, pair) in exponentials.iter().zip(found.chunks(2)) {
        params[term.places()].copy_from_slice(pair);
    }
    true
}
