//! A start for a composite: its parts one after the other, each in what the others leave.

use super::leaf::Leaf;
use super::model::{Joint, Model};
use crate::data::observations::Observations;
use std::sync::Arc;

mod sum;
mod together;

/// A composite with sums and products flattened.
pub(super) enum Tree {
    Leaf(PlacedTerm),
    Number(f64),
    /// Terms, each with its sign.
    Sum(Vec<(f64, Tree)>),
    /// Factors, each with its exponent 1 or −1.
    Product(Vec<(f64, Tree)>),
    /// The value of the second is the variable of the first.
    Nest(Box<Tree>, Box<Tree>),
}

/// A model with the position of its first parameter in the composite.
pub(super) struct PlacedTerm {
    leaf: Arc<Leaf>,
    first: usize,
}

/// Points whose columns have names.
#[derive(Clone)]
struct NamedValue {
    variables: Vec<String>,
    points: Observations,
}

impl NamedValue {
    fn with_response(&self, y: Vec<f64>) -> NamedValue {
        NamedValue { variables: self.variables.clone(), points: self.points.with_response(y) }
    }

    /// Those points for which `keep` holds.
    fn only(&self, keep: &[bool]) -> NamedValue {
        let pick = |values: &Vec<f64>| {
            let kept = values.iter().zip(keep).filter(|(_, keep)| **keep);
            kept.map(|(value, _)| *value).collect::<Vec<f64>>()
        };
        let columns = self.points.columns.iter().map(pick).collect();
        let points = Observations { columns, y: pick(&self.points.y) };
        NamedValue { variables: self.variables.clone(), points }
    }

    /// The columns that a model wants, in its order.
    fn for_leaf(&self, leaf: &Leaf) -> Observations {
        let column = |name: &String| {
            let place = self.variables.iter().position(|variable| variable == name);
            place.and_then(|i| self.points.columns.get(i).cloned()).unwrap_or_default()
        };
        let columns = leaf.variables().iter().map(column).collect();
        Observations { columns, y: self.points.y.clone() }
    }
}

impl Tree {
    /// The tree of a composite whose names have been checked.
    pub(super) fn of(model: &Model) -> Tree {
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

    /// One value per parameter of the composite; NaN for those that have no estimate.
    pub(super) fn start(&self, variables: &[String], points: &Observations) -> Vec<f64> {
        let mut params = vec![f64::NAN; self.parameters()];
        let points = NamedValue { variables: variables.to_vec(), points: points.clone() };
        self.find(&points, &mut params);
        params
    }

    fn parameters(&self) -> usize {
        match self {
            Tree::Leaf(placed) => placed.first + placed.leaf.parameters.len(),
            Tree::Number(_) => 0,
            Tree::Sum(parts) | Tree::Product(parts) => {
                parts.iter().map(|(_, part)| part.parameters()).max().unwrap_or(0)
            }
            Tree::Nest(outer, inner) => outer.parameters().max(inner.parameters()),
        }
    }

    /// Writes the start of every part into its places of `params`.
    fn find(&self, points: &NamedValue, params: &mut [f64]) {
        match self {
            Tree::Leaf(placed) => {
                let found = placed.leaf.start(&points.for_leaf(&placed.leaf));
                let places = params.iter_mut().skip(placed.first);
                places.zip(found).for_each(|(place, value)| *place = value);
            }
            Tree::Number(_) => {}
            Tree::Sum(terms) => sum::find(terms, points, params),
            Tree::Product(factors) => find_product(factors, points, params),
            Tree::Nest(outer, inner) => {
                // Inside, nothing is known but the scale of x: the inner value begins as x itself.
                inner.find(&points.with_response(points.points.x().to_vec()), params);
                let value = inner.values(points, params);
                let points = Observations { columns: vec![value], y: points.points.y.clone() };
                outer.find(&NamedValue { variables: outer.variables(), points }, params);
            }
        }
    }

    /// The values at all points; NaN where a parameter is not known.
    fn values(&self, points: &NamedValue, params: &[f64]) -> Vec<f64> {
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
                let points = Observations { columns: vec![value], y: points.points.y.clone() };
                outer.values(&NamedValue { variables: outer.variables(), points }, params)
            }
        }
    }

    fn variables(&self) -> Vec<String> {
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

    /// How it is found in a sum.
    fn kind(&self) -> super::definition::ModelKind {
        use super::definition::ModelKind;
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
    fn values(&self, points: &NamedValue, params: &[f64]) -> Vec<f64> {
        let columns = points.for_leaf(&self.leaf).columns;
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

/// The factor that makes the shape first, as if the others were 1; then each of the others in what
/// is left of y, where that is more than noise.
fn find_product(factors: &[(f64, Tree)], points: &NamedValue, params: &mut [f64]) {
    use super::definition::ModelKind;
    let shapes = |(exponent, factor): &&(f64, Tree)| {
        *exponent > 0.0 && !matches!(factor.kind(), ModelKind::Background)
    };
    let main = factors.iter().position(|factor| shapes(&factor)).unwrap_or(0);
    let mut order: Vec<usize> = (0..factors.len()).collect();
    order.sort_by_key(|&i| (!matches!(factors[i].1, Tree::Number(_)), i != main));
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
