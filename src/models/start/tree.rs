//! Expression tree of a composite, its values at the points, and facts about its parameters.

use crate::data::points::Observations;
use crate::model::ties::{Known, nearest};
use crate::models::leaf::Leaf;
use crate::models::leaf::ModelKind;
use crate::models::model::{Joint, Model};
use std::ops::Range;
use std::sync::Arc;

/// Name of the parameter for the position of a term.
pub(super) const CENTER: &str = "center";
/// Maximum distance, in `sigma`, between an estimated center and the known start of this center.
const NEAR: f64 = 3.0;

/// Expression tree of a composite with flattened sums and products.
pub(in crate::models) enum Tree {
    Leaf(PlacedTerm),
    Number(f64),
    /// Terms with their signs.
    Sum(Vec<(f64, Tree)>),
    /// Factors with their exponents, 1 or −1.
    Product(Vec<(f64, Tree)>),
    /// The value of the second tree is the variable of the first.
    Nest(Box<Tree>, Box<Tree>),
}

/// A single model and the index of its first parameter in the composite.
pub(in crate::models) struct PlacedTerm {
    pub(super) leaf: Arc<Leaf>,
    pub(super) first: usize,
}

/// Points with named columns, and known facts about the parameters.
#[derive(Clone)]
pub(super) struct NamedValue<'k> {
    pub(super) variables: Vec<String>,
    pub(super) points: Observations,
    pub(super) known: &'k Known,
    /// If true, estimates use the known ranges of the parameters.
    pub(super) is_held: bool,
}

impl NamedValue<'_> {
    pub(super) fn with_response(&self, y: Vec<f64>) -> Self {
        NamedValue {
            points: self.points.with_response(y),
            variables: self.variables.clone(),
            ..*self
        }
    }

    /// Replaces the columns by one column, for a model of one variable; keeps the response.
    pub(super) fn over(&self, variables: Vec<String>, values: Vec<f64>) -> Self {
        let points = Observations::new(vec![values], self.points.y.clone());
        NamedValue { variables, points, ..*self }
    }

    /// Returns the points for which `keep` is true.
    pub(super) fn only(&self, keep: &[bool]) -> Self {
        let pick = |values: &Vec<f64>| {
            let kept = values.iter().zip(keep).filter(|(_, keep)| **keep);
            kept.map(|(value, _)| *value).collect::<Vec<f64>>()
        };
        let columns = self.points.columns.iter().map(pick).collect();
        let points = Observations::new(columns, pick(&self.points.y));
        NamedValue { variables: self.variables.clone(), points, ..*self }
    }

    /// Returns every k-th point, at most `most` points.
    pub(super) fn thinned(&self, most: usize) -> Self {
        let stride = self.points.y.len().div_ceil(most).max(1);
        let keep: Vec<bool> = (0..self.points.y.len()).map(|i| i % stride == 0).collect();
        self.only(&keep)
    }

    /// Returns the points for one term: the columns in the order of its variables, with ranges for its center and
    /// amplitude.
    pub(super) fn for_term(&self, term: &PlacedTerm) -> Observations {
        let column = |name: &String| {
            let place = self.variables.iter().position(|variable| variable == name);
            place.and_then(|i| self.points.columns.get(i).cloned()).unwrap_or_default()
        };
        let columns = term.leaf.variables().iter().map(column).collect();
        let points = Observations::new(columns, self.points.y.clone());
        let range = |name, any| self.range(term, name).filter(|_| self.is_held).unwrap_or(any);
        let (center, amplitude) =
            (range(CENTER, points.center), range("amplitude", points.amplitude));
        Observations { center, amplitude, ..points }
    }

    /// Returns the range for the starting value of a parameter: from the known start to itself, or between the bounds.
    /// `None` if the term has no parameter of this name.
    pub(super) fn range(&self, term: &PlacedTerm, parameter: &str) -> Option<(f64, f64)> {
        Some(self.known.range(term.first + term.position(parameter)?))
    }

    /// Writes the estimate of a term into `params`. If `is_held`, values are first moved into their known ranges,
    /// because other terms are estimated from the remainder. A center with a known start keeps its estimate, which is
    /// near this start.
    pub(super) fn place(&self, term: &PlacedTerm, found: &[f64], params: &mut [f64]) {
        let places = params.iter_mut().enumerate().skip(term.first).zip(found);
        for (((i, place), &value), (name, _)) in places.zip(&term.leaf.parameters) {
            let (low, high) = self.known.range(i);
            let is_known = self.is_held && !(name == CENTER && low == high && value.is_finite());
            *place = if is_known { nearest(value, (low, high)) } else { value };
        }
    }
}

impl Tree {
    /// Builds the tree of a composite whose names have been checked.
    pub(in crate::models) fn of(model: &Model) -> Tree {
        let mut first = 0;
        let leaf = |leaf: &Arc<Leaf>| {
            let placed = PlacedTerm { leaf: leaf.clone(), first };
            first += leaf.parameters.len();
            Tree::Leaf(placed)
        };
        let join = |left, joint, right| Ok(Tree::join(left, joint, right));
        let tree = model.folded(leaf, |value| Ok(Tree::Number(value)), join);
        tree.ok().flatten().unwrap_or(Tree::Number(0.0))
    }

    fn join(left: Tree, joint: Joint, right: Tree) -> Tree {
        match joint {
            Joint::Nest => Tree::Nest(Box::new(left), Box::new(right)),
            Joint::Add | Joint::Subtract => {
                let sign = if joint == Joint::Add { 1.0 } else { -1.0 };
                let mut terms = left.terms();
                terms.extend(right.terms().into_iter().map(|(s, term)| (s * sign, term)));
                Tree::Sum(terms)
            }
            Joint::Multiply | Joint::Divide => {
                let exponent = if joint == Joint::Multiply { 1.0 } else { -1.0 };
                let mut factors = left.factors();
                factors.extend(right.factors().into_iter().map(|(e, f)| (e * exponent, f)));
                Tree::Product(factors)
            }
        }
    }

