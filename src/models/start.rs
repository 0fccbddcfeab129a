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
struct NamedValue<'l> {
    variables: Vec<String>,
    points: Observations,
    /// Where each parameter of the composite may be: at one value, if it is given.
    limits: &'l [(f64, f64)],
}

impl NamedValue<'_> {
    fn with_response(&self, y: Vec<f64>) -> Self {
        NamedValue {
            points: self.points.with_response(y),
            variables: self.variables.clone(),
            ..*self
        }
    }

    /// The same response over another variable, whose name is known to a model of one.
    fn over(&self, variables: Vec<String>, values: Vec<f64>) -> Self {
        let points = Observations::new(vec![values], self.points.y.clone());
        NamedValue { variables, points, ..*self }
    }

    /// Those points for which `keep` holds.
    fn only(&self, keep: &[bool]) -> Self {
        let pick = |values: &Vec<f64>| {
            let kept = values.iter().zip(keep).filter(|(_, keep)| **keep);
            kept.map(|(value, _)| *value).collect::<Vec<f64>>()
        };
        let columns = self.points.columns.iter().map(pick).collect();
        let points = Observations::new(columns, pick(&self.points.y));
        NamedValue { variables: self.variables.clone(), points, ..*self }
    }

    /// The columns that a model wants, in its order, and where its center may be.
    fn for_term(&self, term: &PlacedTerm) -> Observations {
        let column = |name: &String| {
            let place = self.variables.iter().position(|variable| variable == name);
            place.and_then(|i| self.points.columns.get(i).cloned()).unwrap_or_default()
        };
        let columns = term.leaf.variables().iter().map(column).collect();
        let points = Observations::new(columns, self.points.y.clone());
        let center = self.limits(term, sum::CENTER).unwrap_or(points.center);
        Observations { center, ..points }
    }

    /// Where a parameter of a term may be; `None` if it has none of that name.
    fn limits(&self, term: &PlacedTerm, parameter: &str) -> Option<(f64, f64)> {
        let place = term.leaf.parameters.iter().position(|(name, _)| name == parameter)?;
        self.limits.get(term.first + place).copied()
    }

    /// Whether more is known of a parameter than what its formula allows.
    fn is_limited(&self, term: &PlacedTerm, parameter: &str) -> bool {
        let own = term.leaf.parameters.iter().find(|(name, _)| name == parameter);
        own.map(|(_, bounds)| *bounds) != self.limits(term, parameter)
    }

    /// Writes what was found for a term into its places, within their limits. A center that is given is where the
    /// term was looked for; others are looked for in what it leaves where it was found.
    fn place(&self, term: &PlacedTerm, found: &[f64], params: &mut [f64]) {
        let known = self.limits.iter().skip(term.first).zip(&term.leaf.parameters);
        let places = params.iter_mut().skip(term.first).zip(found);
        for ((place, &value), (&(low, high), (name, _))) in places.zip(known) {
            let is_place = low == high && name == sum::CENTER && value.is_finite();
            let (low, high) = if is_place { (value, value) } else { (low, high) };
            // What is not known remains so.
            *place = if low == high || value < low {
                low
            } else if value > high {
                high
            } else {
                value
            };
        }
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

    /// One value per parameter of the composite, within its limits; NaN for those that have no estimate.
    pub(super) fn start(
        &self,
        variables: &[String],
        points: &Observations,
        limits: &[(f64, f64)],
    ) -> Vec<f64> {
        let mut params = vec![f64::NAN; limits.len()];
        let points = NamedValue { variables: variables.to_vec(), points: points.clone(), limits };
        self.find(&points, &mut params);
        params
    }

    /// Writes the start of every part into its places of `params`.
    fn find(&self, points: &NamedValue<'_>, params: &mut [f64]) {
        match self {
            Tree::Leaf(term) => {
                points.place(term, &term.leaf.start(&points.for_term(term)), params);
            }
            Tree::Number(_) => {}
            Tree::Sum(terms) => sum::find(terms, points, params),
            Tree::Product(factors) => find_product(factors, points, params),
            Tree::Nest(outer, inner) => {
                // Inside, nothing is known but the scale of x: the inner value begins as x itself.
                inner.find(&points.with_response(points.points.x().to_vec()), params);
                let value = inner.values(points, params);
                outer.find(&points.over(outer.variables(), value), params);
            }
        }
    }

    /// The values at all points; NaN where a parameter is not known.
    fn values(&self, points: &NamedValue<'_>, params: &[f64]) -> Vec<f64> {
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
    fn values(&self, points: &NamedValue<'_>, params: &[f64]) -> Vec<f64> {
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

/// The factor that makes the shape first, as if the others were 1; then each of the others in what
/// is left of y, where that is more than noise.
fn find_product(factors: &[(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
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
