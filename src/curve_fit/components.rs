//! The terms of a model that is a sum, as the library of models knows them.

use super::CurveFit;
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;

impl CurveFit {
    /// Says of which terms the model, a traced one, is the sum: name, factor and formula, over the names that the
    /// model has now.
    pub(crate) fn sum_of(mut self, terms: Vec<(String, f64, Expression)>) -> CurveFit {
        if let Ok(Model::Traced(program)) = &self.model {
            let (columns, params) = (&program.columns, &program.params);
            let component = |(name, factor, formula)| {
                ComponentModel::new(name, factor, formula, columns, params)
            };
            let all: Option<Vec<ComponentModel>> = terms.into_iter().map(component).collect();
            self.components = all.unwrap_or_default().into();
        }
        self
    }
}