    fn terms(self) -> Vec<(f64, Tree)> {
        match self {
            Tree::Sum(terms) => terms,
            other => vec![(1.0, other)],
        }
    }

    fn factors(self) -> Vec<(f64, Tree)> {
        match self {
            Tree::Product(factors) => factors,
            other => vec![(1.0, other)],
        }
    }

    /// Appends all terms, in the order of their parameters.
    pub(super) fn add_terms<'t>(&'t self, terms: &mut Vec<&'t PlacedTerm>) {
        match self {
            Tree::Leaf(term) => terms.push(term),
            Tree::Number(_) => {}
            Tree::Sum(parts) | Tree::Product(parts) => {
                parts.iter().for_each(|(_, part)| part.add_terms(terms));
            }
            Tree::Nest(outer, inner) => {
                outer.add_terms(terms);
                inner.add_terms(terms);
            }
        }
    }

    /// Returns the values at all points; NaN if a parameter is not known.
    pub(super) fn values(&self, points: &NamedValue<'_>, params: &[f64]) -> Vec<f64> {
        let count = points.points.y.len();
        match self {
            Tree::Leaf(placed) => placed.values(points, params),
            Tree::Number(value) => vec![*value; count],
            Tree::Sum(terms) => {
                let mut total = vec![0.0; count];
                for (sign, term) in terms {
                    let values = term.values(points, params);
                    total.iter_mut().zip(values).for_each(|(sum, value)| *sum += sign * value);
                }
                total
            }
            Tree::Product(factors) => {
                let mut total = vec![1.0; count];
                for (exponent, factor) in factors {
                    let values = factor.values(points, params);
                    let pairs = total.iter_mut().zip(values);
                    pairs.for_each(|(p, v)| *p *= if *exponent > 0.0 { v } else { 1.0 / v });
                }
                total
            }
            Tree::Nest(outer, inner) => {
                let value = inner.values(points, params);
                outer.values(&points.over(outer.variables(), value), params)
            }
        }
    }

    pub(super) fn variables(&self) -> Vec<String> {
        match self {
            Tree::Leaf(placed) => placed.leaf.variables().to_vec(),
            Tree::Number(_) => Vec::new(),
            Tree::Sum(parts) | Tree::Product(parts) => {
                { parts.iter().map(|(_, part)| part.variables()).find(|v| !v.is_empty()) }
                    .unwrap_or_default()
            }
            Tree::Nest(_, inner) => inner.variables(),
        }
    }

    /// Returns the kind, which determines when this part is estimated in a sum.
    pub(super) fn kind(&self) -> ModelKind {
        match self {
            Tree::Leaf(placed) => placed.leaf.kind,
            Tree::Number(_) => ModelKind::Background,
            Tree::Sum(parts) | Tree::Product(parts) => {
                let mut kinds = parts.iter().map(|(_, part)| part.kind());
                kinds.find(|kind| *kind != ModelKind::Background).unwrap_or(ModelKind::Background)
            }
            Tree::Nest(outer, _) => outer.kind(),
        }
    }
}

impl PlacedTerm {
    /// Returns the indices of the term's parameters in the composite.
    pub(super) fn places(&self) -> Range<usize> {
        self.first..self.first + self.leaf.parameters.len()
    }

    /// Returns the index of the parameter with this name (without the prefix) in the term.
    pub(super) fn position(&self, parameter: &str) -> Option<usize> {
        self.leaf.parameters.iter().position(|(name, _)| name == parameter)
    }

    /// Returns true if both terms are the same model, with different prefixes.
    pub(super) fn is_like(&self, other: &PlacedTerm) -> bool {
        self.leaf.name == other.leaf.name && self.places().len() == other.places().len()
    }

    /// Exchanges the parameters of two terms of the same model.
    pub(super) fn swap(&self, other: &PlacedTerm, params: &mut [f64]) {
        self.places().zip(other.places()).for_each(|(i, j)| params.swap(i, j));
    }

    /// Returns true if only the bounds of the model's definition are known: no starts, other bounds or ties.
    pub(super) fn is_known_by_formula(&self, known: &Known) -> bool {
        let is_own = |(j, (_, own)): (usize, &(String, (f64, f64)))| {
            known.range(self.first + j) == *own && known.ties.formula(self.first + j).is_none()
        };
        self.leaf.parameters.iter().enumerate().all(is_own)
    }

    /// Returns true if the estimated center is within `NEAR` sigmas of its known start, or if there is no such start.
    pub(super) fn is_near_its_start(&self, known: &Known, found: &[f64]) -> bool {
        let value = |name| found.get(self.first + self.position(name)?).copied();
        let (Some(center), Some(sigma)) = (value(CENTER), value("sigma")) else { return true };
        let start = self.position(CENTER).and_then(|j| known.starts[self.first + j]);
        start.is_none_or(|start| (center - start).abs() <= NEAR * sigma)
    }

    pub(super) fn values(&self, points: &NamedValue<'_>, params: &[f64]) -> Vec<f64> {
        let columns = points.for_term(self).columns;
        let last = self.first + self.leaf.parameters.len();
        let own = params.get(self.first..last).unwrap_or_default();
        let mut x = vec![0.0; columns.len()];
        let value = |i: usize| {
            let at = |column: &Vec<f64>| column.get(i).copied().unwrap_or(f64::NAN);
            x.iter_mut().zip(&columns).for_each(|(x, column)| *x = at(column));
            self.leaf.value(&x, own)
        };
        (0..points.points.y.len()).map(value).collect()
    }
}
