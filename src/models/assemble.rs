//! Assembly of a composite into one formula: adds the prefixes to names, sets the necessary parentheses and checks
//! the composite.

use super::leaf::Leaf;
use super::model::{Joint, Model};
use super::start::tree::Tree;
use crate::data::points::Observations;
use crate::error::names::NameError;
use crate::error::{Error, ModelError, Result};
use crate::model::Expression;
use crate::model::parse::tokens::{TokenKind, Tokens, is_name, replace_names};
use crate::model::ties::Known;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum length of a formula, in bytes.
const LONGEST: usize = 1_000_000;
/// Maximum number of levels of nesting by `of`.
const DEEPEST: usize = 100;

/// A composite as one formula.
pub(super) struct Assembled {
    pub(super) variables: Vec<String>,
    pub(super) formula: String,
    pub(super) expression: Expression,
    tree: Tree,
}

impl Assembled {
    /// Assembles the formula of a composite.
    ///
    /// # Errors
    /// Returns [`Error::Model`] or [`Error::Parse`] if the composite is invalid.
    pub(super) fn of(model: &Model) -> Result<Assembled> {
        check_names(model)?;
        let PartialFormula { formula, variables, .. } = PartialFormula::of(model)?;
        let parameters = model.parameters();
        let taken = parameters.iter().find(|name| variables.contains(name));
        if let Some(name) = taken {
            return Err(bad_name(model, name).into());
        }
        let declared: Vec<&str> = variables.iter().map(String::as_str).collect();
        let expression = Expression::parse(&formula, &declared)?;
        let tree = Tree::of(model);
        Ok(Assembled { variables, formula, expression, tree })
    }

    /// Returns an initial guess for all parameters of the composite. It uses known starts, bounds and ties.
    pub(super) fn start(&self, points: &Observations, known: &Known) -> Vec<f64> {
        self.tree.start(&self.variables, points, known)
    }
}

/// Returns the formula of a part of a composite whose names have been checked.
///
/// # Errors
/// No error for a part of a model whose formula was assembled before.
pub(super) fn expression(part: &Model) -> Result<Expression> {
    let PartialFormula { formula, variables, .. } = PartialFormula::of(part)?;
    let declared: Vec<&str> = variables.iter().map(String::as_str).collect();
    Expression::parse(&formula, &declared)
}

/// Checks that every parameter and derived quantity has a unique name that is valid in formulas.
fn check_names(model: &Model) -> Result<()> {
    let mut owners: HashMap<String, String> = HashMap::new();
    for leaf in model.leaves() {
        let derived = leaf.full_derived().map(|(name, _)| name);
        for name in leaf.full_names().chain(derived) {
            if !is_name(&name) || matches!(name.as_str(), "and" | "or" | "not" | "pi" | "e") {
                return Err(bad_name(model, &name).into());
            }
            if let Some(first) = owners.insert(name.clone(), leaf.name.clone()) {
                let second = &leaf.name;
                let remedy =
                    format!("tell them apart by prefixes: {first}(\"a_\") and {second}(\"b_\")");
                return Err(NameError::taken(&name, &first, second, &remedy));
            }
        }
    }
    Ok(())
}

fn bad_name(model: &Model, name: &str) -> ModelError {
    let has = |leaf: &&Arc<Leaf>| leaf.full_names().any(|own| own == name);
    let owner = model.leaves().find(has).map_or_else(String::new, |leaf| leaf.name.clone());
    ModelError::BadName { name: name.to_owned(), model: owner }
}

/// Formula of a part of a composite.
struct PartialFormula {
    formula: String,
    /// Precedence of the weakest operator outside parentheses: 1 for sums, 2 for products, 3 without an operator.
    strength: u8,
    variables: Vec<String>,
    depth: usize,
    shown: String,
}

impl PartialFormula {
    fn of(model: &Model) -> Result<PartialFormula> {
        let whole = model.folded(
            |leaf| PartialFormula::leaf(leaf),
            PartialFormula::number,
            PartialFormula::join,
        )?;
        Ok(whole.unwrap_or_else(|| PartialFormula::number_text("0", 3)))
    }

    fn leaf(leaf: &Leaf) -> PartialFormula {
        let formula = leaf.prefixed(&leaf.formula);
        PartialFormula {
            strength: strength(&formula),
            formula,
            variables: leaf.variables().to_vec(),
            depth: 0,
            shown: leaf.to_string(),
        }
    }

