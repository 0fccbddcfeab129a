//! Terms of the outermost sum of a composite, with the names under which a fit reports them.

use super::assemble::{self, shown};
use super::model::{CompositeStep, Joint, Model};
use crate::error::Result;
use crate::model::Expression;
use std::collections::HashMap;

/// A term of the outermost sum: its name, the factor before it, and its formula.
type NamedTerm = (String, f64, Expression);

/// A part of a composite.
struct Part {
    whole: Model,
    /// The terms with their factors if the part is a sum.
    sum: Option<Vec<(f64, Model)>>,
}

impl Part {
    fn single(whole: Model) -> Part {
        Part { whole, sum: None }
    }

    fn into_terms(self) -> (Model, Vec<(f64, Model)>) {
        match self.sum {
            Some(terms) => (self.whole, terms),
            None => (self.whole.clone(), vec![(1.0, self.whole)]),
        }
    }

    fn number(&self) -> Option<f64> {
        match self.whole.steps[..] {
            [CompositeStep::Number(value)] => Some(value),
            _ => None,
        }
    }

    fn join(self, joint: Joint, right: Part) -> Part {
        let (before, behind) = (self.number(), right.number());
        let (left, mut terms) = self.into_terms();
        let (right, more) = right.into_terms();
        let scaled = |terms: Vec<(f64, Model)>, factor: f64| -> Vec<(f64, Model)> {
            terms.into_iter().map(|(own, term)| (own * factor, term)).collect()
        };
        let sum = match (joint, before, behind) {
            (Joint::Add | Joint::Subtract, ..) => {
                let sign = if joint == Joint::Add { 1.0 } else { -1.0 };
                terms.extend(scaled(more, sign));
                Some(terms)
            }
            (Joint::Multiply, Some(factor), None) => Some(scaled(more, factor)),
            (Joint::Multiply, None, Some(factor)) => Some(scaled(terms, factor)),
            (Joint::Divide, None, Some(divisor)) => Some(scaled(terms, divisor.recip())),
            _ => None,
        };
        Part { whole: left.join(right, joint), sum }
    }
}

impl Model {
    /// Returns the terms of the outermost sum in their order; their sum is the model.
    ///
    /// # Errors
    /// No error if the formula of the model was assembled before.
    pub(super) fn terms(&self) -> Result<Vec<NamedTerm>> {
        let leaf = |step| Part::single(Model { steps: vec![step] });
        let whole = self.folded(
            |it| leaf(CompositeStep::Leaf(it.clone())),
            |value| Ok(leaf(CompositeStep::Number(value))),
            |left, joint, right| Ok(left.join(joint, right)),
        )?;
        let terms = whole.map_or_else(Vec::new, |whole| whole.into_terms().1);
        let named = names(&terms).into_iter().zip(&terms);
        named
            .map(|(name, (factor, term))| Ok((name, *factor, assemble::expression(term)?)))
            .collect()
    }
}

/// Returns the name of each term: a unique prefix, or prefix and name of the model, or the formula.
fn names(terms: &[(f64, Model)]) -> Vec<String> {
    let leaf = |term: &Model| match &term.steps[..] {
        [CompositeStep::Leaf(leaf)] => Some(leaf.clone()),
        _ => None,
    };
    let mut seen: HashMap<String, usize> = HashMap::new();
    for leaf in terms.iter().filter_map(|(_, term)| leaf(term)) {
        *seen.entry(leaf.prefix.clone()).or_default() += 1;
    }
    let name = |(_, term): &(f64, Model)| match leaf(term) {
        None => shown(term),
        Some(leaf) if !leaf.prefix.is_empty() && seen[&leaf.prefix] == 1 => leaf.prefix.clone(),
        Some(leaf) => format!("{}{}", leaf.prefix, leaf.name),
    };
    // A user-defined formula may have several lines.
    let one_line = |name: String| name.split_whitespace().collect::<Vec<_>>().join(" ");
    terms.iter().map(name).map(one_line).collect()
}
