//! One term of a model that is a sum.

use super::expression::Expression;
use super::native::Model;
use super::program::Program;
use super::ties::Ties;
use super::var::Var;
use crate::error::Result;
use std::sync::Arc;

/// One term of a sum of models, over some of its variables and parameters.
#[derive(Clone, Debug)]
pub(crate) struct ComponentModel {
    pub(crate) name: String,
    /// Factor in the sum: the sign, and numbers before parentheses.
    pub(crate) factor: f64,
    pub(crate) formula: Expression,
    /// For each variable of the formula, its index among the variables of the sum.
    pub(crate) columns: Vec<usize>,
    /// For each parameter of the formula, its index among the parameters of the sum.
    pub(crate) params: Vec<usize>,
}

impl ComponentModel {
    /// Creates the term. Returns `None` if a name of the formula is not among the `columns` and `params` of the sum.
    pub(crate) fn new(
        name: String,
        factor: f64,
        formula: Expression,
        columns: &[String],
        params: &[String],
    ) -> Option<ComponentModel> {
        let places = |own: &[String], all: &[String]| -> Option<Vec<usize>> {
            own.iter().map(|name| all.iter().position(|known| known == name)).collect()
        };
        let columns = places(formula.variables(), columns)?;
        let params = places(formula.parameters(), params)?;
        Some(ComponentModel { name, factor, formula, columns, params })
    }

    /// Returns the term as a model of all variables and parameters of the `sum`. Formulas replace the tied parameters.
    ///
    /// # Errors
    /// The errors of `Program::rewritten`. They cannot occur here, because they need a closure that panics.
    pub(crate) fn within(&self, sum: &Program, ties: &Ties) -> Result<Model> {
        let program = sum.rewritten(|x, p| {
            let mut p = p.to_vec();
            ties.complete(&mut p);
            let x: Vec<Var> = self.columns.iter().map(|&i| x[i]).collect();
            let p: Vec<Var> = self.params.iter().map(|&i| p[i]).collect();
            let value = self.formula.evaluate(&x, &p);
            if self.factor == 1.0 { value } else { value * self.factor }
        })?;
        Ok(Model::Traced(Arc::new(program)))
    }
}