    fn number(value: f64) -> Result<PartialFormula> {
        if !value.is_finite() {
            let requirement = "finite to be combined with a model";
            return Err(Error::BadOption { name: "number", value, requirement });
        }
        Ok(PartialFormula::number_text(&format!("{value:?}"), if value < 0.0 { 1 } else { 3 }))
    }

    fn number_text(text: &str, strength: u8) -> PartialFormula {
        let formula = text.to_owned();
        PartialFormula {
            shown: formula.clone(),
            formula,
            strength,
            variables: Vec::new(),
            depth: 0,
        }
    }

    fn join(mut self, joint: Joint, right: PartialFormula) -> Result<PartialFormula> {
        if joint == Joint::Nest {
            return self.nest(right);
        }
        let (sign, strength, on_left, on_right) = joint.written();
        self.formula = in_parentheses(self.formula, self.strength < on_left);
        self.formula.push_str(sign);
        self.formula.push_str(&in_parentheses(right.formula, right.strength < on_right));
        for variable in right.variables {
            if !self.variables.contains(&variable) {
                self.variables.push(variable);
            }
        }
        self.depth = self.depth.max(right.depth);
        self.strength = strength;
        check_length(self.formula.len())?;
        Ok(self)
    }

    fn nest(self, inner: PartialFormula) -> Result<PartialFormula> {
        let [variable] = self.variables.as_slice() else {
            let variables = self.variables.len();
            return Err(ModelError::NotNestable { outer: self.shown, variables }.into());
        };
        let depth = 1 + self.depth.max(inner.depth);
        if depth > DEEPEST {
            let what = format!("{depth} models inside each other");
            return Err(ModelError::TooLarge { what, most: DEEPEST }.into());
        }
        let argument = in_parentheses(inner.formula, true);
        let mut places = 0;
        replace_names(&self.formula, |name| {
            places += usize::from(name == variable);
            None
        });
        check_length(self.formula.len().saturating_add(argument.len().saturating_mul(places)))?;
        let inserted = |name: &str| (name == variable).then(|| argument.clone());
        let formula = replace_names(&self.formula, inserted);
        let (variables, strength, shown) = (inner.variables, self.strength, self.shown);
        Ok(PartialFormula { formula, strength, variables, depth, shown })
    }
}

/// # Errors
/// [`ModelError::TooLarge`] if a formula has more than [`LONGEST`] bytes.
fn check_length(length: usize) -> Result<()> {
    if length <= LONGEST {
        return Ok(());
    }
    let what = format!("{length} bytes long");
    Err(Error::from(ModelError::TooLarge { what, most: LONGEST }))
}

fn in_parentheses(formula: String, wanted: bool) -> String {
    if wanted { format!("({formula})") } else { formula }
}

/// Returns the precedence of the weakest operator outside parentheses: 1 for sums, 2 for products, 3 otherwise.
fn strength(formula: &str) -> u8 {
    let (mut tokens, mut open, mut weakest) = (Tokens::new(formula), 0_i64, 3);
    while let Ok(token) = tokens.next()
        && token.kind != TokenKind::End
    {
        match token.text {
            "(" => open += 1,
            ")" => open -= 1,
            "+" | "-" if open == 0 => weakest = 1,
            "*" | "/" if open == 0 => weakest = weakest.min(2),
            _ => {}
        }
    }
    weakest
}

/// Formats the composite in the syntax of [`parse`](super::parse()).
pub(super) fn shown(model: &Model) -> String {
    let leaf = |leaf: &Arc<Leaf>| (leaf.to_string(), 4);
    let number = |value: f64| Ok((format!("{value:?}"), if value < 0.0 { 1 } else { 4 }));
    let join = |left: (String, u8), joint: Joint, right: (String, u8)| {
        let (sign, strength, on_left, on_right) = joint.written();
        let mut text = in_parentheses(left.0, left.1 < on_left);
        text.push_str(sign);
        text.push_str(&in_parentheses(right.0, right.1 < on_right));
        Ok((text, strength))
    };
    let text = model.folded(leaf, number, join).ok().flatten();
    text.map_or_else(String::new, |(text, _)| text)
}
